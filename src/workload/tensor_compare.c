/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/tensor_compare.h"

#include <math.h>

#include "workload/element.h"

double vt_tolerance_allowed(const struct vt_tolerance *tolerance, double expected)
{
    return tolerance->absolute + tolerance->relative * fabs(expected);
}

/* 0 for equal values, infinite for what no tolerance can excuse. */
static double ratio_of(double found, double expected, const struct vt_tolerance *tolerance)
{
    if (found == expected || (isnan(found) && isnan(expected))) {
        return 0;
    }
    double difference = fabs(found - expected);
    if (isnan(difference) || isinf(difference)) {
        return (double)INFINITY;
    }
    return difference / vt_tolerance_allowed(tolerance, expected);
}

static void count(struct vt_difference *difference, uint64_t at, double found, double expected,
                  double ratio)
{
    difference->beyond += ratio > 1;
    if (ratio > difference->ratio || at == 0) {
        difference->worst = at;
        difference->ratio = ratio;
        difference->found = found;
        difference->expected = expected;
    }
}

void vt_tensor_compare(enum vt_dtype found_type, const void *found, enum vt_dtype expected_type,
                       const void *expected, size_t n, const struct vt_tolerance *tolerance,
                       struct vt_difference *ret)
{
    struct vt_difference difference = {.elements = n};

    if (found_type == VT_F32 && expected_type == VT_F32) {
        const float *a = found, *b = expected;
        for (size_t i = 0; i < n; i++) {
            double ratio = ratio_of((double)a[i], (double)b[i], tolerance);
            count(&difference, i, (double)a[i], (double)b[i], ratio);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            double a = vt_element_get(found_type, found, i);
            double b = vt_element_get(expected_type, expected, i);
            count(&difference, i, a, b, ratio_of(a, b, tolerance));
        }
    }
    *ret = difference;
}
