/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum of a product's or a convolution's result and a row, a number for each column or channel,
 * moves into that step: as the C of a Gemm, the bias of a convolution, or beside a MatMul.
 */
#include <string.h>

#include "plan/passes/pass.h"

/* Whether broadcasting the value adds the same n numbers along `axis` of a value of that rank. */
static bool is_row(const struct vt_shape_info *row, uint32_t rank, uint32_t axis, int64_t n)
{
    if (row->dtype != VT_F32 || !vt_shape_info_known(row) || row->rank > rank ||
        row->rank + axis < rank) {
        return false;
    }
    for (uint32_t d = 0; d < row->rank; d++) {
        const bool is_axis = d + rank - row->rank == axis;
        if (row->dim[d] != (is_axis ? n : 1)) {
            return false;
        }
    }
    return true;
}

/* The step before the sum, and the row that is added to its result along an axis. */
static struct vt_step *before_sum(const struct vt_builder *builder,
                                  const struct vt_program *program, const struct vt_step *step,
                                  int axis_from_start, uint32_t *ret_row)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct vt_step *inner = vt_step_open(builder, program, step->inputs[i]);
        const uint32_t row = vt_resolve(builder, step->inputs[1 - i]);
        const struct vt_shape_info *x = vt_info_of(builder, step->inputs[i]);
        if (inner == NULL || x->rank == VT_RANK_UNKNOWN || x->rank < 2) {
            continue;
        }
        const uint32_t axis = axis_from_start > 0 ? (uint32_t)axis_from_start : x->rank - 1;
        if (axis < x->rank && x->dim[axis] > 0 && !inner->epilogue.has_residual &&
            !inner->epilogue.has_bias && inner->affine.scale == NULL &&
            is_row(vt_info_of(builder, row), x->rank, axis, x->dim[axis])) {
            *ret_row = row;
            return inner;
        }
    }
    return NULL;
}

static bool is_matrices(const struct vt_builder *builder, const struct vt_step *inner)
{
    return vt_info_of(builder, inner->inputs[0])->rank >= 2 &&
           vt_info_of(builder, inner->inputs[0])->rank != VT_RANK_UNKNOWN &&
           vt_info_of(builder, inner->inputs[1])->rank >= 2 &&
           vt_info_of(builder, inner->inputs[1])->rank != VT_RANK_UNKNOWN;
}

static bool lacks_third_input(const struct vt_step *inner)
{
    return inner->n_inputs == 2 || (inner->n_inputs == 3 && inner->inputs[2] == VT_NO_VALUE);
}

/* The same step with a third input. */
static enum vt_status give_third(struct vt_builder *builder, struct vt_step *step,
                                 struct vt_step *inner, uint32_t row)
{
    vt_step_absorb(builder, step, inner);
    const uint32_t inputs[] = {step->inputs[0], step->inputs[1], row};
    return vt_step_reform(builder, step, inputs, 3);
}

/* The row as a list of its own: a convolution wants one extent. */
static uint32_t as_list(struct vt_builder *builder, uint32_t row, int64_t n)
{
    const struct vt_tensor *tensor = builder->values[row].info.value;
    struct vt_tensor list = {
        .dtype = VT_F32, .rank = 1, .dim = {n}, .bytes = tensor->bytes, .data = tensor->data};
    return tensor->rank == 1 ? row : vt_value_constant(builder, &list, builder->values[row].pure);
}

static enum vt_status add_to_product(struct vt_builder *builder, const struct vt_program *program,
                                     struct vt_step *step, uint32_t *changes)
{
    uint32_t row = VT_NO_VALUE;
    struct vt_step *inner = before_sum(builder, program, step, 0, &row);
    if (inner == NULL) {
        return VT_OK;
    }
    if (vt_step_is(inner, "Gemm") && lacks_third_input(inner) &&
        vt_node_float(inner->node, "beta", 1.0f) == 1.0f) {
        ++*changes;
        return give_third(builder, step, inner, row);
    }
    if ((inner->op->flags & VT_OP_BIAS) == 0 || !is_matrices(builder, inner)) {
        return VT_OK;
    }
    vt_step_absorb(builder, step, inner);
    step->inputs[step->n_inputs++] = row;
    step->epilogue.has_bias = true;
    vt_value_use(builder, row);
    ++*changes;
    return VT_OK;
}

static enum vt_status add_to_convolution(struct vt_builder *builder,
                                         const struct vt_program *program, struct vt_step *step,
                                         uint32_t *changes)
{
    uint32_t row = VT_NO_VALUE;
    struct vt_step *inner = before_sum(builder, program, step, 1, &row);
    if (inner == NULL || !(vt_step_is(inner, "Conv") || vt_step_is(inner, "ConvTranspose")) ||
        !lacks_third_input(inner) || !vt_is_constant(builder, row) || !builder->values[row].pure) {
        return VT_OK;
    }
    const uint32_t list = as_list(builder, row, vt_info_of(builder, inner->outputs[0])->dim[1]);
    if (list == VT_NO_VALUE) {
        return VT_ERR_MEMORY;
    }
    ++*changes;
    return give_third(builder, step, inner, list);
}

VT_PASS(fuse_bias)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (step->n_inputs == 2 && vt_step_is(step, "Add")) {
            status = add_to_convolution(builder, program, step, changes);
        }
        if (status == VT_OK && step->n_inputs == 2 && vt_step_is(step, "Add")) {
            status = add_to_product(builder, program, step, changes);
        }
    }
    return status;
}
