/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines side by side: opened together, fed with the same samples, checked against each other, and
 * measured in turns.
 *
 * All engines live in this process, each with its own lanes and threads, and only one works at a
 * time. Before each turn the process is left alone until it uses no more processor time, so that
 * threads of the engine before, which may spin for a while, are asleep. Processes of their own
 * would change nothing about that, since spinning takes the same cores from there; they would only
 * keep apart what an engine does to memory.
 *
 * In round i the engines take their turns in order, in round i + 1 in the opposite order
 * (A B B A …), so that a machine that gets slower or faster favours none. Every turn issues the
 * same samples in the same order, to a fresh instance where that is quick (run/contender.h). One
 * round that is not counted goes first.
 *
 * Threading: one vt_compare at a time in a process; it blocks. Events come on its thread.
 */
#ifndef VT_RUN_COMPARE_H
#define VT_RUN_COMPARE_H

#include "load/load.h"
#include "result/comparison.h"
#include "run/compare/compare_job.h"
#include "run/run.h"

/* What a caller hears meanwhile. Every slot is optional. */
struct vt_compare_events {
    /* Before anything slow: model and engines' labels are filled in. */
    void (*header)(void *ctx, const struct vt_comparison *comparison, int64_t expected_ns);
    void (*phase_begin)(void *ctx, const struct vt_run_phase *phase);
    void (*phase_end)(void *ctx);
    void *ctx;
};

/*
 * Compares the engines of `options` (filled from vt_compare_options()) on `model`, a built-in name
 * or a path. `control` is zeroed by the caller; control->stop ends it early: the rounds that were
 * completed are kept and marked partial. The result refers to `options` and to memory of its own.
 *
 * Errors as of vt_run; VT_ERR_ENGINE also when an engine fails or loses a sample. When
 * *ret_comparison is set although the status is VT_ERR_WRITE, it could not be saved.
 */
VT_API enum vt_status vt_compare(const struct vt_options *options, const char *model,
                                 struct vt_load_control *control,
                                 const struct vt_compare_events *events, struct vt_error *err,
                                 struct vt_comparison **ret_comparison,
                                 const char **ret_folder) VT_NODISCARD;
VT_API void vt_comparison_free(struct vt_comparison *comparison); /* accepts NULL */

#endif
