/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element types other than float32, Scan, functions of the model, sequences, and the broadcasting
 * of old operator sets, on small models (tools/make_test_models.py says what each computes),
 * against the same thing in C.
 */
#include "plan_fixture.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/convert/convert.h"

static const char *const folder = VT_TEST_SOURCE "/data";

/* --- half precision ------------------------------------------------------------------------- */

static uint16_t narrow(enum vt_dtype dtype, float x)
{
    return dtype == VT_F16 ? vt_float_to_half(x) : vt_float_to_bfloat(x);
}

static float wide(enum vt_dtype dtype, uint16_t x)
{
    return dtype == VT_F16 ? vt_half_to_float(x) : vt_bfloat_to_float(x);
}

static void check_half(const char *name, enum vt_dtype dtype, uint32_t threads)
{
    static const float w[3][2] = {{1.0f, -2.0f}, {0.5f, 3.0f}, {0.25f, 1.5f}};
    static const float b[2] = {0.125f, -0.375f};
    struct fixture f;
    uint16_t x[12];
    fixture_open(&f, folder, name, threads);
    for (int i = 0; i < 12; i++)
        x[i] = narrow(dtype, (float)(i * i - 31) * 1.4375f);
    struct vt_tensor input = view(dtype, x, 4, 3, -1);
    fixture_plan(&f, &input, 1);
    for (int turn = 0; turn < 2; turn++) {
        fixture_run(&f, &input, 1);
        assert_int_equal(f.outputs[0].dtype, dtype);
        for (int i = 0; i < 8; i++) {
            const int row = i / 2, column = i % 2;
            float sum = 0.0f;
            for (int k = 0; k < 3; k++)
                sum += wide(dtype, x[row * 3 + k]) * w[k][column];
            /* Each operator rounds. */
            sum = wide(dtype, narrow(dtype, sum));
            sum = wide(dtype, narrow(dtype, sum + b[column]));
            const uint16_t wanted = narrow(dtype, sum > 0.0f ? sum : 0.0f);
            assert_int_equal(((const uint16_t *)f.outputs[0].data)[i], wanted);
        }
    }
    fixture_close(&f);
}

static void test_half(void **state)
{
    (void)state;
    check_half("half.onnx", VT_F16, 1);
    check_half("half.onnx", VT_F16, 2);
    check_half("brain_half.onnx", VT_BF16, 1);
}

static void test_half_found_at_run_time(void **state)
{
    struct fixture f;
    uint16_t x[6];
    int kept = 0;
    (void)state;
    for (int i = 0; i < 6; i++)
        x[i] = narrow(VT_F16, i % 2 == 0 ? (float)i * 0.25f - 1.0f : 0.0f);
    fixture_open(&f, folder, "half_dynamic.onnx", 1);
    struct vt_tensor input = view(VT_F16, x, 6, -1);
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    assert_int_equal(f.outputs[0].dtype, VT_F16);
    for (int i = 0; i < 6; i++) {
        const float v = wide(VT_F16, x[i]);
        if (v == 0.0f)
            continue;
        const float got = wide(VT_F16, ((const uint16_t *)f.outputs[0].data)[kept++]);
        assert_true(fabsf(got - expf(v)) <= expf(v) * 0x1p-10f);
    }
    assert_int_equal(f.outputs[0].dim[0], kept);
    assert_int_equal(f.outputs[0].bytes, 2 * kept);
    fixture_close(&f);
}

/* --- Scan ----------------------------------------------------------------------------------- */

