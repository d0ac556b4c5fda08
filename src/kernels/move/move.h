/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data movement for elements of any size: they are moved as bytes and never looked at.
 */
#ifndef VT_KERNELS_MOVE_MOVE_H
#define VT_KERNELS_MOVE_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

/*
 * A copy between two arrays that are walked together: for every index of dim, the element at
 * source + index·from goes to destination + index·to. Steps are in elements, may be 0 (repeat) or
 * negative (reverse). Transpose, slice, expand, tile, concat and split are all this.
 */
struct vt_copy {
    uint32_t rank;
    int64_t dim[2 * VT_RANK_MAX];
    int64_t from[2 * VT_RANK_MAX], to[2 * VT_RANK_MAX];
    size_t bytes; /* of an element: 1, 2, 4, 8 or 16 */
};
void vt_copy_run(const struct vt_copy *copy, const void *source, void *destination,
                 struct vt_pool *pool);

/* Fills n elements with one. */
void vt_fill(void *out, int64_t n, size_t bytes, const void *element);

enum vt_pad_mode {
    VT_PAD_REFLECT,
    VT_PAD_EDGE,
    VT_PAD_WRAP,
};
/* out[i] = in[map(i - before)] along every axis. */
struct vt_pad {
    uint32_t rank;
    int64_t in[VT_RANK_MAX], out[VT_RANK_MAX], before[VT_RANK_MAX];
    enum vt_pad_mode mode;
    size_t bytes;
};
void vt_pad_run(const struct vt_pad *pad, const void *in, void *out);

/* Indices come as int32 or int64; negative ones count from the end. */
struct vt_indices {
    const void *data;
    bool is_64;
};
static inline int64_t vt_index_at(const struct vt_indices *indices, int64_t i)
{
    return indices->is_64 ? ((const int64_t *)indices->data)[i]
                          : ((const int32_t *)indices->data)[i];
}

/*
 * The gather and scatter functions return -1, or the position of the first index that is outside
 * its range; then the output is not complete.
 */

/* out[o][i][block] = in[o][indices[i]][block]; block in bytes. */
int64_t vt_gather_run(int64_t outer, int64_t n, int64_t block, const struct vt_indices *indices,
                      int64_t n_indices, const void *in, void *out, struct vt_pool *pool);
/* out[…, i, …] = in[…, indices[…, i, …], …]: `dim` are the indices' extents. */
struct vt_gather_elements {
    uint32_t rank, axis;
    int64_t in[VT_RANK_MAX], dim[VT_RANK_MAX];
    size_t bytes;
};
int64_t vt_gather_elements_run(const struct vt_gather_elements *g, const struct vt_indices *indices,
                               const void *in, void *out);

/* Tuples of `depth` indices choose blocks: within each of `batch` parts that are part_blocks
 * blocks long, tuple t chooses block sum(index_d · stride_d). */
struct vt_gather_nd {
    int64_t batch, tuples; /* tuples in each batch */
    uint32_t depth;
    int64_t dim[VT_RANK_MAX], stride[VT_RANK_MAX];
    int64_t part_blocks;
    int64_t block; /* elements */
    size_t bytes;
};
int64_t vt_gather_nd_run(const struct vt_gather_nd *g, const struct vt_indices *indices,
                         const void *in, void *out);

enum vt_scatter {
    VT_SCATTER_SET,
    VT_SCATTER_ADD,
    VT_SCATTER_MUL,
    VT_SCATTER_MAX,
    VT_SCATTER_MIN,
};
/* Both change `out`, which holds the data already. */
int64_t vt_scatter_nd_run(const struct vt_gather_nd *g, enum vt_scatter reduction,
                          enum vt_dtype dtype, const struct vt_indices *indices,
                          const void *updates, void *out);
int64_t vt_scatter_elements_run(const struct vt_gather_elements *g, enum vt_scatter reduction,
                                enum vt_dtype dtype, const struct vt_indices *indices,
                                const void *updates, void *out);

#endif
