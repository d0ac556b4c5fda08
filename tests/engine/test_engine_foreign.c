/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime and OpenVINO through the seam: batches, lanes, element types, shapes, errors as
 * events, cancelling, settings, what must be refused. Compiled once for each of them.
 */
#include "foreign.h"

#include <pthread.h>

#include "onnx_writer.h"
#include "residual.h"
#include "workload/registry.h"

static bool is_openvino;

static void test_batches(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    assert_true(f.caps.max_batch > 1000);
    assert_int_equal(f.caps.max_in_flight, 1);
    assert_true(f.caps.uses_cpu);
    assert_string_equal(f.caps.precision, "fp32");
    assert_non_null(strstr(f.caps.description, "2 threads"));
    assert_string_equal(f.signature.inputs[0].name, "x");
    assert_string_equal(f.signature.outputs[0].name, "y");
    assert_int_equal(f.signature.inputs[0].dim[0], -1);
    assert_string_equal(f.signature.inputs[0].symbol[0], "N");
    for (int round = 0; round < 2; round++) {
        for (uint32_t n = 1; n <= 20; n++) {
            struct vt_tensor input = batch_of(n, n);
            struct vt_event event = fixture_run(&f, 0, n, n, &input, 1);
            assert_true(is_right(&event, n, n));
        }
    }
    fixture_close(&f);
}

/* The built-in model from memory, against vatio's own engine. */
static void test_digits(void **state)
{
    (void)state;
    const struct vt_builtin_model *digits = vt_builtin_model_find("digits");
    const struct vt_graph_source source = {
        .name = "digits", .bytes = digits->onnx, .n_bytes = digits->onnx_bytes};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    struct engine_fixture mine, theirs;
    fixture_open_bundle(&mine, "native", &bundle, &config);
    fixture_open_bundle(&theirs, VT_TEST_ENGINE, &bundle, &config);
    const struct vt_port *port = &theirs.signature.inputs[0];
    double worst = 0;
    for (int64_t n = 1; n <= 8; n++) {
        struct vt_tensor input = {.dtype = port->dtype, .rank = port->rank};
        memcpy(input.dim, port->dim, sizeof(input.dim));
        input.dim[0] = n;
        assert_true(vt_shape_bytes(input.dtype, input.dim, input.rank, &input.bytes));
        float *data = vt_alloc(input.bytes);
        for (size_t i = 0; i < input.bytes / sizeof(float); i++) {
            data[i] = (float)((i * 37 + (size_t)n) % 101) / 101.0f;
        }
        input.data = data;
        struct vt_event a = fixture_run(&mine, 0, 1, (uint32_t)n, &input, 1);
        struct vt_event b = fixture_run(&theirs, 0, 1, (uint32_t)n, &input, 1);
        assert_int_equal(b.kind, VT_EVENT_FINAL);
        double difference = foreign_close(&b.outputs[0], &a.outputs[0]);
        worst = difference > worst ? difference : worst;
        vt_free(data);
    }
    print_message("digits: worst difference to native %.2g\n", worst);
    fixture_close(&mine);
    fixture_close(&theirs);
}

/* --- element types, shapes
 * ---------------------------------------------------------------------------- */

/* A model that gives back what it takes, of one element type. */
static struct pb identity(int dtype)
{
    static const int64_t dim[2] = {-1, 3};
    struct pb graph = {NULL, 0, 0};
    struct pb node = ox_node("Identity", "in", "out");
    struct pb input = ox_value("in", dtype, 2, dim), output = ox_value("out", dtype, 2, dim);
    pb_message(&graph, OX_NODE, &node);
    pb_text(&graph, 2, "identity");
    pb_message(&graph, OX_INPUT, &input);
    pb_message(&graph, OX_OUTPUT, &output);
    return ox_model(13, &graph);
}

