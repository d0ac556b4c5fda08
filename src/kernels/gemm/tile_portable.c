/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/kernels.h"

typedef float vt_vec __attribute__((vector_size(16)));

#define VT_TILE_MR           4
#define VT_TILE_VL           4
#define VT_TILE_FMA(a, b, c) ((a) * (b) + (c))
#define VT_TILE_SPLAT(x)     tile_splat(x)
#define VT_TILE_MAX(a, b)    tile_max(a, b)
#define VT_TILE_MIN(a, b)    tile_min(a, b)
#define VT_TILE_PACKED       vt_f32_gemm_4x8__portable
#define VT_TILE_INDIRECT     vt_f32_gemm_indirect_4x8__portable

static inline vt_vec tile_splat(float x)
{
    return (vt_vec){x, x, x, x};
}

/* Keeps a NaN of `a`, as the operators do. */
static inline vt_vec tile_max(vt_vec a, vt_vec b)
{
    for (int i = 0; i < VT_TILE_VL; i++) {
        a[i] = a[i] < b[i] ? b[i] : a[i];
    }
    return a;
}

static inline vt_vec tile_min(vt_vec a, vt_vec b)
{
    return -tile_max(-a, -b);
}

#include "kernels/gemm/tile.inc"
