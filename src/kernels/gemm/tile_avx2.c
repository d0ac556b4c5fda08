/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2 and FMA: called only where the processor has them. */
#define VT_TILE_MR                     6
#define VT_TILE_NR                     16
#define VT_TILE_HALF                   16
#define VT_TILE_LOOP(mode, rows, cols) vt_f32_gemm_loop_##mode##_##rows##x##cols##__avx2
#define EACH(mode, cols, X)                                                                        \
    X(mode, 1, cols)                                                                               \
    X(mode, 2, cols)                                                                               \
    X(mode, 3, cols)                                                                               \
    X(mode, 4, cols)                                                                               \
    X(mode, 5, cols)                                                                               \
    X(mode, 6, cols)
#define VT_TILE_LOOPS(mode, X) EACH(mode, 16, X)
#define VT_TILE_NAME(mode)     vt_f32_gemm_##mode##6x16__avx2
#define VT_TILE_ACTIVATE       vt_f32_activate__avx2

#include "kernels/gemm/tile_asm.inc"
