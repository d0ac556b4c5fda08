/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes computed window by window, as a user of the program sees it. */
#include "vt_test.h"

#include <math.h>

#include "vatio.h"

#define WINDOW "window=16x16x16"

static void make_network(void)
{
    struct outcome outcome =
        vatio("zoo", "unet3d", "--set", "edge=16", "--set", "channels=4", "--set", "channels_max=8",
              "--set", "levels=2", "-o", "net.onnx", NULL);
    assert_int_equal(outcome.code, 0);
    outcome_free(&outcome);
}

/* Of a sample, by result.json. */
static double flops_of_sample(const char *shape)
{
    struct outcome outcome =
        vatio("run", "net.onnx", "--shape", shape, "--engine-option", WINDOW, "-s", "singlestream",
              "-d", "10ms", "--min-query-count", "1", "--json", "-o", "one", NULL);
    json_t *root = run_json(&outcome);
    json_t *flops = json_object_get(json_object_get(root, "model"), "flops_per_sample");
    assert_true(json_is_number(flops));
    const double value = json_number_value(flops);
    json_decref(root);
    outcome_free(&outcome);
    return value;
}

static void volumes_run(void **state)
{
    (void)state;
    make_network();
    struct outcome outcome = vatio("run", "net.onnx", "--shape", "input=1x1x24x19x24",
                                   "--engine-option", WINDOW, "-s", "singlestream,offline", "-d",
                                   "20ms", "-t", "2", "-l", "2", "--json", "-o", "run", NULL);
    json_t *root = run_json(&outcome);
    assert_int_equal(outcome.code, 0);
    char *text = json_dumps(root, 0);
    assert_non_null(strstr(text, "windows of 16x16x16"));
    assert_non_null(strstr(text, WINDOW)); /* what was asked for stands in the result */
    free(text);
    json_decref(root);
    outcome_free(&outcome);
}

/* Operations of a run by `vatio profile`. */
static double flops_of(const char *d, const char *h, const char *w, const char *batch)
{
    struct outcome outcome =
        vatio("profile", "net.onnx", "--shape", d, "--shape", h, "--shape", w, "--engine-option",
              WINDOW, "-t", "1", "-d", "20ms", "-b", batch, "--json", "-o", "profile", NULL);
    json_t *root = run_json(&outcome), *layer;
    assert_int_equal(outcome.code, 0);
    json_t *profile = json_object_get(root, "profile");
    double flops = 0;
    size_t i;
    json_array_foreach(json_object_get(profile, "layers"), i, layer)
    {
        flops += json_number_value(json_object_get(layer, "flops"));
    }
    assert_int_equal(json_integer_value(json_object_get(profile, "batch")),
                     strtol(batch, NULL, 10));
    json_decref(root);
    outcome_free(&outcome);
    return flops;
}

/* A volume of 2 x 2 x 2 windows costs eight of them, two volumes twice as much. */
static void operations_are_counted(void **state)
{
    (void)state;
    make_network();
    const double one = flops_of("D=16", "H=16", "W=16", "1"),
                 many = flops_of("D=24", "H=19", "W=24", "1"),
                 two = flops_of("D=24", "H=19", "W=24", "2");
    assert_true(one > 1e6);
    const double told = flops_of_sample("input=1x1x16x16x16");
    assert_true(told > 1e6);
    assert_true(fabs(flops_of_sample("input=1x1x24x19x24") - 8 * told) <= 1e-6 * told);
    assert_true(fabs(many - 8 * one) <= 1e-6 * many);
    assert_true(fabs(two - 2 * many) <= 1e-6 * two);
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    make_network();
    assert_one_error(vatio("run", "net.onnx", "--engine-option", "window=0x16x16", NULL), 2,
                     "one to 3 extents");
    assert_one_error(
        vatio("run", "net.onnx", "--engine-option", WINDOW, "--engine-option", "overlap=1", NULL),
        2, "from 0 to below 1");
    assert_one_error(vatio("run", "net.onnx", "--engine-option", "blend=gaussian", NULL), 2,
                     "window=128x128x128");
    assert_one_error(vatio("run", "net.onnx", "--engine-option", WINDOW, NULL), 2,
                     "--shape D=NUMBER");
    assert_one_error(vatio("run", "net.onnx", "--engine-option", WINDOW, "--shape", "D=8", NULL), 2,
                     "does not hold a window");
    assert_one_error(vatio("run", "digits", "--engine-option", WINDOW, NULL), 2,
                     "windows of 16x16x16");
    assert_one_error(vatio("run", "net.onnx", "--engine-option", WINDOW, "--shape",
                           "input=1x1x100000x100000x100000", NULL),
                     3, "this machine has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_run),
        cmocka_unit_test(operations_are_counted),
        cmocka_unit_test(wrong_use_is_refused),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
