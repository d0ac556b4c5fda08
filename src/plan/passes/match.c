/* SPDX-License-Identifier: Apache-2.0 */
/* How patterns are recognised: who makes a value, and which constants stand where. */
#include <math.h>
#include <string.h>

#include "kernels/convert/convert.h"
#include "plan/passes/pass.h"

bool vt_is_float(enum vt_dtype dtype)
{
    return dtype == VT_F32 || dtype == VT_F16 || dtype == VT_BF16;
}

bool vt_same_shape(const struct vt_shape_info *a, const struct vt_shape_info *b)
{
    return a->dtype == b->dtype && vt_shape_info_known(a) && vt_shape_info_known(b) &&
           a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

bool vt_keeps_shape(const struct vt_builder *builder, const struct vt_step *step, uint32_t value)
{
    const struct vt_shape_info *out = vt_info_of(builder, step->outputs[0]);
    const struct vt_shape_info *in = vt_info_of(builder, value);
    bool same = out->dtype == in->dtype && in->rank != VT_RANK_UNKNOWN && out->rank == in->rank;
    for (uint32_t d = 0; same && d < in->rank; d++) {
        same = in->dim[d] == out->dim[d] || in->dim[d] < 0 || out->dim[d] < 0;
    }
    return same;
}

/* --- constants ------------------------------------------------------------------------------- */

static const struct vt_tensor *constant_of(const struct vt_builder *builder, uint32_t value)
{
    value = vt_resolve(builder, value);
    return value != VT_NO_VALUE ? builder->values[value].info.value : NULL;
}

bool vt_constant_float(const struct vt_builder *builder, uint32_t value, float *ret)
{
    const struct vt_tensor *tensor = constant_of(builder, value);
    if (tensor == NULL || tensor->dtype != VT_F32 || tensor->bytes != sizeof(float)) {
        return false;
    }
    memcpy(ret, tensor->data, sizeof(*ret));
    return true;
}

bool vt_constant_number(const struct vt_builder *builder, uint32_t value, double *ret)
{
    const struct vt_tensor *tensor = constant_of(builder, value);
    if (tensor == NULL || (!vt_is_float(tensor->dtype) && tensor->dtype != VT_F64) ||
        tensor->bytes != vt_dtype_bytes(tensor->dtype)) {
        return false;
    }
    vt_convert(tensor->dtype, tensor->data, VT_F64, ret, 1);
    return true;
}

bool vt_constant_ints(const struct vt_builder *builder, uint32_t value, int64_t *ret, uint32_t *n)
{
    const struct vt_tensor *tensor = constant_of(builder, value);
    if (tensor == NULL || tensor->dtype != VT_I64 || tensor->rank > 1 ||
        tensor->bytes > VT_RANK_MAX * sizeof(int64_t)) {
        return false;
    }
    if (tensor->bytes > 0) {
        memcpy(ret, tensor->data, tensor->bytes);
    }
    *n = (uint32_t)(tensor->bytes / sizeof(int64_t));
    return true;
}

const float *vt_constant_floats(const struct vt_builder *builder, uint32_t value, int64_t n)
{
    const struct vt_tensor *tensor = constant_of(builder, value);
    if (tensor == NULL || !builder->values[vt_resolve(builder, value)].pure ||
        tensor->dtype != VT_F32 || tensor->bytes != (size_t)n * sizeof(float)) {
        return NULL;
    }
    return tensor->data;
}

bool vt_is_near(double x, double wanted)
{
    return fabs(x - wanted) <= 2e-6 * fabs(wanted);
}

/* --- steps ----------------------------------------------------------------------------------- */

bool vt_step_is(const struct vt_step *step, const char *op)
{
    if (step->dead || (step->kind != VT_STEP_OP && step->kind != VT_STEP_VIEW) ||
        step->op == NULL || step->n_outputs < 1 || step->outputs[0] == VT_NO_VALUE ||
        step->affine.scale != NULL || step->order.given[0] || step->order.given[1] ||
        step->epilogue.activation != VT_ACT_NONE || step->epilogue.has_residual ||
        step->epilogue.has_bias || !vt_is_op(step->node, op)) {
        return false;
    }
    for (uint32_t i = 1; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            return false;
        }
    }
    return true;
}

