/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor workload: generated inputs, files, shapes. */
#include <math.h>

#include "base/topology.h"
#include "tensor_fixture.h"
#include "vt_torture.h"
#include "workload/element.h"
#include "workload/room.h"
#include "workload/tensor_random.h"

/* ---- elements -------------------------------------------------------------------------------- */

static void test_half(void **state)
{
    (void)state;
    static const struct {
        double value;
        uint16_t half, bfloat;
    } known[] = {
        {0, 0, 0},
        {1, 0x3c00, 0x3f80},
        {-2, 0xc000, 0xc000},
        {65504, 0x7bff, 0x4780},
        {0x1p-14, 0x0400, 0x3880},
        {0x1p-24, 0x0001, 0x3380},
        {1.0 / 3, 0x3555, 0x3eab},
        {(double)INFINITY, 0x7c00, 0x7f80},
        {65520, 0x7c00, 0x4780},
        {1 + 0x1p-11, 0x3c00, 0x3f80},     /* a tie, to even */
        {1 + 3 * 0x1p-11, 0x3c02, 0x3f80}, /* likewise, up */
        {2047.0 / 2048, 0x3bff, 0x3f80},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint16_t half = 1, bfloat = 1;
        vt_element_set(VT_F16, &half, 0, known[i].value);
        vt_element_set(VT_BF16, &bfloat, 0, known[i].value);
        assert_int_equal(half, known[i].half);
        assert_int_equal(bfloat, known[i].bfloat);
    }
    /* Every half there is goes through a double and back. */
    for (unsigned bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits, back = 0;
        double value = vt_element_get(VT_F16, &half, 0);
        vt_element_set(VT_F16, &back, 0, value);
        assert_true(isnan(value) || back == half);
    }
}

/* ---- generated ------------------------------------------------------------------------------- */

static void test_random(void **state)
{
    (void)state;
    static const struct {
        enum vt_dtype dtype;
        double least, most, mean;
    } types[] = {
        {VT_F32, 0, 1, 0.5},    {VT_F64, 0, 1, 0.5},   {VT_F16, 0, 1, 0.5},    {VT_BF16, 0, 1, 0.5},
        {VT_U8, 0, 255, 127.5}, {VT_I8, 0, 127, 63.5}, {VT_I16, 0, 127, 63.5}, {VT_I32, 0, 1, 0.5},
        {VT_I64, 0, 1, 0.5},    {VT_BOOL, 0, 1, 0.5},
    };
    static uint64_t room[20000];
    int64_t dim[1] = {20000};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct vt_tensor tensor;
        double sum = 0, most = 0;
        assert_int_equal(vt_tensor_init(&tensor, types[t].dtype, 1, dim, room, NULL), VT_OK);
        vt_tensor_random_fill(&tensor, 42);
        for (size_t i = 0; i < 20000; i++) {
            double value = vt_element_get(types[t].dtype, room, i);
            assert_true(value >= types[t].least && value <= types[t].most);
            bool whole = vt_element_is_integer(types[t].dtype) || types[t].dtype == VT_BOOL;
            assert_true(whole || value < 1);
            most = value > most ? value : most;
            sum += value;
        }
        assert_near(sum / 20000, types[t].mean, types[t].most * 0.02);
        assert_true(most > types[t].most * 0.98);
    }
    assert_false(vt_tensor_random_possible(VT_STRING));
    assert_false(vt_tensor_random_possible(VT_C64));
    assert_int_not_equal(vt_tensor_random_seed(1, 2, 3), vt_tensor_random_seed(1, 3, 2));
    assert_int_not_equal(vt_tensor_random_seed(1, 2, 3), vt_tensor_random_seed(2, 2, 3));
}

