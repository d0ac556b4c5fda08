/* SPDX-License-Identifier: Apache-2.0 */
/* What --engine of a comparison means, and when outputs are equal. */
#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "run/compare/agreement.h"
#include "run/compare/compare_job.h"

static const struct vt_job nothing;

static void engines_have_options_of_their_own(void **state)
{
    (void)state;
    struct vt_compare_entry entry;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(
        vt_compare_entry_init(&entry, &nothing, "native:spin-us=0,threads=2,batch=16", &err),
        VT_OK);
    assert_string_equal(entry.job.engine, "native");
    assert_int_equal(entry.job.engine_options.count, 1);
    assert_string_equal(entry.job.engine_options.items[0], "spin-us=0");
    assert_int_equal(entry.job.threads, 2);
    assert_int_equal(entry.job.batch, 16);
    vt_compare_entry_release(&entry);
    assert_int_equal(vt_compare_entry_init(&entry, &nothing, "./a/x.so:two:key=a:b=c", &err),
                     VT_OK);
    assert_string_equal(entry.job.engine, "./a/x.so:two");
    assert_int_equal(entry.job.engine_options.count, 1);
    assert_string_equal(entry.job.engine_options.items[0], "key=a:b=c");
    vt_compare_entry_release(&entry);
    assert_int_equal(
        vt_compare_entry_init(&entry, &nothing, "kserve:url=http://localhost:8000,model=m", &err),
        VT_OK);
    assert_string_equal(entry.job.engine, "kserve");
    assert_string_equal(entry.job.engine_options.items[0], "url=http://localhost:8000");
    assert_string_equal(entry.job.engine_options.items[1], "model=m");
    vt_compare_entry_release(&entry);
}

static void bad_engines_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        ":a=b",
        "native:a=b,c",
        "native:a=b,,c=d",
        "n:a=b,=",
        "n:threads=0",
        "n:threads=two",
        "n:lanes=1025",
        "n:a=1,",
        "n:batch=65537",
        "n:threads=99999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vt_compare_entry entry;
        struct vt_error err = VT_ERROR_INIT;
        assert_int_equal(vt_compare_entry_init(&entry, &nothing, bad[i], &err), VT_ERR_USAGE);
        assert_non_null(strstr(err.text, "--engine"));
        assert_null(entry.text);
    }
    char many[1024] = "n:a=0";
    for (int i = 1; i < 65; i++) {
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), ",k%d=v", i);
    }
    struct vt_compare_entry entry;
    assert_int_equal(vt_compare_entry_init(&entry, &nothing, many, NULL), VT_ERR_USAGE);
}

static void assert_label(const char *text, const char *label)
{
    struct vt_error err = VT_ERROR_INIT;
    char shown[128];
    assert_int_equal(vt_compare_label(text, &err, shown, sizeof shown), VT_OK);
    assert_string_equal(shown, label);
}

static void labels_keep_secrets(void **state)
{
    (void)state;
    assert_label("native:spin-us=0,threads=2", "native:spin-us=0,threads=2");
    assert_label("kserve:url=http://h:80,header=Authorization: Bearer abc,model=m",
                 "kserve:url=http://h:80,header=(hidden),model=m");
    assert_label("kserve:API_KEY=a, b=c,header=", "kserve:API_KEY=(hidden),header=(hidden)");
    assert_label("header=x.so", "header=(hidden)");
}

/* Every option stands once, and the ones of `vatio run` write where the run looks. */
static void options_are_those_of_a_run(void **state)
{
    (void)state;
    const struct vt_option_table *table = vt_compare_options();
    for (size_t i = 0; i < table->n_options; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(table->options[i].name, table->options[k].name);
            assert_true(table->options[i].letter == 0 ||
                        table->options[i].letter != table->options[k].letter);
        }
    }
    struct vt_compare_job job;
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_options_init(&options, table, &job, &err), VT_OK);
    const char *const argv[] = {"compare", "m",    "--engine",  "a",  "-e",         "b",
                                "--seed",  "7",    "--threads", "3",  "--duration", "1s",
                                "--rtol",  "0.25", "--shape",   "n=4"};
    assert_int_equal(vt_options_parse(&options, 16, argv, &err), VT_OK);
    assert_int_equal(job.engines.count, 2);
    assert_int_equal(job.job.seed, 7);
    assert_int_equal(job.job.threads, 3);
    assert_int_equal(job.turn_ns, 1000000000);
    assert_true(job.job.rtol == 0.25 && job.job.atol == 1e-4);
    assert_int_equal(job.job.timeout_ns, 60000000000);
    assert_int_equal(job.job.shapes.count, 1);
    vt_options_release(&options);
}