struct vt_step *vt_match_step(struct vt_match *match, uint32_t value, const char *op, uint32_t uses)
{
    value = vt_resolve(match->builder, value);
    if (value == VT_NO_VALUE) {
        return NULL;
    }
    const struct vt_build_value *made = &match->builder->values[value];
    struct vt_step *step = made->producer;
    if (made->info.value != NULL || step == NULL || made->home != match->program ||
        !vt_step_is(step, op) || step->outputs[0] != value || (uses != 0 && made->uses != uses)) {
        return NULL;
    }
    for (uint32_t i = 0; i < match->n; i++) {
        if (match->inner[i] == step) {
            return step;
        }
    }
    if (uses == 0) {
        return step;
    }
    if (match->n == VT_MATCH_STEPS) {
        return NULL;
    }
    match->inner[match->n++] = step;
    return step;
}

bool vt_match_number(const struct vt_match *match, const struct vt_step *step, double *ret_number,
                     uint32_t *ret_other)
{
    for (uint32_t i = 0; step->n_inputs == 2 && i < 2; i++) {
        if (vt_constant_number(match->builder, step->inputs[i], ret_number)) {
            *ret_other = vt_resolve(match->builder, step->inputs[1 - i]);
            return true;
        }
    }
    return false;
}

struct vt_step *vt_match_either(struct vt_match *match, const struct vt_step *step, const char *op,
                                uint32_t uses, uint32_t *ret_other)
{
    for (uint32_t i = 0; step->n_inputs == 2 && i < 2; i++) {
        struct vt_step *found = vt_match_step(match, step->inputs[i], op, uses);
        if (found != NULL) {
            *ret_other = vt_resolve(match->builder, step->inputs[1 - i]);
            return found;
        }
    }
    return NULL;
}

bool vt_match_axes(const struct vt_builder *builder, const struct vt_step *step, uint32_t *ret_axes)
{
    const struct vt_shape_info *x = vt_info_of(builder, step->inputs[0]);
    int64_t given[VT_RANK_MAX];
    size_t n = 0;
    const int64_t *axes = vt_node_ints(step->node, "axes", &n);
    if (axes == NULL && step->n_inputs > 1 && step->inputs[1] != VT_NO_VALUE) {
        uint32_t count = 0;
        if (!vt_constant_ints(builder, step->inputs[1], given, &count)) {
            return false;
        }
        axes = given;
        n = count;
    }
    if (axes == NULL || n == 0 || x->rank == VT_RANK_UNKNOWN || n > x->rank ||
        vt_node_int(step->node, "keepdims", 1) == 0) {
        return false;
    }
    uint32_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
        if (axis < 0 || axis >= x->rank || (seen & 1u << axis) != 0) {
            return false;
        }
        seen |= 1u << axis;
    }
    *ret_axes = seen;
    return true;
}

bool vt_match_last_axes(const struct vt_builder *builder, const struct vt_step *step,
                        uint32_t *ret_first)
{
    uint32_t axes = 0;
    if (!vt_match_axes(builder, step, &axes)) {
        return false;
    }
    const uint32_t rank = vt_info_of(builder, step->inputs[0])->rank;
    *ret_first = (uint32_t)__builtin_ctz(axes);
    return axes == ((1u << rank) - 1u) - ((1u << *ret_first) - 1u);
}

bool vt_transpose_perm(const struct vt_node *node, uint32_t rank, int64_t *ret_perm)
{
    size_t n = 0;
    uint32_t seen = 0;
    const int64_t *perm = vt_node_ints(node, "perm", &n);
    if (rank > VT_RANK_MAX || (perm != NULL && n != rank)) {
        return false;
    }
    for (uint32_t d = 0; d < rank; d++) {
        ret_perm[d] = perm != NULL ? perm[d] : (int64_t)(rank - 1 - d);
        if (ret_perm[d] < 0 || ret_perm[d] >= rank || (seen & 1u << ret_perm[d]) != 0) {
            return false;
        }
        seen |= 1u << ret_perm[d];
    }
    return true;
}