/* 1 to 6 of the type (of bool: 1, 0, 1 …): numbers that any arithmetic keeps. */
static void one_to_six(enum vt_dtype dtype, uint8_t *bytes)
{
    static const uint16_t halves[6] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
    size_t size = vt_dtype_bytes(dtype);
    memset(bytes, 0, 6 * size);
    for (size_t i = 0; i < 6; i++) {
        float single = (float)(i + 1);
        double wide = (double)(i + 1);
        uint8_t *at = bytes + i * size;
        switch (dtype) {
        case VT_F32:
            memcpy(at, &single, sizeof(single));
            break;
        case VT_F64:
            memcpy(at, &wide, sizeof(wide));
            break;
        case VT_F16:
            memcpy(at, &halves[i], sizeof(halves[i]));
            break;
        case VT_BF16: /* the upper half of a little-endian float */
            memcpy(at, (const uint8_t *)&single + 2, 2);
            break;
        default:
            at[0] = (uint8_t)(dtype == VT_BOOL ? (i + 1) % 2 : i + 1);
            break;
        }
    }
}

static void test_element_types(void **state)
{
    static const enum vt_dtype dtypes[] = {VT_F32, VT_U8,  VT_I8,   VT_U16, VT_I16, VT_I32, VT_I64,
                                           VT_F16, VT_F64, VT_BOOL, VT_U32, VT_U64, VT_BF16};
    (void)state;
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        struct pb model = identity((int)dtypes[i]);
        const struct vt_graph_source source = {
            .name = "identity", .bytes = model.bytes, .n_bytes = model.size};
        const struct vt_bundle bundle = {&source, 1};
        struct vt_engine_config config = fixture_config();
        struct engine_fixture f;
        uint64_t memory[6];
        uint8_t *bytes = (uint8_t *)memory;
        struct vt_tensor input;
        const int64_t dim[2] = {2, 3};
        one_to_six(dtypes[i], bytes);
        fixture_open_bundle(&f, VT_TEST_ENGINE, &bundle, &config);
        assert_int_equal(f.signature.inputs[0].dtype, dtypes[i]);
        assert_int_equal(f.signature.outputs[0].dtype, dtypes[i]);
        assert_int_equal(vt_tensor_init(&input, dtypes[i], 2, dim, bytes, NULL), VT_OK);
        struct vt_event event = fixture_run(&f, 0, 1, 2, &input, 1);
        if (event.kind != VT_EVENT_FINAL) {
            fail_msg("%s: %s", vt_dtype_name(dtypes[i]), event.text);
        }
        assert_true(vt_tensor_same_shape(&event.outputs[0], &input));
        assert_memory_equal(event.outputs[0].data, bytes, input.bytes);
        fixture_close(&f);
        pb_free(&model);
    }
}

static void test_text_is_refused(void **state)
{
    (void)state;
    struct pb model = identity(VT_STRING);
    const struct vt_graph_source source = {
        .name = "texts", .bytes = model.bytes, .n_bytes = model.size};
    const struct vt_bundle bundle = {&source, 1};
    const struct vt_engine_config config = fixture_config();
    foreign_refuses(&bundle, &config, VT_ERR_UNSUPPORTED, "texts: \"in\" has elements of ");
    pb_free(&model);
}

/* Outputs whose extents depend on data, several of them, a scalar, nothing at all. */
static void test_dynamic_outputs(void **state)
{
    (void)state;
    const float data[6] = {0, 2, 0, 3, 4, 0};
    const int64_t dim[2] = {2, 3}, positions[6] = {0, 1, 1, 0, 1, 1};
    struct vt_engine_config config = fixture_config();
    struct engine_fixture f;
    fixture_open(&f, VT_TEST_ENGINE, VT_TEST_MODELS "/nonzero.onnx", &config);
    assert_int_equal(f.signature.n_outputs, 3);
    assert_string_equal(f.signature.outputs[0].name, "at");
    assert_string_equal(f.signature.outputs[2].name, "count");
    assert_int_equal(f.caps.max_batch, 1);
    for (int round = 0; round < 3; round++) {
        struct vt_tensor input = floats(data, 2, dim);
        struct vt_event event = fixture_run(&f, 0, 1, 1, &input, 1);
        assert_int_equal(event.kind, VT_EVENT_FINAL);
        assert_int_equal(event.outputs[0].dim[0], 3);
        assert_memory_equal(event.outputs[0].data, positions, sizeof(positions));
        assert_int_equal(event.outputs[1].dim[0], 3);
        assert_memory_equal(event.outputs[1].data, ((float[]){4, 6, 8}), 12);
        assert_int_equal(event.outputs[2].rank, 0);
        assert_int_equal(*(const int64_t *)event.outputs[2].data, 3);
        const float zeros[6] = {0};
        input = floats(zeros, 2, dim);
        event = fixture_run(&f, 0, 2, 1, &input, 1);
        assert_int_equal(event.kind, VT_EVENT_FINAL);
        assert_int_equal(event.outputs[0].dim[0], 0);
        assert_int_equal(event.outputs[1].bytes, 0);
        assert_int_equal(*(const int64_t *)event.outputs[2].data, 0);
    }
    fixture_close(&f);
}

