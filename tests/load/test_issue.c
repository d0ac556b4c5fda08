/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How queries come about and end, on a clock of the test's own: arrivals, coalescing, limits,
 * sampled responses, what carries over from phase to phase. Numbers of LoadGen are those that its
 * wheel, mlcommons-loadgen 6.0.17, gave for the same settings.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "load/issue_thread.h"
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

/* 300 samples of which 100 fit, and the seeds that the wheel was run with. */
static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    vt_fake_init(&b->clock, &b->sut, &b->qsl, &b->control, 300, 100);
    vt_load_settings_default(&b->settings);
    b->settings.scenario = VT_SERVER;
    b->settings.min_duration_ns = 0;
    b->settings.qsl_rng_seed = 11;
    b->settings.sample_index_rng_seed = 22;
    b->settings.schedule_rng_seed = 33;
    b->settings.server_target_qps = 1000;
    b->sut.style = VT_FAKE_UNLIMITED;
    b->sut.fixed_ns = MS;
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
    vt_load_report_free(b->report);
    b->report = NULL;
    if (vt_load_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, &err, &b->report) !=
        VT_OK) {
        fail_msg("%s", err.text);
    }
    return b->report;
}

static void refused(struct bench *b, enum vt_status status, const char *text)
{
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(
        vt_load_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, &err, &b->report),
        status);
    if (strstr(err.text, text) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, text);
    }
    assert_int_equal(b->sut.starts, 0);
    assert_int_equal(b->qsl.loads, 0);
}

static void constant_arrivals_do_not_drift(void **state)
{
    struct bench *b = *state;
    b->settings.arrivals = VT_ARRIVALS_CONSTANT;
    b->settings.server_target_qps = 3000; /* no whole number of ns */
    b->settings.min_query_count = 9001;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->n_records, 9001);
    for (uint64_t i = 0; i < r->n_records; i++) {
        assert_int_equal(r->records[i].scheduled_ns, (int64_t)(i * 1000000 / 3));
        assert_int_equal(r->records[i].issued_ns, r->records[i].scheduled_ns);
    }
    assert_int_equal(r->records[9000].scheduled_ns, 3 * S);
    assert_int_equal(r->n_notes, 1);
    assert_false(r->notes[0].is_error);
    assert_non_null(strstr(r->notes[0].text, "Poisson"));
}

static void a_trace_is_replayed_to_its_end(void **state)
{
    struct bench *b = *state;
    static const int64_t trace[] = {0, 0, 5, 5 * MS, 5 * MS, 2 * S};
    b->settings.arrivals = VT_ARRIVALS_TRACE;
    b->settings.arrival_trace_ns = trace;
    b->settings.n_arrival_trace = 6;
    b->settings.min_duration_ns = 10 * S;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->n_records, 6);
    assert_int_equal(r->queries_generated, 6);
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(r->records[i].scheduled_ns, trace[i]);
    }
    assert_false(r->min_queries_met || r->min_duration_met);
}

static void accuracy_goes_on_behind_a_trace(void **state)
{
    struct bench *b = *state;
    static const int64_t trace[] = {0, MS};
    b->settings.mode = VT_ACCURACY;
    b->settings.arrivals = VT_ARRIVALS_TRACE;
    b->settings.arrival_trace_ns = trace;
    b->settings.n_arrival_trace = 2;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->n_records, 300);
    assert_true(r->valid);
}

static void arrivals_that_cannot_be_are_refused_before_anything_starts(void **state)
{
    struct bench *b = *state;
    static const int64_t back[] = {0, 7, 6};
    b->settings.arrivals = VT_ARRIVALS_TRACE;
    refused(b, VT_ERR_USAGE, "arrivals is trace: give the recorded times");
    b->settings.arrival_trace_ns = back;
    b->settings.n_arrival_trace = 3;
    refused(b, VT_ERR_USAGE, "arrival_trace_ns[2] is 6: give times from 7");
    b->settings.arrivals = (enum vt_arrivals)9;
    refused(b, VT_ERR_USAGE, "arrivals is 9");
    b->settings.arrivals = VT_ARRIVALS_POISSON;
    b->settings.mode = VT_SUBMISSION;
    refused(b, VT_ERR_USAGE, "one run is one phase");
}