static struct vt_tensor floats(float *data, int64_t n)
{
    struct vt_tensor tensor;
    assert_int_equal(vt_tensor_init(&tensor, VT_F32, 1, &n, data, NULL), VT_OK);
    return tensor;
}

static void errors_of_floats(void **state)
{
    (void)state;
    float a[] = {1.0F, 2.002F, -4, 0.00005F}, b[] = {1, 2, -4, 0};
    struct vt_tensor found = floats(a, 4), expected = floats(b, 4);
    struct vt_output_agreement agreement = {.agrees = true};
    struct vt_agreement_sums sums = {0};
    vt_agreement_add(&agreement, &sums, 3, &found, &expected, 1e-3, 1e-4);
    assert_true(agreement.agrees);
    assert_int_equal(agreement.elements, 4);
    assert_int_equal(agreement.beyond, 0);
    assert_true(fabs(agreement.max_absolute - 0.002) < 1e-6);
    assert_true(fabs(agreement.max_relative - 0.001) < 1e-6);
    double rms = sqrt((0.002 * 0.002 + 5e-5 * 5e-5) / 21);
    assert_true(fabs(agreement.rms_relative - rms) < 1e-6);
    /* A second sample, with one element out of tolerance and one that is no number. */
    float c[] = {1.0F, 2.01F, (float)NAN, 0};
    found = floats(c, 4);
    vt_agreement_add(&agreement, &sums, 4, &found, &expected, 1e-3, 1e-4);
    assert_false(agreement.agrees);
    assert_int_equal(agreement.elements, 8);
    assert_int_equal(agreement.beyond, 2);
    assert_non_null(strstr(agreement.note, "element 2 of sample 4"));
    assert_true(isfinite(agreement.max_relative) && isfinite(agreement.rms_relative));
}

static void whole_numbers_are_the_same_or_not(void **state)
{
    (void)state;
    int64_t a[] = {100000, 7}, b[] = {100001, 7}, n = 2;
    struct vt_tensor found, expected;
    assert_int_equal(vt_tensor_init(&found, VT_I64, 1, &n, a, NULL), VT_OK);
    assert_int_equal(vt_tensor_init(&expected, VT_I64, 1, &n, b, NULL), VT_OK);
    struct vt_output_agreement agreement = {.agrees = true};
    struct vt_agreement_sums sums = {0};
    vt_agreement_add(&agreement, &sums, 0, &found, &expected, 1e-3, 1e-4);
    assert_false(agreement.agrees);
    assert_int_equal(agreement.beyond, 1);
}

static void shapes_and_types_have_to_agree(void **state)
{
    (void)state;
    float a[4] = {0};
    struct vt_tensor found = floats(a, 4), expected = floats(a, 3);
    struct vt_output_agreement agreement = {.agrees = true};
    struct vt_agreement_sums sums = {0};
    vt_agreement_add(&agreement, &sums, 2, &found, &expected, 1e-3, 1e-4);
    assert_false(agreement.agrees);
    assert_non_null(strstr(agreement.note, "sample 2 gives float32 4 in place of float32 3"));
    expected = floats(a, 4);
    expected.dtype = VT_I32;
    agreement = (struct vt_output_agreement){.agrees = true};
    vt_agreement_add(&agreement, &sums, 2, &found, &expected, 1e-3, 1e-4);
    assert_false(agreement.agrees);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_have_options_of_their_own),
        cmocka_unit_test(bad_engines_are_refused),
        cmocka_unit_test(labels_keep_secrets),
        cmocka_unit_test(options_are_those_of_a_run),
        cmocka_unit_test(errors_of_floats),
        cmocka_unit_test(whole_numbers_are_the_same_or_not),
        cmocka_unit_test(shapes_and_types_have_to_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
