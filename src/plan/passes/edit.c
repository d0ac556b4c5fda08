/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes share: who uses what, and how one step takes the place of another. */
#include <string.h>

#include "plan/passes/pass.h"

enum vt_status vt_value_add(struct vt_builder *builder, const struct vt_shape_info *info,
                            uint32_t *ret_value)
{
    const struct vt_shape_info copy = *info; /* may lie in the table */
    if (builder->n_values == VT_NO_VALUE) {
        return vt_error_set(builder->err, VT_ERR_LIMIT, "the model has too many values");
    }
    if (builder->n_values == builder->value_capacity) {
        const uint32_t larger = builder->n_values + builder->n_values / 2 + 64;
        struct vt_build_value *fresh =
            vt_arena_calloc(&builder->scratch, (size_t)larger + 1, sizeof(*fresh));
        if (fresh == NULL) {
            return vt_out_of_memory(builder->err);
        }
        memcpy(fresh, builder->values, builder->n_values * sizeof(*fresh));
        builder->values = fresh;
        builder->value_capacity = larger;
    }
    struct vt_build_value *value = &builder->values[builder->n_values];
    value->info = copy;
    value->renamed = value->twin = VT_NO_VALUE;
    *ret_value = builder->n_values++;
    return VT_OK;
}

void vt_value_use(struct vt_builder *builder, uint32_t value)
{
    uint32_t used = vt_resolve(builder, value);
    if (used != VT_NO_VALUE) {
        builder->values[used].uses++;
    }
}

static void drop_use(struct vt_builder *builder, uint32_t value)
{
    uint32_t used = vt_resolve(builder, value);
    if (used != VT_NO_VALUE && builder->values[used].uses > 0) {
        builder->values[used].uses--;
    }
}

static void drop_program(struct vt_builder *builder, struct vt_program *program)
{
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        drop_use(builder, program->outputs[i]);
    }
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (!step->dead) {
            vt_step_kill(builder, step);
        }
    }
}

void vt_step_kill(struct vt_builder *builder, struct vt_step *step)
{
    step->dead = true;
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        drop_use(builder, step->inputs[i]);
    }
    if (step->branches != NULL) {
        drop_program(builder, step->branches->then_branch);
        drop_program(builder, step->branches->else_branch);
    }
    if (step->loop != NULL) {
        drop_program(builder, step->loop->body);
    }
}

bool vt_step_is_used(const struct vt_builder *builder, const struct vt_step *step)
{
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE && builder->values[step->outputs[i]].uses > 0) {
            return true;
        }
    }
    return false;
}

struct vt_step *vt_step_open(const struct vt_builder *builder, const struct vt_program *program,
                             uint32_t value)
{
    value = vt_resolve(builder, value);
    if (value == VT_NO_VALUE) {
        return NULL;
    }
    const struct vt_build_value *made = &builder->values[value];
    struct vt_step *step = made->producer;
    if (step == NULL || step->dead || made->home != program || made->uses != 1 ||
        step->kind != VT_STEP_OP || step->op == NULL || step->outputs[0] != value ||
        (step->op->flags & VT_OP_EPILOGUE) == 0 || made->info.dtype != VT_F32 ||
        step->epilogue.activation != VT_ACT_NONE) {
        return NULL;
    }
    for (uint32_t i = 1; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            return NULL;
        }
    }
    return step;
}

void vt_step_absorb(struct vt_builder *builder, struct vt_step *step, struct vt_step *inner)
{
    const struct vt_step outer = *step;
    for (uint32_t i = 0; i < outer.n_inputs; i++) {
        drop_use(builder, outer.inputs[i]);
    }
    *step = *inner;
    step->next = outer.next;
    step->position = outer.position;
    step->outputs[0] = outer.outputs[0];
    step->n_outputs = 1;
    step->flops += outer.flops;
    step->absorbed += outer.absorbed + 1;
    inner->dead = true; /* its inputs are used by `step` now */
    builder->plan->info.fused_nodes++;
}

bool vt_constant_float(const struct vt_builder *builder, uint32_t value, float *ret)
{
    value = vt_resolve(builder, value);
    const struct vt_tensor *tensor =
        value != VT_NO_VALUE ? builder->values[value].info.value : NULL;
    if (tensor == NULL || tensor->dtype != VT_F32 || tensor->bytes != sizeof(float)) {
        return false;
    }
    memcpy(ret, tensor->data, sizeof(*ret));
    return true;
}

const float *vt_constant_floats(const struct vt_builder *builder, uint32_t value, int64_t n)
{
    value = vt_resolve(builder, value);
    const struct vt_tensor *tensor =
        value != VT_NO_VALUE ? builder->values[value].info.value : NULL;
    if (tensor == NULL || !builder->values[value].pure || tensor->dtype != VT_F32 ||
        tensor->bytes != (size_t)n * sizeof(float)) {
        return NULL;
    }
    return tensor->data;
}
