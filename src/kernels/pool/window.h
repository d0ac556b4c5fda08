/* SPDX-License-Identifier: Apache-2.0 */
/* One window of channels-last pooling through all its channels, for each instruction set. */
#ifndef VT_KERNELS_POOL_WINDOW_H
#define VT_KERNELS_POOL_WINDOW_H

#include "kernels/pool/pool.h"

struct vt_pool_window {
    enum vt_pooling kind;
    int64_t p; /* of the p-norm */
    const float *x;
    int64_t n[VT_POOL_DIMS], step[VT_POOL_DIMS]; /* taps, and floats between them */
    int64_t channels;
    /* Of the average and the p-norm: sums are multiplied by `scale`, then the root is taken. */
    float scale;
    bool root;
    float *y;
};
typedef void (*vt_pool_window_func)(const struct vt_pool_window *w);

void vt_f32_pool_window__portable(const struct vt_pool_window *w);
#if defined(__x86_64__)
void vt_f32_pool_window__avx2(const struct vt_pool_window *w);
void vt_f32_pool_window__avx512(const struct vt_pool_window *w);
#endif

#endif
