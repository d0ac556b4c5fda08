/* SPDX-License-Identifier: Apache-2.0 */
/* The product in bfloat16 against the definition in double, over factors that are rounded first. */
#include "kernel_test.h"
#include "kernels/gemm16/gemm16.h"

#include <string.h>

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* The nearest of the two neighbours in double, the even one of a tie: not the code's own way. */
static uint16_t nearest(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const uint16_t below = (uint16_t)(bits >> 16), above = (uint16_t)(below + 1);
    const double low = fabs((double)x - (double)vt_bf16_widen(below));
    const double high = (above & 0x7fff) == 0x7f80 ? fabs(0x1p128 - fabs((double)x))
                                                   : fabs((double)x - (double)vt_bf16_widen(above));
    return low < high || (low == high && below % 2 == 0) ? below : above;
}

static void rounding_is_to_nearest_even(void **state)
{
    (void)state;
    static const struct {
        uint32_t from;
        uint16_t to;
    } cases[] = {
        {0x00000000, 0x0000}, {0x80000000, 0x8000},
        {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, /* a tie goes to the even one */
        {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
        {0x3f807fff, 0x3f80}, {0x7f7fffff, 0x7f80}, /* the largest float is nearer to infinity */
        {0x7f7f7fff, 0x7f7f}, {0x7f800000, 0x7f80},
        {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, /* a signalling NaN stays one, quiet */
        {0xffabcdef, 0xffeb}, {0x007fffff, 0x0000}, /* subnormal numbers are zeros */
        {0x80000001, 0x8000}, {0x00800000, 0x0080},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(vt_bf16_round(from_bits(cases[i].from)), cases[i].to);
    struct random r = {7};
    for (int i = 0; i < 100000; i++) {
        const float x = from_bits((uint32_t)random_bits(&r));
        if (isnormal(x))
            assert_int_equal(vt_bf16_round(x), nearest(x));
    }
}

static void kernels_round_alike(void **state)
{
    (void)state;
    struct random r = {11};
    const struct vt_gemm16_kernel *kernel;
    for (uint32_t i = 0; (kernel = vt_gemm16_kernel_at(vt_topology()->features, i)) != NULL; i++) {
        for (int round = 0; round < 300; round++) {
            const int64_t n = random_int(&r, 0, 130), padded = n + random_int(&r, 0, 70);
            float *x = random_floats(&r, n + 1);
            uint16_t *y = vt_alloc((size_t)(padded + 1) * sizeof(*y));
            for (int64_t k = 0; k < n; k++)
                if (round % 2 == 0)
                    x[k] = from_bits((uint32_t)random_bits(&r));
            y[padded] = 0x1234;
            kernel->narrow(x, n, padded, y);
            for (int64_t k = 0; k < padded; k++)
                assert_int_equal(y[k], k < n ? vt_bf16_round(x[k]) : 0);
            assert_int_equal(y[padded], 0x1234); /* nothing beyond */
            vt_free(x);
            vt_free(y);
        }
    }
}

static void panels_are_pairs_of_rows(void **state)
{
    (void)state;
    struct random r = {13};
    const struct vt_gemm16_kernel *kernel;
    for (uint32_t i = 0; (kernel = vt_gemm16_kernel_at(vt_topology()->features, i)) != NULL; i++) {
        for (int64_t n = 0; n < 40; n++) {
            const int64_t stride = VT_GEMM16_NR + random_int(&r, 0, 3);
            const int64_t padded = (n + 1) / 2 * 2 + random_int(&r, 0, 2) * 2;
            float *rows = random_floats(&r, n * stride + 1);
            uint16_t *panel = vt_alloc((size_t)(padded * VT_GEMM16_NR + 1) * sizeof(*panel));
            kernel->pair(rows, stride, n, padded, panel);
            for (int64_t k = 0; k < padded; k++)
                for (int64_t j = 0; j < VT_GEMM16_NR; j++)
                    assert_int_equal(panel[vt_gemm16_place_of(padded, k, j)],
                                     k < n ? vt_bf16_round(rows[k * stride + j]) : 0);
            vt_free(rows);
            vt_free(panel);
        }
    }
}

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
    *ret = (struct vt_gemm_place){
        .a = o->a + batch * o->a_step,
        .b = o->b + batch * o->b_step,
        .c = o->c + batch * c_step,
        .row_bias = o->row_bias,
        .col_bias = o->col_bias,
        .residual = o->residual != NULL ? o->residual + batch * c_step : NULL,
    };
}

/* Rows of A made by a function, as a convolution does it. */
static void make_rows(const void *ctx, int64_t batch, int64_t k0, int64_t kc, int64_t m0,
                      int64_t rows, int64_t stride, float *ret_rows)
{
    const struct operands *o = ctx;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < kc; k++)
            ret_rows[i * stride + k] = o->a[batch * o->a_step + (m0 + i) * o->gemm->k + k0 + k];
}

static void check(const struct operands *o, bool a_transposed, bool b_transposed, const float *b)
{
    const struct vt_gemm *g = o->gemm;
    for (int64_t i = 0; i < g->batches * g->m; i++) {
        const int64_t batch = i / g->m, row = i % g->m;
        const float *c = o->c + i * g->ldc;
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < g->k; k++) {
                const float x =
                    o->a[batch * o->a_step + (a_transposed ? k * g->m + row : row * g->k + k)];
                const float y = b[(g->b_packed ? 0 : batch * g->k * g->n) +
                                  (b_transposed ? j * g->k + k : k * g->n + j)];
                const double product = (double)vt_bf16_widen(vt_bf16_round(x)) *
                                       (double)vt_bf16_widen(vt_bf16_round(y));
                sum += product;
                size += fabs(product);
            }
            sum += o->row_bias != NULL ? (double)o->row_bias[row] : 0;
            sum += o->col_bias != NULL ? (double)o->col_bias[j] : 0;
            sum += o->residual != NULL ? (double)o->residual[i * g->ldc + j] : 0;
            sum = activate_reference(g->finish.activation, (double)g->finish.alpha,
                                     (double)g->finish.beta, sum);
            const double bound = 2e-5 + 6e-8 * (double)g->k * size + 1e-5 * fabs(sum);
            if (!(fabs((double)c[j] - sum) <= bound))
                fail_msg("%s: %lldx%lldx%lld: %.9g is not %.9g", g->bf16->name, (long long)g->m,
                         (long long)g->n, (long long)g->k, (double)c[j], sum);
        }
        for (int64_t j = g->n; j < g->ldc; j++)
            assert_true(isnan(c[j]));
    }
}

