/* SPDX-License-Identifier: Apache-2.0 */
/* The four scenarios on a clock of the test's own: counts, times and verdicts to the nanosecond. */
#include "load/early_stopping.h"
#include "load/schedule.h"
#include "vt_load_double.h"
#include "vt_test.h"

#define MS VT_NS_PER_MS
#define S  VT_NS_PER_S

struct bench {
    struct vt_fake_clock clock;
    struct vt_fake_sut sut;
    struct vt_fake_qsl qsl;
    struct vt_load_control control;
    struct vt_load_settings settings;
    struct vt_load_report *report;
};

static struct bench *bench_of(void **state, enum vt_scenario scenario)
{
    struct bench *b = *state;
    vt_load_settings_default(&b->settings);
    b->settings.scenario = scenario;
    return b;
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    vt_fake_init(&b->clock, &b->sut, &b->qsl, &b->control, 1000, 200);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    vt_load_report_free(b->report);
    vt_fake_release(&b->sut);
    free(b);
    return 0;
}

static const struct vt_load_report *run(struct bench *b)
{
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status st =
        vt_load_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, &err, &b->report);
    if (st != VT_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(b->qsl.loads, b->qsl.unloads);
    assert_int_equal(b->qsl.loaded, 0);
    assert_int_equal(b->sut.starts, 1);
    assert_int_equal(b->sut.stops, 1);
    assert_int_equal(b->report->samples_issued, b->sut.issued);
    assert_int_equal(b->report->n_records, b->sut.issued);
    assert_int_equal(atomic_load(&b->control.issued), b->report->samples_issued);
    for (uint64_t i = 0; i < b->report->n_records; i++) {
        assert_int_equal(b->report->records[i].index, b->sut.indices[i]);
        assert_int_equal(b->report->records[i].issued_ns, b->sut.issue_times_ns[i]);
    }
    return b->report;
}

static void assert_valid(const struct vt_load_report *r)
{
    if (!r->valid) {
        fail_msg("not valid: %s", r->reasons.n > 0 ? r->reasons.text[0] : "no reason");
    }
    assert_int_equal(r->reasons.n, 0);
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

static void single_stream_ends_at_the_duration(void **state)
{
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    b->sut.fixed_ns = MS;
    const struct vt_load_report *r = run(b);
    assert_valid(r);
    /* Issues at 0, 1, …, 10000 ms: the last one is the first at or after 10 s. */
    assert_int_equal(r->queries_issued, 10001);
    assert_int_equal(r->last_issue_ns, 10 * S);
    assert_int_equal(r->duration_ns, 10 * S + MS);
    assert_int_equal(r->last_query_done_ns, 10 * S + MS);
    assert_int_equal(r->latency.min_ns, MS);
    assert_int_equal(r->latency.mean_ns, MS);
    assert_int_equal(r->latency.max_ns, MS);
    assert_int_equal(r->lateness_max_ns, 0);
    assert_string_equal(r->metric.unit, "ns");
    assert_true(r->metric.value == 1e6);
    assert_int_equal(r->early_stopping_estimate_ns, MS);
    assert_int_equal(r->early_stopping_needed, 64);
    assert_int_equal(b->sut.flushes, 1);
    assert_int_equal(b->sut.aborts, 0);
    assert_int_equal(atomic_load(&b->control.started_ns), VT_FAKE_EPOCH);
}

static void single_stream_ends_at_the_count(void **state)
{
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    b->sut.fixed_ns = MS;
    b->settings.min_duration_ns = 0;
    b->settings.min_query_count = 1234;
    assert_int_equal(run(b)->queries_issued, 1234);
    assert_valid(b->report);
}

static void single_stream_does_not_run_out_when_the_system_is_fast(void **state)
{
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    /* LoadGen would have generated 20000 queries and stopped there. */
    b->sut.fixed_ns = 100 * VT_NS_PER_US;
    assert_int_equal(run(b)->queries_issued, 100001);
    assert_valid(b->report);
}

/* 100, 101, …, 199 µs over and over. */
static int64_t saw_tooth(const struct vt_fake_sut *sut, uint64_t sequence)
{
    (void)sut;
    return (100 + (int64_t)(sequence % 100)) * VT_NS_PER_US;
}

static void percentiles_are_those_of_the_sorted_latencies(void **state)
{
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    b->sut.latency_ns = saw_tooth;
    b->settings.min_duration_ns = 0;
    b->settings.min_query_count = 1000;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->latency.min_ns, 100 * VT_NS_PER_US);
    assert_int_equal(r->latency.p50_ns, 150 * VT_NS_PER_US); /* sorted[500] */
    assert_int_equal(r->latency.p90_ns, 190 * VT_NS_PER_US);
    assert_int_equal(r->latency.p95_ns, 195 * VT_NS_PER_US);
    assert_int_equal(r->latency.p97_ns, 197 * VT_NS_PER_US);
    assert_int_equal(r->latency.p99_ns, 199 * VT_NS_PER_US);
    assert_int_equal(r->latency.max_ns, 199 * VT_NS_PER_US);
    assert_int_equal(r->latency.mean_ns, 149500);
    /* t discarded: the estimate is sorted[n - t], each value ten times there. */
    uint64_t t = vt_early_stopping_over(1000, 0.90);
    assert_true(t > 1);
    assert_int_equal(r->early_stopping_estimate_ns,
                     (100 + (int64_t)(1000 - t) / 10) * VT_NS_PER_US);
    assert_true(r->early_stopping_estimate_ns > r->latency.p90_ns);
}

