/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/topology.h"
#include "kernels/move/move.h"
#include "kernels/move/transpose.h"

#define GRAIN_BYTES 65536

struct wide {
    uint64_t part[2];
};

struct job {
    struct vt_copy c; /* simplified: no extent of 1, joined where possible, last extent = a row */
    const char *source;
    char *destination;
};

/* Drops extents of 1 and joins neighbours that both sides walk evenly. */
static void simplify(const struct vt_copy *in, struct vt_copy *out)
{
    out->bytes = in->bytes;
    out->rank = 0;
    for (uint32_t i = 0; i < in->rank; i++) {
        if (in->dim[i] == 1) {
            continue;
        }
        const uint32_t last = out->rank - 1;
        if (out->rank > 0 && out->from[last] == in->from[i] * in->dim[i] &&
            out->to[last] == in->to[i] * in->dim[i]) {
            out->dim[last] *= in->dim[i];
            out->from[last] = in->from[i];
            out->to[last] = in->to[i];
            continue;
        }
        out->dim[out->rank] = in->dim[i];
        out->from[out->rank] = in->from[i];
        out->to[out->rank++] = in->to[i];
    }
    if (out->rank == 0) {
        out->rank = 1;
        out->dim[0] = 1;
        out->from[0] = out->to[0] = 1;
    }
}

#define ROW(type)                                                                                  \
    {                                                                                              \
        const type *s = (const void *)source;                                                      \
        type *d = (void *)destination;                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            d[i * to] = s[i * from];                                                               \
        return;                                                                                    \
    }

static void copy_row(size_t bytes, int64_t n, int64_t from, int64_t to, const char *source,
                     char *destination)
{
    if (from == 1 && to == 1) {
        memcpy(destination, source, (size_t)n * bytes);
        return;
    }
    switch (bytes) {
    case 1:
        ROW(uint8_t)
    case 2:
        ROW(uint16_t)
    case 4:
        ROW(uint32_t)
    case 8:
        ROW(uint64_t)
    default:
        ROW(struct wide)
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_copy *c = &job->c;
    const uint32_t last = c->rank - 1;
    const int64_t bytes = (int64_t)c->bytes;
    (void)worker;
    for (int64_t row = begin; row < end;) {
        int64_t rest = row, from = 0, to = 0, run = 1;
        for (uint32_t i = last; i-- > 0;) {
            const int64_t index = rest % c->dim[i];
            rest /= c->dim[i];
            from += index * c->from[i];
            to += index * c->to[i];
            /* As many rows as the extent before the last has left are a step apart. */
            run = i + 1 == last ? c->dim[i] - index : run;
        }
        run = run < end - row ? run : end - row;
        const int64_t from_step = last > 0 ? c->from[last - 1] : 0;
        const int64_t to_step = last > 0 ? c->to[last - 1] : 0;
        for (int64_t i = 0; i < run; i++) {
            copy_row(c->bytes, c->dim[last], c->from[last], c->to[last],
                     job->source + (from + i * from_step) * bytes,
                     job->destination + (to + i * to_step) * bytes);
        }
        row += run;
    }
}

/* A copy that is the transposition of matrices: of elements of 4 bytes, neighbours along one extent
 * become neighbours along another. */
struct transposition {
    struct vt_copy outer; /* of matrices */
    struct vt_transpose matrix;
    vt_transpose_func func;
    int64_t blocks_r, blocks_c;
    const uint32_t *source;
    uint32_t *destination;
};

/* What one item transposes at most. */
#define BLOCK_ROWS    512
#define BLOCK_COLUMNS 64

static bool transposition_init(const struct vt_copy *c, struct transposition *ret)
{
    uint32_t columns = c->rank, rows = c->rank;
    for (uint32_t i = 0; i < c->rank; i++) {
        columns = c->from[i] == 1 ? i : columns;
        rows = c->to[i] == 1 ? i : rows;
    }
    if (c->bytes != 4 || columns == c->rank || rows == c->rank || rows == columns) {
        return false;
    }
    ret->outer.rank = 0;
    ret->outer.bytes = 1;
    for (uint32_t i = 0; i < c->rank; i++) {
        if (i != rows && i != columns) {
            ret->outer.dim[ret->outer.rank] = c->dim[i];
            ret->outer.from[ret->outer.rank] = c->from[i];
            ret->outer.to[ret->outer.rank++] = c->to[i];
        }
    }
    ret->matrix =
        (struct vt_transpose){c->dim[rows], c->dim[columns], c->from[rows], c->to[columns]};
    ret->func = vt_x32_transpose__portable;
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX512) {
        ret->func = vt_x32_transpose__avx512;
    } else if (vt_topology()->features & VT_CPU_AVX2) {
        ret->func = vt_x32_transpose__avx2;
    }
#endif
    ret->blocks_r = (ret->matrix.rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    ret->blocks_c = (ret->matrix.columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    return true;
}

static void run_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct transposition *t = ctx;
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        const int64_t r = item % t->blocks_r * BLOCK_ROWS;
        const int64_t c = item / t->blocks_r % t->blocks_c * BLOCK_COLUMNS;
        int64_t rest = item / t->blocks_r / t->blocks_c;
        int64_t from = r * t->matrix.from_step + c, to = c * t->matrix.to_step + r;
        struct vt_transpose block = t->matrix;
        for (uint32_t i = t->outer.rank; i-- > 0;) {
            from += rest % t->outer.dim[i] * t->outer.from[i];
            to += rest % t->outer.dim[i] * t->outer.to[i];
            rest /= t->outer.dim[i];
        }
        block.rows = block.rows - r < BLOCK_ROWS ? block.rows - r : BLOCK_ROWS;
        block.columns = block.columns - c < BLOCK_COLUMNS ? block.columns - c : BLOCK_COLUMNS;
        t->func(&block, t->source + from, t->destination + to);
    }
}

