/* SPDX-License-Identifier: Apache-2.0 */
/* The clock beside a plan: it counts every call, once, and changes nothing. */
#include "plan_fixture.h"

#include "base/clock.h"
#include "vt_torture.h"

static const char *const folder = VT_TEST_SOURCE "/data";

static struct vt_step_profile find(const struct vt_plan *plan, const char *op)
{
    struct vt_step_profile step;
    for (uint32_t i = 0; i < vt_plan_profile_count(plan); i++) {
        vt_plan_profile_read(plan, i, &step);
        if (strcmp(step.node->op, op) == 0) {
            return step;
        }
    }
    fail_msg("there is no %s", op);
    return step;
}

static int64_t sum_of_times(const struct vt_plan *plan)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < vt_plan_profile_count(plan); i++) {
        struct vt_step_profile step;
        vt_plan_profile_read(plan, i, &step);
        assert_true(step.time_ns >= 0);
        sum += step.time_ns;
    }
    return sum;
}

static void branches_count_when_they_run(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "if_same.onnx", 1);
    const float x[4] = {-3.0f, -0.5f, 0.0f, 2.0f};
    uint8_t flag = 0;
    struct vt_tensor inputs[2] = {view(VT_BOOL, &flag, -1), view(VT_F32, x, 4, -1)};
    fixture_plan(&f, inputs, 2);
    assert_int_equal(vt_plan_profile_count(f.plan), 0);
    assert_int_equal(vt_plan_profile_begin(f.plan, &f.err), VT_OK);
    int64_t start = vt_now_ns();
    for (int turn = 0; turn < 4; turn++) {
        flag = turn == 0;
        fixture_run(&f, inputs, 2);
    }
    int64_t elapsed = vt_now_ns() - start;
    struct vt_step_profile control = find(f.plan, "If"), relu = find(f.plan, "Relu");
    assert_true(control.control);
    assert_int_equal(control.calls, 4);
    assert_int_equal(relu.calls, 1); /* of the branch that was taken once */
    assert_int_equal(find(f.plan, "Sub").calls, 3);
    struct vt_step_profile negative = find(f.plan, "Neg");
    assert_int_equal(negative.calls, 4);
    assert_true(negative.flops == 4 * 4);
    assert_true(negative.bytes == 4 * 2 * 16);
    assert_string_equal(negative.shape, "4");
    assert_string_equal(negative.kernel, "");
    /* What runs inside a control node is not counted twice. */
    assert_true(sum_of_times(f.plan) <= elapsed);
    vt_plan_profile_end(f.plan);
    assert_int_equal(vt_plan_profile_count(f.plan), 0);
    fixture_close(&f);
}

static void bodies_of_loops_count_every_turn(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "loop_fibonacci.onnx", 1);
    int64_t trips = 7;
    uint8_t go = 1;
    const float limit = 1e9f, one = 1.0f;
    struct vt_tensor inputs[5] = {view(VT_I64, &trips, -1), view(VT_BOOL, &go, -1),
                                  view(VT_F32, &limit, 1, -1), view(VT_F32, &one, 1, -1),
                                  view(VT_F32, &one, 1, -1)};
    fixture_plan(&f, inputs, 5);
    assert_int_equal(vt_plan_profile_begin(f.plan, &f.err), VT_OK);
    int64_t start = vt_now_ns();
    fixture_run(&f, inputs, 5);
    fixture_run(&f, inputs, 5);
    int64_t elapsed = vt_now_ns() - start;
    assert_int_equal(find(f.plan, "Loop").calls, 2);
    assert_int_equal(find(f.plan, "Add").calls, 14);
    assert_true(sum_of_times(f.plan) <= elapsed);
    /* Once more from zero. */
    assert_int_equal(vt_plan_profile_begin(f.plan, &f.err), VT_OK);
    assert_int_equal(find(f.plan, "Add").calls, 0);
    fixture_close(&f);
}

static void fused_nodes_are_named(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "residual.onnx", 1);
    const struct vt_graph *graph = vt_model_graph(f.model);
    struct vt_tensor inputs[4];
    float data[4096] = {0};
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        const struct vt_value *value = &vt_model_values(f.model)[graph->inputs[i]];
        inputs[i] = (struct vt_tensor){.dtype = VT_F32, .rank = value->rank, .data = data};
        for (uint32_t d = 0; d < value->rank; d++) {
            inputs[i].dim[d] = value->dim[d] > 0 ? value->dim[d] : 1;
        }
        assert_true(vt_shape_bytes(VT_F32, inputs[i].dim, inputs[i].rank, &inputs[i].bytes));
        assert_true(inputs[i].bytes <= sizeof data);
    }
    fixture_plan(&f, inputs, graph->n_inputs);
    assert_int_equal(vt_plan_profile_begin(f.plan, &f.err), VT_OK);
    fixture_run(&f, inputs, graph->n_inputs);
    bool residual = false;
    double flops = 0;
    for (uint32_t i = 0; i < vt_plan_profile_count(f.plan); i++) {
        struct vt_step_profile step;
        vt_plan_profile_read(f.plan, i, &step);
        residual = residual || (step.residual && step.kernel[0] != '\0' && step.absorbed > 0);
        flops += step.flops;
    }
    assert_true(residual);
    struct vt_plan_info info;
    vt_plan_info(f.plan, &info);
    assert_true(flops == info.flops);
    fixture_close(&f);
}

static void want_of_memory_leaves_the_plan_alone(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, folder, "if_constant.onnx", 1);
    const float x[3] = {-1.0f, 2.0f, -3.0f};
    struct vt_tensor input = view(VT_F32, x, 3, -1);
    fixture_plan(&f, &input, 1);
    bool done = false;
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        vt_torture_begin(&torture, allowed);
        done = vt_plan_profile_begin(f.plan, NULL) == VT_OK;
        vt_plan_profile_end(f.plan);
        int leaked = vt_torture_end(&torture);
        assert_int_equal(leaked, 0);
    }
    fixture_run(&f, &input, 1);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_count_when_they_run),
        cmocka_unit_test(bodies_of_loops_count_every_turn),
        cmocka_unit_test(fused_nodes_are_named),
        cmocka_unit_test(want_of_memory_leaves_the_plan_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
