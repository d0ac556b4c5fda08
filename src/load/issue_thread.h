/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel is asked to do for a thread that issues: wake it on time, put it before others,
 * keep it on a processor. The thread gets back what it had when the run is over, since the first
 * one is the caller's own.
 */
#ifndef VT_LOAD_ISSUE_THREAD_H
#define VT_LOAD_ISSUE_THREAD_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/report.h"

/* What a thread had before. */
struct vt_issue_thread {
    int64_t slack_ns; /* -1: as it was */
    bool scheduled;   /* policy and priority were changed */
    int policy;
    struct sched_param priority;
    bool pinned;
    cpu_set_t cpus;
};

/*
 * For the calling thread as issuing thread `index`. `saved` is filled in also after a failure, with
 * what had been changed by then. VT_ERR_UNAVAILABLE where the system does not permit what the
 * settings ask for: says what and how to get the right. That the slack cannot be set is no failure.
 */
enum vt_status vt_issue_thread_enter(const struct vt_load_settings *settings, uint32_t index,
                                     struct vt_error *err,
                                     struct vt_issue_thread *saved) VT_NODISCARD;
void vt_issue_thread_leave(const struct vt_issue_thread *saved);

#endif
