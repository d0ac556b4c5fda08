/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of the six networks, and what attention and a pointwise convolution make of
 * them. */
#include <stdio.h>

#include "base/alloc.h"
#include "bench.h"
#include "kernels/gemm/gemm.h"

enum factor {
    PACKED, /* constant: packed before */
    ROWS,   /* in memory, row by row */
    COLS,   /* in memory, transposed */
};

struct shape {
    const char *name;
    int64_t m, n, k, batches;
    enum factor a, b;
    bool bias, residual;
    enum vt_activation activation;
};

static const struct shape shapes[] = {
    /* ResNet-50, 1x1, channels last: pixels x channels. */
    {"resnet 3136x64x64", 3136, 64, 64, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"resnet 3136x256x64 +res", 3136, 256, 64, 1, ROWS, PACKED, true, true, VT_ACT_RELU},
    {"resnet 3136x64x256", 3136, 64, 256, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"resnet 784x512x128 +res", 784, 512, 128, 1, ROWS, PACKED, true, true, VT_ACT_RELU},
    {"resnet 784x128x512", 784, 128, 512, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"resnet 196x1024x256 +res", 196, 1024, 256, 1, ROWS, PACKED, true, true, VT_ACT_RELU},
    {"resnet 196x256x1024", 196, 256, 1024, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"resnet 49x2048x512 +res", 49, 2048, 512, 1, ROWS, PACKED, true, true, VT_ACT_RELU},
    {"resnet 49x512x2048", 49, 512, 2048, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"resnet head 1x1001x2048", 1, 1001, 2048, 1, ROWS, PACKED, true, false, VT_ACT_NONE},
    {"resnet head 8x1001x2048", 8, 1001, 2048, 1, ROWS, PACKED, true, false, VT_ACT_NONE},
    /* The same with channels first: channels x pixels. */
    {"resnet nchw 64x3136x64", 64, 3136, 64, 1, PACKED, ROWS, false, false, VT_ACT_RELU},
    {"resnet nchw 256x196x1024", 256, 196, 1024, 1, PACKED, ROWS, false, false, VT_ACT_RELU},
    /* BERT-large at 384 tokens. */
    {"bert 384x1024x1024 +res", 384, 1024, 1024, 1, ROWS, PACKED, true, true, VT_ACT_NONE},
    {"bert 384x4096x1024", 384, 4096, 1024, 1, ROWS, PACKED, true, false, VT_ACT_NONE},
    {"bert 384x1024x4096 +res", 384, 1024, 4096, 1, ROWS, PACKED, true, true, VT_ACT_NONE},
    {"bert scores 16x384x384x64", 384, 384, 64, 16, ROWS, COLS, false, false, VT_ACT_NONE},
    {"bert values 16x384x64x384", 384, 64, 384, 16, ROWS, ROWS, false, false, VT_ACT_NONE},
    /* DLRM at 2048 samples. */
    {"dlrm 2048x512x13", 2048, 512, 13, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"dlrm 2048x256x512", 2048, 256, 512, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"dlrm 2048x128x256", 2048, 128, 256, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"dlrm 2048x1024x479", 2048, 1024, 479, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"dlrm 2048x1024x1024", 2048, 1024, 1024, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"dlrm 2048x512x1024", 2048, 512, 1024, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    {"dlrm 2048x1x256", 2048, 1, 256, 1, ROWS, PACKED, true, false, VT_ACT_SIGMOID},
    {"dlrm 128x27x27x128", 27, 27, 128, 128, ROWS, COLS, false, false, VT_ACT_NONE},
    {"dlrm 1x1024x1024", 1, 1024, 1024, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    /* RNN-T: the gates of an LSTM, the joint network. */
    {"rnnt 1x4096x1024", 1, 4096, 1024, 1, ROWS, PACKED, true, false, VT_ACT_NONE},
    {"rnnt 4x4096x1024", 4, 4096, 1024, 1, ROWS, PACKED, true, false, VT_ACT_NONE},
    {"rnnt 16x4096x1024", 16, 4096, 1024, 1, ROWS, PACKED, true, false, VT_ACT_NONE},
    {"rnnt 1x512x1344", 1, 512, 1344, 1, ROWS, PACKED, true, false, VT_ACT_RELU},
    /* Both factors of a run. */
    {"both 1024x1024x1024", 1024, 1024, 1024, 1, ROWS, ROWS, false, false, VT_ACT_NONE},
    {"both 1x1024x1024", 1, 1024, 1024, 1, ROWS, ROWS, false, false, VT_ACT_NONE},
    {"both 1x1024x1024 transposed", 1, 1024, 1024, 1, ROWS, COLS, false, false, VT_ACT_NONE},
};

struct product {
    const struct shape *shape;
    struct vt_gemm gemm;
    const float *a, *b, *bias, *residual;
    float *c;
    float *packed; /* `copies` of it */
    int64_t packed_floats, copies, turn;
    void *workspace;
    struct vt_pool *pool;
    char kernel[48];
};

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    const struct product *p = ctx;
    const struct shape *s = p->shape;
    const float *packed = p->packed + p->turn % p->copies * p->packed_floats;
    ret->a = s->a == PACKED ? packed : p->a + batch * s->m * s->k;
    ret->b = s->b == PACKED ? packed : p->b + batch * s->n * s->k;
    ret->c = p->c + batch * s->m * s->n;
    ret->col_bias = p->bias;
    ret->residual = p->residual;
}

static void call(void *ctx, int64_t turn)
{
    struct product *p = ctx;
    p->turn = turn;
    vt_gemm_run(&p->gemm, p->pool, p->workspace);
}

static void pack(struct product *p)
{
    const struct shape *s = p->shape;
    const struct vt_gemm_matrix a = {p->a, s->k, 1}, b = {p->b, s->n, 1};
    size_t floats = 0;
    if (s->a == PACKED) {
        (void)vt_gemm_packed_a_size(p->gemm.kernel, s->m, s->k, &floats);
    } else {
        (void)vt_gemm_packed_b_size(p->gemm.kernel, s->k, s->n, &floats);
    }
    p->packed_floats = ((int64_t)floats + 15) / 16 * 16;
    p->packed = bench_floats(p->packed_floats * p->copies);
    for (int64_t i = 0; i < p->copies; i++) {
        if (s->a == PACKED) {
            vt_gemm_pack_a(p->gemm.kernel, s->m, s->k, &a, NULL, p->packed + i * p->packed_floats);
        } else {
            vt_gemm_pack_b(p->gemm.kernel, s->k, s->n, &b, p->packed + i * p->packed_floats);
        }
    }
}

static void product_init(struct product *p, const struct bench_options *options,
                         const struct shape *s, uint32_t features)
{
    p->shape = s;
    p->pool = options->pool;
    p->copies = 1;
    p->gemm = (struct vt_gemm){.kernel = vt_gemm_kernel_find(features),
                               .m = s->m,
                               .n = s->n,
                               .k = s->k,
                               .batches = s->batches,
                               .ldc = s->n,
                               .a_packed = s->a == PACKED,
                               .b_packed = s->b == PACKED,
                               .a_row_stride = s->k,
                               .a_col_stride = 1,
                               .b_row_stride = s->b == COLS ? 1 : s->n,
                               .b_col_stride = s->b == COLS ? s->k : 1,
                               .locate = locate,
                               .ctx = p,
                               .finish = {s->activation, 0, 0}};
    if (s->a == PACKED || s->b == PACKED) {
        p->copies = bench_copies(options, s->a == PACKED ? s->m * s->k : s->k * s->n);
        pack(p);
    }
    p->workspace = vt_alloc(vt_gemm_workspace_bytes(&p->gemm, options->threads));
    (void)snprintf(p->kernel, sizeof(p->kernel), "gemm %ux%u", p->gemm.kernel->mr,
                   p->gemm.kernel->nr);
}

static void measure(const struct bench_options *options, const struct shape *s)
{
    struct product products[3] = {0};
    struct bench_case cases[3];
    uint32_t features[3];
    const int n = bench_features(options, features);
    float *a = bench_floats(s->batches * s->m * s->k), *b = bench_floats(s->batches * s->n * s->k);
    float *bias = bench_floats(s->n), *residual = bench_floats(s->m * s->n);
    float *c = bench_floats(s->batches * s->m * s->n);
    for (int i = 0; i < n; i++) {
        products[i] = (struct product){.a = a,
                                       .b = b,
                                       .c = c,
                                       .bias = s->bias ? bias : NULL,
                                       .residual = s->residual ? residual : NULL};
        product_init(&products[i], options, s, features[i]);
        cases[i] = (struct bench_case){s->name, products[i].kernel,
                                       2.0 * (double)s->batches * (double)s->m * (double)s->n *
                                           (double)s->k,
                                       call, &products[i]};
    }
    bench_cases(options, cases, n);
    for (int i = 0; i < n; i++) {
        vt_free(products[i].packed);
        vt_free(products[i].workspace);
    }
    vt_free(a);
    vt_free(b);
    vt_free(c);
    vt_free(bias);
    vt_free(residual);
}

int bench_gemm(const struct bench_options *options)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (bench_wants(options, shapes[i].name)) {
            measure(options, &shapes[i]);
        }
    }
    return 0;
}
