/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a job to a result: opens model, engine and workload, probes, puts each scenario on, judges,
 * and saves.
 *
 * Threading: one vt_run at a time in a process; it blocks. The events are called on its thread.
 */
#ifndef VT_RUN_RUN_H
#define VT_RUN_RUN_H

#include "load/load.h"
#include "result/result.h"
#include "run/energy/energy.h"
#include "run/job.h"

/* One stretch of a run that takes time. */
struct vt_run_phase {
    const char *name;          /* "Server", "Server: searching the rate", "accuracy"; borrowed */
    int64_t expected_ns;       /* how long it will probably take; 0: unknown */
    uint64_t expected_samples; /* 0: unknown */
};

/* What a caller hears while a run goes on. Every slot is optional. */
struct vt_run_events {
    /* What is about to run, before anything slow: result->model … lanes are filled in as far as
     * they are known. `scenarios` counts those wanted. */
    void (*header)(void *ctx, const struct vt_result *result, uint32_t scenarios);
    /* The whole duration, from one probe. */
    void (*estimate)(void *ctx, const struct vt_result *result, int64_t total_ns);
    void (*phase_begin)(void *ctx, const struct vt_run_phase *phase);
    void (*phase_end)(void *ctx);
    /* The meters are read from now on (vt_run_energy_watts, of any thread); NULL: no more. */
    void (*meters)(void *ctx, struct vt_run_energy *energy);
    /* Something that is probably not meant, one line: a misspelt key of a configuration file. */
    void (*warning)(void *ctx, const char *text);
    void *ctx;
};

/*
 * Runs the job of `options` (filled from vt_job_options()) on `model`, a built-in name or a path.
 * `control` is zeroed by the caller; control->stop ends the run early, and what was measured is
 * kept and marked partial. A scenario that cannot run is an entry with its failure; the others go
 * on. The result refers to `options` and to memory of its own: vt_run_result_free.
 *
 * Errors: VT_ERR_USAGE, VT_ERR_NOT_FOUND …, VT_ERR_ENGINE when nothing could be measured;
 * VT_ERR_WRITE when the folder cannot be written (looked at before measuring). When *ret_result is
 * set although the status is VT_ERR_WRITE, the measurement was made but could not be saved.
 */
VT_API enum vt_status vt_run(const struct vt_options *options, const char *model,
                             struct vt_load_control *control, const struct vt_run_events *events,
                             struct vt_error *err, struct vt_result **ret_result,
                             const char **ret_folder) VT_NODISCARD;
VT_API void vt_run_result_free(struct vt_result *result); /* accepts NULL */

#endif
