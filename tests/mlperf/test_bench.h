/* SPDX-License-Identifier: Apache-2.0 */
/* A whole test on a system under test that does nothing, with its logs in a folder of its own. */
#ifndef VT_TESTS_MLPERF_TEST_BENCH_H
#define VT_TESTS_MLPERF_TEST_BENCH_H

#include <dirent.h>
#include <jansson.h>
#include <unistd.h>

#include "mlperf/test.h"
#include "vt_load_double.h"
#include "vt_test.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static char folder[] = "/tmp/vatio-test-XXXXXX";

struct bench {
    struct vt_fake_clock clock;
    struct vt_fake_sut sut;
    struct vt_fake_qsl qsl;
    struct vt_load_control control;
    struct vt_load_settings settings;
    struct vt_test_logs logs;
    struct vt_test_watch watch;
    struct vt_test_result result;
    enum vt_mode phases[64]; /* what the watch heard */
    uint32_t steps[64], n_phases;
    struct vt_error err;
};

static inline void on_begin(void *ctx, enum vt_mode phase, uint32_t step, double qps)
{
    struct bench *b = ctx;

    assert_true(b->n_phases < 64 && qps > 0);
    b->phases[b->n_phases] = phase;
    b->steps[b->n_phases++] = step;
}

static inline int setup_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static inline int teardown_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static inline int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    vt_fake_init(&b->clock, &b->sut, &b->qsl, &b->control, 64, 32);
    b->sut.style = VT_FAKE_QUEUED;
    b->sut.fixed_ns = 10000;
    vt_load_settings_default(&b->settings);
    b->settings.scenario = VT_SERVER;
    b->settings.server_target_qps = 2000;
    b->settings.server_find_peak_qps_decimals_of_precision = 1;
    b->settings.server_find_peak_qps_boundary_step_size = 1;
    b->settings.min_duration_ns = 200000000;
    b->settings.min_query_count = 700;
    b->logs.folder = folder;
    b->watch = (struct vt_test_watch){on_begin, b};
    *state = b;
    return 0;
}

static inline void empty_folder(void)
{
    char path[512];
    struct dirent *entry;
    DIR *dir = opendir(folder);

    while ((entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    closedir(dir);
}

static inline int teardown(void **state)
{
    struct bench *b = *state;

    vt_test_result_release(&b->result);
    vt_fake_release(&b->sut);
    free(b);
    empty_folder();
    return 0;
}

static inline enum vt_status run(struct bench *b)
{
    b->err = (struct vt_error)VT_ERROR_INIT;
    return vt_test_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, &b->logs, &b->watch,
                       &b->err, &b->result);
}

static inline void run_well(struct bench *b)
{
    enum vt_status status = run(b);
    assert_string_equal(b->err.text, "");
    assert_int_equal(status, VT_OK);
}

static inline char *read_file(const char *name)
{
    static char text[1 << 22];
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t n = fread(text, 1, sizeof text - 1, stream);
    assert_true(n < sizeof text - 1);
    text[n] = '\0';
    fclose(stream);
    return text;
}

/* The values under `key` in the detail log, in order. The caller owns the array. */
static inline json_t *values_of(const char *key)
{
    json_t *values = json_array();
    char *rest = read_file("mlperf_log_detail.txt");

    for (char *line = strtok_r(rest, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_int_equal(strncmp(line, ":::MLLOG ", 9), 0);
        json_t *record = json_loads(line + 9, 0, NULL);
        assert_non_null(record);
        if (strcmp(json_string_value(json_object_get(record, "key")), key) == 0) {
            json_array_append(values, json_object_get(record, "value"));
        }
        json_decref(record);
    }
    return values;
}

static inline size_t count_of(const char *key)
{
    json_t *values = values_of(key);
    size_t n = json_array_size(values);
    json_decref(values);
    return n;
}

static inline void check_value(const char *key, const char *wanted)
{
    json_t *values = values_of(key);
    assert_int_equal(json_array_size(values), 1);
    assert_string_equal(json_string_value(json_array_get(values, 0)), wanted);
    json_decref(values);
}

#endif
