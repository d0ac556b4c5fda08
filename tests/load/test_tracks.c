/* SPDX-License-Identifier: Apache-2.0 */
/* Server from several issuing threads, on the machine's clock: the queries are those of one. */
#include <signal.h>
#include <sys/time.h>

#include "load/recorder.h"
#include "vt_load_pool.h"
#include "vt_test.h"

#define MS VT_NS_PER_MS

static int reset(void **state)
{
    (void)state;
    vt_pool_reset();
    return 0;
}

static struct vt_load_settings settings_of(uint32_t threads, uint64_t count)
{
    struct vt_load_settings s = vt_pool_settings(VT_SERVER, count);
    s.server_num_issue_query_threads = threads;
    s.schedule_rng_seed = 77;
    s.sample_index_rng_seed = 78;
    s.completion_timeout_ns = 300 * MS;
    return s;
}

static void assert_reason(const struct vt_load_report *r, const char *text)
{
    assert_false(r->valid);
    for (uint32_t i = 0; i < r->reasons.n; i++) {
        if (strstr(r->reasons.text[i], text) != NULL) {
            return;
        }
    }
    fail_msg("no reason says '%s'; the first is '%s'", text,
             r->reasons.n > 0 ? r->reasons.text[0] : "");
}

static void assert_same_queries(const struct vt_load_report *one, const struct vt_load_report *many)
{
    assert_int_equal(one->n_records, many->n_records);
    assert_int_equal(one->queries_issued, many->queries_issued);
    assert_int_equal(one->queries_generated, many->queries_generated);
    assert_int_equal(one->generated_duration_ns, many->generated_duration_ns);
    for (uint64_t i = 0; i < one->n_records; i++) {
        const struct vt_sample_record *a = &one->records[i], *b = &many->records[i];
        assert_int_equal(b->query, i);
        assert_int_equal(a->index, b->index);
        assert_int_equal(a->scheduled_ns, b->scheduled_ns);
        assert_true(b->issued_ns >= b->scheduled_ns);
        assert_true(b->done_ns >= b->issued_ns);
    }
}

static void threads_issue_the_queries_of_one(void **state)
{
    (void)state;
    static const uint32_t threads[] = {2, 3, 8};
    for (int equal = 0; equal < 2; equal++) {
        for (int coalesce = 0; coalesce < 2; coalesce++) {
            for (size_t k = 0; k < 3; k++) {
                struct vt_load_settings s = settings_of(0, 1500);
                s.sample_concatenate_permutation = equal;
                struct vt_load_report *one = vt_pool_run(&s, NULL);
                s.server_num_issue_query_threads = threads[k];
                s.server_coalesce_queries = coalesce;
                vt_pool.in_place = k == 1;
                struct vt_load_control control = {0};
                struct vt_load_report *many = vt_pool_run(&s, &control);
                vt_pool.in_place = false;
                assert_true(one->valid && many->valid);
                assert_same_queries(one, many);
                assert_int_equal(atomic_load(&control.issued), many->samples_issued);
                assert_int_equal(atomic_load(&control.completed), many->samples_issued);
                vt_load_report_free(one);
                vt_load_report_free(many);
            }
        }
    }
}

static void accuracy_over_several_sets_keeps_the_order_of_one(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(0, 100);
    s.mode = VT_ACCURACY;
    s.performance_sample_count_override = 300; /* three sets and one of 100 */
    struct vt_load_report *one = vt_pool_run(&s, NULL);
    s.server_num_issue_query_threads = 3;
    struct vt_load_report *many = vt_pool_run(&s, NULL);
    assert_int_equal(one->n_records, 1000);
    assert_int_equal(many->n_records, 1000);
    assert_int_equal(many->n_responses, 1000);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(one->records[i].index, many->records[i].index);
        const struct vt_load_response *response = &many->responses[i];
        assert_int_equal(response->index, many->records[response->sequence].index);
    }
    vt_load_report_free(one);
    vt_load_report_free(many);
}

