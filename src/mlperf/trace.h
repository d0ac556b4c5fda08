/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlperf_log_trace.json: every sample as Chrome trace events, for chrome://tracing and what reads
 * its format. Written record by record; nothing is kept. About 400 bytes a sample.
 *
 *   track "issue"   a mark for every query, with how late it was issued
 *   async "Sample"  a span from the scheduled time to the completion, with an instant for the first
 *                   token; "lost" where there is no completion
 *   counter         Server: the parts of the latency, as LoadGen draws them
 */
#ifndef VT_MLPERF_TRACE_H
#define VT_MLPERF_TRACE_H

#include <stdio.h>

#include "core/report.h"

struct vt_trace {
    FILE *out; /* borrowed; a failed write stays in its error flag */
    long pid;
};

void vt_trace_begin(struct vt_trace *trace, FILE *out);
/* The samples of a phase; zero_ns: the start of the run on the log's time. */
void vt_trace_add(struct vt_trace *trace, const struct vt_load_report *report, int64_t zero_ns);
void vt_trace_end(struct vt_trace *trace, int64_t start_unix_ms);

#endif
