/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's matrices against what they are meant to compute, and its ways' errors. */
#include "kernel_test.h"
#include "kernels/conv/ways.h"
#include "kernels/conv/winograd.h"

#define EDGE VT_WINOGRAD_EDGE_MAX

/* B^T and A^T of both axes as a kernel applies them, found by transforming one pixel at a time and
 * one product at a time, in the last of `channels` lanes. */
static void probe(const struct vt_winograd_kernel *kernel, int64_t m, int64_t channels,
                  double ret_b[EDGE * EDGE][EDGE * EDGE], double ret_a[36][EDGE * EDGE])
{
    const int64_t edge = m + 2, planes = edge * edge, row = kernel->lanes * 2;
    float *pixels = vt_calloc((size_t)(planes * channels), sizeof(float));
    float *v = vt_calloc((size_t)(planes * row), sizeof(float));
    float *out = vt_calloc((size_t)(m * m * channels), sizeof(float));
    const struct vt_gemm_finish finish = {VT_ACT_NONE, 0, 0};
    int64_t offset[EDGE * EDGE];
    for (int64_t i = 0; i < planes; i++)
        offset[i] = i * channels;
    for (int64_t i = 0; i < planes; i++) {
        struct vt_winograd_input in = {
            .image = pixels, .offset = offset, .channels = channels, .v = v, .v_stride = row};
        pixels[i * channels + channels - 1] = 1;
        kernel->input[m / 2 - 1](&in);
        pixels[i * channels + channels - 1] = 0;
        for (int64_t xi = 0; xi < planes; xi++)
            ret_b[xi][i] = (double)v[xi * row + channels - 1];
    }
    memset(v, 0, (size_t)(planes * row) * sizeof(float));
    for (int64_t xi = 0; xi < planes; xi++) {
        const struct vt_winograd_output o = {.m = v,
                                             .m_stride = row,
                                             .rows = m,
                                             .cols = m,
                                             .out = out,
                                             .row_stride = m * channels,
                                             .pixel_stride = channels,
                                             .channels = channels,
                                             .finish = &finish};
        v[xi * row + channels - 1] = 1;
        kernel->output[m / 2 - 1](&o);
        v[xi * row + channels - 1] = 0;
        for (int64_t y = 0; y < m * m; y++)
            ret_a[y][xi] = (double)out[y * channels + channels - 1];
    }
    vt_free(pixels);
    vt_free(v);
    vt_free(out);
}

/* A^T [(G g G^T) (B^T d B)] A is the correlation of d with g, whatever they are: a pixel reaches an
 * output with the weight of the tap between them. */
static void check_identity(const struct vt_winograd_kernel *kernel, int64_t m, int64_t channels)
{
    static double b[EDGE * EDGE][EDGE * EDGE], a[36][EDGE * EDGE];
    const int64_t edge = m + 2, planes = edge * edge;
    double g[EDGE][3];
    vt_winograd_weight_matrix(m, g);
    probe(kernel, m, channels, b, a);
    for (int64_t i = 0; i < planes * m * m * 9; i++) {
        const int64_t tap = i % 9, y = i / 9 % (m * m), pixel = i / 9 / (m * m);
        const bool meet = pixel / edge == y / m + tap / 3 && pixel % edge == y % m + tap % 3;
        double sum = 0;
        for (int64_t xi = 0; xi < planes; xi++)
            sum += a[y][xi] * g[xi / edge][tap / 3] * g[xi % edge][tap % 3] * b[xi][pixel];
        if (fabs(sum - meet) > 1e-12)
            fail_msg("F(%d,3): pixel %d reaches output %d by tap %d with %.17g", (int)m, (int)pixel,
                     (int)y, (int)tap, sum);
    }
}

static void test_matrices(void **state)
{
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int f = 0; f < n; f++) {
        const struct vt_winograd_kernel *kernel = vt_winograd_kernel_find(features[f]);
        for (int64_t m = 2; m <= 6; m += 2) {
            check_identity(kernel, m, kernel->lanes);
            check_identity(kernel, m, kernel->lanes + 1);
            check_identity(kernel, m, 1);
        }
    }
}