static void the_same_responses_are_sampled(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(0, 2000);
    s.accuracy_log_probability = 0.1;
    s.accuracy_log_rng_seed = 3;
    struct vt_load_report *one = vt_pool_run(&s, NULL);
    s.server_num_issue_query_threads = 4;
    struct vt_load_report *many = vt_pool_run(&s, NULL);
    assert_in_range(one->n_responses, 120, 280);
    assert_int_equal(one->n_responses, many->n_responses);
    bool kept[2000] = {false};
    for (uint64_t i = 0; i < one->n_responses; i++) {
        kept[one->responses[i].sequence] = true;
    }
    for (uint64_t i = 0; i < many->n_responses; i++) {
        assert_true(kept[many->responses[i].sequence]);
    }
    vt_load_report_free(one);
    vt_load_report_free(many);
}

static void what_is_due_together_goes_together(void **state)
{
    (void)state;
    /* All at once: the threads cannot but be late. */
    struct vt_load_settings s = settings_of(2, 4000);
    s.server_target_qps = 1e8;
    s.server_coalesce_queries = true;
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_true(atomic_load(&vt_pool.largest) > 1);
    assert_true(atomic_load(&vt_pool.issues) < 4000);
    assert_int_equal(r->samples_completed, 4000);
    for (uint64_t i = 1; i < r->n_records; i++) {
        assert_true(r->records[i].scheduled_ns >= r->records[i - 1].scheduled_ns);
    }
    vt_load_report_free(r);
}

static void counts_are_shared_out_with_the_remainder_in_front(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(3, 1000);
    s.max_query_count = 100;
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_true(r->capped);
    assert_int_equal(r->queries_issued, 100);
    /* 34, 33 and 33: all below 99, and the one that thread 0 has left over. */
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(r->records[i].query, i);
    }
    assert_int_equal(r->n_notes, 1);
    assert_true(r->notes[0].is_error);
    vt_load_report_free(r);
    /* Two of the threads have no share at all. */
    s = settings_of(4, 1000);
    s.max_query_count = 2;
    r = vt_pool_run(&s, NULL);
    assert_int_equal(r->queries_issued, 2);
    assert_int_equal(r->records[1].query, 1);
    vt_load_report_free(r);
}

static void too_many_outstanding_queries_end_all_threads(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        vt_pool_reset();
        vt_pool.silent = true;
        struct vt_load_settings s = settings_of(threads, 100000);
        s.server_max_async_queries = 50;
        struct vt_load_report *r = vt_pool_run(&s, NULL);
        assert_in_range(r->queries_issued, 51, 51 + threads);
        assert_true(r->n_notes >= 1);
        assert_true(r->notes[0].is_error);
        assert_non_null(strstr(r->notes[0].text, "server_max_async_queries 50"));
        assert_reason(r, "server_max_async_queries 50");
        assert_int_equal(atomic_load(&vt_pool.flushes), 1);
        vt_load_report_free(r);
    }
}

static void a_lost_sample_is_named(void **state)
{
    (void)state;
    vt_pool.lose = 123;
    struct vt_load_settings s = settings_of(3, 4000);
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_true(r->samples_lost > 0);
    uint64_t first = 0;
    while (r->records[first].index != 123) {
        first++;
    }
    char text[64];
    snprintf(text, sizeof(text), "first: sample %u, index 123", (unsigned)first);
    assert_reason(r, text);
    assert_true(r->samples_lost + r->samples_completed == r->samples_issued);
    vt_load_report_free(r);
}

static void a_sample_after_the_end_is_reported(void **state)
{
    (void)state;
    vt_pool.lose = 123;
    vt_pool.lose_late = true;
    struct vt_load_settings s = settings_of(2, 4000);
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_false(r->valid);
    assert_true(r->samples_late == 1);
    vt_load_report_free(r);
}

static void doubled_and_invented_completions_are_counted(void **state)
{
    (void)state;
    vt_pool.twice = true;
    vt_pool.invent = UINT64_C(0x00dead0000000000);
    struct vt_load_settings s = settings_of(4, 2000);
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_int_equal(r->samples_completed, 2000);
    assert_int_equal(r->samples_doubled, 2000);
    assert_int_equal(r->samples_invented, 1);
    assert_false(r->valid);
    vt_load_report_free(r);
}

