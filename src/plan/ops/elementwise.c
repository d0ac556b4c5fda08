/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>

#include "kernels/convert/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "plan/ops/support.h"

/* --- functions of one element ------------------------------------------------------------ */

/* Default of an attribute that the operator does not have. */
#define NONE 0.0f

static const struct unary_entry {
    const char *name;
    enum vt_unary op;
    const char *alpha_name, *beta_name;
    float alpha, beta;
} unary_table[] = {
    {"Abs", VT_UNARY_ABS, NULL, NULL, NONE, NONE},
    {"Neg", VT_UNARY_NEG, NULL, NULL, NONE, NONE},
    {"Sign", VT_UNARY_SIGN, NULL, NULL, NONE, NONE},
    {"Relu", VT_UNARY_RELU, NULL, NULL, NONE, NONE},
    {"BitwiseNot", VT_UNARY_BIT_NOT, NULL, NULL, NONE, NONE},
    {"Exp", VT_UNARY_EXP, NULL, NULL, NONE, NONE},
    {"Log", VT_UNARY_LOG, NULL, NULL, NONE, NONE},
    {"Sqrt", VT_UNARY_SQRT, NULL, NULL, NONE, NONE},
    {"Reciprocal", VT_UNARY_RECIPROCAL, NULL, NULL, NONE, NONE},
    {"Floor", VT_UNARY_FLOOR, NULL, NULL, NONE, NONE},
    {"Ceil", VT_UNARY_CEIL, NULL, NULL, NONE, NONE},
    {"Round", VT_UNARY_ROUND, NULL, NULL, NONE, NONE},
    {"Sin", VT_UNARY_SIN, NULL, NULL, NONE, NONE},
    {"Cos", VT_UNARY_COS, NULL, NULL, NONE, NONE},
    {"Tan", VT_UNARY_TAN, NULL, NULL, NONE, NONE},
    {"Asin", VT_UNARY_ASIN, NULL, NULL, NONE, NONE},
    {"Acos", VT_UNARY_ACOS, NULL, NULL, NONE, NONE},
    {"Atan", VT_UNARY_ATAN, NULL, NULL, NONE, NONE},
    {"Sinh", VT_UNARY_SINH, NULL, NULL, NONE, NONE},
    {"Cosh", VT_UNARY_COSH, NULL, NULL, NONE, NONE},
    {"Tanh", VT_UNARY_TANH, NULL, NULL, NONE, NONE},
    {"Asinh", VT_UNARY_ASINH, NULL, NULL, NONE, NONE},
    {"Acosh", VT_UNARY_ACOSH, NULL, NULL, NONE, NONE},
    {"Atanh", VT_UNARY_ATANH, NULL, NULL, NONE, NONE},
    {"Erf", VT_UNARY_ERF, NULL, NULL, NONE, NONE},
    {"Sigmoid", VT_UNARY_SIGMOID, NULL, NULL, NONE, NONE},
    {"LeakyRelu", VT_UNARY_LEAKY_RELU, "alpha", NULL, 0.01f, NONE},
    {"Elu", VT_UNARY_ELU, "alpha", NULL, 1.0f, NONE},
    {"Selu", VT_UNARY_SELU, "alpha", "gamma", 1.67326319217681884765625f,
     1.05070102214813232421875f},
    {"Celu", VT_UNARY_CELU, "alpha", NULL, 1.0f, NONE},
    {"HardSigmoid", VT_UNARY_HARD_SIGMOID, "alpha", "beta", 0.2f, 0.5f},
    {"HardSwish", VT_UNARY_HARD_SWISH, NULL, NULL, NONE, NONE},
    {"Softplus", VT_UNARY_SOFTPLUS, NULL, NULL, NONE, NONE},
    {"Softsign", VT_UNARY_SOFTSIGN, NULL, NULL, NONE, NONE},
    {"ThresholdedRelu", VT_UNARY_THRESHOLDED_RELU, "alpha", NULL, 1.0f, NONE},
    {"Shrink", VT_UNARY_SHRINK, "lambd", "bias", 0.5f, 0.0f},
    {"Mish", VT_UNARY_MISH, NULL, NULL, NONE, NONE},
    {"Swish", VT_UNARY_SWISH, "alpha", NULL, 1.0f, NONE},
};

