/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>

#include "kernel_test.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm16/gemm16.h"

struct problem {
    struct vt_attention a;
    float *q, *k, *v, *past_k, *past_v, *y, *scores;
    void *mask; /* of exactly the elements that are looked at, or NULL */
    int64_t *valid;
    double bound; /* of an error */
};

static double key_at(const struct problem *p, int64_t b, int64_t h, int64_t t, int64_t i,
                     bool value)
{
    const struct vt_attention *a = &p->a;
    const int64_t size = value ? a->v_size : a->size;
    const float *past = value ? p->past_v : p->past_k, *fresh = value ? p->v : p->k;
    if (t < a->past_len)
        return (double)past[((b * a->kv_heads + h) * a->past_len + t) * size + i];
    t -= a->past_len;
    return (double)(a->packed ? fresh[((b * a->kv_len + t) * a->kv_heads + h) * size + i]
                              : fresh[((b * a->kv_heads + h) * a->kv_len + t) * size + i]);
}

/* What the mask says about a key in double; -INFINITY: it is not seen. */
static double mask_at(const struct problem *p, int64_t b, int64_t h, int64_t query, int64_t t)
{
    const struct vt_attention *a = &p->a;
    const int64_t place = query + (p->valid != NULL ? p->valid[b] - a->q_len : a->past_len);
    if ((p->valid != NULL && t >= p->valid[b]) || (a->causal && t > place) ||
        (a->left >= 0 && t < place - a->left) || (a->right >= 0 && t > place + a->right))
        return -INFINITY;
    if (p->mask == NULL)
        return 0;
    if (t >= a->mask_len)
        return -INFINITY;
    const int64_t at = b * a->mask_step[0] + h * a->mask_step[1] + query * a->mask_step[2] + t;
    if (a->mask_is_bool)
        return ((const uint8_t *)p->mask)[at] ? 0 : -INFINITY;
    return (double)((const float *)p->mask)[at];
}

static void check_query(const struct problem *p, int64_t b, int64_t h, int64_t query)
{
    const struct vt_attention *a = &p->a;
    const int64_t n = a->past_len + a->kv_len, kv = h / (a->q_heads / a->kv_heads);
    const int64_t row = a->packed ? (b * a->q_len + query) * a->q_heads + h
                                  : (b * a->q_heads + h) * a->q_len + query;
    double *s = vt_calloc((size_t)n, sizeof(double)), most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < n; t++) {
        for (int64_t i = 0; i < a->size; i++)
            s[t] += (double)p->q[row * a->size + i] * key_at(p, b, kv, t, i, false);
        s[t] *= (double)a->scale;
        if (a->softcap > 0)
            s[t] = (double)a->softcap * tanh(s[t] / (double)a->softcap);
        s[t] += mask_at(p, b, h, query, t);
        most = fmax(most, s[t]);
    }
    for (int64_t t = 0; t < n; t++) {
        s[t] = most < -DBL_MAX ? 0 : exp(s[t] - most);
        sum += s[t];
    }
    for (int64_t i = 0; i < a->v_size; i++) {
        double want = 0;
        for (int64_t t = 0; t < n; t++)
            want += sum > 0 ? s[t] / sum * key_at(p, b, kv, t, i, true) : 0;
        const double got = (double)p->y[row * a->v_size + i];
        if (!(fabs(got - want) <= p->bound))
            fail_msg("query %lld of head %lld, element %lld: %.9g, not %.9g", (long long)query,
                     (long long)h, (long long)i, got, want);
    }
    vt_free(s);
}