static void silence_ends_all_threads(void **state)
{
    (void)state;
    vt_pool.silent = true;
    struct vt_load_settings s = settings_of(3, 2000);
    s.server_target_qps = 100; /* 20 s */
    int64_t before = vt_now_ns();
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_in_range(vt_now_ns() - before, 300 * MS, 10 * VT_NS_PER_S);
    assert_int_equal(r->samples_completed, 0);
    assert_true(r->queries_issued < 2000);
    assert_reason(r, "never completed (first: sample 0");
    vt_load_report_free(r);
}

static void a_failed_call_ends_all_threads(void **state)
{
    (void)state;
    atomic_store(&vt_pool.refuse_at, 100);
    struct vt_load_settings s = settings_of(3, 1000000);
    struct vt_error err = VT_ERROR_INIT;
    struct vt_load_report *r = NULL;
    int64_t before = vt_now_ns();
    assert_int_equal(vt_load_run(&s, &vt_pool.seam, &vt_pool_library, NULL, &err, &r),
                     VT_ERR_ENGINE);
    assert_string_equal(err.text, "the pool refuses call 100");
    assert_null(r);
    assert_true(vt_now_ns() - before < 10 * VT_NS_PER_S);
}

static void more_threads_than_queries_do_no_harm(void **state)
{
    (void)state;
    struct vt_load_settings s = settings_of(16, 5);
    struct vt_load_report *r = vt_pool_run(&s, NULL);
    assert_int_equal(r->queries_issued, 5);
    assert_int_equal(r->samples_completed, 5);
    vt_load_report_free(r);
    s.server_num_issue_query_threads = VT_TRACKS_MAX + 1;
    struct vt_error err = VT_ERROR_INIT;
    r = NULL;
    assert_int_equal(vt_load_run(&s, &vt_pool.seam, &vt_pool_library, NULL, &err, &r),
                     VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "server_num_issue_query_threads"));
}

static struct vt_load_control *interrupted;
static void on_alarm(int signal_number)
{
    (void)signal_number;
    atomic_store(&interrupted->stop, true);
}

static void a_signal_handler_may_stop_a_run(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        struct vt_load_settings s = settings_of(threads, 1000);
        s.server_target_qps = 0.001;
        s.completion_timeout_ns = 100 * VT_NS_PER_S;
        struct vt_load_control control = {0};
        interrupted = &control;
        struct sigaction action = {.sa_handler = on_alarm}, before;
        assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
        struct itimerval timer = {.it_value = {.tv_usec = 80000}};
        assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
        int64_t began = vt_now_ns();
        struct vt_load_report *r = vt_pool_run(&s, &control);
        assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
        assert_true(r->interrupted);
        assert_in_range(vt_now_ns() - began, 80 * MS, 5 * VT_NS_PER_S);
        vt_load_report_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(threads_issue_the_queries_of_one, reset),
        cmocka_unit_test_setup(accuracy_over_several_sets_keeps_the_order_of_one, reset),
        cmocka_unit_test_setup(the_same_responses_are_sampled, reset),
        cmocka_unit_test_setup(what_is_due_together_goes_together, reset),
        cmocka_unit_test_setup(counts_are_shared_out_with_the_remainder_in_front, reset),
        cmocka_unit_test_setup(too_many_outstanding_queries_end_all_threads, reset),
        cmocka_unit_test_setup(a_lost_sample_is_named, reset),
        cmocka_unit_test_setup(a_sample_after_the_end_is_reported, reset),
        cmocka_unit_test_setup(doubled_and_invented_completions_are_counted, reset),
        cmocka_unit_test_setup(silence_ends_all_threads, reset),
        cmocka_unit_test_setup(a_failed_call_ends_all_threads, reset),
        cmocka_unit_test_setup(more_threads_than_queries_do_no_harm, reset),
        cmocka_unit_test_setup(a_signal_handler_may_stop_a_run, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
