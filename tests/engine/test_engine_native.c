/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine through its seam: batches, lanes, the plan cache, errors as events. */
#include "residual.h"

#include <pthread.h>

#include "base/file.h"
#include "engine/native/native.h"

static void test_batches(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, "native", residual, &config);
    assert_true(f.caps.max_batch > 1000);
    assert_true(f.caps.uses_cpu);
    assert_string_equal(f.caps.precision, "fp32");
    assert_non_null(strstr(f.caps.description, "2 threads"));
    for (int round = 0; round < 2; round++) {
        for (uint32_t n = 1; n <= 20; n++) {
            struct vt_tensor input = batch_of(n, n);
            struct vt_event event = fixture_run(&f, 0, n, n, &input, 1);
            assert_true(is_right(&event, n, n));
        }
    }
    fixture_close(&f);
}

static void test_from_memory(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t size = 0;
    struct vt_engine_ref ref;
    struct vt_error err = VT_ERROR_INIT;
    void *engine = NULL;
    const struct vt_engine_config config = fixture_config();
    assert_int_equal(vt_file_read(residual, 1 << 20, &err, &bytes, &size), VT_OK);
    const struct vt_graph_source source = {.name = "residual", .bytes = bytes, .n_bytes = size};
    const struct vt_bundle bundle = {&source, 1};
    assert_int_equal(vt_engine_find("native", &err, &ref), VT_OK);
    assert_int_equal(ref.ops.open(&bundle, &config, &err, &engine), VT_OK);
    ref.ops.close(engine);
    vt_free(bytes);
}

/* More plans than the cache holds, in an order that makes it forget. */
static void test_plan_cache(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    const struct vt_setting settings[] = {{"plans", "3"},
                                          {"spin-us", "0"},
                                          {"affinity", "1"},
                                          {"passes", "-fuse-residual+fuse-activation"}};
    config.settings = settings;
    config.n_settings = 4;
    fixture_open(&f, "native", residual, &config);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t n = 1 + i * i % 7;
        struct vt_tensor input = batch_of(n, i % 16);
        struct vt_event event = fixture_run(&f, 0, i, n, &input, 1);
        assert_true(is_right(&event, n, i % 16));
    }
    fixture_close(&f);
}

/* Several requests in one wait: each keeps its own outputs although they share a plan. */
static void test_several_events(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, "native", residual, &config);
    struct vt_tensor inputs[4];
    struct vt_request requests[4];
    struct vt_event events[8];
    uint32_t n = 0;
    for (uint32_t i = 0; i < 4; i++) {
        inputs[i] = batch_of(2, i * 3);
        requests[i] =
            (struct vt_request){.id = 10 + i, .samples = 2, .inputs = &inputs[i], .n_inputs = 1};
    }
    for (int round = 0; round < 3; round++) {
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 4, &f.err), VT_OK);
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 3, 8, VT_NEVER, &f.err, events, &n),
                         VT_OK);
        assert_int_equal(n, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(events[i].id, 10 + i);
            assert_true(is_right(&events[i], 2, i * 3));
        }
        /* Polling gets on; a deadline that has passed begins nothing. */
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 8, 0, &f.err, events, &n), VT_OK);
        assert_int_equal(n, 0);
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 0, 8, 0, &f.err, events, &n), VT_OK);
        assert_int_equal(n, 1);
        assert_true(is_right(&events[0], 2, 9));
        /* Nothing is in flight: nothing to wait for. */
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 8, VT_NEVER, &f.err, events, &n),
                         VT_OK);
        assert_int_equal(n, 0);
    }
    fixture_close(&f);
}

static void test_in_flight_is_bounded(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, "native", residual, &config);
    struct vt_tensor input = batch_of(1, 0);
    struct vt_request request = {.id = 1, .samples = 1, .inputs = &input, .n_inputs = 1};
    for (uint32_t i = 0; i < f.caps.max_in_flight; i++) {
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, &f.err), VT_OK);
    }
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, NULL), VT_ERR_LIMIT);
    request.graph = 5;
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, NULL), VT_ERR_LIMIT);
    fixture_close(&f); /* with requests in flight */
}

static void test_cancel(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, "native", residual, &config);
    struct vt_tensor input = batch_of(1, 0);
    struct vt_request requests[2] = {{.id = 7, .samples = 1, .inputs = &input, .n_inputs = 1},
                                     {.id = 8, .samples = 1, .inputs = &input, .n_inputs = 1}};
    struct vt_event events[2];
    uint32_t n = 0;
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 2, &f.err), VT_OK);
    f.ops->cancel(f.engine, f.lanes[0], 7);
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 2, 2, VT_NEVER, &f.err, events, &n), VT_OK);
    assert_int_equal(n, 2);
    assert_int_equal(events[0].kind, VT_EVENT_ERROR);
    assert_int_equal(events[0].status, VT_ERR_INTERRUPTED);
    assert_int_equal(events[1].kind, VT_EVENT_FINAL);
    fixture_close(&f);
}