/* Each call of a sut that holds the issuing thread; the clock stands at what it took. */
static void coalescing_takes_what_is_due_and_keeps_the_schedule(void **state)
{
    struct bench *b = *state;
    b->settings.server_coalesce_queries = true;
    b->settings.min_query_count = 500;
    b->sut.style = VT_FAKE_INLINE; /* 1 ms a sample at 1000/s: always late */
    b->sut.fixed_ns = 3 * MS / 2;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->n_records, 500);
    assert_true(b->sut.issues < 100);
    assert_true(b->sut.largest_query > 10);
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 33);
    int64_t at = 0;
    uint64_t i = 0;
    while (i < 500) {
        /* A call: those with the same time of issue. All are due, the one behind is not. */
        int64_t issued = r->records[i].issued_ns;
        for (; i < 500 && r->records[i].issued_ns == issued; i++) {
            assert_int_equal(r->records[i].scheduled_ns, at);
            assert_true(at <= issued);
            assert_int_equal(r->records[i].query, i);
            at += vt_rng_exponential_ns(&rng, 1000);
        }
        assert_true(i == 500 || at > issued);
    }
}

static void coalesced_blocks_have_an_end(void **state)
{
    struct bench *b = *state;
    b->settings.server_coalesce_queries = true;
    b->settings.server_target_qps = 1e9;
    b->settings.min_query_count = 10000;
    b->sut.fixed_ns = 0;
    b->sut.style = VT_FAKE_INLINE;
    b->clock.step_ns = 10 * VT_NS_PER_US; /* passes with every look */
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_completed, 10000);
    assert_in_range(b->sut.largest_query, 100, 1024);
}

static void outstanding_queries_are_counted_against_the_limit(void **state)
{
    struct bench *b = *state;
    b->settings.server_max_async_queries = 8;
    b->settings.min_query_count = 10000;
    b->settings.arrivals = VT_ARRIVALS_CONSTANT;
    b->sut.fixed_ns = 8 * MS - 1; /* never more than 8 */
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->n_records, 10000);
    assert_int_equal(r->n_notes, 1); /* that they come evenly */
    b->sut.fixed_ns = 8 * MS + 1;    /* 9 with the ninth */
    r = run(b);
    assert_int_equal(r->n_records, 9);
    assert_int_equal(r->samples_completed, 9);
    assert_int_equal(r->n_notes, 2);
    assert_true(r->notes[1].is_error);
    assert_non_null(strstr(r->notes[1].text, "9 queries are outstanding of 9 issued"));
    assert_false(r->valid);
}

static void a_limit_that_is_just_reached_is_an_error_too(void **state)
{
    struct bench *b = *state;
    b->settings.min_query_count = 50;
    b->settings.max_query_count = 50;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->n_records, 50);
    assert_true(r->capped);
    assert_int_equal(r->n_notes, 1);
    assert_true(r->notes[0].is_error);
    assert_non_null(strstr(r->notes[0].text, "max_query_count 50"));
}

struct kept {
    uint64_t sequence, index;
};

static void assert_kept(const struct vt_load_report *r, const struct kept *kept, size_t n)
{
    assert_int_equal(r->n_responses, n);
    for (size_t i = 0; i < n; i++) {
        const struct vt_load_response *response = &r->responses[i];
        assert_int_equal(response->sequence, kept[i].sequence);
        assert_int_equal(response->index, kept[i].index);
        uint64_t data;
        memcpy(&data, response->data, sizeof(data)); /* the double answers the index */
        assert_int_equal(data, kept[i].index);
    }
}

