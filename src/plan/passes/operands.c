/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product whose operand is made by a Transpose reads what is transposed, in that order: its
 * kernel packs operands anyway, from wherever their elements are. Gemm has attributes for that, a
 * MatMul gets the permutation beside its node.
 */
#include <string.h>

#include "plan/passes/pass.h"

/* A Transpose of known float32 shape that only this step looks at. */
static struct vt_step *turned_operand(struct vt_match *match, uint32_t value, int64_t *ret_perm)
{
    struct vt_step *turn = vt_match_step(match, value, "Transpose", 1);
    if (turn == NULL) {
        return NULL;
    }
    const struct vt_shape_info *x = vt_info_of(match->builder, turn->inputs[0]);
    return x->dtype == VT_F32 && vt_shape_info_known(x) && x->rank >= 2 &&
                   vt_transpose_perm(turn->node, x->rank, ret_perm)
               ? turn
               : NULL;
}

static enum vt_status turn_matmul(struct vt_builder *builder, const struct vt_program *program,
                                  struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct vt_operand_order order = {0};
    uint32_t inputs[2] = {step->inputs[0], step->inputs[1]};
    int64_t perm[VT_RANK_MAX];
    if (!vt_shape_info_known(vt_info_of(builder, inputs[0])) ||
        !vt_shape_info_known(vt_info_of(builder, inputs[1]))) {
        return VT_OK;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct vt_step *turn = turned_operand(&match, inputs[i], perm);
        if (turn == NULL) {
            continue;
        }
        inputs[i] = vt_resolve(builder, turn->inputs[0]);
        order.given[i] = true;
        for (uint32_t d = 0; d < vt_info_of(builder, inputs[i])->rank; d++) {
            order.perm[i][d] = (uint8_t)perm[d];
        }
        ++*changes;
    }
    if (!order.given[0] && !order.given[1]) {
        return VT_OK;
    }
    step->order = order;
    return vt_step_reform(builder, step, inputs, 2);
}

static enum vt_status turn_gemm(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    uint32_t inputs[3] = {step->inputs[0], step->inputs[1], VT_NO_VALUE};
    int64_t turned[2] = {vt_node_int(step->node, "transA", 0),
                         vt_node_int(step->node, "transB", 0)};
    int64_t perm[VT_RANK_MAX];
    bool changed = false;
    for (uint32_t i = 0; i < 2; i++) {
        const struct vt_step *turn = turned_operand(&match, inputs[i], perm);
        if (turn != NULL && perm[0] == 1) {
            inputs[i] = turn->inputs[0];
            turned[i] = turned[i] == 0;
            changed = true;
            ++*changes;
        }
    }
    if (!changed) {
        return VT_OK;
    }
    inputs[2] = step->n_inputs > 2 ? step->inputs[2] : VT_NO_VALUE;
    const struct vt_attr attrs[] = {
        {.name = "transA", .type = VT_ATTR_INT, .i = turned[0]},
        {.name = "transB", .type = VT_ATTR_INT, .i = turned[1]},
        {.name = "alpha", .type = VT_ATTR_FLOAT, .f = vt_node_float(step->node, "alpha", 1.0f)},
        {.name = "beta", .type = VT_ATTR_FLOAT, .f = vt_node_float(step->node, "beta", 1.0f)}};
    return vt_step_become(builder, step,
                          &(struct vt_step_form){.op = "Gemm",
                                                 .inputs = inputs,
                                                 .n_inputs = step->n_inputs,
                                                 .attrs = attrs,
                                                 .n_attrs = 4},
                          NULL);
}

VT_PASS(operands)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (step->n_inputs == 2 && vt_step_is(step, "MatMul") && !step->order.given[0] &&
            !step->order.given[1]) {
            status = turn_matmul(builder, program, step, changes);
        } else if (step->n_inputs >= 2 && step->n_inputs <= 3 && vt_step_is(step, "Gemm")) {
            status = turn_gemm(builder, program, step, changes);
        }
    }
    return status;
}