struct shape {
    struct vt_conv conv;
    float *x, *w, *bias, *scale, *residual, *y;
    int64_t outputs;
};

static double output_reference(const struct shape *s, int64_t at)
{
    const struct vt_conv *c = &s->conv;
    const int64_t channel = at % c->out_channels, pixel = at / c->out_channels;
    const int64_t o[3] = {pixel / c->out[2] / c->out[1] % c->out[0], pixel / c->out[2] % c->out[1],
                          pixel % c->out[2]};
    const int64_t image = pixel / c->out[2] / c->out[1] / c->out[0];
    const int64_t depth = c->in_channels / c->groups;
    const int64_t group = channel / (c->out_channels / c->groups);
    double sum = 0;
    for (int64_t tap = 0; tap < c->kernel[0] * 9; tap++) {
        const int64_t z = o[0] - c->pad[0] + tap / 9, y = o[1] - c->pad[1] + tap / 3 % 3;
        const int64_t x = o[2] - c->pad[2] + tap % 3;
        if (z < 0 || z >= c->in[0] || y < 0 || y >= c->in[1] || x < 0 || x >= c->in[2])
            continue;
        const float *from =
            s->x + group * depth +
            (((image * c->in[0] + z) * c->in[1] + y) * c->in[2] + x) * c->in_channels;
        for (int64_t i = 0; i < depth; i++)
            sum += (double)from[i] * (double)s->w[(channel * depth + i) * c->kernel[0] * 9 + tap];
    }
    sum = sum * (s->scale != NULL ? (double)s->scale[channel] : 1) + (double)s->bias[channel];
    sum += s->residual != NULL ? (double)s->residual[at] : 0;
    return activate_reference(c->finish.activation, (double)c->finish.alpha, (double)c->finish.beta,
                              sum);
}

static void shape_draw(struct shape *s, int64_t channels, struct random *r)
{
    struct vt_conv *c = &s->conv;
    memset(s, 0, sizeof(*s));
    c->batch = random_int(r, 1, 3);
    c->groups = random_int(r, 0, 4) ? 1 : 2;
    c->in_channels = c->groups * random_int(r, 1, channels);
    c->out_channels = c->groups * random_int(r, 1, 2 * channels);
    for (int d = 0; d < 3; d++) {
        const int64_t pads = random_int(r, 0, 4);
        c->kernel[d] = d > 0 || random_int(r, 0, 1) ? 3 : 1;
        c->stride[d] = c->dilation[d] = 1;
        c->pad[d] = random_int(r, 0, pads < 2 ? pads : 2);
        c->in[d] = random_int(r, pads < c->kernel[d] ? c->kernel[d] - pads : 1, 21);
        c->out[d] = c->in[d] + pads - c->kernel[d] + 1;
    }
    c->channels_last = true;
    c->finish.activation = (enum vt_activation)random_int(r, VT_ACT_NONE, VT_ACT_HARD_SWISH);
    c->finish.alpha = 0.125f;
    c->finish.beta = 0.5f;
}

static void shape_fill(struct shape *s, struct random *r)
{
    const struct vt_conv *c = &s->conv;
    const int64_t taps = c->kernel[0] * 9, depth = c->in_channels / c->groups;
    s->outputs = c->batch * c->out[0] * c->out[1] * c->out[2] * c->out_channels;
    s->x = random_floats(r, c->batch * c->in[0] * c->in[1] * c->in[2] * c->in_channels);
    s->w = random_floats(r, c->out_channels * depth * taps);
    s->bias = random_floats(r, c->out_channels);
    s->scale = random_int(r, 0, 1) ? random_floats(r, c->out_channels) : NULL;
    s->residual = random_int(r, 0, 1) ? random_floats(r, s->outputs) : NULL;
    s->y = random_floats(r, s->outputs);
    /* So that outputs are about 1. */
    for (int64_t i = 0; i < c->out_channels * depth * taps; i++)
        s->w[i] *= sqrtf(9.0f / (float)(depth * taps));
}

static void shape_release(struct shape *s)
{
    float *const all[] = {s->x, s->w, s->bias, s->scale, s->residual, s->y};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        vt_free(all[i]);
}

