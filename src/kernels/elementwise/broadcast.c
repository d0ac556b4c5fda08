/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elementwise/broadcast.h"

#define GRAIN 16384

bool vt_broadcast_init(struct vt_broadcast *b, const struct vt_tensor *const *inputs,
                       uint32_t n_inputs, const struct vt_tensor *out)
{
    int64_t step[3][VT_RANK_MAX];
    b->n_inputs = n_inputs;
    for (uint32_t j = 0; j < n_inputs; j++) {
        const struct vt_tensor *in = inputs[j];
        int64_t running = 1;
        if (in->rank > out->rank) {
            return false;
        }
        for (uint32_t i = 0; i < out->rank; i++) { /* from the last */
            const int64_t extent = i < in->rank ? in->dim[in->rank - 1 - i] : 1;
            const uint32_t at = out->rank - 1 - i;
            if (extent != out->dim[at] && extent != 1) {
                return false;
            }
            step[j][at] = extent == 1 ? 0 : running;
            running *= extent;
        }
    }
    /* Join an extent to the one before it where every input steps through both evenly. */
    b->rank = 0;
    for (uint32_t i = 0; i < out->rank; i++) {
        if (out->dim[i] == 1) {
            continue;
        }
        bool joined = b->rank > 0;
        for (uint32_t j = 0; j < n_inputs && joined; j++) {
            joined = b->step[j][b->rank - 1] == step[j][i] * out->dim[i];
        }
        const uint32_t at = joined ? b->rank - 1 : b->rank++;
        b->dim[at] = joined ? b->dim[at] * out->dim[i] : out->dim[i];
        for (uint32_t j = 0; j < n_inputs; j++) {
            b->step[j][at] = step[j][i];
        }
    }
    if (b->rank == 0) {
        b->rank = 1;
        b->dim[0] = 1;
        for (uint32_t j = 0; j < n_inputs; j++) {
            b->step[j][0] = 0;
        }
    }
    return true;
}

static void run_range(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct vt_walk *w = ctx;
    const struct vt_broadcast *b = w->b;
    const uint32_t last = b->rank - 1;
    const int64_t inner = b->dim[last];
    int64_t step[3] = {0};

    (void)worker;
    for (uint32_t j = 0; j < b->n_inputs; j++) {
        step[j] = b->step[j][last];
    }
    for (int64_t at = begin; at < end;) {
        const int64_t x = at % inner, left = inner - x;
        const int64_t n = left < end - at ? left : end - at;
        const void *in[3] = {0};
        for (uint32_t j = 0; j < b->n_inputs; j++) {
            int64_t rest = at / inner, offset = x * step[j];
            for (uint32_t i = last; i-- > 0;) {
                offset += rest % b->dim[i] * b->step[j][i];
                rest /= b->dim[i];
            }
            in[j] = (const char *)w->inputs[j] + offset * (int64_t)w->in_bytes[j];
        }
        w->stretch(w->ctx, in, step, (char *)w->out + at * (int64_t)w->out_bytes, n);
        at += n;
    }
}

void vt_walk_run(const struct vt_walk *walk, struct vt_pool *pool)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < walk->b->rank; i++) {
        n *= walk->b->dim[i];
    }
    if (n > 0) {
        vt_pool_run(pool, n, GRAIN, run_range, (void *)(uintptr_t)walk);
    }
}

#define CHOOSE(type)                                                                               \
    {                                                                                              \
        const type *a = in[1], *b = in[2];                                                         \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = c[i * step[0]] ? a[i * step[1]] : b[i * step[2]];                               \
        return;                                                                                    \
    }

struct wide {
    uint64_t part[2];
};

static void where_stretch(const void *ctx, const void *const *in, const int64_t *step, void *out,
                          int64_t n)
{
    const uint8_t *c = in[0];
    switch (*(const size_t *)ctx) {
    case 1:
        CHOOSE(uint8_t)
    case 2:
        CHOOSE(uint16_t)
    case 4:
        CHOOSE(uint32_t)
    case 8:
        CHOOSE(uint64_t)
    default:
        CHOOSE(struct wide)
    }
}

void vt_where_run(const struct vt_broadcast *b, size_t bytes, const void *const *inputs, void *out,
                  struct vt_pool *pool)
{
    const struct vt_walk walk = {b, inputs, {1, bytes, bytes}, bytes, out, where_stretch, &bytes};
    vt_walk_run(&walk, pool);
}
