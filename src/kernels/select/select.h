/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and choosing elements. */
#ifndef VT_KERNELS_SELECT_SELECT_H
#define VT_KERNELS_SELECT_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

/* The k largest or smallest over the middle extent of [outer][n][inner], best first; among equals
 * the lower index comes first. */
struct vt_top_k {
    enum vt_dtype dtype;
    int64_t outer, n, inner, k;
    bool largest;
};
bool vt_top_k_knows(enum vt_dtype dtype);
/* `workspace` holds threads · k numbers of 8 bytes. */
void vt_top_k_run(const struct vt_top_k *top, const void *x, void *values, int64_t *indices,
                  struct vt_pool *pool, int64_t *workspace);

/* How many elements of each part of a tensor are not zero (either zero of a float is). */
#define VT_NONZERO_PARTS 64
struct vt_nonzero {
    int64_t found[VT_NONZERO_PARTS];
};
/* Returns how many there are in all. */
int64_t vt_nonzero_count(const struct vt_tensor *x, struct vt_pool *pool,
                         struct vt_nonzero *ret_parts);
/* ret[axis][found]: the coordinates of all elements that are not zero; x has not changed since they
 * were counted. */
void vt_nonzero_run(const struct vt_tensor *x, const struct vt_nonzero *parts, int64_t *ret,
                    struct vt_pool *pool);

/* Boxes are four numbers: corners (y1, x1, y2, x2) in any order, or centre and size (x, y, w, h).
 */
struct vt_nms {
    int64_t batches, boxes, classes;
    int64_t max_per_class;
    float iou, score;
    bool has_score; /* whether a score below `score` rules a box out */
    bool centre;
};
size_t vt_nms_workspace_bytes(const struct vt_nms *nms, uint32_t threads);
/* Of each class the boxes by falling score, the lower index first among equals, without those that
 * overlap a chosen one. Writes at most `capacity` triples (batch, class, box); returns how many
 * there are. */
int64_t vt_nms_run(const struct vt_nms *nms, const float *boxes, const float *scores,
                   int64_t capacity, int64_t *ret_triples, struct vt_pool *pool, void *workspace);

/*
 * The different slices along the middle extent of [outer][n][inner], in ascending order or in that
 * of their first occurrence. Writes, each with room for n: where each is found first, which one
 * each position holds, how often each occurs. `workspace` has room for 2n. Returns how many.
 */
struct vt_unique {
    enum vt_dtype dtype; /* a number or bool of at least a byte, but no half precision */
    int64_t outer, n, inner;
    bool sorted;
};
bool vt_unique_knows(enum vt_dtype dtype);
int64_t vt_unique_run(const struct vt_unique *u, const void *x, int64_t *ret_first,
                      int64_t *ret_which, int64_t *ret_counts, int64_t *workspace);

#endif
