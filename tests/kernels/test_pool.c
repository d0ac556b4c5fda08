/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/pool/pool.h"

/* What one window gives, in double: `at` is the output, x the channels-last image. */
static double reference(const struct vt_pooling_params *p, const float *x, const int64_t at[3],
                        int64_t channel)
{
    double sum = p->kind == VT_POOLING_MAX ? (double)-INFINITY : 0;
    int64_t taps = 0, padded = 0;
    for (int64_t t = 0; t < p->kernel[0] * p->kernel[1] * p->kernel[2]; t++) {
        const int64_t tap[3] = {t / p->kernel[2] / p->kernel[1], t / p->kernel[2] % p->kernel[1],
                                t % p->kernel[2]};
        int64_t pixel = 0;
        bool inside = true, in_padding = true;
        for (int d = 0; d < 3; d++) {
            const int64_t i = at[d] * p->stride[d] - p->pad[d] + tap[d] * p->dilation[d];
            inside = inside && i >= 0 && i < p->in[d];
            in_padding = in_padding && i < p->in[d] + p->pad_end[d];
            pixel = pixel * p->in[d] + i;
        }
        padded += in_padding;
        taps += inside;
        if (!inside)
            continue;
        const double v = (double)x[pixel * p->channels + channel];
        if (p->kind == VT_POOLING_MAX)
            sum = fmax(sum, v);
        else
            sum += p->kind == VT_POOLING_LP ? pow(fabs(v), (double)p->p) : v;
    }
    if (p->kind == VT_POOLING_AVERAGE)
        return taps == 0 ? 0 : sum / (double)(p->count_padding ? padded : taps);
    return p->kind == VT_POOLING_LP ? pow(sum, 1 / (double)p->p) : sum;
}

static void draw(struct vt_pooling_params *p, int64_t batch, int dims, struct random *r)
{
    memset(p, 0, sizeof(*p));
    p->kind = (enum vt_pooling)random_int(r, VT_POOLING_MAX, VT_POOLING_LP);
    p->p = random_int(r, 1, 3);
    p->channels_last = true;
    p->channels = random_int(r, 1, 150);
    p->planes = batch * p->channels;
    p->count_padding = random_int(r, 0, 1) != 0;
    for (int d = 0; d < 3; d++) {
        p->in[d] = p->out[d] = p->kernel[d] = p->stride[d] = p->dilation[d] = 1;
        if (d < 3 - dims)
            continue;
        int64_t left;
        do {
            p->in[d] = random_int(r, 1, 12);
            p->kernel[d] = random_int(r, 1, 4);
            p->stride[d] = random_int(r, 1, 3);
            p->dilation[d] = random_int(r, 1, 2);
            p->pad[d] = random_int(r, 0, p->kernel[d] - 1);
            p->pad_end[d] = random_int(r, 0, p->kernel[d] - 1);
            left = p->in[d] + p->pad[d] + p->pad_end[d] - (p->kernel[d] - 1) * p->dilation[d] - 1;
        } while (left < 0);
        p->out[d] = left / p->stride[d] + 1;
    }
}

static void test_windows(void **state)
{
    struct random r = {11};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 240; turn++) {
        struct vt_pooling_params p;
        const int64_t batch = 1 + turn % 2;
        draw(&p, batch, 1 + turn % 3, &r);
        p.features = features[turn / 3 % n];
        const int64_t in = p.in[0] * p.in[1] * p.in[2], out = p.out[0] * p.out[1] * p.out[2];
        float *x = random_floats(&r, in * p.planes), *y = random_floats(&r, out * p.planes);
        vt_pooling_run(&p, x, y, NULL, turn % 4 < 2 ? pool : NULL);
        for (int64_t i = 0; i < out * p.planes; i++) {
            const int64_t pixel = i / p.channels % out, image = i / p.channels / out;
            const int64_t at[3] = {pixel / p.out[2] / p.out[1], pixel / p.out[2] % p.out[1],
                                   pixel % p.out[2]};
            const double want = reference(&p, x + image * in * p.channels, at, i % p.channels);
            if (isinf(want))
                assert_true((double)y[i] == want);
            else
                assert_close((double)y[i], want, 64);
        }
        vt_free(x);
        vt_free(y);
    }
    vt_pool_free(pool);
}

static void test_global(void **state)
{
    struct random r = {12};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(2);
    (void)state;
    for (int turn = 0; turn < 90; turn++) {
        const struct vt_pooling_global_last g = {
            .kind = (enum vt_pooling)(turn % 3),
            .p = random_int(&r, 1, 3),
            .batch = random_int(&r, 1, 3),
            .n = random_int(&r, 1, 400),
            .channels = random_int(&r, 1, 140),
            .features = features[turn / 3 % n],
        };
        float *x = random_floats(&r, g.batch * g.n * g.channels);
        float *y = random_floats(&r, g.batch * g.channels);
        vt_pooling_global_last_run(&g, x, y, turn % 2 ? pool : NULL);
        for (int64_t i = 0; i < g.batch * g.channels; i++) {
            double want = g.kind == VT_POOLING_MAX ? (double)-INFINITY : 0;
            for (int64_t k = 0; k < g.n; k++) {
                const int64_t row = i / g.channels * g.n + k;
                const double v = (double)x[row * g.channels + i % g.channels];
                if (g.kind == VT_POOLING_MAX)
                    want = fmax(want, v);
                else
                    want += g.kind == VT_POOLING_LP ? pow(fabs(v), (double)g.p) : v;
            }
            want = g.kind == VT_POOLING_AVERAGE ? want / (double)g.n
                   : g.kind == VT_POOLING_LP    ? pow(want, 1 / (double)g.p)
                                                : want;
            assert_close((double)y[i], want, 8);
        }
        vt_free(x);
        vt_free(y);
    }
    vt_pool_free(pool);
}

/* A NaN under the window comes out, wherever it stands. */
static void test_nan(void **state)
{
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int f = 0; f < n; f++) {
        for (int at = 0; at < 3; at++) {
            const struct vt_pooling_params p = {.kind = VT_POOLING_MAX,
                                                .planes = 17,
                                                .in = {1, 1, 3},
                                                .out = {1, 1, 1},
                                                .kernel = {1, 1, 3},
                                                .stride = {1, 1, 1},
                                                .dilation = {1, 1, 1},
                                                .channels_last = true,
                                                .channels = 17,
                                                .features = features[f]};
            float x[3 * 17], y[17];
            for (int i = 0; i < 3 * 17; i++)
                x[i] = i / 17 == at ? NAN : 1.0f;
            vt_pooling_run(&p, x, y, NULL, NULL);
            for (int c = 0; c < 17; c++)
                assert_true(isnan(y[c]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_global),
        cmocka_unit_test(test_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