static void multi_stream_counts_queries_and_takes_the_slowest_sample(void **state)
{
    struct bench *b = bench_of(state, VT_MULTISTREAM);
    b->sut.fixed_ns = MS;
    b->settings.min_query_count = 662;
    const struct vt_load_report *r = run(b);
    assert_valid(r);
    /* 8 samples one after the other take 8 ms: issues at 0, 8, …, 10000 ms. */
    assert_int_equal(r->queries_issued, 1251);
    assert_int_equal(r->samples_issued, 8 * 1251);
    assert_int_equal(r->query_latency.min_ns, 8 * MS);
    assert_int_equal(r->query_latency.max_ns, 8 * MS);
    assert_int_equal(r->latency.min_ns, MS);
    assert_int_equal(r->latency.max_ns, 8 * MS);
    assert_true(r->metric.value == 8e6);
    assert_int_equal(r->early_stopping_needed, 662);
    assert_int_equal(b->sut.largest_query, 8);
    assert_int_equal(r->records[8].query, 1);
}

static void multi_stream_needs_662_queries(void **state)
{
    struct bench *b = bench_of(state, VT_MULTISTREAM);
    b->sut.fixed_ns = MS;
    b->settings.min_duration_ns = 0;
    b->settings.min_query_count = 661;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->queries_issued, 661);
    assert_false(r->early_stopping_met);
    assert_reason(r, "early stopping: p99 takes at least 662 queries, got 661");
}

static void server_keeps_the_schedule_to_the_nanosecond(void **state)
{
    struct bench *b = bench_of(state, VT_SERVER);
    b->sut.style = VT_FAKE_UNLIMITED;
    b->sut.fixed_ns = 3 * MS;
    b->settings.server_target_qps = 500;
    b->settings.server_target_latency_ns = 3 * MS;
    b->settings.schedule_rng_seed = UINT64_C(16159082839903944936);
    const struct vt_load_report *r = run(b);
    assert_valid(r);
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, b->settings.schedule_rng_seed);
    int64_t at = 0;
    for (uint64_t i = 0; i < r->n_records; i++) {
        assert_int_equal(r->records[i].scheduled_ns, at);
        assert_int_equal(r->records[i].issued_ns, at);
        assert_int_equal(r->records[i].done_ns, at + 3 * MS);
        at += vt_rng_exponential_ns(&rng, 500);
    }
    /* The last query is the first at or after the duration. */
    assert_true(r->records[r->n_records - 1].scheduled_ns >= 10 * S);
    assert_true(r->records[r->n_records - 2].scheduled_ns < 10 * S);
    assert_int_equal(r->overlatency_queries, 0);
    assert_int_equal(r->early_stopping_needed, 459);
    double seconds = (double)r->last_query_done_ns / 1e9;
    assert_true(r->metric.value == (double)(r->samples_completed - 1) / seconds);
}

