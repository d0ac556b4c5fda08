/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control flow and dynamic extents on small models (tools/make_test_models.py says what each
 * computes), against the same thing written in C.
 */
#include "plan_fixture.h"

static const char *const folder = VT_TEST_SOURCE "/data";

static void check_floats(const struct vt_tensor *tensor, const float *expected, size_t n)
{
    assert_int_equal(tensor->dtype, VT_F32);
    assert_int_equal(tensor->bytes, n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        float got = ((const float *)tensor->data)[i];
        if (fabsf(got - expected[i]) > 1e-5f * (1.0f + fabsf(expected[i]))) {
            fail_msg("element %zu is %g, expected %g", i, (double)got, (double)expected[i]);
        }
    }
}

/* --- If ------------------------------------------------------------------------------------------
 */

static void test_if_same_shape(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "if_same.onnx", 1);
    const float x[4] = {-3.0f, -0.5f, 0.0f, 2.0f};
    uint8_t flag = 0;
    struct vt_tensor inputs[2] = {view(VT_BOOL, &flag, -1), view(VT_F32, x, 4, -1)};
    fixture_plan(&f, inputs, 2);
    struct vt_plan_info info;
    vt_plan_info(f.plan, &info);
    assert_int_equal(info.dynamic_steps, 0); /* both branches give the same extents */
    for (int turn = 0; turn < 4; turn++) {
        float expected[4];
        flag = turn % 2 == 0;
        for (int i = 0; i < 4; i++) {
            float s = x[i] + 1.0f;
            expected[i] = -(flag ? 2.0f * (s > 0.0f ? s : 0.0f) : s - 3.0f);
        }
        fixture_run(&f, inputs, 2);
        check_floats(&f.outputs[0], expected, 4);
    }
    fixture_close(&f);
}

static void test_if_shapes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "if_shapes.onnx", 1);
    const float x[3] = {1.0f, 2.0f, 3.0f};
    const float twice[6] = {-1.0f, -2.0f, -3.0f, -1.0f, -2.0f, -3.0f};
    uint8_t flag = 0;
    struct vt_tensor inputs[2] = {view(VT_BOOL, &flag, -1), view(VT_F32, x, 3, -1)};
    fixture_plan(&f, inputs, 2);
    struct vt_plan_info info;
    vt_plan_info(f.plan, &info);
    assert_int_equal(info.dynamic_steps, 1); /* the Neg behind it */
    for (int turn = 0; turn < 4; turn++) {
        flag = turn % 2 == 0;
        fixture_run(&f, inputs, 2);
        assert_int_equal(f.outputs[0].rank, 1);
        check_floats(&f.outputs[0], twice, flag ? 6 : 3);
    }
    fixture_close(&f);
}

/* A branch that does not fit the shapes is an error when it is taken, not before. */
static void test_if_unfit(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "if_unfit.onnx", 1);
    const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, sum[3] = {2.0f, 4.0f, 6.0f},
                negative[4] = {-1.0f, -2.0f, -3.0f, -4.0f};
    uint8_t flag = 1;
    struct vt_tensor inputs[2] = {view(VT_BOOL, &flag, -1), view(VT_F32, x, 4, -1)};
    fixture_plan(&f, inputs, 2);
    assert_int_equal(vt_plan_run(f.plan, inputs, 2, &f.err, f.outputs, 1), VT_ERR_FORMAT);
    assert_non_null(strstr(f.err.text, "then branch does not fit the inputs"));
    assert_non_null(strstr(f.err.text, "add_t"));
    f.err = (struct vt_error)VT_ERROR_INIT;
    flag = 0;
    fixture_run(&f, inputs, 2);
    check_floats(&f.outputs[0], negative, 4);
    flag = 1;
    inputs[1] = view(VT_F32, x, 3, -1);
    fixture_plan(&f, inputs, 2);
    fixture_run(&f, inputs, 2);
    check_floats(&f.outputs[0], sum, 3);
    fixture_close(&f);
}