static void server_samples_the_responses_of_loadgen(void **state)
{
    static const struct kept kept[] = {
        {4, 85},   {14, 89},  {29, 70},  {31, 34},  {71, 95},  {72, 50},  {152, 26},
        {172, 6},  {181, 91}, {184, 72}, {191, 8},  {235, 64}, {256, 66}, {265, 53},
        {267, 72}, {291, 40}, {294, 90}, {298, 15}, {299, 74}, {305, 93}, {333, 39},
        {350, 36}, {356, 66}, {368, 53}, {391, 14}, {392, 52}, {408, 54}, {409, 21},
        {415, 43}, {442, 42}, {456, 85}, {468, 41}, {486, 72}, {499, 39}};
    struct bench *b = *state;
    b->settings.server_target_qps = 5000;
    b->settings.min_query_count = 500;
    b->settings.accuracy_log_probability = 0.05;
    b->settings.accuracy_log_rng_seed = 123;
    const struct vt_load_report *r = run(b);
    assert_kept(r, kept, sizeof(kept) / sizeof(kept[0]));
    assert_int_equal(r->queries_generated, 500);
    assert_int_equal(r->generated_duration_ns, 106710422);
}

static void offline_samples_a_number_of_responses(void **state)
{
    static const struct kept kept[] = {
        {55, 37},  {78, 79},  {208, 68}, {238, 60}, {386, 61}, {401, 78}, {443, 58},
        {482, 0},  {561, 80}, {590, 10}, {610, 96}, {629, 92}, {739, 83}, {780, 25},
        {791, 46}, {819, 94}, {838, 60}, {866, 18}, {874, 48}, {906, 3},  {922, 13}};
    struct bench *b = *state;
    b->settings.scenario = VT_OFFLINE;
    b->settings.min_query_count = 1000;
    b->settings.accuracy_log_sampling_target = 20;
    b->settings.accuracy_log_rng_seed = 7;
    b->sut.style = VT_FAKE_INLINE;
    const struct vt_load_report *r = run(b);
    assert_kept(r, kept, sizeof(kept) / sizeof(kept[0]));
    assert_int_equal(r->queries_generated, 1);
    assert_int_equal(r->samples_per_query, 1000);
    assert_int_equal(r->generated_duration_ns, S);
}

static void multi_stream_samples_single_responses_of_a_query(void **state)
{
    static const struct kept kept[] = {
        {2, 31},   {7, 21},   {9, 35},   {11, 70},  {34, 12},  {70, 70},  {77, 40},  {79, 31},
        {94, 25},  {109, 37}, {121, 71}, {123, 7},  {132, 82}, {150, 30}, {166, 82}, {203, 26},
        {204, 85}, {240, 49}, {248, 35}, {261, 16}, {295, 63}, {300, 47}, {342, 88}, {344, 79}};
    struct bench *b = *state;
    b->settings.scenario = VT_MULTISTREAM;
    b->settings.multi_stream_expected_latency_ns = MS;
    b->settings.min_query_count = 50;
    b->settings.accuracy_log_probability = 0.05;
    b->settings.accuracy_log_rng_seed = 5;
    b->sut.style = VT_FAKE_INLINE;
    const struct vt_load_report *r = run(b);
    assert_kept(r, kept, sizeof(kept) / sizeof(kept[0]));
    assert_int_equal(r->generated_duration_ns, 50 * MS);
}

static void phases_of_one_test_go_on_with_numbers_and_stream(void **state)
{
    /* LoadGen's SubmissionRun: accuracy, then performance. */
    static const struct kept kept[] = {{300, 47}, {342, 25}, {344, 25}, {402, 44},
                                       {411, 64}, {430, 61}, {449, 77}, {455, 92},
                                       {477, 33}, {479, 70}, {489, 33}};
    struct bench *b = *state;
    struct vt_load_carry carry = {0};
    b->control.carry = &carry;
    b->settings.scenario = VT_SINGLESTREAM;
    b->settings.mode = VT_ACCURACY;
    b->settings.min_query_count = 200;
    b->settings.accuracy_log_probability = 0.05;
    b->settings.accuracy_log_rng_seed = 5;
    b->sut.style = VT_FAKE_INLINE;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->first_sequence, 0);
    assert_int_equal(r->n_responses, 300);
    assert_int_equal(r->queries_generated, 300);
    assert_int_equal(r->samples_per_query, 1);
    assert_int_equal(r->generated_duration_ns, 300 * MS);
    assert_int_equal(carry.samples, 300);
    b->settings.mode = VT_PERFORMANCE;
    r = run(b);
    assert_int_equal(r->first_sequence, 300);
    assert_kept(r, kept, sizeof(kept) / sizeof(kept[0]));
    assert_int_equal(carry.samples, 500);
    assert_int_equal(carry.queries, 500);
}

