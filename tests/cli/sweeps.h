/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of sweeps share: short points, sweep.json, a machine of files to cap. */
#ifndef VT_TEST_CLI_SWEEPS_H
#define VT_TEST_CLI_SWEEPS_H

#include "vatio.h"

#include "vt_test.h"

#include <stdbool.h>
#include <string.h>

#define COMMON "--engine=null", "--duration=20ms", "--warm-up=0s", "--meter=none"

static inline json_t *read_json(const char *folder, const char *name)
{
    char path[512];
    json_error_t error;

    (void)snprintf(path, sizeof path, "%s/%s/%s", work_folder, folder, name);
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        print_message("%s: %s (line %d)\n", path, error.text, error.line);
    }
    return root;
}

static inline const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static inline size_t count_state(const json_t *sweep, const char *state)
{
    const json_t *points = json_object_get(sweep, "points");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(points); i++) {
        n += strcmp(text_of(json_array_get(points, i), "state"), state) == 0;
    }
    return n;
}

#define ZONE        "sys/class/powercap/intel-rapl:0"
#define LIMIT       ZONE "/constraint_1_power_limit_uw"
#define LIMIT_THERE "225000000\n"

/* A machine of files below the work folder whose package can be capped. */
static inline void make_machine(void)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {ZONE "/name", "package-0\n"},
        {ZONE "/enabled", "0\n"},
        {ZONE "/constraint_0_name", "short_term\n"},
        {ZONE "/constraint_0_power_limit_uw", "400000000\n"},
        {ZONE "/constraint_1_name", "long_term\n"},
        {LIMIT, LIMIT_THERE},
        {ZONE "/constraint_1_max_power_uw", "350000000\n"},
    };
    char command[256];

    (void)snprintf(command, sizeof command, "mkdir -p %s", work_path(ZONE));
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_work_file(files[i].name, files[i].text, strlen(files[i].text));
    }
    assert_int_equal(setenv("VATIO_CAP_RECORDS", work_path("records"), 1), 0);
}

static inline bool limit_is(const char *wanted)
{
    char text[32] = "";
    FILE *file = fopen(work_path(LIMIT), "r");

    assert_non_null(file);
    if (fgets(text, sizeof text, file) == NULL) {
        text[0] = '\0';
    }
    (void)fclose(file);
    return strtol(text, NULL, 10) == strtol(wanted, NULL, 10);
}

#endif