static void test_generated(void **state)
{
    (void)state;
    struct vt_port inputs[2] = {port4("a", VT_F32, OPEN, 3, 4, 5), port2("b", VT_I64, OPEN, 7)};
    struct vt_port output = port2("y", VT_F32, OPEN, 10);
    struct vt_signature signature = {inputs, &output, 2, 1};
    struct vt_workload_config config = {.seed = 5};
    struct vt_workload_info info;
    void *one = open_ok(&config, &signature), *two = open_ok(&config, &signature);
    ops->info(one, &info);
    assert_int_equal(info.total_count, 1024);
    assert_int_equal(info.performance_count, 1024);
    assert_false(info.has_quality);
    assert_string_equal(info.description, "1024 samples, random inputs, seed 5");
    /* The same whatever else is loaded. */
    uint64_t many[3] = {0, 1000, 7}, single = 7;
    struct vt_tensor a[2], b[2], other[2];
    assert_int_equal(ops->load(one, many, 3, NULL), VT_OK);
    assert_int_equal(ops->load(two, &single, 1, NULL), VT_OK);
    ops->sample(one, 7, a);
    ops->sample(two, 7, b);
    ops->sample(one, 1000, other);
    assert_int_equal(a[0].rank, 4);
    assert_memory_equal(a[0].dim, ((int64_t[]){1, 3, 4, 5}), 32);
    assert_int_equal(a[0].bytes, 240);
    assert_int_equal(a[1].dtype, VT_I64);
    assert_int_equal(a[1].bytes, 56);
    assert_int_equal((uintptr_t)a[1].data % 64, 0);
    assert_memory_equal(a[0].data, b[0].data, 240);
    assert_memory_equal(a[1].data, b[1].data, 56);
    assert_memory_not_equal(a[0].data, other[0].data, 240);
    ops->close(two);
    config.seed = 6;
    two = open_ok(&config, &signature);
    assert_int_equal(ops->load(two, &single, 1, NULL), VT_OK);
    ops->sample(two, 7, b);
    assert_memory_not_equal(a[0].data, b[0].data, 240);
    ops->unload(one, many, 3);
    uint64_t beyond = 1024;
    assert_int_equal(ops->load(one, &beyond, 1, NULL), VT_ERR_USAGE);
    ops->close(one);
    ops->close(two);
    /* Counts: what the user says, and what fits. */
    config = (struct vt_workload_config){.sample_count = 9, .performance_count = 4};
    one = open_ok(&config, &signature);
    ops->info(one, &info);
    assert_int_equal(info.total_count, 9);
    assert_int_equal(info.performance_count, 4);
    ops->close(one);
    config = (struct vt_workload_config){0};
    inputs[0] = port4("a", VT_F32, OPEN, 1024, 1024, 16);
    one = open_ok(&config, &signature);
    ops->info(one, &info);
    assert_int_equal(info.total_count, 3); /* of 64 MiB and a little each */
    ops->close(one);
    inputs[0] = port4("a", VT_F32, OPEN, INT64_C(1) << 40, 1024, 16);
    assert_refused(&config, &signature, VT_ERR_LIMIT, "bytes", "machine");
    inputs[0] = port4("a", VT_STRING, OPEN, 1, 1, 1);
    assert_refused(&config, &signature, VT_ERR_UNSUPPORTED, "'a'", "string");
}

static void test_open_extents(void **state)
{
    (void)state;
    struct one_to_one model;
    struct vt_workload_config config = {0};
    struct vt_shape_binding shapes[8];
    uint32_t n = 0;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_port port = port4("volume", VT_F32, OPEN, 1, OPEN, 8);
    port.symbol[2] = "D";
    const struct vt_signature *signature = one_to_one(&model, port, port2("y", VT_F32, OPEN, 10));
    assert_refused(&config, signature, VT_ERR_USAGE, "'D'", "--shape D=NUMBER");
    assert_int_equal(ops->shapes(&config, signature, &err, shapes, 8, &n), VT_ERR_USAGE);
    assert_error(&err, VT_ERR_USAGE, "'volume' (Nx1xDx8)", "--shape D=");
    model.input.symbol[2] = NULL;
    assert_refused(&config, signature, VT_ERR_USAGE, "dimension 2 of input 'volume'",
                   "--shape volume=DIMS, for instance 1x1x64x8");
}

