/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include "base/clock.h"
#include "run/job.h"
#include "run/model_source.h"

static void every_default_parses_and_names_are_unique(void **state)
{
    (void)state;
    const struct vt_option_table *table = vt_job_options();
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_job job;

    assert_int_equal(vt_options_init(&options, table, &job, &err), VT_OK);
    for (size_t i = 0; i < table->n_options; i++) {
        const struct vt_option *option = &table->options[i];
        size_t length = strlen(option->help);
        assert_true(length > 0 && option->help[length - 1] != '.');
        assert_true(option->offset < table->values_size);
        assert_true(option->type == VT_OPTION_FLAG || option->argument != NULL);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(option->name, table->options[k].name);
            assert_int_not_equal(option->offset, table->options[k].offset);
            assert_true(option->letter == 0 || option->letter != table->options[k].letter);
        }
    }
    /* The defaults that the manual states. */
    assert_int_equal(job.duration_ns, 3 * VT_NS_PER_S);
    assert_int_equal(job.max_duration_ns, 60 * VT_NS_PER_S);
    assert_int_equal(job.mode, VT_JOB_BOTH);
    assert_int_equal(job.samples_per_query, 8);
    assert_string_equal(job.engine, "native");
    assert_null(job.workload);
    assert_int_equal(job.batch, 0);
    vt_options_release(&options);
}

static enum vt_status wanted(const char *text, bool ret[VT_SCENARIO_COUNT])
{
    struct vt_job job = {.scenario = text};
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status = vt_job_scenarios(&job, &err, ret);
    assert_int_equal(err.status, status);
    return status;
}

static void scenarios_are_a_list(void **state)
{
    (void)state;
    bool got[VT_SCENARIO_COUNT];

    assert_int_equal(wanted("all", got), VT_OK);
    assert_true(got[VT_OFFLINE] && got[VT_SERVER] && got[VT_SINGLESTREAM] && got[VT_MULTISTREAM]);
    assert_int_equal(wanted("multistream,offline", got), VT_OK);
    assert_true(got[VT_OFFLINE] && !got[VT_SERVER] && !got[VT_SINGLESTREAM] && got[VT_MULTISTREAM]);
    assert_int_equal(wanted("", got), VT_ERR_USAGE);
    assert_int_equal(wanted("server,", got), VT_ERR_USAGE);
    assert_int_equal(wanted("serve", got), VT_ERR_USAGE);
    assert_int_equal(wanted("servers", got), VT_ERR_USAGE);
}

static enum vt_status parse_shape(const char *text, struct vt_shape_list *list,
                                  struct vt_error *err)
{
    const char *items[1] = {text};
    struct vt_text_list texts = {items, 1};
    return vt_shape_list_init(list, &texts, err);
}

static void shapes_are_name_and_extents(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "x",     "x=",    "=3",    "x=0",    "x=-1",          "x=3x",
        "x=xx3", "x=3.5", "x=1e3", "x=3 x4", "x=99999999999", "x=1x2x3x4x5x6x7x8x9"};
    struct vt_shape_list list;
    struct vt_error err = VT_ERROR_INIT;

    assert_int_equal(parse_shape("a=b=1x3x224x224", &list, &err), VT_OK);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.items[0].name, "a=b");
    assert_int_equal(list.items[0].rank, 4);
    assert_int_equal(list.items[0].dim[1], 3);
    assert_int_equal(list.items[0].dim[3], 224);
    vt_shape_list_release(&list);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err = (struct vt_error)VT_ERROR_INIT;
        assert_int_equal(parse_shape(wrong[i], &list, &err), VT_ERR_USAGE);
        assert_non_null(strstr(err.text, "--shape"));
    }
}

static void a_model_is_a_name_or_a_path(void **state)
{
    (void)state;
    struct vt_model_source source;
    struct vt_error err = VT_ERROR_INIT;

    assert_int_equal(vt_model_source_find("digits", &err, &source), VT_OK);
    assert_non_null(source.builtin);
    assert_string_equal(vt_model_source_name(&source), "digits");
    assert_int_equal(vt_model_source_find("./digits", &err, &source), VT_ERR_NOT_FOUND);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_model_source_find("digts", &err, &source), VT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "did you mean 'digits'?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_default_parses_and_names_are_unique),
        cmocka_unit_test(scenarios_are_a_list),
        cmocka_unit_test(shapes_are_name_and_extents),
        cmocka_unit_test(a_model_is_a_name_or_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