static enum vt_status unary_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct vt_unary_params *p = ctx->state;
    (void)ret_workspace;
    memset(p, 0, sizeof(*p));
    if (strcmp(ctx->node->op, "Gelu") == 0) {
        const char *mode = vt_node_string(ctx->node, "approximate", "none");
        p->op = strcmp(mode, "tanh") == 0 ? VT_UNARY_GELU_TANH : VT_UNARY_GELU;
    }
    for (size_t i = 0; i < sizeof(unary_table) / sizeof(unary_table[0]); i++) {
        const struct unary_entry *entry = &unary_table[i];
        if (strcmp(entry->name, ctx->node->op) != 0) {
            continue;
        }
        p->op = entry->op;
        if (entry->alpha_name != NULL) {
            p->alpha = (double)vt_node_float(ctx->node, entry->alpha_name, entry->alpha);
        }
        if (entry->beta_name != NULL) {
            p->beta = (double)vt_node_float(ctx->node, entry->beta_name, entry->beta);
        }
    }
    if (!vt_unary_knows(p->op, ctx->inputs[0]->dtype)) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    return VT_OK;
}

static enum vt_status unary_run(struct vt_op_context *ctx)
{
    vt_unary_run(ctx->state, ctx->inputs[0]->dtype, ctx->inputs[0]->data, ctx->outputs[0].data,
                 vt_op_elements(ctx->inputs[0]), ctx->pool);
    return VT_OK;
}

static enum vt_status clip_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (!vt_unary_knows(VT_UNARY_CLIP, ctx->inputs[0]->dtype)) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    enum vt_status status = vt_op_require_count(ctx, 1, 1);
    return status == VT_OK ? vt_op_require_count(ctx, 2, 1) : status;
}

/* The bounds may be inputs, so they are read by each run. */
static enum vt_status clip_run(struct vt_op_context *ctx)
{
    const struct vt_tensor *low = vt_op_input(ctx, 1), *high = vt_op_input(ctx, 2);
    struct vt_unary_params p = {.op = VT_UNARY_CLIP,
                                .alpha = (double)vt_node_float(ctx->node, "min", -INFINITY),
                                .beta = (double)vt_node_float(ctx->node, "max", INFINITY),
                                .lower = INT64_MIN,
                                .upper = INT64_MAX,
                                .upper_u = UINT64_MAX};
    if (low != NULL) {
        p.alpha = vt_op_double_at(low, 0);
        vt_convert(low->dtype, low->data, VT_I64, &p.lower, 1);
    }
    if (high != NULL) {
        p.beta = vt_op_double_at(high, 0);
        vt_convert(high->dtype, high->data, VT_I64, &p.upper, 1);
        vt_convert(high->dtype, high->data, VT_U64, &p.upper_u, 1);
    }
    vt_unary_run(&p, ctx->inputs[0]->dtype, ctx->inputs[0]->data, ctx->outputs[0].data,
                 vt_op_elements(ctx->inputs[0]), ctx->pool);
    return VT_OK;
}

static enum vt_status not_run(struct vt_op_context *ctx)
{
    vt_not_run(ctx->inputs[0]->data, ctx->outputs[0].data, vt_op_elements(ctx->inputs[0]));
    return VT_OK;
}

static enum vt_status float_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (ctx->inputs[0]->dtype != VT_F32 && ctx->inputs[0]->dtype != VT_F64) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    return VT_OK;
}

static enum vt_status is_special_run(struct vt_op_context *ctx)
{
    const bool nan = strcmp(ctx->node->op, "IsNaN") == 0;
    const bool positive = vt_node_int(ctx->node, "detect_positive", 1) != 0;
    const bool negative = vt_node_int(ctx->node, "detect_negative", 1) != 0;
    const struct vt_tensor *in = ctx->inputs[0];
    uint8_t *y = ctx->outputs[0].data;
    for (int64_t i = 0; i < vt_op_elements(in); i++) {
        const double x = vt_op_double_at(in, i);
        if (nan) {
            y[i] = isnan(x) != 0;
        } else {
            y[i] = isinf(x) != 0 && (x > 0 ? positive : negative);
        }
    }
    return VT_OK;
}

