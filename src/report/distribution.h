/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plots need of the records of a run, in memory that does not grow with their number: the
 * latencies counted in classes that are at most 1/64 wide, and completions over time.
 */
#ifndef VT_REPORT_DISTRIBUTION_H
#define VT_REPORT_DISTRIBUTION_H

#include "result/records.h"

#define VT_LATENCY_CLASSES 3776
#define VT_LATENCY_BARS    60
#define VT_RATE_BINS_MAX   120

struct vt_distribution {
    uint64_t n, lost;
    int64_t min_ns, max_ns;   /* of latencies, which are completion − schedule; at least 1 */
    int64_t begin_ns, end_ns; /* the first schedule, at most 0, and the last completion */
    uint64_t classes[VT_LATENCY_CLASSES];
    /* Bars of one width on a logarithmic axis from min to max. */
    uint32_t n_bars;
    double bar_edges[VT_LATENCY_BARS + 1]; /* ns */
    uint64_t bars[VT_LATENCY_BARS];
    /* Samples scheduled and completed in bins of bin_ns from begin_ns on. */
    uint32_t n_bins;
    int64_t bin_ns;
    uint64_t scheduled[VT_RATE_BINS_MAX], completed[VT_RATE_BINS_MAX];
};

/* Reads the records twice; n is 0 where none was answered. */
void vt_distribution_make(const struct vt_records *records, struct vt_distribution *ret);
/* The latency number ⌊n·p⌋ of all in order, within 1/64 of its value; 0 where n is 0. */
double vt_distribution_percentile(const struct vt_distribution *distribution, double p);

#endif
