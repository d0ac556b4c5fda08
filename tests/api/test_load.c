/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator as a C library: its handles, and runs on the machine's clock. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "pool_sut.h"
#include "vatio/load.h"
#include "vt_test.h"
#include "vt_torture.h"

#define MS VT_NS_PER_MS

/* The seeds of v6.1, as mlperf.conf has them. */
#define QSL_SEED_OF_6_1 "2085463073848966840"

static struct vt_load_test *new_test(const char *scenario)
{
    struct vt_load_test *test = NULL;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_new(&err, &test), VT_OK);
    assert_int_equal(vt_load_test_set(test, "scenario", scenario, &err), VT_OK);
    return test;
}

static void set(struct vt_load_test *test, const char *name, const char *value)
{
    struct vt_error err = VT_ERROR_INIT;
    if (vt_load_test_set(test, name, value, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
}

static void assert_setting(const struct vt_load_test *test, const char *name, const char *expected)
{
    char text[64];
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_get(test, name, &err, text, sizeof text), VT_OK);
    assert_string_equal(text, expected);
}

/* Some hundred queries as fast as they come, at the scenario's rate. */
static struct vt_load_test *short_test(const char *scenario)
{
    struct vt_load_test *test = new_test(scenario);
    set(test, "min_duration_ms", "0");
    set(test, "min_query_count", "800");
    set(test, "server_target_qps", "20000");
    set(test, "server_target_latency_ns", "10000000000");
    return test;
}

static struct vt_load_result *run(struct vt_load_test *test, struct pool_sut *pool)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_result *result = NULL;
    if (vt_load_test_run(test, &pool->seam, &pool->library, &err, &result) != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_non_null(result);
    return result;
}

static double number(const struct vt_load_result *result, const char *key)
{
    double value = -1;
    struct vt_error err = VT_ERROR_INIT;
    if (vt_load_result_number(result, key, &err, &value) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return value;
}

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

/* --- runs */

static void every_scenario_runs_with_completions_from_several_threads(void **state)
{
    (void)state;
    static const char *const scenarios[] = {"Offline", "Server", "SingleStream", "MultiStream"};
    static const char *const units[] = {"samples/s", "queries/s", "ns", "ns"};
    for (int i = 0; i < 4; i++) {
        struct vt_load_test *test = short_test(scenarios[i]);
        struct pool_sut pool;
        pool_init(&pool);
        struct vt_load_result *result = run(test, &pool);
        const char *unit = "";
        double value = 0;
        vt_load_test_free(test); /* the result lives on */
        if (!vt_load_result_valid(result)) {
            fail_msg("%s: %s", scenarios[i], vt_load_result_reason(result, 0));
        }
        assert_null(vt_load_result_reason(result, 0));
        assert_null(vt_load_result_failure(result));
        assert_non_null(vt_load_result_metric(result, &value, &unit));
        assert_string_equal(unit, units[i]);
        assert_true(value > 0 && value == number(result, "metric"));
        uint64_t n = vt_load_result_records(result);
        assert_true(n >= 800 && (double)n == number(result, "samples_issued"));
        assert_true((double)n == number(result, "samples_completed"));
        assert_true(n % 8 == 0 || i != 3);
        int64_t longest = 0;
        for (uint64_t k = 0; k < n; k++) {
            struct vt_load_record r;
            assert_int_equal(vt_load_result_copy(result, k, 1, NULL, &r), VT_OK);
            assert_true(r.index < pool.library.total_count);
            assert_true(r.scheduled_ns <= r.issued_ns && r.issued_ns <= r.done_ns);
            assert_int_equal(r.first_token_ns, VT_LOAD_NEVER);
            longest = r.done_ns - r.scheduled_ns > longest ? r.done_ns - r.scheduled_ns : longest;
        }
        assert_true((double)longest == number(result, "latency_max_ns"));
        struct vt_load_record two[2];
        assert_int_equal(vt_load_result_copy(result, n - 1, 2, NULL, two), VT_ERR_USAGE);
        assert_int_equal(vt_load_result_copy(result, UINT64_MAX, 2, NULL, two), VT_ERR_USAGE);
        assert_int_equal(vt_load_result_copy(result, n, 0, NULL, NULL), VT_OK);
        vt_load_result_free(result);
    }
}

static void every_number_has_a_key(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("SingleStream");
    struct pool_sut pool;
    struct vt_error err = VT_ERROR_INIT;
    double value;
    pool_init(&pool);
    struct vt_load_result *result = run(test, &pool);
    size_t n = 0;
    for (; vt_load_result_key(n) != NULL; n++) {
        number(result, vt_load_result_key(n));
    }
    assert_true(n > 40);
    assert_true(number(result, "latency_p50_ns") <= number(result, "latency_p99_ns"));
    assert_true(number(result, "target_percentile") == 0.9);
    assert_int_equal(vt_load_result_number(result, "latency_p98_ns", &err, &value), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "latency_p9"));
    vt_load_result_free(result);
    vt_load_test_free(test);
}

static void a_submission_run_has_two_phases(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("Offline");
    struct pool_sut pool;
    pool_init(&pool);
    set(test, "mode", "SubmissionRun");
    struct vt_load_result *result = run(test, &pool);
    const struct vt_load_result *accuracy = vt_load_result_phase(result, VT_ACCURACY);
    const struct vt_load_result *performance = vt_load_result_phase(result, VT_PERFORMANCE);
    assert_true(vt_load_result_valid(result));
    assert_non_null(accuracy);
    assert_non_null(performance);
    assert_null(vt_load_result_phase(result, VT_SUBMISSION));
    assert_true(vt_load_result_phase(accuracy, VT_PERFORMANCE) == performance);
    assert_int_equal(vt_load_result_answers(performance), 0);
    assert_int_equal(vt_load_result_answers(accuracy), pool.library.total_count);
    /* Every index once, and its answer is what the sut said. */
    bool seen[POOL_SAMPLES] = {false};
    for (uint64_t i = 0; i < vt_load_result_answers(accuracy); i++) {
        struct vt_load_answer answer;
        uint64_t said;
        assert_int_equal(vt_load_result_answer(accuracy, i, NULL, &answer), VT_OK);
        assert_int_equal(answer.bytes, sizeof said);
        memcpy(&said, answer.data, sizeof said);
        assert_int_equal(said, answer.index * answer.index);
        assert_false(seen[answer.index]);
        seen[answer.index] = true;
    }
    struct vt_load_answer none;
    assert_int_equal(vt_load_result_answer(accuracy, POOL_SAMPLES, NULL, &none), VT_ERR_USAGE);
    vt_load_result_free(result);
    vt_load_test_free(test);
}

static void a_lost_sample_is_named_and_ends_the_run_after_the_time_out(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("Server");
    struct pool_sut pool;
    pool_init(&pool);
    pool.lose = 700;
    set(test, "completion_timeout", "200ms");
    int64_t before = vt_now_ns();
    struct vt_load_result *result = run(test, &pool);
    assert_true(vt_now_ns() - before < 5 * VT_NS_PER_S);
    assert_false(vt_load_result_valid(result));
    assert_non_null(vt_load_result_reason(result, 0));
    assert_non_null(vt_load_result_failure(result));
    assert_non_null(strstr(vt_load_result_failure(result), "sample 700"));
    assert_true(number(result, "samples_lost") == 1);
    struct vt_load_record lost;
    assert_int_equal(vt_load_result_copy(result, 700, 1, NULL, &lost), VT_OK);
    assert_int_equal(lost.done_ns, VT_LOAD_NEVER);
    vt_load_result_free(result);
    vt_load_test_free(test);
}

static void errors_of_the_seams_come_through(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("Offline");
    struct pool_sut pool;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_result *result = NULL;
    pool_init(&pool);
    pool.refuse = true;
    assert_int_equal(vt_load_test_run(test, &pool.seam, &pool.library, &err, &result),
                     VT_ERR_ENGINE);
    assert_null(result);
    assert_non_null(strstr(err.text, "the pool refuses"));
    /* And the test can be run again. */
    pool.refuse = false;
    vt_load_result_free(run(test, &pool));
    vt_load_test_free(test);
}

/* --- abort */

/* Far more queries than anyone waits for, to a sut that never answers. */
static struct vt_load_test *endless_test(struct pool_sut *pool, const char *scenario)
{
    struct vt_load_test *test = new_test(scenario);
    pool_init(pool);
    pool->silent = true;
    set(test, "min_duration_ms", "3600000");
    set(test, "server_target_qps", "1000");
    set(test, "completion_timeout", "1h");
    return test;
}

static void *abort_soon(void *arg)
{
    struct vt_load_test *test = arg;
    uint64_t issued = 0;
    while (issued == 0) {
        vt_load_test_progress(test, &issued, NULL, NULL);
        vt_sleep_until_ns(vt_now_ns() + MS, 0);
    }
    vt_sleep_until_ns(vt_now_ns() + 50 * MS, 0);
    vt_load_test_abort(test);
    return NULL;
}

static void assert_ended(struct vt_load_test *test, struct pool_sut *pool, int64_t before)
{
    struct vt_load_result *result = run(test, pool);
    assert_true(vt_now_ns() - before < 2 * VT_NS_PER_S);
    assert_false(vt_load_result_valid(result));
    assert_true(number(result, "interrupted") == 1);
    assert_true(number(result, "samples_completed") == 0);
    vt_load_result_free(result);
}

static void abort_from_another_thread_ends_any_scenario(void **state)
{
    (void)state;
    static const char *const scenarios[] = {"Server", "SingleStream", "Offline"};
    for (int i = 0; i < 3; i++) {
        struct pool_sut pool;
        struct vt_load_test *test = endless_test(&pool, scenarios[i]);
        pthread_t thread;
        int64_t before = vt_now_ns();
        assert_int_equal(pthread_create(&thread, NULL, abort_soon, test), 0);
        assert_ended(test, &pool, before);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(pool.aborts, 1);
        vt_load_test_free(test);
    }
}

static struct vt_load_test *signalled;

static void on_alarm(int number)
{
    (void)number;
    vt_load_test_abort(signalled);
}

static void abort_from_a_signal_handler_ends_the_issue_loop(void **state)
{
    (void)state;
    struct pool_sut pool;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, before;
    signalled = endless_test(&pool, "Server");
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    int64_t start = vt_now_ns();
    ualarm(150000, 0);
    assert_ended(signalled, &pool, start);
    assert_true(vt_now_ns() - start >= 100 * MS);
    uint64_t issued = 0;
    vt_load_test_progress(signalled, &issued, NULL, NULL);
    assert_true(issued > 0);
    sigaction(SIGALRM, &before, NULL);
    vt_load_test_free(signalled);
}

static void an_early_abort_ends_the_next_run_and_only_that(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("Server");
    struct pool_sut pool;
    pool_init(&pool);
    vt_load_test_abort(test);
    struct vt_load_result *result = run(test, &pool);
    assert_true(number(result, "interrupted") == 1);
    assert_true(number(result, "samples_issued") < 800);
    vt_load_result_free(result);
    result = run(test, &pool);
    assert_true(vt_load_result_valid(result));
    vt_load_result_free(result);
    vt_load_test_free(test);
}

/* --- while a run is on */

struct meddler {
    struct vt_load_test *test;
    struct pool_sut *pool;
    bool done;
    enum vt_status set, run, logs, round;
    uint64_t issued;
    int64_t elapsed_ns;
};

static void meddle(void *ctx)
{
    struct meddler *m = ctx;
    struct vt_load_result *result = NULL;
    if (m->done) {
        return;
    }
    m->done = true;
    m->set = vt_load_test_set(m->test, "min_query_count", "7", NULL);
    m->logs = vt_load_test_set_logs(m->test, NULL, NULL);
    m->round = vt_load_test_use_round(m->test, NULL, NULL, NULL);
    m->run = vt_load_test_run(m->test, &m->pool->seam, &m->pool->library, NULL, &result);
    vt_load_test_progress(m->test, &m->issued, NULL, &m->elapsed_ns);
}

static void a_running_test_refuses_changes(void **state)
{
    (void)state;
    struct vt_load_test *test = short_test("SingleStream");
    struct pool_sut pool;
    struct meddler m = {.test = test, .pool = &pool};
    pool_init(&pool);
    pool.on_issue = meddle;
    pool.on_issue_ctx = &m;
    struct vt_load_result *result = run(test, &pool);
    assert_true(m.done && vt_load_result_valid(result));
    assert_int_equal(m.set, VT_ERR_USAGE);
    assert_int_equal(m.logs, VT_ERR_USAGE);
    assert_int_equal(m.round, VT_ERR_USAGE);
    assert_int_equal(m.run, VT_ERR_USAGE);
    assert_true(m.elapsed_ns >= 0);
    uint64_t issued = 0, completed = 0;
    vt_load_test_progress(test, &issued, &completed, NULL);
    assert_true((double)issued == number(result, "samples_issued"));
    assert_int_equal(completed, issued);
    assert_setting(test, "min_query_count", "800");
    vt_load_result_free(result);
    vt_load_test_free(test);
}

static void *run_one(void *arg)
{
    struct vt_load_test *test = short_test("Server");
    struct pool_sut pool;
    struct vt_load_result *result = NULL;
    pool_init(&pool);
    (void)arg;
    bool good = vt_load_test_run(test, &pool.seam, &pool.library, NULL, &result) == VT_OK &&
                vt_load_result_records(result) == 800;
    vt_load_result_free(result);
    vt_load_test_free(test);
    return good ? test : NULL;
}

static void two_tests_run_at_once(void **state)
{
    (void)state;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_one, NULL), 0);
    }
    for (int i = 0; i < 2; i++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_non_null(good);
    }
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
        cmocka_unit_test(every_scenario_runs_with_completions_from_several_threads),
        cmocka_unit_test(every_number_has_a_key),
        cmocka_unit_test(a_submission_run_has_two_phases),
        cmocka_unit_test(a_lost_sample_is_named_and_ends_the_run_after_the_time_out),
        cmocka_unit_test(errors_of_the_seams_come_through),
        cmocka_unit_test(abort_from_another_thread_ends_any_scenario),
        cmocka_unit_test(abort_from_a_signal_handler_ends_the_issue_loop),
        cmocka_unit_test(an_early_abort_ends_the_next_run_and_only_that),
        cmocka_unit_test(a_running_test_refuses_changes),
        cmocka_unit_test(two_tests_run_at_once),
        cmocka_unit_test(logs_are_written_where_and_how_they_were_asked_for),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