/* --- types ------------------------------------------------------------------------------- */

static enum vt_status cast_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (!vt_convert_knows(ctx->inputs[0]->dtype)) {
        return vt_op_fail_type(ctx, ctx->inputs[0]);
    }
    if (!vt_convert_knows(ctx->outputs[0].dtype)) {
        return vt_op_fail_type(ctx, &ctx->outputs[0]);
    }
    return VT_OK;
}

static enum vt_status cast_run(struct vt_op_context *ctx)
{
    vt_convert_run(ctx->inputs[0]->dtype, ctx->inputs[0]->data, ctx->outputs[0].dtype,
                   ctx->outputs[0].data, vt_op_elements(ctx->inputs[0]), ctx->pool);
    return VT_OK;
}

/* --- functions of several elements ------------------------------------------------------- */

static const struct binary_entry {
    const char *name;
    enum vt_binary op;
} binary_table[] = {
    {"Add", VT_BINARY_ADD},
    {"Sub", VT_BINARY_SUB},
    {"Mul", VT_BINARY_MUL},
    {"Div", VT_BINARY_DIV},
    {"Pow", VT_BINARY_POW},
    {"PRelu", VT_BINARY_PRELU},
    {"Equal", VT_BINARY_EQUAL},
    {"Less", VT_BINARY_LESS},
    {"LessOrEqual", VT_BINARY_LESS_OR_EQUAL},
    {"Greater", VT_BINARY_GREATER},
    {"GreaterOrEqual", VT_BINARY_GREATER_OR_EQUAL},
    {"And", VT_BINARY_AND},
    {"Or", VT_BINARY_OR},
    {"Xor", VT_BINARY_XOR},
    {"BitwiseAnd", VT_BINARY_BIT_AND},
    {"BitwiseOr", VT_BINARY_BIT_OR},
    {"BitwiseXor", VT_BINARY_BIT_XOR},
    {"Max", VT_BINARY_MAX},
    {"Min", VT_BINARY_MIN},
    {"Sum", VT_BINARY_ADD},
    {"Mean", VT_BINARY_ADD},
};

struct binary_state {
    enum vt_binary op;
    struct vt_broadcast broadcast;
};

static enum vt_status binary_op(const struct vt_op_context *ctx, enum vt_binary *ret_op)
{
    const char *name = ctx->node->op;
    if (strcmp(name, "Mod") == 0) {
        *ret_op = vt_node_int(ctx->node, "fmod", 0) != 0 ? VT_BINARY_FMOD : VT_BINARY_MOD;
        return VT_OK;
    }
    if (strcmp(name, "BitShift") == 0) {
        const char *direction = vt_node_string(ctx->node, "direction", "");
        if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0) {
            return vt_op_fail(ctx, VT_ERR_FORMAT, "direction is '%s', known are LEFT and RIGHT",
                              direction);
        }
        *ret_op = direction[0] == 'L' ? VT_BINARY_SHIFT_LEFT : VT_BINARY_SHIFT_RIGHT;
        return VT_OK;
    }
    for (size_t i = 0; i < sizeof(binary_table) / sizeof(binary_table[0]); i++) {
        if (strcmp(binary_table[i].name, name) == 0) {
            *ret_op = binary_table[i].op;
        }
    }
    return VT_OK;
}

static enum vt_status fail_broadcast(const struct vt_op_context *ctx)
{
    return vt_op_fail(ctx, VT_ERR_FORMAT, "the shapes of the inputs do not broadcast");
}

