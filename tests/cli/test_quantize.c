/* SPDX-License-Identifier: Apache-2.0 */
/* `vatio quantize` as a user sees it: what it says, the file it makes, and what is refused. */
#include "vt_test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vatio.h"

static size_t read_file(const char *name, char *ret, size_t most)
{
    FILE *file = fopen(work_path(name), "rb");
    assert_non_null(file);
    const size_t n = fread(ret, 1, most, file);
    (void)fclose(file);
    return n;
}

/* The number that stands before `behind`, after `before`. */
static double number_between(const char *text, const char *before, const char *behind)
{
    const char *from = strstr(text, before);
    assert_non_null(from);
    from += strlen(before);
    char *end;
    const double value = strtod(from, &end);
    assert_true(end != from);
    assert_int_equal(strncmp(end, behind, strlen(behind)), 0);
    return value;
}

static void digits_become_int8(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio("quantize", "digits", "--calibrate", "digits", "-o", "d8.onnx", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "4 of 4 in int8"));
    assert_non_null(strstr(outcome.out, "conv1"));
    const double before = number_between(outcome.out, "quality        ", " % in float32");
    const double after = number_between(outcome.out, "in float32, ", " % in int8");
    assert_true(after >= before - 2.0);
    struct stat made, plain;
    assert_int_equal(stat(work_path("d8.onnx"), &made), 0);
    assert_int_equal(stat(VATIO_DIGITS_ONNX, &plain), 0);
    assert_true(made.st_size < plain.st_size / 2);
    outcome_free(&outcome);

    /* What it made is a model like any other. */
    outcome = vatio("inspect", "d8.onnx", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "QuantizeLinear"));
    outcome_free(&outcome);
    outcome = vatio("run", "d8.onnx", "-w", "digits", "--mode", "accuracy", "-s", "offline",
                    "--json", "-o", "r", NULL);
    json_t *root = run_json(&outcome);
    json_t *accuracy = result_of(root, "Offline", "accuracy");
    const double ran =
        json_number_value(json_object_get(json_object_get(accuracy, "quality"), "value"));
    assert_true(ran > after - 0.01 && ran < after + 0.01);
    json_decref(root);
    outcome_free(&outcome);
}

static void the_same_again_is_the_same(void **state)
{
    static char a[65536], b[65536];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct outcome outcome =
            vatio("quantize", "digits", "-c", "digits", "-o", i == 0 ? "a.onnx" : "b.onnx",
                  "--method", "entropy", "-t", i == 0 ? "1" : "2", "-n", "40", NULL);
        assert_int_equal(outcome.code, 0);
        outcome_free(&outcome);
    }
    const size_t n = read_file("a.onnx", a, sizeof a);
    assert_int_equal(read_file("b.onnx", b, sizeof b), n);
    assert_memory_equal(a, b, n);
}

static void layers_are_left_out(void **state)
{
    (void)state;
    struct outcome outcome = vatio("quantize", "digits", "-c", "digits", "-o", "s.onnx", "--skip",
                                   "conv1,logits", "--method", "percentile", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "2 of 4 in int8"));
    assert_non_null(strstr(outcome.out, "named by --skip"));
    outcome_free(&outcome);
    /* No int8 model is that exact: as many as allowed are left out. */
    outcome =
        vatio("quantize", "digits", "-c", "digits", "-o", "s.onnx", "--min-sqnr", "120", NULL);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "3 of 4 in int8"));
    assert_non_null(strstr(outcome.out, "costs too much accuracy"));
    outcome_free(&outcome);
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    assert_one_error(vatio("quantize", NULL), 2, "one model");
    assert_one_error(vatio("quantize", "digits", NULL), 2, "--calibrate");
    assert_one_error(vatio("quantize", "none.onnx", "-c", "tensor", NULL), 3, "none.onnx");
    assert_one_error(
        vatio("quantize", "digits", "-c", "digits", "--skip", "conv9", "-o", "e.onnx", NULL), 2,
        "conv9");
    assert_one_error(vatio("quantize", "digits", "-c", "digits", "--method", "best", NULL), 2,
                     "--method");
    assert_one_error(vatio("quantize", "digits", "-c", "digits", "-o", "/proc/x.onnx", NULL), 5,
                     "/proc/x.onnx");
    assert_one_error(
        vatio("quantize", VATIO_DIGITS_ONNX, "-c", "digits", "-o", VATIO_DIGITS_ONNX, NULL), 2,
        "the model itself");
    assert_int_equal(access(work_path("e.onnx"), F_OK), -1);
}

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio_on_full_disk(8192, "quantize", "digits", "-c", "digits", "-o", "full.onnx", NULL);
    assert_one_error(outcome, 5, "full.onnx");
    assert_int_equal(access(work_path("full.onnx"), F_OK), -1);
}

/* Trained weights and real images: what int8 costs is a point at most. */
static void resnet8_keeps_its_accuracy(void **state)
{
    const char *data = getenv("VATIO_TEST_DATA");
    char model[512], images[512];
    (void)state;
    if (data == NULL || data[0] == '\0') {
        skip();
    }
    (void)snprintf(model, sizeof model, "%.400s/classification/resnet8_cifar10.onnx", data);
    (void)snprintf(images, sizeof images, "%.400s/classification/test", data);
    if (access(model, R_OK) != 0) {
        skip();
    }
    struct outcome outcome =
        vatio("quantize", model, "-c", images, "--preprocess", "raw", "-o", "r8.onnx", NULL);
    assert_int_equal(outcome.code, 0);
    const double before = number_between(outcome.out, "quality        ", " % in float32");
    const double after = number_between(outcome.out, "in float32, ", " % in int8");
    assert_true(before > 75.0 && after > before - 1.0);
    assert_non_null(strstr(outcome.out, "10 of 10 in int8"));
    outcome_free(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_become_int8),         cmocka_unit_test(the_same_again_is_the_same),
        cmocka_unit_test(layers_are_left_out),        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(a_full_disk_leaves_nothing), cmocka_unit_test(resnet8_keeps_its_accuracy),
    };
    return cmocka_run_group_tests(tests, make_work_folder, remove_work_folder);
}
