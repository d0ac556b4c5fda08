/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `vatio run` that other verbs share. */
#ifndef VT_RUN_JOB_PART_H
#define VT_RUN_JOB_PART_H

#include "run/job.h"

/*
 * Appends to `options` (n of them so far, room for `capacity`) what a run has for model and data,
 * without those named in `left_out` (NULL-terminated). They write into a struct that begins with a
 * struct vt_job. Returns the new number.
 */
size_t vt_job_part_options(struct vt_option *options, size_t n, size_t capacity,
                           const char *const *left_out);
/* The same of everything that a run has. */
size_t vt_job_all_options(struct vt_option *options, size_t n, size_t capacity,
                          const char *const *left_out);

#endif
