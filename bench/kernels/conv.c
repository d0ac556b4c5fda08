/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of the six networks by every way of the table that fits them, in both layouts. */
#include <stdio.h>

#include "base/alloc.h"
#include "bench.h"
#include "kernels/conv/ways.h"

#define CASES_MAX 32

struct shape {
    const char *name;
    int dims;
    int64_t batch, in_channels, out_channels, groups, size, kernel, stride, pad;
    bool residual, transposed;
};

static const struct shape shapes[] = {
    {"resnet stem 7x7 /2", 2, 1, 3, 64, 1, 224, 7, 2, 3, false, false},
    {"resnet 64 3x3 56", 2, 1, 64, 64, 1, 56, 3, 1, 1, false, false},
    {"resnet 128 3x3 28", 2, 1, 128, 128, 1, 28, 3, 1, 1, false, false},
    {"resnet 256 3x3 14", 2, 1, 256, 256, 1, 14, 3, 1, 1, false, false},
    {"resnet 512 3x3 7", 2, 1, 512, 512, 1, 7, 3, 1, 1, false, false},
    {"resnet 512 3x3 7 batch 8", 2, 8, 512, 512, 1, 7, 3, 1, 1, false, false},
    {"resnet 128 3x3 56 /2", 2, 1, 128, 128, 1, 56, 3, 2, 1, false, false},
    {"resnet 256 3x3 28 /2", 2, 1, 256, 256, 1, 28, 3, 2, 1, false, false},
    {"resnet 512 3x3 14 /2", 2, 1, 512, 512, 1, 14, 3, 2, 1, false, false},
    {"resnet 64-256 1x1 56 +res", 2, 1, 64, 256, 1, 56, 1, 1, 0, true, false},
    {"resnet 512-1024 1x1 28 /2", 2, 1, 512, 1024, 1, 28, 1, 2, 0, false, false},
    {"retinanet 256 3x3 100", 2, 1, 256, 256, 1, 100, 3, 1, 1, false, false},
    {"retinanet 256 3x3 25", 2, 1, 256, 256, 1, 25, 3, 1, 1, false, false},
    {"resnext 128 3x3 200 g32", 2, 1, 128, 128, 32, 200, 3, 1, 1, false, false},
    {"resnext 256 3x3 100 g32", 2, 1, 256, 256, 32, 100, 3, 1, 1, false, false},
    {"resnext 512 3x3 50 g32", 2, 1, 512, 512, 32, 50, 3, 1, 1, false, false},
    {"resnext 1024 3x3 25 g32", 2, 1, 1024, 1024, 32, 25, 3, 1, 1, false, false},
    {"depthwise 144 3x3 56", 2, 1, 144, 144, 144, 56, 3, 1, 1, false, false},
    {"unet 1-32 3x3x3 128", 3, 1, 1, 32, 1, 128, 3, 1, 1, false, false},
    {"unet 32 3x3x3 64", 3, 1, 32, 32, 1, 64, 3, 1, 1, false, false},
    {"unet 128 3x3x3 32", 3, 1, 128, 128, 1, 32, 3, 1, 1, false, false},
    {"unet 320 3x3x3 8", 3, 1, 320, 320, 1, 8, 3, 1, 1, false, false},
    {"unet 32-64 3x3x3 64 /2", 3, 1, 32, 64, 1, 64, 3, 2, 1, false, false},
    {"unet up 256-128 2x2x2 16", 3, 1, 256, 128, 1, 16, 2, 2, 0, false, true},
};

struct convolution {
    struct vt_conv conv;
    struct vt_conv_data data;
    float *packed;
    int64_t floats, copies;
    void *workspace;
    struct vt_pool *pool;
    char kernel[64];
};

static void call(void *ctx, int64_t turn)
{
    struct convolution *c = ctx;
    c->data.packed = c->packed + turn % c->copies * c->floats;
    vt_conv_run(&c->conv, &c->data, c->pool, c->workspace);
}

