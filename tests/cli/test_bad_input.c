/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broken and hostile input: each gives one clear line, the documented exit code, and leaves nothing
 * half-written behind.
 */
#include "vt_test.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vatio.h"

static unsigned char model[1 << 17];
static size_t model_size;

static int read_model(void **state)
{
    FILE *file = fopen(VATIO_DIGITS_ONNX, "rb");
    if (file == NULL) {
        return -1;
    }
    model_size = fread(model, 1, sizeof model, file);
    (void)fclose(file);
    return model_size > 0 ? make_work_folder(state) : -1;
}

static void no_output_appeared(void)
{
    assert_int_not_equal(access(work_path("runs"), F_OK), 0);
}

static void models_that_are_none(void **state)
{
    (void)state;
    unsigned char noise[4096];
    unsigned seed = 7;
    for (size_t i = 0; i < sizeof noise; i++) {
        seed = seed * 1664525U + 1013904223U;
        noise[i] = (unsigned char)(seed >> 24);
    }
    write_work_file("empty.onnx", "", 0);
    write_work_file("noise.onnx", noise, sizeof noise);
    write_work_file("cut.onnx", model, model_size / 2);
    assert_int_equal(mkdir(work_path("folder.onnx"), 0777), 0);

    assert_one_error(vatio("run", "nowhere.onnx", NULL), 3, "nowhere.onnx: no such file");
    assert_one_error(vatio("run", "digit", NULL), 3, "did you mean 'digits'?");
    assert_one_error(vatio("run", "empty.onnx", NULL), 3, "empty.onnx");
    assert_one_error(vatio("run", "noise.onnx", NULL), 3, "noise.onnx");
    assert_one_error(vatio("run", "cut.onnx", NULL), 3, "cut.onnx");
    assert_one_error(vatio("run", "folder.onnx", NULL), 3, "is a folder");
    assert_one_error(vatio("inspect", "noise.onnx", NULL), 3, "noise.onnx");
    no_output_appeared();
}

/* Engines whose library or server is not there; where it is, they fail for the path all the same.
 */
static void engines_that_are_not_there(void **state)
{
    (void)state;
    const char *const url = "http://127.0.0.1:1/v2/models/m";
    const char *const engines[] = {"onnxruntime", "openvino", "kserve"};

    assert_one_error(vatio("run", url, NULL), 2, "engine kserve runs it");
    assert_one_error(vatio("inspect", url, NULL), 2, "engine kserve runs it");
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        struct outcome ran = vatio("run", "digits", "--engine", engines[i], "--engine-option",
                                   "library=/no/such/place", NULL);
        assert_int_equal(ran.code, 3);
        assert_non_null(strstr(ran.err, "library=/no/such/place: there is no such file"));
        outcome_free(&ran);
    }
}

/* The model with one operator's name changed, which keeps every length right. */
static void an_unknown_operator(void **state)
{
    (void)state;
    unsigned char changed[sizeof model];
    bool found = false;

    memcpy(changed, model, model_size);
    for (size_t i = 0; i + 4 <= model_size && !found; i++) {
        /* NodeProto.op_type is field 4, a string: tag 0x22, length, text. */
        if (memcmp(changed + i,
                   "\x22\x04"
                   "Relu",
                   6) == 0) {
            memcpy(changed + i + 2, "Rilu", 4);
            found = true;
        }
    }
    assert_true(found);
    write_work_file("rilu.onnx", changed, model_size);
    assert_one_error(vatio("run", "rilu.onnx", NULL), 3, "Rilu");
    no_output_appeared();
}

