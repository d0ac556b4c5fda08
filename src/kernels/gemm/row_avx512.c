/* SPDX-License-Identifier: Apache-2.0 */
#define VT_ROW(name) vt_f32_##name##__avx512
#define VT_ROW_LANES 16
#include "kernels/gemm/row.inc"
