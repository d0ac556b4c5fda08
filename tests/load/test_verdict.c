/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts of made-up runs, against a second computation that sorts copies and adds up binomial
 * terms; and the rules one by one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "binomial.h"
#include "load/rng.h"
#include "load/verdict.h"
#include "vt_test.h"
#include "vt_torture.h"

#define N 12000
#define S VT_NS_PER_S

static struct vt_sample_record records[N];
static struct vt_token_record tokens[N];

static uint64_t draw(struct vt_mt19937 *rng, uint64_t below)
{
    uint64_t high = vt_mt19937_next(rng);
    return (high << 32 | vt_mt19937_next(rng)) % below;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* --- The second computation ----------------------------------------------------------------- */

struct list {
    int64_t v[N];
    size_t n;
};

static void list_sort(struct list *list)
{
    qsort(list->v, list->n, sizeof(list->v[0]), compare);
}

static int64_t at(const struct list *list, double p)
{
    return list->n > 0 ? list->v[(size_t)((double)list->n * p)] : 0;
}

static uint64_t above(const struct list *list, int64_t limit)
{
    uint64_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        n += list->v[i] > limit;
    }
    return n;
}

/* binomial_over, remembered: the sizes of runs are few. */
static uint64_t over(uint64_t n, double p)
{
    static struct {
        uint64_t n, t;
        double p;
    } known[64];
    static size_t n_known;
    for (size_t i = 0; i < n_known; i++) {
        if (known[i].n == n && known[i].p == p) {
            return known[i].t;
        }
    }
    assert_true(n_known < 64);
    known[n_known].n = n;
    known[n_known].p = p;
    known[n_known].t = binomial_over(n, p);
    return known[n_known++].t;
}

struct expected {
    struct list latency, query, first, per_output;
    bool performance, duration, queries, early;
    int64_t estimate, estimate_p99;
};

/* Early stopping of LoadGen, word by word. */
static bool expect_early(const struct vt_load_report *r, const struct list *list, double p,
                         int64_t limit, struct expected *e)
{
    if (r->settings.scenario == VT_OFFLINE) {
        return true;
    }
    if (r->settings.scenario == VT_SERVER) {
        uint64_t t = above(list, limit);
        return r->queries_issued >= binomial_passing(t, p) + t;
    }
    uint64_t t = over(list->n, p);
    if (t == 0) {
        return false;
    }
    e->estimate = list->v[list->n - t];
    t = over(list->n, 0.99);
    if (r->settings.scenario == VT_SINGLESTREAM) {
        e->estimate_p99 = t > 0 ? list->v[list->n - t] : 0;
    }
    return true;
}

static struct expected expect(const struct vt_load_report *r, const struct vt_load_effective *eff)
{
    static struct expected e;
    memset(&e, 0, sizeof(e));
    const struct vt_load_settings *s = &r->settings;
    for (uint64_t i = 0; i < r->n_records; i++) {
        int64_t latency = records[i].done_ns - records[i].scheduled_ns;
        e.latency.v[e.latency.n++] = latency;
        if (i > 0 && records[i].query == records[i - 1].query) {
            int64_t *last = &e.query.v[e.query.n - 1];
            *last = latency > *last ? latency : *last;
        } else {
            e.query.v[e.query.n++] = latency;
        }
        if (r->tokens != NULL) {
            int64_t first = tokens[i].first_ns - records[i].scheduled_ns;
            e.first.v[e.first.n++] = first;
            e.per_output.v[e.per_output.n++] = (latency - first) / (tokens[i].n_tokens - 1);
        }
    }
    list_sort(&e.latency);
    list_sort(&e.query);
    list_sort(&e.first);
    list_sort(&e.per_output);
    double p = eff->percentile;
    bool multi = s->scenario == VT_MULTISTREAM;
    e.performance = true;
    if (r->tokens == NULL) {
        e.early =
            expect_early(r, multi ? &e.query : &e.latency, p, s->server_target_latency_ns, &e);
        if (s->scenario == VT_SERVER) {
            e.performance = at(&e.latency, p) <= s->server_target_latency_ns;
        }
    } else {
        e.early =
            expect_early(r, multi ? &e.query : &e.per_output, p, s->server_tpot_latency_ns, &e) &&
            expect_early(r, multi ? &e.query : &e.first, p, s->server_ttft_latency_ns, &e);
        if (s->scenario == VT_SERVER) {
            e.performance = at(&e.first, p) <= s->server_ttft_latency_ns &&
                            at(&e.per_output, p) <= s->server_tpot_latency_ns;
        }
    }
    const struct vt_sample_record *last = &records[r->n_records - 1];
    int64_t lasted = s->scenario == VT_OFFLINE  ? e.latency.v[e.latency.n - 1]
                     : s->scenario == VT_SERVER ? last->scheduled_ns
                                                : last->issued_ns;
    e.duration = lasted >= s->min_duration_ns;
    e.queries = r->queries_issued >= eff->min_query_count && r->n_records >= eff->min_sample_count;
    return e;
}

