/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised products and convolutions against plain sums, bit for bit, on every kernel. */
#include "kernel_test.h"

#include "kernels/conv8/conv8.h"

#define SETS_MAX 5

static int sets(uint32_t ret[SETS_MAX])
{
    const uint32_t have = vt_topology()->features, wide = VT_CPU_AVX2 | VT_CPU_AVX512;
    int n = 0;
    ret[n++] = 0;
    if (have & VT_CPU_AVX2)
        ret[n++] = VT_CPU_AVX2;
    if (have & VT_CPU_VNNI)
        ret[n++] = wide | VT_CPU_VNNI;
    if ((have & VT_CPU_VNNI) && (have & VT_CPU_AMX))
        ret[n++] = wide | VT_CPU_VNNI | VT_CPU_AMX;
    return n;
}

/* Extremes are frequent: they are what saturates. */
static uint8_t *random_bytes(struct random *r, int64_t n)
{
    uint8_t *x = vt_alloc((size_t)n + 1);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = random_bits(r);
        x[i] =
            bits % 4 != 0 ? (uint8_t)(bits >> 8) : (bits & 16 ? 0xff : (bits & 32 ? 0x80 : 0x7f));
    }
    return x;
}

static int32_t value_of(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

/* Everything that a finish looks at, for `rows` rows. */
struct case_finish {
    struct vt_gemm8_finish f;
    float *factor, *offset;
    int32_t *bias, *zero;
};

static void finish_init(struct random *r, struct case_finish *c, int64_t rows, enum vt_dtype output,
                        bool residual, bool weight_zeros, double sum_scale)
{
    memset(c, 0, sizeof(*c));
    c->factor = random_floats(r, rows);
    c->offset = random_floats(r, rows);
    c->bias = vt_alloc((size_t)rows * sizeof(int32_t));
    c->zero = vt_alloc((size_t)rows * sizeof(int32_t));
    for (int64_t i = 0; i < rows; i++) {
        c->factor[i] = (fabsf(c->factor[i]) + 0.1f) * (float)(60.0 / sum_scale);
        c->offset[i] *= 20.0f;
        c->bias[i] = (int32_t)random_int(r, -3000, 3000);
        c->zero[i] = (int32_t)random_int(r, -128, 127);
    }
    const bool s = output == VT_I8;
    c->f = (struct vt_gemm8_finish){.output = output,
                                    .a_zero = weight_zeros ? c->zero : NULL,
                                    .factor = c->factor,
                                    .offset = random_int(r, 0, 1) ? c->offset : NULL,
                                    .zero = s ? -7 : 131,
                                    .low = s ? -128 : (random_int(r, 0, 1) ? 131 : 0),
                                    .high = s ? 127 : 255,
                                    .has_residual = residual,
                                    .residual_signed = s,
                                    .sum_factor = 0.7f,
                                    .residual_factor = 0.45f,
                                    .residual_zero = 3,
                                    .sum_zero = s ? 5 : 100,
                                    .sum_low = s ? -128 : 100,
                                    .sum_high = s ? 127 : 255};
    if (output == VT_F32) {
        c->f.low = -INFINITY;
        c->f.high = 30;
    }
}

static void finish_release(struct case_finish *c)
{
    vt_free(c->factor);
    vt_free(c->offset);
    vt_free(c->bias);
    vt_free(c->zero);
}

static float clamp_to(float x, float low, float high)
{
    return x < low ? low : (x > high ? high : x);
}

/* What the finish makes of an exact sum (zero points taken off, bias added). */
static float finished(const struct vt_gemm8_finish *f, int64_t row, int64_t sum, int32_t residual)
{
    float x = (float)(int32_t)sum * f->factor[row];
    x += f->offset != NULL ? f->offset[row] : 0.0f;
    if (f->output == VT_F32)
        return clamp_to(x, f->low, f->high);
    float q = clamp_to(nearbyintf(x) + f->zero, f->low, f->high);
    if (f->has_residual) {
        /* Bytes as uint8: the constant part is rounded as one number. */
        const float moved = f->residual_signed ? 128.0f : 0.0f;
        x = (q - f->zero) * f->sum_factor + (((float)residual + moved) * f->residual_factor -
                                             (f->residual_zero + moved) * f->residual_factor);
        q = clamp_to(nearbyintf(x) + f->sum_zero, f->sum_low, f->sum_high);
    }
    return q;
}

static float stored(enum vt_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case VT_I8:
        return ((const int8_t *)data)[i];
    case VT_U8:
        return ((const uint8_t *)data)[i];
    case VT_F32:
        return ((const float *)data)[i];
    default:
        return (float)((const int32_t *)data)[i];
    }
}

