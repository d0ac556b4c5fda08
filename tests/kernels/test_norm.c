/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/norm/norm.h"

/* |got - want| within `bound`, a part of the size of what is normalised. */
static void assert_within(double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound * (1 + fabs(want))))
        fail_msg("%.9g is not %.9g (within %.3g)", got, want, bound);
}

/* Mean and 1/sqrt(variance + epsilon), or of the mean square, of n numbers in double. */
static void statistics(const double *x, int64_t n, bool rms, double epsilon, double *mean,
                       double *inverse)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = rms ? 0 : sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inverse = 1 / sqrt(squares / (double)n + epsilon);
}

static void check_layer(const struct vt_layer_norm *norm, bool residual, bool keep, bool in_place,
                        struct vt_pool *pool, struct random *r)
{
    const int64_t n = norm->n, total = norm->rows * n;
    float *x = random_floats(r, total), *other = random_floats(r, total);
    float *sum = random_floats(r, total), *out = random_floats(r, total);
    double *t = vt_alloc((size_t)total * sizeof(double));
    for (int64_t i = 0; i < total; i++)
        t[i] = residual ? (double)(x[i] + other[i]) : (double)x[i];
    float *y = in_place ? x : out;
    vt_layer_norm_run(norm, x, residual ? other : NULL, keep ? sum : NULL, y, pool);
    for (int64_t row = 0; row < norm->rows; row++) {
        double mean, inverse;
        statistics(t + row * n, n, norm->rms, (double)norm->epsilon, &mean, &inverse);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = row * n + i;
            double want = (t[at] - mean) * inverse;
            want *= norm->scale != NULL ? (double)norm->scale[i] : 1;
            want += norm->bias != NULL ? (double)norm->bias[i] : 0;
            assert_within((double)y[at], want, n == 1 ? 1e-3 : 5e-6);
            if (keep && residual)
                assert_true((double)sum[at] == t[at]);
        }
        if (norm->mean != NULL)
            assert_within((double)norm->mean[row], mean, 1e-6);
        if (norm->inverse != NULL)
            assert_within((double)norm->inverse[row], inverse, 1e-5);
    }
    vt_free(x);
    vt_free(other);
    vt_free(sum);
    vt_free(out);
    vt_free(t);
}

static void test_layer(void **state)
{
    struct random r = {21};
    uint32_t features[3];
    const int n_features = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 120; turn++) {
        const int64_t n = turn % 10 == 0 ? 9000 + turn : random_int(&r, 1, 200);
        const int64_t rows = random_int(&r, 1, 5);
        float *scale = random_floats(&r, n), *bias = random_floats(&r, n);
        float *mean = random_floats(&r, rows), *inverse = random_floats(&r, rows);
        const struct vt_layer_norm norm = {.rows = rows,
                                           .n = n,
                                           .epsilon = 1e-5f,
                                           .rms = turn % 4 == 3,
                                           .scale = turn % 3 ? scale : NULL,
                                           .bias = turn % 5 ? bias : NULL,
                                           .mean = turn % 2 ? mean : NULL,
                                           .inverse = turn % 2 ? inverse : NULL,
                                           .features = features[turn % n_features]};
        check_layer(&norm, random_int(&r, 0, 1) != 0, random_int(&r, 0, 1) != 0,
                    random_int(&r, 0, 1) != 0, turn % 2 ? pool : NULL, &r);
        vt_free(scale);
        vt_free(bias);
        vt_free(mean);
        vt_free(inverse);
    }
    vt_pool_free(pool);
}

/* Far from 0 in relation to their spread, numbers are normalised no worse than they are given. */
static void test_far_from_zero(void **state)
{
    struct random r = {22};
    uint32_t features[3];
    const int n_features = usable_features(features);
    enum { N = 4097 };
    float *x = random_floats(&r, N), *y = random_floats(&r, N);
    double t[N], mean, inverse;
    (void)state;
    for (int i = 0; i < N; i++)
        t[i] = (double)(x[i] += 3000.0f);
    statistics(t, N, false, 1e-5, &mean, &inverse);
    for (int f = 0; f < n_features; f++) {
        const struct vt_layer_norm layer = {
            .rows = 1, .n = N, .epsilon = 1e-5f, .features = features[f]};
        vt_layer_norm_run(&layer, x, NULL, NULL, y, NULL);
        for (int i = 0; i < N; i++)
            assert_within((double)y[i], (t[i] - mean) * inverse, 3e-4);
        const struct vt_norm_last last = {.batch = 1,
                                          .n = N,
                                          .channels = 1,
                                          .groups = 1,
                                          .epsilon = 1e-5f,
                                          .features = features[f]};
        void *workspace = vt_alloc(vt_norm_last_workspace_bytes(&last));
        vt_norm_last_run(&last, x, NULL, y, NULL, workspace);
        for (int i = 0; i < N; i++)
            assert_within((double)y[i], (t[i] - mean) * inverse, 2e-5);
        vt_free(workspace);
    }
    vt_free(x);
    vt_free(y);
}

