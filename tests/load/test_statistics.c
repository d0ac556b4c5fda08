/* SPDX-License-Identifier: Apache-2.0 */
/* Early stopping against published figures and plain binomial sums; order statistics against qsort.
 */
#include <math.h>

#include "binomial.h"
#include "load/early_stopping.h"
#include "load/rng.h"
#include "load/stats.h"
#include "vt_test.h"
#include "vt_torture.h"

/* P(at most t of h + t over latency), term by term. */
static double binomial_sum(uint64_t h, uint64_t t, double p)
{
    long double n = (long double)(h + t), sum = 0;
    for (uint64_t k = 0; k <= t; k++) {
        long double kk = (long double)k;
        long double term = lgammal(n + 1) - lgammal(kk + 1) - lgammal(n - kk + 1) +
                           kk * log1pl(-(long double)p) + (n - kk) * logl((long double)p);
        sum += expl(term);
    }
    return (double)sum;
}

static void published_counts_come_out(void **state)
{
    (void)state;
    /* Inference rules, "Early stopping": queries at least for an estimate. */
    assert_int_equal(vt_early_stopping_passing(1, 0.90) + 1, 64);
    assert_int_equal(vt_early_stopping_passing(1, 0.99) + 1, 662);
    assert_int_equal(vt_early_stopping_passing(1, 0.999) + 1, 6636);
    /* H(0) = ceil(ln 0.01 / ln p). */
    static const double ps[] = {0.5, 0.90, 0.95, 0.97, 0.99, 0.999};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(vt_early_stopping_passing(0, ps[i]),
                         (uint64_t)ceil(log(0.01) / log(ps[i])));
    }
    assert_int_equal(vt_early_stopping_passing(0, 0.99), 459);
}

static void odds_equal_the_binomial_sum(void **state)
{
    (void)state;
    static const double ps[] = {0.5, 0.90, 0.97, 0.99, 0.999};
    static const uint64_t ts[] = {0, 1, 2, 5, 17, 100, 1000};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 7; j++) {
            uint64_t passing = vt_early_stopping_passing(ts[j], ps[i]);
            /* From far in the one tail to far in the other. */
            const uint64_t hs[] = {1,           passing / 4 + 1, passing / 2 + 1,
                                   passing - 1, passing,         passing + passing / 8};
            for (int k = 0; k < 6; k++) {
                double expected = binomial_sum(hs[k], ts[j], ps[i]);
                double got = vt_early_stopping_odds(hs[k], ts[j], ps[i]);
                if (fabs(got - expected) > 1e-9 * expected + 1e-12) {
                    fail_msg("h %d t %d p %g: %.15g, sum %.15g", (int)hs[k], (int)ts[j], ps[i], got,
                             expected);
                }
            }
            assert_true(binomial_sum(passing, ts[j], ps[i]) < 1 - 0.99);
            assert_false(binomial_sum(passing - 1, ts[j], ps[i]) < 1 - 0.99);
        }
    }
}

static void thresholds_equal_those_of_plain_sums(void **state)
{
    (void)state;
    static const double ps[] = {0.5, 0.75, 0.90, 0.95, 0.97, 0.99, 0.999};
    for (int i = 0; i < 7; i++) {
        for (uint64_t t = 0; t < 400; t += t < 40 ? 1 : 37) {
            if (vt_early_stopping_passing(t, ps[i]) != binomial_passing(t, ps[i])) {
                fail_msg("t %d p %g: %d, sum %d", (int)t, ps[i],
                         (int)vt_early_stopping_passing(t, ps[i]), (int)binomial_passing(t, ps[i]));
            }
        }
    }
}

/* With p = 1/2 the sum is of whole numbers: 100 (C(n,0) + … + C(n,t)) < 2^n. */
static void thresholds_of_one_half_are_exact(void **state)
{
    (void)state;
    for (uint64_t t = 0; t <= 35; t++) {
        uint64_t h = vt_early_stopping_passing(t, 0.5);
        for (uint64_t n = h + t - 1; n <= h + t; n++) {
            unsigned __int128 term = 1, sum = 1;
            for (uint64_t k = 0; k < t; k++) {
                term = term * (n - k) / (k + 1);
                sum += term;
            }
            assert_true(n < 120);
            bool passes = sum * 100 < (unsigned __int128)1 << n;
            assert_int_equal(passes, n == h + t);
        }
    }
}

