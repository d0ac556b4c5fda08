/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `vatio plan`: plans a model for the native engine, finds its fastest kernels and writes a plan
 * file (plan/plan_file.h).
 *
 * Threading: one thread at a time; it blocks, with measuring for half a minute and more.
 */
#ifndef VT_RUN_PLAN_JOB_H
#define VT_RUN_PLAN_JOB_H

#include "base/options.h"

struct vt_plan_job {
    const char *output;
    struct vt_text_list shapes;
    int64_t batch, threads;
    int tune;      /* off, cached, measure */
    int precision; /* enum vt_precision */
};

/* Static storage. */
VT_API const struct vt_option_table *vt_plan_job_options(void);

/* What was made. */
struct vt_plan_job_report {
    uint32_t weights; /* packed forms in the file */
    uint64_t weight_bytes, file_bytes;
    uint32_t kernels;  /* that were chosen by measuring, now or before */
    uint32_t measured; /* of those, now */
    int64_t measuring_ns;
    uint32_t threads;
    int64_t batch;
};

/* Errors are those of names, --shape, the importer, the planner and of writing. */
VT_API enum vt_status vt_plan_job_run(const struct vt_plan_job *job, const char *model,
                                      struct vt_error *err,
                                      struct vt_plan_job_report *ret_report) VT_NODISCARD;

#endif