/* Runs with a tile and returns the largest error of up to 500 outputs, the last one among them. */
static double shape_error(struct shape *s, int64_t m, uint32_t features, struct vt_pool *pool,
                          struct random *r)
{
    struct vt_conv *c = &s->conv;
    double worst = 0;
    vt_conv_init(c, features);
    c->way = &vt_conv_way_winograd;
    c->tile = m;
    c->way->init(c);
    assert_int_equal(c->tile, m);
    float *packed = vt_alloc(vt_conv_packed_floats(c) * sizeof(float));
    void *workspace = vt_alloc(vt_conv_workspace_bytes(c, vt_pool_threads(pool)));
    vt_conv_pack(c, s->w, s->scale, packed);
    const struct vt_conv_data data = {s->x, packed, s->bias, s->residual, s->y};
    vt_conv_run(c, &data, pool, workspace);
    for (int64_t i = 0; i < 500 && i < s->outputs; i++) {
        const int64_t at = i == 0 ? s->outputs - 1 : random_int(r, 0, s->outputs - 1);
        const double error = fabs((double)s->y[at] - output_reference(s, at));
        worst = error <= worst ? worst : error; /* NaN counts */
    }
    vt_free(packed);
    vt_free(workspace);
    return worst;
}

/* The largest error for outputs about 1: docs and choice of a tile rest on these. */
static const double error_bound[3] = {6e-6, 8e-6, 5e-5};

static void test_errors(void **state)
{
    struct random r = {7};
    uint32_t features[3];
    const int n = usable_features(features);
    struct vt_pool *pool = test_pool(3);
    double worst[3] = {0};
    (void)state;
    for (int turn = 0; turn < 180; turn++) {
        const int64_t m = 2 + 2 * (turn % 3);
        struct shape s;
        shape_draw(&s, turn % 10 == 0 ? 130 : 40, &r);
        shape_fill(&s, &r);
        const double error =
            shape_error(&s, m, features[turn / 3 % n], turn / 9 % 2 ? pool : NULL, &r);
        if (!(error <= error_bound[m / 2 - 1]))
            fail_msg("F(%d,3), %d to %d channels, depth %d: an error of %.3g", (int)m,
                     (int)s.conv.in_channels, (int)s.conv.out_channels, (int)s.conv.kernel[0],
                     error);
        worst[m / 2 - 1] = fmax(worst[m / 2 - 1], error);
        shape_release(&s);
    }
    print_message("largest errors: F(2,3) %.2g, F(4,3) %.2g, F(6,3) %.2g\n", worst[0], worst[1],
                  worst[2]);
    vt_pool_free(pool);
}

/* What the rule says where it has been measured with wide margins. */
static void test_choice(void **state)
{
    static const struct {
        int64_t channels, edge, depth, tile;
    } cases[] = {{256, 14, 1, 4}, {64, 56, 1, 4}, {256, 100, 1, 6}, {64, 64, 64, 6}};
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]) * (size_t)n; at++) {
        const size_t i = at / (size_t)n;
        const uint32_t have = features[at % (size_t)n];
        const int64_t depth = cases[i].depth, edge = cases[i].edge;
        struct vt_conv conv = {.batch = 1,
                               .groups = 1,
                               .in_channels = cases[i].channels,
                               .out_channels = cases[i].channels,
                               .in = {depth, edge, edge},
                               .out = {depth, edge, edge},
                               .kernel = {depth > 1 ? 3 : 1, 3, 3},
                               .stride = {1, 1, 1},
                               .dilation = {1, 1, 1},
                               .pad = {depth > 1, 1, 1},
                               .channels_last = true};
        char name[32];
        vt_conv_init(&conv, have);
        assert_ptr_equal(conv.way, &vt_conv_way_winograd);
        assert_int_equal(conv.tile, cases[i].tile);
        vt_conv_kernel_name(&conv, name, sizeof(name));
        assert_string_equal(name, cases[i].tile == 4 ? "winograd 4" : "winograd 6");
        conv.stride[1] = 2;
        conv.out[1] = (edge + 1) / 2;
        vt_conv_init(&conv, have);
        assert_ptr_not_equal(conv.way, &vt_conv_way_winograd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
