/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the list of steps to steps that can run: a tensor for every value, the operator's context,
 * and prepare() for those whose extents are known. No value has memory yet; the layout follows.
 */
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "plan/internal.h"

enum vt_status vt_out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory while planning the model");
}

char *vt_model_node_text(const struct vt_model *model, const struct vt_node *node, char *text)
{
    if (node->name[0] == '\0' && node->n_outputs > 0 && node->outputs[0] != VT_NO_VALUE) {
        snprintf(text, VT_NODE_TEXT_MAX, "the node that makes '%s' (%.40s)",
                 vt_plain(vt_model_values(model)[node->outputs[0]].name).text, node->op);
    } else {
        snprintf(text, VT_NODE_TEXT_MAX, "node '%s' (%.40s)", vt_plain(node->name).text, node->op);
    }
    return text;
}

char *vt_node_text(const struct vt_builder *builder, const struct vt_node *node, char *text)
{
    return vt_model_node_text(builder->plan->model, node, text);
}

/* " of 1x3x8x8, 16x3x3x3", or nothing. */
static void shapes_text(const struct vt_tensor *const *inputs, uint32_t n_inputs, char *text,
                        size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < n_inputs && used + 1 < size; i++) {
        char shape[64] = "-";
        if (inputs[i] != NULL) {
            vt_shape_text(inputs[i]->dim, inputs[i]->rank, NULL, shape, sizeof(shape));
        }
        int n = snprintf(text + used, size - used, "%s%s", i == 0 ? " of " : ", ", shape);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* So much of a name is in every message that has it. */
#define NAME_SHOWN 48

void vt_error_name_node(struct vt_error *err, const struct vt_model *model,
                        const struct vt_node *node, const struct vt_tensor *const *inputs,
                        uint32_t n_inputs)
{
    if (err == NULL || err->status == VT_OK) {
        return;
    }
    const char *name = node->name;
    if (name[0] == '\0' && node->n_outputs > 0 && node->outputs[0] != VT_NO_VALUE) {
        name = vt_model_values(model)[node->outputs[0]].name;
    }
    /* As messages show it, without the end that may be cut. */
    struct vt_quoted shown = vt_plain(name);
    shown.text[NAME_SHOWN] = '\0';
    if (name[0] != '\0' && strstr(err->text, shown.text) != NULL) {
        return;
    }
    char text[VT_NODE_TEXT_MAX], shapes[160];
    shapes_text(inputs, n_inputs, shapes, sizeof(shapes));
    vt_error_prefix(err, "%s%s", vt_model_node_text(model, node, text), shapes);
}

/* --- tensors ------------------------------------------------------------------------------------
 */

enum vt_status vt_tensor_shape(struct vt_builder *builder, const struct vt_node *node,
                               const struct vt_shape_info *info, struct vt_tensor *ret)
{
    ret->dtype = info->dtype;
    if (!vt_shape_info_known(info)) {
        return VT_OK;
    }
    ret->rank = info->rank;
    memcpy(ret->dim, info->dim, sizeof(ret->dim));
    if (!vt_tensor_size(ret)) {
        char text[VT_NODE_TEXT_MAX], shape[64];
        return vt_error_set(builder->err, VT_ERR_LIMIT, "%s: its output of %s %s is too large",
                            vt_node_text(builder, node, text), vt_dtype_name(info->dtype),
                            vt_shape_text(info->dim, info->rank, NULL, shape, sizeof(shape)));
    }
    return VT_OK;
}

static enum vt_status make_outputs(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_arena *memory = &builder->plan->memory;
    step->output_tensors =
        vt_arena_calloc(memory, (size_t)step->n_outputs + 1, sizeof(*step->output_tensors));
    step->buffers = vt_arena_calloc(memory, (size_t)step->n_outputs + 1, sizeof(*step->buffers));
    if (step->output_tensors == NULL || step->buffers == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] == VT_NO_VALUE) {
            continue;
        }
        struct vt_build_value *value = &builder->values[step->outputs[i]];
        enum vt_status status =
            vt_tensor_shape(builder, step->node, &value->info, &step->output_tensors[i]);
        if (status != VT_OK) {
            return status;
        }
        value->tensor = &step->output_tensors[i];
    }
    return VT_OK;
}

static const struct vt_tensor *tensor_of(const struct vt_builder *builder, uint32_t value)
{
    if (value == VT_NO_VALUE) {
        return NULL;
    }
    const struct vt_build_value *known = &builder->values[value];
    return known->info.value != NULL ? known->info.value : known->tensor;
}

static enum vt_status take_inputs(struct vt_builder *builder, struct vt_step *step)
{
    step->input_tensors = vt_arena_calloc(&builder->plan->memory, (size_t)step->n_inputs + 1,
                                          sizeof(*step->input_tensors));
    if (step->input_tensors == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        step->input_tensors[i] = tensor_of(builder, step->inputs[i]);
        if (step->inputs[i] != VT_NO_VALUE && step->input_tensors[i] == NULL) {
            char text[VT_NODE_TEXT_MAX];
            return vt_error_set(builder->err, VT_ERR_FORMAT, "%s: nothing makes its input '%s'",
                                vt_node_text(builder, step->node, text),
                                vt_plain(vt_value_name(builder, step->inputs[i])).text);
        }
    }
    return VT_OK;
}

