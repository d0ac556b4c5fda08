/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of image operators with the channels last in memory.
 *
 * A value keeps its extents as ONNX has them, [batch][channels][spatial]; what changes is the order
 * of its elements: [batch][spatial][channels]. Convolutions want it so, others go along when their
 * first input has it already, and the rest is given a reordered copy, made once for all that need
 * it. image_rules.c says what an operator can; it reads ctx->channels_last.
 *
 * A value whose channels or pixels are a single one has both orders at once: its copy is a view.
 */
#include <string.h>

#include "plan/passes/pass.h"

/* --- who is channels last -----------------------------------------------------------------------
 */

static int64_t elements_of(const struct vt_shape_info *info)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < info->rank; d++) {
        n *= info->dim[d];
    }
    return n;
}

/* Whether more elements of the step's images are channels last than are not. */
static bool finds_last(const struct vt_builder *builder, const struct vt_step *step,
                       uint32_t images)
{
    int64_t balance = 0;
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if ((images >> i & 1) != 0) {
            const struct vt_build_value *value = &builder->values[step->inputs[i]];
            const int64_t n = elements_of(&value->info);
            balance += value->channels_last ? n : -n;
        }
    }
    return balance > 0;
}

/* A Transpose that moves the channels behind the rest finds them there. */
static bool is_transpose_to_last(const struct vt_step *step)
{
    size_t n = 0;
    if (step->kind != VT_STEP_OP || !vt_is_op(step->node, "Transpose")) {
        return false;
    }
    const int64_t *perm = vt_node_ints(step->node, "perm", &n);
    bool last = perm != NULL && n >= 3 && perm[0] == 0 && perm[n - 1] == 1;
    for (size_t i = 1; last && i + 1 < n; i++) {
        last = perm[i] == (int64_t)i + 1;
    }
    return last;
}

/* --- reordered copies ---------------------------------------------------------------------------
 */

static const struct vt_node node_last = {
    .name = "", .op = "ToChannelsLast", .domain = "vatio", .opset = 1};
static const struct vt_node node_first = {
    .name = "", .op = "ToChannelsFirst", .domain = "vatio", .opset = 1};

static bool is_both(const struct vt_shape_info *info)
{
    int64_t pixels = 1;
    for (uint32_t d = 2; d < info->rank; d++) {
        pixels *= info->dim[d];
    }
    return pixels == 1 || info->dim[1] == 1;
}

/* The node of a reorder has no places for values in the model: the step holds them. */
static struct vt_step *reorder_step(struct vt_builder *builder, bool to_last)
{
    struct vt_arena *memory = &builder->plan->memory;
    struct vt_step *step = vt_arena_calloc(memory, 1, sizeof(*step));
    uint32_t *values = vt_arena_calloc(memory, 2, sizeof(*values));
    if (step == NULL || values == NULL) {
        (void)vt_out_of_memory(builder->err);
        return NULL;
    }
    step->kind = VT_STEP_OP;
    step->node = to_last ? &node_last : &node_first;
    step->op = vt_op_find("vatio", step->node->op);
    step->inputs = values;
    step->outputs = values + 1;
    step->n_inputs = step->n_outputs = 1;
    return step;
}

/* Puts a step that reorders `value` at *link and returns its result; VT_NO_VALUE when out of
 * memory. */
static uint32_t add_reorder(struct vt_builder *builder, struct vt_program *program,
                            struct vt_step **link, uint32_t value)
{
    const bool to_last = !builder->values[value].channels_last;
    struct vt_step *step = reorder_step(builder, to_last);
    uint32_t twin = VT_NO_VALUE;
    if (step == NULL || vt_value_add(builder, &builder->values[value].info, &twin) != VT_OK) {
        return VT_NO_VALUE;
    }
    if (is_both(&builder->values[value].info)) {
        step->kind = VT_STEP_VIEW;
    }
    step->inputs[0] = value;
    step->outputs[0] = twin;
    step->next = *link;
    *link = step;
    if (step->next == NULL) {
        program->end = step;
    }
    builder->values[twin].channels_last = to_last;
    builder->values[twin].info.value = NULL;
    builder->values[twin].producer = step;
    builder->values[twin].home = program;
    builder->values[twin].twin = value;
    builder->values[value].twin = twin;
    return twin;
}

/* `value` in the order that is asked for, at *link, which moves behind what is added. */
static enum vt_status convert(struct vt_builder *builder, struct vt_program *program,
                              struct vt_step ***link, uint32_t *value, bool last)
{
    const struct vt_build_value *found = &builder->values[*value];
    if (found->channels_last == last) {
        return VT_OK;
    }
    /* A copy made in another program may not have been made when this one runs; one to channels
     * first was made before the control step that this program belongs to. */
    uint32_t twin = found->twin;
    if (twin == VT_NO_VALUE || (last && builder->values[twin].home != program)) {
        twin = add_reorder(builder, program, *link, *value);
        if (twin == VT_NO_VALUE) {
            return VT_ERR_MEMORY;
        }
        *link = &(**link)->next;
    }
    *value = twin;
    return VT_OK;
}

