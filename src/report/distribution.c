/* SPDX-License-Identifier: Apache-2.0 */
#include "report/distribution.h"

#include <math.h>
#include <stdbool.h>

/* Values below 64 have a class each; then every power of two has 64. */
#define SUB_BITS 6
#define SUB      (1 << SUB_BITS)

static uint32_t class_of(int64_t ns)
{
    const uint64_t value = (uint64_t)ns;

    if (value < SUB) {
        return (uint32_t)value;
    }
    const uint32_t power = 63 - (uint32_t)__builtin_clzll(value);
    return (power - SUB_BITS + 1) * SUB + (uint32_t)(value >> (power - SUB_BITS) & (SUB - 1));
}

static double class_middle(uint32_t index)
{
    if (index < SUB) {
        return index;
    }
    const uint32_t power = index / SUB + SUB_BITS - 1;
    const double width = ldexp(1, (int)power - SUB_BITS);
    return ldexp(1, (int)power) + (index % SUB + 0.5) * width;
}

/* A sample may seem to be done before it was due by the error of the clock. */
static int64_t latency_of(const struct vt_sample_record *record)
{
    const int64_t latency = record->done_ns - record->scheduled_ns;
    return latency > 1 ? latency : 1;
}

/* 1, 2 or 5 times a power of ten, so that the span has at most VT_RATE_BINS_MAX bins. */
static int64_t nice_bin(uint64_t span_ns)
{
    static const int64_t steps[] = {1, 2, 5};
    const uint64_t wanted = span_ns / VT_RATE_BINS_MAX + 1;

    for (int64_t power = 1; power <= INT64_MAX / 100; power *= 10) {
        for (int i = 0; i < 3; i++) {
            if ((uint64_t)(steps[i] * power) >= wanted) {
                return steps[i] * power;
            }
        }
    }
    return INT64_MAX / 8;
}

static void first_look(const struct vt_records *records, struct vt_distribution *d)
{
    for (uint64_t i = 0; i < records->n; i++) {
        const struct vt_sample_record record = vt_records_get(records, i);
        if (record.scheduled_ns < d->begin_ns) {
            d->begin_ns = record.scheduled_ns;
        }
        if (record.done_ns == VT_RECORD_LOST) {
            d->lost++;
            continue;
        }
        const int64_t latency = latency_of(&record);
        d->min_ns = d->n == 0 || latency < d->min_ns ? latency : d->min_ns;
        d->max_ns = latency > d->max_ns ? latency : d->max_ns;
        d->end_ns = record.done_ns > d->end_ns ? record.done_ns : d->end_ns;
        d->classes[class_of(latency)]++;
        d->n++;
    }
}

static void make_bars(struct vt_distribution *d)
{
    const double low = log10((double)d->min_ns), high = log10((double)d->max_ns + 1);

    /* At most 50 bars a decade: narrower ones would show the clock's steps. */
    const double wanted = ceil((high - low) * 50);
    d->n_bars = wanted < 1 ? 1 : wanted > VT_LATENCY_BARS ? VT_LATENCY_BARS : (uint32_t)wanted;
    for (uint32_t i = 0; i <= d->n_bars; i++) {
        d->bar_edges[i] = pow(10, low + (high - low) * i / d->n_bars);
    }
}

static uint32_t bin_of(const struct vt_distribution *d, int64_t ns)
{
    const uint64_t bin = ((uint64_t)ns - (uint64_t)d->begin_ns) / (uint64_t)d->bin_ns;
    return bin < d->n_bins ? (uint32_t)bin : d->n_bins - 1;
}

static void second_look(const struct vt_records *records, struct vt_distribution *d)
{
    const double low = log10(d->bar_edges[0]);
    const double scale = d->n_bars / (log10(d->bar_edges[d->n_bars]) - low);

    for (uint64_t i = 0; i < records->n; i++) {
        const struct vt_sample_record record = vt_records_get(records, i);
        if (record.scheduled_ns <= d->end_ns) {
            d->scheduled[bin_of(d, record.scheduled_ns)]++;
        }
        if (record.done_ns == VT_RECORD_LOST) {
            continue;
        }
        d->completed[record.done_ns > d->begin_ns ? bin_of(d, record.done_ns) : 0]++;
        const double at = (log10((double)latency_of(&record)) - low) * scale;
        const uint32_t bar = at > 0 ? (uint32_t)at : 0;
        d->bars[bar < d->n_bars ? bar : d->n_bars - 1]++;
    }
}

void vt_distribution_make(const struct vt_records *records, struct vt_distribution *ret)
{
    *ret = (struct vt_distribution){0};
    first_look(records, ret);
    if (ret->n == 0) {
        return;
    }
    make_bars(ret);
    const uint64_t span = (uint64_t)ret->end_ns - (uint64_t)ret->begin_ns;
    ret->bin_ns = nice_bin(span);
    ret->n_bins = (uint32_t)(span / (uint64_t)ret->bin_ns) + 1;
    second_look(records, ret);
}

double vt_distribution_percentile(const struct vt_distribution *distribution, double p)
{
    const double wanted = floor((double)distribution->n * p);
    uint64_t before = 0;

    for (uint32_t i = 0; i < VT_LATENCY_CLASSES && distribution->n > 0; i++) {
        before += distribution->classes[i];
        if ((double)before > wanted) {
            const double middle = class_middle(i);
            return fmin(fmax(middle, (double)distribution->min_ns), (double)distribution->max_ns);
        }
    }
    return (double)distribution->max_ns;
}
