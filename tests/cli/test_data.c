/* SPDX-License-Identifier: Apache-2.0 */
/* Real models on real data, against the figures and outputs that are stored beside them. */
#include "vt_test.h"

#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "vatio.h"

static const char *data;

/* "<prefix><data>/name" in static storage; a few may be in use at once. */
static const char *prefixed(const char *prefix, const char *name)
{
    static char path[6][512];
    static int turn;
    turn = (turn + 1) % 6;
    (void)snprintf(path[turn], sizeof path[0], "%s%s/%s", prefix, data, name);
    return path[turn];
}

static const char *data_path(const char *name)
{
    return prefixed("", name);
}

static double top1_of(struct outcome *outcome)
{
    json_t *root = run_json(outcome);
    json_t *entry = result_of(root, "offline", "accuracy");
    assert_non_null(entry);
    double value = json_number_value(json_object_get(json_object_get(entry, "quality"), "value"));
    json_decref(root);
    return value;
}

static void resnet8_has_its_known_accuracy_without_options(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("run", data_path("classification/resnet8_cifar10.onnx"), "--dataset",
              data_path("classification/test"), "--mode", "accuracy", "--json", NULL);

    assert_int_equal(outcome.code, 0);
    assert_true(fabs(top1_of(&outcome) - 76.4) <= 0.3);
    outcome_free(&outcome);
}

/* Swapped channels are wrong for this model, and the known figure says by how much. */
static void the_channel_order_matters(void **state)
{
    (void)state;
    struct outcome outcome = vatio("run", data_path("classification/resnet8_cifar10.onnx"),
                                   "--dataset", data_path("classification/test"), "--mode",
                                   "accuracy", "--channels", "bgr", "--json", NULL);

    assert_true(fabs(top1_of(&outcome) - 62.5) <= 0.5);
    outcome_free(&outcome);
}

static struct outcome compare(const char *model, const char *input, const char *expect)
{
    return vatio("run", data_path(model), "--workload", "tensor", "--input", input, "--expect",
                 expect, "--mode", "accuracy", "--json", NULL);
}

static void outputs_match_their_stored_references(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"classification/resnet8_cifar10.onnx", "classification/expected/resnet8_input_0.npy",
         "classification/expected/resnet8_output_0.npy"},
        {"detection/FastestDet.onnx", "detection/expected/fastestdet_input_0.npy",
         "detection/expected/fastestdet_output_0.npy"},
        {"segmentation/meshnet5.onnx", "segmentation/expected/meshnet5_input_0.npy",
         "segmentation/expected/meshnet5_output_0.npy"},
        {"segmentation/meshnet5.onnx", "segmentation/expected/meshnet5_input_1.npy",
         "segmentation/expected/meshnet5_output_1.npy"},
    };
    static const char *const names[][2] = {
        {"input=", "output="}, {"input.1=", "758="}, {"input=", "output="}, {"input=", "output="}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome outcome = compare(cases[i][0], prefixed(names[i][0], cases[i][1]),
                                         prefixed(names[i][1], cases[i][2]));
        if (outcome.code != 0) {
            print_message("%s: %s\n", cases[i][1], outcome.err);
        }
        assert_int_equal(outcome.code, 0);
        outcome_free(&outcome);
    }
}

static void a_wrong_expectation_exits_1_and_names_the_worst_element(void **state)
{
    (void)state;
    struct outcome outcome = vatio(
        "run", data_path("detection/FastestDet.onnx"), "--workload", "tensor", "--input",
        prefixed("input.1=", "detection/expected/fastestdet_input_0.npy"), "--expect",
        prefixed("758=", "detection/expected/fastestdet_output_1.npy"), "--mode", "accuracy", NULL);

    assert_int_equal(outcome.code, 1);
    assert_non_null(strstr(outcome.out, "output '758' of sample 0, element [0,"));
    assert_non_null(strstr(outcome.out, "out of tolerance"));
    assert_non_null(strstr(outcome.out, "fail"));
    outcome_free(&outcome);
}

/* Two classes of three pictures each, one of which is cut off. */
static void make_dataset(void)
{
    static const char *const from[] = {"cat/0000.jpg", "cat/0001.jpg", "dog/0000.jpg",
                                       "dog/0001.jpg"};
    unsigned char bytes[8192];

    assert_int_equal(mkdir(work_path("pictures"), 0777), 0);
    assert_int_equal(mkdir(work_path("pictures/cat"), 0777), 0);
    assert_int_equal(mkdir(work_path("pictures/dog"), 0777), 0);
    for (size_t i = 0; i < 4; i++) {
        char name[64], source[64];
        (void)snprintf(source, sizeof source, "classification/test/%s", from[i]);
        (void)snprintf(name, sizeof name, "pictures/%s", from[i]);
        FILE *file = fopen(data_path(source), "rb");
        assert_non_null(file);
        size_t n = fread(bytes, 1, sizeof bytes, file);
        (void)fclose(file);
        write_work_file(name, bytes, n);
        if (i == 0) {
            write_work_file("pictures/dog/broken.jpg", bytes, n / 3);
        }
    }
}

static void a_corrupt_picture_is_named_or_skipped(void **state)
{
    (void)state;
    make_dataset();
    const char *model = data_path("classification/resnet8_cifar10.onnx");

    assert_one_error(vatio("run", model, "--dataset", "pictures", "--mode", "accuracy", NULL), 3,
                     "broken.jpg");
    struct outcome outcome = vatio("run", model, "--dataset", "pictures", "--mode", "accuracy",
                                   "--skip-bad", "--json", NULL);
    json_t *root = run_json(&outcome);
    json_t *entry = result_of(root, "offline", "accuracy");
    json_t *quality = json_object_get(entry, "quality");

    assert_int_equal(json_integer_value(json_object_get(quality, "samples")), 4);
    json_decref(root);
    outcome_free(&outcome);
}

int main(void)
{
    data = vt_test_data_or_skip();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resnet8_has_its_known_accuracy_without_options),
        cmocka_unit_test(the_channel_order_matters),
        cmocka_unit_test(outputs_match_their_stored_references),
        cmocka_unit_test(a_wrong_expectation_exits_1_and_names_the_worst_element),
        cmocka_unit_test(a_corrupt_picture_is_named_or_skipped),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
