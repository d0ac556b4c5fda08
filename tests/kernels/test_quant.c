/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised kernels against the plain definitions, over odd sizes. */
#include "vt_test.h"

#include <math.h>

#include "kernels/quant/quant.h"

static uint64_t seed = 7;

static int32_t draw(int32_t low, int32_t high)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int32_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

static void test_matmul(void **state)
{
    int16_t a[9 * 33], b[33 * 21];
    int32_t c[9 * 21];
    (void)state;
    for (int round = 0; round < 30; round++) {
        const int64_t m = draw(1, 9), n = draw(1, 21), k = draw(0, 33);
        for (int64_t i = 0; i < m * k; i++)
            a[i] = (int16_t)draw(-255, 255);
        for (int64_t i = 0; i < k * n; i++)
            b[i] = (int16_t)draw(-255, 255);
        vt_quant_matmul(m, n, k, a, b, c, NULL);
        for (int64_t i = 0; i < m * n; i++) {
            int64_t sum = 0;
            for (int64_t j = 0; j < k; j++)
                sum += (int64_t)a[i / n * k + j] * b[j * n + i % n];
            assert_int_equal(c[i], sum);
        }
    }
}

/* The definition: every tap of every output, with a test whether it lies on the image. */
static int64_t conv_at(const struct vt_quant_conv *c, const int16_t *x, const int16_t *w,
                       int64_t batch, int64_t channel, const int64_t *at)
{
    const int64_t depth = c->in_channels / c->groups;
    const int64_t first = channel / (c->out_channels / c->groups) * depth;
    int64_t sum = 0;
    for (int64_t ic = 0; ic < depth; ic++) {
        for (int64_t t = 0; t < c->kernel[0] * c->kernel[1] * c->kernel[2]; t++) {
            const int64_t tap[3] = {t / c->kernel[2] / c->kernel[1],
                                    t / c->kernel[2] % c->kernel[1], t % c->kernel[2]};
            int64_t place = 0;
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                const int64_t i = at[d] * c->stride[d] + tap[d] * c->dilation[d] - c->pad[d];
                inside = inside && i >= 0 && i < c->in[d];
                place = place * c->in[d] + i;
            }
            const int64_t plane = c->in[0] * c->in[1] * c->in[2];
            const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
            if (inside)
                sum += (int64_t)x[(batch * c->in_channels + first + ic) * plane + place] *
                       w[(channel * depth + ic) * taps + t];
        }
    }
    return sum;
}

static void test_conv(void **state)
{
    static int16_t x[1 << 16], w[1 << 14];
    static int32_t y[1 << 18];
    (void)state;
    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
        x[i] = (int16_t)draw(-255, 255);
    for (size_t i = 0; i < sizeof(w) / sizeof(w[0]); i++)
        w[i] = (int16_t)draw(-255, 255);
    for (int round = 0; round < 40; round++) {
        struct vt_quant_conv c = {.batch = draw(1, 2), .groups = draw(1, 3)};
        c.in_channels = c.groups * draw(1, 3);
        c.out_channels = c.groups * draw(1, 3);
        for (int d = 0; d < 3; d++) {
            c.in[d] = draw(1, d == 0 ? 3 : 9);
            c.kernel[d] = draw(1, 3);
            c.stride[d] = draw(1, 3);
            c.dilation[d] = draw(1, 2);
            c.pad[d] = draw(0, 3);
            const int64_t room =
                c.in[d] + c.pad[d] + draw(0, 3) - (c.kernel[d] - 1) * c.dilation[d];
            c.out[d] = room < 1 ? 0 : (room - 1) / c.stride[d] + 1;
        }
        vt_quant_conv(&c, x, w, y, NULL);
        const int64_t plane = c.out[0] * c.out[1] * c.out[2];
        for (int64_t i = 0; i < c.batch * c.out_channels * plane; i++) {
            const int64_t at[3] = {i % plane / (c.out[1] * c.out[2]),
                                   i % plane / c.out[2] % c.out[1], i % c.out[2]};
            assert_int_equal(y[i], conv_at(&c, x, w, i / plane / c.out_channels,
                                           i / plane % c.out_channels, at));
        }
    }
}

