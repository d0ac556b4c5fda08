/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp(x) over its sum along one axis is Softmax(x); with x = z - max(z) along that axis it is
 * Softmax(z), which takes off the maximum by itself.
 */
#include "plan/passes/pass.h"

/* The one axis of a reduction that keeps it as an extent of 1. */
static bool axis_of(const struct vt_builder *builder, const struct vt_step *step, int64_t *ret_axis)
{
    const struct vt_shape_info *x = vt_info_of(builder, step->inputs[0]);
    uint32_t axes = 0;
    if (!vt_match_axes(builder, step, &axes) || (axes & (axes - 1)) != 0) {
        return false;
    }
    *ret_axis = __builtin_ctz(axes);
    return x->rank != VT_RANK_UNKNOWN;
}

/* z of z - max(z) along the axis; x itself where it is not made so. */
static uint32_t without_maximum(struct vt_match *match, uint32_t x, int64_t axis)
{
    const uint32_t n = match->n;
    int64_t other = -1;
    struct vt_step *difference = vt_match_step(match, x, "Sub", 1);
    if (difference != NULL) {
        struct vt_step *most = vt_match_step(match, difference->inputs[1], "ReduceMax", 1);
        const uint32_t z = vt_resolve(match->builder, difference->inputs[0]);
        if (most != NULL && vt_resolve(match->builder, most->inputs[0]) == z &&
            axis_of(match->builder, most, &other) && other == axis) {
            return z;
        }
    }
    match->n = n;
    return x;
}

/* The sum behind a quotient e / s, or a product e · (1 / s). */
static struct vt_step *sum_of(struct vt_match *match, const struct vt_step *step, uint32_t *ret_e)
{
    if (vt_step_is(step, "Div")) {
        *ret_e = vt_resolve(match->builder, step->inputs[0]);
        return vt_match_step(match, step->inputs[1], "ReduceSum", 1);
    }
    struct vt_step *inverse =
        vt_step_is(step, "Mul") ? vt_match_either(match, step, "Reciprocal", 1, ret_e) : NULL;
    return inverse != NULL ? vt_match_step(match, inverse->inputs[0], "ReduceSum", 1) : NULL;
}

static enum vt_status recognise(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    uint32_t e = VT_NO_VALUE;
    int64_t axis = -1;
    const struct vt_step *sum = sum_of(&match, step, &e);
    if (sum == NULL || vt_resolve(builder, sum->inputs[0]) != e ||
        !vt_is_float(vt_info_of(builder, e)->dtype) || !vt_keeps_shape(builder, step, e) ||
        !axis_of(builder, sum, &axis)) {
        return VT_OK;
    }
    const struct vt_step *power = vt_match_step(&match, e, "Exp", 2);
    if (power == NULL) {
        return VT_OK;
    }
    const uint32_t z = without_maximum(&match, vt_resolve(builder, power->inputs[0]), axis);
    const struct vt_attr attr = {.name = "axis", .type = VT_ATTR_INT, .i = axis};
    ++*changes;
    return vt_step_become(
        builder, step,
        &(struct vt_step_form){
            .op = "Softmax", .inputs = &z, .n_inputs = 1, .attrs = &attr, .n_attrs = 1},
        &match);
}

VT_PASS(softmax)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (step->n_inputs == 2) {
            status = recognise(builder, program, step, changes);
        }
    }
    return status;
}
