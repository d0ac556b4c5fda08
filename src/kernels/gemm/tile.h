/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-kernel, written once over a vector type and compiled for each instruction set. The
 * including file defines
 *
 *     VT_TILE_MR, VT_TILE_VL          rows, and floats a vector; a tile is two vectors wide
 *     VT_TILE_FMA(a, b, c)            a·b + c
 *     VT_TILE_SPLAT(x)                x in every lane
 *     VT_TILE_MAX(a, b), VT_TILE_MIN(a, b)
 *     VT_TILE_PACKED, VT_TILE_INDIRECT  names of the two functions
 *
 * and the type vt_vec. The loops over rows are unrolled, so that the sums stay in registers.
 */
#include <math.h>
#include <string.h>

#include "kernels/gemm/gemm.h"

#define VT_TILE_INLINE static inline __attribute__((always_inline))

VT_TILE_INLINE vt_vec tile_load(const float *p)
{
    vt_vec v;
    memcpy(&v, p, sizeof(v));
    return v;
}

VT_TILE_INLINE void tile_store(float *p, vt_vec v)
{
    memcpy(p, &v, sizeof(v));
}

VT_TILE_INLINE vt_vec tile_activate(vt_vec x, const struct vt_gemm_finish *finish)
{
    const vt_vec zero = VT_TILE_SPLAT(0.0f);
    switch (finish->activation) {
    case VT_ACT_RELU:
        return VT_TILE_MAX(x, zero);
    case VT_ACT_LEAKY_RELU:
        return VT_TILE_MAX(x, zero) + VT_TILE_SPLAT(finish->alpha) * VT_TILE_MIN(x, zero);
    case VT_ACT_CLIP:
        return VT_TILE_MIN(VT_TILE_MAX(x, VT_TILE_SPLAT(finish->alpha)),
                           VT_TILE_SPLAT(finish->beta));
    case VT_ACT_HARD_SWISH:
        return x *
               VT_TILE_MIN(VT_TILE_MAX(x * VT_TILE_SPLAT(1.0f / 6.0f) + VT_TILE_SPLAT(0.5f), zero),
                           VT_TILE_SPLAT(1.0f));
    case VT_ACT_SIGMOID: {
        vt_vec y;
        for (int i = 0; i < VT_TILE_VL; i++)
            y[i] = 1.0f / (1.0f + expf(-x[i]));
        return y;
    }
    case VT_ACT_NONE:
        break;
    }
    return x;
}

VT_TILE_INLINE void tile_finish(const struct vt_gemm_tile *tile, int rows, vt_vec sum[][2])
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < 2; j++) {
            vt_vec x = sum[i][j];
            if (tile->row_bias != NULL)
                x += VT_TILE_SPLAT(tile->row_bias[i]);
            if (tile->col_bias != NULL)
                x += tile_load(tile->col_bias + j * VT_TILE_VL);
            if (tile->residual != NULL)
                x += tile_load(tile->residual + i * tile->ldc + j * VT_TILE_VL);
            tile_store(tile->c + i * tile->ldc + j * VT_TILE_VL, tile_activate(x, tile->finish));
        }
    }
}

VT_TILE_INLINE void tile_compute(const struct vt_gemm_tile *tile, const int rows,
                                 const bool indirect)
{
    vt_vec sum[VT_TILE_MR][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        sum[i][0] = VT_TILE_SPLAT(0.0f);
        sum[i][1] = VT_TILE_SPLAT(0.0f);
    }
    const float *a = tile->a;
    const float *b = tile->b;
    for (int64_t k = 0; k < tile->k; k++) {
        if (indirect)
            b = tile->rows[k] + tile->column;
        const vt_vec b0 = tile_load(b);
        const vt_vec b1 = tile_load(b + VT_TILE_VL);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const vt_vec x = VT_TILE_SPLAT(a[i]);
            sum[i][0] = VT_TILE_FMA(x, b0, sum[i][0]);
            sum[i][1] = VT_TILE_FMA(x, b1, sum[i][1]);
        }
        a += VT_TILE_MR;
        if (!indirect)
            b += 2 * VT_TILE_VL;
    }
    if (tile->accumulate) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            sum[i][0] += tile_load(tile->c + i * tile->ldc);
            sum[i][1] += tile_load(tile->c + i * tile->ldc + VT_TILE_VL);
        }
    }
    if (tile->finish == NULL) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            tile_store(tile->c + i * tile->ldc, sum[i][0]);
            tile_store(tile->c + i * tile->ldc + VT_TILE_VL, sum[i][1]);
        }
        return;
    }
    /* Through memory: the many variants of the last step would otherwise be unrolled by rows. */
    vt_vec spill[VT_TILE_MR][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        spill[i][0] = sum[i][0];
        spill[i][1] = sum[i][1];
    }
    tile_finish(tile, rows, spill);
}

/* One copy of the kernel for each number of rows, so that none is computed in vain. */
#define VT_TILE_ROWS(n, indirect)                                                                  \
    case n:                                                                                        \
        tile_compute(tile, n, indirect);                                                           \
        break
#if VT_TILE_MR == 12
#define VT_TILE_MORE_ROWS(indirect)                                                                \
    VT_TILE_ROWS(5, indirect);                                                                     \
    VT_TILE_ROWS(6, indirect);                                                                     \
    VT_TILE_ROWS(7, indirect);                                                                     \
    VT_TILE_ROWS(8, indirect);                                                                     \
    VT_TILE_ROWS(9, indirect);                                                                     \
    VT_TILE_ROWS(10, indirect);                                                                    \
    VT_TILE_ROWS(11, indirect);                                                                    \
    VT_TILE_ROWS(12, indirect);
#elif VT_TILE_MR == 6
#define VT_TILE_MORE_ROWS(indirect)                                                                \
    VT_TILE_ROWS(5, indirect);                                                                     \
    VT_TILE_ROWS(6, indirect);
#else
#define VT_TILE_MORE_ROWS(indirect)
#endif

#define VT_TILE_FUNCTION(name, indirect)                                                           \
    void name(const struct vt_gemm_tile *tile, uint32_t rows)                                      \
    {                                                                                              \
        switch (rows) {                                                                            \
            VT_TILE_ROWS(1, indirect);                                                             \
            VT_TILE_ROWS(2, indirect);                                                             \
            VT_TILE_ROWS(3, indirect);                                                             \
            VT_TILE_ROWS(4, indirect);                                                             \
            VT_TILE_MORE_ROWS(indirect)                                                            \
        default:                                                                                   \
            break;                                                                                 \
        }                                                                                          \
    }

VT_TILE_FUNCTION(VT_TILE_PACKED, false)
VT_TILE_FUNCTION(VT_TILE_INDIRECT, true)