static void test_scan_turned(void **state)
{
    struct fixture f;
    const float start[2] = {100.0f, -50.0f};
    float x[2][4], sum[2] = {start[0], start[1]};
    float y[2][4], z[4][2];
    (void)state;
    for (int i = 0; i < 8; i++)
        x[i / 4][i % 4] = (float)(i * i) - 3.5f;
    for (int t = 0; t < 4; t++) {
        for (int c = 0; c < 2; c++) {
            z[3 - t][c] = sum[c]; /* the sum before, and the last one first */
            sum[c] += x[c][3 - t];
            y[c][t] = sum[c];
        }
    }
    fixture_open(&f, folder, "scan_turned.onnx", 1);
    struct vt_tensor inputs[2] = {view(VT_F32, start, 2, -1), view(VT_F32, x, 2, 4, -1)};
    fixture_plan(&f, inputs, 2);
    for (int turn = 0; turn < 2; turn++) {
        fixture_run(&f, inputs, 2);
        (void)assert_close(&f.outputs[0], sum, 2);
        (void)assert_close(&f.outputs[1], y[0], 8);
        (void)assert_close(&f.outputs[2], z[0], 8);
        assert_int_equal(f.outputs[1].dim[0], 2);
        assert_int_equal(f.outputs[2].dim[0], 4);
    }
    fixture_close(&f);
}

static void test_scan_outer_values(void **state)
{
    struct fixture f;
    const float x[5] = {2.0f, -1.0f, 0.0f, 0.5f, 8.0f};
    float wanted[5];
    (void)state;
    for (int i = 0; i < 5; i++)
        wanted[i] = x[i] * 3.0f + x[0];
    fixture_open(&f, folder, "scan_outer.onnx", 1);
    struct vt_tensor input = view(VT_F32, x, 5, -1);
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    (void)assert_close(&f.outputs[0], wanted, 5);
    fixture_close(&f);
}

/* --- quantised ------------------------------------------------------------------------------ */

static float saturate(float x)
{
    x = rintf(x);
    return x < 0.0f ? 0.0f : (x > 255.0f ? 255.0f : x);
}

static void test_quantised(void **state)
{
    static const int8_t w[2][9] = {{-128, 3, 77, 0, 1, -5, 127, 100, -90},
                                   {9, -8, 7, -6, 5, -4, 3, -2, 1}};
    static const float sw[2] = {0.01f, 0.125f};
    static const int32_t b[2] = {500, -40};
    struct fixture f;
    float x[2][5][4], y[2][3][4];
    (void)state;
    for (int i = 0; i < 40; i++)
        x[i / 20][i / 4 % 5][i % 4] = (float)(i * 7 % 41) * 0.3f - 5.9f;
    for (int i = 0; i < 24; i++) {
        const int c = i / 12, row = i / 4 % 3, column = i % 4;
        int32_t sum = b[c];
        for (int k = 0; k < 9; k++) {
            const int r = row * 2 + k / 3 - 1, at = column + k % 3 - 1;
            if (r >= 0 && r < 5 && at >= 0 && at < 4)
                sum += ((int32_t)saturate(rintf(x[c][r][at] / 0.05f) + 117.0f) - 117) * w[c][k];
        }
        const float stored = saturate(rintf((float)sum * (0.05f * sw[c] / 0.125f)) + 131.0f);
        y[c][row][column] = (stored - 131.0f) * 0.125f;
    }
    for (uint32_t threads = 1; threads <= 2; threads++) {
        fixture_open(&f, folder, "quantised.onnx", threads);
        struct vt_tensor input = view(VT_F32, x, 1, 2, 5, 4, -1);
        fixture_plan(&f, &input, 1);
        fixture_run(&f, &input, 1);
        (void)assert_close(&f.outputs[0], y[0][0], 24);
        fixture_close(&f);
    }
}

/* --- opset 6 -------------------------------------------------------------------------------- */

static void test_old_broadcast(void **state)
{
    struct fixture f;
    float x[12], y[12];
    (void)state;
    for (int i = 0; i < 12; i++) {
        x[i] = (float)i;
        y[i] = (x[i] + 10.0f * (float)(i / 2 % 3 + 1)) * (i % 2 == 0 ? 1.0f : -1.0f);
    }
    fixture_open(&f, folder, "old_broadcast.onnx", 1);
    struct vt_tensor input = view(VT_F32, x, 2, 3, 2, -1);
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    (void)assert_close(&f.outputs[0], y, 12);
    fixture_close(&f);
}

