/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/gemm/gemm.h"

/* One product, and how its operands are given. */
struct problem {
    int64_t m, n, k, batches, gap; /* gap: columns of C behind each row */
    int64_t a_gap;                 /* floats of A behind each row, where it is neither packed nor
                                      transposed */
    bool a_packed, b_packed, a_transposed, b_transposed;
    bool row_bias, col_bias, residual;
    struct vt_gemm_finish finish;
};

struct operands {
    const struct vt_gemm *gemm;
    const float *a, *b, *row_bias, *col_bias, *residual;
    float *c;
    int64_t a_step, b_step;
};

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct operands *o = ctx;
    const int64_t c_step = o->gemm->m * o->gemm->ldc;
    ret->a = o->a + batch * o->a_step;
    ret->b = o->b + batch * o->b_step;
    ret->c = o->c + batch * c_step;
    ret->row_bias = o->row_bias;
    ret->col_bias = o->col_bias;
    ret->residual = o->residual != NULL ? o->residual + batch * c_step : NULL;
}

static void check(const struct problem *p, const struct operands *o, const float *a, const float *b)
{
    const int64_t ldc = p->n + p->gap;
    for (int64_t batch = 0; batch < p->batches; batch++) {
        for (int64_t i = 0; i < p->m; i++) {
            const float *c = o->c + (batch * p->m + i) * ldc;
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0;
                for (int64_t k = 0; k < p->k; k++) {
                    const float x = a[batch * o->a_step +
                                      (p->a_transposed ? k * p->m + i : i * (p->k + p->a_gap) + k)];
                    const float y =
                        b[batch * p->k * p->n + (p->b_transposed ? j * p->k + k : k * p->n + j)];
                    sum += (double)x * (double)y;
                }
                sum += o->row_bias != NULL ? (double)o->row_bias[i] : 0;
                sum += o->col_bias != NULL ? (double)o->col_bias[j] : 0;
                if (o->residual != NULL)
                    sum += (double)o->residual[(batch * p->m + i) * ldc + j];
                sum = activate_reference(p->finish.activation, (double)p->finish.alpha,
                                         (double)p->finish.beta, sum);
                assert_close((double)c[j], sum, p->k);
            }
            for (int64_t j = p->n; j < ldc; j++)
                assert_true(isnan(c[j])); /* nothing is written beside the product */
        }
    }
}

static void solve(const struct problem *p, uint32_t features, struct vt_pool *pool,
                  struct random *r)
{
    const struct vt_gemm_kernel *kernel = vt_gemm_kernel_find(features);
    const int64_t ldc = p->n + p->gap, c_floats = p->batches * p->m * ldc;
    const int64_t a_stride = p->k + p->a_gap;
    float *a = random_floats(r, p->batches * p->m * a_stride);
    float *b = random_floats(r, p->batches * p->k * p->n);
    float *row_bias = random_floats(r, p->m), *col_bias = random_floats(r, p->n);
    float *residual = random_floats(r, c_floats), *c = random_floats(r, c_floats);
    float *a_packed = NULL, *b_packed = NULL;
    const struct vt_gemm_matrix a_matrix = {a, p->a_transposed ? 1 : a_stride,
                                            p->a_transposed ? p->m : 1};
    const struct vt_gemm_matrix b_matrix = {b, p->b_transposed ? 1 : p->n,
                                            p->b_transposed ? p->k : 1};
    struct vt_gemm gemm = {.kernel = kernel,
                           .m = p->m,
                           .n = p->n,
                           .k = p->k,
                           .batches = p->batches,
                           .ldc = ldc,
                           .a_packed = p->a_packed,
                           .b_packed = p->b_packed,
                           .a_row_stride = a_matrix.row_stride,
                           .a_col_stride = a_matrix.col_stride,
                           .b_row_stride = b_matrix.row_stride,
                           .b_col_stride = b_matrix.col_stride,
                           .locate = locate,
                           .finish = p->finish};
    struct operands o = {&gemm,
                         a,
                         b,
                         p->row_bias ? row_bias : NULL,
                         p->col_bias ? col_bias : NULL,
                         p->residual ? residual : NULL,
                         c,
                         p->m * a_stride,
                         p->k * p->n};
    size_t floats = 0;
    gemm.ctx = &o;
    for (int64_t i = 0; i < c_floats; i++)
        c[i] = NAN;
    if (p->a_packed) {
        assert_true(vt_gemm_packed_a_size(kernel, p->m, p->k, &floats));
        o.a = a_packed = vt_alloc(floats * sizeof(float));
        vt_gemm_pack_a(kernel, p->m, p->k, &a_matrix, NULL, a_packed);
    }
    if (p->b_packed) {
        assert_true(vt_gemm_packed_b_size(kernel, p->k, p->n, &floats));
        o.b = b_packed = vt_alloc(floats * sizeof(float));
        vt_gemm_pack_b(kernel, p->k, p->n, &b_matrix, b_packed);
    }
    void *workspace = vt_alloc(vt_gemm_workspace_bytes(&gemm, vt_pool_threads(pool)));
    vt_gemm_run(&gemm, pool, workspace);
    check(p, &o, a, b);
    if (p->residual && vt_gemm_over_residual(&gemm)) { /* the same on top of it */
        for (int64_t i = 0; i < c_floats; i++)
            c[i] = i % ldc < p->n ? residual[i] : NAN;
        o.residual = c;
        vt_gemm_run(&gemm, pool, workspace);
        o.residual = residual;
        check(p, &o, a, b);
    }
    vt_free(workspace);
    vt_free(a_packed);
    vt_free(b_packed);
    vt_free(a);
    vt_free(b);
    vt_free(c);
    vt_free(residual);
    vt_free(row_bias);
    vt_free(col_bias);
}

