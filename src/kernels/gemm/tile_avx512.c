/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ and VL: called only where the processor has them. */
#define VT_TILE_MR                     14
#define VT_TILE_NR                     32
#define VT_TILE_HALF                   16
#define VT_TILE_LOOP(mode, rows, cols) vt_f32_gemm_loop_##mode##_##rows##x##cols##__avx512
#define EACH(mode, cols, X)                                                                        \
    X(mode, 1, cols)                                                                               \
    X(mode, 2, cols)                                                                               \
    X(mode, 3, cols)                                                                               \
    X(mode, 4, cols)                                                                               \
    X(mode, 5, cols)                                                                               \
    X(mode, 6, cols)                                                                               \
    X(mode, 7, cols)                                                                               \
    X(mode, 8, cols)                                                                               \
    X(mode, 9, cols)                                                                               \
    X(mode, 10, cols)                                                                              \
    X(mode, 11, cols)                                                                              \
    X(mode, 12, cols)                                                                              \
    X(mode, 13, cols)                                                                              \
    X(mode, 14, cols)
#define VT_TILE_LOOPS(mode, X) EACH(mode, 32, X) EACH(mode, 16, X)
#define VT_TILE_NAME(mode)     vt_f32_gemm_##mode##14x32__avx512
#define VT_TILE_ACTIVATE       vt_f32_activate__avx512

#include "kernels/gemm/tile_asm.inc"