static void conv_of(const struct shape *s, struct vt_conv *ret)
{
    *ret = (struct vt_conv){.batch = s->batch,
                            .groups = s->groups,
                            .in_channels = s->in_channels,
                            .out_channels = s->out_channels,
                            .transposed = s->transposed,
                            .finish = {VT_ACT_RELU, 0, 0}};
    for (int d = 0; d < VT_CONV_DIMS; d++) {
        const bool used = d >= VT_CONV_DIMS - s->dims;
        ret->in[d] = used ? s->size : 1;
        ret->kernel[d] = used ? s->kernel : 1;
        ret->stride[d] = used ? s->stride : 1;
        ret->pad[d] = used ? s->pad : 0;
        ret->dilation[d] = 1;
        ret->out[d] = s->transposed
                          ? (ret->in[d] - 1) * ret->stride[d] + ret->kernel[d] - 2 * ret->pad[d]
                          : (ret->in[d] + 2 * ret->pad[d] - ret->kernel[d]) / ret->stride[d] + 1;
    }
}

static double flops_of(const struct vt_conv *c, bool transposed)
{
    const int64_t pixels = conv_volume(transposed ? c->in : c->out);
    return 2.0 * (double)c->batch * (double)pixels * (double)conv_volume(c->kernel) *
           (double)c->in_channels * (double)c->out_channels / (double)c->groups;
}

static void convolution_init(struct convolution *c, const struct bench_options *options,
                             const float *weights)
{
    char way[48];
    c->pool = options->pool;
    c->floats = ((int64_t)vt_conv_packed_floats(&c->conv) + 15) / 16 * 16;
    c->copies = bench_copies(options, c->floats);
    c->packed = bench_floats(c->floats * c->copies);
    for (int64_t i = 0; i < c->copies; i++) {
        vt_conv_pack(&c->conv, weights, NULL, c->packed + i * c->floats);
    }
    c->workspace = vt_alloc(vt_conv_workspace_bytes(&c->conv, options->threads));
    vt_conv_kernel_name(&c->conv, way, sizeof(way));
    (void)snprintf(c->kernel, sizeof(c->kernel), "%s %s%s",
                   c->conv.channels_last ? "last" : "first", way,
                   c->conv.features == 0 ? " (portable)" : "");
}

/* All ways that fit, for one set of features and one layout. */
static int add_ways(const struct bench_options *options, const struct shape *s, uint32_t features,
                    bool channels_last, const struct vt_conv_data *data, const float *weights,
                    struct convolution *ret, int room)
{
    size_t n_ways;
    const struct vt_conv_way *const *ways = vt_conv_ways(&n_ways);
    int n = 0;
    for (size_t w = 0; w < n_ways && n < room; w++) {
        struct convolution *c = &ret[n];
        conv_of(s, &c->conv);
        c->conv.channels_last = channels_last;
        vt_conv_init(&c->conv, features);
        c->conv.tile = 0;
        if (!ways[w]->fits(&c->conv)) {
            continue;
        }
        c->conv.way = ways[w];
        ways[w]->init(&c->conv);
        c->data = *data;
        convolution_init(c, options, weights);
        n++;
    }
    return n;
}

static void measure(const struct bench_options *options, const struct shape *s)
{
    struct convolution all[CASES_MAX] = {0};
    struct bench_case cases[CASES_MAX];
    uint32_t features[3];
    const int n_features = bench_features(options, features);
    struct vt_conv shape;
    conv_of(s, &shape);
    const int64_t ins = shape.batch * shape.in_channels * conv_volume(shape.in);
    const int64_t outs = shape.batch * shape.out_channels * conv_volume(shape.out);
    float *x = bench_floats(ins), *y = bench_floats(outs), *residual = bench_floats(outs);
    float *bias = bench_floats(shape.out_channels);
    float *weights = bench_floats(shape.in_channels * shape.out_channels / shape.groups *
                                  conv_volume(shape.kernel));
    const struct vt_conv_data data = {x, NULL, bias, s->residual ? residual : NULL, y};
    int n = 0;
    for (int f = 0; f < n_features; f++) {
        for (int last = 0; last < 2; last++) {
            n += add_ways(options, s, features[f], last != 0, &data, weights, all + n,
                          CASES_MAX - n);
        }
    }
    for (int i = 0; i < n; i++) {
        cases[i] = (struct bench_case){s->name, all[i].kernel, flops_of(&shape, s->transposed),
                                       call, &all[i]};
    }
    bench_cases(options, cases, n);
    for (int i = 0; i < n; i++) {
        vt_free(all[i].packed);
        vt_free(all[i].workspace);
    }
    vt_free(x);
    vt_free(y);
    vt_free(residual);
    vt_free(bias);
    vt_free(weights);
}

int bench_conv(const struct bench_options *options)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (bench_wants(options, shapes[i].name)) {
            measure(options, &shapes[i]);
        }
    }
    return 0;
}