static void what_was_generated_counts_not_what_was_issued(void **state)
{
    struct bench *b = *state;
    struct vt_load_carry carry = {0};
    b->control.carry = &carry;
    b->settings.scenario = VT_SINGLESTREAM;
    b->settings.single_stream_expected_latency_ns = 100 * VT_NS_PER_US;
    b->settings.min_duration_ns = 30 * MS;
    b->settings.min_query_count = 20;
    b->sut.style = VT_FAKE_INLINE;
    b->sut.fixed_ns = MS;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->queries_issued, 31);
    assert_int_equal(r->queries_generated, 601);
    assert_int_equal(r->generated_duration_ns, 60100000);
    assert_int_equal(carry.samples, 601);
}

static int64_t so_far[400]; /* p99 while sample i is issued */

/* One microsecond more a sample. */
static int64_t rising(const struct vt_fake_sut *sut, uint64_t sequence)
{
    if (sequence < sizeof so_far / sizeof so_far[0]) {
        so_far[sequence] = vt_load_latency_so_far(sut->control, 0.99);
    }
    return (int64_t)(sequence + 1) * VT_NS_PER_US;
}

static void the_latency_so_far_is_that_of_what_is_complete(void **state)
{
    struct bench *b = *state;
    assert_int_equal(vt_load_latency_so_far(&b->control, 0.99), -1);
    b->settings.scenario = VT_SINGLESTREAM;
    b->settings.min_query_count = 300;
    b->sut.style = VT_FAKE_INLINE;
    b->sut.latency_ns = rising;
    b->sut.control = &b->control;
    (void)run(b);
    assert_int_equal(so_far[0], -1);
    assert_int_equal(so_far[1], VT_NS_PER_US);
    assert_int_equal(so_far[200], 199 * VT_NS_PER_US); /* number 198 of 200, from 0 */
    assert_int_equal(vt_load_latency_so_far(&b->control, 0.99), -1);
    /* Of queries: 8 samples one behind the other, each from the start of its query. */
    b->settings.scenario = VT_MULTISTREAM;
    b->settings.min_query_count = 30;
    const struct vt_load_report *r = run(b);
    assert_int_equal(so_far[8], r->records[7].done_ns - r->records[7].scheduled_ns);
    assert_int_equal(so_far[15], so_far[8]); /* the second query is not complete */
    b->settings.scenario = VT_OFFLINE;
    b->settings.min_query_count = 100;
    (void)run(b);
    assert_int_equal(so_far[99], -1);
}

static void generated_queries_are_those_of_loadgen(void **state)
{
    (void)state;
    static const struct {
        struct vt_schedule_span span;
        double qps;
        uint64_t count;
        int64_t duration_ns;
    } cases[] = {
        {{30 * MS, 200, 0}, 1e4, 601, 60100000},
        {{20 * MS, 200, 100}, 1e9 / 300000, 200, 60000000},
        {{13 * MS, 50, 0}, 1e9 / 333333, 80, 26666640},
        {{0, 1, 0}, 700, 1, 1428571},
        {{0, 100, 0}, 1e3, 100, 100000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t duration_ns = 0;
        assert_int_equal(vt_schedule_generated(&cases[i].span, cases[i].qps, &duration_ns),
                         cases[i].count);
        assert_int_equal(duration_ns, cases[i].duration_ns);
    }
}

static void a_server_run_that_ends_early_still_counts_its_whole_schedule(void **state)
{
    struct bench *b = *state;
    b->settings.server_target_qps = 3000;
    b->settings.min_query_count = 50;
    b->settings.min_duration_ns = 100 * MS;
    b->settings.sample_concatenate_permutation = true;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->queries_generated, 300);
    assert_int_equal(r->generated_duration_ns, 108031246);
    assert_int_equal(r->queries_issued, 300);
    b->settings.max_query_count = 20;
    r = run(b);
    assert_int_equal(r->queries_issued, 20);
    assert_int_equal(r->queries_generated, 300);
    assert_int_equal(r->generated_duration_ns, 108031246);
}