static void test_bound_shapes(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    struct vt_shape_binding shape = {.name = "N", .rank = 1, .dim = {3}};
    const struct vt_graph_source source = {.name = residual, .path = residual};
    const struct vt_bundle bundle = {&source, 1};
    config.shapes = &shape;
    config.n_shapes = 1;
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    assert_int_equal(f.signature.inputs[0].dim[0], 3);
    assert_int_equal(f.signature.outputs[0].dim[0], 3);
    assert_int_equal(f.caps.max_batch, 1);
    struct vt_tensor input = batch_of(3, 1);
    struct vt_event event = fixture_run(&f, 0, 1, 1, &input, 1);
    assert_true(is_right(&event, 3, 1));
    fixture_close(&f);
    shape.name = "M";
    foreign_refuses(&bundle, &config, VT_ERR_USAGE, "no input and no open extent of that name");
    shape = (struct vt_shape_binding){.name = "x", .rank = 4, .dim = {1, 3, 2, 2}};
    foreign_refuses(&bundle, &config, VT_ERR_USAGE, "extent 1 is 2 in the model");
    shape = (struct vt_shape_binding){.name = "x", .rank = 4, .dim = {5, 2, 2, 2}};
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    assert_int_equal(f.signature.inputs[0].dim[0], 5);
    fixture_close(&f);
}

/* One sample at a time: the same outputs, whatever that makes of the shapes. */
static void test_single_samples(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    config.max_batch = 1;
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    for (uint32_t i = 0; i < 4; i++) {
        struct vt_tensor input = batch_of(1, i);
        struct vt_event event = fixture_run(&f, 0, i, 1, &input, 1);
        assert_true(is_right(&event, 1, i));
    }
    fixture_close(&f);
}

/* The batch is open by the signature, but a node fixes it. */
static void test_fixed_batch(void **state)
{
    static const int64_t open_dim[2] = {-1, 2}, two = 2, wanted[2] = {1, 2};
    (void)state;
    struct pb graph = {NULL, 0, 0}, node = ox_node("Reshape", "in shape", "out");
    struct pb input = ox_value("in", VT_F32, 2, open_dim);
    struct pb output = ox_value("out", VT_F32, 2, open_dim);
    struct pb shape = ox_tensor_raw("shape", VT_I64, 1, &two, wanted, sizeof(wanted));
    pb_message(&graph, OX_NODE, &node);
    pb_text(&graph, 2, "fixed");
    pb_message(&graph, OX_INITIALIZER, &shape);
    pb_message(&graph, OX_INPUT, &input);
    pb_message(&graph, OX_OUTPUT, &output);
    struct pb model = ox_model(13, &graph);
    const struct vt_graph_source source = {
        .name = "fixed", .bytes = model.bytes, .n_bytes = model.size};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    struct engine_fixture f;
    fixture_open_bundle(&f, VT_TEST_ENGINE, &bundle, &config);
    assert_int_equal(f.caps.max_batch, 1);
    fixture_close(&f);
    pb_free(&model);
}

