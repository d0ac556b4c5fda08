/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef float vt_vec __attribute__((vector_size(16)));
typedef int32_t vt_ivec __attribute__((vector_size(16)));

#define VT_STRIP_VL           4
#define VT_STRIP_FMA(a, b, c) ((a) * (b) + (c))
#define VT_STRIP_SPLAT(x)     strip_splat(x)
#define VT_STRIP_MAX(a, b)    strip_max(a, b)
#define VT_STRIP_WAY          vt_attention_way_portable

static inline vt_vec strip_splat(float x)
{
    return (vt_vec){x, x, x, x};
}

static inline vt_vec strip_max(vt_vec a, vt_vec b)
{
    const vt_ivec larger = (vt_ivec)(a > b);
    return (vt_vec)(((vt_ivec)a & larger) | ((vt_ivec)b & ~larger));
}

#include "kernels/attention/strip.inc"
