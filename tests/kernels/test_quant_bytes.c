/* SPDX-License-Identifier: Apache-2.0 */
/* Whole tensors of bytes by one scale: the numbers of the general version, on all lengths. */
#include "kernel_test.h"

#include "kernels/quant/bytes.h"
#include "kernels/quant/bytes_ways.h"
#include "kernels/quant/quant.h"

static int ways(const struct vt_bytes_way *ret[3])
{
    int n = 0;
    ret[n++] = &vt_bytes_way_portable;
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX2)
        ret[n++] = &vt_bytes_way_avx2;
    if (vt_topology()->features & VT_CPU_AVX512)
        ret[n++] = &vt_bytes_way_avx512;
#endif
    return n;
}

static struct vt_byte_scale random_scale(struct random *r)
{
    const bool is_signed = random_int(r, 0, 1);
    return (struct vt_byte_scale){
        .scale = fabsf(random_float(r)) * 0.1f + 1e-3f,
        .zero = (int32_t)random_int(r, is_signed ? -128 : 0, is_signed ? 127 : 255),
        .is_signed = is_signed};
}

static struct vt_quant_scales general(const struct vt_byte_scale *s, int64_t n, uint8_t *zero)
{
    *zero = (uint8_t)s->zero;
    return (struct vt_quant_scales){
        .outer = 1, .n = n, .inner = 1, .scale = &s->scale, .zero = zero};
}

static void test_there_and_back(void **state)
{
    struct random r = {1};
    const struct vt_bytes_way *all[3];
    const int n_ways = ways(all);
    (void)state;
    for (int round = 0; round < 90; round++) {
        const int64_t n = random_int(&r, 1, 90);
        const struct vt_byte_scale s = random_scale(&r);
        const enum vt_dtype dtype = s.is_signed ? VT_I8 : VT_U8;
        float *x = random_floats(&r, n), back[90], want_back[90];
        uint8_t y[90], want[90], zero;
        for (int64_t i = 0; i < n; i++)
            x[i] *= 20.0f;
        x[0] = round % 3 == 0 ? NAN : (round % 3 == 1 ? INFINITY : -INFINITY);
        const struct vt_quant_scales g = general(&s, n, &zero);
        vt_quantize_run(&g, VT_F32, x, dtype, want);
        vt_dequantize_run(&g, dtype, want, want_back);
        all[round % n_ways]->quantize(&s, x, n, y);
        all[round % n_ways]->dequantize(&s, y, n, back);
        assert_memory_equal(y, want, (size_t)n);
        assert_memory_equal(back, want_back, (size_t)n * sizeof(float));
        vt_free(x);
    }
}

static int32_t value_of(uint8_t byte, const struct vt_byte_scale *s)
{
    return (s->is_signed ? (int8_t)byte : byte) - s->zero;
}

static void test_sum(void **state)
{
    struct random r = {2};
    const struct vt_bytes_way *all[3];
    const int n_ways = ways(all);
    (void)state;
    for (int round = 0; round < 90; round++) {
        const int64_t n = random_int(&r, 1, 90);
        struct vt_byte_sum s = {random_scale(&r), random_scale(&r), random_scale(&r), 0, 0};
        uint8_t a[90], b[90], y[90];
        s.low = s.y.is_signed ? -100 : 20;
        s.high = s.y.is_signed ? 127 : 255;
        for (int64_t i = 0; i < n; i++) {
            a[i] = (uint8_t)random_bits(&r);
            b[i] = (uint8_t)random_bits(&r);
        }
        all[round % n_ways]->add(&s, a, b, n, y);
        for (int64_t i = 0; i < n; i++) {
            const double sum =
                value_of(a[i], &s.a) * (double)s.a.scale + value_of(b[i], &s.b) * (double)s.b.scale;
            const double want =
                fmin(fmax(rint(sum / (double)s.y.scale) + s.y.zero, (double)s.low), (double)s.high);
            const double got = s.y.is_signed ? (int8_t)y[i] : y[i];
            /* float32 may round what lies between two numbers to the other one. */
            const double edge =
                fabs(sum / (double)s.y.scale - floor(sum / (double)s.y.scale) - 0.5);
            assert_true(fabs(got - want) <= (edge < 1e-3 ? 1.0 : 0.0));
        }
    }
}

static void test_spread_over_threads(void **state)
{
    struct random r = {3};
    const int64_t n = 70001;
    const struct vt_byte_scale s = {0.01f, 128, false};
    float *x = random_floats(&r, n), *back = vt_alloc((size_t)n * sizeof(float));
    uint8_t *y = vt_alloc((size_t)n), *want = vt_alloc((size_t)n), zero;
    struct vt_pool *pool = test_pool(3);
    const struct vt_quant_scales g = general(&s, n, &zero);
    (void)state;
    vt_quantize_run(&g, VT_F32, x, VT_U8, want);
    vt_bytes_quantize(&s, x, n, y, pool);
    vt_bytes_dequantize(&s, y, n, back, pool);
    assert_memory_equal(y, want, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabsf(back[i] - x[i]) <= 0.0051f);
    vt_pool_free(pool);
    vt_free(x);
    vt_free(back);
    vt_free(y);
    vt_free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_spread_over_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
