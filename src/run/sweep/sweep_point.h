/* SPDX-License-Identifier: Apache-2.0 */
/* One point of a sweep: its folder, its run in a process of its own, what that left. */
#ifndef VT_RUN_SWEEP_POINT_H
#define VT_RUN_SWEEP_POINT_H

#include <stdatomic.h>

#include "result/sweep.h"

struct vt_sweep_place {
    const char *program; /* of `vatio run` */
    const char *folder;  /* of the sweep */
    const char *model;
    const struct vt_options *options; /* the sweep's; what all points share is taken from them */
    int64_t limit_ns;                 /* of a point; 0: none */
    const atomic_bool *stop;
};

/* Whether the folder of a point holds a whole result: one that was finished while the sweep was
 * killed. Then it is taken. */
bool vt_sweep_point_adopt(const struct vt_sweep *sweep, struct vt_sweep_point *point,
                          const struct vt_sweep_place *place);
/*
 * Measures a point, after removing what its folder held. The point ends done or failed; when *stop
 * came it stays pending and the status is VT_ERR_INTERRUPTED. VT_ERR_USAGE: it has failed because
 * its options cannot be, which is probably so of all points. VT_ERR_WRITE, VT_ERR_MEMORY and
 * VT_ERR_SYSTEM concern the sweep as a whole.
 */
enum vt_status vt_sweep_point_run(const struct vt_sweep *sweep, struct vt_sweep_point *point,
                                  const struct vt_sweep_place *place,
                                  struct vt_error *err) VT_NODISCARD;
/* Removes the folders of all points. */
void vt_sweep_points_discard(const struct vt_sweep_place *place);
/* Works for a while with a point's settings, in Offline, and leaves nothing behind. Only what
 * stops a sweep is an error, as above. */
enum vt_status vt_sweep_warm_up(const struct vt_sweep *sweep, const struct vt_sweep_point *point,
                                int64_t duration_ns, const struct vt_sweep_place *place,
                                struct vt_error *err) VT_NODISCARD;

#endif