static void solve(const struct vt_gemm16_kernel *kernel, struct vt_pool *pool, struct random *r,
                  int64_t m, int64_t n, int64_t k)
{
    static const enum vt_activation activations[] = {VT_ACT_NONE, VT_ACT_RELU, VT_ACT_GELU,
                                                     VT_ACT_CLIP};
    const bool a_transposed = random_int(r, 0, 3) == 0, b_transposed = random_int(r, 0, 1) == 0;
    const bool packed = random_int(r, 0, 2) > 0, rows = !a_transposed && random_int(r, 0, 3) == 0;
    const int64_t batches = random_int(r, 1, 3), gap = random_int(r, 0, 2) * 3;
    struct vt_gemm gemm = {.kernel = vt_gemm_kernel_find(vt_topology()->features),
                           .bf16 = kernel,
                           .m = m,
                           .n = n,
                           .k = k,
                           .batches = batches,
                           .ldc = n + gap,
                           .b_packed = packed,
                           .a_row_stride = a_transposed ? 1 : k,
                           .a_col_stride = a_transposed ? m : 1,
                           .b_row_stride = b_transposed ? 1 : n,
                           .b_col_stride = b_transposed ? k : 1,
                           .rows_a = rows ? make_rows : NULL,
                           .locate = locate,
                           .finish = {activations[random_int(r, 0, 3)], -0.5f, 0.5f}};
    float *a = random_floats(r, batches * m * k), *b = random_floats(r, batches * k * n);
    float *c = random_floats(r, batches * m * gemm.ldc);
    float *residual = random_floats(r, batches * m * gemm.ldc);
    float *row_bias = random_floats(r, m), *col_bias = random_floats(r, n);
    uint16_t *b16 = NULL;
    struct operands o = {.gemm = &gemm, .a = a, .b = b, .c = c, .a_step = m * k};
    o.b_step = packed ? 0 : k * n;
    o.residual = random_int(r, 0, 1) == 0 ? residual : NULL;
    o.row_bias = random_int(r, 0, 2) == 0 ? row_bias : NULL;
    o.col_bias = random_int(r, 0, 1) == 0 ? col_bias : NULL;
    for (int64_t i = 0; i < batches * m * gemm.ldc; i++)
        c[i] = NAN;
    if (packed) {
        size_t bytes = 0;
        const struct vt_gemm_matrix matrix = {b, gemm.b_row_stride, gemm.b_col_stride};
        assert_true(vt_gemm16_packed_b_size(k, n, &bytes));
        b16 = vt_alloc(bytes);
        vt_gemm16_pack_b(k, n, &matrix, b16);
        assert_int_equal(
            b16[vt_gemm16_place_of(vt_gemm16_pad(k), k - 1, n - 1)],
            vt_bf16_round(b[(k - 1) * gemm.b_row_stride + (n - 1) * gemm.b_col_stride]));
        o.b = (const float *)(const void *)b16;
    }
    gemm.ctx = &o;
    void *workspace = vt_alloc(vt_gemm_workspace_bytes(&gemm, vt_pool_threads(pool)) + 1);
    vt_gemm_run(&gemm, pool, workspace);
    check(&o, a_transposed, b_transposed, b);
    vt_free(workspace);
    vt_free(b16);
    vt_free(a);
    vt_free(b);
    vt_free(c);
    vt_free(residual);
    vt_free(row_bias);
    vt_free(col_bias);
}

