/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native engine against itself with small errors put into its answers: where a decision came
 * out otherwise, what it rests on tells whether the engines agree.
 */
#include "vt_test.h"

#include <stdbool.h>
#include <unistd.h>

#include "onnx_writer.h"
#include "run/compare/compare_outputs.h"

static struct vt_engine_ops native;
static float relative_error; /* of every float that the shaken engine gives */
static bool other_decisions; /* every whole number is one more */

/* wait() of the native engine, with errors. Its outputs lie in memory of its own that a run writes
 * anew, so they may be changed in place. */
static enum vt_status shaken_wait(void *engine, void *lane, uint32_t min, uint32_t max,
                                  int64_t deadline_ns, struct vt_error *err,
                                  struct vt_event *ret_events, uint32_t *ret_n)
{
    enum vt_status status =
        native.wait(engine, lane, min, max, deadline_ns, err, ret_events, ret_n);
    for (uint32_t e = 0; status == VT_OK && e < *ret_n; e++) {
        for (uint32_t i = 0; i < ret_events[e].n_outputs; i++) {
            const struct vt_tensor *tensor = &ret_events[e].outputs[i];
            if (tensor->dtype == VT_F32) {
                float *data = tensor->data;
                for (size_t k = 0; k < tensor->bytes / sizeof(float); k++) {
                    data[k] *= 1 + relative_error;
                }
            } else if (tensor->dtype == VT_I64 && other_decisions) {
                int64_t *data = tensor->data;
                for (size_t k = 0; k < tensor->bytes / sizeof(int64_t); k++) {
                    data[k]++;
                }
            }
        }
    }
    return status;
}

static void add(struct pb *graph, uint32_t field, struct pb message)
{
    pb_message(graph, field, &message);
}

/* x → Exp → e → ArgMax → class, and s = Softmax(x) */
static void write_model(const char *path)
{
    struct pb graph = {NULL, 0, 0};
    pb_text(&graph, 2, "g");
    add(&graph, OX_NODE, ox_node("Exp", "x", "e"));
    struct pb arg = ox_node("ArgMax", "e", "class");
    ox_attr_int(&arg, "axis", 1);
    add(&graph, OX_NODE, arg);
    add(&graph, OX_NODE, ox_node("Softmax", "x", "s"));
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 2, (int64_t[]){1, 7}));
    add(&graph, OX_OUTPUT, ox_value("class", VT_I64, 2, (int64_t[]){1, 1}));
    add(&graph, OX_OUTPUT, ox_value("s", VT_F32, 2, (int64_t[]){1, 7}));
    struct pb model = ox_model(13, &graph);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(model.bytes, 1, model.size, file), model.size);
    assert_int_equal(fclose(file), 0);
    pb_free(&model);
}

static void compare(struct vt_comparison *comparison)
{
    char folder[] = "/tmp/vatio-test-XXXXXX", path[64];
    struct vt_session sessions[2];
    struct vt_session *const both[2] = {&sessions[0], &sessions[1]};
    const struct vt_job job = {.engine = "native", .timeout_ns = 60000000000, .seed = 1};
    const uint64_t indices[4] = {0, 1, 2, 3};
    const _Atomic bool stop = false;
    struct vt_error err = VT_ERROR_INIT;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/m.onnx", folder);
    write_model(path);
    *comparison = (struct vt_comparison){.n_engines = 2, .rtol = 1e-3, .atol = 1e-4};
    for (int i = 0; i < 2; i++) {
        if (vt_session_open(&sessions[i], &job, path, &err) != VT_OK) {
            fail_msg("%s", err.text);
        }
        if (i == 1) {
            native = sessions[i].engine_ref.ops;
            sessions[i].engine_ref.ops.wait = shaken_wait;
        }
        assert_int_equal(vt_session_start_engine(&sessions[i], &err), VT_OK);
        assert_int_equal(sessions[i].workload_ops->load(sessions[i].workload, indices, 4, &err),
                         VT_OK);
    }
    if (vt_compare_outputs(comparison, both, 4, INT64_MAX / 4, &stop, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
    for (int i = 0; i < 2; i++) {
        sessions[i].workload_ops->unload(sessions[i].workload, indices, 4);
        vt_session_close(&sessions[i]);
    }
    (void)unlink(path);
    (void)rmdir(folder);
}

static void without_errors_all_is_the_same(void **state)
{
    (void)state;
    struct vt_comparison comparison;
    relative_error = 0;
    other_decisions = false;
    compare(&comparison);
    assert_true(vt_comparison_agrees(&comparison));
    assert_int_equal(comparison.samples_checked, 4);
    assert_int_equal(comparison.engines[1].n_outputs, 2);
    assert_int_equal(comparison.engines[1].n_feeders, 0);
    assert_true(comparison.engines[1].outputs[1].max_absolute == 0);
    assert_int_equal(comparison.engines[1].outputs[1].elements, 28);
    vt_comparison_release(&comparison);
}

static void another_decision_on_the_same_numbers_is_equal(void **state)
{
    (void)state;
    struct vt_comparison comparison;
    relative_error = 1e-5F;
    other_decisions = true;
    compare(&comparison);
    assert_true(vt_comparison_agrees(&comparison));
    const struct vt_compared_engine *engine = &comparison.engines[1];
    assert_int_equal(engine->outputs[0].beyond, 4);
    assert_int_equal(engine->outputs[0].feeders, 1);
    assert_int_equal(engine->n_feeders, 1);
    assert_string_equal(engine->feeders[0].name, "e");
    assert_true(engine->feeders[0].max_relative > 1e-6);
    assert_int_equal(engine->outputs[1].feeders, 0);
    vt_comparison_release(&comparison);
}

static void wrong_numbers_are_not(void **state)
{
    (void)state;
    struct vt_comparison comparison;
    relative_error = 0.1F;
    other_decisions = true;
    compare(&comparison);
    assert_false(vt_comparison_agrees(&comparison));
    const struct vt_compared_engine *engine = &comparison.engines[1];
    assert_false(engine->outputs[0].agrees);
    assert_false(engine->outputs[1].agrees);
    assert_false(engine->feeders[0].agrees);
    vt_comparison_release(&comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_errors_all_is_the_same),
        cmocka_unit_test(another_decision_on_the_same_numbers_is_equal),
        cmocka_unit_test(wrong_numbers_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