/* The batch must be in dimension 0 of every input and nowhere else. */
static void test_batch(void **state)
{
    (void)state;
    struct vt_port inputs[2] = {port2("a", VT_F32, OPEN, 3), port2("b", VT_F32, OPEN, 3)};
    struct vt_signature signature = {inputs, NULL, 2, 0};
    assert_true(vt_signature_has_batch(&signature));
    inputs[1].symbol[0] = "M";
    assert_false(vt_signature_has_batch(&signature));
    inputs[1].symbol[0] = NULL;
    assert_true(vt_signature_has_batch(&signature));
    inputs[1] = port2("state", VT_F32, 2, OPEN);
    inputs[1].symbol[0] = NULL;
    inputs[1].symbol[1] = "N";
    assert_false(vt_signature_has_batch(&signature));
    inputs[1].dim[0] = OPEN;
    assert_false(vt_signature_has_batch(&signature));
    inputs[1] = (struct vt_port){.name = "rate", .dtype = VT_I64};
    assert_false(vt_signature_has_batch(&signature));
    signature.n_inputs = 0;
    assert_false(vt_signature_has_batch(&signature));
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_files(void **state)
{
    (void)state;
    static const float data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct vt_port inputs[2] = {port2("x.1", VT_F32, OPEN, OPEN), port2("m", VT_F32, OPEN, OPEN)};
    struct vt_port output = port2("y", VT_F32, OPEN, 10);
    struct vt_signature signature = {inputs, &output, 2, 1};
    inputs[0].symbol[1] = inputs[1].symbol[1] = "length";
    put("x.npy", "<f4", "4, 3", data, sizeof data);
    const char *list[] = {named("x.1", "x.npy")};
    struct vt_workload_config config = {.inputs = list, .n_inputs = 1};
    struct vt_shape_binding shapes[4];
    uint32_t n = 0;
    assert_int_equal(ops->shapes(&config, &signature, NULL, shapes, 4, &n), VT_OK);
    assert_int_equal(n, 1);
    assert_string_equal(shapes[0].name, "length");
    assert_int_equal(shapes[0].dim[0], 3);
    /* Four samples; the mask is generated, in the length of the other. */
    void *tensors = open_ok(&config, &signature);
    struct vt_workload_info info;
    ops->info(tensors, &info);
    assert_int_equal(info.total_count, 4);
    assert_non_null(strstr(info.description, "beside those from files"));
    uint64_t two = 2;
    struct vt_tensor views[2];
    assert_int_equal(ops->load(tensors, &two, 1, NULL), VT_OK);
    ops->sample(tensors, 2, views);
    assert_int_equal(views[0].dim[0], 1);
    assert_int_equal(views[0].dim[1], 3);
    assert_memory_equal(views[0].data, data + 6, 12);
    assert_int_equal(views[1].dim[1], 3);
    ops->close(tensors);
    /* A file of one sample serves all; all files then. */
    put("m.npy", "<f4", "1, 3", data, 12);
    const char *both[] = {named("m", "m.npy"), named("x.1", "x.npy")};
    config = (struct vt_workload_config){.inputs = both, .n_inputs = 2, .sample_count = 3};
    tensors = open_ok(&config, &signature);
    ops->info(tensors, &info);
    assert_int_equal(info.total_count, 3);
    assert_string_equal(info.description, "3 samples, inputs from files");
    ops->sample(tensors, 1, views);
    assert_memory_equal(views[0].data, data + 3, 12);
    assert_memory_equal(views[1].data, data, 12);
    ops->close(tensors);
}

static void test_files_refused(void **state)
{
    (void)state;
    static const float data[12] = {0};
    struct vt_port inputs[2] = {port2("x", VT_F32, OPEN, 3), port2("m", VT_F32, OPEN, 3)};
    struct vt_port output = port2("y", VT_F32, OPEN, 10);
    struct vt_signature signature = {inputs, &output, 2, 1};
    const char *list[3] = {NULL};
    struct vt_workload_config config = {.inputs = list, .n_inputs = 1, .dataset = "pictures"};
    assert_refused(&config, &signature, VT_ERR_USAGE, "'pictures'", "--input NAME=FILE");
    config.dataset = NULL;
    list[0] = "x.npy";
    assert_refused(&config, &signature, VT_ERR_USAGE, "NAME=FILE", "'x.npy'");
    list[0] = "mm=x.npy";
    assert_refused(&config, &signature, VT_ERR_USAGE, "no such input 'mm'", "it has 2, one is");
    list[0] = named("x", "nothing.npy");
    assert_refused(&config, &signature, VT_ERR_NOT_FOUND, "nothing.npy", "");
    put("f64.npy", "<f8", "1, 3", data, 24);
    list[0] = named("x", "f64.npy");
    assert_refused(&config, &signature, VT_ERR_USAGE, "float64", "float32");
    put("wide.npy", "<f4", "1, 4", data, 16);
    list[0] = named("x", "wide.npy");
    assert_refused(&config, &signature, VT_ERR_USAGE, "1x4", "Nx3");
    put("flat.npy", "<f4", "3,", data, 12);
    list[0] = named("x", "flat.npy");
    assert_refused(&config, &signature, VT_ERR_USAGE, "holds 3,", "Nx3");
    put("none.npy", "<f4", "0, 3", data, 0);
    list[0] = named("x", "none.npy");
    assert_refused(&config, &signature, VT_ERR_USAGE, "0x3", "Nx3");
    put("two.npy", "<f4", "2, 3", data, 24);
    put("four.npy", "<f4", "4, 3", data, 48);
    list[0] = list[1] = named("x", "two.npy");
    config.n_inputs = 2;
    assert_refused(&config, &signature, VT_ERR_USAGE, "'x'", "twice");
    list[1] = named("m", "four.npy");
    assert_refused(&config, &signature, VT_ERR_USAGE, "'m' holds 4 samples", "'x' 2");
    /* A batch that is fixed: the file is the one sample. */
    inputs[0].dim[0] = inputs[1].dim[0] = 4;
    config.n_inputs = 1;
    assert_refused(&config, &signature, VT_ERR_USAGE, "2x3", "4x3");
    list[0] = named("x", "four.npy");
    void *tensors = open_ok(&config, &signature);
    struct vt_tensor views[2];
    uint64_t zero = 0;
    assert_int_equal(ops->load(tensors, &zero, 1, NULL), VT_OK);
    ops->sample(tensors, 0, views);
    assert_int_equal(views[0].dim[0], 4);
    assert_int_equal(views[1].dim[0], 4);
    ops->close(tensors);
    /* Two files that disagree on an extent of the same name. */
    inputs[0] = port2("x", VT_F32, OPEN, OPEN);
    inputs[1] = port2("m", VT_F32, OPEN, OPEN);
    inputs[0].symbol[1] = inputs[1].symbol[1] = "length";
    put("long.npy", "<f4", "1, 5", data, 20);
    list[0] = named("x", "two.npy");
    list[1] = named("m", "long.npy");
    config.n_inputs = 2;
    assert_refused(&config, &signature, VT_ERR_USAGE, "'length'", "fit together");
}

/* A scalar, a state with the batch in its second dimension, a batch of one: what the voice
 * activity detector of the test data has. */
static void test_no_batch(void **state)
{
    (void)state;
    static const float data[8] = {0};
    struct vt_port inputs[3] = {port2("input", VT_F32, OPEN, OPEN),
                                {.name = "state", .dtype = VT_F32, .rank = 2, .dim = {2, OPEN}},
                                {.name = "sr", .dtype = VT_I64}};
    struct vt_port output = port2("y", VT_F32, OPEN, 10);
    struct vt_signature signature = {inputs, &output, 3, 1};
    struct vt_shape_binding shapes[8];
    uint32_t n = 0;
    inputs[0].symbol[1] = "T";
    inputs[1].symbol[1] = "N";
    put("in.npy", "<f4", "1, 5", data, 20);
    put("sr.npy", "<i8", "", (int64_t[]){16000}, 8);
    const char *list[] = {named("input", "in.npy"), named("sr", "sr.npy")};
    struct vt_workload_config config = {.inputs = list, .n_inputs = 2};
    assert_int_equal(ops->shapes(&config, &signature, NULL, shapes, 8, &n), VT_OK);
    assert_int_equal(n, 2);
    assert_string_equal(shapes[0].name, "N");
    assert_int_equal(shapes[0].dim[0], 1);
    assert_string_equal(shapes[1].name, "T");
    assert_int_equal(shapes[1].dim[0], 5);
    void *tensors = open_ok(&config, &signature);
    struct vt_tensor views[3];
    uint64_t zero = 0;
    assert_int_equal(ops->load(tensors, &zero, 1, NULL), VT_OK);
    ops->sample(tensors, 0, views);
    assert_int_equal(views[1].dim[0], 2);
    assert_int_equal(views[1].dim[1], 1);
    assert_int_equal(views[2].rank, 0);
    assert_int_equal(*(int64_t *)views[2].data, 16000);
    ops->close(tensors);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    static const float y[12] = {0};
    struct vt_port inputs[2] = {port2("x", VT_F32, OPEN, 1), port2("m", VT_F32, OPEN, 1)};
    struct vt_port output = port2("y", VT_F32, OPEN, 3);
    struct vt_signature signature = {inputs, &output, 2, 1};
    put("x.npy", "<f4", "2, 1", y, 8);
    put("y.npy", "<f4", "2, 3", y, 24);
    const char *in[] = {named("x", "x.npy")}, *out[] = {named("y", "y.npy")};
    struct vt_workload_config config = {
        .inputs = in, .n_inputs = 1, .expects = out, .n_expects = 1};
    uint64_t all[2] = {0, 1};
    bool done = false;
    (void)vt_topology();
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        void *tensors = NULL;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = ops->open(&config, &signature, &err, &tensors);
        if (status == VT_OK) {
            status = ops->load(tensors, all, 2, &err);
        }
        done = status == VT_OK;
        ops->close(tensors);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_int_equal(err.status, done ? VT_OK : VT_ERR_MEMORY);
        assert_true(allowed < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half),          cmocka_unit_test(test_random),
        cmocka_unit_test(test_generated),     cmocka_unit_test(test_open_extents),
        cmocka_unit_test(test_batch),         cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_refused), cmocka_unit_test(test_no_batch),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
