/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ctrl-C while something is measured: the first one ends it and keeps what there is, the second
 * one kills.
 */
#ifndef VT_CLI_INTERRUPT_H
#define VT_CLI_INTERRUPT_H

#include <signal.h>

#include "load/load.h"

struct vt_interrupt {
    struct sigaction before[2]; /* of SIGINT and SIGTERM */
};

/* From now on a signal sets the control's `stop`. Zeroes the control and returns it: there is one
 * in a program, since a signal handler takes no argument. */
struct vt_load_control *vt_interrupt_catch(struct vt_interrupt *interrupt);
void vt_interrupt_restore(const struct vt_interrupt *interrupt);

#endif
