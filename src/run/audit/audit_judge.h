/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The comparisons of MLPerf's compliance tests, on reports: no run, no file.
 *
 *   TEST01  score within 10 % of the reference, either way; every logged response equal to that of
 *           the accuracy run, or the quality of both within the benchmark's delta
 *   TEST04  score at most 10 % better than the reference
 *   TEST06  the first token begins the response, one end-of-sequence token at most ends it, and
 *           the count of tokens is that of the response
 *
 * Fast streams have 20 %: by TEST01's script where the reference is up to 200 us (SingleStream) or
 * 1.6 ms (MultiStream). TEST04's script compares those limits with 1e9 / latency, so that there
 * 20 % hold from 5 us and 625 ns on; this is kept.
 */
#ifndef VT_RUN_AUDIT_JUDGE_H
#define VT_RUN_AUDIT_JUDGE_H

#include "core/report.h"
#include "result/audit.h"

/* `reference_valid` is the verdict on the reference run, which may be stricter than its report. */
void vt_audit_judge_performance(enum vt_audit_test test, const struct vt_load_report *reference,
                                bool reference_valid, const struct vt_load_report *report,
                                struct vt_audit_performance *ret);

/* By whole responses. VT_ERR_MEMORY. */
enum vt_status vt_audit_judge_accuracy(const struct vt_load_report *reference,
                                       const struct vt_load_report *report, struct vt_error *err,
                                       struct vt_audit_accuracy *ret) VT_NODISCARD;
/* Where that failed: by quality. `delta` is relative: 0.01 for a target of 99 %. */
void vt_audit_judge_quality(struct vt_audit_accuracy *accuracy, const char *metric,
                            const char *unit, double reference, double quality, double delta);

/*
 * Responses are token ids of four bytes. `eos` is the end-of-sequence token.
 */
void vt_audit_judge_tokens(const struct vt_load_report *report, int32_t eos,
                           struct vt_audit_tokens *ret);

#endif
