/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the planner does to a graph: folding, fusing, views, memory; that running allocates nothing;
 * and that a plan which cannot be made leaves nothing behind.
 */
#include "plan_fixture.h"
#include "vt_torture.h"

static const char *const folder = VT_TEST_SOURCE "/data";

static struct vt_plan_info info_of(const struct fixture *f)
{
    struct vt_plan_info info;
    vt_plan_info(f->plan, &info);
    return info;
}

/* --- what is planned
 * ------------------------------------------------------------------------------ */

static void test_shapes_fold(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "shapes.onnx", 1);
    const float c[2] = {18.0f, 32.0f};
    for (int batch = 1; batch <= 3; batch++) {
        float x[18], expected[18];
        for (int i = 0; i < 18; i++) {
            x[i] = (float)i;
            expected[i] = -(float)i;
        }
        struct vt_tensor input = view(VT_F32, x, batch, 2, 3, -1);
        fixture_plan(&f, &input, 1);
        struct vt_plan_info info = info_of(&f);
        assert_int_equal(info.dynamic_steps, 0);
        assert_int_equal(info.folded_nodes, 5); /* Shape, Gather, Concat; Add, Mul */
        assert_in_range(info.steps, 1, 2);      /* Neg, and Reshape because x comes at run time */
        fixture_run(&f, &input, 1);
        assert_int_equal(f.outputs[0].dim[0], batch);
        assert_int_equal(f.outputs[0].dim[1], 6);
        assert_close(&f.outputs[0], expected, (size_t)batch * 6);
        assert_close(&f.outputs[1], c, 2);
    }
    fixture_close(&f);
}

static void test_residual_fuses(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "residual.onnx", 1);
    const float x[8] = {1, -2, 3, -4, 0.5f, 1, -1.5f, 2};
    const float w[2][2] = {{1, 2}, {3, 4}}, b[2] = {0.5f, -0.5f}, gamma[2] = {2, 3},
                beta[2] = {0.25f, 0.75f}, mean[2] = {1, -1}, var[2] = {4, 9};
    float expected[8];
    for (int o = 0; o < 2; o++) {
        for (int p = 0; p < 4; p++) {
            float conv = w[o][0] * x[p] + w[o][1] * x[4 + p] + b[o];
            float y = (conv - mean[o]) / sqrtf(var[o]) * gamma[o] + beta[o] + x[o * 4 + p];
            expected[o * 4 + p] = y > 0 ? y : 0;
        }
    }
    struct vt_tensor input = view(VT_F32, x, 1, 2, 2, 2, -1);
    fixture_plan(&f, &input, 1);
    assert_int_equal(info_of(&f).steps, 1);
    assert_int_equal(info_of(&f).fused_nodes, 3);
    for (int run = 0; run < 2; run++) {
        fixture_run(&f, &input, 1);
        assert_close(&f.outputs[0], expected, 8);
    }
    /* Another plan of the model shares the packed weights. */
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    assert_close(&f.outputs[0], expected, 8);
    fixture_close(&f);
}

static void test_shared_middle_does_not_fuse(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "shared_middle.onnx", 1);
    const float x[4] = {1, -2, 3, -4}, y[4] = {0, 2, 0, 4}, z[4] = {0, 3, -2, 5};
    struct vt_tensor input = view(VT_F32, x, 1, 1, 2, 2, -1);
    fixture_plan(&f, &input, 1);
    assert_int_equal(info_of(&f).fused_nodes, 0);
    fixture_run(&f, &input, 1);
    assert_close(&f.outputs[0], y, 4);
    assert_close(&f.outputs[1], z, 4);
    fixture_close(&f);
}

static void test_chain_needs_two_buffers(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "chain.onnx", 1);
    static float x[32 * 32];
    for (int i = 0; i < 32 * 32; i++) {
        x[i] = (float)i;
    }
    struct vt_tensor input = view(VT_F32, x, 32, 32, -1);
    f.options.without = VT_PLAN_NO_PASSES;
    fixture_plan(&f, &input, 1);
    assert_true(info_of(&f).arena_bytes <= 2 * sizeof(x) + 4096);
    assert_true(info_of(&f).unshared_bytes >= 12 * sizeof(x));
    fixture_run(&f, &input, 1);
    assert_close(&f.outputs[0], x, 32 * 32); /* an even number of transpositions */
    fixture_close(&f);
}

