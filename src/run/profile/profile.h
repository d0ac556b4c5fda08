/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model on the native engine, layer by layer: the engine's own plan with a clock at every step.
 *
 * The same request is computed again and again: half of the time as always, half of it with the
 * clocks. What a layer took is the median over the runs.
 *
 * Threading: one vt_profile_run at a time; it blocks. Events come on its thread.
 */
#ifndef VT_RUN_PROFILE_H
#define VT_RUN_PROFILE_H

#include "load/load.h"
#include "result/profile.h"
#include "run/job.h"
#include "run/run.h"

struct vt_profile_job {
    struct vt_job job; /* first: the options of `vatio run` keep their places */
    int64_t top;
    int64_t duration_ns;
};

/* Built on first use. Static storage; thread-safe. */
VT_API const struct vt_option_table *vt_profile_options(void);

struct vt_profile_events {
    /* Before anything slow. */
    void (*header)(void *ctx, const struct vt_profile *profile);
    void (*phase_begin)(void *ctx, const struct vt_run_phase *phase);
    void (*phase_end)(void *ctx);
    void *ctx;
};

/* Errors and interrupts as of vt_run. The result refers to `options` and to memory of its own. */
VT_API enum vt_status vt_profile_run(const struct vt_options *options, const char *model,
                                     struct vt_load_control *control,
                                     const struct vt_profile_events *events, struct vt_error *err,
                                     struct vt_profile **ret_profile,
                                     const char **ret_folder) VT_NODISCARD;
VT_API void vt_profile_free(struct vt_profile *profile); /* accepts NULL */

#endif
