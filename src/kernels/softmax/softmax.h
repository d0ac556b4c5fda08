/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its kin over the middle extent of [outer][n][inner], float32. */
#ifndef VT_KERNELS_SOFTMAX_SOFTMAX_H
#define VT_KERNELS_SOFTMAX_SOFTMAX_H

#include <stdint.h>

#include "base/pool.h"

enum vt_softmax {
    VT_SOFTMAX,
    VT_LOG_SOFTMAX,
    VT_HARDMAX, /* 1 at the first maximum, else 0 */
};

/* y may be x, except for VT_HARDMAX. */
void vt_softmax_run(enum vt_softmax kind, int64_t outer, int64_t n, int64_t inner, const float *x,
                    float *y, struct vt_pool *pool);

#endif
