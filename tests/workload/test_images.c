/* SPDX-License-Identifier: Apache-2.0 */
/* The image-classification workload over folders made here: life, bad files, score. */
#include "base/topology.h"
#include "pictures.h"
#include "vt_torture.h"
#include "workload/registry.h"

static const struct vt_workload_ops *ops;
static char folder[64];
static struct one_to_one model;
static const struct vt_signature *signature;

/* Twelve pictures of three classes: the red value tells which, 100 + 10 * class + number. */
static int set_up(void **state)
{
    (void)state;
    ops = vt_workload_find("image-classification");
    scratch_make(folder);
    for (int class = 0; class < 3; class ++) {
        for (int i = 0; i < 4; i++) {
            char name[64];
            struct bytes file = jpeg_flat(8, 8, (uint8_t)(100 + 10 * class + i), 50, 50);
            (void)snprintf(name, sizeof name, "%c/%d.jpg", 'a' + class, i);
            write_bytes(folder, name, file.data, file.size);
            free(file.data);
        }
    }
    signature = one_to_one(&model, port4("x", VT_F32, OPEN, 3, 8, 8), port2("y", VT_F32, OPEN, 3));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static void *open_ok(const struct vt_workload_config *config)
{
    void *images = NULL;
    struct vt_error err = VT_ERROR_INIT;
    if (ops->open(config, signature, &err, &images) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return images;
}

static void assert_refused(const struct vt_workload_config *config, enum vt_status status,
                           const char *word, const char *other)
{
    void *images = NULL;
    struct vt_error err = VT_ERROR_INIT;
    (void)ops->open(config, signature, &err, &images);
    assert_error(&err, status, word, other);
    assert_null(images);
}

/* The red value of a loaded sample. */
static int red(void *images, uint64_t index)
{
    struct vt_tensor tensor;
    ops->sample(images, index, &tensor);
    assert_int_equal(tensor.rank, 4);
    assert_int_equal(tensor.dim[0], 1);
    assert_int_equal(tensor.dim[1], 3);
    assert_int_equal(tensor.bytes, 8 * 8 * 3 * 4);
    return (int)((float *)tensor.data)[0];
}

/* finish() of outputs that say `class`. */
static int32_t answer(void *images, uint64_t index, int class)
{
    float scores[3] = {0, 0, 0};
    struct vt_tensor output = {
        .dtype = VT_F32, .rank = 2, .dim = {1, 3}, .data = scores, .bytes = sizeof scores};
    uint8_t response[VT_RESPONSE_MAX];
    size_t bytes = 0;
    int32_t found;
    scores[class] = 0.5f;
    assert_int_equal(ops->finish(images, index, &output, 1, response, &bytes, NULL), VT_OK);
    assert_int_equal(bytes, sizeof found);
    memcpy(&found, response, sizeof found);
    return found;
}

static void test_life(void **state)
{
    (void)state;
    struct vt_workload_config config = {.dataset = folder};
    struct vt_workload_info info;
    void *images = open_ok(&config);
    uint64_t all[12];
    ops->info(images, &info);
    assert_int_equal(info.total_count, 12);
    assert_int_equal(info.performance_count, 12);
    assert_true(info.has_quality);
    assert_string_equal(info.description, "12 images (3 class folders in the order of their names),"
                                          " fitted to 8x8, raw 0..255 RGB");
    for (uint64_t i = 0; i < 12; i++) {
        all[i] = i;
    }
    assert_int_equal(ops->load(images, all, 12, NULL), VT_OK);
    for (uint64_t i = 0; i < 12; i++) {
        /* Classes alternate. */
        assert_in_range(red(images, i), 100 + 10 * (i % 3) + i / 3 - 1,
                        100 + 10 * (i % 3) + i / 3 + 1);
    }
    struct vt_tensor before, after;
    ops->sample(images, 5, &before);
    ops->unload(images, all, 5);
    assert_int_equal(ops->load(images, all, 12, NULL), VT_OK);
    ops->sample(images, 5, &after);
    assert_ptr_equal(before.data, after.data);
    ops->unload(images, all, 12);
    struct vt_error err = VT_ERROR_INIT;
    uint64_t pair[2] = {0, 12};
    assert_int_equal(ops->load(images, pair, 2, &err), VT_ERR_USAGE);
    assert_error(&err, VT_ERR_USAGE, "12 of 12", "");
    ops->close(images);
}

static void test_score(void **state)
{
    (void)state;
    struct vt_workload_config config = {.dataset = folder, .sample_count = 10};
    void *images = open_ok(&config);
    struct vt_response responses[10];
    int32_t classes[10];
    struct vt_quality quality;
    for (uint64_t i = 0; i < 10; i++) {
        classes[i] = answer(images, i, i < 7 ? (int)(i % 3) : (int)((i + 1) % 3));
        responses[i] = (struct vt_response){i, &classes[i], sizeof classes[i]};
    }
    assert_int_equal(ops->score(images, responses, 10, NULL, &quality), VT_OK);
    assert_string_equal(quality.metric, "top-1");
    assert_string_equal(quality.unit, "%");
    assert_near(quality.value, 70, 1e-12);
    assert_false(quality.has_target);
    assert_true(quality.pass);
    assert_int_equal(quality.count, 10);
    assert_string_equal(quality.detail, "on 10 images");
    ops->close(images);
}

static void test_options(void **state)
{
    (void)state;
    struct vt_workload_config config = {0};
    struct vt_workload_info info;
    assert_refused(&config, VT_ERR_USAGE, "--dataset", "val_map.txt");
    config.dataset = "/nowhere";
    assert_refused(&config, VT_ERR_NOT_FOUND, "/nowhere", "");
    config = (struct vt_workload_config){.dataset = folder, .label_offset = "1"};
    assert_refused(&config, VT_ERR_USAGE, "label 2", "--label-offset");
    config = (struct vt_workload_config){.dataset = folder, .preprocess = "x"};
    assert_refused(&config, VT_ERR_USAGE, "--preprocess", "imagenet");
    config =
        (struct vt_workload_config){.dataset = folder, .sample_count = 5, .performance_count = 2};
    void *images = open_ok(&config);
    ops->info(images, &info);
    assert_int_equal(info.total_count, 5);
    assert_int_equal(info.performance_count, 2);
    ops->close(images);
}

static void test_bad_files(void **state)
{
    (void)state;
    char set[64], path[128];
    struct vt_workload_config config = {.dataset = set};
    struct vt_workload_info info;
    struct bytes good = jpeg_flat(8, 8, 100, 50, 50);
    scratch_make(set);
    for (int i = 0; i < 40; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%02d.jpg", i);
        write_bytes(set, name, good.data, good.size);
    }
    write_text(set, "20.jpg", "this is no picture");
    write_text(set, "30.jpg", "nor this");
    (void)snprintf(path, sizeof path, "%s/20.jpg", set);
    /* The first one is named, whatever the threads do. */
    for (int i = 0; i < 10; i++) {
        assert_refused(&config, VT_ERR_FORMAT, path, "neither");
    }
    config.skip_bad = true;
    void *images = open_ok(&config);
    ops->info(images, &info);
    assert_int_equal(info.total_count, 38);
    assert_int_equal(info.skipped, 2);
    assert_false(info.has_quality);
    ops->close(images);
    /* Nothing but bad files. */
    scratch_remove(set);
    assert_int_equal(mkdir(set, 0755), 0);
    write_text(set, "0.jpg", "");
    assert_refused(&config, VT_ERR_FORMAT, set, "none of the 1 images");
    scratch_remove(set);
    free(good.data);
}

/* Good headers, but what follows is cut off: seen by load(). */
static void test_late_failure(void **state)
{
    (void)state;
    char set[64];
    struct vt_workload_config config = {.dataset = set};
    struct vt_workload_info info;
    struct vt_error err = VT_ERROR_INIT;
    struct bytes good = jpeg_flat(64, 64, 100, 50, 50);
    scratch_make(set);
    write_bytes(set, "0.jpg", good.data, good.size);
    write_bytes(set, "1.jpg", good.data, good.size - 30);
    write_bytes(set, "2.jpg", good.data, good.size);
    write_text(set, "val_map.txt", "0.jpg 0\n1.jpg 1\n2.jpg 2\n");
    free(good.data);
    uint64_t all[3] = {0, 1, 2};
    void *images = open_ok(&config);
    assert_int_equal(ops->load(images, all, 3, &err), VT_ERR_FORMAT);
    assert_error(&err, VT_ERR_FORMAT, "/1.jpg: ", "remature");
    ops->close(images);
    config.skip_bad = true;
    images = open_ok(&config);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(ops->load(images, all, 3, NULL), VT_OK);
        ops->info(images, &info);
        assert_int_equal(info.total_count, 3);
        assert_int_equal(info.skipped, 1);
        assert_int_equal(red(images, 1), 0);
        assert_in_range(red(images, 2), 98, 102);
        ops->unload(images, all, 3);
    }
    struct vt_response responses[3];
    int32_t classes[3] = {0, 1, 1};
    struct vt_quality quality;
    for (uint64_t i = 0; i < 3; i++) {
        responses[i] = (struct vt_response){i, &classes[i], 4};
    }
    assert_int_equal(ops->score(images, responses, 3, NULL, &quality), VT_OK);
    assert_int_equal(quality.count, 2);
    assert_near(quality.value, 50, 0);
    assert_string_equal(quality.detail, "on 2 images, 1 unreadable ones left out");
    ops->close(images);
    scratch_remove(set);
}

static void test_shapes(void **state)
{
    (void)state;
    struct one_to_one other;
    struct vt_shape_binding shapes[8];
    uint32_t n = 0;
    struct vt_port port = port4("x", VT_F32, OPEN, 3, OPEN, OPEN);
    port.symbol[2] = "height";
    port.symbol[3] = "width";
    struct vt_workload_config config = {.dataset = folder, .resize = "48x32"};
    const struct vt_signature *wanted = one_to_one(&other, port, port2("y", VT_F32, OPEN, 3));
    assert_int_equal(ops->shapes(&config, wanted, NULL, shapes, 8, &n), VT_OK);
    assert_int_equal(n, 2);
    assert_string_equal(shapes[0].name, "height");
    assert_int_equal(shapes[0].rank, 1);
    assert_int_equal(shapes[0].dim[0], 32);
    assert_string_equal(shapes[1].name, "width");
    assert_int_equal(shapes[1].dim[0], 48);
    /* Without names the input as a whole. */
    other.input.symbol[2] = NULL;
    assert_int_equal(ops->shapes(&config, wanted, NULL, shapes, 8, &n), VT_OK);
    assert_int_equal(n, 2);
    assert_string_equal(shapes[1].name, "x");
    assert_int_equal(shapes[1].rank, 4);
    assert_memory_equal(shapes[1].dim, ((int64_t[]){1, 3, 32, 48}), 32);
    assert_int_equal(ops->shapes(&config, signature, NULL, shapes, 8, &n), VT_OK);
    assert_int_equal(n, 0);
}

static void test_guess(void **state)
{
    (void)state;
    struct one_to_one other;
    struct vt_workload_config config = {0};
    assert_string_equal(vt_workload_guess(&config, signature)->name, "tensor");
    config.dataset = folder;
    assert_ptr_equal(vt_workload_guess(&config, signature), ops);
    config.dataset = "/nowhere";
    assert_string_equal(vt_workload_guess(&config, signature)->name, "tensor");
    config.dataset = folder;
    const struct vt_signature *text =
        one_to_one(&other, port2("ids", VT_I64, OPEN, 128), port2("y", VT_F32, OPEN, 3));
    assert_string_equal(vt_workload_guess(&config, text)->name, "tensor");
}

/* Outputs of other kinds. */
static void test_outputs(void **state)
{
    (void)state;
    struct vt_port outputs[2] = {{.name = "class", .dtype = VT_I64, .rank = 1, .dim = {OPEN}},
                                 port2("scores", VT_F32, OPEN, 1001)};
    struct vt_signature several = {signature->inputs, outputs, 1, 2};
    const struct vt_signature *before = signature;
    struct vt_workload_config config = {.dataset = folder};
    uint8_t response[VT_RESPONSE_MAX];
    size_t bytes;
    int32_t class;
    int64_t found = 2;
    struct vt_tensor tensor = {.dtype = VT_I64, .rank = 1, .dim = {1}, .data = &found, .bytes = 8};
    several.n_outputs = 1;
    signature = &several;
    void *images = open_ok(&config);
    assert_int_equal(ops->finish(images, 0, &tensor, 1, response, &bytes, NULL), VT_OK);
    memcpy(&class, response, 4);
    assert_int_equal(class, 2);
    ops->close(images);
    /* Scores go before a class; half precision; NaN is never the largest. */
    several.n_outputs = 2;
    outputs[1].dtype = VT_F16;
    images = open_ok(&config);
    uint16_t half[4] = {0x3c00, 0x7e00, 0x4000, 0xc400}; /* 1, NaN, 2, -4 */
    struct vt_tensor pair[2] = {
        tensor, {.dtype = VT_F16, .rank = 2, .dim = {1, 4}, .data = half, .bytes = 8}};
    assert_int_equal(ops->finish(images, 0, pair, 2, response, &bytes, NULL), VT_OK);
    memcpy(&class, response, 4);
    assert_int_equal(class, 2);
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(ops->finish(images, 0, pair, 1, response, &bytes, &err), VT_ERR_ENGINE);
    ops->close(images);
    signature = before;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct vt_workload_config config = {.dataset = folder, .sample_count = 3};
    uint64_t all[3] = {0, 1, 2};
    bool done = false;
    (void)vt_topology();
    for (int allowed = 0; !done; allowed++) {
        struct vt_torture torture;
        struct vt_workload_info info = {.total_count = 0};
        void *images = NULL;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = ops->open(&config, signature, NULL, &images);
        if (status == VT_OK) {
            ops->info(images, &info);
            status = ops->load(images, all, 3, NULL);
        }
        /* Less memory may hide a class folder, never more. */
        done = status == VT_OK && info.total_count == 3;
        ops->close(images);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(allowed < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),          cmocka_unit_test(test_score),
        cmocka_unit_test(test_options),       cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_late_failure),  cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_guess),         cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
