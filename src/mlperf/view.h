/* SPDX-License-Identifier: Apache-2.0 */
/* What the MLPerf log files say of a run, derived once for all of them. */
#ifndef VT_MLPERF_VIEW_H
#define VT_MLPERF_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/report.h"
#include "load/selection.h"
#include "load/settings.h"

#define VT_MLPERF_ERRORS_MAX 6

struct vt_mlperf_view {
    const struct vt_load_report *report;
    struct vt_load_effective effective;
    struct vt_sample_sets sets;
    uint64_t total_count, performance_count; /* of the library */
    bool valid;
    int64_t target_latency_ns; /* SingleStream, MultiStream: at the target percentile */
    double scheduled_rate;     /* Server, samples/s */
    double completed_rate;     /* Server; Offline, of all samples */
    double rate_with_overhead; /* SingleStream, queries/s */
    double rate_without_overhead;
    int64_t early_single_ns; /* early stopping's estimates: 0 when there is none */
    int64_t early_multi_ns;
    char early_stopping[512];     /* lines without the last newline; empty in Offline */
    char recommendations[3][160]; /* those that apply; a line may hold a break */
    uint32_t n_recommendations;
    char errors[VT_MLPERF_ERRORS_MAX][384];
    uint32_t n_errors;
};

/* The report is borrowed. VT_ERR_USAGE for settings that no run can have, VT_ERR_MEMORY. Release
 * also after a failure. */
enum vt_status vt_mlperf_view_init(struct vt_mlperf_view *view, const struct vt_load_report *report,
                                   struct vt_error *err) VT_NODISCARD;
void vt_mlperf_view_release(struct vt_mlperf_view *view);

/* The files. A failed write stays in the stream's error flag. */
void vt_mlperf_summary_print(const struct vt_mlperf_view *view, FILE *out);
void vt_mlperf_detail_print(const struct vt_mlperf_view *view, FILE *out);
void vt_mlperf_accuracy_print(const struct vt_load_report *report, FILE *out);

#endif