/* --- operators ----------------------------------------------------------------------------------
 */

static bool is_dynamic(const struct vt_builder *builder, const struct vt_step *step)
{
    if ((step->op->flags & VT_OP_DATA_DEPENDENT) != 0) {
        return true;
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (step->inputs[i] != VT_NO_VALUE &&
            !vt_shape_info_known(&builder->values[step->inputs[i]].info)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE &&
            !vt_shape_info_known(&builder->values[step->outputs[i]].info)) {
            return true;
        }
    }
    return false;
}

static enum vt_status make_dynamic(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_arena *memory = &builder->plan->memory;
    size_t n = (size_t)step->n_inputs + step->n_outputs + step->node->n_outputs + 1;
    struct vt_dynamic *dynamic = vt_arena_calloc(memory, 1, sizeof(*dynamic));
    if (dynamic == NULL) {
        return vt_out_of_memory(builder->err);
    }
    dynamic->infos = vt_arena_calloc(memory, n, sizeof(*dynamic->infos));
    dynamic->info_inputs = vt_arena_calloc(memory, n, sizeof(*dynamic->info_inputs));
    dynamic->seen = vt_arena_calloc(memory, n, sizeof(*dynamic->seen));
    dynamic->seen_inputs = vt_arena_calloc(memory, n, sizeof(*dynamic->seen_inputs));
    dynamic->constant = vt_arena_calloc(memory, n, sizeof(*dynamic->constant));
    if (dynamic->infos == NULL || dynamic->info_inputs == NULL || dynamic->seen == NULL ||
        dynamic->seen_inputs == NULL || dynamic->constant == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (step->inputs[i] != VT_NO_VALUE) {
            dynamic->info_inputs[i] = &dynamic->infos[i];
            dynamic->seen_inputs[i] = &dynamic->seen[i];
            dynamic->constant[i] = vt_is_constant(builder, step->inputs[i]);
        }
    }
    step->dynamic = dynamic;
    return VT_OK;
}

static enum vt_status prepare(struct vt_builder *builder, struct vt_step *step)
{
    size_t workspace_bytes = 0;
    enum vt_status status =
        vt_op_prepare(&step->ctx, step->op, step->widen, true, &workspace_bytes);
    if (status != VT_OK) {
        vt_error_set(builder->err, status, "%s", vt_status_text(status));
        vt_error_name_node(builder->err, builder->plan->model, step->node, step->input_tensors,
                           step->n_inputs);
        return status;
    }
    if (workspace_bytes > 0) {
        step->workspace = vt_arena_calloc(&builder->plan->memory, 1, sizeof(*step->workspace));
        if (step->workspace == NULL) {
            return vt_out_of_memory(builder->err);
        }
        step->workspace->capacity = workspace_bytes;
    }
    return VT_OK;
}

static enum vt_status build_op(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_plan *plan = builder->plan;
    char text[VT_NODE_TEXT_MAX];
    if (step->op == NULL) {
        return vt_error_set(builder->err, VT_ERR_UNSUPPORTED,
                            "%s: the native engine cannot carry out operator %s%s%s (opset %lld); "
                            "`vatio list` names the engines, of which another may",
                            vt_node_text(builder, step->node, text), step->node->domain,
                            step->node->domain[0] != '\0' ? "." : "", step->node->op,
                            (long long)step->node->opset);
    }
    for (uint32_t i = 1; step->kind == VT_STEP_VIEW && i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE && builder->values[step->outputs[i]].uses > 0) {
            return vt_error_set(builder->err, VT_ERR_UNSUPPORTED,
                                "%s: only its first output is supported, but '%s' is used too",
                                vt_node_text(builder, step->node, text),
                                vt_plain(vt_value_name(builder, step->outputs[i])).text);
        }
    }
    if (step->kind == VT_STEP_VIEW && step->n_outputs > 1) {
        step->n_outputs = 1;
    }
    void *state = vt_arena_calloc(&plan->memory, 1, step->op->state_bytes + 1);
    if (state == NULL) {
        return vt_out_of_memory(builder->err);
    }
    step->ctx = (struct vt_op_context){.model = plan->model,
                                       .node = step->node,
                                       .weights = plan->check_only ? NULL : plan->weights,
                                       .pool = plan->pool,
                                       .epilogue = &step->epilogue,
                                       .affine = &step->affine,
                                       .channels_last = step->channels_last,
                                       .order = &step->order,
                                       .precision = plan->precision,
                                       .inputs = step->input_tensors,
                                       .n_inputs = step->n_inputs,
                                       .outputs = step->output_tensors,
                                       .n_outputs = step->n_outputs,
                                       .state = state,
                                       .err = builder->err};
    enum vt_status status =
        vt_widen_new(&plan->memory, step->op, &step->ctx, builder->err, &step->widen);
    if (status != VT_OK) {
        return status;
    }
    if (is_dynamic(builder, step)) {
        plan->info.dynamic_steps++;
        return make_dynamic(builder, step);
    }
    plan->info.flops += step->flops;
    step->ctx.tuning = plan->tuning; /* not while a plan runs */
    return prepare(builder, step);
}

