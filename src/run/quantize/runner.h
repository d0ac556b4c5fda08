/* SPDX-License-Identifier: Apache-2.0 */
/* A model on the native planner, one sample after the other, with values to look at. */
#ifndef VT_RUN_QUANTIZE_RUNNER_H
#define VT_RUN_QUANTIZE_RUNNER_H

#include "base/pool.h"
#include "plan/plan.h"
#include "run/session.h"

struct vt_runner {
    const struct vt_model *model; /* borrowed */
    struct vt_pool *pool;         /* borrowed */
    const uint32_t *watched;      /* borrowed */
    uint32_t n_watched;
    struct vt_weights *weights;
    struct vt_plan *plan; /* for the shapes of the last sample */
    struct vt_tensor *inputs;
    struct vt_tensor *outputs; /* of the last run: the model's, then the watched values */
    uint32_t n_inputs, n_outputs;
};

enum vt_status vt_runner_init(struct vt_runner *runner, const struct vt_model *model,
                              struct vt_pool *pool, const uint32_t *watched, uint32_t n_watched,
                              struct vt_error *err) VT_NODISCARD;
void vt_runner_release(struct vt_runner *runner); /* accepts a zeroed one */
/* Runs the workload's sample, which is loaded for the time; outputs hold until the next one. */
enum vt_status vt_runner_run(struct vt_runner *runner, const struct vt_session *session,
                             uint64_t index, struct vt_error *err) VT_NODISCARD;

#endif
