/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caps of a run: set before anything is measured, put back when all is. How that is kept also
 * where the process dies: power/cap/cap.h.
 *
 * Threading: one thread.
 */
#ifndef VT_RUN_CAPS_CAPS_H
#define VT_RUN_CAPS_CAPS_H

#include "power/cap/cap.h"
#include "result/result.h"
#include "run/job.h"

struct vt_run_caps {
    struct vt_cap_places places;
    struct vt_cap_hold *hold; /* NULL: nothing is capped */
};

/* Where a job looks for caps. */
struct vt_cap_places vt_run_cap_places(const struct vt_meter_places *places, bool allow_reboot);

/*
 * Sets what the job asks for; nothing without --cap. To be called before threads of an engine
 * exist. `warn` hears what a user must know: what was put back first, what stands in for what.
 * On failure what was set is put back by vt_run_caps_end.
 */
enum vt_status vt_run_caps_begin(struct vt_run_caps *caps, const struct vt_job *job,
                                 void (*warn)(void *ctx, const char *text), void *ctx,
                                 struct vt_error *err) VT_NODISCARD;
/* Puts everything back, and says in the result, which may be NULL, what was set. A second call
 * does nothing. */
enum vt_status vt_run_caps_end(struct vt_run_caps *caps, struct vt_result *result,
                               struct vt_error *err) VT_NODISCARD;

#endif