struct conv_case {
    struct vt_conv8 conv;
    bool weights_unsigned, weight_zeros, residual;
    enum vt_dtype output;
};

static int64_t volume(const int64_t d[3])
{
    return d[0] * d[1] * d[2];
}

/* The sum of one output, in 64 bits, real zero points everywhere. */
static int64_t conv_sum(const struct conv_case *c, const uint8_t *x, const uint8_t *w,
                        const int32_t *w_zero, int64_t image, int64_t o, const int64_t at[3])
{
    const struct vt_conv8 *v = &c->conv;
    const int64_t ins = v->in_channels / v->groups, outs = v->out_channels / v->groups;
    int64_t sum = 0;
    for (int64_t i = 0; i < ins; i++)
        for (int64_t t = 0; t < volume(v->kernel); t++) {
            const int64_t k[3] = {t / v->kernel[2] / v->kernel[1], t / v->kernel[2] % v->kernel[1],
                                  t % v->kernel[2]};
            int64_t p[3];
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                p[d] = at[d] * v->stride[d] - v->pad[d] + k[d] * v->dilation[d];
                inside = inside && p[d] >= 0 && p[d] < v->in[d];
            }
            if (!inside)
                continue;
            const int64_t channel = o / outs * ins + i;
            const int64_t pixel = (p[0] * v->in[1] + p[1]) * v->in[2] + p[2];
            const int32_t a =
                value_of(x[(image * v->in_channels + channel) * volume(v->in) + pixel],
                         v->in_signed) -
                v->in_zero;
            int32_t b = value_of(w[(o * ins + i) * volume(v->kernel) + t], !c->weights_unsigned);
            b -= (c->weights_unsigned ? 128 : 0) + (c->weight_zeros ? w_zero[o] : 0);
            sum += (int64_t)a * b;
        }
    return sum;
}

