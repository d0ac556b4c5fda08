/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the highest Server rate, against queues whose capacity is known from theory, with
 * and without disturbances.
 */
#include <math.h>

#include "load/rate_belief.h"
#include "load/rate_search.h"
#include "vt_load_double.h"
#include "vt_test.h"
#include "vt_torture.h"

#define US VT_NS_PER_US
#define MS VT_NS_PER_MS
#define S  VT_NS_PER_S

static struct vt_fake_clock clock_double;
static struct vt_fake_sut sut;
static struct vt_fake_qsl qsl;
static struct vt_load_control control;

static int set_up(void **state)
{
    (void)state;
    vt_fake_init(&clock_double, &sut, &qsl, &control, 100, 100);
    sut.style = VT_FAKE_QUEUED;
    sut.fixed_ns = MS; /* 1000 queries/s at most */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vt_fake_release(&sut);
    return 0;
}

/* A full run of 12 s. */
static struct vt_rate_search search_of(double start)
{
    struct vt_rate_search search = {.trial_ns = 2 * S, .budget_ns = 200 * S, .full_runs = 4};
    vt_load_settings_default(&search.settings);
    search.settings.server_target_qps = start;
    search.settings.server_target_latency_ns = 10 * MS;
    search.settings.min_duration_ns = 12 * S;
    search.settings.min_query_count = 662;
    return search;
}

static struct vt_rate_found find(const struct vt_rate_search *search)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_rate_found found = {0};
    if (vt_load_find_rate(search, &sut.seam, &qsl.seam, &control, &err, &found) != VT_OK) {
        fail_msg("%s", err.text);
    }
    if (getenv("VT_RATE_SHOW") != NULL) {
        print_message("%u trials, %u full: %s\n", found.trials, found.full_runs, found.text);
    }
    assert_int_equal(qsl.loaded, 0);
    assert_false(sut.started);
    return found;
}

/* --- queues and what theory says of them ------------------------------------------------------
 */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SEEDS 10 /* what is slow there is looked for, not counted */
#else
#define SEEDS 100
#endif
#define SERVERS_MOST 8
static struct queue {
    int servers;
    bool exponential;
    int64_t service_ns;
    /* At random moments, on average every stall_gap_ns, everything stands for stall_ns. */
    int64_t stall_gap_ns, stall_ns;
    uint64_t random;
    int64_t free_ns[SERVERS_MOST];
    int64_t stall_from_ns;
} queue;

/* xorshift64*; in (0, 1]. */
static double uniform(void)
{
    queue.random ^= queue.random >> 12;
    queue.random ^= queue.random << 25;
    queue.random ^= queue.random >> 27;
    return (double)((queue.random * UINT64_C(2685821657736338717)) >> 11) / 0x1p53 + 0x1p-54;
}

static int64_t exponential(int64_t mean_ns)
{
    return (int64_t)(-log(uniform()) * (double)mean_ns);
}

static int64_t queued_latency(const struct vt_fake_sut *s, uint64_t sequence)
{
    int64_t now = s->clock->now_ns;
    int first = 0;
    if (sequence == 0) {
        memset(queue.free_ns, 0, sizeof queue.free_ns);
    }
    for (int i = 1; i < queue.servers; i++) {
        first = queue.free_ns[i] < queue.free_ns[first] ? i : first;
    }
    int64_t begin = queue.free_ns[first] > now ? queue.free_ns[first] : now;
    while (queue.stall_gap_ns > 0 && begin >= queue.stall_from_ns) {
        int64_t until = queue.stall_from_ns + queue.stall_ns;
        if (begin < until) {
            begin = until;
        }
        queue.stall_from_ns = until + exponential(queue.stall_gap_ns);
    }
    int64_t service = queue.exponential ? exponential(queue.service_ns) : queue.service_ns;
    queue.free_ns[first] = begin + service;
    return queue.free_ns[first] - now;
}

