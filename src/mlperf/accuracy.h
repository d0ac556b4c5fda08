/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_log_accuracy.json: the responses that were kept, one a line, in order of completion. */
#ifndef VT_MLPERF_ACCURACY_H
#define VT_MLPERF_ACCURACY_H

#include <stdbool.h>
#include <stdio.h>

#include "core/report.h"

struct vt_accuracy_log {
    FILE *out;  /* borrowed; a failed write stays in its error flag */
    bool begun; /* there is an entry */
};

void vt_accuracy_begin(struct vt_accuracy_log *log, FILE *out);
/* The responses of a phase. */
void vt_accuracy_add(struct vt_accuracy_log *log, const struct vt_load_report *report);
void vt_accuracy_end(struct vt_accuracy_log *log);

#endif
