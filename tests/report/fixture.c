/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "vt_test.h"

#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "report/report.h"
#include "result/records.h"

char fixture_folder[64];

const char *fixture_path(const char *name)
{
    static char path[8][256];
    static int turn;
    turn = (turn + 1) % 8;
    (void)snprintf(path[turn], sizeof path[0], "%s/%s", fixture_folder, name);
    return path[turn];
}

void fixture_write(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(fixture_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

char *fixture_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    (void)fclose(file);
    return text;
}

void fixture_folder_make(const char *name)
{
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_make_folders(fixture_path(name), &err), VT_OK);
}

static void copy_data(const char *data, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", VT_TEST_REPORT_DATA, data);
    char *text = fixture_read(path);
    fixture_write(name, text, strlen(text));
    free(text);
}

/* A fraction in (0, 1) that is the same everywhere. */
static double chance(uint32_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 31;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 29;
    return ((double)(x >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

int64_t fixture_latency_ns(uint32_t i)
{
    /* A Pareto tail above a floor of 200 µs. */
    return (int64_t)(2e5 * pow(1 - chance(i), -0.4));
}

static void write_records(enum vt_scenario scenario, const char *name)
{
    static struct vt_sample_record records[FIXTURE_SAMPLES];
    struct vt_error err = VT_ERROR_INIT;

    for (uint32_t i = 0; i < FIXTURE_SAMPLES; i++) {
        const int64_t due = scenario == VT_OFFLINE ? 0 : (int64_t)i * 100000;
        const int64_t done =
            scenario == VT_OFFLINE ? (int64_t)(i + 1) * 100000 : due + fixture_latency_ns(i);
        records[i] = (struct vt_sample_record){due, due + 3000, done, i % 360, i};
    }
    struct vt_load_report report = {.settings = {.scenario = scenario},
                                    .start_unix_ms = 1796046919153,
                                    .records = records,
                                    .n_records = FIXTURE_SAMPLES};
    assert_int_equal(vt_records_write(&report, fixture_path(name), &err), VT_OK);
}

/* Readings before, in and after a window of 2 s: a counter, its power with one peak, a
 * temperature. */
static void write_power(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    (void)fputs("t_ns,unix_ns,series,unit,value\n", out);
    for (int i = -25; i < 125; i++) {
        const long long ns = (long long)i * 20000000, unix_ns = 1796046919153000000 + ns;
        const double watts = i < 0 || i > 100 ? 70 : i == 42 ? 431.5 : 200 + 20 * sin(i / 6.0);
        (void)fprintf(out, "%lld,%lld,nvml/gpu0 instant power,W,%.3f\n", ns, unix_ns, watts);
        (void)fprintf(out, "%lld,%lld,nvml/gpu0 energy,J,%.3f\n", ns, unix_ns,
                      1000 + i * 0.02 * 205);
        (void)fprintf(out,
                      "%lld,%lld,gpu0 temperature,\xc2\xb0"
                      "C,%.1f\n",
                      ns, unix_ns, 44 + (i + 25) * 0.09);
    }
    assert_int_equal(fclose(out), 0);
    fixture_write(name, text, size);
    free(text);
}

static void make_run(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/server/performance/run_1", name);
    fixture_folder_make(path);
    (void)snprintf(path, sizeof path, "%s/offline/performance/run_1", name);
    fixture_folder_make(path);
    (void)snprintf(path, sizeof path, "%s/result.json", name);
    copy_data("run.json", path);
    (void)snprintf(path, sizeof path, "%s/server/performance/run_1/records.vtr", name);
    write_records(VT_SERVER, path);
    (void)snprintf(path, sizeof path, "%s/offline/performance/run_1/records.vtr", name);
    write_records(VT_OFFLINE, path);
    (void)snprintf(path, sizeof path, "%s/server/performance/run_1/power.csv", name);
    write_power(path);
}

int fixture_make(void **state)
{
    static const char *const others[][3] = {{"comparison", "comparison.json", "result.json"},
                                            {"profile", "profile.json", "result.json"},
                                            {"sweep", "sweep.json", "sweep.json"},
                                            {"hostile", "hostile.json", "result.json"}};
    char path[128];

    (void)state;
    (void)snprintf(fixture_folder, sizeof fixture_folder, "/tmp/vatio-report-XXXXXX");
    if (mkdtemp(fixture_folder) == NULL) {
        return -1;
    }
    make_run("run");
    make_run("again");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        fixture_folder_make(others[i][0]);
        (void)snprintf(path, sizeof path, "%s/%s", others[i][0], others[i][2]);
        copy_data(others[i][1], path);
    }
    fixture_folder_make("bare");
    fixture_write("bare/result.json", "{\"schema_version\":1}", 20);
    return 0;
}

int fixture_remove(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", fixture_folder);
    return system(command);
}

char *fixture_report(const char *format, const char *first, ...)
{
    static const char *const formats[] = {"auto", "html", "md", "csv"};
    const char *folders[16];
    struct vt_report_job job = {.output = "-"};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_report_made made;
    char *text = NULL;
    size_t size = 0, n = 0;
    va_list args;

    va_start(args, first);
    for (const char *name = first; name != NULL; name = va_arg(args, const char *)) {
        folders[n++] = fixture_path(name);
    }
    va_end(args);
    for (int i = 0; i < 4; i++) {
        job.format = strcmp(format, formats[i]) == 0 ? i : job.format;
    }
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (vt_report_make(&job, folders, n, out, &err, &made) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}
