/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_log_summary.txt: the lines of LoadGen 6.0.17, which other tools match by pattern. */
#ifndef VT_MLPERF_SUMMARY_H
#define VT_MLPERF_SUMMARY_H

#include <stdio.h>

#include "mlperf/fields.h"
#include "mlperf/view.h"

/* A failed write stays in the stream's error flag. */
void vt_summary_result(const struct vt_mlperf_view *view, FILE *out);
/* The last lines, once a log. */
void vt_summary_end(uint64_t warnings, uint64_t errors, FILE *out);

#endif
