/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator as a C library: runs on the machine's clock, ended early or not, and what
 * their results say. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "load_fixture.h"

#define MS VT_NS_PER_MS

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
    set(test, "min_duration_ms", "60000");
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
    static const char *const scenarios[] = {"Server", "SingleStream", "Offline", "Server"};
    for (int i = 0; i < 4; i++) {
        struct pool_sut pool;
        struct vt_load_test *test = endless_test(&pool, scenarios[i]);
        set(test, "server_num_issue_query_threads", i == 3 ? "3" : "0");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
