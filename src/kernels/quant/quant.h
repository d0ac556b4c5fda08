/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised numbers: real = (stored - zero point) · scale. Rounding is to nearest, ties to even;
 * what does not fit is saturated. Products are summed in int32, which wraps as it does in ONNX's
 * own definition.
 */
#ifndef VT_KERNELS_QUANT_QUANT_H
#define VT_KERNELS_QUANT_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

/*
 * How elements [outer][n][inner] choose their scale: one for all (blocks 0), or [blocks] along the
 * middle extent, each for `block` positions. `full`: the scales have outer and inner extents too.
 */
struct vt_quant_scales {
    int64_t outer, n, inner;
    int64_t blocks, block;
    bool full;
    const float *scale;
    const void *zero; /* of the quantised type, as many as scales; NULL: 0 */
};

/* Whether the type is int8, uint8, int16, uint16 or int32. */
bool vt_quant_knows(enum vt_dtype dtype);
/* `x` is float32 or int32 (x_dtype), `y` any but int32. */
void vt_quantize_run(const struct vt_quant_scales *scales, enum vt_dtype x_dtype, const void *x,
                     enum vt_dtype y_dtype, void *y);
void vt_dequantize_run(const struct vt_quant_scales *scales, enum vt_dtype x_dtype, const void *x,
                       float *y);
/* Scale and zero point that span x and 0 with 0 … 255, and x quantised with them. */
void vt_quantize_dynamic(const float *x, int64_t n, uint8_t *y, float *ret_scale,
                         uint8_t *ret_zero);

/*
 * n elements [rows][columns] of int8 or uint8 (is_signed) less their zero points as int16; there
 * are one zero point, or `rows` of them, or `columns`. NULL: 0.
 */
struct vt_quant_center {
    bool is_signed;
    int64_t rows, columns;
    const void *zero;
    bool by_row, by_column;
};
void vt_quant_center(const struct vt_quant_center *center, const void *x, int16_t *y);

/* c[m][n] = a[m][k] · b[k][n] */
void vt_quant_matmul(int64_t m, int64_t n, int64_t k, const int16_t *a, const int16_t *b,
                     int32_t *c, struct vt_pool *pool);

#define VT_QUANT_DIMS 3
struct vt_quant_conv {
    int64_t batch, groups, in_channels, out_channels;
    int64_t in[VT_QUANT_DIMS], out[VT_QUANT_DIMS], kernel[VT_QUANT_DIMS];
    int64_t stride[VT_QUANT_DIMS], dilation[VT_QUANT_DIMS], pad[VT_QUANT_DIMS];
};
/* x [batch][in_channels][in], w [out_channels][in_channels / groups][kernel]; padding is 0. */
void vt_quant_conv(const struct vt_quant_conv *conv, const int16_t *x, const int16_t *w, int32_t *y,
                   struct vt_pool *pool);

/*
 * Sums [rows][columns] to int8 or uint8: round(sum · factor) + zero. There is one factor, or one
 * a row, or one a column; bias (a number a row, NULL: none) is added to the sums.
 */
struct vt_requantize {
    int64_t rows, columns;
    const float *factor;
    bool by_row, by_column;
    const int32_t *bias;
    int32_t zero;
    bool is_signed;
};
void vt_requantize_run(const struct vt_requantize *r, const int32_t *sums, void *y);

#endif
