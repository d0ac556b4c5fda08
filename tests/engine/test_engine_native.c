/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine through its seam: batches, lanes, the plan cache, errors as events. */
#include "engine_fixture.h"

#include <math.h>
#include <pthread.h>

#include "base/file.h"
#include "vt_torture.h"

static const char *const residual = VT_TEST_MODELS "/residual.onnx";
static float x[64 * 8];

/* relu(bn(conv(x)) + x) of tests/plan/data/residual.onnx. */
static float expected_at(const float *sample, int channel, int pixel)
{
    static const float w[2][2] = {{1, 2}, {3, 4}}, b[2] = {0.5f, -0.5f}, gamma[2] = {2, 3},
                       beta[2] = {0.25f, 0.75f}, mean[2] = {1, -1}, var[2] = {4, 9};
    float conv = w[channel][0] * sample[pixel] + w[channel][1] * sample[4 + pixel] + b[channel];
    float y = (conv - mean[channel]) / sqrtf(var[channel]) * gamma[channel] + beta[channel] +
              sample[channel * 4 + pixel];
    return y > 0 ? y : 0;
}

static bool is_right(const struct vt_event *event, const float *samples, uint32_t n)
{
    if (event->kind != VT_EVENT_FINAL || event->status != VT_OK || event->n_outputs != 1 ||
        event->outputs[0].dim[0] != n || event->outputs[0].bytes != n * 8 * sizeof(float)) {
        return false;
    }
    const float *y = event->outputs[0].data;
    for (uint32_t s = 0; s < n; s++) {
        for (int i = 0; i < 8; i++) {
            float wanted = expected_at(samples + (size_t)s * 8, i / 4, i % 4);
            if (!(fabsf(y[s * 8 + (uint32_t)i] - wanted) <= 1e-4f + 1e-3f * fabsf(wanted))) {
                return false;
            }
        }
    }
    return event->end_ns >= event->start_ns && event->start_ns > 0;
}

static struct vt_tensor batch_of(uint32_t n, uint32_t first)
{
    const int64_t dim[4] = {n, 2, 2, 2};
    return floats(x + (size_t)first * 8, 4, dim);
}

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
            assert_true(is_right(&event, x + (size_t)n * 8, n));
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
    const struct vt_setting settings[] = {{"plans", "3"}, {"spin-us", "0"}, {"affinity", "1"}};
    config.settings = settings;
    config.n_settings = 3;
    fixture_open(&f, "native", residual, &config);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t n = 1 + i * i % 7;
        struct vt_tensor input = batch_of(n, i % 16);
        struct vt_event event = fixture_run(&f, 0, i, n, &input, 1);
        assert_true(is_right(&event, x + (size_t)(i % 16) * 8, n));
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
            assert_true(is_right(&events[i], x + (size_t)i * 24, 2));
        }
        /* Polling gets on; a deadline that has passed begins nothing. */
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 8, 0, &f.err, events, &n), VT_OK);
        assert_int_equal(n, 0);
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 0, 8, 0, &f.err, events, &n), VT_OK);
        assert_int_equal(n, 1);
        assert_true(is_right(&events[0], x + (size_t)3 * 24, 2));
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
    struct vt_tensor wrong = floats(x, 4, dim), right = batch_of(1, 0);
    struct vt_event event = fixture_run(&f, 0, 1, 1, &wrong, 1);
    assert_int_equal(event.kind, VT_EVENT_ERROR);
    assert_int_equal(event.status, VT_ERR_USAGE);
    assert_non_null(strstr(event.text, "1x3x2x2"));
    assert_int_equal(event.n_outputs, 0);
    event = fixture_run(&f, 0, 2, 1, &right, 1);
    assert_true(is_right(&event, x, 1));
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
}

/* --- lanes side by side
 * ------------------------------------------------------------------------------ */

struct worker {
    struct engine_fixture *f;
    uint32_t lane;
    bool right;
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct engine_fixture *f = worker->f;
    worker->right = true;
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t n = 1 + (i + worker->lane) % 5, at = i % 16;
        struct vt_tensor input = batch_of(n, at);
        struct vt_request request = {.id = i, .samples = n, .inputs = &input, .n_inputs = 1};
        struct vt_event event;
        struct vt_error err = VT_ERROR_INIT;
        uint32_t got = 0;
        worker->right =
            worker->right &&
            f->ops->submit(f->engine, f->lanes[worker->lane], &request, 1, &err) == VT_OK &&
            f->ops->wait(f->engine, f->lanes[worker->lane], 1, 1, VT_NEVER, &err, &event, &got) ==
                VT_OK &&
            got == 1 && is_right(&event, x + (size_t)at * 8, n);
        f->ops->cancel(f->engine, f->lanes[1 - worker->lane], UINT64_MAX);
    }
    return NULL;
}

static void test_lanes_side_by_side(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    config.lanes = 2;
    config.threads = 3; /* two for the first lane, one for the second */
    fixture_open(&f, "native", residual, &config);
    struct worker workers[2] = {{&f, 0, false}, {&f, 1, false}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(workers[i].right);
    }
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
    struct vt_engine_ref ref;
    struct vt_tensor input = batch_of(1, 0);
    struct vt_request request = {.id = 1, .samples = 1, .inputs = &input, .n_inputs = 1};
    config.threads = 1;
    assert_int_equal(vt_engine_find("native", NULL, &ref), VT_OK);
    bool done = false;
    for (int allowed = 0; !done && allowed < 1000; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_event event = {.kind = VT_EVENT_ERROR, .status = VT_ERR_MEMORY};
        void *engine = NULL, *lane = NULL;
        uint32_t n = 0;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = ref.ops.open(&bundle, &config, &err, &engine);
        if (status == VT_OK) {
            status = ref.ops.lane_open(engine, 0, &err, &lane);
        }
        if (status == VT_OK) {
            status = ref.ops.submit(engine, lane, &request, 1, &err);
        }
        if (status == VT_OK) {
            status = ref.ops.wait(engine, lane, 1, 1, VT_NEVER, &err, &event, &n);
            status = status == VT_OK ? event.status : status;
            done = status == VT_OK && n == 1 && is_right(&event, x, 1);
        }
        ref.ops.lane_close(engine, lane);
        ref.ops.close(engine);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(done || status == VT_ERR_MEMORY);
    }
    assert_true(done);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
        x[i] = (float)((int)(i * 37 % 101) - 50) / 16.0f;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_from_memory),
        cmocka_unit_test(test_plan_cache),
        cmocka_unit_test(test_several_events),
        cmocka_unit_test(test_in_flight_is_bounded),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_errors_are_events),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_lanes_side_by_side),
        cmocka_unit_test(test_fixed_batch),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