static void test_outputs_are_the_plans_own(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "pass_through.onnx", 1);
    float x[6] = {1, 2, 3, 4, 5, 6};
    const float before[6] = {1, 2, 3, 4, 5, 6};
    struct vt_tensor input = view(VT_F32, x, 2, 3, -1);
    fixture_plan(&f, &input, 1);
    fixture_run(&f, &input, 1);
    memset(x, 0, sizeof(x)); /* the input was borrowed for the call only */
    assert_int_equal(f.outputs[0].rank, 1);
    assert_int_equal(f.outputs[1].rank, 2);
    assert_close(&f.outputs[0], before, 6);
    assert_close(&f.outputs[1], before, 6);
    fixture_close(&f);
}

/* --- usage
 * ------------------------------------------------------------------------------------------ */

static void test_wrong_inputs(void **state)
{
    (void)state;
    struct fixture f;
    struct vt_plan *plan = NULL;
    fixture_open(&f, folder, "residual.onnx", 1);
    const float x[16] = {0};
    struct vt_tensor wrong = view(VT_F32, x, 1, 3, 2, 2, -1);
    wrong.bytes = 0;
    assert_int_equal(vt_plan_new(f.model, f.weights, NULL, &wrong, 1, NULL, &f.err, &plan),
                     VT_ERR_USAGE);
    assert_non_null(strstr(f.err.text, "'x'"));
    assert_non_null(strstr(f.err.text, "1x3x2x2"));
    assert_int_equal(vt_plan_new(f.model, f.weights, NULL, &wrong, 0, NULL, NULL, &plan),
                     VT_ERR_USAGE);
    assert_null(plan);
    f.err = (struct vt_error)VT_ERROR_INIT;
    struct vt_tensor right = view(VT_F32, x, 1, 2, 2, 2, -1);
    struct vt_tensor other = view(VT_F32, x, 2, 2, 2, 2, -1);
    fixture_plan(&f, &right, 1);
    assert_int_equal(vt_plan_run(f.plan, &other, 1, &f.err, f.outputs, 1), VT_ERR_USAGE);
    assert_non_null(strstr(f.err.text, "2x2x2x2"));
    vt_plan_free(NULL);
    vt_weights_free(NULL);
    fixture_close(&f);
}

/* --- allocation
 * -------------------------------------------------------------------------------------- */

static _Atomic int allocations;

