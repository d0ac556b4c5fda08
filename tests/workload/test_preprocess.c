/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes and their effect: options, the file beside a model, geometry, values, layouts. */
#include "workload/preprocess.h"

#include <math.h>

#include "fixture.h"
#include "workload/resize.h"

static struct vt_image gradient(uint32_t width, uint32_t height)
{
    struct vt_image image = {0};
    assert_int_equal(vt_image_resize_buffer(&image, width, height, NULL), VT_OK);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            uint8_t *p = image.rgb + ((size_t)y * width + x) * 3;
            p[0] = (uint8_t)x;
            p[1] = (uint8_t)y;
            p[2] = (uint8_t)(x + y);
        }
    }
    return image;
}

/* The recipe of a config, on a port; the status of the first step that fails. */
static enum vt_status build(const struct vt_workload_config *config, struct vt_port port,
                            struct vt_error *err, struct vt_preprocess *ret)
{
    struct one_to_one model;
    struct vt_recipe recipe;
    struct vt_image_port found;
    const struct vt_signature *signature = one_to_one(&model, port, port2("y", VT_F32, OPEN, 10));
    enum vt_status status = vt_recipe_open(config, err, &recipe);
    if (status != VT_OK) {
        return status;
    }
    status = vt_image_port_find(signature, &recipe, err, &found);
    if (status == VT_OK) {
        status = vt_preprocess_init(&recipe, &found, err, ret);
    }
    vt_recipe_release(&recipe);
    return status;
}

static void test_ports(void **state)
{
    (void)state;
    struct vt_workload_config config = {0};
    struct vt_preprocess made;
    int64_t dim[VT_RANK_MAX];
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 3, 20, 30), NULL, &made), VT_OK);
    assert_false(made.port.channels_last);
    assert_int_equal(made.port.height, 20);
    assert_int_equal(made.port.width, 30);
    assert_int_equal(vt_image_port_shape(&made.port, dim), 4);
    assert_memory_equal(dim, ((int64_t[]){1, 3, 20, 30}), 32);
    assert_int_equal(build(&config, port4("x", VT_U8, 1, 20, 30, 1), NULL, &made), VT_OK);
    assert_true(made.port.channels_last);
    assert_int_equal(vt_image_port_shape(&made.port, dim), 4);
    assert_memory_equal(dim, ((int64_t[]){1, 20, 30, 1}), 32);
    /* Open extents: 224, or what the recipe says. */
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 3, OPEN, OPEN), NULL, &made), VT_OK);
    assert_true(made.port.open);
    assert_int_equal(made.port.width, 224);
    config.crop = "64x48";
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, OPEN, OPEN, OPEN), NULL, &made),
                     VT_OK);
    assert_int_equal(made.port.channels, 3);
    assert_int_equal(made.port.width, 64);
    assert_int_equal(made.port.height, 48);
    config.crop = NULL;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(build(&config, port4("x", VT_F32, 8, 3, 20, 30), &err, &made),
                     VT_ERR_UNSUPPORTED);
    assert_error(&err, VT_ERR_UNSUPPORTED, "8x3x20x30", "tensor");
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 4, 20, 30), NULL, &made),
                     VT_ERR_UNSUPPORTED);
    assert_int_equal(build(&config, port4("x", VT_I64, OPEN, 3, 20, 30), NULL, &made),
                     VT_ERR_UNSUPPORTED);
    assert_int_equal(build(&config, port2("x", VT_F32, OPEN, 30), NULL, &made), VT_ERR_UNSUPPORTED);
}

static void test_layouts(void **state)
{
    (void)state;
    struct vt_image image = gradient(4, 2);
    struct vt_preprocess made;
    struct vt_preprocess_scratch scratch = {0};
    struct vt_workload_config config = {0};
    float planes[24];
    uint8_t packed[24];
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 3, 2, 4), NULL, &made), VT_OK);
    assert_int_equal(vt_preprocess_bytes(&made), sizeof planes);
    assert_int_equal(vt_preprocess_apply(&made, &image, &scratch, NULL, planes), VT_OK);
    config.channels = "bgr";
    assert_int_equal(build(&config, port4("x", VT_U8, OPEN, 2, 4, 3), NULL, &made), VT_OK);
    assert_int_equal(vt_preprocess_bytes(&made), sizeof packed);
    assert_int_equal(vt_preprocess_apply(&made, &image, &scratch, NULL, packed), VT_OK);
    for (int y = 0; y < 2; y++) {
        for (int x = 0; x < 4; x++) {
            int at = y * 4 + x;
            assert_near((double)planes[at], x, 0);
            assert_near((double)planes[8 + at], y, 0);
            assert_near((double)planes[16 + at], x + y, 0);
            assert_int_equal(packed[3 * at], x + y);
            assert_int_equal(packed[3 * at + 1], y);
            assert_int_equal(packed[3 * at + 2], x);
        }
    }
    /* Luma of a pure colour: 0.299 R, 0.587 G, 0.114 B. */
    memcpy(image.rgb, (uint8_t[]){255, 0, 0, 0, 255, 0, 0, 0, 255, 200, 200, 200}, 12);
    config.channels = NULL;
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 1, 2, 4), NULL, &made), VT_OK);
    assert_int_equal(vt_preprocess_apply(&made, &image, &scratch, NULL, planes), VT_OK);
    assert_near((double)planes[0], 76, 0);
    assert_near((double)planes[1], 150, 0);
    assert_near((double)planes[2], 29, 0);
    assert_near((double)planes[3], 200, 0);
    vt_preprocess_scratch_release(&scratch);
    vt_image_release(&image);
}