static void server_issues_the_count_when_the_duration_is_short(void **state)
{
    struct bench *b = bench_of(state, VT_SERVER);
    b->sut.style = VT_FAKE_UNLIMITED;
    b->settings.server_target_qps = 100;
    b->settings.min_duration_ns = S;
    b->settings.min_query_count = 2000;
    assert_int_equal(run(b)->queries_issued, 2000);
    assert_valid(b->report);
}

static void server_beyond_its_capacity_is_invalid(void **state)
{
    struct bench *b = bench_of(state, VT_SERVER);
    b->sut.style = VT_FAKE_QUEUED;
    b->sut.fixed_ns = 3 * MS; /* 333/s */
    b->settings.server_target_qps = 400;
    b->settings.min_duration_ns = 5 * S;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_lost, 0);
    assert_false(r->performance_met);
    assert_true(r->min_duration_met && r->min_queries_met);
    assert_reason(r, "above the limit of 100 ms: lower the rate");
    assert_reason(r, "early stopping: with");
    assert_true(r->metric.value > 300 && r->metric.value < 334);
}

static void server_counts_late_queries_for_early_stopping(void **state)
{
    struct bench *b = bench_of(state, VT_SERVER);
    b->sut.style = VT_FAKE_UNLIMITED;
    b->sut.latency_ns = saw_tooth;
    b->settings.server_target_qps = 100;
    b->settings.server_target_latency_ns = 198 * VT_NS_PER_US; /* one in a hundred is above */
    b->settings.min_duration_ns = 0;
    b->settings.min_query_count = 1000;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->overlatency_queries, 10);
    assert_int_equal(r->early_stopping_needed, vt_early_stopping_passing(10, 0.99) + 10);
    /* The percentile is sorted[990], the first of the ten. */
    assert_false(r->performance_met);
    assert_false(r->early_stopping_met);
}

static void late_queries_are_issued_at_once_and_their_lateness_counts(void **state)
{
    struct bench *b = bench_of(state, VT_SERVER);
    b->sut.style = VT_FAKE_INLINE; /* a sut that holds the issuing thread */
    b->sut.fixed_ns = 20 * MS;
    b->settings.server_target_qps = 100;
    b->settings.min_duration_ns = S;
    const struct vt_load_report *r = run(b);
    for (uint64_t i = 1; i < r->n_records; i++) {
        const struct vt_sample_record *record = &r->records[i];
        int64_t free_ns = r->records[i - 1].done_ns;
        int64_t expected = free_ns > record->scheduled_ns ? free_ns : record->scheduled_ns;
        assert_int_equal(record->issued_ns, expected);
    }
    assert_true(r->lateness_max_ns > 100 * MS);
    assert_true(r->lateness_p50_ns > 0 && r->lateness_p50_ns <= r->lateness_p99_ns);
    assert_false(r->performance_met);
}