/* --- Runs ----------------------------------------------------------------------------------- */

/* A run of the scenario with random latencies, most of them below 10 ms. */
static struct vt_load_report *make_run(struct vt_mt19937 *rng, enum vt_scenario scenario,
                                       bool with_tokens, uint64_t queries,
                                       struct vt_load_effective *eff)
{
    struct vt_load_report *r = vt_calloc(1, sizeof(*r));
    assert_non_null(r);
    uint32_t samples = scenario == VT_MULTISTREAM ? 8 : 1;
    uint64_t one_in = 20 + draw(rng, 2000); /* slow ones */
    uint64_t n = 0;
    int64_t time = 0;
    for (uint32_t query = 0; query < queries; query++) {
        time += (int64_t)draw(rng, 2 * VT_NS_PER_MS);
        for (uint32_t i = 0; i < samples; i++, n++) {
            int64_t scheduled = scenario == VT_OFFLINE ? 0 : time;
            int64_t latency = (int64_t)draw(rng, 10 * VT_NS_PER_MS) + 1000;
            latency *= draw(rng, one_in) == 0 ? 5 : 1;
            records[n] = (struct vt_sample_record){
                .scheduled_ns = scheduled,
                .issued_ns = scheduled + (int64_t)draw(rng, 1000),
                .done_ns = scheduled + latency,
                .query = scenario == VT_OFFLINE ? 0 : query,
            };
            tokens[n] = (struct vt_token_record){
                .first_ns = scheduled + latency / (int64_t)(1 + draw(rng, 8)),
                .n_tokens = 2 + (int64_t)draw(rng, 100),
            };
        }
    }
    r->settings.scenario = scenario;
    r->settings.mode = VT_PERFORMANCE;
    r->settings.use_token_latencies = with_tokens;
    r->settings.server_target_latency_ns = 10 * VT_NS_PER_MS;
    r->settings.server_ttft_latency_ns = (int64_t)(7 + draw(rng, 6)) * VT_NS_PER_MS;
    r->settings.server_tpot_latency_ns = (int64_t)(100 + draw(rng, 3000)) * VT_NS_PER_US;
    r->settings.min_duration_ns = (int64_t)(draw(rng, 2 * queries + 1)) * VT_NS_PER_MS;
    if (scenario == VT_OFFLINE) {
        r->settings.min_duration_ns = 11 * VT_NS_PER_MS;
    }
    eff->percentile = scenario == VT_SINGLESTREAM ? 0.90 : 0.99;
    eff->min_query_count = draw(rng, 2) == 0 ? 1 : queries + draw(rng, 2);
    eff->min_sample_count = eff->min_query_count == 1 ? n - 1 + draw(rng, 3) : 1;
    r->records = records;
    r->tokens = with_tokens ? tokens : NULL;
    r->n_records = n;
    r->queries_issued = scenario == VT_OFFLINE ? 1 : queries;
    r->samples_issued = n;
    r->samples_completed = n;
    r->last_issue_ns = records[n - 1].issued_ns;
    return r;
}