static enum vt_status binary_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct binary_state *s = ctx->state;
    (void)ret_workspace;
    enum vt_status status = binary_op(ctx, &s->op);
    if (status != VT_OK) {
        return status;
    }
    if (!vt_binary_knows(s->op, ctx->inputs[0]->dtype, ctx->inputs[1]->dtype)) {
        return vt_op_fail(ctx, VT_ERR_UNSUPPORTED, "the element types %s and %s are not supported",
                          vt_dtype_name(ctx->inputs[0]->dtype),
                          vt_dtype_name(ctx->inputs[1]->dtype));
    }
    const struct vt_tensor second = vt_op_second(ctx);
    const struct vt_tensor *pair[2] = {ctx->inputs[0], &second};
    if (!vt_broadcast_init(&s->broadcast, pair, 2, &ctx->outputs[0])) {
        return fail_broadcast(ctx);
    }
    return VT_OK;
}

static enum vt_status binary_run(struct vt_op_context *ctx)
{
    const struct binary_state *s = ctx->state;
    const void *const inputs[2] = {ctx->inputs[0]->data, ctx->inputs[1]->data};
    vt_binary_run(s->op, ctx->inputs[0]->dtype, ctx->inputs[1]->dtype, &s->broadcast, inputs,
                  ctx->outputs[0].data, ctx->pool);
    return VT_OK;
}

static enum vt_status variadic_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    struct binary_state *s = ctx->state;
    (void)ret_workspace;
    enum vt_status status = binary_op(ctx, &s->op);
    for (uint32_t i = 0; status == VT_OK && i < ctx->n_inputs; i++) {
        const struct vt_tensor *pair[2] = {&ctx->outputs[0], ctx->inputs[i]};
        if (!vt_binary_knows(s->op, ctx->inputs[0]->dtype, ctx->inputs[i]->dtype)) {
            return vt_op_fail_type(ctx, ctx->inputs[i]);
        }
        if (!vt_broadcast_init(&s->broadcast, pair, 2, &ctx->outputs[0])) {
            return fail_broadcast(ctx);
        }
    }
    return status;
}

static void divide(struct vt_op_context *ctx, double n)
{
    const struct vt_tensor *out = &ctx->outputs[0];
    for (int64_t i = 0; i < vt_op_elements(out); i++) {
        if (out->dtype == VT_F32) {
            ((float *)out->data)[i] = (float)((double)((float *)out->data)[i] / n);
        } else {
            ((double *)out->data)[i] /= n;
        }
    }
}

static enum vt_status mean_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    enum vt_status status = float_prepare(ctx, ret_workspace);
    return status == VT_OK ? variadic_prepare(ctx, ret_workspace) : status;
}

/* The first two inputs give the output, each further one is worked into it. */
static enum vt_status variadic_run(struct vt_op_context *ctx)
{
    const struct binary_state *s = ctx->state;
    struct vt_tensor *out = &ctx->outputs[0];
    const enum vt_dtype dtype = out->dtype;
    struct vt_broadcast b;
    if (ctx->n_inputs == 1) {
        memmove(out->data, ctx->inputs[0]->data, out->bytes);
    }
    for (uint32_t i = 1; i < ctx->n_inputs; i++) {
        const struct vt_tensor *pair[2] = {i == 1 ? ctx->inputs[0] : out, ctx->inputs[i]};
        const void *const data[2] = {pair[0]->data, pair[1]->data};
        if (!vt_broadcast_init(&b, pair, 2, out)) {
            return fail_broadcast(ctx);
        }
        vt_binary_run(s->op, dtype, dtype, &b, data, out->data, ctx->pool);
    }
    if (strcmp(ctx->node->op, "Mean") == 0) {
        divide(ctx, ctx->n_inputs);
    }
    return VT_OK;
}

static enum vt_status where_prepare(struct vt_op_context *ctx, size_t *ret_workspace)
{
    (void)ret_workspace;
    if (vt_dtype_bytes(ctx->inputs[1]->dtype) == 0) {
        return vt_op_fail_type(ctx, ctx->inputs[1]);
    }
    if (!vt_broadcast_init(ctx->state, ctx->inputs, 3, &ctx->outputs[0])) {
        return fail_broadcast(ctx);
    }
    return VT_OK;
}

