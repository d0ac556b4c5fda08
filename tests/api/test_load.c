/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator as a C library: misuse, settings, files, logs, memory. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "load_fixture.h"
#include "vt_torture.h"

#define MS VT_NS_PER_MS

/* The seeds of v6.1, as mlperf.conf has them. */
#define QSL_SEED_OF_6_1 "2085463073848966840"

/* --- misuse */

static void null_is_refused_or_harmless(void **state)
{
    (void)state;
    struct vt_load_test *test = new_test("Server");
    struct pool_sut pool;
    struct vt_load_result *result = NULL;
    struct vt_load_record record;
    struct vt_load_answer answer;
    char text[8];
    double value;
    pool_init(&pool);
    assert_int_equal(vt_load_test_new(NULL, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_set(NULL, "mode", "x", NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_set(test, NULL, "x", NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_set(test, "mode", NULL, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_get(NULL, "mode", NULL, text, 8), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_get(test, NULL, NULL, text, 8), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_get(test, "mode", NULL, NULL, 8), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_get(test, "mode", NULL, text, 0), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_set_arrivals(test, NULL, 1, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_set_cpus(test, NULL, 1, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_use_round(NULL, NULL, NULL, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_read_conf(test, VT_LOAD_CONF_USER, NULL, NULL, NULL),
                     VT_ERR_USAGE);
    assert_int_equal(vt_load_test_set_logs(NULL, NULL, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_run(NULL, &pool.seam, &pool.library, NULL, &result),
                     VT_ERR_USAGE);
    assert_int_equal(vt_load_test_run(test, NULL, &pool.library, NULL, &result), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_run(test, &pool.seam, NULL, NULL, &result), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_run(test, &pool.seam, &pool.library, NULL, NULL), VT_ERR_USAGE);
    assert_null(result);
    vt_load_test_abort(NULL);
    vt_load_test_progress(NULL, NULL, NULL, NULL);
    vt_load_test_progress(test, NULL, NULL, NULL);
    assert_null(vt_load_test_warning(NULL, 0));
    assert_null(vt_load_setting_help(NULL));
    assert_false(vt_load_result_valid(NULL));
    assert_null(vt_load_result_phase(NULL, VT_PERFORMANCE));
    assert_null(vt_load_result_reason(NULL, 0));
    assert_null(vt_load_result_failure(NULL));
    assert_null(vt_load_result_metric(NULL, NULL, NULL));
    assert_null(vt_load_result_note(NULL, 0, NULL, NULL));
    assert_int_equal(vt_load_result_records(NULL), 0);
    assert_int_equal(vt_load_result_answers(NULL), 0);
    assert_int_equal(vt_load_result_copy(NULL, 0, 1, NULL, &record), VT_ERR_USAGE);
    assert_int_equal(vt_load_result_answer(NULL, 0, NULL, &answer), VT_ERR_USAGE);
    assert_int_equal(vt_load_result_number(NULL, "duration_ns", NULL, &value), VT_ERR_USAGE);
    vt_load_result_free(NULL);
    vt_load_test_free(NULL);
    vt_load_test_free(test);
}

/* The run is refused with a sentence that names `word`, and the sut never sees it. */
static void assert_refused(const struct vt_sut *sut, const struct vt_qsl *qsl, const char *word)
{
    struct vt_load_test *test = short_test("SingleStream");
    struct vt_load_result *result = NULL;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_run(test, sut, qsl, &err, &result), VT_ERR_USAGE);
    assert_null(result);
    if (strstr(err.text, word) == NULL) {
        fail_msg("'%s' does not name '%s'", err.text, word);
    }
    vt_load_test_free(test);
}

static void a_seam_that_was_filled_wrongly_is_named(void **state)
{
    (void)state;
    struct pool_sut pool;
    pool_init(&pool);
    struct vt_sut sut = pool.seam;
    struct vt_qsl qsl = pool.library;
    sut.api_version = VT_LOAD_API_VERSION + 1;
    assert_refused(&sut, &qsl, "sut->api_version is 2");
    sut = pool.seam;
    sut.struct_size = 16;
    assert_refused(&sut, &qsl, "sut->struct_size is 16");
    sut = pool.seam;
    sut.abort = NULL;
    assert_refused(&sut, &qsl, "sut->abort");
    sut = pool.seam;
    qsl.api_version = 0;
    assert_refused(&sut, &qsl, "qsl->api_version is 0");
    qsl = pool.library;
    qsl.unload = NULL;
    assert_refused(&sut, &qsl, "qsl->unload");
    qsl = pool.library;
    qsl.performance_count = qsl.total_count + 1;
    assert_refused(&sut, &qsl, "performance_count");
    qsl.performance_count = 0;
    assert_refused(&sut, &qsl, "performance_count");
    assert_int_equal(pool.starts, 0);

    /* A struct of a later library, longer than ours, is fine. */
    struct {
        struct vt_sut sut;
        void *later;
    } longer = {pool.seam, NULL};
    longer.sut.struct_size = sizeof longer;
    struct vt_load_test *test = short_test("SingleStream");
    struct vt_load_result *result = NULL;
    assert_int_equal(vt_load_test_run(test, &longer.sut, &pool.library, NULL, &result), VT_OK);
    vt_load_result_free(result);

    struct vt_load_logs logs = {.api_version = 9, .struct_size = sizeof logs};
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_set_logs(test, &logs, &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "logs->api_version is 9"));
    vt_load_test_free(test);
}

/* --- settings */

static void settings_have_names_ranges_and_texts(void **state)
{
    (void)state;
    struct vt_load_test *test = new_test("Server");
    size_t n = 0;
    char text[256];
    for (const char *name; (name = vt_load_setting_name(n)) != NULL; n++) {
        struct vt_error err = VT_ERROR_INIT;
        assert_non_null(vt_load_setting_help(name));
        assert_int_equal(vt_load_test_get(test, name, &err, text, sizeof text), VT_OK);
        /* What it says can be set again. */
        if (vt_load_test_set(test, name, text, &err) != VT_OK) {
            fail_msg("%s", err.text);
        }
        assert_setting(test, name, text);
    }
    assert_true(n > 10);
    assert_null(vt_load_setting_help("nonsense"));
    assert_setting(test, "scenario", "Server");
    assert_setting(test, "min_query_count", "100");
    set(test, "min_query_count", "12345");
    assert_setting(test, "min_query_count", "12345");
    static const struct {
        const char *name, *value, *word;
    } wrong[] = {
        {"min_query_count", "0", "min_query_count"},
        {"min_query_count", "many", "many"},
        {"server_target_qps", "-1", "server_target_qps"},
        {"min_durations_ms", "1", "min_duration_ms"},
        {"scenario", "Serving", "Serving"},
        {"mode", "Fast", "mode"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vt_error err = VT_ERROR_INIT;
        assert_int_equal(vt_load_test_set(test, wrong[i].name, wrong[i].value, &err), VT_ERR_USAGE);
        if (strstr(err.text, wrong[i].word) == NULL) {
            fail_msg("'%s' does not name '%s'", err.text, wrong[i].word);
        }
    }
    assert_setting(test, "min_query_count", "12345");
    assert_int_equal(vt_load_test_get(test, "nonsense", NULL, text, sizeof text), VT_ERR_USAGE);
    vt_load_test_free(test);
}

static void a_path_is_copied(void **state)
{
    (void)state;
    struct vt_load_test *test = new_test("Server");
    char path[] = "/tmp/one", text[4];
    set(test, "spill_folder", path);
    set(test, "spill_folder", path);
    path[5] = 'X';
    assert_setting(test, "spill_folder", "/tmp/one");
    assert_int_equal(vt_load_test_get(test, "spill_folder", NULL, text, sizeof text), VT_OK);
    assert_string_equal(text, "/tm");
    vt_load_test_free(test);
}

static void lists_are_checked_and_copied(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("Server");
    struct pool_sut pool;
    struct vt_error err = VT_ERROR_INIT;
    int64_t times[] = {0, 1 * MS, 1 * MS, 3 * MS};
    const int64_t descending[] = {0, 2, 1};
    const int32_t below[] = {0, -1}, cpu[] = {0};
    pool_init(&pool);
    assert_int_equal(vt_load_test_set_arrivals(test, descending, 3, &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "arrival 2"));
    assert_int_equal(vt_load_test_set_cpus(test, below, 2, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_load_test_set_cpus(test, cpu, 1, NULL), VT_OK);
    assert_int_equal(vt_load_test_set_cpus(test, NULL, 0, NULL), VT_OK);
    assert_int_equal(vt_load_test_set_arrivals(test, times, 4, NULL), VT_OK);
    times[0] = times[1] = times[2] = times[3] = 0;
    assert_setting(test, "arrivals", "trace");
    struct vt_load_result *result = run(test, &pool);
    struct vt_load_record records[4];
    assert_int_equal(vt_load_result_records(result), 4);
    assert_int_equal(vt_load_result_copy(result, 0, 4, NULL, records), VT_OK);
    assert_int_equal(records[2].scheduled_ns, 1 * MS);
    assert_int_equal(records[3].scheduled_ns, 3 * MS);
    vt_load_result_free(result);
    assert_int_equal(vt_load_test_set_arrivals(test, NULL, 0, NULL), VT_OK);
    assert_setting(test, "arrivals", "poisson");
    vt_load_test_free(test);
}

static void a_round_sets_its_values(void **state)
{
    (void)state;
    struct vt_load_test *test = new_test("Server");
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_use_round(test, "v1.9", NULL, &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "v6.1"));
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_load_test_use_round(test, NULL, "resnet51", &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "resnet51"));
    assert_setting(test, "qsl_rng_seed", "0");
    assert_int_equal(vt_load_test_use_round(test, NULL, "resnet50", NULL), VT_OK);
    assert_setting(test, "qsl_rng_seed", QSL_SEED_OF_6_1);
    assert_setting(test, "server_target_latency_ns", "15000000");
    /* Too late for another scenario: its values would be missing. */
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_load_test_set(test, "scenario", "Offline", &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "set it first"));
    set(test, "scenario", "Server");
    vt_load_test_free(test);
}

/* A file of that text in the current folder. */
static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void files_are_applied_whole_or_not_at_all(void **state)
{
    (void)state;
    struct vt_load_test *test = new_test("Server");
    struct vt_error err = VT_ERROR_INIT;
    write_file("api_user.conf", "*.Server.target_qps = 321\nmine.Server.target_qsp = 9\n");
    assert_int_equal(vt_load_test_read_conf(test, VT_LOAD_CONF_USER, "api_user.conf", "mine", &err),
                     VT_OK);
    assert_setting(test, "server_target_qps", "321");
    assert_non_null(vt_load_test_warning(test, 0));
    assert_non_null(strstr(vt_load_test_warning(test, 0), "api_user.conf:2"));
    assert_non_null(strstr(vt_load_test_warning(test, 0), "target_qps"));
    assert_null(vt_load_test_warning(test, 1));
    write_file("api_user.conf", "*.Server.target_qps = 5\nwithout an equals sign\n");
    assert_int_equal(vt_load_test_read_conf(test, VT_LOAD_CONF_USER, "api_user.conf", NULL, &err),
                     VT_ERR_FORMAT);
    assert_non_null(strstr(err.text, "api_user.conf:2"));
    assert_setting(test, "server_target_qps", "321");
    unlink("api_user.conf");
    assert_int_equal(vt_load_test_read_conf(test, VT_LOAD_CONF_AUDIT, "api_user.conf", NULL, NULL),
                     VT_ERR_NOT_FOUND);
    assert_int_equal(
        vt_load_test_read_conf(test, (enum vt_load_conf)3, "api_user.conf", NULL, NULL),
        VT_ERR_USAGE);
    vt_load_test_free(test);
}

/* --- logs */

static void logs_are_written_where_and_how_they_were_asked_for(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("Server");
    struct pool_sut pool;
    struct stat info;
    char folder[] = "api_logs_XXXXXX", path[128];
    pool_init(&pool);
    assert_non_null(mkdtemp(folder));
    struct vt_load_logs logs = {.api_version = VT_LOAD_API_VERSION,
                                .struct_size = sizeof logs,
                                .folder = folder,
                                .prefix = "mine_"};
    assert_int_equal(vt_load_test_set_logs(test, &logs, NULL), VT_OK);
    vt_load_result_free(run(test, &pool));
    static const char *const names[] = {"mine_summary.txt", "mine_detail.txt",
                                        "mine_accuracy.json"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(stat(path, &info), 0);
        assert_true(info.st_size > 0);
        assert_int_equal(unlink(path), 0);
    }
    /* A file that cannot be put in its place at the end: what was measured is kept. */
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_result *result = NULL;
    snprintf(path, sizeof path, "%s/mine_detail.txt", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(vt_load_test_run(test, &pool.seam, &pool.library, &err, &result),
                     VT_ERR_WRITE);
    assert_non_null(strstr(err.text, path));
    assert_non_null(result);
    assert_int_equal(vt_load_result_records(result), 800);
    vt_load_result_free(result);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path); /* those that came before it are there */
    }
    assert_int_equal(rmdir(folder), 0);
    /* A folder that is not there is noticed before anything is measured. */
    int starts = pool.starts;
    err = (struct vt_error)VT_ERROR_INIT;
    result = NULL;
    assert_int_equal(vt_load_test_run(test, &pool.seam, &pool.library, &err, &result),
                     VT_ERR_WRITE);
    assert_non_null(strstr(err.text, folder));
    assert_null(result);
    assert_int_equal(pool.starts, starts);
    assert_int_equal(vt_load_test_set_logs(test, NULL, NULL), VT_OK);
    vt_load_result_free(run(test, &pool));
    vt_load_test_free(test);
}

/* --- the guide */

/* "latency_p99_ns" stands in docs/api.md as `latency_X_ns`, with its own X's. */
static void every_key_stands_in_the_guide(void **state)
{
    (void)state;
    static const char *const statistics[] = {"min", "mean", "p50", "p90",  "p95",
                                             "p97", "p99",  "max", "p99_9"};
    char *guide = NULL, quoted[96];
    size_t size;
    assert_int_equal(vt_file_read(VT_TEST_SOURCE "/docs/api.md", 1 << 20, NULL, &guide, &size),
                     VT_OK);
    for (size_t i = 0; vt_load_result_key(i) != NULL; i++) {
        const char *key = vt_load_result_key(i);
        snprintf(quoted, sizeof quoted, "`%s`", key);
        bool found = strstr(guide, quoted) != NULL;
        for (size_t k = 0; k < sizeof statistics / sizeof statistics[0]; k++) {
            char tail[16];
            size_t n = (size_t)snprintf(tail, sizeof tail, "_%s_ns", statistics[k]);
            size_t length = strlen(key);
            if (length > n && strcmp(key + length - n, tail) == 0) {
                snprintf(quoted, sizeof quoted, "`%.*s_X_ns`", (int)(length - n), key);
                found = found || strstr(guide, quoted) != NULL;
            }
        }
        if (!found) {
            vt_free(guide);
            fail_msg("docs/api.md does not list the key %s", key);
        }
    }
    vt_free(guide);
}

/* --- memory */

static enum vt_status build_and_run(struct pool_sut *pool)
{
    const int64_t times[] = {0, 1000, 2000};
    const int32_t cpus[] = {0};
    const struct vt_load_logs logs = {.api_version = VT_LOAD_API_VERSION,
                                      .struct_size = sizeof logs,
                                      .folder = "/nowhere",
                                      .prefix = "a",
                                      .suffix = "b"};
    struct vt_load_test *test = NULL;
    struct vt_load_result *result = NULL;
    enum vt_status status = vt_load_test_new(NULL, &test);
    if (status == VT_OK && (status = vt_load_test_set(test, "scenario", "Server", NULL)) == VT_OK &&
        (status = vt_load_test_set(test, "spill_folder", "/tmp", NULL)) == VT_OK &&
        (status = vt_load_test_set(test, "min_duration_ms", "0", NULL)) == VT_OK &&
        (status = vt_load_test_set_logs(test, &logs, NULL)) == VT_OK &&
        (status = vt_load_test_set_logs(test, NULL, NULL)) == VT_OK &&
        (status = vt_load_test_set_cpus(test, cpus, 1, NULL)) == VT_OK &&
        (status = vt_load_test_set_cpus(test, NULL, 0, NULL)) == VT_OK &&
        (status = vt_load_test_set_arrivals(test, times, 3, NULL)) == VT_OK) {
        status = vt_load_test_run(test, &pool->seam, &pool->library, NULL, &result);
    }
    if (status == VT_OK && vt_load_result_records(result) != 3) {
        status = VT_ERR_MISMATCH;
    }
    vt_load_result_free(result);
    vt_load_test_free(test);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    enum vt_status status = VT_ERR_MEMORY;
    int allowed = 0;
    for (; status == VT_ERR_MEMORY && allowed < 500; allowed++) {
        struct vt_torture torture;
        struct pool_sut pool;
        pool_init(&pool);
        vt_torture_begin(&torture, allowed);
        status = build_and_run(&pool);
        assert_int_equal(vt_torture_end(&torture), 0);
    }
    assert_int_equal(status, VT_OK);
    assert_true(allowed > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_refused_or_harmless),
        cmocka_unit_test(a_seam_that_was_filled_wrongly_is_named),
        cmocka_unit_test(settings_have_names_ranges_and_texts),
        cmocka_unit_test(a_path_is_copied),
        cmocka_unit_test(lists_are_checked_and_copied),
        cmocka_unit_test(a_round_sets_its_values),
        cmocka_unit_test(files_are_applied_whole_or_not_at_all),
        cmocka_unit_test(logs_are_written_where_and_how_they_were_asked_for),
        cmocka_unit_test(every_key_stands_in_the_guide),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