/* P(sojourn > t) of M/D/1: Erlang's series for the wait, and one service. */
static double md1_above(double lambda, double service, double t)
{
    double x = t - service, sum = 0;
    for (int k = 0; (double)k * service <= x; k++) {
        double y = lambda * (x - (double)k * service), term = exp(y);
        for (int i = 1; i <= k; i++) {
            term *= -y / (double)i;
        }
        sum += term;
    }
    return 1 - (1 - lambda * service) * sum;
}

/* P(sojourn > t) of M/M/c, by Erlang's C. */
static double mmc_above(double lambda, double service, int c, double t)
{
    double a = lambda * service, term = 1, sum = 0, mu = 1 / service;
    for (int k = 0; k < c; k++) {
        sum += term;
        term *= a / (k + 1);
    }
    double last = term * c / (c - a);
    double wait = last / (sum + last);
    double rest = c - 1 - a;
    return exp(-mu * t) * (1 + wait * (1 - exp(-mu * t * rest)) / rest);
}

/* The rate at which 1 % are over the limit. */
static double edge_of(int64_t limit_ns)
{
    double service = (double)queue.service_ns / 1e9, t = (double)limit_ns / 1e9;
    double low = 0, high = queue.servers / service * 0.999;
    for (int i = 0; i < 100; i++) {
        double mid = (low + high) / 2;
        double above = queue.exponential ? mmc_above(mid, service, queue.servers, t)
                                         : md1_above(mid, service, t);
        *(above > 0.01 ? &high : &low) = mid;
    }
    return low;
}

struct tally {
    int near, confirmed, inside, in_budget;
    double worst_low, worst_high;
    uint32_t trials, full_runs;
};

static struct tally try_seeds(const struct queue *what, int64_t limit_ns, int seeds, double below,
                              double above)
{
    struct tally tally = {.worst_low = 1, .worst_high = 1};
    for (int seed = 1; seed <= seeds; seed++) {
        void *state = NULL;
        set_up(&state);
        queue = *what;
        queue.random = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
        queue.stall_from_ns =
            queue.stall_gap_ns > 0 ? VT_FAKE_EPOCH + exponential(queue.stall_gap_ns) : 0;
        sut.style = VT_FAKE_UNLIMITED;
        sut.latency_ns = queued_latency;
        double edge = edge_of(limit_ns);
        /* Estimates from far below to far above. */
        struct vt_rate_search search = search_of(edge * exp(4 * (uniform() - 0.5)));
        search.settings.server_target_latency_ns = limit_ns;
        search.settings.min_duration_ns = 4 * S;
        search.settings.schedule_rng_seed = (uint64_t)seed;
        search.trial_ns = S / 2;
        search.budget_ns = vt_rate_search_budget_ns(&search, edge);
        struct vt_rate_found found = find(&search);
        double ratio = found.qps / edge;
        tally.near += ratio >= 1 - below && ratio <= 1 + above;
        tally.confirmed +=
            found.outcome == VT_RATE_CONFIRMED && found.report != NULL && found.report->valid;
        tally.inside += found.low_qps <= edge && edge <= found.high_qps;
        tally.in_budget += clock_double.now_ns - VT_FAKE_EPOCH <= search.budget_ns &&
                           found.spent_ns <= search.budget_ns;
        tally.worst_low = ratio < tally.worst_low ? ratio : tally.worst_low;
        tally.worst_high = ratio > tally.worst_high ? ratio : tally.worst_high;
        tally.trials += found.trials;
        tally.full_runs += found.full_runs;
        vt_load_report_free(found.report);
        tear_down(&state);
    }
    print_message("%d of %d near the edge, %.3f to %.3f of it; %d confirmed; interval right %d "
                  "times; %.1f trials, %.2f full runs on average\n",
                  tally.near, seeds, tally.worst_low, tally.worst_high, tally.confirmed,
                  tally.inside, (double)tally.trials / seeds, (double)tally.full_runs / seeds);
    return tally;
}