static void check_conv(const struct conv_case *c, struct random *r, uint32_t features,
                       uint32_t threads)
{
    struct vt_conv8 v = c->conv;
    const int64_t ins = v.in_channels / v.groups;
    const int64_t n_out = v.batch * v.out_channels * volume(v.out);
    const size_t out_bytes = vt_dtype_bytes(c->output);
    uint8_t *x = random_bytes(r, v.batch * v.in_channels * volume(v.in));
    uint8_t *w = random_bytes(r, v.out_channels * ins * volume(v.kernel));
    uint8_t *residual = random_bytes(r, n_out);
    uint8_t *out = vt_alloc((size_t)n_out * out_bytes + 1);
    int32_t *bias = vt_alloc((size_t)v.out_channels * sizeof(int32_t));
    struct case_finish f;
    struct vt_pool *pool = threads > 1 ? test_pool(threads) : NULL;

    finish_init(r, &f, v.out_channels, c->output, c->residual, c->weight_zeros,
                128.0 * 80 * sqrt((double)(ins * volume(v.kernel))));
    vt_conv8_init(&v, features);
    void *packed = vt_alloc(vt_conv8_packed_bytes(&v));
    void *workspace = vt_alloc(vt_conv8_workspace_bytes(&v, c->weight_zeros, threads) + 1);
    assert_non_null(packed);
    assert_non_null(workspace);
    memset(workspace, 0xa5, vt_conv8_workspace_bytes(&v, c->weight_zeros, threads));
    vt_conv8_pack(&v, w, c->weights_unsigned ? 0x80 : 0, packed);
    int32_t *sums = vt_alloc((size_t)v.out_channels * sizeof(int32_t));
    vt_conv8_sums(&v, w, c->weights_unsigned ? 0x80 : 0, sums);
    vt_conv8_bias(&v, sums, f.bias, c->weight_zeros ? f.zero : NULL, bias);
    vt_free(sums);
    f.f.bias = bias;
    out[(size_t)n_out * out_bytes] = 0x5a;
    const struct vt_conv8_data data = {x, packed, c->residual ? residual : NULL, out, &f.f};
    vt_conv8_run(&v, &data, pool, workspace);
    assert_int_equal(out[(size_t)n_out * out_bytes], 0x5a);
    for (int64_t i = 0; i < n_out; i++) {
        const int64_t plane = volume(v.out), o = i / plane % v.out_channels;
        const int64_t at[3] = {i % plane / v.out[2] / v.out[1], i % plane / v.out[2] % v.out[1],
                               i % v.out[2]};
        const int64_t sum =
            conv_sum(c, x, w, f.zero, i / plane / v.out_channels, o, at) + f.bias[o];
        const float want = c->output == VT_I32
                               ? (float)(int32_t)sum
                               : finished(&f.f, o, sum, value_of(residual[i], f.f.residual_signed));
        const float got = stored(c->output, out, i);
        if (got != want) {
            char name[64];
            vt_conv8_kernel_name(&v, name, sizeof(name));
            fail_msg("%s: element %lld is %g, not %g", name, (long long)i, (double)got,
                     (double)want);
        }
    }
    vt_pool_free(pool);
    finish_release(&f);
    vt_free(x);
    vt_free(w);
    vt_free(residual);
    vt_free(out);
    vt_free(bias);
    vt_free(packed);
    vt_free(workspace);
}

static void random_conv(struct random *r, struct conv_case *c)
{
    static const enum vt_dtype outputs[] = {VT_U8, VT_I8, VT_F32, VT_I32};
    struct vt_conv8 *v = &c->conv;
    memset(c, 0, sizeof(*c));
    const int kind = (int)random_int(r, 0, 3); /* plain, pointwise, depthwise, grouped */
    v->batch = random_int(r, 1, 3);
    v->groups = kind == 2 ? random_int(r, 2, 9) : (kind == 3 ? random_int(r, 2, 3) : 1);
    v->in_channels = v->groups * (kind == 2 ? 1 : random_int(r, 1, 21));
    v->out_channels = v->groups * random_int(r, 1, kind == 2 ? 2 : 40);
    for (int d = 0; d < 3; d++) {
        const bool flat = d == 0 && random_int(r, 0, 3) != 0;
        v->in[d] = flat ? 1 : random_int(r, 1, d == 2 ? 45 : 9);
        v->kernel[d] = flat || kind == 1 ? 1 : random_int(r, 1, 5);
        v->stride[d] = flat || kind == 1 ? 1 : random_int(r, 1, kind == 2 ? 5 : 3);
        v->dilation[d] = flat || kind == 1 ? 1 : random_int(r, 1, 2);
        v->pad[d] = flat || kind == 1 ? 0 : random_int(r, 0, v->kernel[d]);
        const int64_t reach = (v->kernel[d] - 1) * v->dilation[d] + 1;
        const int64_t behind = flat || kind == 1 ? 0 : random_int(r, 0, 2);
        int64_t room = v->in[d] + v->pad[d] + behind - reach;
        if (room < 0) {
            v->in[d] -= room;
            room = 0;
        }
        v->out[d] = room / v->stride[d] + 1;
    }
    v->in_signed = random_int(r, 0, 1);
    v->in_zero = (int32_t)random_int(r, v->in_signed ? -128 : 0, v->in_signed ? 127 : 255);
    c->output = outputs[random_int(r, 0, 3)];
    c->residual = (c->output == VT_U8 || c->output == VT_I8) && random_int(r, 0, 1);
    c->weights_unsigned = random_int(r, 0, 3) == 0;
    c->weight_zeros = random_int(r, 0, 2) == 0;
}

