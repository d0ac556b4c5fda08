/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/conv/ways.h"

/* A convolution as the definition says, in double. */
static double reference(const struct vt_conv *c, const float *x, const float *w, const float *bias,
                        int64_t image, int64_t channel, const int64_t o[3])
{
    const int64_t depth = c->in_channels / c->groups;
    const int64_t group = channel / (c->out_channels / c->groups);
    double sum = bias != NULL ? (double)bias[channel] : 0;
    for (int64_t ic = 0; ic < depth; ic++) {
        for (int64_t t = 0; t < c->kernel[0] * c->kernel[1] * c->kernel[2]; t++) {
            const int64_t tap[3] = {t / c->kernel[2] / c->kernel[1],
                                    t / c->kernel[2] % c->kernel[1], t % c->kernel[2]};
            int64_t at = image * c->in_channels + group * depth + ic;
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                const int64_t i = o[d] * c->stride[d] - c->pad[d] + tap[d] * c->dilation[d];
                inside = inside && i >= 0 && i < c->in[d];
                at = at * c->in[d] + i;
            }
            if (inside)
                sum +=
                    (double)x[at] *
                    (double)
                        w[(channel * depth + ic) * c->kernel[0] * c->kernel[1] * c->kernel[2] + t];
        }
    }
    return sum;
}

/* What a transposed convolution gives, by scattering as its definition says. */
static void reference_transposed(const struct vt_conv *c, const float *x, const float *w, double *y)
{
    const int64_t outs = c->out_channels / c->groups, ins = c->in_channels / c->groups;
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const int64_t volume = c->in[0] * c->in[1] * c->in[2];
    for (int64_t plane = 0; plane < c->batch * c->in_channels; plane++) {
        const int64_t ic = plane % c->in_channels, image = plane / c->in_channels;
        for (int64_t i = 0; i < volume; i++) {
            const int64_t in[3] = {i / c->in[2] / c->in[1], i / c->in[2] % c->in[1], i % c->in[2]};
            for (int64_t k = 0; k < outs * taps; k++) {
                const int64_t t = k % taps, oc = ic / ins * outs + k / taps;
                const int64_t tap[3] = {t / c->kernel[2] / c->kernel[1],
                                        t / c->kernel[2] % c->kernel[1], t % c->kernel[2]};
                int64_t at = image * c->out_channels + oc;
                bool inside = true;
                for (int d = 0; d < 3; d++) {
                    const int64_t o = in[d] * c->stride[d] - c->pad[d] + tap[d] * c->dilation[d];
                    inside = inside && o >= 0 && o < c->out[d];
                    at = at * c->out[d] + o;
                }
                if (inside)
                    y[at] += (double)x[plane * volume + i] * (double)w[ic * outs * taps + k];
            }
        }
    }
}

struct buffers {
    float *x, *w, *bias, *residual, *y, *scale, *packed;
    void *workspace;
    int64_t outputs;
};

static void buffers_init(struct buffers *b, const struct vt_conv *c, struct random *r)
{
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    b->outputs = c->batch * c->out_channels * c->out[0] * c->out[1] * c->out[2];
    b->x = random_floats(r, c->batch * c->in_channels * c->in[0] * c->in[1] * c->in[2]);
    b->w = random_floats(r, c->out_channels * c->in_channels / c->groups * taps);
    b->bias = random_floats(r, c->out_channels);
    b->scale = random_floats(r, c->out_channels);
    b->residual = random_floats(r, b->outputs);
    b->y = random_floats(r, b->outputs);
}

static void buffers_release(struct buffers *b)
{
    float *const all[] = {b->x, b->w, b->bias, b->scale, b->residual, b->y, b->packed};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        vt_free(all[i]);
    vt_free(b->workspace);
}

/* [images][channels][pixels] to [images][pixels][channels], or back, in place. */
static void relayout(float *x, int64_t images, int64_t channels, int64_t pixels, bool back)
{
    float *copy = vt_alloc((size_t)(channels * pixels) * sizeof(float));
    assert_non_null(copy);
    for (int64_t image = 0; image < images; image++, x += channels * pixels) {
        memcpy(copy, x, (size_t)(channels * pixels) * sizeof(float));
        for (int64_t c = 0; c < channels; c++) {
            for (int64_t p = 0; p < pixels; p++) {
                const int64_t first = c * pixels + p, last = p * channels + c;
                x[back ? first : last] = copy[back ? last : first];
            }
        }
    }
    vt_free(copy);
}