static void products_are_those_of_the_definition(void **state)
{
    (void)state;
    struct random r = {3};
    struct vt_pool *pools[2] = {NULL, test_pool(3)};
    const struct vt_gemm16_kernel *kernel;
    for (uint32_t i = 0; (kernel = vt_gemm16_kernel_at(vt_topology()->features, i)) != NULL; i++) {
        for (int64_t m = 1; m <= 2 * kernel->mr + 1; m += m < 34 ? 1 : 5)
            solve(kernel, pools[m % 2], &r, m, random_int(&r, 1, 70), random_int(&r, 1, 100));
        for (int round = 0; round < 60; round++)
            solve(kernel, pools[round % 2], &r, random_int(&r, 1, 100), random_int(&r, 1, 100),
                  random_int(&r, 1, 200));
        /* Beyond a block of k and a block of rows. */
        solve(kernel, pools[1], &r, 37, 33, 1100);
        solve(kernel, pools[0], &r, 70, 65, 513);
    }
    vt_pool_free(pools[1]);
}

/* NaN and infinity go through, zeros of padding do not meet them. */
static void what_is_not_finite_stays_so(void **state)
{
    (void)state;
    const struct vt_gemm16_kernel *kernel;
    for (uint32_t i = 0; (kernel = vt_gemm16_kernel_at(vt_topology()->features, i)) != NULL; i++) {
        enum { M = 3, N = 5, K = 33 };
        float a[M * K], b[K * N], c[M * N];
        for (int k = 0; k < M * K; k++)
            a[k] = 1;
        for (int k = 0; k < K * N; k++)
            b[k] = 1;
        a[0] = NAN;
        a[K] = INFINITY;
        const struct vt_gemm gemm = {.kernel = vt_gemm_kernel_find(0),
                                     .bf16 = kernel,
                                     .m = M,
                                     .n = N,
                                     .k = K,
                                     .batches = 1,
                                     .ldc = N,
                                     .a_row_stride = K,
                                     .a_col_stride = 1,
                                     .b_row_stride = N,
                                     .b_col_stride = 1,
                                     .locate = locate};
        struct operands o = {.gemm = &gemm, .a = a, .b = b, .c = c};
        struct vt_gemm run = gemm;
        run.ctx = &o;
        void *workspace = vt_alloc(vt_gemm_workspace_bytes(&run, 1));
        vt_gemm_run(&run, NULL, workspace);
        for (int j = 0; j < N; j++) {
            assert_true(isnan(c[j]));
            assert_true(isinf(c[N + j]));
            assert_true(c[2 * N + j] == K);
        }
        vt_free(workspace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_to_nearest_even),
        cmocka_unit_test(kernels_round_alike),
        cmocka_unit_test(panels_are_pairs_of_rows),
        cmocka_unit_test(products_are_those_of_the_definition),
        cmocka_unit_test(what_is_not_finite_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