static void offline_is_one_query_in_parts(void **state)
{
    struct bench *b = bench_of(state, VT_OFFLINE);
    b->sut.style = VT_FAKE_QUEUED;
    b->sut.fixed_ns = 100 * VT_NS_PER_US;
    b->settings.offline_expected_qps = 10000;
    const struct vt_load_report *r = run(b);
    assert_valid(r);
    assert_int_equal(r->queries_issued, 1);
    assert_int_equal(r->samples_issued, 110000); /* 1.1 × 10 s × 10000/s */
    assert_true(b->sut.issues > 1);
    assert_int_equal(r->latency.max_ns, 11 * S);
    assert_true(r->metric.value == 10000);
    /* The loaded set over and over: 200 samples in one order. */
    for (uint64_t i = 200; i < r->n_records; i++) {
        assert_int_equal(r->records[i].index, r->records[i % 200].index);
        assert_int_equal(r->records[i].query, 0);
        assert_int_equal(r->records[i].scheduled_ns, 0);
    }
}

static void offline_that_is_too_short_says_so(void **state)
{
    struct bench *b = bench_of(state, VT_OFFLINE);
    b->sut.fixed_ns = 10 * VT_NS_PER_US;
    b->settings.offline_expected_qps = 10000;
    const struct vt_load_report *r = run(b);
    assert_false(r->min_duration_met);
    assert_reason(r, "lasted 1.1 s, less than min_duration 10 s: raise the expected rate");
}

static void offline_issues_the_count_at_least(void **state)
{
    struct bench *b = bench_of(state, VT_OFFLINE);
    b->sut.fixed_ns = S;
    b->settings.min_query_count = 24576;
    assert_int_equal(run(b)->samples_issued, 24576);
    assert_valid(b->report);
}

static void max_duration_says_what_was_missing(void **state)
{
    struct bench *b = bench_of(state, VT_MULTISTREAM);
    b->sut.fixed_ns = 4 * S / 8;
    b->settings.min_query_count = 662;
    b->settings.max_duration_ns = 7 * S;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->queries_issued, 3); /* at 0, 4 and 8 s */
    assert_true(r->capped);
    assert_reason(r, "needs 662 queries, got 3 when max_duration 7 s ended the run");
    assert_reason(r, "early stopping");
}

static void max_duration_ends_offline_while_it_waits(void **state)
{
    struct bench *b = bench_of(state, VT_OFFLINE);
    b->sut.style = VT_FAKE_QUEUED;
    b->sut.fixed_ns = MS;
    b->settings.offline_expected_qps = 10000;
    b->settings.max_duration_ns = 20 * S;
    const struct vt_load_report *r = run(b);
    assert_true(r->capped);
    assert_int_equal(r->samples_completed, 20000);
    assert_int_equal(r->samples_lost, 110000 - 20000);
    assert_int_equal(b->sut.aborts, 1);
    assert_true(r->metric.value == 1000);
    assert_reason(r, "90000 of 110000 issued samples were still not done at max_duration 20 s");
    assert_reason(r, "needs 110000 samples, got 20000");
}

static void max_duration_ends_server_between_arrivals(void **state)
{
    struct bench *b = bench_of(state, VT_SERVER);
    b->sut.style = VT_FAKE_UNLIMITED;
    b->settings.server_target_qps = 0.01;
    b->settings.max_duration_ns = 5 * S;
    const struct vt_load_report *r = run(b);
    assert_true(r->capped);
    assert_true(b->clock.now_ns - VT_FAKE_EPOCH <= 6 * S);
    assert_reason(r, "needs 100 queries, got 1");
}

static void max_query_count_ends_a_run(void **state)
{
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    b->sut.fixed_ns = MS;
    b->settings.max_query_count = 50;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->queries_issued, 50);
    assert_true(r->capped);
    assert_reason(r, "needs 100 queries, got 50 because max_query_count is 50");
}

static void unique_issues_each_sample_once(void **state)
{
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    b->sut.fixed_ns = MS;
    b->settings.performance_issue_unique = true;
    b->settings.min_query_count = 1000;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->queries_issued, 200);
    bool seen[200] = {false};
    for (int i = 0; i < 200; i++) {
        assert_true(r->records[i].index < 200 && !seen[r->records[i].index]);
        seen[r->records[i].index] = true;
    }
    assert_false(r->capped);
    assert_reason(r, "needs 1000 queries, got 200 because performance_issue_unique");
}

