/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program run to its end: in a process group of its own, so that a Ctrl-C at the terminal reaches
 * it through the caller alone; without standard input; its output in a file. It does not outlive
 * the thread that started it.
 */
#ifndef VT_RUN_SWEEP_CHILD_H
#define VT_RUN_SWEEP_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vatio/status.h"

struct vt_sweep_child {
    const char *program;     /* path */
    const char *const *argv; /* ended by NULL */
    const char *log;         /* takes standard output and standard error */
    int64_t limit_ns;        /* killed after so long; 0: any time */
};

struct vt_sweep_ending {
    int code; /* exit code; -1: ended by `signal` */
    int signal;
    bool stopped;   /* *stop came */
    bool timed_out; /* the limit came */
};

/* Blocks. When *stop comes the child gets SIGINT, and SIGKILL if it goes on for another 20 s.
 * VT_ERR_SYSTEM when it cannot be started, VT_ERR_WRITE when there is no log. */
enum vt_status vt_sweep_child_run(const struct vt_sweep_child *child, const atomic_bool *stop,
                                  struct vt_error *err,
                                  struct vt_sweep_ending *ret_ending) VT_NODISCARD;

#endif
