/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user can ask of `vatio compare`: several engines, each with options of its own, and the
 * options of `vatio run` that concern model and data.
 */
#ifndef VT_RUN_COMPARE_JOB_H
#define VT_RUN_COMPARE_JOB_H

#include "result/comparison.h"
#include "run/job.h"

struct vt_compare_job {
    struct vt_job job; /* first: the options of `vatio run` keep their places */
    struct vt_text_list engines;
    int64_t pairs;
    int64_t turn_ns;
    const char *scenario;
};

/* Offline and SingleStream. */
#define VT_COMPARE_SCENARIOS 2

/* Built on first use from vt_job_options(). Static storage; thread-safe. */
VT_API const struct vt_option_table *vt_compare_options(void);

/* VT_ERR_USAGE for a scenario that is not compared. */
enum vt_status vt_compare_scenarios(const struct vt_compare_job *job, struct vt_error *err,
                                    bool ret_wanted[VT_COMPARE_SCENARIOS]) VT_NODISCARD;

/* One engine to compare: a job of its own. */
struct vt_compare_entry {
    const char *label;     /* as the user wrote it; borrowed */
    char *text;            /* owned: what the job's strings are cut from */
    const char *items[64]; /* of job.engine_options */
    struct vt_job job;
};

/*
 * "NAME" or "NAME:KEY=VALUE,KEY=VALUE": an engine as `vatio list` names it or the path of a
 * module, and its options; `threads`, `batch` and `lanes` are those of `vatio run`, for this engine
 * alone. VT_ERR_USAGE. On success the caller releases the entry.
 */
enum vt_status vt_compare_entry_init(struct vt_compare_entry *entry, const struct vt_job *job,
                                     const char *text, struct vt_error *err) VT_NODISCARD;
/* The text without what may be a secret, cut at size - 1. VT_ERR_MEMORY. */
enum vt_status vt_compare_label(const char *text, struct vt_error *err, char *ret_label,
                                size_t size) VT_NODISCARD;
void vt_compare_entry_release(struct vt_compare_entry *entry); /* accepts a zeroed one */

#endif
