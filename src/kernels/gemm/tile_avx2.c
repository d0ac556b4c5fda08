/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with AVX2 and FMA: called only where the processor has them. */
#define VT_TILE_NR               16
#define VT_TILE_LOOP(mode, rows) vt_f32_gemm_loop_##mode##_##rows##x16__avx2
#define VT_TILE_EACH(mode, X)                                                                      \
    X(mode, 1)                                                                                     \
    X(mode, 2)                                                                                     \
    X(mode, 3)                                                                                     \
    X(mode, 4)                                                                                     \
    X(mode, 5)                                                                                     \
    X(mode, 6)
#define VT_TILE_PACKED   vt_f32_gemm_6x16__avx2
#define VT_TILE_ROWS     vt_f32_gemm_rows_6x16__avx2
#define VT_TILE_INDIRECT vt_f32_gemm_indirect_6x16__avx2
#define VT_TILE_ACTIVATE vt_f32_activate__avx2

#include "kernels/gemm/tile_asm.inc"
