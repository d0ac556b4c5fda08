/* SPDX-License-Identifier: Apache-2.0 */
/* The null engine: zeros of the right shapes, at once. */
#include "engine_fixture.h"
#include "vt_torture.h"

static const char *const model = VT_TEST_MODELS "/residual.onnx";

static void test_zeros(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    static const float x[64] = {1.0f};
    fixture_open(&f, "null", model, &config);
    assert_true(f.caps.max_batch > 1000);
    assert_true(f.caps.max_in_flight >= 1);
    assert_false(f.caps.uses_cpu);
    assert_int_equal(f.signature.n_inputs, 1);
    assert_string_equal(f.signature.inputs[0].name, "x");
    for (uint32_t samples = 1; samples <= 8; samples++) {
        const int64_t dim[4] = {samples, 2, 2, 2};
        struct vt_tensor input = floats(x, 4, dim);
        struct vt_event event = fixture_run(&f, 0, 100 + samples, samples, &input, 1);
        assert_int_equal(event.kind, VT_EVENT_FINAL);
        assert_int_equal(event.status, VT_OK);
        assert_int_equal(event.n_outputs, 1);
        assert_true(vt_tensor_same_shape(&event.outputs[0], &input));
        for (uint32_t i = 0; i < samples * 8; i++) {
            assert_true(((const float *)event.outputs[0].data)[i] == 0.0f);
        }
        assert_true(event.end_ns >= event.start_ns);
    }
    fixture_close(&f);
}

static void test_extents_follow_symbols(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    static const float x[12] = {1.0f};
    const int64_t dim[2] = {3, 4};
    fixture_open(&f, "null", VT_TEST_MODELS "/nonzero.onnx", &config);
    assert_int_equal(f.caps.max_batch, 1); /* one of its outputs is a scalar */
    struct vt_tensor input = floats(x, 2, dim);
    struct vt_event event = fixture_run(&f, 0, 1, 1, &input, 1);
    assert_int_equal(event.n_outputs, 3);
    assert_int_equal(event.outputs[0].dtype, VT_I64);
    assert_int_equal(event.outputs[0].dim[1], 2);
    assert_int_equal(event.outputs[2].rank, 0);
    fixture_close(&f);
}

static void test_in_flight(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    static const float x[8] = {1.0f};
    const int64_t dim[4] = {1, 2, 2, 2};
    struct vt_tensor input = floats(x, 4, dim);
    fixture_open(&f, "null", model, &config);
    uint32_t most = f.caps.max_in_flight;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < most; i++) {
            struct vt_request request = {.id = i, .samples = 1, .inputs = &input, .n_inputs = 1};
            assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, &f.err), VT_OK);
        }
        struct vt_request more = {.id = 999, .samples = 1, .inputs = &input, .n_inputs = 1};
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &more, 1, NULL), VT_ERR_LIMIT);
        struct vt_event events[7];
        uint32_t seen = 0, n = 1;
        while (n > 0) {
            assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 0, 7, 0, &f.err, events, &n), VT_OK);
            for (uint32_t i = 0; i < n; i++) {
                assert_int_equal(events[i].id, seen++); /* in order, each once */
            }
        }
        assert_int_equal(seen, most);
    }
    fixture_close(&f);
}

static void test_usage(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_engine_ref ref;
    void *engine = NULL;
    struct vt_setting setting = {"colour", "blue"};
    struct vt_engine_config config = fixture_config();
    struct vt_graph_source source = {.name = "m", .path = model};
    struct vt_bundle bundle = {&source, 1};
    config.settings = &setting;
    config.n_settings = 1;
    assert_int_equal(vt_engine_find("null", &err, &ref), VT_OK);
    assert_int_equal(ref.ops.open(&bundle, &config, &err, &engine), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "colour"));
    err = (struct vt_error)VT_ERROR_INIT;
    config.n_settings = 0;
    source.path = "/no/such/model.onnx";
    assert_int_equal(ref.ops.open(&bundle, &config, &err, &engine), VT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/no/such/model.onnx"));
    assert_null(engine);
    ref.ops.close(NULL);
    ref.ops.lane_close(NULL, NULL);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const struct vt_graph_source source = {.name = "m", .path = model};
    const struct vt_bundle bundle = {&source, 1};
    const struct vt_engine_config config = fixture_config();
    struct vt_engine_ref ref;
    assert_int_equal(vt_engine_find("null", NULL, &ref), VT_OK);
    bool done = false;
    for (int allowed = 0; !done && allowed < 1000; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        void *engine = NULL, *lane = NULL;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = ref.ops.open(&bundle, &config, &err, &engine);
        if (status == VT_OK) {
            status = ref.ops.lane_open(engine, 0, &err, &lane);
            ref.ops.lane_close(engine, lane);
        }
        ref.ops.close(engine);
        assert_int_equal(vt_torture_end(&torture), 0);
        done = status == VT_OK;
        assert_true(done || status == VT_ERR_MEMORY);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeros),         cmocka_unit_test(test_extents_follow_symbols),
        cmocka_unit_test(test_in_flight),     cmocka_unit_test(test_usage),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