static void check_figures(const struct vt_load_report *r, const struct expected *e, double p)
{
    assert_int_equal(r->latency.p50_ns, at(&e->latency, 0.5));
    assert_int_equal(r->latency.p99_9_ns, at(&e->latency, 0.999));
    assert_int_equal(r->latency.max_ns, e->latency.v[e->latency.n - 1]);
    const struct list *query = r->settings.scenario == VT_MULTISTREAM ? &e->query : &e->latency;
    assert_int_equal(r->query_latency.p97_ns, at(query, 0.97));
    assert_int_equal(r->target_latency_ns, at(query, p));
    assert_int_equal(r->overlatency_queries,
                     r->settings.scenario == VT_SERVER
                         ? above(&e->latency, r->settings.server_target_latency_ns)
                         : 0);
    assert_int_equal(r->early_stopping_estimate_ns, e->estimate);
    assert_int_equal(r->early_stopping_p99_ns, e->estimate_p99);
    if (r->tokens == NULL) {
        return;
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < r->n_records; i++) {
        sum += (uint64_t)tokens[i].n_tokens;
    }
    assert_int_equal(r->token.tokens, sum);
    assert_int_equal(r->token.first_target_ns, at(&e->first, p));
    assert_int_equal(r->token.per_output_target_ns, at(&e->per_output, p));
    assert_int_equal(r->token.first.p90_ns, at(&e->first, 0.9));
    assert_int_equal(r->token.per_output.p99_9_ns, at(&e->per_output, 0.999));
    if (r->settings.scenario == VT_SERVER) {
        assert_int_equal(r->token.overlatency_first,
                         above(&e->first, r->settings.server_ttft_latency_ns));
        assert_int_equal(r->token.overlatency_per_output,
                         above(&e->per_output, r->settings.server_tpot_latency_ns));
    }
}

static void verdicts_equal_a_second_computation(void **state)
{
    (void)state;
    static const enum vt_scenario scenarios[] = {VT_OFFLINE, VT_SERVER, VT_SINGLESTREAM,
                                                 VT_MULTISTREAM};
    static const uint64_t sizes[] = {1, 2, 63, 64, 65, 458, 459, 661, 662, 663, 1400};
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 9);
    int seen[2][4] = {0}; /* every outcome must have come up */
    for (int round = 0; round < 6 * 4 * 2; round++) {
        enum vt_scenario scenario = scenarios[round % 4];
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct vt_load_effective eff = {0};
            struct vt_load_report *r = make_run(&rng, scenario, round / 4 % 2 == 1, sizes[i], &eff);
            struct expected e = expect(r, &eff);
            assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
            check_figures(r, &e, eff.percentile);
            assert_int_equal(r->performance_met, e.performance);
            assert_int_equal(r->min_duration_met, e.duration);
            assert_int_equal(r->min_queries_met, e.queries);
            assert_int_equal(r->early_stopping_met, e.early);
            assert_int_equal(r->valid, e.performance && e.duration && e.queries && e.early);
            assert_int_equal(r->valid, r->reasons.n == 0);
            seen[e.performance][0]++;
            seen[e.duration][1]++;
            seen[e.queries][2]++;
            seen[e.early][3]++;
            vt_free(r);
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_true(seen[0][i] > 10 && seen[1][i] > 10);
    }
}

/* --- Rules one by one ----------------------------------------------------------------------- */

/* n Server queries at 1 ms with 1 ms each, `over` of them with 20 ms; the limit is 10 ms. */
static struct vt_load_report *server(uint64_t n, uint64_t over, struct vt_load_effective *eff)
{
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 1);
    struct vt_load_report *r = make_run(&rng, VT_SERVER, false, n, eff);
    for (uint64_t i = 0; i < n; i++) {
        records[i].scheduled_ns = (int64_t)i * VT_NS_PER_MS;
        records[i].issued_ns = records[i].scheduled_ns;
        records[i].done_ns = records[i].scheduled_ns + (i < over ? 20 : 1) * VT_NS_PER_MS;
        tokens[i].first_ns = records[i].scheduled_ns + VT_NS_PER_MS / 2;
        tokens[i].n_tokens = 11; /* 50 us each, 1950 us where it takes 20 ms */
    }
    r->settings.min_duration_ns = 0;
    r->settings.server_ttft_latency_ns = VT_NS_PER_MS;
    r->settings.server_tpot_latency_ns = VT_NS_PER_MS;
    eff->min_query_count = 1;
    eff->min_sample_count = 1;
    return r;
}

