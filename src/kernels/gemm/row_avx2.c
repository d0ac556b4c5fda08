/* SPDX-License-Identifier: Apache-2.0 */
#define VT_ROW(name) vt_f32_##name##__avx2
#define VT_ROW_LANES 8
#include "kernels/gemm/row.inc"