static void the_theory_is_right(void **state)
{
    (void)state;
    /* M/M/1: the sojourn is exponential with mu - lambda. */
    assert_true(fabs(mmc_above(500, 1e-3, 1, 5e-3) - exp(-2.5)) < 1e-12);
    /* M/D/1: nobody waits with probability 1 - rho. */
    assert_true(fabs(md1_above(700, 1e-3, 1e-3) - 0.7) < 1e-12);
}

static void a_constant_server_is_found(void **state)
{
    (void)state;
    const struct queue md1 = {.servers = 1, .service_ns = 200 * US};
    struct tally tally = try_seeds(&md1, 2 * MS, SEEDS, 0.13, 0.04);
    assert_true(tally.near >= SEEDS * 95 / 100);
    assert_true(tally.confirmed >= SEEDS * 95 / 100);
    assert_int_equal(tally.in_budget, SEEDS);
}

static void a_slow_server_is_found(void **state)
{
    (void)state;
    const struct queue slow = {.servers = 1, .service_ns = MS};
    struct tally tally = try_seeds(&slow, 10 * MS, SEEDS, 0.20, 0.05);
    assert_true(tally.near >= SEEDS * 95 / 100);
    assert_true(tally.confirmed >= SEEDS * 95 / 100);
    assert_int_equal(tally.in_budget, SEEDS);
}

static void stalls_do_not_mislead(void **state)
{
    (void)state;
    /* 5 ms of standstill every 5 s, which makes many queries late: a trial in ten has one. */
    const struct queue noisy = {
        .servers = 1, .service_ns = 200 * US, .stall_gap_ns = 5 * S, .stall_ns = 5 * MS};
    struct tally tally = try_seeds(&noisy, 2 * MS, SEEDS, 0.18, 0.04);
    assert_true(tally.near >= SEEDS * 95 / 100);
    assert_true(tally.confirmed >= SEEDS * 90 / 100);
    assert_int_equal(tally.in_budget, SEEDS);
}

static void several_servers_are_found(void **state)
{
    (void)state;
    const struct queue mm4 = {.servers = 4, .exponential = true, .service_ns = 800 * US};
    struct tally tally = try_seeds(&mm4, 5 * MS, SEEDS, 0.13, 0.05);
    assert_true(tally.near >= SEEDS * 95 / 100);
    assert_true(tally.confirmed >= SEEDS * 95 / 100);
    assert_int_equal(tally.in_budget, SEEDS);
}

static void from_far_below_and_far_above(void **state)
{
    /* An M/D/1 queue of 1 ms: its p99 wait is some 9 ms at a load of about 0.8. */
    static const double starts[] = {0, 0.2, 700, 200000};
    for (int i = 0; i < 4; i++) {
        if (i > 0) {
            tear_down(state);
            set_up(state);
        }
        struct vt_rate_search search = search_of(starts[i]);
        struct vt_rate_found found = find(&search);
        assert_int_equal(found.outcome, VT_RATE_CONFIRMED);
        assert_true(found.qps > 650 && found.qps < 850);
        assert_true(found.failed_qps == 0 || found.failed_qps > found.qps);
        assert_true(found.low_qps < found.high_qps && found.high_qps < 1000);
        assert_in_range(found.trials, 4, 40);
        assert_false(found.interrupted);
        assert_true(found.report->valid);
        assert_true(found.report->settings.server_target_qps == found.qps);
        /* The report is that of a run under the settings that were given. */
        assert_int_equal(found.report->settings.max_duration_ns, 0);
        assert_int_equal(found.report->settings.min_duration_ns, 12 * S);
        assert_non_null(strstr(found.text, "confirmed by a full run"));
        assert_non_null(strstr(found.text, "90 %"));
        vt_load_report_free(found.report);
    }
}