static bool says(const struct vt_load_report *r, const char *text)
{
    for (uint32_t i = 0; i < r->reasons.n; i++) {
        if (strstr(r->reasons.text[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

static void early_stopping_of_server_has_its_known_thresholds(void **state)
{
    (void)state;
    static const struct {
        uint64_t n, over;
        bool met;
    } cases[] = {{458, 0, false}, {459, 0, true}, {661, 1, false}, {662, 1, true}};
    for (int i = 0; i < 4; i++) {
        struct vt_load_effective eff = {0};
        struct vt_load_report *r = server(cases[i].n, cases[i].over, &eff);
        assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
        assert_int_equal(r->early_stopping_met, cases[i].met);
        assert_int_equal(r->early_stopping_needed, cases[i].over == 0 ? 459 : 662);
        assert_true(r->performance_met);
        assert_int_equal(r->valid, cases[i].met);
        vt_free(r);
    }
}

static void tokens_have_limits_of_their_own(void **state)
{
    (void)state;
    struct vt_load_effective eff = {0};
    /* Latencies of all queries are above the limit of latencies, which nobody asks for then. */
    struct vt_load_report *r = server(1000, 0, &eff);
    r->tokens = tokens;
    r->settings.server_target_latency_ns = 1;
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
    assert_true(r->valid);
    assert_int_equal(r->overlatency_queries, 1000);
    assert_int_equal(r->token.per_output.max_ns, 50 * VT_NS_PER_US);
    assert_int_equal(r->token.first.min_ns, VT_NS_PER_MS / 2);
    vt_free(r);

    /* TPOT fails: TTFT is not looked at by early stopping, but by the constraint. */
    r = server(1000, 300, &eff);
    r->tokens = tokens;
    r->settings.server_ttft_latency_ns = 1;
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
    assert_false(r->token.per_output_early_stopping_met);
    assert_false(r->token.first_early_stopping_met);
    assert_false(r->token.first_met);
    assert_false(r->token.per_output_met);
    assert_int_equal(r->early_stopping_needed, binomial_passing(300, 0.99) + 300);
    assert_true(says(r, "p99 time to the first token 500 us is above the limit of 1 ns"));
    assert_true(says(r, "p99 time per output token 1.95 ms is above the limit of 1 ms"));
    assert_true(says(r, "with 300 times per output token above the limit"));
    vt_free(r);

    r = server(1000, 0, &eff);
    r->tokens = tokens;
    r->settings.server_ttft_latency_ns = 1;
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
    assert_true(r->token.per_output_early_stopping_met);
    assert_false(r->token.first_early_stopping_met);
    assert_true(says(r, "with 1000 times to the first token above the limit"));
    vt_free(r);
}

static void a_system_without_tokens_is_one_sentence(void **state)
{
    (void)state;
    struct vt_load_effective eff = {0};
    struct vt_load_report *r = server(1000, 0, &eff);
    r->tokens = tokens;
    for (uint64_t i = 0; i < 1000; i++) {
        tokens[i] = (struct vt_token_record){.first_ns = VT_RECORD_LOST};
    }
    r->token.errors = 2000;
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
    assert_false(r->valid || r->performance_met);
    assert_int_equal(r->reasons.n, 1);
    assert_true(says(r, "the number of tokens of none of its 1000 answers"));
    vt_free(r);
}

static void the_estimate_of_single_stream_with_tokens_is_that_of_the_first(void **state)
{
    (void)state;
    struct vt_load_effective eff = {0};
    struct vt_load_report *r = server(1000, 0, &eff);
    r->settings.scenario = VT_SINGLESTREAM;
    eff.percentile = 0.9;
    for (int i = 0; i < 1000; i++) {
        tokens[i].first_ns = records[i].scheduled_ns + i;
    }
    r->tokens = tokens;
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
    assert_true(r->early_stopping_met);
    assert_int_equal(r->early_stopping_estimate_ns, 1000 - (int64_t)binomial_over(1000, 0.9));
    assert_int_equal(r->early_stopping_p99_ns, 1000 - (int64_t)binomial_over(1000, 0.99));
    assert_int_equal(r->token.first_estimate_ns, r->early_stopping_estimate_ns);
    assert_true(r->token.per_output_estimate_ns > 90 * VT_NS_PER_US);
    vt_free(r);
}

static void lost_samples_are_left_out_and_named(void **state)
{
    (void)state;
    struct vt_load_effective eff = {0};
    struct vt_load_report *r = server(1000, 0, &eff);
    records[7].done_ns = VT_RECORD_LOST;
    records[7].index = 77;
    records[999].done_ns = VT_RECORD_LOST; /* the last query: the metric ends with the run then */
    r->samples_completed = 998;
    r->samples_lost = 2;
    r->settings.completion_timeout_ns = 10 * S;
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_TIMED_OUT, NULL), VT_OK);
    assert_true(says(r, "2 of 1000 samples were never completed (first: sample 7, index 77)"));
    assert_int_equal(r->latency.max_ns, VT_NS_PER_MS);
    assert_int_equal(r->duration_ns, 999 * VT_NS_PER_MS);
    assert_int_equal(r->last_query_done_ns, 999 * VT_NS_PER_MS);
    vt_free(r);

    r = server(1000, 0, &eff);
    r->samples_late = 3;
    r->settings.completion_timeout_ns = 10 * S;
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_TIMED_OUT, NULL), VT_OK);
    assert_true(says(r, "3 samples were completed only after nothing had come for 10 s"));
    vt_free(r);

    r = server(1000, 0, &eff);
    r->tokens = tokens;
    r->token.errors = 2;
    snprintf(r->first_failure, sizeof(r->first_failure), "sample 3 had no token");
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
    assert_true(says(r, "2 reports of tokens were wrong (first trouble: sample 3 had no token)"));
    vt_free(r);
}

static void a_run_without_a_sample_is_judged_too(void **state)
{
    (void)state;
    static const enum vt_scenario scenarios[] = {VT_OFFLINE, VT_SERVER, VT_SINGLESTREAM,
                                                 VT_MULTISTREAM};
    for (int i = 0; i < 8; i++) {
        struct vt_load_effective eff = {0};
        struct vt_load_report *r = server(10, 0, &eff);
        r->settings.scenario = scenarios[i / 2];
        r->tokens = i % 2 == 1 ? tokens : NULL;
        r->n_records = 0;
        r->queries_issued = 0;
        r->samples_issued = 0;
        r->samples_completed = 0;
        r->last_issue_ns = 0;
        assert_int_equal(vt_verdict_reach(r, &eff, VT_END_STOPPED, NULL), VT_OK);
        assert_false(r->valid);
        assert_true(r->interrupted);
        assert_null(r->metric.name);
        assert_int_equal(r->target_latency_ns, 0);
        vt_free(r);
    }
}

static void lateness_is_reported(void **state)
{
    (void)state;
    struct vt_load_effective eff = {0};
    struct vt_load_report *r = server(10000, 0, &eff);
    for (int i = 0; i < 10000; i++) {
        records[i].issued_ns = records[i].scheduled_ns + (i * 7919) % 10000;
    }
    assert_int_equal(vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL), VT_OK);
    assert_int_equal(r->lateness_p50_ns, 5000);
    assert_int_equal(r->lateness_p99_ns, 9900);
    assert_int_equal(r->lateness_p99_9_ns, 9990);
    assert_int_equal(r->lateness_max_ns, 9999);
    vt_free(r);
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    int allowed = 0;
    for (enum vt_status st = VT_ERR_MEMORY; st != VT_OK; allowed++) {
        struct vt_load_effective eff = {0};
        struct vt_load_report *r = server(2000, 20, &eff);
        r->tokens = tokens;
        struct vt_torture torture;
        vt_torture_begin(&torture, allowed);
        st = vt_verdict_reach(r, &eff, VT_END_NATURAL, NULL);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(st == VT_OK || st == VT_ERR_MEMORY);
        vt_free(r);
    }
    assert_true(allowed > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_equal_a_second_computation),
        cmocka_unit_test(early_stopping_of_server_has_its_known_thresholds),
        cmocka_unit_test(tokens_have_limits_of_their_own),
        cmocka_unit_test(a_system_without_tokens_is_one_sentence),
        cmocka_unit_test(the_estimate_of_single_stream_with_tokens_is_that_of_the_first),
        cmocka_unit_test(lost_samples_are_left_out_and_named),
        cmocka_unit_test(a_run_without_a_sample_is_judged_too),
        cmocka_unit_test(lateness_is_reported),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