static void test_if_constant(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "if_constant.onnx", 1);
    const float x[3] = {-1.0f, 2.0f, -3.0f}, expected[3] = {0.0f, 2.0f, 0.0f};
    struct vt_tensor input = view(VT_F32, x, 3, -1);
    fixture_plan(&f, &input, 1);
    struct vt_plan_info info;
    vt_plan_info(f.plan, &info);
    assert_int_equal(info.steps, 1); /* the Relu and nothing else */
    fixture_run(&f, &input, 1);
    check_floats(&f.outputs[0], expected, 3);
    fixture_close(&f);
}

/* --- Loop ----------------------------------------------------------------------------------------
 */

static void test_loop_fibonacci(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "loop_fibonacci.onnx", 1);
    int64_t n = 0;
    uint8_t go = 1;
    float limit = 0.0f;
    const float one = 1.0f;
    struct vt_tensor inputs[5] = {view(VT_I64, &n, -1), view(VT_BOOL, &go, -1),
                                  view(VT_F32, &limit, 1, -1), view(VT_F32, &one, 1, -1),
                                  view(VT_F32, &one, 1, -1)};
    fixture_plan(&f, inputs, 5);
    const struct {
        int64_t n;
        uint8_t go;
        float limit;
    } cases[] = {{10, 1, 1e9f}, {20, 1, 30.0f}, {5, 0, 1e9f}, {0, 1, 1e9f},
                 {-3, 1, 1e9f}, {30, 1, 1e9f},  {1, 1, 0.0f}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        float a = 1.0f, b = 1.0f, kept[32];
        size_t turns = 0;
        bool on = cases[c].go != 0;
        n = cases[c].n;
        go = cases[c].go;
        limit = cases[c].limit;
        while (on && (int64_t)turns < n) {
            kept[turns++] = a;
            float sum = a + b;
            a = b;
            b = sum;
            on = a < limit;
        }
        fixture_run(&f, inputs, 5);
        check_floats(&f.outputs[0], &a, 1);
        check_floats(&f.outputs[1], &b, 1);
        check_floats(&f.outputs[2], kept, turns);
        assert_int_equal(f.outputs[2].rank, 2);
        assert_int_equal(f.outputs[2].dim[0], turns);
        assert_int_equal(f.outputs[2].dim[1], 1);
    }
    fixture_close(&f);
}

static void test_loop_swap(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "loop_swap.onnx", 1);
    int64_t n = 0;
    const float a[2] = {1.0f, 2.0f}, b[2] = {3.0f, 4.0f};
    struct vt_tensor inputs[3] = {view(VT_I64, &n, -1), view(VT_F32, a, 2, -1),
                                  view(VT_F32, b, 2, -1)};
    fixture_plan(&f, inputs, 3);
    for (n = 0; n < 5; n++) {
        fixture_run(&f, inputs, 3);
        check_floats(&f.outputs[0], n % 2 == 0 ? a : b, 2);
        check_floats(&f.outputs[1], n % 2 == 0 ? b : a, 2);
    }
    fixture_close(&f);
}

static void test_loop_grow(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "loop_grow.onnx", 1);
    const float x[3] = {1.0f, 2.0f, 3.0f};
    const int64_t turns[] = {3, 0, 5, 1, 9};
    int64_t n = 0;
    struct vt_tensor inputs[2] = {view(VT_I64, &n, -1), view(VT_F32, x, 3, -1)};
    fixture_plan(&f, inputs, 2);
    for (size_t c = 0; c < sizeof(turns) / sizeof(turns[0]); c++) {
        float expected[64];
        size_t length = 0;
        n = turns[c];
        for (int64_t t = -1; t < n; t++) {
            for (int i = 0; i < 3; i++) {
                expected[length++] = -(x[i] + (t < 0 ? 0.0f : (float)t));
            }
        }
        fixture_run(&f, inputs, 2);
        check_floats(&f.outputs[0], expected, length);
    }
    fixture_close(&f);
}

