/* SPDX-License-Identifier: Apache-2.0 */
#define VT_SOFTMAX_ROW vt_f32_softmax_row__avx512
#include "kernels/softmax/softmax_row.inc"
