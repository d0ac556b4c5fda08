/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators do with images, [batch][channels][spatial] in float32 of known extents: which of
 * their inputs are such, and whether they can have the channels last. Each works on one image of
 * the batch at a time.
 */
#include <string.h>

#include "plan/passes/pass.h"

typedef enum vt_image_wish (*rule_func)(const struct vt_builder *builder,
                                        const struct vt_step *step, uint32_t *ret_images);

static const struct vt_shape_info *info_of(const struct vt_builder *builder, uint32_t value)
{
    value = vt_resolve(builder, value);
    return value != VT_NO_VALUE ? &builder->values[value].info : NULL;
}

static bool is_image(const struct vt_builder *builder, uint32_t value)
{
    const struct vt_shape_info *info = info_of(builder, value);
    return info != NULL && info->dtype == VT_F32 && vt_shape_info_known(info) && info->rank >= 3 &&
           info->rank <= 5;
}

/* Input 0 and output 0 are images, no other output is there; the residual is one too. */
static bool maps_image(const struct vt_builder *builder, const struct vt_step *step,
                       uint32_t *ret_images)
{
    *ret_images = 1;
    if (step->epilogue.has_residual) {
        *ret_images |= UINT32_C(1) << (step->n_inputs - 1);
    }
    for (uint32_t i = 1; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            return false;
        }
    }
    return step->n_inputs > 0 && step->n_outputs > 0 && step->n_inputs <= 32 &&
           is_image(builder, step->inputs[0]) && is_image(builder, step->outputs[0]);
}

/* Fewer output channels than this fill too little of a tile to be worth reordering for. */
#define WORTHWHILE_CHANNELS 16

static enum vt_image_wish rule_conv(const struct vt_builder *builder, const struct vt_step *step,
                                    uint32_t *ret_images)
{
    if (!maps_image(builder, step, ret_images)) {
        return VT_IMAGE_NOT;
    }
    return info_of(builder, step->outputs[0])->dim[1] >= WORTHWHILE_CHANNELS ? VT_IMAGE_WANTS
                                                                             : VT_IMAGE_FOLLOWS;
}

/* Elements are changed one by one; other inputs hold a single number or nothing. */
static enum vt_image_wish rule_unary(const struct vt_builder *builder, const struct vt_step *step,
                                     uint32_t *ret_images)
{
    if (!maps_image(builder, step, ret_images)) {
        return VT_IMAGE_NOT;
    }
    for (uint32_t i = 1; i < step->n_inputs; i++) {
        const struct vt_shape_info *info = info_of(builder, step->inputs[i]);
        if (info != NULL && (info->value == NULL || info->rank != 0)) {
            return VT_IMAGE_NOT;
        }
    }
    return VT_IMAGE_FOLLOWS;
}

/* A window that moves over each channel, without the places of the maxima. */
static enum vt_image_wish rule_pool(const struct vt_builder *builder, const struct vt_step *step,
                                    uint32_t *ret_images)
{
    return maps_image(builder, step, ret_images) ? VT_IMAGE_FOLLOWS : VT_IMAGE_NOT;
}

/* Other inputs are a number for each channel; statistics are given, or of one image. */
static enum vt_image_wish rule_norm(const struct vt_builder *builder, const struct vt_step *step,
                                    uint32_t *ret_images)
{
    if (!maps_image(builder, step, ret_images) ||
        vt_node_int(step->node, "training_mode", 0) != 0) {
        return VT_IMAGE_NOT;
    }
    return VT_IMAGE_FOLLOWS;
}

/* Along the pixels only. */
static enum vt_image_wish rule_resize(const struct vt_builder *builder, const struct vt_step *step,
                                      uint32_t *ret_images)
{
    if (!maps_image(builder, step, ret_images)) {
        return VT_IMAGE_NOT;
    }
    const struct vt_shape_info *in = info_of(builder, step->inputs[0]);
    const struct vt_shape_info *out = info_of(builder, step->outputs[0]);
    return in->dim[0] == out->dim[0] && in->dim[1] == out->dim[1] ? VT_IMAGE_FOLLOWS : VT_IMAGE_NOT;
}

static bool same_extents(const struct vt_shape_info *a, const struct vt_shape_info *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

static bool is_single(const struct vt_shape_info *info)
{
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->dim[d] != 1) {
            return false;
        }
    }
    return info->rank <= VT_RANK_MAX;
}

/* Images of equal extents, and single numbers. */
static enum vt_image_wish rule_elementwise(const struct vt_builder *builder,
                                           const struct vt_step *step, uint32_t *ret_images)
{
    *ret_images = 0;
    if (step->n_outputs != 1 || step->n_inputs > 32 || !is_image(builder, step->outputs[0])) {
        return VT_IMAGE_NOT;
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        const struct vt_shape_info *info = info_of(builder, step->inputs[i]);
        if (info == NULL || !vt_shape_info_known(info)) {
            return VT_IMAGE_NOT;
        }
        if (is_image(builder, step->inputs[i]) &&
            same_extents(info, info_of(builder, step->outputs[0]))) {
            *ret_images |= UINT32_C(1) << i;
        } else if (!is_single(info)) {
            return VT_IMAGE_NOT;
        }
    }
    return VT_IMAGE_FOLLOWS;
}

static enum vt_image_wish rule_concat(const struct vt_builder *builder, const struct vt_step *step,
                                      uint32_t *ret_images)
{
    *ret_images = 0;
    if (vt_node_int(step->node, "axis", 1) != 1 || step->n_inputs > 32 ||
        !is_image(builder, step->outputs[0])) {
        return VT_IMAGE_NOT;
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (!is_image(builder, step->inputs[i])) {
            return VT_IMAGE_NOT;
        }
        *ret_images |= UINT32_C(1) << i;
    }
    return VT_IMAGE_FOLLOWS;
}

static const struct rule {
    const char *op;
    rule_func func;
} rules[] = {
    {"Conv", rule_conv},
    {"ConvTranspose", rule_conv},
    {"Relu", rule_unary},
    {"LeakyRelu", rule_unary},
    {"Clip", rule_unary},
    {"Sigmoid", rule_unary},
    {"HardSwish", rule_unary},
    {"HardSigmoid", rule_unary},
    {"Tanh", rule_unary},
    {"Gelu", rule_unary},
    {"Swish", rule_unary},
    {"Elu", rule_unary},
    {"Softplus", rule_unary},
    {"Exp", rule_unary},
    {"Sqrt", rule_unary},
    {"MaxPool", rule_pool},
    {"AveragePool", rule_pool},
    {"LpPool", rule_pool},
    {"GlobalMaxPool", rule_pool},
    {"GlobalAveragePool", rule_pool},
    {"GlobalLpPool", rule_pool},
    {"BatchNormalization", rule_norm},
    {"InstanceNormalization", rule_norm},
    {"Resize", rule_resize},
    {"Upsample", rule_resize},
    {"Add", rule_elementwise},
    {"Sub", rule_elementwise},
    {"Mul", rule_elementwise},
    {"Div", rule_elementwise},
    {"Max", rule_elementwise},
    {"Min", rule_elementwise},
    {"Concat", rule_concat},
};

enum vt_image_wish vt_image_wish_of(const struct vt_builder *builder, const struct vt_step *step,
                                    uint32_t *ret_images)
{
    *ret_images = 0;
    if (step->kind != VT_STEP_OP || step->op == NULL || step->node->domain[0] != '\0') {
        return VT_IMAGE_NOT;
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (strcmp(step->node->op, rules[i].op) == 0) {
            return rules[i].func(builder, step, ret_images);
        }
    }
    return VT_IMAGE_NOT;
}
