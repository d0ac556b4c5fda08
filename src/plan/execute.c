/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program. A step with known extents is one call; a dynamic one is inferred from the actual
 * values, gets room for its outputs, and is prepared again only when extents have changed.
 */
#include <string.h>

#include "plan/internal.h"

enum vt_status vt_buffer_reserve(struct vt_buffer *buffer, size_t bytes, size_t keep,
                                 struct vt_error *err)
{
    if (bytes <= buffer->capacity && buffer->data != NULL) {
        return VT_OK;
    }
    if (!buffer->grows) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "%zu bytes are needed where shape inference promised at most %zu",
                            bytes, buffer->capacity);
    }
    void *data = vt_alloc(bytes);
    if (data == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a value of %zu bytes", bytes);
    }
    if (keep > 0) {
        memcpy(data, buffer->data, keep);
    }
    vt_free(buffer->data);
    buffer->data = data;
    buffer->capacity = bytes;
    return VT_OK;
}

/* --- dynamic steps
 * ---------------------------------------------------------------------------------- */

static void describe(const struct vt_tensor *tensor, struct vt_shape_info *ret)
{
    ret->dtype = tensor->dtype;
    ret->rank = tensor->rank;
    for (uint32_t d = 0; d < tensor->rank; d++) {
        ret->dim[d] = tensor->dim[d];
        ret->bound[d] = -1;
    }
    ret->value = tensor;
}

/* Extents of the outputs from the actual inputs: exact, or the bound that run() stays within. */
static enum vt_status find_extents(struct vt_plan *plan, struct vt_step *step, struct vt_error *err)
{
    struct vt_dynamic *dynamic = step->dynamic;
    struct vt_shape_info *out = &dynamic->infos[step->n_inputs];
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (step->input_tensors[i] != NULL) {
            describe(step->input_tensors[i], &dynamic->infos[i]);
        }
    }
    for (uint32_t i = 0; i < step->node->n_outputs; i++) {
        vt_shape_unknown(&out[i]);
    }
    struct vt_infer request = {plan->model, step->node, dynamic->info_inputs, out, err};
    enum vt_status status = vt_infer_node(&request);
    for (uint32_t i = 0; i < step->n_outputs && status == VT_OK; i++) {
        if (step->outputs[i] == VT_NO_VALUE) {
            continue;
        }
        struct vt_tensor *tensor = &step->output_tensors[i];
        if (out[i].rank == VT_RANK_UNKNOWN) {
            return vt_error_set(err, VT_ERR_UNSUPPORTED, "the rank of its output %u stays unknown",
                                i);
        }
        tensor->dtype = out[i].dtype;
        tensor->rank = out[i].rank;
        for (uint32_t d = 0; d < out[i].rank; d++) {
            tensor->dim[d] = out[i].dim[d] >= 0 ? out[i].dim[d] : out[i].bound[d];
        }
        if (!vt_tensor_size(tensor)) {
            return vt_error_set(err, VT_ERR_UNSUPPORTED,
                                "extents of its output %u are neither known nor bounded", i);
        }
    }
    return status;
}

static bool same_extents(const struct vt_tensor *a, const struct vt_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

/* Whether the extents are those of the last prepare(); remembers them. */
static bool remember_extents(struct vt_step *step)
{
    struct vt_dynamic *dynamic = step->dynamic;
    bool same = dynamic->prepared;
    for (uint32_t i = 0; i < step->n_inputs + step->n_outputs; i++) {
        const struct vt_tensor *now =
            i < step->n_inputs ? step->input_tensors[i] : &step->output_tensors[i - step->n_inputs];
        if (now == NULL) {
            continue;
        }
        same = same && same_extents(now, &dynamic->seen[i]);
        dynamic->seen[i] = *now;
        if (i >= step->n_inputs || !dynamic->constant[i]) {
            dynamic->seen[i].data = NULL;
        }
    }
    return same;
}

static enum vt_status prepare_again(struct vt_plan *plan, struct vt_step *step,
                                    struct vt_error *err)
{
    struct vt_dynamic *dynamic = step->dynamic;
    size_t workspace_bytes = 0;
    enum vt_status status = VT_OK;
    dynamic->prepared = false;
    step->ctx.inputs = dynamic->seen_inputs;
    status = vt_op_prepare(&step->ctx, step->op, step->widen, true, &workspace_bytes);
    step->ctx.inputs = step->input_tensors;
    if (status == VT_OK) {
        status = vt_buffer_reserve(&plan->workspace, workspace_bytes, 0, err);
    }
    dynamic->prepared = status == VT_OK;
    return status;
}

static enum vt_status run_dynamic(struct vt_plan *plan, struct vt_step *step, struct vt_error *err)
{
    enum vt_status status = find_extents(plan, step, err);
    for (uint32_t i = 0; i < step->n_outputs && status == VT_OK; i++) {
        struct vt_buffer *buffer = step->buffers[i];
        if (buffer != NULL) {
            status = vt_buffer_reserve(buffer, step->output_tensors[i].bytes, 0, err);
            step->output_tensors[i].data = buffer->data;
        }
    }
    if (status == VT_OK && !remember_extents(step)) {
        status = prepare_again(plan, step, err);
    }
    if (status != VT_OK) {
        return status;
    }
    if (step->kind == VT_STEP_VIEW) {
        step->output_tensors[0].data = step->input_tensors[0]->data;
        return VT_OK;
    }
    step->ctx.workspace = plan->workspace.data;
    return vt_op_run(&step->ctx, step->op, step->widen);
}

/* --- the program
 * --------------------------------------------------------------------------------------- */

static enum vt_status run_step(struct vt_plan *plan, struct vt_step *step, struct vt_error *err)
{
    switch (step->kind) {
    case VT_STEP_IF:
        return vt_if_run(plan, step, err);
    case VT_STEP_LOOP:
        return vt_loop_run(plan, step, err);
    case VT_STEP_SPLIT:
        return vt_split_run(plan, step, err);
    case VT_STEP_VIEW:
        step->ctx.err = err;
        if (step->dynamic != NULL) {
            return run_dynamic(plan, step, err);
        }
        step->output_tensors[0].data = step->input_tensors[0]->data;
        return VT_OK;
    case VT_STEP_OP:
        break;
    }
    step->ctx.err = err;
    if (step->dynamic != NULL) {
        return run_dynamic(plan, step, err);
    }
    return vt_op_run(&step->ctx, step->op, step->widen);
}

static enum vt_status run_profiled(struct vt_plan *plan, struct vt_step *step, struct vt_error *err)
{
    struct vt_profile_mark mark;
    vt_profile_enter(plan->profiler, &mark);
    enum vt_status status = run_step(plan, step, err);
    vt_profile_leave(plan->profiler, step, &mark);
    return status;
}

enum vt_status vt_program_run(struct vt_plan *plan, struct vt_program *program,
                              struct vt_error *err)
{
    const bool profiled = plan->profiler != NULL;
    for (uint32_t i = 0; i < program->n_steps; i++) {
        struct vt_step *step = program->steps[i];
        enum vt_status status =
            profiled ? run_profiled(plan, step, err) : run_step(plan, step, err);
        if (status != VT_OK) {
            vt_error_set(err, status, "%s", vt_status_text(status));
            vt_error_name_node(err, plan->model, step->node, step->input_tensors, step->n_inputs);
            return status;
        }
    }
    return VT_OK;
}