static void test_convolutions(void **state)
{
    struct random r = {17};
    uint32_t features[SETS_MAX];
    const int n = sets(features);
    (void)state;
    for (int i = 0; i < 160; i++) {
        struct conv_case c;
        random_conv(&r, &c);
        check_conv(&c, &r, features[i % n], i % 5 == 0 ? 3 : 1);
    }
}

/* So many steps that blocks of B are one panel each and A does not fit a cache. */
static void test_deep_convolution(void **state)
{
    struct random r = {3};
    uint32_t features[SETS_MAX];
    const int n = sets(features);
    struct conv_case c = {.output = VT_U8};
    (void)state;
    c.conv = (struct vt_conv8){.batch = 1,
                               .groups = 1,
                               .in_channels = 530,
                               .out_channels = 190,
                               .in = {1, 3, 5},
                               .out = {1, 3, 5},
                               .kernel = {1, 3, 3},
                               .stride = {1, 1, 1},
                               .dilation = {1, 1, 1},
                               .pad = {0, 1, 1},
                               .in_zero = 9};
    for (int i = 0; i < n; i++)
        check_conv(&c, &r, features[i], 2);
}

/* --- matrix products: rows of data, results across the columns ---------------------------------
 */

struct rows_case {
    const struct vt_gemm8_kernel *kernel;
    int64_t m, n, k; /* of the product: outputs, rows of data */
    const uint8_t *x;
    void *packed, *out;
    uint8_t flip;
};

static void pack_data(const void *ctx, int64_t batch, int64_t n0, int64_t nc, uint8_t *ret)
{
    const struct rows_case *c = ctx;
    const int64_t k4 = vt_gemm8_k4(c->kernel, c->k);
    (void)batch;
    for (int64_t n = 0; n < nc; n += VT_GEMM8_NR, ret += k4 * 4 * VT_GEMM8_NR) {
        const uint32_t cols = (uint32_t)(nc - n < VT_GEMM8_NR ? nc - n : VT_GEMM8_NR);
        vt_u8_pack_rows(c->x + (n0 + n) * c->k, c->k, cols, c->k, k4, c->flip, ret);
    }
}

static void locate_data(const void *ctx, int64_t batch, struct vt_gemm8_place *ret)
{
    const struct rows_case *c = ctx;
    (void)batch;
    *ret = (struct vt_gemm8_place){c->packed, c->out, NULL, 0};
}