static enum vt_status where_run(struct vt_op_context *ctx)
{
    const void *const inputs[3] = {ctx->inputs[0]->data, ctx->inputs[1]->data,
                                   ctx->inputs[2]->data};
    vt_where_run(ctx->state, vt_dtype_bytes(ctx->outputs[0].dtype), inputs, ctx->outputs[0].data,
                 ctx->pool);
    return VT_OK;
}

#define UNARY(name)                                                                                \
    {                                                                                              \
        "", name, VT_OP_IN_PLACE, sizeof(struct vt_unary_params), unary_prepare, unary_run         \
    }
#define BINARY(name)                                                                               \
    {                                                                                              \
        "", name, VT_OP_IN_PLACE, sizeof(struct binary_state), binary_prepare, binary_run          \
    }
/* Bytes in, another number of bytes out, or read after it was written: never in place. */
#define COMPARISON(name)                                                                           \
    {                                                                                              \
        "", name, 0, sizeof(struct binary_state), binary_prepare, binary_run                       \
    }
#define VARIADIC(name)                                                                             \
    {                                                                                              \
        "", name, 0, sizeof(struct binary_state), variadic_prepare, variadic_run                   \
    }

static const struct vt_op ops[] = {
    UNARY("Abs"),
    UNARY("Neg"),
    UNARY("Sign"),
    UNARY("Relu"),
    UNARY("BitwiseNot"),
    UNARY("Exp"),
    UNARY("Log"),
    UNARY("Sqrt"),
    UNARY("Reciprocal"),
    UNARY("Floor"),
    UNARY("Ceil"),
    UNARY("Round"),
    UNARY("Sin"),
    UNARY("Cos"),
    UNARY("Tan"),
    UNARY("Asin"),
    UNARY("Acos"),
    UNARY("Atan"),
    UNARY("Sinh"),
    UNARY("Cosh"),
    UNARY("Tanh"),
    UNARY("Asinh"),
    UNARY("Acosh"),
    UNARY("Atanh"),
    UNARY("Erf"),
    UNARY("Sigmoid"),
    UNARY("LeakyRelu"),
    UNARY("Elu"),
    UNARY("Selu"),
    UNARY("Celu"),
    UNARY("HardSigmoid"),
    UNARY("HardSwish"),
    UNARY("Softplus"),
    UNARY("Softsign"),
    UNARY("ThresholdedRelu"),
    UNARY("Shrink"),
    UNARY("Mish"),
    UNARY("Swish"),
    UNARY("Gelu"),
    {"", "Clip", VT_OP_IN_PLACE, 0, clip_prepare, clip_run},
    {"", "Not", VT_OP_IN_PLACE, 0, NULL, not_run},
    {"", "IsNaN", 0, 0, float_prepare, is_special_run},
    {"", "IsInf", 0, 0, float_prepare, is_special_run},
    {"", "Cast", VT_OP_ANY_FLOAT, 0, cast_prepare, cast_run},
    {"", "CastLike", VT_OP_ANY_FLOAT, 0, cast_prepare, cast_run},
    BINARY("Add"),
    BINARY("Sub"),
    BINARY("Mul"),
    BINARY("Div"),
    BINARY("Mod"),
    BINARY("Pow"),
    BINARY("PRelu"),
    BINARY("BitShift"),
    BINARY("BitwiseAnd"),
    BINARY("BitwiseOr"),
    BINARY("BitwiseXor"),
    COMPARISON("Equal"),
    COMPARISON("Less"),
    COMPARISON("LessOrEqual"),
    COMPARISON("Greater"),
    COMPARISON("GreaterOrEqual"),
    BINARY("And"),
    BINARY("Or"),
    BINARY("Xor"),
    VARIADIC("Max"),
    VARIADIC("Min"),
    VARIADIC("Sum"),
    {"", "Mean", 0, sizeof(struct binary_state), mean_prepare, variadic_run},
    {"", "Where", VT_OP_ANY_FLOAT, sizeof(struct vt_broadcast), where_prepare, where_run},
};
VT_OP_FAMILY(vt_ops_elementwise, ops);