/* Every number of rows and columns around the tiles of all micro-kernels. */
static void test_tails(void **state)
{
    struct random r = {1};
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int f = 0; f < n; f++) {
        for (int64_t m = 1; m <= 14; m++) {
            for (int64_t cols = 1; cols <= 35; cols++) {
                const struct problem p = {.m = m,
                                          .n = cols,
                                          .k = random_int(&r, 0, 9),
                                          .batches = 1,
                                          .gap = random_int(&r, 0, 2),
                                          .a_packed = m % 2 != 0,
                                          .b_packed = cols % 2 != 0,
                                          .row_bias = m % 3 == 0,
                                          .col_bias = cols % 3 == 0,
                                          .residual = m % 5 == 0};
                solve(&p, features[f], NULL, &r);
            }
        }
    }
}

/* Sizes beyond the cache blocks, all ways to give the operands, all activations, threads. */
static void test_blocks(void **state)
{
    struct random r = {2};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 96; turn++) {
        struct problem p = {.m = random_int(&r, 1, 230),
                            .n = random_int(&r, 1, 230),
                            .k = random_int(&r, 1, 60),
                            .batches = 1,
                            .a_packed = turn & 1,
                            .b_packed = turn >> 1 & 1,
                            .a_transposed = turn >> 2 & 1,
                            .b_transposed = turn >> 3 & 1,
                            .row_bias = random_int(&r, 0, 1) != 0,
                            .col_bias = random_int(&r, 0, 1) != 0,
                            .residual = random_int(&r, 0, 1) != 0,
                            .finish = {(enum vt_activation)(turn % VT_ACT_COUNT), 0.25f, 0.75f}};
        if (turn % 6 == 1)
            p.k = random_int(&r, VT_GEMM_KC - 2, 2 * VT_GEMM_KC + 3);
        if (turn % 6 == 1)
            p.m = random_int(&r, 1, 20);
        if (!p.a_packed && !p.b_packed)
            p.batches = random_int(&r, 1, 3);
        solve(&p, features[turn % n], turn % 2 ? pool : NULL, &r);
    }
    vt_pool_free(pool);
}

/* Rows of A that would meet in the cache are copied first; others are read with gaps between. */
static void test_strides(void **state)
{
    struct random r = {3};
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int turn = 0; turn < 18; turn++) {
        struct problem p = {.m = random_int(&r, 5, 90),
                            .n = random_int(&r, 60, 150),
                            .k = random_int(&r, 1, 2 * VT_GEMM_KC + 9),
                            .batches = random_int(&r, 1, 2),
                            .gap = random_int(&r, 0, 2),
                            .residual = turn % 2 != 0,
                            .finish = {VT_ACT_RELU, 0, 0}};
        p.a_gap = turn % 3 == 0 ? (2048 - p.k) : random_int(&r, 0, 40);
        p.b_packed = p.batches == 1;
        solve(&p, features[turn % n], NULL, &r);
    }
}

/* Products that are too thin to pack. */
static void test_thin(void **state)
{
    struct random r = {4};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 180; turn++) {
        struct problem p = {.m = random_int(&r, 1, 4),
                            .n = random_int(&r, 1, turn % 5 == 0 ? 1500 : 140),
                            .k = random_int(&r, 0, 70),
                            .batches = random_int(&r, 1, 3),
                            .gap = random_int(&r, 0, 2),
                            .a_gap = random_int(&r, 0, 3),
                            .b_transposed = turn % 2 != 0,
                            .row_bias = turn % 3 == 0,
                            .col_bias = turn % 4 == 0,
                            .residual = turn % 5 == 0,
                            .finish = {(enum vt_activation)(turn % VT_ACT_COUNT), 0.25f, 0.75f}};
        if (turn % 6 == 5) {
            p.m = random_int(&r, 1, 300);
            p.n = 1;
            p.b_packed = turn % 12 == 5;
            p.batches = 1;
        } else {
            p.a_transposed = turn % 7 == 0;
        }
        if (p.a_transposed)
            p.a_gap = 0;
        solve(&p, features[turn % n], turn % 3 ? pool : NULL, &r);
    }
    vt_pool_free(pool);
}

/* A NaN must not be lost in an activation: it would hide a broken model. */
static void test_nan_survives(void **state)
{
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int f = 0; f < n; f++) {
        const struct vt_gemm_kernel *kernel = vt_gemm_kernel_find(features[f]);
        float a[VT_GEMM_MR_MAX] = {NAN}, b[VT_GEMM_NR_MAX], c[VT_GEMM_NR_MAX];
        for (int act = VT_ACT_NONE; act < VT_ACT_COUNT; act++) {
            const struct vt_gemm_finish finish = {(enum vt_activation)act, 0.0f, 6.0f};
            const struct vt_gemm_tile tile = {
                .k = 1, .a = a, .b = b, .c = c, .ldc = VT_GEMM_NR_MAX, .finish = &finish};
            for (int i = 0; i < VT_GEMM_NR_MAX; i++)
                b[i] = 1.0f;
            kernel->packed(&tile, 1);
            assert_true(isnan(c[0]) && isnan(c[kernel->nr - 1]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tails),        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_strides),      cmocka_unit_test(test_thin),
        cmocka_unit_test(test_nan_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
