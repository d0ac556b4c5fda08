/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting between points: a rest, and until the machine is cool. */
#ifndef VT_RUN_SWEEP_COOL_H
#define VT_RUN_SWEEP_COOL_H

#include "power/thermal.h"
#include "run/sweep/sweep.h"

struct vt_sweep_cool {
    struct vt_thermal *thermal; /* NULL: no sensor can be read, nothing is waited for */
    int64_t pause_ns;
    bool wanted;
    double celsius; /* wait until at most so warm */
    int64_t limit_ns;
    char text[256]; /* how points wait, or why they do not; "" */
};

/* Looks for a sensor where `places` says. `text` tells what came of it; where one is wanted and
 * there is none, it is a warning too. */
void vt_sweep_cool_init(struct vt_sweep_cool *cool, const struct vt_meter_options *places,
                        const struct vt_sweep_events *events);
void vt_sweep_cool_release(struct vt_sweep_cool *cool); /* accepts a zeroed one */
/* Rests and waits, until *stop at the latest. *ret_celsius is how warm it is then; NAN: unknown. */
void vt_sweep_cool_wait(const struct vt_sweep_cool *cool, const atomic_bool *stop,
                        const struct vt_sweep_events *events, double *ret_celsius);

#endif