static void the_largest_number_over_latency_fits_and_one_more_does_not(void **state)
{
    (void)state;
    static const uint64_t ns[] = {64, 65, 99, 1000, 6636, 24576, 270336, 10000000};
    static const double ps[] = {0.90, 0.99};
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 2; j++) {
            uint64_t t = vt_early_stopping_over(ns[i], ps[j]);
            if (ns[i] < vt_early_stopping_passing(1, ps[j]) + 1) {
                assert_int_equal(t, 0);
                continue;
            }
            assert_true(t >= 1);
            assert_true(ns[i] >= vt_early_stopping_passing(t, ps[j]) + t);
            assert_true(ns[i] < vt_early_stopping_passing(t + 1, ps[j]) + t + 1);
        }
    }
    assert_int_equal(vt_early_stopping_over(0, 0.99), 0);
    assert_int_equal(vt_early_stopping_over(661, 0.99), 0);
    assert_int_equal(vt_early_stopping_over(662, 0.99), 1);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void early_stopping_ends_where_doubles_do(void **state)
{
    (void)state;
    const double p = 1 - 0x1p-50;
    assert_int_equal(vt_early_stopping_passing(100000, p), VT_EARLY_STOPPING_NEVER);
    assert_int_equal(vt_early_stopping_over(UINT32_MAX, p), 0);
}

static void percentiles_do_not_interpolate(void **state)
{
    (void)state;
    assert_int_equal(vt_percentile_rank(100, 0.90), 90);
    assert_int_equal(vt_percentile_rank(100, 0.999), 99);
    assert_int_equal(vt_percentile_rank(99, 0.5), 49);
    assert_int_equal(vt_percentile_rank(1, 0.99), 0);
    assert_int_equal(vt_percentile_rank(100, 1 - 1e-17), 99);
}

/* --- Order statistics of records ------------------------------------------------------------ */

#define RECORDS 30000

static struct vt_sample_record records[RECORDS];
static struct vt_token_record tokens[RECORDS];
static int64_t sorted[RECORDS];

/* What a kind makes of the records, one by one and without any cleverness; sorted. */
static size_t naive(enum vt_time kind, size_t n)
{
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        const struct vt_sample_record *r = &records[i];
        bool lost = r->done_ns == VT_RECORD_LOST, first = tokens[i].first_ns != VT_RECORD_LOST;
        if (kind == VT_TIME_LATENESS) {
            sorted[made++] = r->issued_ns - r->scheduled_ns;
        } else if (kind == VT_TIME_LATENCY && !lost) {
            sorted[made++] = r->done_ns - r->scheduled_ns;
        } else if (kind == VT_TIME_FIRST_TOKEN && !lost && first) {
            sorted[made++] = tokens[i].first_ns - r->scheduled_ns;
        } else if (kind == VT_TIME_PER_OUTPUT && !lost && first) {
            int64_t latency = r->done_ns - r->scheduled_ns;
            sorted[made++] =
                (latency - (tokens[i].first_ns - r->scheduled_ns)) / (tokens[i].n_tokens - 1);
        } else if (kind == VT_TIME_QUERY_LATENCY && (i == 0 || r[-1].query != r->query)) {
            int64_t most = INT64_MIN;
            bool whole = true;
            for (size_t k = i; k < n && records[k].query == r->query; k++) {
                whole &= records[k].done_ns != VT_RECORD_LOST;
                if (whole && records[k].done_ns - records[k].scheduled_ns > most) {
                    most = records[k].done_ns - records[k].scheduled_ns;
                }
            }
            sorted[made] = most;
            made += whole;
        }
    }
    qsort(sorted, made, sizeof(*sorted), compare);
    return made;
}

static uint64_t draw(struct vt_mt19937 *rng, unsigned bits)
{
    uint64_t high = vt_mt19937_next(rng);
    return (high << 32 | vt_mt19937_next(rng)) >> (64 - bits);
}