static void options_out_of_range(void **state)
{
    (void)state;
    assert_one_error(vatio("run", "digits", "--batch", "0", NULL), 2, "--batch");
    assert_one_error(vatio("run", "digits", "--batch", "-3", NULL), 2, "--batch");
    assert_one_error(vatio("run", "digits", "--duration", "0", NULL), 2, "--duration");
    assert_one_error(vatio("run", "digits", "--duration", "3parsecs", NULL), 2, "--duration");
    assert_one_error(vatio("run", "digits", "--target-qps", "-1", NULL), 2, "--target-qps");
    assert_one_error(vatio("run", "digits", "--target-qps", "nan", NULL), 2, "--target-qps");
    assert_one_error(vatio("run", "digits", "--lanes", "99999999999999999999", NULL), 2, "--lanes");
    assert_one_error(vatio("run", "digits", "--mode", "fast", NULL), 2, "performance");
    assert_one_error(vatio("run", "digits", "--scenario", "online", NULL), 2, "singlestream");
    assert_one_error(vatio("run", "digits", "--batc", "4", NULL), 2, "--batch");
    assert_one_error(vatio("run", "digits", "--batch", NULL), 2, "--batch");
    assert_one_error(vatio("run", "digits", "more", NULL), 2, "more");
    assert_one_error(vatio("run", NULL), 2, "vatio run digits");
    assert_one_error(vatio("rum", "digits", NULL), 2, "did you mean 'run'?");
    assert_one_error(vatio("run", "digits", "--engine", "nativ", NULL), 2, "native");
    assert_one_error(vatio("run", "digits", "--engine", "./none.so", NULL), 3, "none.so");
    assert_one_error(vatio("run", "digits", "--workload", "digit", NULL), 2, "digits");
    assert_one_error(vatio("run", "digits", "--engine-option", "colour=red", NULL), 2, "colour");
    assert_one_error(vatio("dump", NULL), 2, "dump");
    assert_one_error(vatio("list", "everything", NULL), 2, "everything");
    no_output_appeared();
}

static void an_unknown_instruction_set(void **state)
{
    (void)state;
    assert_int_equal(setenv("VATIO_CPU", "avx3", 1), 0);
    assert_one_error(vatio("list", NULL), 2, "VATIO_CPU is 'avx3'");
    assert_int_equal(setenv("VATIO_CPU", "portable", 1), 0);
    struct outcome ran = vatio("list", NULL);
    assert_int_equal(unsetenv("VATIO_CPU"), 0);
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.out, "portable C"));
    outcome_free(&ran);
}

static void write_text(const char *name, const char *text)
{
    write_work_file(name, text, strlen(text));
}

static void configuration_files_that_are_wrong(void **state)
{
    (void)state;
    write_text("user.conf", "# mine\n*.Server.target_qps=5\n");
    assert_one_error(vatio("run", "digits", "--user-conf", "user.conf", NULL), 3,
                     "user.conf:2: '*.Server.target_qps=5': the '='");
    write_text("user.conf", "*.*.min_query_count = 0\n");
    assert_one_error(vatio("run", "digits", "--user-conf", "user.conf", NULL), 3,
                     "user.conf:1: min_query_count is 0: give a value from 1 to 4294967295");
    write_text("audit.config", "*.*.mode = two\n");
    assert_one_error(vatio("run", "digits", "--audit-conf", "audit.config", NULL), 3,
                     "audit.config:1: 'two' is neither");
    write_text("trace.csv", "2\n1\n");
    assert_one_error(vatio("run", "digits", "--arrivals", "trace:trace.csv", NULL), 3,
                     "trace.csv:2: ");
    assert_one_error(vatio("run", "digits", "--mlperf-conf", "nowhere.conf", NULL), 3,
                     "nowhere.conf: no such file");
    assert_one_error(vatio("run", "digits", "--round", "v1.0", NULL), 2, "v3.0, v3.1");
    assert_one_error(vatio("run", "digits", "--set", "min_duraton_ms=5", NULL), 2,
                     "did you mean 'min_duration_ms'?");
    no_output_appeared();
}

static void a_misspelt_key_is_a_warning(void **state)
{
    (void)state;
    write_text("user.conf", "*.Server.target_qsp = 5\n*.*.min_query_count = 70\n");
    struct outcome outcome =
        vatio("run", "digits", "-s", "singlestream", "--mode", "performance", "--duration", "50ms",
              "--user-conf", "user.conf", "--set", "min_duration_ms=20", "-o", "warned", NULL);
    assert_int_equal(outcome.code, 0);
    assert_string_equal(outcome.err, "vatio: warning: user.conf:1: unknown key 'target_qsp'; did "
                                     "you mean 'target_qps'?\n");
    outcome_free(&outcome);
}