static void same_issues_one_sample_only(void **state)
{
    struct bench *b = bench_of(state, VT_SERVER);
    b->sut.style = VT_FAKE_UNLIMITED;
    b->settings.server_target_qps = 1000;
    b->settings.performance_issue_same = true;
    b->settings.performance_issue_same_index = 3;
    const struct vt_load_report *r = run(b);
    for (uint64_t i = 1; i < r->n_records; i++) {
        assert_int_equal(r->records[i].index, r->records[0].index);
    }
}

static void equal_issue_uses_every_sample_equally_often(void **state)
{
    static const enum vt_scenario scenarios[] = {VT_SERVER, VT_SINGLESTREAM, VT_OFFLINE};
    for (int k = 0; k < 3; k++) {
        if (k > 0) {
            tear_down(state);
            set_up(state);
        }
        struct bench *b = bench_of(state, scenarios[k]);
        b->sut.style = scenarios[k] == VT_SERVER ? VT_FAKE_UNLIMITED : VT_FAKE_INLINE;
        b->sut.fixed_ns = MS;
        b->settings.single_stream_expected_latency_ns = 2 * MS;
        b->settings.server_target_qps = 777;
        b->settings.offline_expected_qps = 777;
        b->settings.min_query_count = 1000;
        b->settings.sample_concatenate_permutation = true;
        const struct vt_load_report *r = run(b);
        unsigned count[200] = {0};
        uint64_t whole = r->n_records - r->n_records % 200;
        if (scenarios[k] != VT_SINGLESTREAM) {
            assert_int_equal(whole, r->n_records); /* it ends at a time, not with a set */
        }
        for (uint64_t i = 0; i < whole; i++) {
            count[r->records[i].index]++;
        }
        for (int i = 0; i < 200; i++) {
            assert_int_equal(count[i], whole / 200);
        }
        assert_true(whole >= 2 * 200);
        const uint64_t *got = b->sut.indices;
        assert_true(memcmp(got, got + 200, 200 * sizeof(*got)) != 0);
        if (scenarios[k] == VT_SERVER) {
            /* The table is drawn for min_query_count; behind its end it starts again. */
            assert_memory_equal(got, got + 1000, 1000 * sizeof(*got));
        }
    }
}

static void accuracy_covers_the_library_in_every_scenario(void **state)
{
    for (enum vt_scenario scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        if (scenario > 0) {
            tear_down(state);
            set_up(state);
        }
        struct bench *b = bench_of(state, scenario);
        b->qsl.seam.total_count = 950; /* four sets of 200 and one of 150 */
        b->sut.style = VT_FAKE_QUEUED;
        b->sut.fixed_ns = VT_NS_PER_US;
        b->settings.mode = VT_ACCURACY;
        b->settings.server_target_qps = 1000;
        b->settings.max_duration_ns = 1; /* must not count */
        b->settings.max_query_count = 1;
        const struct vt_load_report *r = run(b);
        assert_valid(r);
        assert_int_equal(b->qsl.loads, 5);
        unsigned times[950] = {0};
        assert_int_equal(r->n_responses, r->samples_issued);
        for (uint64_t i = 0; i < r->n_responses; i++) {
            const struct vt_load_response *response = &r->responses[i];
            uint64_t index;
            assert_int_equal(response->bytes, sizeof(index));
            memcpy(&index, response->data, sizeof(index));
            assert_int_equal(index, response->index);
            assert_int_equal(index, r->records[response->sequence].index);
            times[index]++;
        }
        unsigned padding = 0;
        for (int i = 0; i < 950; i++) {
            assert_true(times[i] >= 1);
            padding += times[i] - 1;
        }
        /* 150 is no multiple of 8: the last query of the last set is filled from the padding. */
        assert_int_equal(padding, scenario == VT_MULTISTREAM ? 2 : 0);
        assert_null(r->metric.name);
        uint64_t queries[VT_SCENARIO_COUNT] = {
            [VT_OFFLINE] = 5,
            [VT_SERVER] = 950,
            [VT_SINGLESTREAM] = 950,
            [VT_MULTISTREAM] = 4 * 25 + 19,
        };
        assert_int_equal(r->queries_issued, queries[scenario]);
    }
}