static void *counting_alloc(void *ctx, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    (void)ctx;
    atomic_fetch_add(&allocations, 1);
    alignment = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void counting_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

/* Runs the model until its buffers are there, then counts. */
static void check_no_allocation(const char *name, const struct vt_tensor *inputs, uint32_t n,
                                uint32_t threads)
{
    struct fixture f;
    const struct vt_allocator counting = {counting_alloc, counting_free, NULL};
    struct vt_allocator before = vt_allocator_set(&counting);
    fixture_open(&f, folder, name, threads);
    fixture_plan(&f, inputs, n);
    fixture_run(&f, inputs, n);
    fixture_run(&f, inputs, n);
    int counted = atomic_load(&allocations);
    assert_true(counted > 0);
    for (int run = 0; run < 10; run++) {
        fixture_run(&f, inputs, n);
    }
    assert_int_equal(atomic_load(&allocations), counted);
    fixture_close(&f);
    vt_allocator_set(&before);
}

static void test_running_allocates_nothing(void **state)
{
    (void)state;
    const float x[12] = {1, 0, -2, 3, 0, 0, 4, -5, 6, 0, 7, 8};
    const uint8_t yes = 1;
    const int64_t n = 6;
    const float one = 1.0f, limit = 1e9f;
    struct vt_tensor residual = view(VT_F32, x, 1, 2, 2, 2, -1);
    check_no_allocation("residual.onnx", &residual, 1, 1);
    check_no_allocation("residual.onnx", &residual, 1, 2);
    struct vt_tensor branch[2] = {view(VT_BOOL, &yes, -1), view(VT_F32, x, 12, -1)};
    check_no_allocation("if_shapes.onnx", branch, 2, 1);
    struct vt_tensor fibonacci[5] = {view(VT_I64, &n, -1), view(VT_BOOL, &yes, -1),
                                     view(VT_F32, &limit, 1, -1), view(VT_F32, &one, 1, -1),
                                     view(VT_F32, &one, 1, -1)};
    check_no_allocation("loop_fibonacci.onnx", fibonacci, 5, 1);
    struct vt_tensor grow[2] = {view(VT_I64, &n, -1), view(VT_F32, x, 3, -1)};
    check_no_allocation("loop_grow.onnx", grow, 2, 1);
    struct vt_tensor picked = view(VT_F32, x, 3, 4, -1);
    check_no_allocation("nonzero.onnx", &picked, 1, 1);
    struct vt_tensor through = view(VT_F32, x, 2, 3, -1);
    check_no_allocation("pass_through.onnx", &through, 1, 1);
}

/* Every allocation of planning and of the first run fails in turn. */
static void torture(const char *name, const struct vt_tensor *inputs, uint32_t n)
{
    struct fixture f;
    fixture_open(&f, folder, name, 1);
    bool done = false;
    int allowed = 0;
    for (; !done && allowed < 10000; allowed++) {
        struct vt_torture t;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_weights *weights = NULL;
        struct vt_plan *plan = NULL;
        vt_torture_begin(&t, allowed);
        enum vt_status status = vt_weights_new(f.model, &err, &weights);
        if (status == VT_OK) {
            status = vt_plan_new(f.model, weights, NULL, inputs, n, NULL, &err, &plan);
        }
        if (status == VT_OK) {
            status = vt_plan_run(plan, inputs, n, &err, f.outputs, f.n_outputs);
        }
        vt_plan_free(plan);
        vt_weights_free(weights);
        assert_int_equal(vt_torture_end(&t), 0);
        done = status == VT_OK;
        if (!done) {
            assert_int_equal(status, VT_ERR_MEMORY);
            assert_int_equal(err.status, VT_ERR_MEMORY);
            assert_true(err.text[0] != '\0');
        }
    }
    assert_true(done && allowed > 3);
    fixture_close(&f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const float x[12] = {1, 0, -2, 3, 0, 0, 4, -5, 6, 0, 7, 8};
    const uint8_t yes = 1;
    const int64_t n = 6;
    struct vt_tensor residual = view(VT_F32, x, 1, 2, 2, 2, -1);
    torture("residual.onnx", &residual, 1);
    struct vt_tensor shapes = view(VT_F32, x, 2, 2, 3, -1);
    torture("shapes.onnx", &shapes, 1);
    struct vt_tensor branch[2] = {view(VT_BOOL, &yes, -1), view(VT_F32, x, 12, -1)};
    torture("if_shapes.onnx", branch, 2);
    struct vt_tensor nested[3] = {view(VT_I64, &n, -1), view(VT_F32, x, 2, -1),
                                  view(VT_F32, x, 2, -1)};
    torture("loop_nested.onnx", nested, 3);
    struct vt_tensor grow[2] = {view(VT_I64, &n, -1), view(VT_F32, x, 3, -1)};
    torture("loop_grow.onnx", grow, 2);
    struct vt_tensor picked = view(VT_F32, x, 3, 4, -1);
    torture("nonzero.onnx", &picked, 1);
    const uint16_t halves[6] = {0x3c00, 0, 0xbc00, 0x4000, 0, 0x3800};
    struct vt_tensor half = view(VT_F16, halves, 2, 3, -1);
    torture("half.onnx", &half, 1);
    struct vt_tensor list = view(VT_F16, halves, 6, -1);
    torture("half_dynamic.onnx", &list, 1);
    struct vt_tensor scan[2] = {view(VT_F32, x, 2, -1), view(VT_F32, x, 2, 4, -1)};
    torture("scan_turned.onnx", scan, 2);
}

/* Every allocation of importing fails in turn: functions and Scan, which make nodes of their own.
 */
static void torture_import(const char *name)
{
    char path[1024];
    bool done = false;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (int allowed = 0; !done && allowed < 10000; allowed++) {
        struct vt_torture t;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_model *model = NULL;
        vt_torture_begin(&t, allowed);
        enum vt_status status = vt_model_import(path, NULL, &err, &model);
        vt_model_free(model);
        assert_int_equal(vt_torture_end(&t), 0);
        done = status == VT_OK;
        assert_true(done || (status == VT_ERR_MEMORY && err.text[0] != '\0'));
    }
    assert_true(done);
}

static void test_import_out_of_memory(void **state)
{
    (void)state;
    torture_import("functions.onnx");
    torture_import("scan_turned.onnx");
    torture_import("sequence.onnx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_fold),
        cmocka_unit_test(test_residual_fuses),
        cmocka_unit_test(test_shared_middle_does_not_fuse),
        cmocka_unit_test(test_chain_needs_two_buffers),
        cmocka_unit_test(test_outputs_are_the_plans_own),
        cmocka_unit_test(test_wrong_inputs),
        cmocka_unit_test(test_running_allocates_nothing),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_import_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