static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    assert_one_error(vatio("run", "digits", "--shape", "image=0x1x8x8", NULL), 2, "--shape");
    assert_one_error(vatio("run", "digits", "--shape", "image", NULL), 2, "NAME=DIMS");
    assert_one_error(vatio("run", "digits", "--shape", "nobody=3", NULL), 2, "nobody");
    assert_one_error(vatio("run", "digits", "--shape", "image=1x3x8x8", NULL), 2, "image");
    write_work_file("digits.onnx", model, model_size);
    write_work_file("cut.npy", "\x93NUMPY\x01", 7);
    assert_one_error(vatio("run", "digits.onnx", "-w", "tensor", "--input", "image=cut.npy", NULL),
                     3, "cut.npy");
    assert_one_error(vatio("run", "digits.onnx", "-w", "tensor", "--input", "none=cut.npy", NULL),
                     2, "none");
    no_output_appeared();
}

static void output_that_cannot_be_written(void **state)
{
    (void)state;
    write_work_file("file", "x", 1);
    assert_one_error(vatio("run", "digits", "--duration", "50ms", "-o", "file/below", NULL), 5,
                     "file");
    assert_int_equal(mkdir(work_path("closed"), 0555), 0);
    assert_one_error(
        vatio_unprivileged("run", "digits", "--duration", "50ms", "-o", "closed", NULL), 5,
        "closed");
    assert_one_error(
        vatio_unprivileged("run", "digits", "--duration", "50ms", "-o", "closed/deep", NULL), 5,
        "closed/deep");
    no_output_appeared();
}

static void a_full_disk(void **state)
{
    (void)state;
    struct outcome outcome =
        vatio_on_full_disk(200, "run", "digits", "-s", "singlestream", "--mode", "performance",
                           "--duration", "50ms", "-o", "full", NULL);

    /* The figures were measured and are shown; what could not be saved is said. */
    assert_int_equal(outcome.code, 5);
    assert_non_null(strstr(outcome.err, "cannot be written"));
    assert_int_not_equal(access(work_path("full/result.json"), F_OK), 0);
    assert_int_not_equal(access(work_path("full/result.json.part"), F_OK), 0);
    outcome_free(&outcome);
    outcome = vatio_to("/dev/full", "list", NULL);
    assert_int_equal(outcome.code, 5);
    outcome_free(&outcome);
    outcome = vatio_to("/dev/full", "run", "digits", "-s", "singlestream", "--mode", "performance",
                       "--duration", "50ms", "--json", "-o", "fine", NULL);
    assert_int_equal(outcome.code, 5);
    assert_int_equal(access(work_path("fine/result.json"), F_OK), 0);
    outcome_free(&outcome);
}

static void files_that_are_no_records(void **state)
{
    (void)state;
    write_work_file("short.vtr", "VTREC", 5);
    write_work_file("noise.vtr", model, model_size);
    assert_one_error(vatio("dump", "short.vtr", NULL), 3, "short.vtr");
    assert_one_error(vatio("dump", "noise.vtr", NULL), 3, "noise.vtr");
    assert_one_error(vatio("dump", "missing.vtr", NULL), 3, "missing.vtr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_that_are_none),
        cmocka_unit_test(engines_that_are_not_there),
        cmocka_unit_test(an_unknown_operator),
        cmocka_unit_test(options_out_of_range),
        cmocka_unit_test(an_unknown_instruction_set),
        cmocka_unit_test(configuration_files_that_are_wrong),
        cmocka_unit_test(a_misspelt_key_is_a_warning),
        cmocka_unit_test(shapes_that_do_not_fit),
        cmocka_unit_test(output_that_cannot_be_written),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(files_that_are_no_records),
    };
    return cmocka_run_group_tests(tests, read_model, remove_work_folder);
}