static enum vt_status convert_list(struct vt_builder *builder, struct vt_program *program,
                                   struct vt_step ***link, uint32_t *values, uint32_t n)
{
    enum vt_status status = VT_OK;
    for (uint32_t i = 0; i < n && status == VT_OK; i++) {
        if (values[i] != VT_NO_VALUE) {
            status = convert(builder, program, link, &values[i], false);
        }
    }
    return status;
}

/* --- the pass ----------------------------------------------------------------------------------
 */

static enum vt_status visit_op(struct vt_builder *builder, struct vt_program *program,
                               struct vt_step ***link, struct vt_step *step, uint32_t *changes)
{
    uint32_t images = 0;
    const enum vt_image_wish wish = vt_image_wish_of(builder, step, &images);
    step->channels_last =
        wish == VT_IMAGE_WANTS || (wish == VT_IMAGE_FOLLOWS && finds_last(builder, step, images));
    if (is_transpose_to_last(step) && builder->values[step->inputs[0]].channels_last) {
        step->kind = VT_STEP_VIEW;
        ++*changes;
        return VT_OK;
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (step->inputs[i] == VT_NO_VALUE) {
            continue;
        }
        const bool last = step->channels_last && (images >> i & 1) != 0;
        enum vt_status status = convert(builder, program, link, &step->inputs[i], last);
        if (status != VT_OK) {
            return status;
        }
    }
    if (step->channels_last) {
        builder->values[step->outputs[0]].channels_last = true;
        ++*changes;
    }
    return VT_OK;
}

static enum vt_status visit(struct vt_builder *builder, struct vt_program *program,
                            uint32_t *changes);

/* What the bodies take from outside they take channels first: made before the step. */
static enum vt_status convert_outer(struct vt_builder *builder, struct vt_program *program,
                                    struct vt_step ***link, struct vt_program *body)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = body->first; step != NULL && status == VT_OK; step = step->next) {
        for (uint32_t i = 0; i < step->n_inputs && status == VT_OK; i++) {
            uint32_t value = vt_resolve(builder, step->inputs[i]);
            if (value != VT_NO_VALUE) {
                status = convert(builder, program, link, &value, false);
            }
        }
        if (step->branches != NULL && status == VT_OK) {
            status = convert_outer(builder, program, link, step->branches->then_branch);
            if (status == VT_OK) {
                status = convert_outer(builder, program, link, step->branches->else_branch);
            }
        } else if (step->loop != NULL && status == VT_OK) {
            status = convert_outer(builder, program, link, step->loop->body);
        }
    }
    for (uint32_t i = 0; i < body->n_outputs && status == VT_OK; i++) {
        uint32_t value = vt_resolve(builder, body->outputs[i]);
        status = convert(builder, program, link, &value, false);
    }
    return status;
}

static enum vt_status visit_control(struct vt_builder *builder, struct vt_program *program,
                                    struct vt_step ***link, struct vt_step *step, uint32_t *changes)
{
    struct vt_program *bodies[2] = {NULL, NULL};
    if (step->branches != NULL) {
        bodies[0] = step->branches->then_branch;
        bodies[1] = step->branches->else_branch;
    } else {
        bodies[0] = step->loop->body;
    }
    enum vt_status status = convert_list(builder, program, link, step->inputs, step->n_inputs);
    for (uint32_t b = 0; b < 2 && bodies[b] != NULL && status == VT_OK; b++) {
        status = convert_outer(builder, program, link, bodies[b]);
        if (status == VT_OK) {
            status = visit(builder, bodies[b], changes);
        }
    }
    return status;
}

static enum vt_status visit(struct vt_builder *builder, struct vt_program *program,
                            uint32_t *changes)
{
    struct vt_step **link = &program->first;
    while (*link != NULL) {
        struct vt_step *step = *link;
        enum vt_status status = step->branches != NULL || step->loop != NULL
                                    ? visit_control(builder, program, &link, step, changes)
                                    : visit_op(builder, program, &link, step, changes);
        if (status != VT_OK) {
            return status;
        }
        link = &step->next;
    }
    return convert_list(builder, program, &link, program->outputs, program->n_outputs);
}

enum vt_status vt_pass_channels_last(struct vt_builder *builder, struct vt_program *program,
                                     uint32_t *changes)
{
    /* The bodies are visited from the program around them, which knows what they use of it. */
    return program == builder->plan->program ? visit(builder, program, changes) : VT_OK;
}