static void a_bound_below_the_service_time_finds_nothing(void **state)
{
    (void)state;
    struct vt_rate_search search = search_of(100);
    search.settings.server_target_latency_ns = MS / 2;
    struct vt_rate_found found = find(&search);
    assert_int_equal(found.outcome, VT_RATE_NONE);
    assert_true(found.qps == 0);
    assert_null(found.report);
    assert_int_equal(found.full_runs, 0);
    /* Two trials show it: no further ones are wasted. */
    assert_int_equal(found.trials, 2);
    assert_string_equal(found.text, "no rate keeps p99 within 0.5 ms: at 50 queries/s, where no "
                                    "query has to wait for others, the fastest took 1 ms");
}

static int64_t every_tenth_is_slow(const struct vt_fake_sut *s, uint64_t sequence)
{
    (void)s;
    return sequence % 10 == 9 ? 20 * MS : MS / 10;
}

static void a_tail_that_no_rate_mends_is_said(void **state)
{
    (void)state;
    sut.latency_ns = every_tenth_is_slow;
    struct vt_rate_search search = search_of(100);
    struct vt_rate_found found = find(&search);
    assert_int_equal(found.outcome, VT_RATE_NONE);
    assert_non_null(strstr(found.text, "no rate keeps p99 within 10 ms"));
    assert_true(found.trials < 12);
}

static void the_budget_bounds_the_search(void **state)
{
    (void)state;
    struct vt_rate_search search = search_of(1);
    search.full_runs = 1;
    search.budget_ns = 60 * S;
    struct vt_rate_found found = find(&search);
    assert_in_range(found.trials, 2, 20);
    assert_true(found.out_of_time);
    assert_true(clock_double.now_ns - VT_FAKE_EPOCH <= 60 * S);
    assert_true(found.spent_ns <= 60 * S);
    vt_load_report_free(found.report);
}

static void trials_alone_are_called_that(void **state)
{
    (void)state;
    struct vt_rate_search search = search_of(700);
    search.full_runs = 0;
    struct vt_rate_found found = find(&search);
    assert_int_equal(found.outcome, VT_RATE_UNCONFIRMED);
    assert_true(found.qps > 650 && found.qps < 850);
    assert_null(found.report);
    assert_non_null(strstr(found.text, "by trials alone"));
}

/* As a processor that gets hot: from the fourth second on everything takes a fifth longer. */
static int64_t slower_later(const struct vt_fake_sut *s, uint64_t sequence)
{
    static int64_t began_ns;
    if (sequence == 0) {
        began_ns = s->clock->now_ns;
    }
    return s->clock->now_ns - began_ns > 4 * S ? s->fixed_ns * 6 / 5 : s->fixed_ns;
}

static void a_full_run_that_fails_is_followed_by_a_lower_one(void **state)
{
    (void)state;
    sut.latency_ns = slower_later;
    struct vt_rate_search search = search_of(700);
    struct vt_rate_found found = find(&search);
    assert_int_equal(found.outcome, VT_RATE_CONFIRMED);
    assert_in_range(found.full_runs, 2, 4);
    assert_true(found.full_valid < found.full_runs);
    /* 1.2 ms a query: at most 833 queries/s, and less for the limit. */
    assert_true(found.qps > 500 && found.qps < 720);
    assert_true(found.failed_qps > found.qps);
    assert_true(found.report->valid);
    assert_true(found.spent_ns <= search.budget_ns);
    vt_load_report_free(found.report);
}

static void a_sut_that_loses_samples_passes_nothing(void **state)
{
    (void)state;
    sut.lose = 3;
    sut.lose_to = 3;
    struct vt_rate_search search = search_of(100);
    struct vt_rate_found found = find(&search);
    assert_int_equal(found.outcome, VT_RATE_NONE);
    assert_int_equal(found.trials, 3);
    assert_non_null(strstr(found.text, "samples failed or were lost; first: 1 of "));
}

