/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A work item is a head of a batch with some of its queries. Keys (transposed) and values are
 * packed once for it; then a few queries at a time are multiplied with all keys, their scores
 * become weights, and these are multiplied with the values. So the scores of all queries never
 * exist, and those of a few stay in the cache.
 */
#include "kernels/attention/blocked.h"

#include <math.h>
#include <string.h>

#include "base/topology.h"
#include "kernels/gemm/gemm.h"
#include "kernels/softmax/softmax.h"

/* Queries at a time, in rows of a tile. */
#define TILES_A_BLOCK 4
/* Work items a thread should get. */
#define ITEMS_PER_THREAD 2

struct plan {
    const struct vt_gemm_kernel *kernel;
    int64_t rows;        /* queries at a time */
    int64_t keys;        /* padded to whole tiles: the length of a row of scores */
    int64_t values;      /* likewise, of packed values */
    int64_t parts, part; /* a head's queries are cut into so many items of so many queries */
    /* Scratch of a worker, in floats. */
    size_t k_packed, v_packed, q_packed, scores, weights;
};

struct job {
    const struct vt_attention *a;
    const struct vt_attention_data *data;
    struct plan plan;
    float *workspace;
};

static int64_t round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* False when the scratch has no size. */
static bool plan_init(struct plan *p, const struct vt_attention *a, uint32_t threads)
{
    const int64_t heads = a->batch * a->q_heads;
    p->kernel = vt_gemm_kernel_find(vt_topology()->features);
    p->rows = (int64_t)p->kernel->mr * TILES_A_BLOCK;
    p->keys = round_up(a->kv_len, p->kernel->nr);
    p->values = round_up(a->v_size, p->kernel->nr);
    p->parts = heads > 0 ? (int64_t)threads * ITEMS_PER_THREAD / heads : 1;
    p->parts = threads == 1 || p->parts < 1 ? 1 : p->parts;
    p->part = round_up((a->q_len + p->parts - 1) / p->parts, p->rows);
    p->parts = p->part > 0 ? (a->q_len + p->part - 1) / p->part : 0;
    return !__builtin_mul_overflow((size_t)p->keys, (size_t)a->size, &p->k_packed) &&
           !__builtin_mul_overflow((size_t)p->values, (size_t)a->kv_len, &p->v_packed) &&
           !__builtin_mul_overflow((size_t)p->rows, (size_t)a->size, &p->q_packed) &&
           !__builtin_mul_overflow((size_t)p->rows, (size_t)p->keys, &p->scores) &&
           !__builtin_mul_overflow((size_t)p->rows, (size_t)a->kv_len, &p->weights);
}

