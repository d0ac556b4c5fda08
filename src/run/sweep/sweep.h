/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep from its job to its analysis. Every point is `vatio run` in a process of its own: a crash
 * costs one point, memory and threads begin anew, and what a point leaves is what a run leaves.
 * sweep.json is written whole after every point, so that at any moment the sweep can be killed and
 * gone on with.
 *
 * Threading: one at a time in a process; it blocks. The events are called on its thread.
 */
#ifndef VT_RUN_SWEEP_H
#define VT_RUN_SWEEP_H

#include <stdatomic.h>

#include "run/sweep/sweep_job.h"

/* Every slot is optional. */
struct vt_sweep_events {
    /* What is about to be measured. `done` points are there from before. */
    void (*header)(void *ctx, const struct vt_sweep *sweep, const char *folder, uint32_t done);
    /* Something that takes time: "warming up", "cooling to 55 °C: 61 °C". NULL: it is over. */
    void (*waiting)(void *ctx, const char *text);
    void (*point_begin)(void *ctx, const struct vt_sweep *sweep,
                        const struct vt_sweep_point *point);
    void (*point_end)(void *ctx, const struct vt_sweep *sweep, const struct vt_sweep_point *point);
    void (*warning)(void *ctx, const char *text);
    void *ctx;
};

/*
 * Sweeps by `options` (filled from vt_sweep_options(); --resume adds to them). `model` may be NULL
 * with --resume. `program` is the path of vatio. *stop ends it early: what was measured is kept,
 * `partial` is set and the status is VT_OK. Free *ret_sweep with vt_sweep_free; it refers to
 * `options`. When it is set although the status is VT_ERR_WRITE, sweep.json could not be written.
 */
VT_API enum vt_status vt_sweep(struct vt_options *options, const char *model, const char *program,
                               const atomic_bool *stop, const struct vt_sweep_events *events,
                               struct vt_error *err, struct vt_sweep **ret_sweep,
                               const char **ret_folder) VT_NODISCARD;
VT_API void vt_sweep_free(struct vt_sweep *sweep); /* accepts NULL */
/* 0: all points done and valid; 1: some are not valid or failed; 4: none was measured; 130:
 * interrupted. */
VT_API int vt_sweep_exit_code(const struct vt_sweep *sweep);

#endif
