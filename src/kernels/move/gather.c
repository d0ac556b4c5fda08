/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/move/move.h"

/* Counts a negative index from the end; -1 when it is outside [-n, n). */
static int64_t bounded(int64_t index, int64_t n)
{
    if (index < 0) {
        index += n;
    }
    return index >= 0 && index < n ? index : -1;
}

struct job {
    int64_t n, block, n_indices;
    const struct vt_indices *indices;
    const char *in;
    char *out;
};

/* How many blocks ahead the rows of a large table are called into the cache, and how much of one:
 * the processor itself follows from there. */
#define AHEAD       8
#define AHEAD_BYTES 512

static int64_t index_of(const struct job *job, int64_t i)
{
    return bounded(vt_index_at(job->indices, i), job->n);
}

/* Blocks [begin, end) of one repetition of the indices. */
static void copy_blocks(const struct job *job, const char *in, int64_t begin, int64_t end,
                        char *out)
{
    const int64_t bytes = job->block < AHEAD_BYTES ? job->block : AHEAD_BYTES;
    for (int64_t i = begin; i < end; i++, out += job->block) {
        if (i + AHEAD < end) {
            const char *next = in + index_of(job, i + AHEAD) * job->block;
            for (int64_t k = 0; k < bytes; k += 64) {
                __builtin_prefetch(next + k);
            }
        }
        memcpy(out, in + index_of(job, i) * job->block, (size_t)job->block);
    }
}

/* The same for blocks that are one number. */
#define COPY_NUMBERS(type)                                                                         \
    static void copy_##type(const struct job *job, const type *in, int64_t begin, int64_t end,     \
                            type *out)                                                             \
    {                                                                                              \
        const int64_t n = job->n;                                                                  \
        if (job->indices->is_64) {                                                                 \
            const int64_t *at = job->indices->data;                                                \
            for (int64_t i = begin; i < end; i++)                                                  \
                *out++ = in[at[i] + (at[i] < 0 ? n : 0)];                                          \
        } else {                                                                                   \
            const int32_t *at = job->indices->data;                                                \
            for (int64_t i = begin; i < end; i++)                                                  \
                *out++ = in[at[i] + (at[i] < 0 ? n : 0)];                                          \
        }                                                                                          \
    }
COPY_NUMBERS(uint8_t)
COPY_NUMBERS(uint16_t)
COPY_NUMBERS(uint32_t)
COPY_NUMBERS(uint64_t)

static void run_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    (void)worker;
    while (begin < end) {
        const int64_t outer = begin / job->n_indices, first = begin % job->n_indices;
        const int64_t left =
            job->n_indices - first < end - begin ? job->n_indices - first : end - begin;
        const char *in = job->in + outer * job->n * job->block;
        char *out = job->out + begin * job->block;
        switch (job->block) {
        case 1:
            copy_uint8_t(job, (const void *)in, first, first + left, (void *)out);
            break;
        case 2:
            copy_uint16_t(job, (const void *)in, first, first + left, (void *)out);
            break;
        case 4:
            copy_uint32_t(job, (const void *)in, first, first + left, (void *)out);
            break;
        case 8:
            copy_uint64_t(job, (const void *)in, first, first + left, (void *)out);
            break;
        default:
            copy_blocks(job, in, first, first + left, out);
            break;
        }
        begin += left;
    }
}

int64_t vt_gather_run(int64_t outer, int64_t n, int64_t block, const struct vt_indices *indices,
                      int64_t n_indices, const void *in, void *out, struct vt_pool *pool)
{
    struct job job = {n, block, n_indices, indices, in, out};
    for (int64_t i = 0; i < n_indices; i++) {
        if (bounded(vt_index_at(indices, i), n) < 0) {
            return i;
        }
    }
    if (outer * n_indices > 0 && block > 0) {
        vt_pool_run(pool, outer * n_indices, 1 + 65536 / block, run_blocks, &job);
    }
    return -1;
}

/* Where in the data element i of the indices points; -1 when it is outside. */
static int64_t element_offset(const struct vt_gather_elements *g, const struct vt_indices *indices,
                              int64_t i)
{
    int64_t rest = i, offset = 0, stride = 1;
    for (uint32_t d = g->rank; d-- > 0;) {
        int64_t index = rest % g->dim[d];
        rest /= g->dim[d];
        if (d == g->axis) {
            index = bounded(vt_index_at(indices, i), g->in[d]);
            if (index < 0) {
                return -1;
            }
        }
        offset += index * stride;
        stride *= g->in[d];
    }
    return offset;
}

static int64_t element_count(const struct vt_gather_elements *g)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < g->rank; d++) {
        n *= g->dim[d];
    }
    return n;
}