static void accuracy_sample_count_limits_the_library(void **state)
{
    struct bench *b = bench_of(state, VT_OFFLINE);
    b->sut.fixed_ns = VT_NS_PER_US;
    b->settings.mode = VT_ACCURACY;
    b->settings.accuracy_sample_count_override = 300;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_issued, 300);
    for (int i = 0; i < 300; i++) {
        assert_true(r->records[i].index < 300);
    }
}

static void performance_uses_the_first_samples_only(void **state)
{
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    b->sut.fixed_ns = MS;
    b->settings.performance_sample_count_override = 64;
    const struct vt_load_report *r = run(b);
    bool seen[64] = {false};
    for (uint64_t i = 0; i < r->n_records; i++) {
        assert_true(r->records[i].index < 64);
        seen[r->records[i].index] = true;
    }
    for (int i = 0; i < 64; i++) {
        assert_true(seen[i]);
    }
    assert_int_equal(r->effective.performance_sample_count, 64);
    assert_int_equal(b->qsl.loads, 1);
}

static void a_slow_sut_on_the_queue_is_waited_for(void **state)
{
    /* Completions that come while the issuing thread waits, in a closed loop. */
    struct bench *b = bench_of(state, VT_SINGLESTREAM);
    b->sut.style = VT_FAKE_QUEUED;
    b->sut.fixed_ns = 2 * S;
    b->settings.min_query_count = 64;
    const struct vt_load_report *r = run(b);
    assert_valid(r);
    assert_int_equal(r->queries_issued, 64);
    assert_int_equal(r->latency.max_ns, 2 * S);
    assert_int_equal(r->latency.min_ns, 2 * S);
}

#define SCENARIO_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO_TEST(single_stream_ends_at_the_duration),
        SCENARIO_TEST(single_stream_ends_at_the_count),
        SCENARIO_TEST(single_stream_does_not_run_out_when_the_system_is_fast),
        SCENARIO_TEST(percentiles_are_those_of_the_sorted_latencies),
        SCENARIO_TEST(multi_stream_counts_queries_and_takes_the_slowest_sample),
        SCENARIO_TEST(multi_stream_needs_662_queries),
        SCENARIO_TEST(server_keeps_the_schedule_to_the_nanosecond),
        SCENARIO_TEST(server_issues_the_count_when_the_duration_is_short),
        SCENARIO_TEST(server_beyond_its_capacity_is_invalid),
        SCENARIO_TEST(server_counts_late_queries_for_early_stopping),
        SCENARIO_TEST(late_queries_are_issued_at_once_and_their_lateness_counts),
        SCENARIO_TEST(offline_is_one_query_in_parts),
        SCENARIO_TEST(offline_that_is_too_short_says_so),
        SCENARIO_TEST(offline_issues_the_count_at_least),
        SCENARIO_TEST(max_duration_says_what_was_missing),
        SCENARIO_TEST(max_duration_ends_offline_while_it_waits),
        SCENARIO_TEST(max_duration_ends_server_between_arrivals),
        SCENARIO_TEST(max_query_count_ends_a_run),
        SCENARIO_TEST(unique_issues_each_sample_once),
        SCENARIO_TEST(same_issues_one_sample_only),
        SCENARIO_TEST(equal_issue_uses_every_sample_equally_often),
        SCENARIO_TEST(accuracy_covers_the_library_in_every_scenario),
        SCENARIO_TEST(accuracy_sample_count_limits_the_library),
        SCENARIO_TEST(performance_uses_the_first_samples_only),
        SCENARIO_TEST(a_slow_sut_on_the_queue_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
