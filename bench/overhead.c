/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tool itself costs: every scenario with a system under test that answers from inside
 * issue() and does nothing, and with the whole chain of sut, workload and null engine, beside the
 * same calls in an empty loop.
 *
 *   overhead [PAIRS [SCALE]]    pairs of runs (default 9), and a factor on their length (1)
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"
#include "load/rng.h"
#include "load/stats.h"
#include "run/qsl.h"
#include "run/session.h"

#define PAIRS_MAX 1001
#define SET       1024
#define SPQ       8
#define BATCH     64 /* completions in one call */

/* The null system under test. */
static struct vt_completion_sink null_sink;

static const char *null_name(void *ctx)
{
    (void)ctx;
    return "null";
}

static enum vt_status null_start(void *ctx, const struct vt_completion_sink *sink,
                                 enum vt_scenario scenario, struct vt_error *err)
{
    (void)ctx;
    (void)scenario;
    (void)err;
    if (sink != NULL) {
        null_sink = *sink;
    }
    return VT_OK;
}

static enum vt_status null_issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                                 struct vt_error *err)
{
    (void)ctx;
    (void)err;
    struct vt_completion c[BATCH];
    while (n > 0) {
        size_t part = n < BATCH ? n : BATCH;
        for (size_t i = 0; i < part; i++) {
            c[i] = (struct vt_completion){.id = samples[i].id};
        }
        null_sink.complete(null_sink.ctx, c, part);
        samples += part;
        n -= part;
    }
    return VT_OK;
}

static void null_verb(void *ctx)
{
    (void)ctx;
}

static enum vt_status null_load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)ctx;
    (void)indices;
    (void)n;
    (void)err;
    return VT_OK;
}

static void null_unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

static const struct vt_sut sut = {VT_SUT_HEAD, null_name, null_start, null_issue,
                                  null_verb,   null_verb, NULL};
static const struct vt_qsl qsl = {VT_QSL_HEAD, SET, SET, null_name, null_load, null_unload, NULL};

/* The whole chain: digits, its workload, the batching sut, and the engine that computes nothing. */
struct chain {
    struct vt_job job;
    struct vt_options options;
    struct vt_session session;
    struct vt_qsl qsl;
};

static void chain_open(struct chain *chain)
{
    static const char *const arguments[] = {"run", "--engine", "null", "--batch", "8"};
    struct vt_error err = VT_ERROR_INIT;

    enum vt_status status = vt_options_init(&chain->options, vt_job_options(), &chain->job, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&chain->options, 5, arguments, &err);
    }
    if (status == VT_OK) {
        status = vt_session_open(&chain->session, &chain->job, "digits", &err);
    }
    if (status == VT_OK) {
        status = vt_session_start(&chain->session, &err);
    }
    if (status != VT_OK) {
        fprintf(stderr, "overhead: %s\n", err.text);
        exit(1);
    }
    vt_qsl_init(&chain->qsl, &chain->session);
}

static void chain_close(struct chain *chain)
{
    vt_session_close(&chain->session);
    vt_options_release(&chain->options);
}

struct scenario_case {
    const char *label;
    const char *unit;
    enum vt_scenario scenario;
    uint64_t queries;    /* Offline: samples */
    size_t width;        /* samples in a call */
    int64_t spin_ns;     /* Server */
    struct chain *chain; /* NULL: load alone */
};

static void empty_complete(void *ctx, const struct vt_completion *completions, size_t n)
{
    *(volatile uint64_t *)ctx += completions[n - 1].id;
}

/* B: the calls that no load generator can save, ns a query. */
static double empty_loop(const struct scenario_case *c)
{
    static uint64_t sum;
    struct vt_query_sample samples[BATCH] = {{0}};
    const struct vt_sut *volatile called = &sut; /* not to be inlined */
    null_sink = (struct vt_completion_sink){.complete = empty_complete, .ctx = &sum};
    int64_t start = vt_now_ns();
    uint64_t step = c->scenario == VT_OFFLINE ? BATCH : 1;
    for (uint64_t i = 0; i < c->queries; i += step) {
        samples[0].id = i;
        (void)called->issue(called->ctx, samples, c->width, NULL);
    }
    return (double)(vt_now_ns() - start) / (double)c->queries;
}

struct cost {
    double issue;    /* ns a query from the first issue to the last completion */
    double whole;    /* the same of the whole call: selection, records, sort, verdict */
    double late_p50; /* ns */
};

static struct vt_load_settings settings_of(const struct scenario_case *c)
{
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.scenario = c->scenario;
    s.min_duration_ns = 0;
    s.min_query_count = c->queries;
    s.server_target_qps = 10000;
    s.multi_stream_samples_per_query = SPQ;
    s.spin_ns = c->spin_ns;
    return s;
}

