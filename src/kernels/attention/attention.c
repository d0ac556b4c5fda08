/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention/attention.h"

#include <math.h>
#include <string.h>

#include "kernels/attention/blocked.h"

struct job {
    const struct vt_attention *a;
    const struct vt_attention_data *data;
    float *workspace;
};

/* Row t of a head's keys or values, of the past or of the new ones. */
static const float *row_of(const struct vt_attention *a, const float *past, const float *fresh,
                           int64_t size, int64_t batch, int64_t head, int64_t t)
{
    if (t < a->past_len) {
        return past + ((batch * a->kv_heads + head) * a->past_len + t) * size;
    }
    t -= a->past_len;
    return a->packed ? fresh + ((batch * a->kv_len + t) * a->kv_heads + head) * size
                     : fresh + ((batch * a->kv_heads + head) * a->kv_len + t) * size;
}

/* What is added to the score of key t; -INFINITY where it is not seen. */
static float bias_of(const struct vt_attention *a, const struct vt_attention_data *data,
                     int64_t batch, int64_t head, int64_t query, int64_t t)
{
    int64_t before = a->past_len;
    if (data->valid != NULL) {
        before = data->valid[batch] - a->q_len;
        if (t >= data->valid[batch]) {
            return -INFINITY;
        }
    }
    const int64_t place = before + query;
    if ((a->causal && t > place) || (a->left >= 0 && place - t > a->left) ||
        (a->right >= 0 && t - place > a->right)) {
        return -INFINITY;
    }
    if (data->mask == NULL) {
        return 0.0f;
    }
    if (t >= a->mask_len) {
        return -INFINITY;
    }
    const int64_t at =
        batch * a->mask_step[0] + head * a->mask_step[1] + query * a->mask_step[2] + t;
    if (a->mask_is_bool) {
        return ((const uint8_t *)data->mask)[at] != 0 ? 0.0f : -INFINITY;
    }
    return ((const float *)data->mask)[at];
}

/* A row in which nothing is seen becomes 0 throughout. */
static void softmax(float *x, int64_t n)
{
    float most = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        most = x[i] > most ? x[i] : most;
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = most == -INFINITY ? 0.0f : expf(x[i] - most);
        sum += (double)x[i];
    }
    for (int64_t i = 0; i < n && sum > 0; i++) {
        x[i] = (float)((double)x[i] / sum);
    }
}

static void keep_stage(const struct job *job, enum vt_attention_stage stage, int64_t row,
                       const float *scores, int64_t n)
{
    if (job->data->scores != NULL && job->a->stage == stage) {
        memcpy(job->data->scores + row * n, scores, (size_t)n * sizeof(*scores));
    }
}

static void one_query(const struct job *job, int64_t row, float *scores)
{
    const struct vt_attention *a = job->a;
    const struct vt_attention_data *data = job->data;
    const int64_t query = row % a->q_len, head = row / a->q_len % a->q_heads;
    const int64_t batch = row / a->q_len / a->q_heads;
    const int64_t kv_head = head / (a->q_heads / a->kv_heads), n = a->past_len + a->kv_len;
    const int64_t place = a->packed ? (batch * a->q_len + query) * a->q_heads + head : row;
    const float *q = data->q + place * a->size;
    float *y = data->y + place * a->v_size;
    for (int64_t t = 0; t < n; t++) {
        const float *k = row_of(a, data->past_k, data->k, a->size, batch, kv_head, t);
        double sum = 0;
        for (int64_t i = 0; i < a->size; i++) {
            sum += (double)q[i] * (double)k[i];
        }
        scores[t] = (float)(sum * (double)a->scale);
    }
    keep_stage(job, VT_SCORES_RAW, row, scores, n);
    for (int64_t t = 0; t < n && a->softcap > 0.0f; t++) {
        scores[t] = a->softcap * tanhf(scores[t] / a->softcap);
    }
    keep_stage(job, VT_SCORES_CAPPED, row, scores, n);
    for (int64_t t = 0; t < n; t++) {
        scores[t] += bias_of(a, data, batch, head, query, t);
    }
    keep_stage(job, VT_SCORES_MASKED, row, scores, n);
    softmax(scores, n);
    keep_stage(job, VT_SCORES_SOFTMAX, row, scores, n);
    for (int64_t i = 0; i < a->v_size; i++) {
        y[i] = 0.0f;
    }
    for (int64_t t = 0; t < n; t++) {
        const float *v = row_of(a, data->past_v, data->v, a->v_size, batch, kv_head, t);
        for (int64_t i = 0; i < a->v_size && scores[t] != 0.0f; i++) {
            y[i] += scores[t] * v[i];
        }
    }
}

static void run_queries(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    float *scores = job->workspace + (int64_t)worker * (job->a->past_len + job->a->kv_len);
    for (int64_t row = begin; row < end; row++) {
        one_query(job, row, scores);
    }
}

/* Past and new rows one behind the other. */
static void join(const struct vt_attention *a, const float *past, const float *fresh, int64_t size,
                 float *to)
{
    const int64_t n = a->past_len + a->kv_len;
    for (int64_t i = 0; i < a->batch * a->kv_heads * n && to != NULL; i++) {
        const int64_t head = i / n;
        memcpy(to + i * size,
               row_of(a, past, fresh, size, head / a->kv_heads, head % a->kv_heads, i % n),
               (size_t)size * sizeof(float));
    }
}

size_t vt_attention_workspace_bytes(const struct vt_attention *a, uint32_t threads)
{
    const size_t rows = (size_t)(a->past_len + a->kv_len) * threads * sizeof(float);
    const size_t blocked =
        vt_attention_blocked_fits(a) ? vt_attention_blocked_workspace_bytes(a, threads) : 0;
    return rows > blocked ? rows : blocked;
}

void vt_attention_run(const struct vt_attention *a, const struct vt_attention_data *data,
                      struct vt_pool *pool, float *workspace)
{
    struct job job = {a, data, workspace};
    const int64_t rows = a->batch * a->q_heads * a->q_len;
    join(a, data->past_k, data->k, a->size, data->present_k);
    join(a, data->past_v, data->v, a->v_size, data->present_v);
    if (data->scores == NULL && data->valid == NULL && vt_attention_blocked_fits(a)) {
        vt_attention_blocked_run(a, data, pool, workspace);
    } else if (rows > 0) {
        vt_pool_run(pool, rows, 1, run_queries, &job);
    }
}

int64_t vt_rotary_run(const struct vt_rotary *r, const float *x, const float *cosine,
                      const float *sine, const int64_t *position, float *y)
{
    const int64_t half = r->turned / 2;
    for (int64_t row = 0; row < r->batch * r->len * r->heads; row++) {
        const int64_t batch = row / (r->len * r->heads);
        const int64_t i = r->packed ? row / r->heads % r->len : row % r->len;
        const int64_t at = position != NULL ? position[batch * r->len + i] : batch * r->len + i;
        const float *from = x + row * r->size;
        float *to = y + row * r->size;
        if (at < 0 || at >= r->positions) {
            return batch * r->len + i;
        }
        for (int64_t k = 0; k < half; k++) {
            const float c = cosine[at * half + k], s = sine[at * half + k];
            const int64_t a = r->interleaved ? 2 * k : k, b = r->interleaved ? a + 1 : k + half;
            const float u = from[a], v = from[b];
            to[a] = c * u - s * v;
            to[b] = s * u + c * v;
        }
        for (int64_t k = 2 * half; k < r->size; k++) {
            to[k] = from[k];
        }
    }
    return -1;
}