static void test05_changes_seeds_and_mode(void **state)
{
    static const struct kept kept[] = {{5, 84},  {19, 19}, {26, 2},  {27, 1},
                                       {38, 21}, {44, 85}, {45, 62}, {46, 69}};
    struct bench *b = *state;
    b->settings.scenario = VT_SINGLESTREAM;
    b->settings.mode = VT_ACCURACY;
    b->settings.min_query_count = 50;
    b->settings.test05 = true;
    b->settings.test05_qsl_rng_seed = 1;
    b->settings.test05_sample_index_rng_seed = 2;
    b->settings.test05_schedule_rng_seed = 3;
    b->settings.accuracy_log_probability = 0.2;
    b->sut.style = VT_FAKE_INLINE;
    const struct vt_load_report *r = run(b);
    assert_kept(r, kept, sizeof(kept) / sizeof(kept[0]));
    assert_int_equal(r->settings.mode, VT_PERFORMANCE);
    assert_int_equal(r->settings.qsl_rng_seed, 1);
    assert_int_equal(r->n_notes, 0); /* the log's head warns of it */
}

/* A wall clock that is stepped by an hour, now back, now forth, with every look. */
static int64_t stepped_unix_ms(void *ctx)
{
    struct vt_fake_clock *clock = ctx;
    clock->wall_looks++;
    int64_t step_ms = INT64_C(3600000) * (clock->wall_looks % 2 == 0 ? 5 : -3);
    return INT64_C(1700000000000) + (clock->now_ns - VT_FAKE_EPOCH) / MS + step_ms;
}

static void a_stepped_wall_clock_changes_nothing(void **state)
{
    for (enum vt_scenario scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        struct vt_load_report *reports[2] = {NULL, NULL};
        for (int stepped = 0; stepped < 2; stepped++) {
            tear_down(state);
            set_up(state);
            struct bench *b = *state;
            b->settings.scenario = scenario;
            b->settings.min_duration_ns = 2 * S;
            b->settings.min_query_count = 700;
            b->sut.style = scenario == VT_SERVER ? VT_FAKE_UNLIMITED : VT_FAKE_INLINE;
            b->clock.seam.unix_ms = stepped ? stepped_unix_ms : NULL;
            run(b);
            reports[stepped] = b->report;
            b->report = NULL;
            if (stepped) {
                assert_int_equal(b->clock.wall_looks, 1);
                assert_int_equal(reports[1]->start_unix_ms,
                                 INT64_C(1700000000000) - INT64_C(3 * 3600000));
            }
        }
        struct vt_load_report *a = reports[0], *c = reports[1];
        assert_int_equal(a->duration_ns, c->duration_ns);
        assert_int_equal(a->last_issue_ns, c->last_issue_ns);
        assert_int_equal(a->start_monotonic_ns, c->start_monotonic_ns);
        assert_true(a->metric.value == c->metric.value);
        assert_int_equal(a->valid, c->valid);
        assert_int_equal(a->n_records, c->n_records);
        assert_memory_equal(a->records, c->records, a->n_records * sizeof(*a->records));
        vt_load_report_free(a);
        vt_load_report_free(c);
    }
}

static void the_caller_s_thread_is_as_it_was_after_a_run(void **state)
{
    struct bench *b = *state;
    assert_int_equal(prctl(PR_SET_TIMERSLACK, 12345UL, 0UL, 0UL, 0UL), 0);
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int32_t cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &before)) {
        cpu++;
    }
    b->settings.issue_cpus = &cpu;
    b->settings.n_issue_cpus = 1;
    run(b);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), 12345);
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

