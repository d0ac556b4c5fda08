/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `vatio report`: a page, a Markdown text or a CSV table of what runs, comparisons, profiles and
 * sweeps left behind.
 *
 * Threading: one thread; it blocks while it reads.
 */
#ifndef VT_REPORT_REPORT_H
#define VT_REPORT_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options.h"

struct vt_report_job {
    const char *output; /* NULL: report.<format>; "-": standard output */
    int format;         /* by the output's suffix, html, md, csv */
};

/* Static storage. */
VT_API const struct vt_option_table *vt_report_options(void);

/* What was written. */
struct vt_report_made {
    const char *path; /* of the job, or static; NULL: to `out` */
    size_t sources;
    uint32_t plots; /* 0 in CSV */
    uint64_t bytes;
};

/*
 * Reads the folders and writes the report, whole or not at all; to `out` where the job says "-".
 * VT_ERR_USAGE where the format is not known; otherwise the errors of reading, which name the file,
 * and VT_ERR_WRITE.
 */
VT_API enum vt_status vt_report_make(const struct vt_report_job *job, const char *const *folders,
                                     size_t n, FILE *out, struct vt_error *err,
                                     struct vt_report_made *ret_made) VT_NODISCARD;

#endif