static int64_t volume_of(const int64_t dim[3])
{
    return dim[0] * dim[1] * dim[2];
}

/* Runs the way that is chosen, between the layouts where it is channels last. */
static void run_conv(const struct vt_conv *shape, struct buffers *b, const float *scale,
                     const float *bias, const float *residual, uint32_t features,
                     struct vt_pool *pool)
{
    struct vt_conv conv = *shape;
    const int64_t in = volume_of(shape->in), out = volume_of(shape->out);
    vt_conv_init(&conv, features);
    b->packed = vt_alloc(vt_conv_packed_floats(&conv) * sizeof(float));
    b->workspace = vt_alloc(vt_conv_workspace_bytes(&conv, vt_pool_threads(pool)));
    vt_conv_pack(&conv, b->w, scale, b->packed);
    const struct vt_conv_data data = {b->x, b->packed, bias, residual, b->y};
    if (shape->channels_last) {
        relayout(b->x, shape->batch, shape->in_channels, in, false);
        relayout(b->residual, shape->batch, shape->out_channels, out, false);
    }
    vt_conv_run(&conv, &data, pool, b->workspace);
    if (shape->channels_last) {
        relayout(b->x, shape->batch, shape->in_channels, in, true);
        relayout(b->residual, shape->batch, shape->out_channels, out, true);
        relayout(b->y, shape->batch, shape->out_channels, out, true);
    }
}

static void check(const struct vt_conv *shape, uint32_t features, struct vt_pool *pool,
                  struct random *r)
{
    struct buffers b = {0};
    const bool scaled = random_int(r, 0, 1) != 0, residual = random_int(r, 0, 1) != 0;
    buffers_init(&b, shape, r);
    run_conv(shape, &b, scaled ? b.scale : NULL, b.bias, residual ? b.residual : NULL, features,
             pool);

    const int64_t volume = volume_of(shape->out);
    const int64_t depth = shape->in_channels / shape->groups * volume_of(shape->kernel);
    for (int64_t i = 0; i < b.outputs; i++) {
        const int64_t channel = i / volume % shape->out_channels;
        const int64_t pixel = i % volume;
        const int64_t o[3] = {pixel / shape->out[2] / shape->out[1],
                              pixel / shape->out[2] % shape->out[1], pixel % shape->out[2]};
        double want =
            reference(shape, b.x, b.w, NULL, i / volume / shape->out_channels, channel, o);
        want = want * (scaled ? (double)b.scale[channel] : 1) + (double)b.bias[channel];
        want += residual ? (double)b.residual[i] : 0;
        want = activate_reference(shape->finish.activation, (double)shape->finish.alpha,
                                  (double)shape->finish.beta, want);
        assert_close((double)b.y[i], want, depth);
    }
    buffers_release(&b);
}

/* How often each way was taken, over all tests. */
static int taken[16];

static void count_way(const struct vt_conv *shape, uint32_t features)
{
    struct vt_conv conv = *shape;
    size_t n;
    const struct vt_conv_way *const *ways = vt_conv_ways(&n);
    vt_conv_init(&conv, features);
    for (size_t i = 0; i < n; i++)
        taken[i] += ways[i] == conv.way;
}

/* Draws a geometry of `dims` spatial dimensions whose output is not empty. */
static void draw(struct vt_conv *c, int dims, struct random *r)
{
    memset(c, 0, sizeof(*c));
    c->batch = random_int(r, 1, 2);
    for (int d = 0; d < 3; d++) {
        c->in[d] = c->out[d] = c->kernel[d] = c->stride[d] = c->dilation[d] = 1;
        if (d < 3 - dims)
            continue;
        int64_t pads, reach;
        do {
            c->in[d] = random_int(r, 1, d == 2 ? 70 : 9);
            c->kernel[d] = random_int(r, 1, 4);
            c->stride[d] = random_int(r, 1, 3);
            c->dilation[d] = random_int(r, 1, 3);
            c->pad[d] = random_int(r, 0, 4);
            pads = c->pad[d] + random_int(r, 0, 4);
            reach = (c->kernel[d] - 1) * c->dilation[d] + 1;
        } while (c->in[d] + pads < reach);
        c->out[d] = (c->in[d] + pads - reach) / c->stride[d] + 1;
    }
    c->groups = random_int(r, 1, 3);
    c->in_channels = c->groups * random_int(r, 1, 5);
    c->out_channels = c->groups * random_int(r, 1, 30);
    if (random_int(r, 0, 3) == 0) { /* depthwise, perhaps with a multiplier */
        c->groups = c->in_channels = random_int(r, 2, random_int(r, 6, 50));
        c->out_channels = c->groups * random_int(r, 1, 3);
    } else if (random_int(r, 0, 3) == 0) { /* as many in as out, a few groups a vector */
        const int64_t channels = INT64_C(1) << random_int(r, 1, 5);
        c->groups = random_int(r, 2, 2 + 30 / channels);
        c->in_channels = c->out_channels = c->groups * channels;
    }
    c->channels_last = random_int(r, 0, 1) != 0;
    c->finish.activation = (enum vt_activation)random_int(r, VT_ACT_NONE, VT_ACT_HARD_SWISH);
    c->finish.alpha = 0.125f;
    c->finish.beta = 0.5f;
}