static void pinning_and_slack_hold_while_issuing(void **state)
{
    (void)state;
    cpu_set_t all, now;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    int32_t cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &all)) {
        cpu++;
    }
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.issue_cpus = &cpu;
    s.n_issue_cpus = 1;
    struct vt_issue_thread saved;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_issue_thread_enter(&s, 7, &err, &saved), VT_OK);
    assert_int_equal(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), 1);
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_int_equal(CPU_COUNT(&now), 1);
    assert_true(CPU_ISSET((size_t)cpu, &now));
    vt_issue_thread_leave(&saved);
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_true(CPU_EQUAL(&all, &now));
}

static void what_is_not_permitted_is_said_before_anything_starts(void **state)
{
    struct bench *b = *state;
    const int32_t nowhere[] = {CPU_SETSIZE - 1}, negative[] = {-1};
    b->settings.issue_cpus = nowhere;
    b->settings.n_issue_cpus = 1;
    refused(b, VT_ERR_UNAVAILABLE, "this process may not use");
    b->settings.issue_cpus = negative;
    refused(b, VT_ERR_USAGE, "CPU -1");
    b->settings.n_issue_cpus = 0;
    b->settings.fifo_priority = 1000;
    refused(b, VT_ERR_USAGE, "fifo_priority is 1000: give a value from");
}

static void real_time_priority_is_had_or_refused_with_the_way_to_it(void **state)
{
    struct bench *b = *state;
    struct vt_error err = VT_ERROR_INIT;
    b->settings.fifo_priority = 1;
    enum vt_status st =
        vt_load_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, &err, &b->report);
    if (st == VT_OK) {
        assert_int_equal(b->report->samples_completed, 100);
    } else {
        assert_int_equal(st, VT_ERR_UNAVAILABLE);
        assert_non_null(strstr(err.text, "fifo_priority 1 is not permitted"));
        assert_non_null(strstr(err.text, "ulimit -r"));
        assert_int_equal(b->sut.starts, 0);
    }
    assert_int_equal(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
}

#define ISSUE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        ISSUE_TEST(constant_arrivals_do_not_drift),
        ISSUE_TEST(a_trace_is_replayed_to_its_end),
        ISSUE_TEST(accuracy_goes_on_behind_a_trace),
        ISSUE_TEST(arrivals_that_cannot_be_are_refused_before_anything_starts),
        ISSUE_TEST(coalescing_takes_what_is_due_and_keeps_the_schedule),
        ISSUE_TEST(coalesced_blocks_have_an_end),
        ISSUE_TEST(outstanding_queries_are_counted_against_the_limit),
        ISSUE_TEST(a_limit_that_is_just_reached_is_an_error_too),
        ISSUE_TEST(server_samples_the_responses_of_loadgen),
        ISSUE_TEST(offline_samples_a_number_of_responses),
        ISSUE_TEST(multi_stream_samples_single_responses_of_a_query),
        ISSUE_TEST(phases_of_one_test_go_on_with_numbers_and_stream),
        ISSUE_TEST(what_was_generated_counts_not_what_was_issued),
        ISSUE_TEST(the_latency_so_far_is_that_of_what_is_complete),
        ISSUE_TEST(generated_queries_are_those_of_loadgen),
        ISSUE_TEST(a_server_run_that_ends_early_still_counts_its_whole_schedule),
        ISSUE_TEST(test05_changes_seeds_and_mode),
        ISSUE_TEST(a_stepped_wall_clock_changes_nothing),
        ISSUE_TEST(the_caller_s_thread_is_as_it_was_after_a_run),
        ISSUE_TEST(pinning_and_slack_hold_while_issuing),
        ISSUE_TEST(what_is_not_permitted_is_said_before_anything_starts),
        ISSUE_TEST(real_time_priority_is_had_or_refused_with_the_way_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