/* --- functions of the model ----------------------------------------------------------------- */

static float twice(float x, float k, float low, float slope)
{
    x = (x < 0.0f ? slope * x : x) * k;
    x = (x < 0.0f ? 0.5f * x : x) * k;
    return (x < low ? low : x) + slope;
}

static void test_functions(void **state)
{
    static const float k[2] = {2.0f, -3.0f};
    struct fixture f;
    float x[8], y[8];
    (void)state;
    for (int i = 0; i < 8; i++) {
        x[i] = (float)i * 0.75f - 2.5f;
        y[i] = twice(twice(x[i], k[i % 2], -INFINITY, 0.25f), k[i % 2], -1.0f, 0.125f);
    }
    fixture_open(&f, folder, "functions.onnx", 1);
    struct vt_tensor input = view(VT_F32, x, 4, 2, -1);
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    (void)assert_close(&f.outputs[0], y, 8);
    fixture_close(&f);
}

static void test_sequence(void **state)
{
    struct fixture f;
    float x[4][3], y[3][3];
    (void)state;
    for (int i = 0; i < 12; i++)
        x[i / 3][i % 3] = (float)(i * i);
    for (int i = 0; i < 3; i++) {
        y[i][0] = x[2][i];
        y[i][1] = x[1][i];
        y[i][2] = x[0][i] + x[3][i];
    }
    fixture_open(&f, folder, "sequence.onnx", 1);
    struct vt_tensor input = view(VT_F32, x, 4, 3, -1);
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    (void)assert_close(&f.outputs[0], y[0], 9);
    assert_int_equal(*(const int64_t *)f.outputs[1].data, 3);
    fixture_close(&f);
}

/* --- allocation ----------------------------------------------------------------------------- */

static _Atomic int allocations;

static void *counting_alloc(void *ctx, size_t bytes, size_t alignment)
{
    const size_t least = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    void *memory = NULL;
    (void)ctx;
    atomic_fetch_add(&allocations, 1);
    return posix_memalign(&memory, least, bytes > 0 ? bytes : 1) == 0 ? memory : NULL;
}

static void counting_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void check_no_allocation(const char *name, const struct vt_tensor *inputs, uint32_t n)
{
    struct fixture f;
    const struct vt_allocator counting = {counting_alloc, counting_free, NULL};
    struct vt_allocator before = vt_allocator_set(&counting);
    fixture_open(&f, folder, name, 1);
    fixture_plan(&f, inputs, n);
    fixture_run(&f, inputs, n);
    fixture_run(&f, inputs, n);
    const int counted = atomic_load(&allocations);
    for (int run = 0; run < 10; run++)
        fixture_run(&f, inputs, n);
    assert_int_equal(atomic_load(&allocations), counted);
    fixture_close(&f);
    vt_allocator_set(&before);
}

static void test_running_allocates_nothing(void **state)
{
    static const uint16_t halves[12] = {0x3c00, 0, 0xbc00, 0x4000, 0, 0x3800};
    static const float x[40] = {1.0f, -2.0f};
    (void)state;
    struct vt_tensor half = view(VT_F16, halves, 4, 3, -1);
    check_no_allocation("half.onnx", &half, 1);
    struct vt_tensor list = view(VT_F16, halves, 12, -1);
    check_no_allocation("half_dynamic.onnx", &list, 1);
    struct vt_tensor scan[2] = {view(VT_F32, x, 2, -1), view(VT_F32, x, 2, 4, -1)};
    check_no_allocation("scan_turned.onnx", scan, 2);
    struct vt_tensor image = view(VT_F32, x, 1, 2, 5, 4, -1);
    check_no_allocation("quantised.onnx", &image, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_half_found_at_run_time),
        cmocka_unit_test(test_scan_turned),
        cmocka_unit_test(test_scan_outer_values),
        cmocka_unit_test(test_quantised),
        cmocka_unit_test(test_old_broadcast),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_running_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