static void test_errors_are_events(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, "native", residual, &config);
    const int64_t dim[4] = {1, 3, 2, 2};
    struct vt_tensor wrong = floats(residual_x, 4, dim), right = batch_of(1, 0);
    struct vt_event event = fixture_run(&f, 0, 1, 1, &wrong, 1);
    assert_int_equal(event.kind, VT_EVENT_ERROR);
    assert_int_equal(event.status, VT_ERR_USAGE);
    assert_non_null(strstr(event.text, "1x3x2x2"));
    assert_int_equal(event.n_outputs, 0);
    event = fixture_run(&f, 0, 2, 1, &right, 1);
    assert_true(is_right(&event, 1, 0));
    fixture_close(&f);
}

static void refuse_setting(const char *key, const char *value, const char *says)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_engine_ref ref;
    void *engine = NULL;
    const struct vt_setting setting = {key, value};
    const struct vt_graph_source source = {.name = "m", .path = residual};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    config.settings = &setting;
    config.n_settings = 1;
    assert_int_equal(vt_engine_find("native", &err, &ref), VT_OK);
    assert_int_equal(ref.ops.open(&bundle, &config, &err, &engine), VT_ERR_USAGE);
    if (strstr(err.text, says) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, says);
    }
    assert_null(engine);
}

static void test_settings(void **state)
{
    (void)state;
    refuse_setting("afinity", "1", "did you mean 'affinity'?");
    refuse_setting("plans", "0", "from 1 to 256");
    refuse_setting("plans", "many", "'many'");
    refuse_setting("spin-us", "-1", "from 0");
    refuse_setting("passes", "gelu+no-such", "names of passes");
    refuse_setting("tune", "fast", "off, cached and measure");
}

/* However kernels are chosen, the model computes the same. */
static void test_tuning_modes(void **state)
{
    (void)state;
    static const char *const modes[] = {"off", "cached", "measure"};
    for (int i = 0; i < 3; i++) {
        struct engine_fixture f;
        struct vt_engine_config config = fixture_config();
        const struct vt_setting settings[] = {{"tune", modes[i]}, {"tune-cache", "off"}};
        config.settings = settings;
        config.n_settings = 2;
        fixture_open(&f, "native", residual, &config);
        struct vt_tensor input = batch_of(3, 5);
        struct vt_event event = fixture_run(&f, 0, 1, 3, &input, 1);
        assert_true(is_right(&event, 3, 5));
        fixture_close(&f);
    }
}

/* Lane 0 is opened with the engine and handed over once; closed or not, nothing is left. */
static void test_first_lane(void **state)
{
    (void)state;
    const struct vt_graph_source source = {.name = "m", .path = residual};
    const struct vt_bundle bundle = {&source, 1};
    const struct vt_engine_config config = fixture_config();
    const struct vt_engine_ops *ops = &vt_native_engine;
    struct vt_error err = VT_ERROR_INIT;
    void *engine = NULL, *first = NULL, *second = NULL;
    assert_int_equal(ops->open(&bundle, &config, &err, &engine), VT_OK);
    ops->close(engine); /* without a lane */
    assert_int_equal(ops->open(&bundle, &config, &err, &engine), VT_OK);
    assert_int_equal(ops->lane_open(engine, 0, &err, &first), VT_OK);
    assert_non_null(vt_native_lane_plan(first));
    ops->lane_close(engine, first);
    assert_int_equal(ops->lane_open(engine, 0, &err, &second), VT_OK);
    assert_null(vt_native_lane_plan(second));
    ops->lane_close(engine, second);
    ops->close(engine);
}

/* --- lanes side by side
 * ------------------------------------------------------------------------------ */

static void test_lanes_side_by_side(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    config.lanes = 2;
    config.threads = 3; /* two for the first lane, one for the second */
    fixture_open(&f, "native", residual, &config);
    residual_lanes_side_by_side(&f);
    fixture_close(&f);
}

/* --- models that need a second look
 * ------------------------------------------------------------------- */

static void test_fixed_batch(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, "native", VT_TEST_MODELS "/shared_middle.onnx", &config);
    assert_int_equal(f.caps.max_batch, 1);
    fixture_close(&f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const struct vt_graph_source source = {.name = "m", .path = residual};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    config.threads = 1;
    residual_out_of_memory("native", &bundle, &config);
}

int main(void)
{
    residual_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_from_memory),
        cmocka_unit_test(test_plan_cache),
        cmocka_unit_test(test_several_events),
        cmocka_unit_test(test_in_flight_is_bounded),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_errors_are_events),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_tuning_modes),
        cmocka_unit_test(test_first_lane),
        cmocka_unit_test(test_lanes_side_by_side),
        cmocka_unit_test(test_fixed_batch),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
