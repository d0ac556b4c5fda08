/* SPDX-License-Identifier: Apache-2.0 */
typedef float vt_vec __attribute__((vector_size(16)));

#define VT_WINO_VL              4
#define VT_WINO_MR              4
#define VT_WINO_FMA(a, b, c)    ((a) * (b) + (c))
#define VT_WINO_SPLAT(x)        splat(x)
#define VT_WINO_MAX(x, low)     max(x, low)
#define VT_WINO_LOAD_PART(p, n) load_part(p, n)
#define VT_WINO_KERNEL          vt_f32_winograd__portable

#include <stdint.h>
#include <string.h>

static inline vt_vec splat(float x)
{
    return (vt_vec){x, x, x, x};
}

static inline vt_vec max(vt_vec x, vt_vec low)
{
    for (int i = 0; i < VT_WINO_VL; i++) {
        x[i] = x[i] < low[i] ? low[i] : x[i];
    }
    return x;
}

static inline vt_vec load_part(const float *p, int64_t n)
{
    vt_vec v = {0};
    memcpy(&v, p, (size_t)n * sizeof(float));
    return v;
}

#include "kernels/conv/winograd.inc"
