/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fewer steps: what nobody uses goes, and a BatchNormalization, a residual Add or an activation
 * moves into the step before it where that step's operator can take it in and nobody else looks
 * at the value between the two.
 *
 * The joined step stands where the absorbed one stood: there all its inputs exist.
 */
#include <math.h>
#include <string.h>

#include "plan/internal.h"

/* --- dead steps ------------------------------------------------------------------------------ */

static void use(struct vt_builder *builder, uint32_t value)
{
    if (value != VT_NO_VALUE) {
        builder->values[value].uses++;
    }
}

static bool is_used(const struct vt_builder *builder, const struct vt_step *step)
{
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE && builder->values[step->outputs[i]].uses > 0) {
            return true;
        }
    }
    return false;
}

/* Turns the list round: uses are counted from the end. */
static void reverse(struct vt_program *program)
{
    struct vt_step *head = NULL;
    program->end = program->first;
    for (struct vt_step *step = program->first; step != NULL;) {
        struct vt_step *next = step->next;
        step->next = head;
        head = step;
        step = next;
    }
    program->first = head;
}

/* Counts the uses of all values by what is alive and marks the rest as dead. */
void vt_prune(struct vt_builder *builder, struct vt_program *program)
{
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        use(builder, program->outputs[i]);
    }
    reverse(program);
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        step->dead = !is_used(builder, step);
        if (step->dead) {
            continue;
        }
        for (uint32_t i = 0; i < step->n_inputs; i++) {
            use(builder, step->inputs[i]);
        }
        if (step->branches != NULL) {
            vt_prune(builder, step->branches->then_branch);
            vt_prune(builder, step->branches->else_branch);
        }
        if (step->loop != NULL) {
            vt_prune(builder, step->loop->body);
        }
    }
    reverse(program);
}

/* --- what can be absorbed ----------------------------------------------------------------------
 */

/* A constant with one float; false when it is something else. */
static bool constant_float(const struct vt_builder *builder, uint32_t value, float *ret)
{
    const struct vt_tensor *tensor =
        value != VT_NO_VALUE ? builder->values[value].info.value : NULL;
    if (tensor == NULL || tensor->dtype != VT_F32 || tensor->bytes != sizeof(float)) {
        return false;
    }
    memcpy(ret, tensor->data, sizeof(*ret));
    return true;
}

static bool clip_bounds(const struct vt_builder *builder, const struct vt_step *step,
                        struct vt_epilogue *ret)
{
    ret->alpha = vt_node_float(step->node, "min", -INFINITY);
    ret->beta = vt_node_float(step->node, "max", INFINITY);
    if (step->n_inputs > 1 && step->inputs[1] != VT_NO_VALUE &&
        !constant_float(builder, step->inputs[1], &ret->alpha)) {
        return false;
    }
    return step->n_inputs <= 2 || step->inputs[2] == VT_NO_VALUE ||
           constant_float(builder, step->inputs[2], &ret->beta);
}

static bool activation_of(const struct vt_builder *builder, const struct vt_step *step,
                          struct vt_epilogue *ret)
{
    *ret = (struct vt_epilogue){VT_ACT_NONE, 0.0f, 0.0f, false};
    if (vt_is_op(step->node, "Relu")) {
        ret->activation = VT_ACT_RELU;
    } else if (vt_is_op(step->node, "LeakyRelu")) {
        ret->activation = VT_ACT_LEAKY_RELU;
        ret->alpha = vt_node_float(step->node, "alpha", 0.01f);
    } else if (vt_is_op(step->node, "Clip") && clip_bounds(builder, step, ret)) {
        ret->activation = VT_ACT_CLIP;
    } else if (vt_is_op(step->node, "Sigmoid")) {
        ret->activation = VT_ACT_SIGMOID;
    } else if (vt_is_op(step->node, "HardSwish")) {
        ret->activation = VT_ACT_HARD_SWISH;
    }
    return ret->activation != VT_ACT_NONE;
}

/* The step that makes `value` in this program, if only one step looks at the value and it may
 * take in more. */
