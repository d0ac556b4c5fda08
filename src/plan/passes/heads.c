/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where queries, keys and values are turned from [batch][length][heads][size] to
 * [batch][heads][length][size] and the result of their Attention is turned back, the Attention
 * reads and writes the first order and nothing is turned.
 */
#include <string.h>

#include "plan/passes/pass.h"

/* Whether a Transpose exchanges length and heads. */
static bool exchanges_heads(const struct vt_builder *builder, const struct vt_step *step)
{
    static const int64_t wanted[] = {0, 2, 1, 3};
    int64_t perm[VT_RANK_MAX];
    const struct vt_shape_info *x = vt_info_of(builder, step->inputs[0]);
    return x->rank == 4 && vt_shape_info_known(x) && vt_transpose_perm(step->node, 4, perm) &&
           memcmp(perm, wanted, sizeof(wanted)) == 0;
}

/* A value of rank 4 is from now on its heads side by side: the step gives its input, of that
 * order, as rows. */
static enum vt_status give_rows(struct vt_builder *builder, struct vt_step *turn)
{
    const struct vt_shape_info *from = vt_info_of(builder, turn->inputs[0]);
    struct vt_shape_info *out = &builder->values[turn->outputs[0]].info;
    out->rank = 3;
    out->dim[0] = from->dim[0];
    out->dim[1] = from->dim[1];
    out->dim[2] = from->dim[2] * from->dim[3];
    return vt_step_view(builder, turn, turn->inputs[0]);
}

static enum vt_status take_rows(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *turn, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct vt_step *turns[3];
    struct vt_step *step = vt_match_step(&match, turn->inputs[0], "Attention", 1);
    enum vt_status status = VT_OK;
    if (step == NULL || step->n_inputs < 3 || step->node->n_attrs != 1 ||
        strcmp(step->node->attrs[0].name, "scale") != 0) {
        return VT_OK;
    }
    for (uint32_t i = 0; i < 3; i++) {
        turns[i] = vt_match_step(&match, step->inputs[i], "Transpose", 1);
        if (turns[i] == NULL || !exchanges_heads(builder, turns[i])) {
            return VT_OK;
        }
    }
    const int64_t heads = vt_info_of(builder, step->inputs[0])->dim[1];
    for (uint32_t i = 0; i < 3 && status == VT_OK; i++) {
        status = give_rows(builder, turns[i]);
    }
    const struct vt_shape_info *back = vt_info_of(builder, turn->outputs[0]);
    struct vt_shape_info *out = &builder->values[step->outputs[0]].info;
    out->rank = 3;
    out->dim[0] = back->dim[0];
    out->dim[1] = back->dim[1];
    out->dim[2] = back->dim[2] * back->dim[3];
    const struct vt_attr attrs[] = {step->node->attrs[0],
                                    {.name = "q_num_heads", .type = VT_ATTR_INT, .i = heads},
                                    {.name = "kv_num_heads", .type = VT_ATTR_INT, .i = heads}};
    if (status == VT_OK) {
        status = vt_step_become(builder, step,
                                &(struct vt_step_form){.op = "Attention",
                                                       .inputs = step->inputs,
                                                       .n_inputs = step->n_inputs,
                                                       .attrs = attrs,
                                                       .n_attrs = 3},
                                NULL);
    }
    ++*changes;
    return status == VT_OK ? vt_step_view(builder, turn, turn->inputs[0]) : status;
}

VT_PASS(heads)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (vt_step_is(step, "Transpose") && exchanges_heads(builder, step)) {
            status = take_rows(builder, program, step, changes);
        }
    }
    return status;
}