static uint32_t steps, full_steps;
static void count_step(void *ctx, const struct vt_rate_step *step)
{
    assert_ptr_equal(ctx, &steps);
    assert_true(step->qps > 0 && step->expected_ns > 0);
    steps++;
    full_steps += step->full;
    assert_int_equal(step->number, step->full ? full_steps : steps - full_steps);
}

static void every_run_is_announced(void **state)
{
    (void)state;
    steps = full_steps = 0;
    struct vt_rate_search search = search_of(500);
    search.step = count_step;
    search.ctx = &steps;
    struct vt_rate_found found = find(&search);
    assert_int_equal(full_steps, found.full_runs);
    assert_int_equal(steps, found.full_runs + found.trials);
    vt_load_report_free(found.report);
}

static void stop_interrupts_it(void **state)
{
    (void)state;
    sut.stop_at = 40;
    struct vt_rate_search search = search_of(100);
    struct vt_rate_found found = find(&search);
    assert_true(found.interrupted);
    assert_int_equal(found.trials, 1);
    assert_true(found.qps == 0);
    assert_non_null(strstr(found.text, "interrupted"));
}

static void bad_arguments_are_named(void **state)
{
    (void)state;
    struct vt_error err;
    struct vt_rate_found found;
    struct vt_rate_search bad[4];
    static const char *const texts[] = {"trial_ns is 0", "server_target_qps is -1",
                                        "budget_ns is 1000000000", "full_runs is 99"};
    for (int i = 0; i < 4; i++) {
        bad[i] = search_of(i == 1 ? -1 : 100);
    }
    bad[0].trial_ns = 0;
    bad[2].budget_ns = S;
    bad[3].full_runs = 99;
    for (int i = 0; i < 4; i++) {
        err = (struct vt_error)VT_ERROR_INIT;
        assert_int_equal(vt_load_find_rate(&bad[i], &sut.seam, &qsl.seam, &control, &err, &found),
                         VT_ERR_USAGE);
        assert_non_null(strstr(err.text, texts[i]));
    }
}

static void running_out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    struct vt_rate_search search = search_of(700);
    search.settings.min_duration_ns = S;
    search.trial_ns = S / 10;
    bool done = false;
    for (int allowed = 0; !done && allowed < 4000; allowed += allowed < 40 ? 1 : 37) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_rate_found found = {0};
        vt_torture_begin(&torture, allowed);
        enum vt_status status =
            vt_load_find_rate(&search, &sut.seam, &qsl.seam, &control, &err, &found);
        done = status == VT_OK;
        if (done) {
            vt_load_report_free(found.report);
        }
        int left = vt_torture_end(&torture);
        assert_int_equal(left, 0);
        assert_true(status == VT_OK || status == VT_ERR_MEMORY);
    }
    assert_true(done);
}

/* --- the belief -------------------------------------------------------------------------------
 */

static struct vt_rate_evidence evidence_of(double qps, uint64_t n, uint64_t t)
{
    return (struct vt_rate_evidence){.qps = qps, .share = 0.01, .n = n, .t = t, .burstiness = 1};
}

static void no_run_decides_alone(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_rate_belief belief;
    assert_int_equal(vt_rate_belief_init(&belief, 1000, &err), VT_OK);
    assert_true(fabs(vt_rate_belief_quantile(&belief, 0.5) / 1000 - 1) < 0.02);
    /* Clear passes at 900 and 950, clear failures at 1100 and 1050. */
    struct vt_rate_evidence runs[] = {evidence_of(900, 1000, 2), evidence_of(1100, 1000, 50),
                                      evidence_of(950, 1000, 5), evidence_of(1050, 1000, 25)};
    for (int i = 0; i < 4; i++) {
        assert_true(vt_rate_evidence_passed(&runs[i]) == (i % 2 == 0));
        assert_true(vt_rate_belief_add(&belief, &runs[i]));
    }
    double before = vt_rate_belief_quantile(&belief, 0.5);
    assert_true(before > 950 && before < 1050);
    assert_true(vt_rate_belief_above(&belief, 1050) < 0.05);
    assert_true(vt_rate_belief_above(&belief, 950) > 0.95);
    /* A run far below that was disturbed moves it by little. */
    struct vt_rate_evidence disturbed = evidence_of(500, 1000, 60);
    assert_true(vt_rate_belief_add(&belief, &disturbed));
    double after = vt_rate_belief_quantile(&belief, 0.5);
    assert_true(after > 0.97 * before && after <= before * 1.001);
    vt_rate_belief_release(&belief);
}

