/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/move/move.h"
#include "kernels/turn.h"

#define GRAIN_BYTES 65536
/* A block that is turned: some contiguous elements of some rows, so that its lines stay in the
 * first-level cache. The next block goes on with the same rows. */
#define BLOCK_ROW  INT64_C(128)
#define BLOCK_ROWS INT64_C(32)

struct wide {
    uint64_t part[2];
};

struct job {
    struct vt_copy c; /* simplified: no extent of 1, joined where possible, last extent = a row */
    const char *source;
    char *destination;
    uint32_t side; /* of a copy that turns rows into columns: the source's contiguous extent */
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
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row, from = 0, to = 0;
        for (uint32_t i = last; i-- > 0;) {
            const int64_t index = rest % c->dim[i];
            rest /= c->dim[i];
            from += index * c->from[i];
            to += index * c->to[i];
        }
        copy_row(c->bytes, c->dim[last], c->from[last], c->to[last],
                 job->source + from * (int64_t)c->bytes, job->destination + to * (int64_t)c->bytes);
    }
}

/* Rows of `from` elements become columns: destination[i · to + j] = source[j · from + i]. */
static void turn_block(size_t bytes, int64_t columns, int64_t rows, int64_t from, int64_t to,
                       const char *source, char *destination)
{
    int64_t i = 0;
    for (; bytes == sizeof(float) && i + 4 <= columns; i += 4) {
        int64_t j = 0;
        for (; j + 4 <= rows; j += 4) {
            vt_four x[4];
            for (int64_t k = 0; k < 4; k++) {
                memcpy(&x[k], source + ((j + k) * from + i) * 4, sizeof(x[k]));
            }
            vt_turn_four(x);
            for (int64_t k = 0; k < 4; k++) {
                memcpy(destination + ((i + k) * to + j) * 4, &x[k], sizeof(x[k]));
            }
        }
        for (int64_t k = 0; k < 4 && j < rows; k++) {
            copy_row(bytes, rows - j, from, 1, source + (j * from + i + k) * 4,
                     destination + ((i + k) * to + j) * 4);
        }
    }
    for (; i < columns; i++) {
        copy_row(bytes, rows, from, 1, source + i * (int64_t)bytes,
                 destination + i * to * (int64_t)bytes);
    }
}

/* Blocks of the extents `side`, contiguous in the source, and the last, in the destination. */
static void run_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_copy *c = &job->c;
    const uint32_t last = c->rank - 1, side = job->side;
    const int64_t across = (c->dim[side] + BLOCK_ROW - 1) / BLOCK_ROW;
    const int64_t along = (c->dim[last] + BLOCK_ROWS - 1) / BLOCK_ROWS;
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        const int64_t i = item % across * BLOCK_ROW, j = item / across % along * BLOCK_ROWS;
        int64_t rest = item / along / across;
        int64_t from = i + j * c->from[last], to = i * c->to[side] + j;
        for (uint32_t axis = last; axis-- > 0;) {
            if (axis != side) {
                from += rest % c->dim[axis] * c->from[axis];
                to += rest % c->dim[axis] * c->to[axis];
                rest /= c->dim[axis];
            }
        }
        const int64_t columns = c->dim[side] - i, rows = c->dim[last] - j;
        turn_block(c->bytes, columns < BLOCK_ROW ? columns : BLOCK_ROW,
                   rows < BLOCK_ROWS ? rows : BLOCK_ROWS, c->from[last], c->to[side],
                   job->source + from * (int64_t)c->bytes,
                   job->destination + to * (int64_t)c->bytes);
    }
}

/* Runs a copy that turns rows into columns block by block; false where it is none. */
static bool run_turned(struct job *job, struct vt_pool *pool)
{
    const struct vt_copy *c = &job->c;
    const uint32_t last = c->rank - 1;
    int64_t items = (c->dim[last] + BLOCK_ROWS - 1) / BLOCK_ROWS;
    job->side = last;
    for (uint32_t i = 0; i < last; i++) {
        job->side = c->from[i] == 1 ? i : job->side;
    }
    if (job->side == last || c->to[last] != 1 || c->from[last] == 0 || c->dim[job->side] < 4 ||
        c->dim[last] < 4) {
        return false;
    }
    for (uint32_t i = 0; i < last; i++) {
        items *= i == job->side ? (c->dim[i] + BLOCK_ROW - 1) / BLOCK_ROW : c->dim[i];
    }
    const int64_t bytes = BLOCK_ROW * BLOCK_ROWS * (int64_t)c->bytes;
    vt_pool_run(pool, items, 1 + GRAIN_BYTES / bytes, run_blocks, job);
    return true;
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
    if (run_turned(&job, pool)) {
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
