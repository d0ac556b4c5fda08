/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a tensor is what was expected: |a - b| <= atol + rtol * |b| for every element, a found, b
 * expected. Two NaN, and two infinities of the same sign, are equal; a NaN for a number is as wrong
 * as can be.
 */
#ifndef VT_WORKLOAD_TENSOR_COMPARE_H
#define VT_WORKLOAD_TENSOR_COMPARE_H

#include "vatio/tensor.h"

struct vt_tolerance {
    double relative, absolute;
};

struct vt_difference {
    uint64_t elements; /* compared */
    uint64_t beyond;   /* of them out of tolerance */
    uint64_t worst;    /* the element whose ratio is largest */
    double ratio;      /* |a - b| as a multiple of what is allowed */
    double found, expected;
};

/* The difference that is allowed where `expected` was expected. */
double vt_tolerance_allowed(const struct vt_tolerance *tolerance, double expected);
/* Compares n elements. The types are real (workload/element.h) and may differ. */
void vt_tensor_compare(enum vt_dtype found_type, const void *found, enum vt_dtype expected_type,
                       const void *expected, size_t n, const struct vt_tolerance *tolerance,
                       struct vt_difference *ret);

#endif
