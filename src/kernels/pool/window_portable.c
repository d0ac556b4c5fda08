/* SPDX-License-Identifier: Apache-2.0 */
#define VT_VECTOR_PORTABLE
#include "kernels/pool/window.inc"