/* The value of a pixel of `v` in channel c of a 1x1 picture. */
static double value_of(const struct vt_workload_config *config, uint8_t v, int c)
{
    struct vt_preprocess made;
    assert_int_equal(build(config, port4("x", VT_F32, OPEN, 3, 1, 1), NULL, &made), VT_OK);
    struct vt_image image = gradient(1, 1);
    struct vt_preprocess_scratch scratch = {0};
    float values[3];
    memset(image.rgb, v, 3);
    assert_int_equal(vt_preprocess_apply(&made, &image, &scratch, NULL, values), VT_OK);
    vt_preprocess_scratch_release(&scratch);
    vt_image_release(&image);
    return (double)values[c];
}

static void test_values(void **state)
{
    (void)state;
    struct vt_workload_config config = {0};
    assert_near(value_of(&config, 137, 0), 137, 0);
    config.preprocess = "raw";
    assert_near(value_of(&config, 255, 2), 255, 0);
    config.preprocess = "imagenet";
    assert_near(value_of(&config, 137, 0), (137 / 255.0 - 0.485) / 0.229, 1e-6);
    assert_near(value_of(&config, 137, 1), (137 / 255.0 - 0.456) / 0.224, 1e-6);
    assert_near(value_of(&config, 137, 2), (137 / 255.0 - 0.406) / 0.225, 1e-6);
    config.preprocess = "tf";
    assert_near(value_of(&config, 0, 0), -1, 0);
    assert_near(value_of(&config, 255, 0), 1, 1e-7);
    config.preprocess = NULL;
    config.mean = "123.68,116.78,103.94";
    assert_near(value_of(&config, 137, 1), 137 - 116.78, 1e-5);
    config.channels = "bgr"; /* the mean stays with its colour */
    assert_near(value_of(&config, 137, 0), 137 - 103.94, 1e-5);
    config.channels = NULL;
    config.mean = "10";
    config.std = "4";
    config.scale = "2";
    assert_near(value_of(&config, 7, 2), (7 * 2 - 10) / 4.0, 0);
    /* Over a preset, key by key. */
    config = (struct vt_workload_config){.preprocess = "imagenet", .std = "1"};
    assert_near(value_of(&config, 255, 0), 1 - 0.485, 1e-6);
}

