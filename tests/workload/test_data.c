/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against the real data that VATIO_TEST_DATA names: decoding and scaling of photographs, the inputs
 * of resnet8, the tensors of the reference outputs, and the data set as a user names it.
 */
#include "fixture.h"
#include "workload/image.h"
#include "workload/registry.h"
#include "workload/resize.h"
#include "workload/tensor_file.h"

static const char *data;

static char *path_of(const char *fmt, ...) VT_PRINTF(1, 2);
static char *path_of(const char *fmt, ...)
{
    static char text[4][512];
    static int next;
    char part[300];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(part, sizeof part, fmt, args);
    va_end(args);
    next = (next + 1) % 4;
    (void)snprintf(text[next], sizeof text[next], "%s/%s", data, part);
    return text[next];
}

static void decode_file(struct vt_image_decoder *decoder, const char *path, struct vt_image *image)
{
    size_t n;
    struct vt_error err = VT_ERROR_INIT;
    uint8_t *bytes = read_bytes(path, &n);
    if (vt_image_decode(decoder, path, bytes, n, &err, image) != VT_OK) {
        fail_msg("%s", err.text);
    }
    free(bytes);
}

static struct vt_tensor_file open_tensor(const char *path)
{
    struct vt_tensor_file file;
    struct vt_error err = VT_ERROR_INIT;
    if (vt_tensor_file_open(path, &err, &file) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return file;
}

/* Largest and mean difference of bytes. */
static void assert_pixels(const uint8_t *found, const struct vt_tensor *expected, int most,
                          double mean)
{
    const uint8_t *b = expected->data;
    double sum = 0;
    int worst = 0;
    for (size_t i = 0; i < expected->bytes; i++) {
        int difference = abs(found[i] - b[i]);
        sum += difference;
        worst = difference > worst ? difference : worst;
    }
    sum /= (double)expected->bytes;
    if (worst > most || sum > mean) {
        fail_msg("pixels differ by %d at most and %g in the mean", worst, sum);
    }
}

/* Size and mean colour of a hundred photographs. */
static void test_decode_all(void **state)
{
    (void)state;
    struct vt_image_decoder *decoder = NULL;
    struct vt_image image = {0};
    char line[512];
    int n = 0;
    FILE *list = fopen(path_of("classification/imagenet_sample/expected/decode.txt"), "r");
    assert_non_null(list);
    assert_int_equal(vt_image_decoder_new(NULL, &decoder), VT_OK);
    while (fgets(line, sizeof line, list) != NULL) {
        char name[200];
        unsigned width, height, components;
        double r, g, b, sum[3] = {0};
        char sampling[64];
        if (sscanf(line, "%199s %u %u %u %63s %lf %lf %lf", name, &width, &height, &components,
                   sampling, &r, &g, &b) != 8) {
            continue;
        }
        decode_file(decoder, path_of("classification/imagenet_sample/%s", name), &image);
        assert_int_equal(image.width, width);
        assert_int_equal(image.height, height);
        for (size_t i = 0; i < (size_t)width * height * 3; i++) {
            sum[i % 3] += image.rgb[i];
        }
        double pixels = (double)width * height;
        assert_near(sum[0] / pixels, r, 0.01);
        assert_near(sum[1] / pixels, g, 0.01);
        assert_near(sum[2] / pixels, b, 0.01);
        n++;
    }
    (void)fclose(list);
    vt_image_release(&image);
    vt_image_decoder_free(decoder);
    assert_int_equal(n, 100);
}

/* Whole pictures, and centre crops scaled to 224 x 224. */
static void test_pixels(void **state)
{
    (void)state;
    struct vt_image_decoder *decoder = NULL;
    struct vt_image image = {0}, scaled = {0};
    char line[256];
    int n = 0;
    FILE *list = fopen(path_of("classification/imagenet_sample/expected/resize224.txt"), "r");
    assert_non_null(list);
    assert_int_equal(vt_image_decoder_new(NULL, &decoder), VT_OK);
    while (fgets(line, sizeof line, list) != NULL) {
        char array[100], name[100];
        int number;
        assert_int_equal(sscanf(line, "%99s %99s", array, name), 2);
        assert_int_equal(sscanf(array, "resize224_%d", &number), 1);
        decode_file(decoder, path_of("classification/imagenet_sample/%s", name), &image);
        if (number == 0 || number == 5) {
            struct vt_tensor_file file = open_tensor(
                path_of("classification/imagenet_sample/expected/decode_%d_rgb_u8.npy", number));
            assert_int_equal(file.tensor.dim[0], image.height);
            assert_int_equal(file.tensor.dim[1], image.width);
            assert_pixels(image.rgb, &file.tensor, 0, 0);
            vt_tensor_file_release(&file);
        }
        struct vt_tensor_file file =
            open_tensor(path_of("classification/imagenet_sample/expected/%s", array));
        struct vt_region region = vt_region_centred(&image, 224, 224, 0.875);
        assert_int_equal(vt_image_bilinear(&image, &region, 224, 224, NULL, &scaled), VT_OK);
        assert_int_equal(file.tensor.bytes, 224 * 224 * 3);
        /* Where the exact value is x.5, that of floating-point arithmetic falls either way. */
        assert_pixels(scaled.rgb, &file.tensor, 1, 1e-3);
        vt_tensor_file_release(&file);
        n++;
    }
    (void)fclose(list);
    vt_image_release(&image);
    vt_image_release(&scaled);
    vt_image_decoder_free(decoder);
    assert_int_equal(n, 7);
}

/* ---- resnet8 --------------------------------------------------------------------------------- */

static struct one_to_one resnet8;

static const struct vt_signature *resnet8_signature(void)
{
    return one_to_one(&resnet8, port4("input", VT_F32, OPEN, 3, 32, 32),
                      port2("output", VT_F32, OPEN, 10));
}

static void *open_images(const char *dataset, struct vt_workload_info *ret_info)
{
    struct vt_workload_config config = {.dataset = dataset};
    const struct vt_workload_ops *ops = vt_workload_guess(&config, resnet8_signature());
    struct vt_error err = VT_ERROR_INIT;
    void *images = NULL;
    assert_string_equal(ops->name, "image-classification");
    if (ops->open(&config, &resnet8.signature, &err, &images) != VT_OK) {
        fail_msg("%s", err.text);
    }
    ops->info(images, ret_info);
    return images;
}

static const struct vt_workload_ops *images_ops(void)
{
    return vt_workload_find("image-classification");
}

/* The stored inputs, out of the map's order. */
static void test_resnet8_input(void **state)
{
    (void)state;
    const struct vt_workload_ops *ops = images_ops();
    struct vt_tensor_file file =
        open_tensor(path_of("classification/expected/resnet8_input_0.npy"));
    struct vt_workload_info info;
    void *images = open_images(path_of("classification"), &info);
    char line[128], entry[128];
    size_t n = 0;
    FILE *list = fopen(path_of("classification/expected/resnet8_input_0.txt"), "r");
    assert_non_null(list);
    assert_int_equal(info.total_count, 2000);
    assert_true(info.has_quality);
    while (fgets(line, sizeof line, list) != NULL) {
        uint64_t index = 0;
        line[strcspn(line, "\r\n")] = '\0';
        FILE *map = fopen(path_of("classification/val_map.txt"), "r");
        assert_non_null(map);
        while (fgets(entry, sizeof entry, map) != NULL && strncmp(entry, line, strlen(line)) != 0) {
            index++;
        }
        (void)fclose(map);
        struct vt_tensor tensor;
        assert_int_equal(ops->load(images, &index, 1, NULL), VT_OK);
        ops->sample(images, index, &tensor);
        assert_int_equal(tensor.bytes, 3 * 32 * 32 * 4);
        assert_memory_equal(tensor.data, (uint8_t *)file.tensor.data + n * tensor.bytes,
                            tensor.bytes);
        ops->unload(images, &index, 1);
        n++;
    }
    (void)fclose(list);
    assert_int_equal(n, 8);
    vt_tensor_file_release(&file);
    ops->close(images);
}

/* One folder a class, scored with the stored predictions: 1528 of 2000. */
static void test_resnet8_accuracy(void **state)
{
    (void)state;
    const struct vt_workload_ops *ops = images_ops();
    struct vt_workload_info info;
    void *images = open_images(path_of("classification/test"), &info);
    static struct vt_response responses[2000];
    static int32_t classes[2000];
    struct vt_quality quality;
    char path[200];
    size_t n = 0;
    int label, predicted;
    FILE *list = fopen(path_of("classification/expected/resnet8_predictions.txt"), "r");
    assert_non_null(list);
    assert_int_equal(info.total_count, 2000);
    assert_non_null(strstr(info.description, "labels.txt"));
    assert_non_null(strstr(info.description, "raw 0..255 RGB"));
    while (n < 2000 && fscanf(list, "%199s %d %d %*f", path, &label, &predicted) == 3) {
        unsigned number;
        const char *slash = strrchr(path, '/');
        assert_int_equal(sscanf(slash + 1, "%u", &number), 1);
        /* The classes alternate, in the order of labels.txt. */
        uint64_t index = (uint64_t)number * 10 + (uint64_t)label;
        classes[n] = predicted;
        responses[n] = (struct vt_response){index, &classes[n], sizeof classes[n]};
        n++;
    }
    (void)fclose(list);
    assert_int_equal(n, 2000);
    assert_int_equal(ops->score(images, responses, 2000, NULL, &quality), VT_OK);
    assert_near(quality.value, 76.4, 1e-9);
    assert_int_equal(quality.count, 2000);
    ops->close(images);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Every stored reference array opens, and as float32 or uint8. */
static void test_arrays(void **state)
{
    (void)state;
    static const char *const names[] = {"detection/expected/fastestdet_input_0.npy",
                                        "detection/expected/fastestdet_output_0.npy",
                                        "segmentation/expected/meshnet5_input_1.npy",
                                        "speech/expected/silero_vad_16k_step0_state.npy",
                                        "detection/expected/fastestdet_input_1_rgb_u8.npy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct vt_tensor_file file = open_tensor(path_of("%s", names[i]));
        assert_true(file.tensor.dtype == VT_F32 || file.tensor.dtype == VT_U8);
        vt_tensor_file_release(&file);
    }
}

/* The conformance input is i / 150528 for element i, and its reference is 0.001 everywhere. */
static void test_protos(void **state)
{
    (void)state;
    struct vt_tensor_file file = open_tensor(path_of("conformance/light/input_0.pb"));
    assert_int_equal(file.tensor.dtype, VT_F32);
    assert_int_equal(file.tensor.rank, 4);
    assert_int_equal(file.tensor.bytes, 150528 * 4);
    for (size_t i = 0; i < 150528; i++) {
        assert_near((double)((float *)file.tensor.data)[i], (double)i / 150528, 1e-7);
    }
    vt_tensor_file_release(&file);
    file = open_tensor(path_of("conformance/light/light_resnet50_output_0.pb"));
    assert_int_equal(file.tensor.dim[1], 1000);
    assert_near((double)((float *)file.tensor.data)[999], 0.001, 1e-6);
    vt_tensor_file_release(&file);
}

/* meshnet5: all extents open; the file decides, the batch stays. */
static void test_meshnet5_shapes(void **state)
{
    (void)state;
    struct one_to_one model;
    struct vt_port input = {.name = "input",
                            .dtype = VT_F32,
                            .rank = 5,
                            .dim = {-1, 1, -1, -1, -1},
                            .symbol = {"N", NULL, "D", "H", "W"}};
    struct vt_port output = input;
    output.name = "output";
    output.dim[1] = 3;
    const struct vt_signature *signature = one_to_one(&model, input, output);
    const struct vt_workload_ops *ops = vt_workload_find("tensor");
    char in[600], out[600];
    (void)snprintf(in, sizeof in, "input=%s",
                   path_of("segmentation/expected/meshnet5_input_1.npy"));
    (void)snprintf(out, sizeof out, "output=%s",
                   path_of("segmentation/expected/meshnet5_output_1.npy"));
    const char *ins[] = {in}, *outs[] = {out};
    struct vt_workload_config config = {
        .inputs = ins, .n_inputs = 1, .expects = outs, .n_expects = 1, .rtol = 1e-3, .atol = 1e-4};
    struct vt_shape_binding shapes[8];
    struct vt_error err = VT_ERROR_INIT;
    uint32_t n = 0;
    assert_int_equal(ops->shapes(&config, signature, NULL, shapes, 8, &n), VT_OK);
    assert_int_equal(n, 3);
    assert_string_equal(shapes[0].name, "D");
    assert_int_equal(shapes[0].dim[0], 24);
    assert_int_equal(shapes[2].dim[0], 40);
    void *tensors = NULL;
    if (ops->open(&config, signature, &err, &tensors) != VT_OK) {
        fail_msg("%s", err.text);
    }
    /* What is expected, handed in as what was found. */
    struct vt_tensor_file file =
        open_tensor(path_of("segmentation/expected/meshnet5_output_1.npy"));
    uint8_t response[VT_RESPONSE_MAX];
    struct vt_response responses[1] = {{.data = response}};
    struct vt_quality quality;
    assert_int_equal(ops->finish(tensors, 0, &file.tensor, 1, response, &responses[0].bytes, NULL),
                     VT_OK);
    assert_int_equal(ops->score(tensors, responses, 1, NULL, &quality), VT_OK);
    assert_true(quality.pass);
    vt_tensor_file_release(&file);
    ops->close(tensors);
}

int main(void)
{
    data = vt_test_data_or_skip();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_all),      cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_resnet8_input),   cmocka_unit_test(test_resnet8_accuracy),
        cmocka_unit_test(test_arrays),          cmocka_unit_test(test_protos),
        cmocka_unit_test(test_meshnet5_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
