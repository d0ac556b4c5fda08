/* SPDX-License-Identifier: Apache-2.0 */
#define VT_OVERLAP vt_f32_overlap__avx512
#include "kernels/select/overlap.inc"