static void bursts_make_evidence_weak(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    double width[2];
    for (int bursty = 0; bursty < 2; bursty++) {
        struct vt_rate_belief belief;
        assert_int_equal(vt_rate_belief_init(&belief, 1000, &err), VT_OK);
        for (int i = 0; i < 4; i++) {
            struct vt_rate_evidence run = evidence_of(i % 2 ? 950 : 1050, 10000, i % 2 ? 50 : 200);
            run.burstiness = bursty ? 60 : 1;
            assert_true(vt_rate_belief_add(&belief, &run));
        }
        width[bursty] =
            vt_rate_belief_quantile(&belief, 0.95) / vt_rate_belief_quantile(&belief, 0.05);
        vt_rate_belief_release(&belief);
    }
    assert_true(width[1] > 1.1 * width[0]);
}

static void burstiness_is_that_of_the_counts(void **state)
{
    (void)state;
    static struct vt_sample_record records[2000];
    struct vt_load_report report = {.records = records, .n_records = 2000};
    struct vt_rate_evidence evidence;
    /* One late query in 100, evenly: less than binomial. */
    for (int i = 0; i < 2000; i++) {
        records[i].done_ns = i % 100 == 7 ? 20 : 5;
    }
    vt_rate_evidence_count(&report, 10, &evidence);
    assert_int_equal(evidence.n, 2000);
    assert_int_equal(evidence.t, 20);
    assert_true(evidence.burstiness == 1);
    /* The same number in one place: one event. A lost one is late. */
    for (int i = 0; i < 2000; i++) {
        records[i].done_ns = i >= 500 && i < 520 ? VT_RECORD_LOST : 5;
    }
    vt_rate_evidence_count(&report, 10, &evidence);
    assert_int_equal(evidence.t, 20);
    assert_true(evidence.burstiness > 15 && evidence.burstiness < 25);
    for (int i = 0; i < 2000; i++) {
        records[i].done_ns = 5;
    }
    vt_rate_evidence_count(&report, 10, &evidence);
    assert_int_equal(evidence.t, 0);
    assert_true(evidence.burstiness == 0);
}

#define RATE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_run_decides_alone),
        cmocka_unit_test(bursts_make_evidence_weak),
        cmocka_unit_test(burstiness_is_that_of_the_counts),
        cmocka_unit_test(the_theory_is_right),
        cmocka_unit_test(a_constant_server_is_found),
        cmocka_unit_test(a_slow_server_is_found),
        cmocka_unit_test(stalls_do_not_mislead),
        cmocka_unit_test(several_servers_are_found),
        RATE_TEST(from_far_below_and_far_above),
        RATE_TEST(a_bound_below_the_service_time_finds_nothing),
        RATE_TEST(a_tail_that_no_rate_mends_is_said),
        RATE_TEST(the_budget_bounds_the_search),
        RATE_TEST(trials_alone_are_called_that),
        RATE_TEST(a_full_run_that_fails_is_followed_by_a_lower_one),
        RATE_TEST(a_sut_that_loses_samples_passes_nothing),
        RATE_TEST(every_run_is_announced),
        RATE_TEST(stop_interrupts_it),
        RATE_TEST(bad_arguments_are_named),
        RATE_TEST(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