static void test_loop_known(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "loop_known.onnx", 1);
    const float x[3] = {1.0f, -2.0f, 0.5f};
    float expected[12];
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < 3; i++) {
            expected[t * 3 + i] = x[i] + 10.0f * x[i] * (float)t + 10.0f * x[i];
        }
    }
    struct vt_tensor input = view(VT_F32, x, 3, -1);
    fixture_plan(&f, &input, 1);
    struct vt_plan_info info;
    vt_plan_info(f.plan, &info);
    assert_int_equal(info.dynamic_steps, 0);
    for (int run = 0; run < 2; run++) {
        fixture_run(&f, &input, 1);
        check_floats(&f.outputs[0], expected, 12);
    }
    fixture_close(&f);
}

static void test_loop_nested(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "loop_nested.onnx", 1);
    const float x[2] = {1.0f, -2.0f}, start[2] = {100.0f, 200.0f};
    int64_t n = 0;
    struct vt_tensor inputs[3] = {view(VT_I64, &n, -1), view(VT_F32, x, 2, -1),
                                  view(VT_F32, start, 2, -1)};
    fixture_plan(&f, inputs, 3);
    for (n = 0; n < 7; n++) {
        float expected[2];
        for (int i = 0; i < 2; i++) {
            expected[i] = start[i];
            for (int64_t turn = 0; turn < n; turn++) {
                expected[i] += turn % 2 == 0 ? 6.0f * x[i] : -2.0f * x[i];
            }
            expected[i] -= 2.0f * x[i];
        }
        fixture_run(&f, inputs, 3);
        check_floats(&f.outputs[0], expected, 2);
    }
    fixture_close(&f);
}

/* --- dynamic extents -----------------------------------------------------------------------------
 */

static void test_nonzero(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "nonzero.onnx", 1);
    float x[12] = {0};
    struct vt_tensor input = view(VT_F32, x, 3, 4, -1);
    fixture_plan(&f, &input, 1);
    for (uint32_t pattern = 0; pattern < 4096; pattern += 37) {
        int64_t at[24], count = 0;
        float picked[12];
        for (int i = 0; i < 12; i++) {
            x[i] = (pattern >> i & 1) != 0 ? (float)(i - 5) - 0.5f : 0.0f;
            if (x[i] != 0.0f) {
                at[2 * count] = i / 4;
                at[2 * count + 1] = i % 4;
                picked[count++] = x[i] > 0.0f ? 2.0f * x[i] : 0.0f;
            }
        }
        fixture_run(&f, &input, 1);
        assert_int_equal(f.outputs[0].dim[0], count);
        assert_int_equal(f.outputs[0].dim[1], 2);
        assert_int_equal(f.outputs[0].bytes, (size_t)count * 16);
        assert_memory_equal(f.outputs[0].data, at, (size_t)count * 16);
        check_floats(&f.outputs[1], picked, (size_t)count);
        assert_int_equal(*(const int64_t *)f.outputs[2].data, count);
    }
    fixture_close(&f);
}

static void test_error_of_the_run(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "bad_index.onnx", 1);
    const float x[6] = {1, 2, 3, 4, 5, 6};
    int64_t at = 7;
    struct vt_tensor inputs[2] = {view(VT_F32, x, 3, 2, -1), view(VT_I64, &at, -1)};
    fixture_plan(&f, inputs, 2);
    assert_int_not_equal(vt_plan_run(f.plan, inputs, 2, &f.err, f.outputs, 1), VT_OK);
    assert_non_null(strstr(f.err.text, "gather_y"));
    assert_non_null(strstr(f.err.text, "Gather"));
    /* The plan is none the worse for it. */
    f.err = (struct vt_error)VT_ERROR_INIT;
    at = -1;
    fixture_run(&f, inputs, 2);
    check_floats(&f.outputs[0], x + 4, 2);
    /* Without a place for the text. */
    at = 3;
    assert_int_not_equal(vt_plan_run(f.plan, inputs, 2, NULL, f.outputs, 1), VT_OK);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if_same_shape),    cmocka_unit_test(test_if_shapes),
        cmocka_unit_test(test_if_unfit),         cmocka_unit_test(test_if_constant),
        cmocka_unit_test(test_loop_fibonacci),   cmocka_unit_test(test_loop_swap),
        cmocka_unit_test(test_loop_grow),        cmocka_unit_test(test_loop_known),
        cmocka_unit_test(test_loop_nested),      cmocka_unit_test(test_nonzero),
        cmocka_unit_test(test_error_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
