/* SPDX-License-Identifier: Apache-2.0 */
#define VT_ACTIVATE vt_f32_activate__portable
#include "kernels/gemm/activate.inc"
