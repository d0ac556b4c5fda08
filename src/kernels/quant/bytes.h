/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole tensors of int8 or uint8 with one scale and one zero point, at the speed of memory. The
 * numbers are those of quant.h.
 */
#ifndef VT_KERNELS_QUANT_BYTES_H
#define VT_KERNELS_QUANT_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

struct vt_byte_scale {
    float scale;
    int32_t zero;
    bool is_signed;
};

/* y = saturate(round(x / scale) + zero) */
void vt_bytes_quantize(const struct vt_byte_scale *s, const float *x, int64_t n, void *y,
                       struct vt_pool *pool);
/* y = (x - zero) · scale */
void vt_bytes_dequantize(const struct vt_byte_scale *s, const void *x, int64_t n, float *y,
                         struct vt_pool *pool);

/*
 * Sum of two quantised tensors of one shape, quantised: round((a - a_zero)·(a_scale / scale) +
 * (b - b_zero)·(b_scale / scale)) + zero within [low, high].
 */
struct vt_byte_sum {
    struct vt_byte_scale a, b, y;
    float low, high;
};
void vt_bytes_add(const struct vt_byte_sum *s, const void *a, const void *b, int64_t n, void *y,
                  struct vt_pool *pool);

#endif
