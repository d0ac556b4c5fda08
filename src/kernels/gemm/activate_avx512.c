/* SPDX-License-Identifier: Apache-2.0 */
#define VT_ACTIVATE vt_f32_activate__avx512
#include "kernels/gemm/activate.inc"