int64_t vt_gather_elements_run(const struct vt_gather_elements *g, const struct vt_indices *indices,
                               const void *in, void *out)
{
    const int64_t n = element_count(g);
    for (int64_t i = 0; i < n; i++) {
        const int64_t offset = element_offset(g, indices, i);
        if (offset < 0) {
            return i;
        }
        memcpy((char *)out + i * (int64_t)g->bytes, (const char *)in + offset * (int64_t)g->bytes,
               g->bytes);
    }
    return -1;
}

/* The first element of the block that tuple t of a batch chooses; -1 - d when index d of it is
 * outside. */
static int64_t tuple_offset(const struct vt_gather_nd *g, const struct vt_indices *indices,
                            int64_t batch, int64_t t)
{
    int64_t block = batch * g->part_blocks;
    for (uint32_t d = 0; d < g->depth; d++) {
        const int64_t index =
            bounded(vt_index_at(indices, (batch * g->tuples + t) * g->depth + d), g->dim[d]);
        if (index < 0) {
            return -1 - (int64_t)d;
        }
        block += index * g->stride[d];
    }
    return block * g->block;
}

int64_t vt_gather_nd_run(const struct vt_gather_nd *g, const struct vt_indices *indices,
                         const void *in, void *out)
{
    const size_t block_bytes = (size_t)g->block * g->bytes;
    char *to = out;
    for (int64_t i = 0; i < g->batch * g->tuples; i++, to += block_bytes) {
        const int64_t offset = tuple_offset(g, indices, i / g->tuples, i % g->tuples);
        if (offset < 0) {
            return i * g->depth - 1 - offset;
        }
        memcpy(to, (const char *)in + offset * (int64_t)g->bytes, block_bytes);
    }
    return -1;
}

#define COMBINE(dtype, type, sum_type)                                                             \
    case dtype: {                                                                                  \
        const type *u = updates;                                                                   \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            if (reduction == VT_SCATTER_ADD)                                                       \
                y[i] = (type)((sum_type)y[i] + (sum_type)u[i]);                                    \
            else if (reduction == VT_SCATTER_MUL)                                                  \
                y[i] = (type)((sum_type)y[i] * (sum_type)u[i]);                                    \
            else if (reduction == VT_SCATTER_MAX)                                                  \
                y[i] = u[i] > y[i] ? u[i] : y[i];                                                  \
            else                                                                                   \
                y[i] = u[i] < y[i] ? u[i] : y[i];                                                  \
        }                                                                                          \
        return;                                                                                    \
    }

static void combine(enum vt_scatter reduction, enum vt_dtype dtype, int64_t n, const void *updates,
                    void *out)
{
    if (reduction == VT_SCATTER_SET) {
        memcpy(out, updates, (size_t)n * vt_dtype_bytes(dtype));
        return;
    }
    switch (dtype) {
        COMBINE(VT_F32, float, float)
        COMBINE(VT_F64, double, double)
        COMBINE(VT_I8, int8_t, uint32_t)
        COMBINE(VT_U8, uint8_t, uint32_t)
        COMBINE(VT_I16, int16_t, uint32_t)
        COMBINE(VT_U16, uint16_t, uint32_t)
        COMBINE(VT_I32, int32_t, uint32_t)
        COMBINE(VT_U32, uint32_t, uint32_t)
        COMBINE(VT_I64, int64_t, uint64_t)
        COMBINE(VT_U64, uint64_t, uint64_t)
    default:
        return;
    }
}

int64_t vt_scatter_nd_run(const struct vt_gather_nd *g, enum vt_scatter reduction,
                          enum vt_dtype dtype, const struct vt_indices *indices,
                          const void *updates, void *out)
{
    const size_t block_bytes = (size_t)g->block * g->bytes;
    const char *from = updates;
    for (int64_t i = 0; i < g->tuples; i++, from += block_bytes) {
        const int64_t offset = tuple_offset(g, indices, 0, i);
        if (offset < 0) {
            return i * g->depth - 1 - offset;
        }
        combine(reduction, dtype, g->block, from, (char *)out + offset * (int64_t)g->bytes);
    }
    return -1;
}

int64_t vt_scatter_elements_run(const struct vt_gather_elements *g, enum vt_scatter reduction,
                                enum vt_dtype dtype, const struct vt_indices *indices,
                                const void *updates, void *out)
{
    const int64_t n = element_count(g), bytes = (int64_t)g->bytes;
    for (int64_t i = 0; i < n; i++) {
        const int64_t offset = element_offset(g, indices, i);
        if (offset < 0) {
            return i;
        }
        combine(reduction, dtype, 1, (const char *)updates + i * bytes,
                (char *)out + offset * bytes);
    }
    return -1;
}
