/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes through the native engine's seam: the windows' own outputs, computed without windows and
 * blended here in double precision, are the truth.
 */
#include "engine_fixture.h"

#include <math.h>
#include <unistd.h>

#include "base/options.h"
#include "engine/native/native.h"
#include "graph/write.h"
#include "vt_npy.h"
#include "zoo/zoo.h"

static char folder[64], network[96], pointwise[96];

/* --- models
 * -------------------------------------------------------------------------------------------- */

/* y = relu(a x + b), z = -x, of any extents. */
static void write_pointwise(const char *path, enum vt_dtype dtype)
{
    static float a = 1.7F, b = -0.3F;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_writer *writer = NULL;
    const struct vt_port x = {"x", dtype, 5, {-1, 2, -1, -1, -1}, {"n", NULL, "d", "h", "w"}};
    struct vt_port y = x, z = x;
    struct vt_tensor scale = floats(&a, 0, NULL), shift = floats(&b, 0, NULL);
    const char *nodes[4][4] = {{"Mul", "x", "a", "ax"},
                               {"Add", "ax", "b", "axb"},
                               {"Relu", "axb", "", "y"},
                               {"Neg", "x", "", "z"}};
    y.name = "y";
    z.name = "z";
    assert_int_equal(vt_model_writer_new("test", "pointwise", 17, &err, &writer), VT_OK);
    vt_write_input(writer, &x);
    vt_write_output(writer, &y);
    vt_write_output(writer, &z);
    vt_write_constant(writer, "a", &scale);
    vt_write_constant(writer, "b", &shift);
    for (int i = dtype == VT_F32 ? 0 : 3; i < 4; i++) {
        vt_write_node_begin(writer, nodes[i][0], nodes[i][3]);
        vt_write_node_input(writer, nodes[i][1]);
        if (nodes[i][2][0] != '\0') {
            vt_write_node_input(writer, nodes[i][2]);
        }
        vt_write_node_output(writer, nodes[i][3]);
        vt_write_node_end(writer);
    }
    if (dtype != VT_F32) {
        vt_write_node_begin(writer, "Identity", "y");
        vt_write_node_input(writer, "x");
        vt_write_node_output(writer, "y");
        vt_write_node_end(writer);
    }
    if (vt_model_writer_save(writer, path, VT_WRITE_INLINE_MAX, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
    vt_model_writer_free(writer);
}

/* A 3D U-Net for windows of 16, of two levels. */
static void write_network(const char *path)
{
    static const char *sets[] = {"edge=16", "channels=4", "channels_max=16", "levels=2"};
    const struct vt_text_list list = {sets, 4};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_zoo_spec spec;
    if (vt_zoo_spec_init(&spec, vt_zoo_find("unet3d"), true, 3, &list, &err) != VT_OK ||
        vt_zoo_write(&spec, path, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
}

static int begin(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/vt_windows_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(network, sizeof(network), "%s/net.onnx", folder);
    (void)snprintf(pointwise, sizeof(pointwise), "%s/pointwise.onnx", folder);
    write_network(network);
    write_pointwise(pointwise, VT_F32);
    return 0;
}

static int end(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* --- the engine with windows
 * --------------------------------------------------------------------------- */

static void open_windows(struct engine_fixture *f, const char *path, const char *window,
                         const char *overlap, const char *blend, const char *batch)
{
    struct vt_engine_config config = fixture_config();
    const struct vt_setting settings[] = {
        {"window", window}, {"overlap", overlap}, {"blend", blend}, {"window-batch", batch}};
    config.settings = settings;
    config.n_settings = 4;
    fixture_open(f, "native", path, &config);
}

static struct vt_tensor noise(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w)
{
    const int64_t dim[5] = {n, c, d, h, w};
    struct vt_tensor tensor = floats(NULL, 5, dim);
    float *data = vt_alloc(tensor.bytes);
    assert_non_null(data);
    uint32_t x = 1;
    for (size_t i = 0; i < tensor.bytes / sizeof(float); i++) {
        x = x * 1664525U + 1013904223U;
        data[i] = (float)(x >> 8) / 8388608.0F - 1.0F;
    }
    tensor.data = data;
    return tensor;
}

/* Rows [z, z + n0) x [y, ...) x [x, ...) of one sample; in fresh memory. */
static struct vt_tensor crop(const struct vt_tensor *from, int64_t sample, const int64_t *at,
                             const int64_t *n)
{
    struct vt_tensor tensor = noise(1, from->dim[1], n[0], n[1], n[2]);
    float *to = tensor.data;
    const float *data = from->data;
    for (int64_t c = 0; c < from->dim[1]; c++) {
        for (int64_t z = 0; z < n[0]; z++) {
            for (int64_t y = 0; y < n[1]; y++) {
                const int64_t line =
                    ((sample * from->dim[1] + c) * from->dim[2] + at[0] + z) * from->dim[3] +
                    at[1] + y;
                memcpy(to, data + line * from->dim[4] + at[2], (size_t)n[2] * sizeof(float));
                to += n[2];
            }
        }
    }
    return tensor;
}

/* Equal to the plain engine's windows, blended as defined. */
static void check_network(const char *batch, int64_t samples, int64_t d, int64_t h, int64_t w)
{
    struct engine_fixture plain, f;
    struct vt_engine_config config = fixture_config();
    struct vt_tensor input = noise(samples, 1, d, h, w);
    const size_t whole = (size_t)(d * h * w);
    double *sum = vt_calloc(3 * whole * (size_t)samples, sizeof(*sum));
    double *weight = vt_calloc(whole, sizeof(*weight));
    if (sum == NULL || weight == NULL) {
        fail();
        return;
    }
    const int64_t edge[3] = {16, 16, 16};
    fixture_open(&plain, "native", network, &config);
    for (int64_t i = 0; i < samples; i++) {
        memset(weight, 0, whole * sizeof(*weight));
        for (int64_t z = 0;; z = z + 24 < d ? z + 8 : d - 16) {
            for (int64_t y = 0;; y = y + 24 < h ? y + 8 : h - 16) {
                for (int64_t x = 0;; x = x + 24 < w ? x + 8 : w - 16) {
                    const int64_t at[3] = {z, y, x};
                    struct vt_tensor window = crop(&input, i, at, edge);
                    struct vt_event event = fixture_run(&plain, 0, 1, 1, &window, 1);
                    assert_int_equal(event.kind, VT_EVENT_FINAL);
                    const float *made = event.outputs[0].data;
                    for (int64_t e = 0; e < INT64_C(3) * 4096; e++) {
                        const int64_t v = e % 4096, place[3] = {v / 256, v / 16 % 16, v % 16};
                        double bell = 1;
                        for (int k = 0; k < 3; k++) {
                            const double off = ((double)place[k] - 7.5) / 2;
                            bell *= exp(-0.5 * off * off);
                        }
                        bell = cbrt(bell);
                        const size_t to =
                            (size_t)(((z + place[0]) * h + y + place[1]) * w + x + place[2]);
                        sum[((size_t)i * 3 + (size_t)(e / 4096)) * whole + to] +=
                            bell * (double)made[e];
                        weight[to] += e < 4096 ? bell : 0;
                    }
                    vt_free(window.data);
                    if (x == w - 16) {
                        break;
                    }
                }
                if (y == h - 16) {
                    break;
                }
            }
            if (z == d - 16) {
                break;
            }
        }
        for (size_t e = 0; e < 3 * whole; e++) {
            sum[(size_t)i * 3 * whole + e] /= weight[e % whole];
        }
    }
    open_windows(&f, network, "16x16x16", "0.5", "gaussian", batch);
    assert_true(f.signature.inputs[0].dim[2] < 0 && f.signature.outputs[0].dim[4] < 0);
    assert_int_equal(f.caps.best_batch, 1);
    assert_non_null(strstr(f.caps.description, "windows of 16x16x16"));
    struct vt_event event = fixture_run(&f, 0, 2, (uint32_t)samples, &input, 1);
    if (event.kind != VT_EVENT_FINAL) {
        fail_msg("%s", event.text);
    }
    const int64_t dim[5] = {samples, 3, d, h, w};
    assert_int_equal(event.outputs[0].rank, 5);
    assert_memory_equal(event.outputs[0].dim, dim, sizeof(dim));
    double largest = 0;
    for (size_t e = 0; e < 3 * whole * (size_t)samples; e++) {
        largest = fmax(largest, fabs(sum[e]));
    }
    for (size_t e = 0; e < 3 * whole * (size_t)samples; e++) {
        const double got = (double)((const float *)event.outputs[0].data)[e];
        if (!(fabs(got - sum[e]) <= 2e-5 * largest)) {
            fail_msg("element %zu is %.9g, expected %.9g", e, got, sum[e]);
        }
    }
    fixture_close(&plain);
    fixture_close(&f);
    vt_free(input.data);
    vt_free(sum);
    vt_free(weight);
}

static void test_network(void **state)
{
    (void)state;
    check_network("0", 1, 24, 32, 40); /* nothing moved */
    check_network("1", 1, 29, 16, 35);
    check_network("0", 2, 17, 19, 23);
    check_network("5", 1, 40, 17, 16);
}

/* A volume of one window is what the model gives without windows, bit for bit. */
static void test_whole(void **state)
{
    (void)state;
    struct engine_fixture plain, f;
    struct vt_engine_config config = fixture_config();
    struct vt_tensor input = noise(2, 1, 16, 16, 16);
    fixture_open(&plain, "native", network, &config);
    open_windows(&f, network, "16x16x16", "0.5", "gaussian", "0");
    struct vt_event wanted = fixture_run(&plain, 0, 1, 2, &input, 1);
    struct vt_event got = fixture_run(&f, 0, 1, 2, &input, 1);
    assert_int_equal(got.kind, VT_EVENT_FINAL);
    assert_true(vt_tensor_same_shape(&got.outputs[0], &wanted.outputs[0]));
    assert_memory_equal(got.outputs[0].data, wanted.outputs[0].data, wanted.outputs[0].bytes);
    fixture_close(&plain);
    fixture_close(&f);
    vt_free(input.data);
}

/* What depends on its own voxel only does not notice windows. */
static void test_pointwise(void **state)
{
    (void)state;
    static const char *const overlaps[] = {"0", "0.25", "0.5", "0.9"};
    struct engine_fixture plain, f;
    struct vt_engine_config config = fixture_config();
    fixture_open(&plain, "native", pointwise, &config);
    for (int i = 0; i < 8; i++) {
        struct vt_tensor input = noise(1 + i % 2, 2, 9 + i, 13, 20 - i);
        struct vt_event wanted = fixture_run(&plain, 0, 1, (uint32_t)input.dim[0], &input, 1);
        open_windows(&f, pointwise, "7x8x9", overlaps[i / 2], i % 2 == 0 ? "constant" : "gaussian",
                     i % 3 == 0 ? "3" : "0");
        struct vt_event got = fixture_run(&f, 0, 1, (uint32_t)input.dim[0], &input, 1);
        assert_int_equal(got.kind, VT_EVENT_FINAL);
        for (int o = 0; o < 2; o++) {
            assert_true(vt_tensor_same_shape(&got.outputs[o], &wanted.outputs[o]));
            for (size_t e = 0; e < wanted.outputs[o].bytes / sizeof(float); e++) {
                const float a = ((const float *)got.outputs[o].data)[e],
                            b = ((const float *)wanted.outputs[o].data)[e];
                assert_true(fabsf(a - b) <= 1e-5F * (1 + fabsf(b))); /* sums of up to 500 */
            }
        }
        fixture_close(&f);
        vt_free(input.data);
    }
    fixture_close(&plain);
}

/* --- requests
 * ------------------------------------------------------------------------------------------ */

/* Volumes of several extents behind one another, several in one wait. */
static void test_requests(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_tensor inputs[3] = {noise(1, 2, 12, 9, 9), noise(1, 2, 8, 8, 8),
                                  noise(2, 2, 10, 17, 8)};
    struct vt_request requests[3];
    struct vt_event events[3];
    uint32_t n = 0;
    open_windows(&f, pointwise, "8x8x8", "0.5", "constant", "0");
    for (uint32_t i = 0; i < 3; i++) {
        requests[i] = (struct vt_request){
            .id = i, .samples = (uint32_t)inputs[i].dim[0], .inputs = &inputs[i], .n_inputs = 1};
    }
    for (int round = 0; round < 3; round++) {
        assert_int_equal(f.ops->submit(f.engine, f.lanes[0], requests, 3, &f.err), VT_OK);
        assert_int_equal(f.ops->wait(f.engine, f.lanes[0], 3, 3, VT_NEVER, &f.err, events, &n),
                         VT_OK);
        assert_int_equal(n, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(events[i].kind, VT_EVENT_FINAL);
            assert_true(vt_tensor_same_shape(&events[i].outputs[1], &inputs[i]));
            for (size_t e = 0; e < inputs[i].bytes / sizeof(float); e++) {
                assert_true(fabsf(((const float *)events[i].outputs[1].data)[e] +
                                  ((const float *)inputs[i].data)[e]) <= 1e-6F);
            }
        }
    }
    /* One that is too small is an error of its own. */
    struct vt_tensor small = noise(1, 2, 8, 7, 8);
    struct vt_event event = fixture_run(&f, 0, 9, 1, &small, 1);
    assert_int_equal(event.kind, VT_EVENT_ERROR);
    assert_int_equal(event.status, VT_ERR_USAGE);
    assert_non_null(strstr(event.text, "1x2x8x7x8"));
    event = fixture_run(&f, 0, 10, 1, &inputs[0], 1);
    assert_int_equal(event.kind, VT_EVENT_FINAL);
    fixture_close(&f);
    vt_free(small.data);
    for (int i = 0; i < 3; i++) {
        vt_free(inputs[i].data);
    }
}

/* Counts allocations, and gives up on a request at one of them. */
struct watch {
    struct vt_allocator allocator, before;
    uint64_t allocations;
    struct engine_fixture *f; /* whose request 77 is cancelled; NULL: none */
};

static void *watch_alloc(void *ctx, size_t bytes, size_t alignment)
{
    struct watch *watch = ctx;
    watch->allocations++;
    if (watch->f != NULL) {
        watch->f->ops->cancel(watch->f->engine, watch->f->lanes[0], 77);
    }
    return watch->before.alloc(watch->before.ctx, bytes, alignment);
}

static void watch_free(void *ctx, void *memory)
{
    struct watch *watch = ctx;
    watch->before.free(watch->before.ctx, memory);
}

static void watch_begin(struct watch *watch)
{
    watch->allocations = 0;
    watch->allocator = (struct vt_allocator){watch_alloc, watch_free, watch};
    watch->before = vt_allocator_set(&watch->allocator);
}

static void test_allocates_nothing(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct watch watch = {.f = NULL};
    struct vt_tensor large = noise(1, 1, 40, 24, 33), small = noise(1, 1, 17, 24, 16);
    open_windows(&f, network, "16x16x16", "0.5", "gaussian", "1");
    (void)fixture_run(&f, 0, 1, 1, &large, 1);
    (void)fixture_run(&f, 0, 1, 1, &small, 1);
    watch_begin(&watch);
    for (int i = 0; i < 4; i++) {
        struct vt_event event = fixture_run(&f, 0, 1, 1, i % 2 == 0 ? &large : &small, 1);
        watch.allocations += event.kind == VT_EVENT_FINAL ? 0 : 1000;
    }
    vt_allocator_set(&watch.before);
    assert_int_equal(watch.allocations, 0);
    fixture_close(&f);
    vt_free(large.data);
    vt_free(small.data);
}

/* The output of the volume is allocated behind its first window: whoever cancels there is heard
 * before the second. */
static void test_cancel(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_tensor window = noise(2, 1, 16, 16, 16), volume = noise(1, 1, 200, 200, 200);
    struct watch watch = {.f = &f};
    struct vt_request request = {.id = 77, .samples = 1, .inputs = &volume, .n_inputs = 1};
    struct vt_event event = {.id = 0};
    uint32_t n = 0;
    open_windows(&f, network, "16x16x16", "0.5", "gaussian", "1");
    /* Plans and tables are there; there are 13,824 windows. */
    assert_int_equal(vt_native_lane_prepare(f.lanes[0], 0, &volume, 1, &f.err), VT_OK);
    assert_int_equal(f.ops->submit(f.engine, f.lanes[0], &request, 1, &f.err), VT_OK);
    watch_begin(&watch);
    enum vt_status status = f.ops->wait(f.engine, f.lanes[0], 1, 1, VT_NEVER, &f.err, &event, &n);
    vt_allocator_set(&watch.before);
    assert_int_equal(status, VT_OK);
    assert_int_equal(n, 1);
    assert_true(watch.allocations > 0);
    assert_int_equal(event.kind, VT_EVENT_ERROR);
    assert_int_equal(event.status, VT_ERR_INTERRUPTED);
    event = fixture_run(&f, 0, 78, 2, &window, 1);
    assert_int_equal(event.kind, VT_EVENT_FINAL);
    fixture_close(&f);
    vt_free(window.data);
    vt_free(volume.data);
}

/* --- bound shapes, hostile settings
 * ---------------------------------------------------------------------- */

static enum vt_status try_open(const char *path, const char *const *settings, uint32_t n,
                               const struct vt_shape_binding *shape, struct vt_error *err)
{
    struct vt_engine_config config = fixture_config();
    struct vt_setting given[8];
    const struct vt_graph_source source = {.name = "m", .path = path};
    const struct vt_bundle bundle = {&source, 1};
    void *engine = NULL;
    for (uint32_t i = 0; i < n; i++) {
        given[i] = (struct vt_setting){settings[2 * i], settings[2 * i + 1]};
    }
    config.settings = given;
    config.n_settings = n;
    config.shapes = shape;
    config.n_shapes = shape != NULL ? 1 : 0;
    enum vt_status status = vt_native_engine.open(&bundle, &config, err, &engine);
    vt_native_engine.close(status == VT_OK ? engine : NULL);
    return status;
}

static void refuse(const char *path, const char *const *settings, uint32_t n,
                   const struct vt_shape_binding *shape, enum vt_status wanted, const char *says)
{
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(try_open(path, settings, n, shape, &err), wanted);
    if (strstr(err.text, says) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, says);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings[4];
        const char *says;
    } cases[] = {
        {{"window", "0x16x16"}, "one to 3 extents"},
        {{"window", "16x16x16x16"}, "one to 3 extents"},
        {{"window", ""}, "one to 3 extents"},
        {{"window", "16x16"}, "Nx1x16x16x16"},
        {{"window", "8x8x8"}, "windows of 8x8x8"},
        {{"overlap", "0.5"}, "window=128x128x128"},
        {{"window", "16x16x16", "overlap", "1"}, "from 0 to below 1"},
        {{"window", "16x16x16", "overlap", "-0.1"}, "from 0 to below 1"},
        {{"window", "16x16x16", "overlap", "nan"}, "from 0 to below 1"},
        {{"window", "16x16x16", "overlap", "half"}, "from 0 to below 1"},
        {{"window", "16x16x16", "blend", "linear"}, "constant and gaussian"},
        {{"window", "16x16x16", "window-batch", "65"}, "from 0 to 64"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        refuse(network, cases[i].settings, cases[i].settings[2] != NULL ? 2 : 1, NULL, VT_ERR_USAGE,
               cases[i].says);
    }
    const char *const right[] = {"window", "16x16x16"};
    struct vt_shape_binding shape = {"input", 5, {1, 1, 16, 15, 16}};
    refuse(network, right, 1, &shape, VT_ERR_USAGE, "does not hold a window of 16x16x16");
    shape.dim[2] = shape.dim[3] = shape.dim[4] = 1 << 15;
    refuse(network, right, 1, &shape, VT_ERR_LIMIT, "memory of this machine");
    shape.dim[2] = shape.dim[3] = shape.dim[4] = INT32_MAX;
    refuse(network, right, 1, &shape, VT_ERR_LIMIT, "larger than memory");
    char halves[96];
    (void)snprintf(halves, sizeof(halves), "%s/halves.onnx", folder);
    write_pointwise(halves, VT_F16);
    refuse(halves, right, 1, NULL, VT_ERR_UNSUPPORTED, "float16");
}

static void test_bound(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct vt_engine_config config = fixture_config();
    const struct vt_setting setting = {"window", "16x16x16"};
    const struct vt_shape_binding shapes[] = {{"D", 1, {20}}, {"H", 1, {30}}};
    config.settings = &setting;
    config.n_settings = 1;
    config.shapes = shapes;
    config.n_shapes = 2;
    fixture_open(&f, "native", network, &config);
    const struct vt_port *output = &f.signature.outputs[0];
    assert_int_equal(f.signature.inputs[0].dim[2], 20);
    assert_int_equal(output->dim[2], 20);
    assert_int_equal(output->dim[3], 30);
    assert_int_equal(output->dim[4], -1);
    assert_string_equal(output->symbol[4], "W");
    fixture_close(&f);
}

/* --- a real network
 * --------------------------------------------------------------------------------------- */

/*
 * MeshNet sees 46 voxels around its own, so a voxel is the same with and without windows where
 * every window that holds it holds those too. The real head's crop, four times one behind another,
 * is long enough along one axis.
 */
static void test_meshnet(void **state)
{
    (void)state;
    const int64_t length = 192, window = 160, seen_by = 46, side = 12;
    char path[512], expected[512];
    const char *data = getenv("VATIO_TEST_DATA");
    if (data == NULL || data[0] == '\0') {
        skip();
    }
    struct engine_fixture plain, f;
    struct vt_engine_config config = fixture_config();
    (void)snprintf(path, sizeof(path), "%s/segmentation/meshnet5.onnx", data);
    (void)snprintf(expected, sizeof(expected), "%s/segmentation/expected", data);
    struct vt_tensor head = vt_npy_read(expected, "meshnet5_input_0.npy"),
                     wanted = vt_npy_read(expected, "meshnet5_output_0.npy");
    /* The crop as one window: the stored output. */
    open_windows(&f, path, "48x48x48", "0.5", "gaussian", "0");
    struct vt_event event = fixture_run(&f, 0, 1, 1, &head, 1);
    assert_int_equal(event.kind, VT_EVENT_FINAL);
    for (size_t e = 0; e < wanted.bytes / sizeof(float); e++) {
        const float a = ((const float *)event.outputs[0].data)[e],
                    b = ((const float *)wanted.data)[e];
        assert_true(fabsf(a - b) <= 1e-4F + 1e-3F * fabsf(b));
    }
    fixture_close(&f);
    /* Longer than a window. */
    const int64_t dim[5] = {1, 1, length, side, side};
    struct vt_tensor longer = floats(NULL, 5, dim);
    float *values = vt_alloc(longer.bytes);
    assert_non_null(values);
    longer.data = values;
    for (int64_t z = 0; z < length; z++) {
        const int64_t at[3] = {z % 48, 10, 20}, n[3] = {1, side, side};
        struct vt_tensor slice = crop(&head, 0, at, n);
        memcpy(values + z * side * side, slice.data, slice.bytes);
        vt_free(slice.data);
    }
    fixture_open(&plain, "native", path, &config);
    open_windows(&f, path, "160x12x12", "0.75", "gaussian", "0");
    struct vt_event whole = fixture_run(&plain, 0, 1, 1, &longer, 1);
    event = fixture_run(&f, 0, 1, 1, &longer, 1);
    assert_int_equal(event.kind, VT_EVENT_FINAL);
    uint32_t compared = 0;
    for (int64_t e = 0; e < 3 * length * side * side; e++) {
        const int64_t z = e / (side * side) % length;
        bool seen = true; /* by all windows that hold it: 0 and 32, the last one */
        for (int64_t at = 0; at <= length - window; at += length - window) {
            const bool held = z >= at && z < at + window;
            seen = seen && (!held || ((at == 0 || z - seen_by >= at) &&
                                      (at + window == length || z + seen_by < at + window)));
        }
        if (seen) {
            const float a = ((const float *)event.outputs[0].data)[e],
                        b = ((const float *)whole.outputs[0].data)[e];
            assert_true(fabsf(a - b) <= 1e-4F + 1e-3F * fabsf(b));
            compared++;
        }
    }
    /* 32 at each end that one window holds, and the middle of both. */
    assert_int_equal(compared, 3 * side * side * (32 + 36 + 32));
    fixture_close(&plain);
    fixture_close(&f);
    vt_free(values);
    vt_free(head.data);
    vt_free(wanted.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network),           cmocka_unit_test(test_whole),
        cmocka_unit_test(test_pointwise),         cmocka_unit_test(test_requests),
        cmocka_unit_test(test_allocates_nothing), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_refused),           cmocka_unit_test(test_bound),
        cmocka_unit_test(test_meshnet),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