static void fill_mask(struct problem *p, struct random *r, int kind)
{
    struct vt_attention *a = &p->a;
    const int64_t n = a->past_len + a->kv_len;
    const int64_t dim[3] = {random_int(r, 0, 1) ? a->batch : 1,
                            random_int(r, 0, 1) ? a->q_heads : 1,
                            random_int(r, 0, 1) ? a->q_len : 1};
    if (kind == 0)
        return;
    a->mask_is_bool = kind == 1;
    a->mask_len = kind == 3 ? random_int(r, 1, n) : n;
    a->mask_step[2] = dim[2] == 1 ? 0 : a->mask_len;
    a->mask_step[1] = dim[1] == 1 ? 0 : dim[2] * a->mask_len;
    a->mask_step[0] = dim[0] == 1 ? 0 : dim[1] * dim[2] * a->mask_len;
    const int64_t count = dim[0] * dim[1] * dim[2] * a->mask_len;
    if (a->mask_is_bool) {
        uint8_t *bools = vt_alloc((size_t)count);
        for (int64_t i = 0; i < count; i++)
            bools[i] = random_int(r, 0, 3) != 0;
        p->mask = bools;
    } else {
        float *floats = random_floats(r, count);
        for (int64_t i = 0; i < count; i++)
            floats[i] = random_int(r, 0, 9) == 0 ? -INFINITY : floats[i] * 3.0f;
        p->mask = floats;
    }
}

static void solve(struct problem *p, struct vt_pool *pool, struct random *r, int turn)
{
    struct vt_attention *a = &p->a;
    a->scale = 1.0f / sqrtf((float)a->size);
    p->q = random_floats(r, a->batch * a->q_heads * a->q_len * a->size);
    p->k = random_floats(r, a->batch * a->kv_heads * a->kv_len * a->size);
    p->v = random_floats(r, a->batch * a->kv_heads * a->kv_len * a->v_size);
    p->past_k = random_floats(r, a->batch * a->kv_heads * a->past_len * a->size);
    p->past_v = random_floats(r, a->batch * a->kv_heads * a->past_len * a->v_size);
    p->y = random_floats(r, a->batch * a->q_heads * a->q_len * a->v_size);
    for (int64_t i = 0; i < a->batch * a->q_heads * a->q_len * a->size; i++)
        p->q[i] *= 4.0f;
    if (a->keeps_scores)
        p->scores = random_floats(r, a->batch * a->q_heads * a->q_len * (a->past_len + a->kv_len));
    if (turn % 7 == 3 && a->past_len == 0) {
        p->valid = vt_alloc((size_t)a->batch * sizeof(int64_t));
        for (int64_t b = 0; b < a->batch; b++)
            p->valid[b] = random_int(r, 0, a->kv_len);
    }
    fill_mask(p, r, turn % 4);
    const struct vt_attention_data data = {.q = p->q,
                                           .k = p->k,
                                           .v = p->v,
                                           .past_k = p->past_k,
                                           .past_v = p->past_v,
                                           .mask = p->mask,
                                           .valid = p->valid,
                                           .y = p->y,
                                           .scores = p->scores};
    float *workspace = vt_alloc(vt_attention_workspace_bytes(a, vt_pool_threads(pool)));
    vt_attention_run(a, &data, pool, workspace);
    for (int64_t i = 0; i < a->batch * a->q_heads * a->q_len; i++)
        check_query(p, i / a->q_len / a->q_heads, i / a->q_len % a->q_heads, i % a->q_len);
    void *all[] = {p->q, p->k,      p->v,    p->past_k, p->past_v,
                   p->y, p->scores, p->mask, p->valid,  workspace};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        vt_free(all[i]);
}

/* In bfloat16: scores of up to 8 are off by up to 2^-8 of that, and weights by as much. */
#define BF16_BOUND 0.06

