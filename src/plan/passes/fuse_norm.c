/* SPDX-License-Identifier: Apache-2.0 */
/* A BatchNormalization moves into the weights and the bias of the convolution before it. */
#include <math.h>

#include "plan/passes/pass.h"

/* scale = gamma / sqrt(variance + epsilon), shift = beta - mean * scale; rounded once. */
static void compute_affine(const struct vt_step *norm, const float *const row[4], int64_t n,
                           float *ret_scale, float *ret_shift)
{
    double epsilon = (double)vt_node_float(norm->node, "epsilon", 1e-5f);
    for (int64_t c = 0; c < n; c++) {
        double scale = (double)row[0][c] / sqrt((double)row[3][c] + epsilon);
        ret_scale[c] = (float)scale;
        ret_shift[c] = (float)((double)row[1][c] - (double)row[2][c] * scale);
    }
}

/* The two rows, kept with the weights under the number of the normalised value. */
static enum vt_status affine_of(struct vt_builder *builder, const struct vt_step *norm,
                                const float *const row[4], int64_t n, struct vt_channel_affine *ret)
{
    struct vt_weights *weights = builder->plan->weights;
    const struct vt_tensor *kept = vt_weights_constant(weights, norm->outputs[0]);
    if (kept == NULL) {
        struct vt_tensor rows = {.dtype = VT_F32, .rank = 2, .dim = {2, n}};
        rows.bytes = 2 * (size_t)n * sizeof(float);
        rows.data = vt_alloc(rows.bytes);
        if (rows.data == NULL) {
            return vt_out_of_memory(builder->err);
        }
        compute_affine(norm, row, n, rows.data, (float *)rows.data + n);
        kept = vt_weights_keep(weights, norm->outputs[0], &rows);
        if (kept == NULL) {
            vt_free(rows.data);
            return vt_out_of_memory(builder->err);
        }
    }
    ret->scale = kept->data;
    ret->shift = (const float *)kept->data + n;
    return VT_OK;
}

/* The convolution's own weights and bias must be there to be rescaled. */
static bool takes_affine(const struct vt_builder *builder, const struct vt_step *inner)
{
    if ((inner->op->flags & VT_OP_AFFINE) == 0 || inner->affine.scale != NULL ||
        inner->epilogue.has_residual || inner->n_inputs < 2) {
        return false;
    }
    for (uint32_t i = 1; i < inner->n_inputs; i++) {
        if (inner->inputs[i] != VT_NO_VALUE && !(vt_is_constant(builder, inner->inputs[i]) &&
                                                 builder->values[inner->inputs[i]].pure)) {
            return false;
        }
    }
    return true;
}

static bool is_norm(const struct vt_step *step)
{
    if (step->dead || step->kind != VT_STEP_OP || !vt_is_op(step->node, "BatchNormalization") ||
        step->n_inputs != 5 || vt_node_int(step->node, "training_mode", 0) != 0 ||
        vt_node_int(step->node, "spatial", 1) != 1) {
        return false;
    }
    for (uint32_t i = 1; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            return false;
        }
    }
    return true;
}

static enum vt_status absorb_norm(struct vt_builder *builder, const struct vt_program *program,
                                  struct vt_step *step, uint32_t *changes)
{
    struct vt_step *inner = vt_step_open(builder, program, step->inputs[0]);
    const struct vt_shape_info *info = &builder->values[step->inputs[0]].info;
    if (inner == NULL || !takes_affine(builder, inner) || info->rank < 2 ||
        info->rank == VT_RANK_UNKNOWN || info->dim[1] <= 0) {
        return VT_OK;
    }
    const float *row[4];
    for (uint32_t i = 0; i < 4; i++) {
        row[i] = vt_constant_floats(builder, step->inputs[i + 1], info->dim[1]);
        if (row[i] == NULL) {
            return VT_OK;
        }
    }
    struct vt_channel_affine affine;
    enum vt_status status = affine_of(builder, step, row, info->dim[1], &affine);
    if (status != VT_OK) {
        return status;
    }
    vt_step_absorb(builder, step, inner);
    step->affine = affine;
    ++*changes;
    return VT_OK;
}

VT_PASS(fuse_norm)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (is_norm(step)) {
            status = absorb_norm(builder, program, step, changes);
        }
    }
    return status;
}