static void check_last(const struct vt_norm_last *norm, bool residual, bool in_place,
                       struct vt_pool *pool, struct random *r)
{
    const int64_t total = norm->batch * norm->n * norm->channels;
    const int64_t width = norm->channels / norm->groups, size = norm->n * width;
    float *x = random_floats(r, total), *other = random_floats(r, total);
    float *out = random_floats(r, total);
    double *copy = vt_alloc((size_t)total * sizeof(double));
    double *group = vt_alloc((size_t)size * sizeof(double));
    void *workspace = vt_alloc(vt_norm_last_workspace_bytes(norm));
    for (int64_t i = 0; i < total; i++) {
        x[i] = x[i] * 2 + (float)(i % norm->channels); /* each channel's own mean */
        copy[i] = (double)x[i];
    }
    float *y = in_place ? x : out;
    vt_norm_last_run(norm, x, residual ? other : NULL, y, pool, workspace);
    for (int64_t g = 0; g < norm->batch * norm->groups; g++) {
        const int64_t first =
            g / norm->groups * norm->n * norm->channels + g % norm->groups * width;
        double mean, inverse;
        for (int64_t i = 0; i < size; i++)
            group[i] = copy[first + i / width * norm->channels + i % width];
        statistics(group, size, false, (double)norm->epsilon, &mean, &inverse);
        for (int64_t i = 0; i < size; i++) {
            const int64_t at = first + i / width * norm->channels + i % width;
            const int64_t c = at % norm->channels;
            double want = (group[i] - mean) * inverse;
            want *= norm->scale != NULL ? (double)norm->scale[c] : 1;
            want += norm->bias != NULL ? (double)norm->bias[c] : 0;
            want += residual ? (double)other[at] : 0;
            want = activate_reference(norm->finish.activation, (double)norm->finish.alpha,
                                      (double)norm->finish.beta, want);
            assert_within((double)y[at], want, size == 1 ? 1e-2 : 3e-5);
        }
    }
    vt_free(x);
    vt_free(other);
    vt_free(out);
    vt_free(copy);
    vt_free(group);
    vt_free(workspace);
}

static void test_channels_last(void **state)
{
    struct random r = {23};
    uint32_t features[3];
    const int n_features = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 120; turn++) {
        struct vt_norm_last norm = {.batch = random_int(&r, 1, 3),
                                    .n = random_int(&r, 1, turn % 9 == 0 ? 5000 : 90),
                                    .groups = random_int(&r, 1, 6),
                                    .epsilon = 1e-5f,
                                    .features = features[turn % n_features]};
        norm.channels = norm.groups * random_int(&r, 1, 12);
        if (turn % 2 == 0)
            norm.groups = norm.channels = random_int(&r, 1, 150);
        float *scale = random_floats(&r, norm.channels), *bias = random_floats(&r, norm.channels);
        norm.scale = turn % 3 ? scale : NULL;
        norm.bias = turn % 5 ? bias : NULL;
        norm.finish.activation = (enum vt_activation)random_int(&r, VT_ACT_NONE, VT_ACT_HARD_SWISH);
        norm.finish.alpha = 0.125f;
        norm.finish.beta = 0.5f;
        check_last(&norm, random_int(&r, 0, 1) != 0, random_int(&r, 0, 1) != 0,
                   turn % 2 ? pool : NULL, &r);
        vt_free(scale);
        vt_free(bias);
    }
    vt_pool_free(pool);
}

static void test_affine(void **state)
{
    struct random r = {24};
    uint32_t features[3];
    const int n_features = usable_features(features);
    struct vt_pool *pool = test_pool(2);
    (void)state;
    for (int turn = 0; turn < 90; turn++) {
        const int64_t channels = random_int(&r, 1, 150), rows = random_int(&r, 1, 400);
        float *centre = random_floats(&r, channels), *factor = random_floats(&r, channels);
        float *shift = random_floats(&r, channels), *x = random_floats(&r, rows * channels);
        float *residual = random_floats(&r, rows * channels);
        float *y = random_floats(&r, rows * channels);
        const struct vt_affine_last a = {
            .channels = channels,
            .centre = turn % 2 ? centre : NULL,
            .factor = factor,
            .shift = shift,
            .finish = {(enum vt_activation)random_int(&r, VT_ACT_NONE, VT_ACT_HARD_SWISH), 0.125f,
                       0.5f},
            .features = features[turn % n_features]};
        vt_affine_last_run(&a, rows, x, turn % 3 ? residual : NULL, y, turn % 4 ? pool : NULL);
        for (int64_t i = 0; i < rows * channels; i++) {
            const int64_t c = i % channels;
            double want = (double)x[i] - (turn % 2 ? (double)centre[c] : 0);
            want = want * (double)factor[c] + (double)shift[c];
            want += turn % 3 ? (double)residual[i] : 0;
            assert_within((double)y[i], activate_reference(a.finish.activation, 0.125, 0.5, want),
                          2e-6);
        }
        float *const all[] = {centre, factor, shift, x, residual, y};
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
            vt_free(all[i]);
    }
    vt_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer),
        cmocka_unit_test(test_far_from_zero),
        cmocka_unit_test(test_channels_last),
        cmocka_unit_test(test_affine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
