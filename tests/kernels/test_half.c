/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose weights are float16, against the definition in double. */
#include "kernel_test.h"
#include "kernels/convert/convert.h"
#include "kernels/gemm/half.h"

struct operands {
    const struct vt_gemm *gemm;
    struct vt_gemm_place place;
};

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct operands *o = ctx;
    assert_int_equal(batch, 0);
    *ret = o->place;
}

static void solve(uint32_t features, struct vt_pool *pool, struct random *r, int64_t m, int64_t n,
                  int64_t k)
{
    const bool a_transposed = random_int(r, 0, 2) == 0, b_transposed = random_int(r, 0, 1) == 0;
    const int64_t ldc = n + random_int(r, 0, 3);
    struct vt_gemm gemm = {.kernel = vt_gemm_kernel_find(features),
                           .half = vt_gemm_half_find(features),
                           .m = m,
                           .n = n,
                           .k = k,
                           .batches = 1,
                           .ldc = ldc,
                           .b_packed = true,
                           .a_row_stride = a_transposed ? 1 : k,
                           .a_col_stride = a_transposed ? m : 1,
                           .locate = locate,
                           .finish = {random_int(r, 0, 1) ? VT_ACT_RELU : VT_ACT_NONE, 0, 0}};
    float *a = random_floats(r, m * k), *b = random_floats(r, k * n),
          *c = random_floats(r, m * ldc);
    float *residual = random_floats(r, m * ldc);
    float *row_bias = random_floats(r, m), *col_bias = random_floats(r, n);
    size_t bytes = 0;
    const struct vt_gemm_matrix matrix = {b, b_transposed ? 1 : n, b_transposed ? k : 1};
    assert_true(vt_gemm_half_holds(b, k * n));
    assert_true(vt_gemm_half_size(k, n, &bytes));
    uint16_t *packed = vt_alloc(bytes);
    assert_non_null(packed);
    vt_gemm_half_pack(k, n, &matrix, packed);
    struct operands o = {.gemm = &gemm,
                         .place = {.a = a,
                                   .b = (const float *)(const void *)packed,
                                   .c = c,
                                   .row_bias = random_int(r, 0, 1) ? row_bias : NULL,
                                   .col_bias = random_int(r, 0, 1) ? col_bias : NULL,
                                   .residual = random_int(r, 0, 1) ? residual : NULL}};
    for (int64_t i = 0; i < m * ldc; i++)
        c[i] = NAN;
    gemm.ctx = &o;
    assert_int_equal(vt_gemm_workspace_bytes(&gemm, vt_pool_threads(pool)), 0);
    vt_gemm_run(&gemm, pool, NULL);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) {
                const float w = b[l * matrix.row_stride + j * matrix.col_stride];
                sum += (double)a[i * gemm.a_row_stride + l * gemm.a_col_stride] *
                       (double)vt_half_to_float(vt_float_to_half(w));
            }
            sum += o.place.row_bias != NULL ? (double)row_bias[i] : 0;
            sum += o.place.col_bias != NULL ? (double)col_bias[j] : 0;
            sum += o.place.residual != NULL ? (double)residual[i * ldc + j] : 0;
            assert_close((double)c[i * ldc + j],
                         activate_reference(gemm.finish.activation, 0, 0, sum), k);
        }
        for (int64_t j = n; j < ldc; j++)
            assert_true(isnan(c[i * ldc + j]));
    }
    vt_free(a);
    vt_free(b);
    vt_free(c);
    vt_free(residual);
    vt_free(row_bias);
    vt_free(col_bias);
    vt_free(packed);
}

static void products_are_those_of_rounded_weights(void **state)
{
    (void)state;
    uint32_t features[3];
    struct random r = {5};
    struct vt_pool *pools[2] = {NULL, test_pool(3)};
    const int n = usable_features(features);
    for (int i = 0; i < n; i++)
        for (int round = 0; round < 150; round++)
            solve(features[i], pools[round % 2], &r, random_int(&r, 1, 17), random_int(&r, 1, 140),
                  random_int(&r, 1, 70));
    vt_pool_free(pools[1]);
}

static void a_weight_beyond_the_range_is_noticed(void **state)
{
    (void)state;
    const float fits[] = {0, -65504, 65519.9f, 1e-30f, NAN, INFINITY, -INFINITY};
    const float large[] = {1, 2, 65520}, negative[] = {-1e5f};
    assert_true(vt_gemm_half_holds(fits, 7)); /* what is infinite stays so */
    assert_true(vt_gemm_half_holds(fits, 0));
    assert_false(vt_gemm_half_holds(large, 3));
    assert_true(vt_gemm_half_holds(large, 2));
    assert_false(vt_gemm_half_holds(negative, 1));
    assert_true(isfinite(vt_half_to_float(vt_float_to_half(65519.9f))));
    assert_true(isinf(vt_half_to_float(vt_float_to_half(65520.0f))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_rounded_weights),
        cmocka_unit_test(a_weight_beyond_the_range_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