/* Several graphs: each request names its own. */
static void test_bundle(void **state)
{
    (void)state;
    const struct vt_graph_source sources[2] = {
        {.name = "a", .path = residual},
        {.name = "b", .path = VT_TEST_MODELS "/nonzero.onnx"},
    };
    const struct vt_bundle bundle = {sources, 2}, empty = {sources, 0};
    const struct vt_shape_binding shapes[2] = {{.name = "N", .rank = 1, .dim = {2}},
                                               {.name = "C", .rank = 1, .dim = {3}}};
    const struct vt_shape_binding nobody = {.name = "Q", .rank = 1, .dim = {2}};
    struct vt_engine_config config = fixture_config();
    struct engine_fixture f;
    struct vt_signature second;
    config.shapes = shapes;
    config.n_shapes = 2;
    fixture_open_bundle(&f, VT_TEST_ENGINE, &bundle, &config);
    assert_int_equal(f.signature.inputs[0].dim[0], 2);
    assert_int_equal(f.ops->signature(f.engine, 1, &f.err, &second), VT_OK);
    assert_int_equal(second.inputs[0].dim[1], 3);
    assert_int_equal(f.ops->signature(f.engine, 2, NULL, &second), VT_ERR_USAGE);
    const float data[6] = {0, 2, 0, 3, 4, 0};
    const int64_t dim[2] = {2, 3};
    struct vt_tensor input = floats(data, 2, dim), other = batch_of(2, 0);
    struct vt_request request = {
        .id = 5, .graph = 1, .samples = 1, .inputs = &input, .n_inputs = 1};
    struct vt_event event;
    uint32_t n = 0;
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, &f.err), VT_OK);
    assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 1, 1, VT_NEVER, &f.err, &event, &n), VT_OK);
    assert_int_equal(event.n_outputs, 3);
    event = fixture_run(&f, 0, 6, 2, &other, 1);
    assert_true(is_right(&event, 2, 0));
    request.graph = 2;
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, NULL), VT_ERR_USAGE);
    request.graph = 1;
    request.n_inputs = 2;
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, NULL), VT_ERR_USAGE);
    fixture_close(&f);
    config.shapes = &nobody;
    config.n_shapes = 1;
    foreign_refuses(&bundle, &config, VT_ERR_USAGE, "'Q': none of the 2 graphs");
    foreign_refuses(&empty, &config, VT_ERR_USAGE, "holds no model");
}

/* --- errors and cancelling
 * ---------------------------------------------------------------------------- */

static void test_errors_are_events(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    const int64_t dim[4] = {1, 3, 2, 2};
    struct vt_tensor wrong = floats(residual_x, 4, dim), right = batch_of(1, 0);
    for (int round = 0; round < 3; round++) {
        struct vt_event event = fixture_run(&f, 0, 1, 1, &wrong, 1);
        assert_int_equal(event.kind, VT_EVENT_ERROR);
        assert_int_equal(event.status, VT_ERR_USAGE);
        assert_non_null(strstr(event.text, "x"));
        assert_null(strchr(event.text, '\n'));
        assert_int_equal(event.n_outputs, 0);
        struct vt_tensor integers = right;
        integers.dtype = VT_I32;
        event = fixture_run(&f, 0, 1, 1, &integers, 1);
        assert_int_equal(event.status, VT_ERR_USAGE);
        assert_non_null(strstr(event.text, "int32"));
        event = fixture_run(&f, 0, 2, 1, &right, 1);
        assert_true(is_right(&event, 1, 0));
    }
    fixture_close(&f);
}

static void test_turns(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    struct vt_tensor input = batch_of(1, 0);
    const struct vt_request requests[2] = {
        {.id = 7, .samples = 1, .inputs = &input, .n_inputs = 1},
        {.id = 8, .samples = 1, .inputs = &input, .n_inputs = 1}};
    struct vt_event event;
    uint32_t n = 9;
    void *lane = f.lanes[0];
    /* Nothing is in flight. */
    assert_int_equal(f.ops->wait(f.engine, lane, 1, 1, VT_NEVER, &f.err, &event, &n), VT_OK);
    assert_int_equal(n, 0);
    assert_int_equal(f.ops->submit(f.engine, lane, requests, 2, NULL), VT_ERR_LIMIT);
    assert_int_equal(f.ops->submit(f.engine, lane, requests, 0, NULL), VT_OK);
    assert_int_equal(f.ops->submit(f.engine, lane, requests, 1, &f.err), VT_OK);
    assert_int_equal(f.ops->submit(f.engine, lane, requests, 1, NULL), VT_ERR_LIMIT);
    /* A deadline that has passed begins nothing, polling gets on. */
    assert_int_equal(f.ops->wait(f.engine, lane, 1, 1, 0, &f.err, &event, &n), VT_OK);
    assert_int_equal(n, 0);
    assert_int_equal(f.ops->wait(f.engine, lane, 0, 1, 0, &f.err, &event, &n), VT_OK);
    assert_int_equal(n, 1);
    assert_true(is_right(&event, 1, 0));
    /* Cancelled before it began; another one is not concerned. */
    assert_int_equal(f.ops->submit(f.engine, lane, requests, 1, &f.err), VT_OK);
    f.ops->cancel(f.engine, lane, 8);
    f.ops->cancel(f.engine, lane, 7);
    assert_int_equal(f.ops->wait(f.engine, lane, 1, 1, VT_NEVER, &f.err, &event, &n), VT_OK);
    assert_int_equal(event.kind, VT_EVENT_ERROR);
    assert_int_equal(event.status, VT_ERR_INTERRUPTED);
    event = fixture_run(&f, 0, 9, 1, &input, 1);
    assert_true(is_right(&event, 1, 0));
    assert_int_equal(f.ops->submit(f.engine, lane, requests + 1, 1, &f.err), VT_OK);
    fixture_close(&f); /* with a request in flight */
}