static struct vt_step *producer_of(const struct vt_builder *builder,
                                   const struct vt_program *program, uint32_t value)
{
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

/* `step` becomes what `inner` was, with its own output. */
static void absorb(struct vt_builder *builder, struct vt_step *step, struct vt_step *inner)
{
    uint32_t output = step->outputs[0];
    struct vt_step *next = step->next;
    double flops = step->flops;
    uint32_t absorbed = step->absorbed;
    *step = *inner;
    step->next = next;
    step->outputs[0] = output;
    step->n_outputs = 1;
    step->flops += flops;
    step->absorbed += absorbed + 1;
    inner->dead = true;
    builder->plan->info.fused_nodes++;
}

static void absorb_activation(struct vt_builder *builder, const struct vt_program *program,
                              struct vt_step *step)
{
    struct vt_epilogue activation;
    if (step->kind != VT_STEP_OP || !activation_of(builder, step, &activation)) {
        return;
    }
    struct vt_step *inner = producer_of(builder, program, step->inputs[0]);
    if (inner != NULL) {
        absorb(builder, step, inner);
        activation.has_residual = step->epilogue.has_residual;
        step->epilogue = activation;
    }
}

static bool same_known_shape(const struct vt_shape_info *a, const struct vt_shape_info *b)
{
    return a->dtype == b->dtype && vt_shape_info_known(a) && vt_shape_info_known(b) &&
           a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

/* Whether `a` stands behind `b` in the program. */
static bool is_later(const struct vt_step *a, const struct vt_step *b)
{
    while (b != NULL && b != a) {
        b = b->next;
    }
    return b == a;
}

static void absorb_residual(struct vt_builder *builder, const struct vt_program *program,
                            struct vt_step *step)
{
    if (step->kind != VT_STEP_OP || !vt_is_op(step->node, "Add") || step->epilogue.has_residual ||
        step->n_inputs != 2 || step->inputs[0] == step->inputs[1] ||
        !same_known_shape(&builder->values[step->inputs[0]].info,
                          &builder->values[step->inputs[1]].info)) {
        return;
    }
    struct vt_step *inner[2];
    for (uint32_t i = 0; i < 2; i++) {
        inner[i] = producer_of(builder, program, step->inputs[i]);
        if (inner[i] != NULL && inner[i]->epilogue.has_residual) {
            inner[i] = NULL;
        }
    }
    /* The one that runs later: its inputs are kept for a shorter while. */
    uint32_t chosen =
        inner[0] == NULL || (inner[1] != NULL && is_later(inner[1], inner[0])) ? 1 : 0;
    if (inner[chosen] == NULL) {
        return;
    }
    uint32_t residual = step->inputs[1 - chosen];
    absorb(builder, step, inner[chosen]);
    step->inputs[step->n_inputs++] = residual;
    step->epilogue.has_residual = true;
}

/* --- BatchNormalization ------------------------------------------------------------------------
 */

static const float *constant_row(const struct vt_builder *builder, uint32_t value, int64_t n)
{
    const struct vt_tensor *tensor =
        value != VT_NO_VALUE ? builder->values[value].info.value : NULL;
    if (tensor == NULL || !builder->values[value].pure || tensor->dtype != VT_F32 ||
        tensor->bytes != (size_t)n * sizeof(float)) {
        return NULL;
    }
    return tensor->data;
}

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

static enum vt_status absorb_norm(struct vt_builder *builder, const struct vt_program *program,
                                  struct vt_step *step)
{
    if (step->kind != VT_STEP_OP || !vt_is_op(step->node, "BatchNormalization") ||
        step->n_inputs != 5 || vt_node_int(step->node, "training_mode", 0) != 0 ||
        vt_node_int(step->node, "spatial", 1) != 1) {
        return VT_OK;
    }
    for (uint32_t i = 1; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            return VT_OK;
        }
    }
    struct vt_step *inner = producer_of(builder, program, step->inputs[0]);
    const struct vt_shape_info *info = &builder->values[step->inputs[0]].info;
    if (inner == NULL || !takes_affine(builder, inner) || info->rank < 2 ||
        info->rank == VT_RANK_UNKNOWN || info->dim[1] <= 0) {
        return VT_OK;
    }
    const float *row[4];
    for (uint32_t i = 0; i < 4; i++) {
        row[i] = constant_row(builder, step->inputs[i + 1], info->dim[1]);
        if (row[i] == NULL) {
            return VT_OK;
        }
    }
    struct vt_channel_affine affine;
    enum vt_status status = affine_of(builder, step, row, info->dim[1], &affine);
    if (status != VT_OK) {
        return status;
    }
    absorb(builder, step, inner);
    step->affine = affine;
    return VT_OK;
}

enum vt_status vt_fuse(struct vt_builder *builder, struct vt_program *program)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        enum vt_status status = VT_OK;
        if (step->dead) {
            continue;
        }
        if (step->branches != NULL) {
            status = vt_fuse(builder, step->branches->then_branch);
            if (status == VT_OK) {
                status = vt_fuse(builder, step->branches->else_branch);
            }
        } else if (step->loop != NULL) {
            status = vt_fuse(builder, step->loop->body);
        } else {
            status = absorb_norm(builder, program, step);
            absorb_residual(builder, program, step);
            absorb_activation(builder, program, step);
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}