static void transposition_run(struct transposition *t, struct vt_pool *pool)
{
    int64_t items = t->blocks_r * t->blocks_c;
    const int64_t floats = t->matrix.rows * t->matrix.columns / items;
    for (uint32_t i = 0; i < t->outer.rank; i++) {
        items *= t->outer.dim[i];
    }
    vt_pool_run(pool, items, 1 + GRAIN_BYTES / 4 / (floats + 1), run_blocks, t);
}

void vt_copy_run(const struct vt_copy *copy, const void *source, void *destination,
                 struct vt_pool *pool)
{
    struct job job = {.source = source, .destination = destination};
    int64_t rows = 1;
    for (uint32_t i = 0; i < copy->rank; i++) {
        if (copy->dim[i] == 0) {
            return;
        }
    }
    simplify(copy, &job.c);
    struct transposition t = {.source = source, .destination = destination};
    if (transposition_init(&job.c, &t)) {
        transposition_run(&t, pool);
        return;
    }
    for (uint32_t i = 0; i + 1 < job.c.rank; i++) {
        rows *= job.c.dim[i];
    }
    const int64_t row_bytes = job.c.dim[job.c.rank - 1] * (int64_t)copy->bytes;
    vt_pool_run(pool, rows, 1 + GRAIN_BYTES / row_bytes, run_rows, &job);
}

void vt_fill(void *out, int64_t n, size_t bytes, const void *element)
{
    const struct wide zero = {{0, 0}};
    char *at = out;
    if (n <= 0) {
        return;
    }
    if (memcmp(element, &zero, bytes) == 0) {
        memset(out, 0, (size_t)n * bytes);
        return;
    }
    /* Double what is there until it is full. */
    size_t done = bytes, total = (size_t)n * bytes;
    memcpy(at, element, bytes);
    while (done < total) {
        const size_t more = done < total - done ? done : total - done;
        memcpy(at + done, at, more);
        done += more;
    }
}

/* The source of output i - before along an axis of n. */
static int64_t pad_source(enum vt_pad_mode mode, int64_t i, int64_t n)
{
    if (i >= 0 && i < n) {
        return i;
    }
    if (mode == VT_PAD_EDGE || n == 1) {
        return i < 0 ? 0 : n - 1;
    }
    if (mode == VT_PAD_WRAP) {
        return (i % n + n) % n;
    }
    const int64_t period = 2 * (n - 1), at = (i % period + period) % period;
    return at < n ? at : period - at;
}

void vt_pad_run(const struct vt_pad *pad, const void *in, void *out)
{
    const uint32_t last = pad->rank - 1;
    const int64_t width = pad->out[last], bytes = (int64_t)pad->bytes;
    int64_t rows = 1;
    for (uint32_t i = 0; i < last; i++) {
        rows *= pad->out[i];
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row, offset = 0, stride = pad->in[last];
        for (uint32_t i = last; i-- > 0;) {
            const int64_t index = rest % pad->out[i] - pad->before[i];
            rest /= pad->out[i];
            offset += pad_source(pad->mode, index, pad->in[i]) * stride;
            stride *= pad->in[i];
        }
        const char *from = (const char *)in + offset * bytes;
        char *to = (char *)out + row * width * bytes;
        for (int64_t x = 0; x < width; x++) {
            memcpy(to + x * bytes,
                   from + pad_source(pad->mode, x - pad->before[last], pad->in[last]) * bytes,
                   pad->bytes);
        }
    }
}