/* A: one run. */
static struct cost load_run(const struct scenario_case *c)
{
    struct vt_load_settings s = settings_of(c);
    struct vt_load_report *report = NULL;
    struct vt_error err = VT_ERROR_INIT;
    int64_t start = vt_now_ns();
    const struct vt_sut *on = c->chain != NULL ? vt_sut_seam(c->chain->session.sut) : &sut;
    const struct vt_qsl *from = c->chain != NULL ? &c->chain->qsl : &qsl;
    if (vt_load_run(&s, on, from, NULL, &err, &report) != VT_OK) {
        fprintf(stderr, "overhead: %s\n", err.text);
        exit(1);
    }
    double whole = (double)(vt_now_ns() - start);
    double n = (double)c->queries;
    struct cost cost = {(double)report->duration_ns / n, whole / n,
                        (double)report->lateness_p50_ns};
    vt_load_report_free(report);
    return cost;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* B of Server: thirty lines that sleep to the same schedule; p50 of lateness in ns. */
static double bare_schedule(const struct scenario_case *c)
{
    int64_t *late = calloc(c->queries, sizeof(*late));
    if (late == NULL) {
        fprintf(stderr, "overhead: no memory\n");
        exit(1);
    }
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 0);
    (void)vt_clock_tighten_slack();
    int64_t at = vt_now_ns();
    for (uint64_t i = 0; i < c->queries; i++) {
        int64_t now = vt_now_ns();
        if (now < at) {
            vt_sleep_until_ns(at, c->spin_ns);
            now = vt_now_ns();
        }
        late[i] = now - at;
        at += vt_rng_exponential_ns(&rng, 10000);
    }
    qsort(late, c->queries, sizeof(*late), by_time);
    double p50 = (double)late[vt_percentile_rank(c->queries, 0.5)];
    free(late);
    return p50;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median, and the order statistics that hold the true median with at least 95 %. */
struct middle {
    double median, low, high;
};

static struct middle middle_of(const double *values, int n)
{
    double sorted[PAIRS_MAX];
    memcpy(sorted, values, (size_t)n * sizeof(*values));
    qsort(sorted, (size_t)n, sizeof(*sorted), compare);
    /* The interval [k, n - 1 - k] misses it with twice P(at most k of n coin tosses). */
    double term = pow(0.5, n), tail = 0;
    int k = -1;
    for (int i = 0; i < n / 2; i++) {
        tail += term;
        if (2 * tail > 0.05) {
            break;
        }
        k = i;
        term *= (double)(n - i) / (i + 1);
    }
    k = k < 0 ? 0 : k;
    double median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    return (struct middle){median, sorted[k], sorted[n - 1 - k]};
}

static void measure(const struct scenario_case *c, int pairs)
{
    double issue[PAIRS_MAX], whole[PAIRS_MAX], base[PAIRS_MAX], ratio[PAIRS_MAX];
    bool server = c->scenario == VT_SERVER;
    for (int i = -1; i < pairs; i++) {
        /* Every second pair the other way round; pair -1 only warms up. */
        bool swapped = i % 2 != 0;
        double b = swapped ? (server ? bare_schedule(c) : empty_loop(c)) : 0;
        struct cost a = load_run(c);
        b = swapped ? b : (server ? bare_schedule(c) : empty_loop(c));
        if (i >= 0) {
            issue[i] = server ? a.late_p50 : a.issue;
            whole[i] = a.whole;
            base[i] = b;
            ratio[i] = issue[i] / (b > 0 ? b : 1);
        }
    }
    struct middle ai = middle_of(issue, pairs), b = middle_of(base, pairs);
    struct middle r = middle_of(ratio, pairs);
    printf("%-26s %9.1f %9.1f  ratio %6.2f [%.2f, %.2f]", c->label, ai.median, b.median, r.median,
           r.low, r.high);
    if (!server) {
        printf("   whole call %.1f", middle_of(whole, pairs).median);
    }
    printf("   %s\n", c->unit);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    long pairs_wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 9;
    int pairs = pairs_wanted >= 1 && pairs_wanted <= PAIRS_MAX ? (int)pairs_wanted : 0;
    double scale = argc > 2 ? strtod(argv[2], NULL) : 1;
    if (pairs == 0 || !(scale > 0 && scale <= 1000)) {
        fprintf(stderr, "usage: overhead [PAIRS (1 to %d) [SCALE (up to 1000)]]\n", PAIRS_MAX);
        return 2;
    }
    static struct chain chain;
    chain_open(&chain);
    const struct scenario_case cases[] = {
        {"SingleStream", "ns a query", VT_SINGLESTREAM, (uint64_t)(500000 * scale) + 1, 1, 0},
        {"SingleStream, null engine", "ns a query", VT_SINGLESTREAM, (uint64_t)(500000 * scale) + 1,
         1, 0, &chain},
        {"MultiStream, null engine", "ns a query", VT_MULTISTREAM, (uint64_t)(100000 * scale) + 1,
         SPQ, 0, &chain},
        {"MultiStream (8 samples)", "ns a query", VT_MULTISTREAM, (uint64_t)(100000 * scale) + 1,
         SPQ, 0},
        {"Offline", "ns a sample", VT_OFFLINE, (uint64_t)(2000000 * scale) + 1, BATCH, 0},
        {"Server 10k/s, spin 60 us", "ns late (p50)", VT_SERVER, (uint64_t)(5000 * scale) + 1, 1,
         60 * VT_NS_PER_US},
        {"Server 10k/s, no spin", "ns late (p50)", VT_SERVER, (uint64_t)(5000 * scale) + 1, 1, 0},
    };
    printf("method: %d alternating pairs of A, a run of load on a sut that answers inline, and B, "
           "the same calls in an empty loop (Server: a bare loop over the same schedule); medians, "
           "ratio A/B with its 95 %% order-statistics interval\n",
           pairs);
    printf("%-26s %9s %9s\n", "", "A", "B");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        measure(&cases[i], pairs);
    }
    chain_close(&chain);
    return 0;
}
