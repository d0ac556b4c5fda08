/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a broadcast and hands out stretches along the last extent. */
#ifndef VT_KERNELS_ELEMENTWISE_BROADCAST_H
#define VT_KERNELS_ELEMENTWISE_BROADCAST_H

#include "kernels/elementwise/elementwise.h"

/* n outputs; input j's elements are step[j] (0 or 1) apart. */
typedef void (*vt_stretch_func)(const void *ctx, const void *const *in, const int64_t *step,
                                void *out, int64_t n);

struct vt_walk {
    const struct vt_broadcast *b;
    const void *const *inputs;
    size_t in_bytes[3], out_bytes; /* of an element */
    void *out;
    vt_stretch_func stretch;
    const void *ctx;
};
void vt_walk_run(const struct vt_walk *walk, struct vt_pool *pool);

#endif