static void test_bad_values(void **state)
{
    (void)state;
    static const struct {
        struct vt_workload_config config;
        const char *option, *word;
    } bad[] = {
        {{.preprocess = "imagnet"}, "--preprocess 'imagnet'", "imagenet or tf"},
        {{.mean = "1,2"}, "--mean '1,2'", "three"},
        {{.mean = "1,2,3,4"}, "--mean", "three"},
        {{.mean = ""}, "--mean", "three"},
        {{.mean = "a"}, "--mean 'a'", "three"},
        {{.mean = "nan"}, "--mean", "three"},
        {{.std = "0"}, "--std '0'", "above 0"},
        {{.std = "1,-1,1"}, "--std", "above 0"},
        {{.scale = "0"}, "--scale '0'", "other than 0"},
        {{.channels = "RGB"}, "--channels 'RGB'", "rgb or bgr"},
        {{.resize = "0"}, "--resize '0'", "WxH"},
        {{.resize = "12y"}, "--resize '12y'", "WxH"},
        {{.resize = "224x"}, "--resize '224x'", "WxH"},
        {{.resize = "99999999999"}, "--resize", "WxH"},
        {{.crop = "0"}, "--crop '0'", "fraction"},
        {{.crop = "1.5"}, "--crop '1.5'", "fraction"},
        {{.crop = "-3"}, "--crop '-3'", "fraction"},
        {{.label_offset = "one"}, "--label-offset 'one'", "whole number"},
        {{.label_offset = "9999999999"}, "--label-offset", "whole number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_preprocess made;
        (void)build(&bad[i].config, port4("x", VT_F32, OPEN, 3, 8, 8), &err, &made);
        assert_error(&err, VT_ERR_USAGE, bad[i].option, bad[i].word);
    }
    struct vt_error err = VT_ERROR_INIT;
    struct vt_preprocess made;
    struct vt_workload_config config = {.preprocess = "imagenet"};
    (void)build(&config, port4("x", VT_U8, OPEN, 3, 8, 8), &err, &made);
    assert_error(&err, VT_ERR_USAGE, "uint8", "--mean");
    err = (struct vt_error)VT_ERROR_INIT;
    (void)build(&config, port4("x", VT_F32, OPEN, 1, 8, 8), &err, &made);
    assert_error(&err, VT_ERR_USAGE, "one channel", "--mean");
}

/* Position of the picture's corner for a recipe, from a gradient of 100 x 60. */
static void corner(const char *resize, const char *crop, double *ret_x, double *ret_y)
{
    struct vt_workload_config config = {.resize = resize, .crop = crop};
    struct vt_preprocess made;
    struct vt_preprocess_scratch scratch = {0};
    struct vt_image image = gradient(100, 60);
    float values[3 * 20 * 20];
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 3, 20, 20), NULL, &made), VT_OK);
    assert_int_equal(vt_preprocess_apply(&made, &image, &scratch, NULL, values), VT_OK);
    *ret_x = (double)values[0];
    *ret_y = (double)values[400];
    vt_preprocess_scratch_release(&scratch);
    vt_image_release(&image);
}

static void test_geometry(void **state)
{
    (void)state;
    double x, y;
    /* Fitted: the square of 60 at 20,0; each pixel the middle of three. */
    corner(NULL, NULL, &x, &y);
    assert_near(x, 21, 0);
    assert_near(y, 1, 0);
    /* Half of it: 30 at 35,15; pixels 1.5 apart, the first between two: (0.25 rounds down). */
    corner(NULL, "0.5", &x, &y);
    assert_near(x, 35, 0);
    assert_near(y, 15, 0);
    /* 20 pixels from the middle, as they are. */
    corner(NULL, "20", &x, &y);
    assert_near(x, 40, 0);
    assert_near(y, 20, 0);
    /* Shorter side to 30 (factor 2): 50 x 30, then 20 from the middle: 15,5 there. */
    corner("30", NULL, &x, &y);
    assert_near(x, 31, 0.5);
    assert_near(y, 11, 0.5);
    /* Stretched: the whole picture; pixel 0 at (0.5 * 5 - 0.5, 0.5 * 3 - 0.5). */
    corner("20x20", NULL, &x, &y);
    assert_near(x, 2, 0);
    assert_near(y, 1, 0);
    struct vt_workload_config config = {.crop = "70"};
    struct vt_preprocess made;
    struct vt_preprocess_scratch scratch = {0};
    struct vt_image image = gradient(100, 60);
    struct vt_error err = VT_ERROR_INIT;
    float values[3 * 20 * 20];
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 3, 20, 20), NULL, &made), VT_OK);
    assert_int_equal(vt_preprocess_apply(&made, &image, &scratch, &err, values), VT_ERR_USAGE);
    assert_error(&err, VT_ERR_USAGE, "70 x 70", "100 x 60");
    vt_preprocess_scratch_release(&scratch);
    vt_image_release(&image);
}

/* Against the definition, in double precision, pixel by pixel. */
static void test_bilinear(void **state)
{
    (void)state;
    struct vt_image image = {0}, to = {0};
    uint32_t seed = 7;
    assert_int_equal(vt_image_resize_buffer(&image, 13, 9, NULL), VT_OK);
    for (size_t i = 0; i < 13 * 9 * 3; i++) {
        seed = seed * 1664525 + 1013904223;
        image.rgb[i] = (uint8_t)(seed >> 24);
    }
    static const uint32_t sizes[][2] = {{5, 4}, {13, 9}, {30, 31}, {1, 1}};
    struct vt_region region = {.x = 2, .y = 1, .width = 10, .height = 7};
    for (size_t s = 0; s < 4; s++) {
        uint32_t width = sizes[s][0], height = sizes[s][1];
        assert_int_equal(vt_image_bilinear(&image, &region, width, height, NULL, &to), VT_OK);
        for (uint32_t i = 0; i < width * height * 3; i++) {
            double sx = (i / 3 % width + 0.5) * 10 / width - 0.5;
            double sy = (i / 3 / width + 0.5) * 7 / height - 0.5;
            double sum = 0;
            for (int v = 0; v < 2; v++) {
                for (int u = 0; u < 2; u++) {
                    double px = floor(sx) + u, py = floor(sy) + v;
                    double weight = (1 - fabs(sx - px)) * (1 - fabs(sy - py));
                    px = fmin(fmax(px, 0), 9) + 2;
                    py = fmin(fmax(py, 0), 6) + 1;
                    sum += weight * image.rgb[((size_t)py * 13 + (size_t)px) * 3 + i % 3];
                }
            }
            assert_true(fabs(to.rgb[i] - sum) <= 0.5 + 1e-9);
        }
    }
    vt_image_release(&image);
    vt_image_release(&to);
}