static void test_geometries(void **state)
{
    struct random r = {3};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 600; turn++) {
        struct vt_conv conv;
        draw(&conv, 1 + turn % 3, &r);
        check(&conv, features[turn / 3 % n], turn % 2 ? pool : NULL, &r);
        count_way(&conv, features[turn / 3 % n]);
    }
    vt_pool_free(pool);
}

/* More steps of k than one block holds, and rows much wider than a tile. */
static void test_large(void **state)
{
    struct random r = {4};
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int f = 0; f < n; f++) {
        struct vt_conv deep = {.batch = 1,
                               .groups = 1,
                               .in_channels = 60,
                               .out_channels = 31,
                               .in = {1, 6, 7},
                               .out = {1, 6, 7},
                               .kernel = {1, 3, 3},
                               .stride = {1, 1, 1},
                               .dilation = {1, 1, 1},
                               .pad = {0, 1, 1}};
        struct vt_conv wide = {.batch = 1,
                               .groups = 1,
                               .in_channels = 3,
                               .out_channels = 5,
                               .in = {3, 4, 130},
                               .out = {3, 4, 130},
                               .kernel = {3, 3, 3},
                               .stride = {1, 1, 1},
                               .dilation = {2, 2, 16},
                               .pad = {2, 2, 16}};
        check(&deep, features[f], NULL, &r);
        check(&wide, features[f], NULL, &r);
    }
}

/* Makes the stride the kernel, so that no two inputs meet in an output, and cuts a little off. */
static void draw_upsample(struct vt_conv *c, int dims, struct random *r)
{
    for (int d = 3 - dims; d < 3; d++) {
        c->stride[d] = c->kernel[d];
        c->dilation[d] = 1;
        c->pad[d] = random_int(r, 0, 1);
        c->in[d] = c->in[d] / c->kernel[d] + 1;
        c->out[d] = c->in[d] * c->kernel[d] - c->pad[d] - random_int(r, 0, 1);
        if (c->out[d] < 1) {
            c->out[d] = 1;
            c->pad[d] = 0;
        }
    }
}

static void test_transposed(void **state)
{
    struct random r = {5};
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int turn = 0; turn < 120; turn++) {
        struct vt_conv conv;
        struct buffers b = {0};
        draw(&conv, 1 + turn % 3, &r);
        conv.finish.activation = VT_ACT_NONE;
        conv.transposed = true;
        /* The output of the drawn convolution is what the transposed one reads. */
        for (int d = 0; d < 3; d++) {
            const int64_t swap = conv.in[d];
            conv.in[d] = conv.out[d];
            conv.out[d] = swap;
        }
        if (turn % 2 == 0)
            draw_upsample(&conv, 1 + turn % 3, &r);
        buffers_init(&b, &conv, &r);
        run_conv(&conv, &b, NULL, b.bias, turn % 4 < 2 ? b.residual : NULL, features[turn / 3 % n],
                 NULL);
        count_way(&conv, features[turn / 3 % n]);
        double *want = vt_calloc((size_t)b.outputs, sizeof(double));
        reference_transposed(&conv, b.x, b.w, want);
        for (int64_t i = 0; i < b.outputs; i++) {
            const int64_t channel = i / volume_of(conv.out) % conv.out_channels;
            want[i] += (double)b.bias[channel] + (turn % 4 < 2 ? (double)b.residual[i] : 0);
            assert_close((double)b.y[i], want[i], 400);
        }
        vt_free(want);
        buffers_release(&b);
    }
}

/* The tests above reached every way. */
static void test_ways(void **state)
{
    size_t n;
    const struct vt_conv_way *const *ways = vt_conv_ways(&n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        if (taken[i] < 20)
            fail_msg("'%s' was taken %d times only", ways[i]->name, taken[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometries),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
