/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of an array along any set of axes.
 */
#ifndef VT_KERNELS_REDUCE_REDUCE_H
#define VT_KERNELS_REDUCE_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

enum vt_reduction {
    VT_REDUCE_SUM,
    VT_REDUCE_MEAN,
    VT_REDUCE_MAX,
    VT_REDUCE_MIN,
    VT_REDUCE_PROD,
    VT_REDUCE_L1,
    VT_REDUCE_L2,
    VT_REDUCE_LOG_SUM,
    VT_REDUCE_LOG_SUM_EXP,
    VT_REDUCE_SUM_SQUARE,
};

/* What is kept and what is summed, each as extents with steps in elements, joined where possible.
 * Outputs are in the order of the kept extents. */
struct vt_reduce {
    enum vt_reduction kind;
    enum vt_dtype dtype; /* of both sides */
    uint32_t n_kept, n_summed;
    int64_t kept[VT_RANK_MAX], kept_step[VT_RANK_MAX];
    int64_t summed[VT_RANK_MAX], summed_step[VT_RANK_MAX];
};

/* Whether the type is supported: float32, float64 and the integers. */
bool vt_reduce_knows(enum vt_dtype dtype);
/* `axes` has bit i set when axis i is summed over. */
void vt_reduce_init(struct vt_reduce *reduce, const int64_t *dim, uint32_t rank, uint32_t axes);
void vt_reduce_run(const struct vt_reduce *reduce, const void *x, void *y, struct vt_pool *pool);

/* Position of the maximum or minimum over the middle extent of [outer][n][inner]; among equals
 * the first, or the last. */
struct vt_arg {
    enum vt_dtype dtype;
    int64_t outer, n, inner;
    bool minimum, last;
};
void vt_arg_run(const struct vt_arg *arg, const void *x, int64_t *y);

/* Running sums over the middle extent; y must not be x. */
struct vt_cumulate {
    enum vt_dtype dtype; /* float32, float64, int32 or int64 */
    int64_t outer, n, inner;
    bool exclusive, reverse;
};
void vt_cumulate_run(const struct vt_cumulate *c, const void *x, void *y);

#endif
