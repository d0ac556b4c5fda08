/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/conv/ways.h"
#include "kernels/gemm16/gemm16.h"

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

/* Runs one way, NULL: that of the rule, between the layouts where it is channels last. */
static void run_conv(const struct vt_conv *shape, const struct vt_conv_choice *choice,
                     struct buffers *b, const float *scale, const float *bias,
                     const float *residual, uint32_t features, struct vt_pool *pool)
{
    struct vt_conv conv = *shape;
    const int64_t in = volume_of(shape->in), out = volume_of(shape->out);
    if (choice == NULL) {
        vt_conv_init(&conv, features);
    } else {
        vt_conv_init_as(&conv, features, choice);
    }
    vt_free(b->packed);
    vt_free(b->workspace);
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

/* What the definition says, in double: computed once for all ways. */
static double *wanted(const struct vt_conv *shape, const struct buffers *b, bool scaled,
                      bool residual)
{
    const int64_t volume = volume_of(shape->out);
    double *want = vt_calloc((size_t)b->outputs, sizeof(double));
    assert_non_null(want);
    for (int64_t i = 0; i < b->outputs; i++) {
        const int64_t channel = i / volume % shape->out_channels;
        const int64_t pixel = i % volume;
        const int64_t o[3] = {pixel / shape->out[2] / shape->out[1],
                              pixel / shape->out[2] % shape->out[1], pixel % shape->out[2]};
        want[i] = reference(shape, b->x, b->w, NULL, i / volume / shape->out_channels, channel, o);
        want[i] = want[i] * (scaled ? (double)b->scale[channel] : 1) + (double)b->bias[channel];
        want[i] += residual ? (double)b->residual[i] : 0;
        want[i] = activate_reference(shape->finish.activation, (double)shape->finish.alpha,
                                     (double)shape->finish.beta, want[i]);
    }
    return want;
}

/* To numbers that bfloat16 has: then its products are as exact as those of float32. */
static void round_factors(struct buffers *b, const struct vt_conv *c)
{
    const int64_t taps = volume_of(c->kernel);
    for (int64_t i = 0; i < c->batch * c->in_channels * volume_of(c->in); i++)
        b->x[i] = vt_bf16_widen(vt_bf16_round(b->x[i]));
    for (int64_t i = 0; i < c->out_channels * c->in_channels / c->groups * taps; i++)
        b->w[i] = vt_bf16_widen(vt_bf16_round(b->w[i]));
}

/* The way of the rule, then all that can carry it out. */
static void check(const struct vt_conv *shape, uint32_t features, struct vt_pool *pool,
                  struct random *r)
{
    struct vt_conv_choice choices[VT_CONV_CHOICES_MAX];
    struct buffers b = {0};
    /* A scaled weight is rounded once more, which the definition here knows nothing of. */
    const bool scaled = random_int(r, 0, 1) != 0 && !shape->bf16;
    const bool residual = random_int(r, 0, 1) != 0;
    const size_t n = vt_conv_choices(shape, features, choices);
    int64_t terms = shape->in_channels / shape->groups * volume_of(shape->kernel);
    if (shape->channels_last && shape->kernel[1] == 3 && shape->kernel[2] == 3)
        terms *= 8; /* Winograd cancels more: test_winograd.c states its errors */
    buffers_init(&b, shape, r);
    if (shape->bf16)
        round_factors(&b, shape);
    double *want = wanted(shape, &b, scaled, residual);
    for (size_t i = 0; i <= n; i++) {
        memset(b.y, 0xff, (size_t)b.outputs * sizeof(float));
        run_conv(shape, i == 0 ? NULL : &choices[i - 1], &b, scaled ? b.scale : NULL, b.bias,
                 residual ? b.residual : NULL, features, pool);
        for (int64_t k = 0; k < b.outputs; k++)
            assert_close((double)b.y[k], want[k], terms);
    }
    vt_free(want);
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
    c->finish.activation = (enum vt_activation)random_int(r, VT_ACT_NONE, VT_ACT_COUNT - 1);
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
    for (int turn = 0; turn < 240; turn++) {
        struct vt_conv conv;
        draw(&conv, 1 + turn % 3, &r);
        check(&conv, features[turn / 3 % n], turn % 2 ? pool : NULL, &r);
        count_way(&conv, features[turn / 3 % n]);
    }
    vt_pool_free(pool);
}

/* 3x3 and 3x3x3 of unit stride, channels last: maps smaller and larger than a tile, with pads of 0
 * to 2 at either end. */
static void draw_winograd(struct vt_conv *c, struct random *r)
{
    draw(c, 3, r);
    c->kernel[0] = random_int(r, 0, 1) ? 3 : 1;
    c->kernel[1] = c->kernel[2] = 3;
    for (int d = 0; d < 3; d++) {
        int64_t pads;
        c->stride[d] = c->dilation[d] = 1;
        do {
            c->in[d] = random_int(r, 1, d == 0 ? 9 : 17);
            c->pad[d] = random_int(r, 0, 2);
            pads = c->pad[d] + random_int(r, 0, 2);
        } while (c->in[d] + pads < c->kernel[d]);
        c->out[d] = c->in[d] + pads - c->kernel[d] + 1;
    }
    c->groups = random_int(r, 0, 4) ? 1 : 2;
    c->in_channels = c->groups * random_int(r, 1, 20);
    c->out_channels = c->groups * random_int(r, 1, 36);
    c->channels_last = true;
}

static void test_winograd(void **state)
{
    struct random r = {6};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 36; turn++) {
        struct vt_conv conv;
        draw_winograd(&conv, &r);
        check(&conv, features[turn / 2 % n], turn % 2 ? pool : NULL, &r);
        count_way(&conv, features[turn / 2 % n]);
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
        deep.channels_last = true;
        check(&deep, features[f], NULL, &r);
        check(&wide, features[f], NULL, &r);
    }
}

