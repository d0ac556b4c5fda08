/* SPDX-License-Identifier: Apache-2.0 */
/* One query at a time with all its scores, where these are an output too. */
#include "kernels/attention/flash.h"

#include <math.h>
#include <string.h>

struct job {
    const struct vt_attention *a;
    const struct vt_attention_data *data;
    float *workspace;
};

const float *vt_attention_row(const struct vt_attention *a, const float *past, const float *fresh,
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
        const float *k = vt_attention_row(a, data->past_k, data->k, a->size, batch, kv_head, t);
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
        const float *v = vt_attention_row(a, data->past_v, data->v, a->v_size, batch, kv_head, t);
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

void vt_attention_rows(const struct vt_attention *a, const struct vt_attention_data *data,
                       struct vt_pool *pool, float *workspace)
{
    struct job job = {a, data, workspace};
    vt_pool_run(pool, a->batch * a->q_heads * a->q_len, 1, run_queries, &job);
}
