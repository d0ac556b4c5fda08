/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element types turned into each other.
 *
 * Floats become integers by truncation, out-of-range ones by saturation and NaN by 0; integers
 * wrap; anything but 0 is true.
 */
#ifndef VT_KERNELS_CONVERT_CONVERT_H
#define VT_KERNELS_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

/* Whether vt_convert knows the type: every number and bool, no strings, no complex numbers. */
bool vt_convert_knows(enum vt_dtype dtype);
/* n elements; `in` may equal `out` where both types are of one size. */
void vt_convert(enum vt_dtype from, const void *in, enum vt_dtype to, void *out, int64_t n);
void vt_convert_run(enum vt_dtype from, const void *in, enum vt_dtype to, void *out, int64_t n,
                    struct vt_pool *pool);

float vt_half_to_float(uint16_t half);
uint16_t vt_float_to_half(float x); /* rounds to nearest, ties to even */
float vt_bfloat_to_float(uint16_t bfloat);
uint16_t vt_float_to_bfloat(float x);

#endif