/* Latencies of so many bits, with outliers; a share of samples is lost. */
static void make_records(struct vt_mt19937 *rng, size_t n, unsigned bits, bool losses)
{
    uint32_t query = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t scheduled = (int64_t)draw(rng, 40);
        query += draw(rng, 3) == 0;
        int64_t latency = (int64_t)draw(rng, draw(rng, 12) == 0 ? 50 : bits);
        records[i] = (struct vt_sample_record){
            .scheduled_ns =
                i > 0 && records[i - 1].query == query ? records[i - 1].scheduled_ns : scheduled,
            .query = query,
        };
        records[i].issued_ns = records[i].scheduled_ns + (int64_t)draw(rng, 20) - 1000;
        records[i].done_ns = records[i].scheduled_ns + latency;
        tokens[i] = (struct vt_token_record){
            .first_ns = records[i].scheduled_ns + latency / (int64_t)(1 + draw(rng, 4)),
            .n_tokens = (int64_t)draw(rng, 8) + 2,
        };
        if (losses && draw(rng, 5) == 0) {
            records[i].done_ns = VT_RECORD_LOST;
        }
        if (losses && draw(rng, 5) == 0) {
            tokens[i].first_ns = VT_RECORD_LOST;
        }
        if (losses && draw(rng, 5) == 0) {
            tokens[i].n_tokens = 0;
        }
    }
}

static const enum vt_time kinds[] = {VT_TIME_LATENCY, VT_TIME_QUERY_LATENCY, VT_TIME_LATENESS,
                                     VT_TIME_FIRST_TOKEN, VT_TIME_PER_OUTPUT};
#define KINDS 5

/* All five at once, against the sorted arrays. */
static void check_orders(struct vt_mt19937 *rng, size_t n)
{
    struct vt_times times = {records, tokens, n};
    struct vt_order orders[KINDS];
    memset(orders, 0xa5, sizeof(orders)); /* what was there before does not matter */
    for (int i = 0; i < KINDS; i++) {
        orders[i].kind = kinds[i];
        orders[i].limit_ns = n > 0 ? (int64_t)draw(rng, 20) : 0;
    }
    vt_orders_scan(&times, orders, KINDS);
    uint64_t random[KINDS][4];
    for (int i = 0; i < KINDS; i++) {
        vt_order_want_stats(&orders[i]);
        for (int k = 0; k < 4; k++) {
            random[i][k] = orders[i].n > 0 ? draw(rng, 32) % orders[i].n : 0;
            vt_order_want(&orders[i], random[i][k]);
        }
        vt_order_want(&orders[i], orders[i].n); /* there is no such rank */
    }
    assert_int_equal(vt_orders_resolve(&times, orders, KINDS, NULL), VT_OK);
    for (int i = 0; i < KINDS; i++) {
        size_t made = naive(kinds[i], n);
        assert_int_equal(orders[i].n, made);
        struct vt_latency_stats stats = vt_order_stats(&orders[i]);
        if (made == 0) {
            assert_int_equal(stats.max_ns, 0);
            assert_int_equal(stats.p99_ns, 0);
            continue;
        }
        long double sum = 0;
        uint64_t above = 0;
        for (size_t k = 0; k < made; k++) {
            sum += (long double)sorted[k];
            above += sorted[k] > orders[i].limit_ns;
        }
        assert_int_equal(orders[i].above, above);
        assert_int_equal(stats.mean_ns, (int64_t)(sum / (long double)made));
        assert_int_equal(stats.min_ns, sorted[0]);
        assert_int_equal(stats.max_ns, sorted[made - 1]);
        assert_int_equal(stats.p50_ns, sorted[(size_t)((double)made * 0.5)]);
        assert_int_equal(stats.p90_ns, sorted[(size_t)((double)made * 0.9)]);
        assert_int_equal(stats.p95_ns, sorted[(size_t)((double)made * 0.95)]);
        assert_int_equal(stats.p97_ns, sorted[(size_t)((double)made * 0.97)]);
        assert_int_equal(stats.p99_ns, sorted[(size_t)((double)made * 0.99)]);
        assert_int_equal(stats.p99_9_ns, sorted[(size_t)((double)made * 0.999)]);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(vt_order_at(&orders[i], random[i][k]), sorted[random[i][k]]);
        }
    }
}

static void order_statistics_equal_those_of_sorted_arrays(void **state)
{
    (void)state;
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 11);
    static const size_t sizes[] = {0, 1, 2, 3, 7, 1023, 1024, 1025, 2048, 30000};
    static const unsigned bits[] = {1, 3, 14, 15, 20, 28, 29, 43};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t b = 0; b < sizeof(bits) / sizeof(bits[0]); b++) {
            make_records(&rng, sizes[s], bits[b], b % 2 == 1);
            check_orders(&rng, sizes[s]);
        }
    }
}

