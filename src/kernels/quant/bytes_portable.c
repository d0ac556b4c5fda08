/* SPDX-License-Identifier: Apache-2.0 */
#define VT_BYTES_WAY vt_bytes_way_portable
#include "kernels/quant/bytes.inc"