/* Cancels from beside while requests run: each ends as a result or as cancelled. */
struct canceller {
    struct engine_fixture *f;
    _Atomic bool stop;
    _Atomic uint64_t id;
};

static void *cancel_all(void *context)
{
    struct canceller *canceller = context;
    while (!atomic_load(&canceller->stop)) {
        canceller->f->ops->cancel(canceller->f->engine, canceller->f->lanes[0],
                                  atomic_load(&canceller->id));
        vt_sleep_until_ns(vt_now_ns() + 20 * VT_NS_PER_US, 0);
    }
    return NULL;
}

static void test_cancelled_on_the_way(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    struct canceller canceller = {.f = &f};
    pthread_t thread;
    uint32_t cancelled = 0;
    assert_int_equal(pthread_create(&thread, NULL, cancel_all, &canceller), 0);
    for (uint64_t id = 1; id <= 500; id++) {
        struct vt_tensor input = batch_of(8, (uint32_t)(id % 16));
        atomic_store(&canceller.id, id);
        struct vt_event event = fixture_run(&f, 0, id, 8, &input, 1);
        if (event.kind == VT_EVENT_ERROR) {
            assert_int_equal(event.status, VT_ERR_INTERRUPTED);
            cancelled++;
        } else {
            assert_true(is_right(&event, 8, id % 16));
        }
    }
    atomic_store(&canceller.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    print_message("%u of 500 requests were cancelled in time\n", cancelled);
    struct vt_tensor input = batch_of(1, 0);
    struct vt_event event = fixture_run(&f, 0, 1000, 1, &input, 1);
    assert_true(is_right(&event, 1, 0));
    fixture_close(&f);
}

/* --- lanes side by side
 * ------------------------------------------------------------------------------- */

static void test_lanes_side_by_side(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    config.lanes = 2;
    config.threads = 3;
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    residual_lanes_side_by_side(&f);
    fixture_close(&f);
}

/* --- settings and bad models
 * -------------------------------------------------------------------------- */

static void refuse_setting(const char *key, const char *value, enum vt_status status,
                           const char *says)
{
    const struct vt_setting setting = {key, value};
    const struct vt_graph_source source = {.name = "m", .path = residual};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    config.settings = &setting;
    config.n_settings = 1;
    foreign_refuses(&bundle, &config, status, says);
}

static void accept_settings(const struct vt_setting *settings, uint32_t n)
{
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    struct vt_tensor input = batch_of(2, 0);
    config.settings = settings;
    config.n_settings = n;
    fixture_open(&f, VT_TEST_ENGINE, residual, &config);
    struct vt_event event = fixture_run(&f, 0, 1, 2, &input, 1);
    assert_true(is_right(&event, 2, 0));
    fixture_close(&f);
}

static void test_settings(void **state)
{
    (void)state;
    refuse_setting("libary", "x", VT_ERR_USAGE, "did you mean 'library'?");
    refuse_setting("library", "/no/such/place", VT_ERR_NOT_FOUND, "library=/no/such/place: there");
    refuse_setting("library", "/dev", VT_ERR_NOT_FOUND, "the folder holds no lib");
    refuse_setting("library", residual, VT_ERR_FORMAT, "cannot be loaded");
    refuse_setting("library", VT_TEST_OTHER_LIBRARY, VT_ERR_FORMAT, "it does not export");
    if (is_openvino) {
        const struct vt_setting settings[] = {{"hint", "throughput"},
                                              {"streams", "1"},
                                              {"precision", "f32"},
                                              {"pinning", "off"},
                                              {"ENABLE_HYPER_THREADING", "NO"},
                                              {"device", "CPU"}};
        accept_settings(settings, 6);
        refuse_setting("hint", "fast", VT_ERR_USAGE, "latency, throughput and none");
        refuse_setting("precision", "fp32", VT_ERR_USAGE, "f32, bf16 and f16");
        refuse_setting("streams", "0", VT_ERR_USAGE, "from 1 to 1024");
        refuse_setting("pinning", "1", VT_ERR_USAGE, "off and on");
        refuse_setting("device", "TOASTER", VT_ERR_ENGINE, "TOASTER");
        refuse_setting("NO_SUCH_PROPERTY", "1", VT_ERR_ENGINE, "NO_SUCH_PROPERTY");
    } else {
        const struct vt_setting settings[] = {
            {"graph-level", "1"}, {"execution-mode", "parallel"},
            {"inter-op", "2"},    {"spinning", "off"},
            {"arena", "off"},     {"session.set_denormal_as_zero", "1"},
            {"provider", "cpu"},  {"profile", "off"}};
        accept_settings(settings, 8);
        refuse_setting("graph-level", "3", VT_ERR_USAGE, "0, 1, 2 and 99");
        refuse_setting("execution-mode", "fast", VT_ERR_USAGE, "sequential and parallel");
        refuse_setting("inter-op", "0", VT_ERR_USAGE, "from 1 to 1024");
        refuse_setting("spinning", "yes", VT_ERR_USAGE, "off and on");
        refuse_setting("arena", "0", VT_ERR_USAGE, "off and on");
        refuse_setting("provider", "tpu", VT_ERR_USAGE, "cpu and cuda");
        refuse_setting("device", "256", VT_ERR_USAGE, "from 0 to 255");
        if (getenv("VATIO_ONNXRUNTIME") == NULL) { /* the wheel is for CPUs only */
            refuse_setting("provider", "cuda", VT_ERR_UNAVAILABLE, "onnxruntime-gpu");
        }
    }
}

static void test_bad_models(void **state)
{
    (void)state;
    static const char text[] = "this is no model";
    struct pb model = identity(VT_F32);
    const struct vt_engine_config config = fixture_config();
    struct vt_graph_source source = {.name = "missing", .path = "/no/such/model.onnx"};
    const struct vt_bundle bundle = {&source, 1};
    foreign_refuses(&bundle, &config, is_openvino ? VT_ERR_FORMAT : VT_ERR_NOT_FOUND, "missing: ");
    source = (struct vt_graph_source){.name = "http://127.0.0.1/v2/models/m"};
    foreign_refuses(&bundle, &config, VT_ERR_USAGE, "engine kserve runs");
    source = (struct vt_graph_source){.name = "text", .bytes = text, .n_bytes = sizeof(text)};
    foreign_refuses(&bundle, &config, VT_ERR_FORMAT, "text: ");
    source =
        (struct vt_graph_source){.name = "half", .bytes = model.bytes, .n_bytes = model.size / 2};
    foreign_refuses(&bundle, &config, VT_ERR_FORMAT, "half: ");
    pb_free(&model);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const struct vt_graph_source source = {.name = "m", .path = residual};
    const struct vt_bundle bundle = {&source, 1};
    struct vt_engine_config config = fixture_config();
    config.threads = 1;
    residual_out_of_memory(VT_TEST_ENGINE, &bundle, &config);
}

int main(void)
{
    foreign_or_skip();
    is_openvino = strcmp(VT_TEST_ENGINE, "openvino") == 0;
    residual_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_element_types),
        cmocka_unit_test(test_text_is_refused),
        cmocka_unit_test(test_dynamic_outputs),
        cmocka_unit_test(test_bound_shapes),
        cmocka_unit_test(test_single_samples),
        cmocka_unit_test(test_fixed_batch),
        cmocka_unit_test(test_bundle),
        cmocka_unit_test(test_errors_are_events),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_cancelled_on_the_way),
        cmocka_unit_test(test_lanes_side_by_side),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_bad_models),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
