/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlperf_log_detail.txt: one JSON record a line behind the marker ":::MLLOG ", with the keys of
 * LoadGen 6.0.17 in its order. What the tools that read it look for is there; what says who made it
 * says vatio.
 */
#ifndef VT_MLPERF_DETAIL_H
#define VT_MLPERF_DETAIL_H

#include <stdio.h>

#include "mlperf/fields.h"
#include "mlperf/phase.h"
#include "mlperf/view.h"

/* What is measured with what, for the head of the log. */
struct vt_mlperf_test {
    struct vt_mlperf_settings settings;
    const char *sut_name; /* borrowed; NULL: "" */
    const char *qsl_name;
    uint64_t total_count, performance_count; /* as the library reported them */
    int64_t start_unix_ms;
    int64_t sut_name_ns; /* what asking the sut for its name took */
};

struct vt_detail {
    FILE *outs[2];   /* borrowed; every record goes to all; NULL: none */
    int64_t time_ns; /* of the records that follow, since the start of the log */
    long pid, tid;
    uint64_t errors, warnings; /* records so far */
};

enum vt_detail_kind { VT_DETAIL_MESSAGE, VT_DETAIL_WARNING, VT_DETAIL_ERROR };

/* A failed write stays in the stream's error flag. `copy` may be NULL, as may be `out`. */
void vt_detail_init(struct vt_detail *detail, FILE *out, FILE *copy);
void vt_detail_test(struct vt_detail *detail, const struct vt_mlperf_test *test);
/* generic_message, warning_generic_message, error_runtime. */
void vt_detail_say(struct vt_detail *detail, enum vt_detail_kind kind, const char *fmt, ...)
    VT_PRINTF(3, 4);
/* The sets of samples alone. */
void vt_detail_sets(struct vt_detail *detail, struct vt_mlperf_phase *phase);
/* What was generated and what came up, set by set. Without `sets` the set itself is not listed.
 * zero_ns: the start of the run on the log's time. */
void vt_detail_phase(struct vt_detail *detail, struct vt_mlperf_phase *phase, int64_t zero_ns,
                     bool sets);
/* Verdict and figures. */
void vt_detail_result(struct vt_detail *detail, const struct vt_mlperf_view *view);

#endif