static void test_centred(void **state)
{
    (void)state;
    struct vt_image image = {.width = 500, .height = 375};
    struct vt_region region = vt_region_centred(&image, 224, 224, 0.875);
    assert_int_equal(region.width, 328);
    assert_int_equal(region.height, 328);
    assert_int_equal(region.x, 86);
    assert_int_equal(region.y, 23);
    region = vt_region_centred(&image, 300, 100, 1);
    assert_int_equal(region.width, 500);
    assert_int_equal(region.height, 167);
    image = (struct vt_image){.width = 1, .height = 1000};
    region = vt_region_centred(&image, 1000, 1, 0.01);
    assert_int_equal(region.width, 1);
    assert_int_equal(region.height, 1);
}

static void test_model_file(void **state)
{
    (void)state;
    char folder[64], model[128];
    struct vt_preprocess made;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_workload_config config = {.model_path = model};
    struct vt_port port = port4("x", VT_F32, OPEN, 3, 1, 1);
    scratch_make(folder);
    (void)snprintf(model, sizeof model, "%s/net.onnx", folder);
    assert_near(value_of(&config, 137, 0), 137, 0);
    write_text(folder, "net.vatio",
               "# how it was trained\n\n preprocess = raw\r\nmean = 7,8,9\n"
               "; more\nlabel-offset=-1");
    assert_near(value_of(&config, 137, 0), 130, 0);
    assert_int_equal(build(&config, port, NULL, &made), VT_OK);
    assert_int_equal(made.label_offset, -1);
    /* The command line wins, key by key. */
    config.mean = "1";
    assert_near(value_of(&config, 137, 0), 136, 0);
    config.mean = NULL;
    static const struct {
        const char *text, *where, *word;
        enum vt_status status;
    } bad[] = {
        {"mean = 1\nmeen = 2\n", "net.vatio:2", "'mean'", VT_ERR_FORMAT},
        {"nothing like it = 1\n", "net.vatio:1", "unknown key", VT_ERR_FORMAT},
        {"[section]\n", "net.vatio:1", "key = value", VT_ERR_FORMAT},
        {"mean\n", "net.vatio:1", "key = value", VT_ERR_FORMAT},
        {"mean=1\nmean=2\n", "net.vatio:2", "twice", VT_ERR_FORMAT},
        {"\nmean=x\n", "net.vatio:2: mean 'x'", "one number", VT_ERR_USAGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err = (struct vt_error)VT_ERROR_INIT;
        write_text(folder, "net.vatio", bad[i].text);
        assert_int_equal(build(&config, port, &err, &made), bad[i].status);
        assert_error(&err, bad[i].status, bad[i].where, bad[i].word);
    }
    (void)snprintf(model, sizeof model, "%s/net2.onnx", folder);
    write_text(folder, "net2.onnx.vatio", "scale = 2\n");
    assert_near(value_of(&config, 50, 0), 100, 0);
    scratch_remove(folder);
}

static void test_text(void **state)
{
    (void)state;
    struct vt_workload_config config = {0};
    struct vt_preprocess made;
    char text[128];
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 3, 32, 32), NULL, &made), VT_OK);
    vt_preprocess_text(&made, text, sizeof text);
    assert_string_equal(text, "fitted to 32x32, raw 0..255 RGB");
    config =
        (struct vt_workload_config){.preprocess = "imagenet", .resize = "256", .channels = "bgr"};
    assert_int_equal(build(&config, port4("x", VT_F32, OPEN, 3, 224, 224), NULL, &made), VT_OK);
    vt_preprocess_text(&made, text, sizeof text);
    assert_string_equal(text, "shorter side to 256, centre crop 0.875, fitted to 224x224, "
                              "normalised for ImageNet BGR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports),    cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_geometry), cmocka_unit_test(test_bilinear),
        cmocka_unit_test(test_centred),  cmocka_unit_test(test_model_file),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
