/* SPDX-License-Identifier: Apache-2.0 */
typedef float vt_vec __attribute__((vector_size(16)));

#define VT_WINO_VL                  4
#define VT_WINO_MR                  4
#define VT_WINO_FMA(a, b, c)        ((a) * (b) + (c))
#define VT_WINO_SPLAT(x)            splat(x)
#define VT_WINO_RELU(x)             relu(x)
#define VT_WINO_LOAD_PART(p, n)     load_part(p, n)
#define VT_WINO_STORE_PART(p, n, v) store_part(p, n, v)
#define VT_WINO_KERNEL              vt_f32_winograd__portable

#include <stdint.h>
#include <string.h>

static inline vt_vec splat(float x)
{
    return (vt_vec){x, x, x, x};
}

static inline vt_vec relu(vt_vec x)
{
    for (int i = 0; i < VT_WINO_VL; i++) {
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
    return x;
}

static inline vt_vec load_part(const float *p, int64_t n)
{
    vt_vec v = {0};
    memcpy(&v, p, (size_t)n * sizeof(float));
    return v;
}

static inline void store_part(float *p, int64_t n, vt_vec v)
{
    memcpy(p, &v, (size_t)n * sizeof(float));
}

#include "kernels/conv/winograd.inc"
