/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user can ask of `vatio sweep`: the axes, how they are gone through, and every option of
 * `vatio run` as a setting that all points share.
 */
#ifndef VT_RUN_SWEEP_JOB_H
#define VT_RUN_SWEEP_JOB_H

#include "result/sweep.h"
#include "run/job.h"

struct vt_sweep_job {
    struct vt_job job; /* stands first: run's options write into it */
    /* the axes; NULL: none */
    const char *scenarios, *engines, *batches, *lanes, *threads, *caps;
    int order; /* enum vt_sweep_order */
    int64_t order_seed;
    int64_t repeats;
    bool until_knee;
    double knee_percent;
    int64_t warm_up_ns;
    int64_t pause_ns;
    const char *cool_to; /* "55C"; NULL: do not wait */
    int64_t cool_limit_ns;
    int64_t point_limit_ns; /* 0: none */
    const char *resume;     /* folder; NULL */
    bool retry_failed;
};

/* Static storage. */
VT_API const struct vt_option_table *vt_sweep_options(void);

/* The axes of the job into `sweep`. Errors name the option. */
enum vt_status vt_sweep_make_axes(const struct vt_sweep_job *job, struct vt_error *err,
                                  struct vt_sweep *sweep) VT_NODISCARD;
/* "55C", "55" to 55. VT_ERR_USAGE. */
enum vt_status vt_sweep_parse_celsius(const char *text, struct vt_error *err,
                                      double *ret_celsius) VT_NODISCARD;

/* Whether an option changes what a point measures, or only how a sweep goes about it. */
bool vt_sweep_option_counts(const char *name);

#endif
