/* SPDX-License-Identifier: Apache-2.0 */
/* An activation moves into the step before it, whose kernel applies it before it stores. */
#include <math.h>
#include <string.h>

#include "plan/passes/pass.h"

static bool clip_bounds(const struct vt_builder *builder, const struct vt_step *step,
                        struct vt_epilogue *ret)
{
    ret->alpha = vt_node_float(step->node, "min", -INFINITY);
    ret->beta = vt_node_float(step->node, "max", INFINITY);
    if (step->n_inputs > 1 && step->inputs[1] != VT_NO_VALUE &&
        !vt_constant_float(builder, step->inputs[1], &ret->alpha)) {
        return false;
    }
    return step->n_inputs <= 2 || step->inputs[2] == VT_NO_VALUE ||
           vt_constant_float(builder, step->inputs[2], &ret->beta);
}

static bool activation_of(const struct vt_builder *builder, const struct vt_step *step,
                          struct vt_epilogue *ret)
{
    *ret = (struct vt_epilogue){.activation = VT_ACT_NONE};
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
    } else if (vt_is_op(step->node, "Tanh")) {
        ret->activation = VT_ACT_TANH;
    } else if (vt_is_op(step->node, "Gelu")) {
        const char *way = vt_node_string(step->node, "approximate", "none");
        ret->activation = strcmp(way, "tanh") == 0 ? VT_ACT_GELU_TANH : VT_ACT_GELU;
    } else if (vt_is_op(step->node, "Swish") && vt_node_float(step->node, "alpha", 1.0f) == 1.0f) {
        ret->activation = VT_ACT_SILU;
    }
    return ret->activation != VT_ACT_NONE;
}

VT_PASS(fuse_activation)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        struct vt_epilogue activation;
        if (step->dead || step->kind != VT_STEP_OP || !activation_of(builder, step, &activation)) {
            continue;
        }
        struct vt_step *inner = vt_step_open(builder, program, step->inputs[0]);
        if (inner != NULL) {
            vt_step_absorb(builder, step, inner);
            step->epilogue.activation = activation.activation;
            step->epilogue.alpha = activation.alpha;
            step->epilogue.beta = activation.beta;
            ++*changes;
        }
    }
    return VT_OK;
}