/* Every kernel of bfloat16 that the machine has, and portable code. */
static void test_bf16(void **state)
{
    struct random r = {17};
    struct vt_pool *pool = test_pool(3);
    const uint32_t features = vt_topology()->features;
    uint32_t n = 0;
    (void)state;
    while (vt_gemm16_kernel_at(features, n) != NULL)
        n++;
    for (uint32_t turn = 0; turn < 120; turn++) {
        struct problem p = {.a = {.left = -1, .right = -1}, .bound = BF16_BOUND};
        struct vt_attention *a = &p.a;
        a->gemm = vt_gemm_kernel_find(features);
        a->way = vt_attention_way_find(features);
        a->bf16 = vt_gemm16_kernel_at(features, turn % n);
        a->batch = random_int(&r, 1, 2);
        a->kv_heads = random_int(&r, 1, 2);
        a->q_heads = a->kv_heads * random_int(&r, 1, 2);
        a->q_len = random_int(&r, 1, 70);
        a->kv_len = random_int(&r, 1, 70);
        a->past_len = turn % 5 == 2 ? random_int(&r, 1, 30) : 0;
        a->size = random_int(&r, 1, turn % 7 == 0 ? 80 : 40);
        a->v_size = random_int(&r, 1, turn % 11 == 0 ? 80 : 40);
        a->packed = turn % 2 == 0;
        a->causal = turn % 3 == 1;
        if (turn % 40 == 39) {
            a->q_len = random_int(&r, 380, 420);
            a->kv_len = random_int(&r, 400, 450);
            a->batch = a->q_heads = a->kv_heads = 1;
        }
        solve(&p, turn % 2 ? pool : NULL, &r, (int)turn);
    }
    vt_pool_free(pool);
}

/* Lengths below, at and beyond the blocks; masks of all kinds; shared heads; a past. */
static void test_shapes(void **state)
{
    struct random r = {11};
    struct vt_pool *pool = test_pool(3);
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int turn = 0; turn < 240; turn++) {
        struct problem p = {.a = {.left = -1, .right = -1}, .bound = 2e-5};
        struct vt_attention *a = &p.a;
        a->gemm = vt_gemm_kernel_find(features[turn % n]);
        a->way = vt_attention_way_find(features[turn % n]);
        a->batch = random_int(&r, 1, 2);
        a->kv_heads = random_int(&r, 1, 3);
        a->q_heads = a->kv_heads * random_int(&r, 1, 2);
        a->q_len = random_int(&r, 1, turn % 2 ? 70 : 9);
        a->kv_len = random_int(&r, 1, turn % 3 == 0 ? 70 : 20);
        a->past_len = turn % 5 == 2 ? random_int(&r, 1, 30) : 0;
        a->size = random_int(&r, 1, turn % 11 == 0 ? 80 : 20);
        a->v_size = random_int(&r, 1, turn % 13 == 0 ? 80 : 20);
        a->packed = turn % 2 == 0;
        a->softcap = turn % 6 == 5 ? 2.0f : 0.0f;
        a->causal = turn % 3 == 1;
        a->left = turn % 9 == 4 ? random_int(&r, 0, 12) : -1;
        a->right = turn % 9 == 5 ? random_int(&r, 0, 12) : -1;
        a->keeps_scores = turn % 17 == 0;
        if (turn % 24 == 23) { /* several blocks of keys and of queries */
            a->q_len = random_int(&r, 380, 420);
            a->kv_len = random_int(&r, 770, 900);
            a->batch = a->q_heads = a->kv_heads = 1;
        }
        solve(&p, turn % 2 ? pool : NULL, &r, turn);
    }
    vt_pool_free(pool);
}

/* Scores far beyond what exp takes, and a NaN that spoils its own query alone. */
static void test_extremes(void **state)
{
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int f = 0; f < n; f++) {
        const float q[3] = {1.0f, NAN, -1.0f}, k[4] = {1000.0f, -1000.0f, 0.0f, 999.0f};
        const float v[4] = {1.0f, 2.0f, 3.0f, 5.0f};
        float y[3];
        const struct vt_attention a = {.gemm = vt_gemm_kernel_find(features[f]),
                                       .way = vt_attention_way_find(features[f]),
                                       .batch = 1,
                                       .q_heads = 1,
                                       .kv_heads = 1,
                                       .q_len = 3,
                                       .kv_len = 4,
                                       .size = 1,
                                       .v_size = 1,
                                       .scale = 1.0f,
                                       .left = -1,
                                       .right = -1};
        const struct vt_attention_data data = {.q = q, .k = k, .v = v, .y = y};
        float *workspace = vt_alloc(vt_attention_workspace_bytes(&a, 1));
        vt_attention_run(&a, &data, NULL, workspace);
        assert_close((double)y[0], (1 + 5 * exp(-1)) / (1 + exp(-1)), 1);
        assert_true(isnan(y[1]));
        assert_close((double)y[2], 2, 1);
        vt_free(workspace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
