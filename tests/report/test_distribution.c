/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies and rates out of records, against sorting and counting. */
#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "fixture.h"
#include "report/distribution.h"

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct vt_distribution *made(const char *name)
{
    static struct vt_distribution distribution;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_records records;

    if (vt_records_open(fixture_path(name), &err, &records) != VT_OK) {
        fail_msg("%s", err.text);
    }
    vt_distribution_make(&records, &distribution);
    vt_records_release(&records);
    return &distribution;
}

static void percentiles_are_those_of_a_sorted_list(void **state)
{
    static const double wanted[] = {0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.97, 0.99, 0.999, 0.9999};
    static int64_t sorted[FIXTURE_SAMPLES];
    const struct vt_distribution *d = made("run/server/performance/run_1/records.vtr");

    (void)state;
    for (uint32_t i = 0; i < FIXTURE_SAMPLES; i++) {
        sorted[i] = fixture_latency_ns(i);
    }
    qsort(sorted, FIXTURE_SAMPLES, sizeof sorted[0], compare);
    assert_int_equal(d->n, FIXTURE_SAMPLES);
    assert_int_equal(d->min_ns, sorted[0]);
    assert_int_equal(d->max_ns, sorted[FIXTURE_SAMPLES - 1]);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const double exact = (double)sorted[(size_t)(FIXTURE_SAMPLES * wanted[i])];
        assert_true(fabs(vt_distribution_percentile(d, wanted[i]) - exact) <= exact / 64);
    }
    assert_true(vt_distribution_percentile(d, 1) == (double)d->max_ns);
}

static void bars_hold_what_lies_between_their_edges(void **state)
{
    const struct vt_distribution *d = made("run/server/performance/run_1/records.vtr");

    (void)state;
    assert_true(d->n_bars > 20);
    for (uint32_t bar = 0; bar < d->n_bars; bar++) {
        uint64_t low = 0, high = 0; /* within rounding of the edges */
        for (uint32_t i = 0; i < FIXTURE_SAMPLES; i++) {
            const double ns = (double)fixture_latency_ns(i);
            low += ns > d->bar_edges[bar] * (1 + 1e-9) && ns < d->bar_edges[bar + 1] * (1 - 1e-9);
            high += ns > d->bar_edges[bar] * (1 - 1e-9) && ns < d->bar_edges[bar + 1] * (1 + 1e-9);
        }
        assert_true(d->bars[bar] >= low && d->bars[bar] <= high);
    }
}

static void rates_count_what_was_done(void **state)
{
    const struct vt_distribution *d = made("run/offline/performance/run_1/records.vtr");
    uint64_t done = 0, due = 0;

    (void)state;
    assert_int_equal(d->begin_ns, 0);
    assert_int_equal(d->end_ns, INT64_C(100000) * FIXTURE_SAMPLES);
    for (uint32_t i = 0; i < d->n_bins; i++) {
        done += d->completed[i];
        due += d->scheduled[i];
        if (i > 0 && i + 1 < d->n_bins) {
            assert_int_equal(d->completed[i], d->bin_ns / 100000);
        }
    }
    assert_int_equal(done, FIXTURE_SAMPLES);
    assert_int_equal(due, FIXTURE_SAMPLES);
    assert_int_equal(d->scheduled[0], FIXTURE_SAMPLES);
}

/* Nothing that a records file may hold breaks it: lost samples, times at the ends of the range. */
static void extremes_fit(void **state)
{
    static struct vt_distribution d;
    const struct vt_sample_record some[] = {
        {INT64_MIN + 2, 0, 0, 0, 0},
        {-5, INT64_MAX, INT64_MAX - 5, 0, 1},
        {7, 7, 7, 0, 2},
        {9, 9, 3, 0, 3},
        {0, 0, VT_RECORD_LOST, 0, 4},
        {INT64_MAX, INT64_MAX, INT64_MAX, 0, 5},
    };
    struct vt_load_report report = {.records = (struct vt_sample_record *)(uintptr_t)some,
                                    .n_records = sizeof some / sizeof some[0]};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_records records;
    uint64_t sum = 0;

    (void)state;
    assert_int_equal(vt_records_write(&report, fixture_path("extreme.vtr"), &err), VT_OK);
    assert_int_equal(vt_records_open(fixture_path("extreme.vtr"), &err, &records), VT_OK);
    vt_distribution_make(&records, &d);
    vt_records_release(&records);
    assert_int_equal(d.n, 5);
    assert_int_equal(d.lost, 1);
    assert_int_equal(d.min_ns, 1);
    assert_int_equal(d.max_ns, INT64_MAX);
    for (uint32_t i = 0; i < d.n_bars; i++) {
        sum += d.bars[i];
    }
    assert_int_equal(sum, 5);
    assert_true(vt_distribution_percentile(&d, 0) == 1);
    assert_true(vt_distribution_percentile(&d, 0.9) >= 9e18);

    report.n_records = 0;
    assert_int_equal(vt_records_write(&report, fixture_path("none.vtr"), &err), VT_OK);
    assert_int_equal(vt_records_open(fixture_path("none.vtr"), &err, &records), VT_OK);
    vt_distribution_make(&records, &d);
    vt_records_release(&records);
    assert_int_equal(d.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_a_sorted_list),
        cmocka_unit_test(bars_hold_what_lies_between_their_edges),
        cmocka_unit_test(rates_count_what_was_done),
        cmocka_unit_test(extremes_fit),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