/* As Offline completes them: in order, with one that is early, at any place, or lost. */
static void rising_times_are_their_own_order(void **state)
{
    (void)state;
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 12);
    const size_t n = 3000;
    for (size_t fault = 0; fault <= n; fault += fault % 1024 == 1023 ? 1 : 31) {
        make_records(&rng, n, 20, false);
        int64_t now = 0;
        for (size_t i = 0; i < n; i++) {
            records[i].scheduled_ns = 5;
            records[i].issued_ns = now;
            records[i].done_ns = now += (int64_t)draw(&rng, 2);
        }
        if (fault > 0 && fault < n) {
            records[fault].done_ns = fault % 2 == 0 ? VT_RECORD_LOST : records[fault].done_ns - 9;
            records[fault].issued_ns -= fault % 3;
        }
        check_orders(&rng, n);
    }
}

static void order_of(const int64_t *latencies, size_t n, struct vt_order *order)
{
    for (size_t i = 0; i < n; i++) {
        records[i] = (struct vt_sample_record){.done_ns = latencies[i]};
    }
    struct vt_times times = {records, NULL, n};
    *order = (struct vt_order){.kind = VT_TIME_LATENCY, .limit_ns = 0};
    vt_orders_scan(&times, order, 1);
    vt_order_want_stats(order);
    assert_int_equal(vt_orders_resolve(&times, order, 1, NULL), VT_OK);
}

static void the_whole_range_of_64_bits_is_searched(void **state)
{
    (void)state;
    static const int64_t a[] = {INT64_MAX, INT64_MIN + 1, 0, -1, 1, INT64_MAX - 1, INT64_MIN + 2};
    struct vt_order order;
    order_of(a, 7, &order);
    assert_int_equal(vt_order_stats(&order).p50_ns, 0);
    assert_int_equal(vt_order_stats(&order).p99_ns, INT64_MAX);
    assert_int_equal(order.above, 3);
}

static void the_mean_does_not_overflow(void **state)
{
    (void)state;
    const int64_t a[4] = {INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2};
    struct vt_order order;
    order_of(a, 4, &order);
    struct vt_latency_stats stats = vt_order_stats(&order);
    assert_int_equal(stats.mean_ns, INT64_MAX / 2);
    assert_int_equal(stats.p50_ns, INT64_MAX / 2); /* all alike */
}

static void no_memory_for_counting_is_an_error(void **state)
{
    (void)state;
    struct vt_mt19937 rng;
    vt_mt19937_seed(&rng, 5);
    make_records(&rng, 5000, 35, false);
    struct vt_times times = {records, tokens, 5000};
    int allowed = 0;
    for (enum vt_status st = VT_ERR_MEMORY; st != VT_OK; allowed++) {
        struct vt_order orders[2] = {{.kind = VT_TIME_LATENCY}, {.kind = VT_TIME_LATENESS}};
        vt_orders_scan(&times, orders, 2);
        vt_order_want_stats(&orders[0]);
        vt_order_want_stats(&orders[1]);
        struct vt_torture torture;
        vt_torture_begin(&torture, allowed);
        st = vt_orders_resolve(&times, orders, 2, NULL);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(st == VT_OK || st == VT_ERR_MEMORY);
    }
    assert_true(allowed > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_counts_come_out),
        cmocka_unit_test(odds_equal_the_binomial_sum),
        cmocka_unit_test(thresholds_equal_those_of_plain_sums),
        cmocka_unit_test(thresholds_of_one_half_are_exact),
        cmocka_unit_test(the_largest_number_over_latency_fits_and_one_more_does_not),
        cmocka_unit_test(early_stopping_ends_where_doubles_do),
        cmocka_unit_test(percentiles_do_not_interpolate),
        cmocka_unit_test(order_statistics_equal_those_of_sorted_arrays),
        cmocka_unit_test(rising_times_are_their_own_order),
        cmocka_unit_test(the_whole_range_of_64_bits_is_searched),
        cmocka_unit_test(the_mean_does_not_overflow),
        cmocka_unit_test(no_memory_for_counting_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
