/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caps of a sweep: one hold over all of it, set anew for every point, put back in the end
 * however the sweep ends (power/cap/cap.h).
 */
#ifndef VT_RUN_SWEEP_CAP_H
#define VT_RUN_SWEEP_CAP_H

#include "power/cap/cap.h"
#include "result/sweep.h"
#include "run/energy/places.h"

struct vt_sweep_cap {
    struct vt_cap_places places;
    struct vt_cap_hold *hold; /* NULL: the sweep has no caps */
};

/* Takes the machine's caps. The places live until close. `ret_note`, of `size` bytes, says what a
 * dead process had left and is put back now; "". */
enum vt_status vt_sweep_cap_open(struct vt_sweep_cap *cap, const struct vt_meter_places *places,
                                 struct vt_error *err, char *ret_note, size_t size) VT_NODISCARD;
/* Sets the cap of a point: VT_OK only when the hardware keeps to it. Nothing without an axis. */
enum vt_status vt_sweep_cap_set(struct vt_sweep_cap *cap, const struct vt_sweep *sweep,
                                const struct vt_sweep_point *point, struct vt_error *err,
                                double *ret_enforced) VT_NODISCARD;
/* Puts everything back. sweep->caps says what was held and that it is back. */
enum vt_status vt_sweep_cap_release(struct vt_sweep_cap *cap, struct vt_sweep *sweep,
                                    struct vt_error *err) VT_NODISCARD;
/* Accepts a zeroed one. */
void vt_sweep_cap_close(struct vt_sweep_cap *cap);

#endif
