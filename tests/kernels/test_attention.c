/* SPDX-License-Identifier: Apache-2.0 */
/* Attention against the plain formula in double precision: both orders of heads, shared heads,
 * masks, lengths that fill no tile, one thread and several. */
#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "kernels/attention/attention.h"

#define KEYS_MOST 512

static float *numbers(size_t n, uint32_t seed)
{
    float *x = malloc((n + 1) * sizeof(*x));
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return x;
}

/* Where number i of row `row` of a head lies. */
static size_t at(bool packed, int64_t heads, int64_t len, int64_t size, int64_t batch, int64_t head,
                 int64_t row, int64_t i)
{
    const int64_t place =
        packed ? (batch * len + row) * heads + head : (batch * heads + head) * len + row;
    return (size_t)(place * size + i);
}

static void expect_row(const struct vt_attention *a, const struct vt_attention_data *d, int64_t b,
                       int64_t h, int64_t q)
{
    const int64_t kv = h / (a->q_heads / a->kv_heads);
    double score[KEYS_MOST], sum = 0, most = -HUGE_VAL;
    for (int64_t t = 0; t < a->kv_len; t++) {
        score[t] = 0;
        for (int64_t i = 0; i < a->size; i++) {
            score[t] += (double)d->q[at(a->packed, a->q_heads, a->q_len, a->size, b, h, q, i)] *
                        (double)d->k[at(a->packed, a->kv_heads, a->kv_len, a->size, b, kv, t, i)];
        }
        score[t] *= (double)a->scale;
        const int64_t m = b * a->mask_step[0] + h * a->mask_step[1] + q * a->mask_step[2] + t;
        if (d->mask != NULL && t >= a->mask_len) {
            score[t] = -HUGE_VAL;
        } else if (d->mask != NULL && a->mask_is_bool) {
            score[t] = ((const uint8_t *)d->mask)[m] != 0 ? score[t] : -HUGE_VAL;
        } else if (d->mask != NULL) {
            score[t] += (double)((const float *)d->mask)[m];
        }
        most = score[t] > most ? score[t] : most;
    }
    for (int64_t t = 0; t < a->kv_len; t++) {
        score[t] = most == -HUGE_VAL ? 0 : exp(score[t] - most);
        sum += score[t];
    }
    for (int64_t i = 0; i < a->v_size; i++) {
        double y = 0;
        for (int64_t t = 0; t < a->kv_len && sum > 0; t++) {
            y += score[t] / sum *
                 (double)d->v[at(a->packed, a->kv_heads, a->kv_len, a->v_size, b, kv, t, i)];
        }
        const double got = (double)d->y[at(a->packed, a->q_heads, a->q_len, a->v_size, b, h, q, i)];
        assert_true(fabs(got - y) <= 1e-5);
    }
}

static void check(const struct vt_attention *a, const void *mask, struct vt_pool *pool)
{
    const size_t rows = (size_t)(a->batch * a->q_heads * a->q_len);
    const size_t kv_rows = (size_t)(a->batch * a->kv_heads * a->kv_len);
    float *q = numbers(rows * (size_t)a->size, 1), *k = numbers(kv_rows * (size_t)a->size, 2);
    float *v = numbers(kv_rows * (size_t)a->v_size, 3), *y = numbers(rows * (size_t)a->v_size, 4);
    float *workspace = vt_alloc(vt_attention_workspace_bytes(a, vt_pool_threads(pool)));
    const struct vt_attention_data data = {.q = q, .k = k, .v = v, .mask = mask, .y = y};
    assert_non_null(workspace);
    vt_attention_run(a, &data, pool, workspace);
    for (int64_t b = 0; b < a->batch; b++) {
        for (int64_t h = 0; h < a->q_heads; h++) {
            for (int64_t i = 0; i < a->q_len; i++) {
                expect_row(a, &data, b, h, i);
            }
        }
    }
    vt_free(workspace);
    free(q);
    free(k);
    free(v);
    free(y);
}

static void check_shapes(struct vt_pool *pool)
{
    static const int64_t shapes[][7] = {
        /* batch, heads, heads of keys, queries, keys, size, size of values */
        {1, 1, 1, 1, 1, 1, 1},    {2, 3, 3, 5, 7, 4, 6},       {1, 4, 2, 50, 33, 16, 16},
        {1, 1, 1, 200, 65, 8, 9}, {2, 2, 1, 13, 401, 395, 40},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const int64_t *s = shapes[i];
        struct vt_attention a = {.batch = s[0],
                                 .q_heads = s[1],
                                 .kv_heads = s[2],
                                 .q_len = s[3],
                                 .kv_len = s[4],
                                 .size = s[5],
                                 .v_size = s[6],
                                 .left = -1,
                                 .right = -1,
                                 .scale = 0.25f};
        for (int packed = 0; packed < 2; packed++) {
            a.packed = packed != 0;
            a.mask_len = 0;
            check(&a, NULL, pool);
            /* One row of a mask for each batch, and one key less than there are. */
            float *mask = numbers((size_t)(a.batch * a.kv_len), 5);
            a.mask_is_bool = false;
            a.mask_len = a.kv_len > 1 ? a.kv_len - 1 : 1;
            a.mask_step[0] = a.mask_len;
            check(&a, mask, pool);
            /* The first batch sees every third key, a second one none. */
            uint8_t *seen = calloc((size_t)(a.batch * a.kv_len), 1);
            assert_non_null(seen);
            for (int64_t t = 0; t < a.kv_len; t += 3) {
                seen[t] = 1;
            }
            a.mask_is_bool = true;
            a.mask_len = a.mask_step[0] = a.kv_len;
            check(&a, seen, pool);
            free(seen);
            free(mask);
        }
    }
}

static void alone(void **state)
{
    (void)state;
    check_shapes(NULL);
}

static void by_three_threads(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_pool *pool = NULL;
    const struct vt_pool_options options = {.threads = 3, .idle_spin_ns = 20000};
    assert_int_equal(vt_pool_new(&options, &err, &pool), VT_OK);
    check_shapes(pool);
    vt_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(by_three_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