static void check_rows(struct random *r, uint32_t features, enum vt_dtype output, uint32_t threads)
{
    struct rows_case c = {.kernel = vt_gemm8_kernel_find(features),
                          .m = random_int(r, 1, 90),
                          .n = random_int(r, 1, 90),
                          .k = random_int(r, 1, 200)};
    uint8_t *x = random_bytes(r, c.n * c.k), *w = random_bytes(r, c.k * c.m);
    const bool weight_zeros = random_int(r, 0, 1);
    struct case_finish f;
    struct vt_pool *pool = threads > 1 ? test_pool(threads) : NULL;
    size_t packed_bytes = 0;

    c.x = x;
    c.flip = random_int(r, 0, 1) ? 0x80 : 0;
    assert_true(vt_gemm8_packed_size(c.kernel, c.m, c.k, &packed_bytes));
    c.packed = vt_alloc(packed_bytes);
    c.out = vt_alloc((size_t)(c.m * c.n) * vt_dtype_bytes(output));
    finish_init(r, &f, c.m, output, false, weight_zeros, 128.0 * 80 * sqrt((double)c.k));
    f.f.bias = f.bias;
    vt_gemm8_pack(c.kernel, c.m, c.k, w, 1, c.m, 0, c.packed); /* w is [k][m] */
    struct vt_gemm8 gemm = {.kernel = c.kernel,
                            .m = c.m,
                            .n = c.n,
                            .k = c.k,
                            .batches = 1,
                            .row_stride = 1,
                            .col_stride = c.m,
                            .pack_b = pack_data,
                            .locate = locate_data,
                            .ctx = &c,
                            .finish = f.f};
    void *workspace = vt_alloc(vt_gemm8_workspace_bytes(&gemm, threads));
    vt_gemm8_run(&gemm, pool, workspace);
    for (int64_t n = 0; n < c.n; n++)
        for (int64_t m = 0; m < c.m; m++) {
            int64_t sum = f.bias[m];
            for (int64_t k = 0; k < c.k; k++)
                sum += (int64_t)(x[n * c.k + k] ^ c.flip) *
                       ((int8_t)w[k * c.m + m] - (weight_zeros ? f.zero[m] : 0));
            const float want = output == VT_I32 ? (float)(int32_t)sum : finished(&f.f, m, sum, 0);
            const float got = stored(output, c.out, n * c.m + m);
            if (got != want)
                fail_msg("%s: row %lld, output %lld is %g, not %g", c.kernel->name, (long long)n,
                         (long long)m, (double)got, (double)want);
        }
    vt_pool_free(pool);
    finish_release(&f);
    vt_free(x);
    vt_free(w);
    vt_free(c.packed);
    vt_free(c.out);
    vt_free(workspace);
}

static void test_rows(void **state)
{
    static const enum vt_dtype outputs[] = {VT_U8, VT_I8, VT_F32, VT_I32};
    struct random r = {29};
    uint32_t features[SETS_MAX];
    const int n = sets(features);
    (void)state;
    for (int i = 0; i < 80; i++)
        check_rows(&r, features[i % n], outputs[i / n % 4], i % 7 == 0 ? 2 : 1);
}

/* Sums that no factor brings into range, and factors that are no numbers, against the portable
 * finish: all bits, and nothing beside the columns. */
static void test_finish_extremes(void **state)
{
    static const float factors[] = {0.01f, 1e-8f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN, -0.7f};
    enum { ROWS = 8, WIDE = 48 };
    _Alignas(64) int32_t sums[ROWS * VT_GEMM8_NR + WIDE];
    int32_t bias[ROWS] = {0, 1, -1, 100000, INT32_MAX, INT32_MIN, 7, 8};
    uint8_t residual[ROWS * WIDE], out[2][ROWS * WIDE];
    struct random r = {77};
    uint32_t all[SETS_MAX];
    const int n = sets(all);
    (void)state;
    for (int trial = 0; trial < 400; trial++) {
        const enum vt_dtype type = trial & 1 ? VT_I8 : VT_U8;
        struct case_finish c;
        finish_init(&r, &c, ROWS, type, (trial & 2) != 0, false, 1000);
        c.f.bias = bias;
        c.f.factor = factors;
        for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
            sums[i] = (int32_t)(random_bits(&r) >> (32 + random_bits(&r) % 32));
        for (size_t i = 0; i < sizeof(residual); i++)
            residual[i] = (uint8_t)random_bits(&r);
        struct vt_gemm8_tile tile = {.sums = sums,
                                     .rows = ROWS,
                                     .cols = (uint32_t)random_int(&r, 1, VT_GEMM8_NR),
                                     .stride = WIDE,
                                     .residual = residual};
        memset(out, 0x55, sizeof(out));
        tile.output = out[0];
        vt_gemm8_kernel_find(0)->finish(&c.f, &tile);
        for (int s = 1; s < n; s++) {
            memset(out[1], 0x55, sizeof(out[1]));
            tile.output = out[1];
            vt_gemm8_kernel_find(all[s])->finish(&c.f, &tile);
            assert_memory_equal(out[0], out[1], sizeof(out[0]));
        }
        finish_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_deep_convolution),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_finish_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
