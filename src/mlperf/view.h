/* SPDX-License-Identifier: Apache-2.0 */
/* What summary and detail log say of a performance run beyond the report, derived once for both. */
#ifndef VT_MLPERF_VIEW_H
#define VT_MLPERF_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/report.h"

#define VT_EARLY_TEXT_MAX 512

struct vt_mlperf_view {
    const struct vt_load_report *report; /* borrowed */
    enum vt_mode mode;                   /* of the test of which the run is a part */
    bool valid;
    /* Samples (MultiStream: samples too) a second; those of the other scenarios are 0. */
    double scheduled_rate;     /* Server */
    double completed_rate;     /* Server; Offline, of all samples */
    double rate_with_overhead; /* SingleStream */
    double rate_without_overhead;
    /* Tokens a second, 0 where none are counted. */
    double token_rate; /* to the last completion; Offline: over the longest latency */
    double token_rate_with_overhead;
    double token_rate_without_overhead;
    double inferred_token_rate; /* Server, Offline; by the scaling factor */
    /* Early stopping's estimates of SingleStream and MultiStream; 0: none. */
    int64_t early_single_ns, early_multi_ns;
    /* Lines without the last newline; empty where it was not looked at. */
    char early_stopping[VT_EARLY_TEXT_MAX];
    char early_first_token[VT_EARLY_TEXT_MAX];
    char early_per_output[VT_EARLY_TEXT_MAX];
    /* What would help; NULL where nothing has to. */
    const char *advice_performance;
    const char *advice_duration;
    const char *advice_queries;
};

/* What would help a run of Server that missed its latency limits; may be of two lines. */
const char *vt_mlperf_performance_advice(const struct vt_load_report *report);

/* Holds nothing that has to be released. */
void vt_mlperf_view_init(struct vt_mlperf_view *view, const struct vt_load_report *report,
                         enum vt_mode mode);

#endif
