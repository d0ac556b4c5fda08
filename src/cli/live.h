/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live line: on a terminal, one line on standard error that shows what runs, how far it is, the
 * current rate, p99 so far, watts and the time left. A thread of its own reads load's counters and
 * some of its records some times a second.
 */
#ifndef VT_CLI_LIVE_H
#define VT_CLI_LIVE_H

#include <pthread.h>

#include "run/run.h"

struct vt_live {
    struct vt_load_control *control; /* borrowed */
    bool shown;                      /* standard error is a terminal */
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool quit;
    char phase[64];
    int64_t phase_start_ns; /* 0: between phases */
    int64_t expected_ns;
    uint64_t expected_samples;
    struct vt_run_energy *energy; /* borrowed; NULL: no meter is read */
};

/* Shows nothing (and starts no thread) unless standard error is a terminal. */
void vt_live_start(struct vt_live *live, struct vt_load_control *control);
void vt_live_stop(struct vt_live *live); /* wipes the line */
void vt_live_phase_begin(struct vt_live *live, const struct vt_run_phase *phase);
void vt_live_phase_end(struct vt_live *live);
void vt_live_meters(struct vt_live *live, struct vt_run_energy *energy); /* NULL: no more */

#endif
