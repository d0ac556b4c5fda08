/* SPDX-License-Identifier: Apache-2.0 */
#include "load/measure.h"

#include "load/early_stopping.h"
#include "load/stats.h"

struct measure {
    struct vt_load_report *report;
    double percentile; /* the scenario's target */
    struct vt_times times;
    struct vt_order orders[VT_ORDERS_MAX];
    size_t n_orders;
    struct vt_order *latency, *query, *lateness;
    struct vt_order *first, *per_output; /* NULL where tokens are not counted */
};

/* The times of the end of the run, and the tokens. */
static void scan_end(struct measure *m)
{
    struct vt_load_report *r = m->report;
    uint32_t last = r->n_records > 0 ? r->records[r->n_records - 1].query : 0;
    bool last_lost = false;
    int64_t done = 0, last_done = 0;
    for (uint64_t i = 0; i < r->n_records; i++) {
        const struct vt_sample_record *record = &r->records[i];
        bool lost = record->done_ns == VT_RECORD_LOST;
        done = record->done_ns > done ? record->done_ns : done; /* a lost one is the smallest */
        if (record->query == last) {
            last_lost |= lost;
            last_done = record->done_ns > last_done ? record->done_ns : last_done;
        }
    }
    r->duration_ns = done;
    r->last_query_done_ns = last_lost ? done : last_done;
    for (uint64_t i = 0; r->tokens != NULL && i < r->n_records; i++) {
        r->token.tokens += (uint64_t)r->tokens[i].n_tokens;
    }
}

static struct vt_order *add(struct measure *m, enum vt_time kind, int64_t limit_ns)
{
    struct vt_order *order = &m->orders[m->n_orders++];
    *order = (struct vt_order){.kind = kind, .limit_ns = limit_ns};
    return order;
}

/* The first pass over everything that this run has. */
static void scan(struct measure *m)
{
    struct vt_load_report *r = m->report;
    const struct vt_load_settings *s = &r->settings;
    m->times = (struct vt_times){r->records, r->tokens, r->n_records};
    m->lateness = add(m, VT_TIME_LATENESS, INT64_MAX);
    m->latency = add(m, VT_TIME_LATENCY, s->server_target_latency_ns);
    m->query = m->latency;
    if (s->scenario == VT_MULTISTREAM) {
        m->query = add(m, VT_TIME_QUERY_LATENCY, INT64_MAX);
    }
    if (r->tokens != NULL) {
        m->first = add(m, VT_TIME_FIRST_TOKEN, s->server_ttft_latency_ns);
        m->per_output = add(m, VT_TIME_PER_OUTPUT, s->server_tpot_latency_ns);
    }
    vt_orders_scan(&m->times, m->orders, m->n_orders);
}

static bool stops_on_estimate(const struct measure *m)
{
    enum vt_scenario scenario = m->report->settings.scenario;
    return m->report->settings.mode == VT_PERFORMANCE &&
           (scenario == VT_SINGLESTREAM || scenario == VT_MULTISTREAM);
}

/* How many queries an estimate at a percentile sets aside, of those that the order has; 0: there is
 * none. */
static uint64_t over(const struct vt_order *order, double percentile)
{
    return order->n > 0 ? vt_early_stopping_over(order->n, percentile) : 0;
}

/* All ranks that the report wants. */
static enum vt_status resolve(struct measure *m, struct vt_error *err)
{
    for (size_t i = 0; i < m->n_orders; i++) {
        struct vt_order *order = &m->orders[i];
        if (order == m->lateness && order->max_ns <= 0) {
            continue;
        }
        vt_order_want_stats(order);
        if (order->n > 0) {
            vt_order_want(order, vt_percentile_rank(order->n, m->percentile));
        }
        if (stops_on_estimate(m)) {
            /* n - 0 is no rank: nothing is asked for where there is no estimate. */
            vt_order_want(order, order->n - over(order, m->percentile));
            vt_order_want(order, order->n - over(order, VT_INFERRED_PERCENTILE));
        }
    }
    return vt_orders_resolve(&m->times, m->orders, m->n_orders, err);
}

/* Early stopping of one kind of latency. Estimates stay as they are where there is none. */
static bool stop_early(struct measure *m, const struct vt_order *order)
{
    struct vt_load_report *r = m->report;
    switch (r->settings.scenario) {
    case VT_SERVER:
        r->early_stopping_needed =
            vt_early_stopping_passing(order->above, m->percentile) + order->above;
        return r->queries_issued >= r->early_stopping_needed;
    case VT_SINGLESTREAM:
    case VT_MULTISTREAM: {
        r->early_stopping_needed = vt_early_stopping_passing(1, m->percentile) + 1;
        uint64_t t = over(order, m->percentile);
        if (t == 0) {
            return false;
        }
        r->early_stopping_estimate_ns = vt_order_at(order, order->n - t);
        t = r->settings.scenario == VT_SINGLESTREAM ? over(order, VT_INFERRED_PERCENTILE) : 0;
        r->early_stopping_p99_ns = t > 0 ? vt_order_at(order, order->n - t) : 0;
        return true;
    }
    case VT_OFFLINE:
    case VT_SCENARIO_COUNT:
        break;
    }
    return true;
}

