/* SPDX-License-Identifier: Apache-2.0 */
/* Caps in the table and the JSON of a run, and the listing of a machine's. */
#include <jansson.h>
#include <math.h>

#include "base/alloc.h"
#include "result/result.h"
#include "vt_test.h"

static const char *printed(const struct vt_result *result, const struct vt_caps_report *report)
{
    static char text[8192];
    FILE *out = fmemopen(text, sizeof text, "w");

    assert_non_null(out);
    text[0] = '\0';
    if (result != NULL) {
        vt_result_print_caps(result, out, 110);
    } else {
        vt_caps_print_table(report, out, 110);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void settings_alike_are_one_line(void **state)
{
    struct vt_result_cap caps[] = {
        {"cpufreq", "kHz", "policy0", "", 2400000, 2400000, 3500000, true, ""},
        {"cpufreq", "kHz", "policy1", "", 2400000, 2400000, 3500000, true, ""},
        {"cpufreq", "kHz", "policy2", "", 2400000, 2400000, 3400000, true, ""},
        {"rapl", "W", "package-0", "", 120, 118, 225, false, ""},
        {"nvml-clocks", "MHz", "gpu0", "", 990, 990, (double)NAN, true, "in place of 350 W"},
    };
    struct vt_result result = {.caps = caps, .n_caps = 5};

    (void)state;
    const char *text = printed(&result, NULL);
    assert_non_null(strstr(text, "caps "));
    assert_non_null(
        strstr(text, "cpufreq policy0 and 1 more: 2,400,000 kHz (before: 3,500,000), put back\n"));
    assert_non_null(strstr(text, "cpufreq policy2: 2,400,000 kHz (before: 3,400,000), put back\n"));
    assert_null(strstr(text, "policy1"));
    assert_non_null(strstr(text, "rapl package-0: 118 W (before: 225, asked: 120), NOT put back"));
    assert_non_null(strstr(text, "`vatio caps restore`"));
    assert_non_null(strstr(text, "(before: not known), put back; in place of 350 W"));
    result.n_caps = 0;
    text = printed(&result, NULL);
    assert_string_equal(text, "");
}

static void what_is_not_known_is_null(void **state)
{
    struct vt_result_cap cap = {"nvml-clocks", "MHz", "gpu0", "", 990, 990, (double)NAN, true, ""};
    const struct vt_result result = {.caps = &cap, .n_caps = 1};

    (void)state;
    json_t *json = vt_json_caps(&result);
    assert_non_null(json);
    const json_t *first = json_array_get(json, 0);
    assert_true(json_is_null(json_object_get(first, "previous")));
    assert_true(json_is_null(json_object_get(first, "note")));
    assert_true(json_number_value(json_object_get(first, "enforced")) == 990);
    json_decref(json);
}

static void a_machine_is_listed(void **state)
{
    struct vt_caps_row rows[6];
    struct vt_caps_entry entries[] = {
        {.name = "cpufreq",
         .summary = "s",
         .unit = "kHz",
         .available = true,
         .rows = rows,
         .n_rows = 6,
         .locked = "run as root"},
        {.name = "acpi", .summary = "limit of Grace", .unit = "W", .why = "there is none"},
    };
    struct vt_caps_record record = {
        .file = "/run/vatio/caps-7-9", .owner = 7, .state = "failed", .failed = true};
    const struct vt_caps_report report = {
        .entries = entries, .n_entries = 2, .records = &record, .n_records = 1};
    struct vt_error err = VT_ERROR_INIT;
    char *json = NULL;

    (void)state;
    (void)snprintf(record.text, sizeof record.text, "gone");
    for (int i = 0; i < 6; i++) {
        rows[i] = (struct vt_caps_row){
            .value = 2e6, .minimum = 1e6, .maximum = (double)NAN, .standard = 3e6};
        (void)snprintf(rows[i].domain, sizeof rows[i].domain, "policy%d", i);
    }
    const char *text = printed(NULL, &report);
    assert_non_null(strstr(text, "policy0 .. policy5"));
    assert_null(strstr(text, "policy3"));
    assert_non_null(strstr(text, "run as root"));
    assert_non_null(strstr(text, "failed: gone; its record: /run/vatio/caps-7-9"));
    const char *missing = strstr(text, "not available");
    assert_non_null(missing);
    assert_non_null(strstr(missing, "there is none"));
    assert_int_equal(vt_caps_json(&report, &err, &json), VT_OK);
    json_t *root = json_loads(json, 0, NULL);
    const json_t *kind = json_array_get(json_object_get(root, "kinds"), 0);
    assert_int_equal(json_array_size(json_object_get(kind, "domains")), 6);
    assert_true(json_is_false(json_object_get(kind, "settable")));
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(kind, "domains"), 5), "maximum")));
    json_decref(root);
    vt_free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_alike_are_one_line),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(a_machine_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