/* Whole cache lines, so that each part is aligned and no two workers share one. */
static size_t lines(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

static size_t worker_floats(const struct plan *p)
{
    return lines(p->k_packed) + lines(p->v_packed) + lines(p->q_packed) + lines(p->scores) +
           lines(p->weights);
}

bool vt_attention_blocked_fits(const struct vt_attention *a)
{
    struct plan p;
    return a->past_len == 0 && a->softcap == 0.0f && !a->causal && a->left < 0 && a->right < 0 &&
           a->kv_len > 0 && a->q_len > 0 && a->size > 0 && a->v_size > 0 && plan_init(&p, a, 1);
}

size_t vt_attention_blocked_workspace_bytes(const struct vt_attention *a, uint32_t threads)
{
    struct plan p;
    return plan_init(&p, a, threads) ? worker_floats(&p) * threads * sizeof(float) : 0;
}

/* --- one product ------------------------------------------------------------------------------ */

/* C (rows x cols) = A·B, both packed; C's rows are `ldc` apart, and where `whole` it has room for
 * whole tiles. */
static void multiply(const struct vt_gemm_kernel *kernel, int64_t rows, int64_t cols, int64_t k,
                     const float *a, const float *b, float *c, int64_t ldc, bool whole)
{
    const int64_t mr = kernel->mr, nr = kernel->nr;
    for (int64_t k0 = 0; k0 < k; k0 += VT_GEMM_KC) {
        const int64_t kc = least(VT_GEMM_KC, k - k0);
        for (int64_t n = 0; n < cols; n += nr) {
            struct vt_gemm_tile tile = {.k = kc, .ldc = ldc, .accumulate = k0 > 0};
            tile.b = b + k0 * round_up(cols, nr) + n * kc;
            for (int64_t m = 0; m < rows; m += mr) {
                const uint32_t tile_rows = (uint32_t)least(mr, rows - m);
                tile.a = a + k0 * round_up(rows, mr) + m * kc;
                tile.c = c + m * ldc + n;
                if (whole || n + nr <= cols) {
                    kernel->packed(&tile, tile_rows);
                } else {
                    vt_gemm_tile_narrow(kernel, kernel->packed, &tile, tile_rows,
                                        (uint32_t)(cols - n));
                }
            }
        }
    }
}

/* --- scores to weights ------------------------------------------------------------------------ */

static void add_mask(const struct vt_attention *a, const struct vt_attention_data *data,
                     int64_t batch, int64_t head, int64_t query, float *scores)
{
    const int64_t at = batch * a->mask_step[0] + head * a->mask_step[1] + query * a->mask_step[2];
    if (a->mask_is_bool) {
        const uint8_t *seen = (const uint8_t *)data->mask + at;
        for (int64_t t = 0; t < a->mask_len; t++) {
            scores[t] = seen[t] != 0 ? scores[t] : -INFINITY;
        }
    } else {
        const float *mask = (const float *)data->mask + at;
        for (int64_t t = 0; t < a->mask_len; t++) {
            scores[t] += mask[t];
        }
    }
    for (int64_t t = a->mask_len; t < a->kv_len; t++) {
        scores[t] = -INFINITY;
    }
}

static bool sees_nothing(const float *scores, int64_t n)
{
    int64_t t = 0;
    while (t < n && scores[t] == -INFINITY) {
        t++;
    }
    return t == n;
}

/* A query that sees nothing weighs nothing. */
static void weigh(const struct job *job, int64_t batch, int64_t head, int64_t query, float *scores)
{
    const struct vt_attention *a = job->a;
    for (int64_t t = 0; t < a->kv_len; t++) {
        scores[t] *= a->scale;
    }
    if (job->data->mask != NULL) {
        add_mask(a, job->data, batch, head, query, scores);
    }
    if (sees_nothing(scores, a->kv_len)) {
        memset(scores, 0, (size_t)a->kv_len * sizeof(*scores));
    } else {
        vt_softmax_run(VT_SOFTMAX, 1, a->kv_len, 1, scores, scores, NULL);
    }
}

/* --- one item --------------------------------------------------------------------------------- */

/* Where a head's rows are: the first, and how far it is to the next. */
static int64_t rows_of(const struct vt_attention *a, int64_t batch, int64_t head, int64_t heads,
                       int64_t len, int64_t size, int64_t *ret_step)
{
    *ret_step = a->packed ? heads * size : size;
    return a->packed ? (batch * len * heads + head) * size : (batch * heads + head) * len * size;
}

static void run_item(const struct job *job, int64_t item, float *scratch)
{
    const struct vt_attention *a = job->a;
    const struct plan *p = &job->plan;
    const int64_t head = item / p->parts % a->q_heads, batch = item / p->parts / a->q_heads;
    const int64_t kv_head = head / (a->q_heads / a->kv_heads);
    float *k_packed = scratch, *v_packed = k_packed + lines(p->k_packed);
    float *q_packed = v_packed + lines(p->v_packed), *scores = q_packed + lines(p->q_packed);
    float *weights = scores + lines(p->scores);
    int64_t q_step, k_step, v_step, y_step;
    const float *q = job->data->q + rows_of(a, batch, head, a->q_heads, a->q_len, a->size, &q_step);
    const float *k =
        job->data->k + rows_of(a, batch, kv_head, a->kv_heads, a->kv_len, a->size, &k_step);
    const float *v =
        job->data->v + rows_of(a, batch, kv_head, a->kv_heads, a->kv_len, a->v_size, &v_step);
    float *y = job->data->y + rows_of(a, batch, head, a->q_heads, a->q_len, a->v_size, &y_step);

    const struct vt_gemm_matrix turned_keys = {k, 1, k_step}, values = {v, v_step, 1};
    vt_gemm_pack_b(p->kernel, a->size, a->kv_len, &turned_keys, k_packed);
    vt_gemm_pack_b(p->kernel, a->kv_len, a->v_size, &values, v_packed);
    const int64_t first = item % p->parts * p->part, end = least(first + p->part, a->q_len);
    for (int64_t row = first; row < end; row += p->rows) {
        const int64_t rows = least(p->rows, end - row);
        const struct vt_gemm_matrix queries = {q + row * q_step, q_step, 1};
        const struct vt_gemm_matrix weighed = {scores, p->keys, 1};
        vt_gemm_pack_a(p->kernel, rows, a->size, &queries, NULL, q_packed);
        multiply(p->kernel, rows, a->kv_len, a->size, q_packed, k_packed, scores, p->keys, true);
        for (int64_t i = 0; i < rows; i++) {
            weigh(job, batch, head, row + i, scores + i * p->keys);
        }
        vt_gemm_pack_a(p->kernel, rows, a->kv_len, &weighed, NULL, weights);
        multiply(p->kernel, rows, a->v_size, a->kv_len, weights, v_packed, y + row * y_step, y_step,
                 false);
    }
}

static void run_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    for (int64_t item = begin; item < end; item++) {
        run_item(job, item, job->workspace + worker * worker_floats(&job->plan));
    }
}

void vt_attention_blocked_run(const struct vt_attention *a, const struct vt_attention_data *data,
                              struct vt_pool *pool, void *workspace)
{
    struct job job = {.a = a, .data = data, .workspace = workspace};
    if (plan_init(&job.plan, a, vt_pool_threads(pool))) {
        vt_pool_run(pool, a->batch * a->q_heads * job.plan.parts, 1, run_items, &job);
    }
}