static void test_rounding(void **state)
{
    const float one = 1.0f, nan = NAN;
    const float x[10] = {0.5f,   1.5f,   2.5f,    -0.5f,    126.5f,
                         127.5f, 300.0f, -300.0f, INFINITY, -128.5f};
    const int8_t wanted[10] = {0, 2, 2, 0, 126, 127, 127, -128, 127, -128};
    int8_t y[10];
    (void)state;
    const struct vt_quant_scales s = {.outer = 1, .n = 10, .inner = 1, .scale = &one};
    vt_quantize_run(&s, VT_F32, x, VT_I8, y);
    assert_memory_equal(y, wanted, sizeof(y));
    /* No number at all is the least one. */
    const struct vt_quant_scales single = {.outer = 1, .n = 1, .inner = 1, .scale = &one};
    vt_quantize_run(&single, VT_F32, &nan, VT_I8, y);
    assert_int_equal(y[0], -128);
}

static void test_scales(void **state)
{
    const float x[2][3][2] = {{{1, 2}, {3, 4}, {5, 6}}, {{-1, -2}, {-3, -4}, {-5, -6}}};
    const float by_axis[3] = {1.0f, 0.5f, 0.25f};
    const float by_block[2][2][2] = {{{1.0f, 0.5f}, {0.25f, 2.0f}}, {{0.5f, 1.0f}, {2.0f, 0.25f}}};
    const int16_t zero[3] = {10, 20, 30};
    int16_t y[12];
    float back[12];
    (void)state;
    const struct vt_quant_scales s = {
        .outer = 2, .n = 3, .inner = 2, .blocks = 3, .block = 1, .scale = by_axis, .zero = zero};
    vt_quantize_run(&s, VT_F32, x, VT_I16, y);
    vt_dequantize_run(&s, VT_I16, y, back);
    for (int i = 0; i < 12; i++) {
        const int a = i / 2 % 3;
        assert_int_equal(y[i], (int)(x[i / 6][a][i % 2] / by_axis[a]) + zero[a]);
        assert_true(back[i] == x[i / 6][a][i % 2]);
    }
    const struct vt_quant_scales blocks = {.outer = 2,
                                           .n = 3,
                                           .inner = 2,
                                           .blocks = 2,
                                           .block = 2,
                                           .full = true,
                                           .scale = by_block[0][0]};
    vt_quantize_run(&blocks, VT_F32, x, VT_I16, y);
    for (int i = 0; i < 12; i++) {
        const int a = i / 2 % 3;
        const float wanted = rintf(x[i / 6][a][i % 2] / by_block[i / 6][a / 2][i % 2]);
        assert_int_equal(y[i], (int)wanted);
    }
}

static void test_dynamic(void **state)
{
    const float x[5] = {-2.0f, 0.0f, 1.0f, 3.0f, 0.5f}, nothing[2] = {0.0f, 0.0f};
    uint8_t y[5], zero = 0;
    float scale = 0.0f;
    (void)state;
    vt_quantize_dynamic(x, 5, y, &scale, &zero);
    assert_true(fabsf(scale - 5.0f / 255.0f) < 1e-7f);
    assert_int_equal(zero, 102);
    assert_int_equal(y[0], 0);
    assert_int_equal(y[1], 102);
    assert_int_equal(y[3], 255);
    vt_quantize_dynamic(nothing, 2, y, &scale, &zero);
    assert_true(scale == 0.0f && zero == 0 && y[0] == 0 && y[1] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),   cmocka_unit_test(test_conv),
        cmocka_unit_test(test_rounding), cmocka_unit_test(test_scales),
        cmocka_unit_test(test_dynamic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
