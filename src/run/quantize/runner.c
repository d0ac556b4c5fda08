/* SPDX-License-Identifier: Apache-2.0 */
#include "run/quantize/runner.h"

#include <string.h>

#include "base/alloc.h"

enum vt_status vt_runner_init(struct vt_runner *runner, const struct vt_model *model,
                              struct vt_pool *pool, const uint32_t *watched, uint32_t n_watched,
                              struct vt_error *err)
{
    *runner = (struct vt_runner){.model = model,
                                 .pool = pool,
                                 .watched = watched,
                                 .n_watched = n_watched,
                                 .n_inputs = vt_model_graph(model)->n_inputs,
                                 .n_outputs = vt_model_graph(model)->n_outputs + n_watched};
    runner->inputs = vt_calloc((size_t)runner->n_inputs + 1, sizeof *runner->inputs);
    runner->outputs = vt_calloc((size_t)runner->n_outputs + 1, sizeof *runner->outputs);
    if (runner->inputs == NULL || runner->outputs == NULL) {
        vt_runner_release(runner);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    enum vt_status status = vt_weights_new(model, err, &runner->weights);
    if (status != VT_OK) {
        runner->weights = NULL;
        vt_runner_release(runner);
    }
    return status;
}

void vt_runner_release(struct vt_runner *runner)
{
    vt_plan_free(runner->plan);
    vt_weights_free(runner->weights);
    vt_free(runner->inputs);
    vt_free(runner->outputs);
    *runner = (struct vt_runner){0};
}

/* A plan for samples of these shapes. */
static enum vt_status plan_for(struct vt_runner *runner, const struct vt_tensor *inputs,
                               struct vt_error *err)
{
    bool same = runner->plan != NULL;
    for (uint32_t i = 0; same && i < runner->n_inputs; i++) {
        same = vt_tensor_same_shape(&inputs[i], &runner->inputs[i]);
    }
    if (same) {
        return VT_OK;
    }
    vt_plan_free(runner->plan);
    runner->plan = NULL;
    const struct vt_plan_options options = {.watched = runner->watched,
                                            .n_watched = runner->n_watched};
    return vt_plan_new(runner->model, runner->weights, runner->pool, inputs, runner->n_inputs,
                       &options, err, &runner->plan);
}

enum vt_status vt_runner_run(struct vt_runner *runner, const struct vt_session *session,
                             uint64_t index, struct vt_error *err)
{
    const struct vt_workload_ops *ops = session->workload_ops;
    struct vt_tensor *inputs = vt_calloc((size_t)runner->n_inputs + 1, sizeof *inputs);

    if (inputs == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    enum vt_status status = ops->load(session->workload, &index, 1, err);
    if (status != VT_OK) {
        vt_free(inputs);
        return status;
    }
    ops->sample(session->workload, index, inputs);
    status = plan_for(runner, inputs, err);
    if (status == VT_OK) {
        memcpy(runner->inputs, inputs, runner->n_inputs * sizeof *inputs);
        status = vt_plan_run(runner->plan, inputs, runner->n_inputs, err, runner->outputs,
                             runner->n_outputs);
    }
    ops->unload(session->workload, &index, 1);
    vt_free(inputs);
    return status;
}
