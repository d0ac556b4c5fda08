/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX-512 F, BW, DQ and VL: called only where the processor has them. */
#define VT_TILE_NR               32
#define VT_TILE_LOOP(mode, rows) vt_f32_gemm_loop_##mode##_##rows##x32__avx512
#define VT_TILE_EACH(mode, X)                                                                      \
    X(mode, 1)                                                                                     \
    X(mode, 2)                                                                                     \
    X(mode, 3)                                                                                     \
    X(mode, 4)                                                                                     \
    X(mode, 5)                                                                                     \
    X(mode, 6)                                                                                     \
    X(mode, 7)                                                                                     \
    X(mode, 8)                                                                                     \
    X(mode, 9)                                                                                     \
    X(mode, 10)                                                                                    \
    X(mode, 11)                                                                                    \
    X(mode, 12)                                                                                    \
    X(mode, 13)                                                                                    \
    X(mode, 14)
#define VT_TILE_PACKED   vt_f32_gemm_14x32__avx512
#define VT_TILE_ROWS     vt_f32_gemm_rows_14x32__avx512
#define VT_TILE_INDIRECT vt_f32_gemm_indirect_14x32__avx512
#define VT_TILE_ACTIVATE vt_f32_activate__avx512

#include "kernels/gemm/tile_asm.inc"