/*
 * With tokens, the time per output token is looked at first, and the time to the first token only
 * when that has passed; what is reported is of the last one looked at. MultiStream stays with the
 * latencies of queries. All as LoadGen does it.
 */
static void judge_early_stopping(struct measure *m)
{
    struct vt_load_report *r = m->report;
    if (m->first == NULL) {
        r->early_stopping_met = stop_early(m, m->query);
        return;
    }
    bool queries = r->settings.scenario == VT_MULTISTREAM;
    struct vt_token_report *token = &r->token;
    token->per_output_early_stopping_met = stop_early(m, queries ? m->query : m->per_output);
    token->per_output_estimate_ns = r->early_stopping_estimate_ns;
    token->per_output_p99_ns = r->early_stopping_p99_ns;
    if (token->per_output_early_stopping_met) {
        token->first_early_stopping_met = stop_early(m, queries ? m->query : m->first);
        token->first_estimate_ns =
            token->first_early_stopping_met ? r->early_stopping_estimate_ns : 0;
    }
    r->early_stopping_met = token->first_early_stopping_met;
}

/* Of a kind of latency that has a limit in Server. */
static bool within(const struct measure *m, const struct vt_order *order)
{
    return order->n > 0 && vt_order_percentile(order, m->percentile) <= order->limit_ns;
}

static void report_tokens(struct measure *m)
{
    struct vt_load_report *r = m->report;
    struct vt_token_report *token = &r->token;
    bool server = r->settings.scenario == VT_SERVER;
    token->first = vt_order_stats(m->first);
    token->per_output = vt_order_stats(m->per_output);
    token->first_target_ns = vt_order_percentile(m->first, m->percentile);
    token->per_output_target_ns = vt_order_percentile(m->per_output, m->percentile);
    token->overlatency_first = server ? m->first->above : 0;
    token->overlatency_per_output = server ? m->per_output->above : 0;
    token->first_met = !server || within(m, m->first);
    token->per_output_met = !server || within(m, m->per_output);
}

static struct vt_metric metric_of(const struct measure *m)
{
    const struct vt_load_report *r = m->report;
    uint64_t n = m->query->n;
    switch (r->settings.scenario) {
    case VT_OFFLINE:
        if (r->latency.max_ns > 0) {
            return (struct vt_metric){"samples_per_second", "samples/s",
                                      (double)n / ((double)r->latency.max_ns / 1e9)};
        }
        break;
    case VT_SERVER:
        /* One less: the last query is the open end of the span. */
        if (n > 1 && r->last_query_done_ns > 0) {
            return (struct vt_metric){"completed_queries_per_second", "queries/s",
                                      (double)(n - 1) / ((double)r->last_query_done_ns / 1e9)};
        }
        break;
    case VT_SINGLESTREAM:
        if (n > 0) {
            return (struct vt_metric){"latency_at_percentile", "ns", (double)r->target_latency_ns};
        }
        break;
    case VT_MULTISTREAM:
        if (n > 0) {
            return (struct vt_metric){"query_latency_at_percentile", "ns",
                                      (double)r->target_latency_ns};
        }
        break;
    case VT_SCENARIO_COUNT:
        break;
    }
    return (struct vt_metric){0};
}

static void report_latencies(struct measure *m)
{
    struct vt_load_report *r = m->report;
    if (m->lateness->max_ns > 0) {
        r->lateness_p50_ns = vt_order_percentile(m->lateness, 0.50);
        r->lateness_p99_ns = vt_order_percentile(m->lateness, 0.99);
        r->lateness_p99_9_ns = vt_order_percentile(m->lateness, 0.999);
        r->lateness_max_ns = m->lateness->max_ns;
    }
    r->latency = vt_order_stats(m->latency);
    r->query_latency = vt_order_stats(m->query);
    r->target_latency_ns = vt_order_percentile(m->query, m->percentile);
    r->overlatency_queries = r->settings.scenario == VT_SERVER ? m->latency->above : 0;
}

enum vt_status vt_measure(struct vt_load_report *report, const struct vt_load_effective *effective,
                          struct vt_error *err)
{
    struct measure m = {.report = report, .percentile = effective->percentile};
    scan_end(&m);
    scan(&m);
    enum vt_status st = resolve(&m, err);
    if (st != VT_OK) {
        return st;
    }
    report_latencies(&m);
    if (m.first != NULL) {
        report_tokens(&m);
    }
    if (report->settings.mode == VT_PERFORMANCE) {
        judge_early_stopping(&m);
        report->metric = metric_of(&m);
    }
    return VT_OK;
}
