/* SPDX-License-Identifier: Apache-2.0 */
#define VT_UNARY_F32 vt_f32_unary__avx512
#include "kernels/elementwise/unary_f32.inc"
