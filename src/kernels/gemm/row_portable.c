/* SPDX-License-Identifier: Apache-2.0 */
#define VT_ROW(name) vt_f32_##name##__portable
#define VT_ROW_LANES 4
#include "kernels/gemm/row.inc"