/* Few channels, last, and lines longer than a tile. */
static void test_first_layers(void **state)
{
    struct random r = {6};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 36; turn++) {
        const int dims = 1 + turn % 3;
        struct vt_conv conv;
        do {
            draw(&conv, dims, &r);
            conv.groups = conv.dilation[2] = 1;
            conv.channels_last = true;
            conv.in_channels = random_int(&r, 1, 5);
            conv.in[2] = random_int(&r, 30, 100);
            conv.kernel[2] = random_int(&r, 2, 7);
            conv.out[2] = (conv.in[2] + conv.pad[2] + random_int(&r, 0, 4) - conv.kernel[2]) /
                              conv.stride[2] +
                          1;
        } while (conv.out[2] < 28);
        check(&conv, features[turn / 3 % n], turn % 2 ? pool : NULL, &r);
        count_way(&conv, features[turn / 3 % n]);
    }
    vt_pool_free(pool);
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
        run_conv(&conv, NULL, &b, NULL, b.bias, turn % 4 < 2 ? b.residual : NULL,
                 features[turn / 3 % n], NULL);
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

/* The way of the rule is among the choices, under the name that is shown; each has its own. */
static void test_choices(void **state)
{
    struct random r = {8};
    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        struct vt_conv shape, conv;
        struct vt_conv_choice choices[VT_CONV_CHOICES_MAX];
        char name[32];
        draw(&shape, 1 + turn % 3, &r);
        shape.transposed = random_int(&r, 0, 4) == 0;
        const size_t n = vt_conv_choices(&shape, 0, choices);
        size_t by_rule = 0;
        conv = shape;
        vt_conv_init(&conv, 0);
        vt_conv_kernel_name(&conv, name, sizeof(name));
        for (size_t i = 0; i < n; i++) {
            /* A way without sizes may keep something of its own in `tile`. */
            const bool same = choices[i].way == conv.way &&
                              (choices[i].tile == conv.tile || choices[i].tile == 0);
            by_rule += same;
            if (same)
                assert_memory_equal(name, choices[i].name, strlen(choices[i].name));
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(choices[i].name, choices[k].name);
        }
        assert_int_equal(by_rule, 1);
    }
}