/* --- control ------------------------------------------------------------------------------------
 */

static enum vt_status output_tensors(struct vt_builder *builder, const struct vt_program *program,
                                     const struct vt_tensor ***ret)
{
    const struct vt_tensor **tensors =
        vt_arena_calloc(&builder->plan->memory, (size_t)program->n_outputs + 1, sizeof(*tensors));
    if (tensors == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        tensors[i] = tensor_of(builder, program->outputs[i]);
        if (tensors[i] == NULL) {
            return vt_error_set(builder->err, VT_ERR_FORMAT,
                                "nothing makes output %u of graph '%s'", i,
                                vt_plain(program->graph->name).text);
        }
    }
    *ret = tensors;
    return VT_OK;
}

static enum vt_status build_if(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_if *branches = step->branches;
    double before = builder->plan->info.flops;
    enum vt_status status = vt_build_steps(builder, branches->then_branch);
    double then_flops = builder->plan->info.flops - before;
    builder->plan->info.flops = before;
    if (status == VT_OK) {
        status = vt_build_steps(builder, branches->else_branch);
    }
    double else_flops = builder->plan->info.flops - before;
    /* Which branch runs is not known: count the dearer one. */
    builder->plan->info.flops = before + (then_flops > else_flops ? then_flops : else_flops);
    if (status == VT_OK) {
        status = output_tensors(builder, branches->then_branch, &branches->then_outputs);
    }
    if (status == VT_OK) {
        status = output_tensors(builder, branches->else_branch, &branches->else_outputs);
    }
    return status;
}

/* The body's inputs become tensors before its steps look for them. */
static enum vt_status make_inside(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_loop *loop = step->loop;
    struct vt_tensor *inside =
        vt_arena_calloc(&builder->plan->memory, (size_t)loop->n_carried + 2, sizeof(*inside));
    loop->carried = vt_arena_calloc(&builder->plan->memory, (size_t)loop->n_carried + 1,
                                    sizeof(*loop->carried));
    loop->scans =
        vt_arena_calloc(&builder->plan->memory, (size_t)loop->n_scans + 1, sizeof(*loop->scans));
    if (inside == NULL || loop->carried == NULL || loop->scans == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < loop->n_carried + 2; i++) {
        struct vt_build_value *value = &builder->values[loop->inside[i]];
        enum vt_status status = vt_tensor_shape(builder, step->node, &value->info, &inside[i]);
        if (status != VT_OK) {
            return status;
        }
        value->tensor = &inside[i];
        if (i >= 2) {
            loop->carried[i - 2].inside = &inside[i];
            loop->carried[i - 2].initial = step->input_tensors[i];
        }
    }
    loop->turn_tensor = &inside[0];
    loop->condition_tensor = &inside[1];
    return VT_OK;
}

static enum vt_status build_loop(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_loop *loop = step->loop;
    loop->trips = step->input_tensors[0];
    loop->condition = step->input_tensors[1];
    enum vt_status status = make_inside(builder, step);
    if (status != VT_OK) {
        return status;
    }
    double before = builder->plan->info.flops;
    status = vt_build_steps(builder, loop->body);
    double turn = builder->plan->info.flops - before;
    builder->plan->info.flops =
        before + (loop->known_trips > 0 ? turn * (double)loop->known_trips : 0.0);
    const struct vt_tensor **outputs = NULL;
    if (status == VT_OK) {
        status = output_tensors(builder, loop->body, &outputs);
    }
    if (status != VT_OK) {
        return status;
    }
    loop->go_on = outputs[0];
    for (uint32_t i = 0; i < loop->n_carried; i++) {
        loop->carried[i].next = outputs[1 + i];
        loop->carried[i].result = step->outputs[i] != VT_NO_VALUE ? &step->output_tensors[i] : NULL;
    }
    for (uint32_t i = 0; i < loop->n_scans; i++) {
        uint32_t output = loop->n_carried + i;
        loop->scans[i].slice = outputs[1 + output];
        loop->scans[i].result =
            step->outputs[output] != VT_NO_VALUE ? &step->output_tensors[output] : NULL;
    }
    return VT_OK;
}

enum vt_status vt_build_steps(struct vt_builder *builder, struct vt_program *program)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (step->dead) {
            continue;
        }
        enum vt_status status = make_outputs(builder, step);
        if (status == VT_OK) {
            status = take_inputs(builder, step);
        }
        if (status == VT_OK && step->kind == VT_STEP_IF) {
            status = build_if(builder, step);
        } else if (status == VT_OK && step->kind == VT_STEP_LOOP) {
            status = build_loop(builder, step);
        } else if (status == VT_OK && step->kind == VT_STEP_SPLIT) {
            status = vt_build_split(builder, step);
        } else if (status == VT_OK) {
            status = build_op(builder, step);
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}