/* Kernels and strides so large that the output is a hundred times the input. */
static void test_transposed_large(void **state)
{
    struct random r = {6};
    (void)state;
    for (int turn = 0; turn < 40; turn++) {
        const bool line = turn % 2 == 0;
        struct vt_conv conv = {.batch = 1 + turn % 2,
                               .groups = 1 + turn % 3 / 2,
                               .in_channels = 4,
                               .out_channels = 2 + 2 * (turn % 4 == 1),
                               .in = {1, line ? 1 : 2, 3},
                               .kernel = {1, line ? 1 : 21 + turn, 150 + turn},
                               .stride = {1, 1 + turn % 5, 1 + turn % 40},
                               .dilation = {1, 1 + turn % 2, 1 + turn % 4},
                               .pad = {0, line ? 0 : turn % 3, turn % 9},
                               .transposed = true};
        struct buffers b = {0};
        for (int d = 0; d < 3; d++) {
            conv.out[d] = (conv.in[d] - 1) * conv.stride[d] +
                          (conv.kernel[d] - 1) * conv.dilation[d] + 1 - 2 * conv.pad[d];
        }
        conv.finish.activation = turn % 4 == 3 ? VT_ACT_RELU : VT_ACT_NONE;
        buffers_init(&b, &conv, &r);
        run_conv(&conv, NULL, &b, NULL, turn % 3 == 0 ? NULL : b.bias,
                 turn % 5 == 1 ? b.residual : NULL, 0, NULL);
        count_way(&conv, 0);
        double *want = vt_calloc((size_t)b.outputs, sizeof(double));
        const int64_t volume = conv.out[0] * conv.out[1] * conv.out[2];
        reference_transposed(&conv, b.x, b.w, want);
        for (int64_t i = 0; i < b.outputs; i++) {
            want[i] += turn % 3 == 0 ? 0 : (double)b.bias[i / volume % conv.out_channels];
            want[i] += turn % 5 == 1 ? (double)b.residual[i] : 0;
            want[i] = conv.finish.activation == VT_ACT_RELU && want[i] < 0 ? 0 : want[i];
            assert_close((double)b.y[i], want[i], 400);
        }
        vt_free(want);
        buffers_release(&b);
    }
}

/* Where the processor knows bfloat16: rounded factors, all channels and tails. */
static void test_bf16(void **state)
{
    struct random r = {21};
    const uint32_t features = vt_topology()->features;
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        struct vt_conv conv;
        draw(&conv, 1 + turn % 3, &r);
        conv.groups = turn % 4 == 0 ? 2 : 1;
        conv.in_channels = conv.groups * random_int(&r, 3, 40);
        conv.out_channels = conv.groups * random_int(&r, 17, 70);
        conv.bf16 = true;
        conv.channels_last = true;
        check(&conv, features, turn % 2 ? pool : NULL, &r);
        count_way(&conv, features);
    }
    vt_pool_free(pool);
}

static bool is_absent(const struct vt_conv_way *way)
{
    return way == &vt_conv_way_rows16 && vt_gemm16_kernel_find(vt_topology()->features) == NULL;
}

/* The tests above reached every way. */
static void test_ways(void **state)
{
    size_t n;
    const struct vt_conv_way *const *ways = vt_conv_ways(&n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        if (taken[i] < 8 && !is_absent(ways[i]))
            fail_msg("'%s' was taken %d times only", ways[i]->name, taken[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometries), cmocka_unit_test(test_winograd),
        cmocka_unit_test(test_large),      cmocka_unit_test(test_first_layers),
        cmocka_unit_test(test_transposed), cmocka_unit_test(test_transposed_large),
        cmocka_unit_test(test_choices),    cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
