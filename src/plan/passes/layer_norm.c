/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNormalization and RMSNormalization out of their parts:
 *
 *     c = x - mean(x),  c / sqrt(mean(c²) + ε) · scale + bias
 *                       x / sqrt(mean(x²) + ε) · scale
 *
 * means along the last axes. First the quotient becomes a normalisation with a scale of ones; the
 * steps behind it find that and give it the scale and the bias that they bring.
 */
#include "kernels/convert/convert.h"
#include "plan/passes/pass.h"

/* What is under the root: a mean of squares along the axes from `first` on. */
struct spread {
    uint32_t x; /* what is squared */
    uint32_t first;
    double epsilon;
};

/* The value whose square this is. */
static uint32_t root_of_square(struct vt_match *match, uint32_t value)
{
    double exponent = 0;
    const struct vt_step *step = vt_match_step(match, value, "Pow", 1);
    if (step != NULL) {
        return vt_constant_number(match->builder, step->inputs[1], &exponent) && exponent == 2.0
                   ? vt_resolve(match->builder, step->inputs[0])
                   : VT_NO_VALUE;
    }
    step = vt_match_step(match, value, "Mul", 1);
    if (step == NULL || vt_resolve(match->builder, step->inputs[0]) !=
                            vt_resolve(match->builder, step->inputs[1])) {
        return VT_NO_VALUE;
    }
    return vt_resolve(match->builder, step->inputs[0]);
}

/* sqrt(mean(x²) + ε), or a power of ½. */
static bool match_root(struct vt_match *match, uint32_t value, struct spread *ret)
{
    double exponent = 0;
    uint32_t mean = VT_NO_VALUE;
    const struct vt_step *root = vt_match_step(match, value, "Sqrt", 1);
    if (root == NULL) {
        root = vt_match_step(match, value, "Pow", 1);
        if (root == NULL || !vt_constant_number(match->builder, root->inputs[1], &exponent) ||
            exponent != 0.5) {
            return false;
        }
    }
    const struct vt_step *sum = vt_match_step(match, root->inputs[0], "Add", 1);
    if (sum == NULL || !vt_match_number(match, sum, &ret->epsilon, &mean) || ret->epsilon < 0) {
        return false;
    }
    const struct vt_step *average = vt_match_step(match, mean, "ReduceMean", 1);
    if (average == NULL || !vt_match_last_axes(match->builder, average, &ret->first)) {
        return false;
    }
    ret->x = root_of_square(match, average->inputs[0]);
    return ret->x != VT_NO_VALUE;
}

/* n / d, or n · (1 / d): n and what is said about d. */
static bool match_quotient(struct vt_match *match, const struct vt_step *step, uint32_t *ret_n,
                           struct spread *ret)
{
    if (vt_step_is(step, "Div")) {
        *ret_n = vt_resolve(match->builder, step->inputs[0]);
        return match_root(match, step->inputs[1], ret);
    }
    if (!vt_step_is(step, "Mul")) {
        return false;
    }
    const struct vt_step *inverse = vt_match_either(match, step, "Reciprocal", 1, ret_n);
    if (inverse != NULL) {
        return match_root(match, inverse->inputs[0], ret);
    }
    inverse = vt_match_either(match, step, "Div", 1, ret_n);
    double one = 0;
    return inverse != NULL && vt_constant_number(match->builder, inverse->inputs[0], &one) &&
           one == 1.0 && match_root(match, inverse->inputs[1], ret);
}

/* x of c = x - mean(x) along the same axes; c is used twice, or three times where its square is
 * its product with itself. */
static uint32_t before_centring(struct vt_match *match, uint32_t centred, uint32_t first)
{
    uint32_t other = 0;
    const uint32_t uses = match->builder->values[centred].uses;
    if (uses < 2 || uses > 3) {
        return VT_NO_VALUE;
    }
    const struct vt_step *difference = vt_match_step(match, centred, "Sub", uses);
    if (difference == NULL) {
        return VT_NO_VALUE;
    }
    const struct vt_step *mean = vt_match_step(match, difference->inputs[1], "ReduceMean", 1);
    const uint32_t x = vt_resolve(match->builder, difference->inputs[0]);
    return mean != NULL && vt_resolve(match->builder, mean->inputs[0]) == x &&
                   vt_match_last_axes(match->builder, mean, &other) && other == first
               ? x
               : VT_NO_VALUE;
}

/* How often this pattern itself looks at the value that it squares. */
static bool seen_by_pattern_alone(const struct vt_match *match, uint32_t value)
{
    uint32_t uses = 1; /* the quotient */
    for (uint32_t i = 0; i < match->n; i++) {
        for (uint32_t k = 0; k < match->inner[i]->n_inputs; k++) {
            uses += vt_resolve(match->builder, match->inner[i]->inputs[k]) == value ? 1 : 0;
        }
    }
    return match->builder->values[value].uses == uses;
}

/* Elements of the axes from `first` on; 0 when they are not known. */
static int64_t row_length(const struct vt_shape_info *x, uint32_t first)
{
    int64_t n = 1;
    for (uint32_t d = first; d < x->rank; d++) {
        if (x->dim[d] <= 0 || __builtin_mul_overflow(n, x->dim[d], &n)) {
            return 0;
        }
    }
    return n;
}

static enum vt_status become(struct vt_builder *builder, struct vt_step *step, const char *op,
                             const uint32_t *inputs, uint32_t n_inputs, const struct spread *spread,
                             const struct vt_match *match)
{
    const struct vt_attr attrs[] = {
        {.name = "axis", .type = VT_ATTR_INT, .i = spread->first},
        {.name = "epsilon", .type = VT_ATTR_FLOAT, .f = (float)spread->epsilon}};
    return vt_step_become(
        builder, step,
        &(struct vt_step_form){
            .op = op, .inputs = inputs, .n_inputs = n_inputs, .attrs = attrs, .n_attrs = 2},
        match);
}

static enum vt_status recognise(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct spread spread = {.x = VT_NO_VALUE};
    uint32_t numerator = VT_NO_VALUE;
    if (!match_quotient(&match, step, &numerator, &spread) || numerator != spread.x ||
        !vt_is_float(vt_info_of(builder, spread.x)->dtype) ||
        !vt_keeps_shape(builder, step, spread.x)) {
        return VT_OK;
    }
    const int64_t n = row_length(vt_info_of(builder, spread.x), spread.first);
    if (n == 0) {
        return VT_OK;
    }
    const uint32_t alone = match.n;
    uint32_t x = before_centring(&match, spread.x, spread.first);
    const bool centred = x != VT_NO_VALUE && seen_by_pattern_alone(&match, spread.x);
    if (!centred) {
        match.n = alone;
        x = spread.x;
    }
    const uint32_t ones = vt_value_ones(builder, vt_info_of(builder, x)->dtype, n);
    if (ones == VT_NO_VALUE) {
        return VT_ERR_MEMORY;
    }
    ++*changes;
    return become(builder, step, centred ? "LayerNormalization" : "RMSNormalization",
                  (const uint32_t[]){x, ones}, 2, &spread, &match);
}

/* --- scale and bias -------------------------------------------------------------------------- */

static bool is_ones(const struct vt_builder *builder, uint32_t value)
{
    const struct vt_tensor *tensor = vt_info_of(builder, value)->value;
    if (tensor == NULL || !vt_is_float(tensor->dtype)) {
        return false;
    }
    const size_t one = vt_dtype_bytes(tensor->dtype);
    for (size_t at = 0; at < tensor->bytes; at += one) {
        double x = 0;
        vt_convert(tensor->dtype, (const char *)tensor->data + at, VT_F64, &x, 1);
        if (x != 1.0) {
            return false;
        }
    }
    return true;
}

/* Whether a value has a number for each place of the normalised axes and nothing else. */
static bool is_row(const struct vt_builder *builder, uint32_t value, const struct vt_shape_info *x,
                   uint32_t first)
{
    const struct vt_shape_info *row = vt_info_of(builder, value);
    const uint32_t rank = x->rank - first;
    if (row->dtype != x->dtype || !vt_shape_info_known(row) || row->rank < rank ||
        row->rank > x->rank) {
        return false;
    }
    for (uint32_t d = 0; d < row->rank; d++) {
        const uint32_t from_end = row->rank - d;
        if (row->dim[d] != (from_end > rank ? 1 : x->dim[x->rank - from_end])) {
            return false;
        }
    }
    return true;
}

/* The normalisation before a product or a sum, and the row that this brings. */
static struct vt_step *normalised(struct vt_match *match, const struct vt_step *step,
                                  const char *op, struct spread *ret, uint32_t *ret_row)
{
    struct vt_step *norm = vt_match_either(match, step, op, 1, ret_row);
    if (norm == NULL) {
        return NULL;
    }
    const struct vt_shape_info *x = vt_info_of(match->builder, norm->inputs[0]);
    int64_t axis = vt_node_int(norm->node, "axis", -1);
    if (x->rank == VT_RANK_UNKNOWN || vt_node_int(norm->node, "stash_type", 1) != 1) {
        return NULL;
    }
    axis = axis < 0 ? axis + x->rank : axis;
    if (axis < 0 || axis >= x->rank || !is_row(match->builder, *ret_row, x, (uint32_t)axis)) {
        return NULL;
    }
    ret->first = (uint32_t)axis;
    ret->epsilon = (double)vt_node_float(norm->node, "epsilon", 1e-5f);
    return norm;
}

static enum vt_status take_scale(struct vt_builder *builder, const struct vt_program *program,
                                 struct vt_step *step, const char *op, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct spread spread = {0};
    uint32_t row = VT_NO_VALUE;
    const struct vt_step *norm = normalised(&match, step, op, &spread, &row);
    if (norm == NULL || norm->n_inputs != 2 || !is_ones(builder, norm->inputs[1])) {
        return VT_OK;
    }
    ++*changes;
    return become(builder, step, op, (const uint32_t[]){norm->inputs[0], row}, 2, &spread, &match);
}

static enum vt_status take_bias(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct spread spread = {0};
    uint32_t row = VT_NO_VALUE;
    const struct vt_step *norm = normalised(&match, step, "LayerNormalization", &spread, &row);
    if (norm == NULL || (norm->n_inputs > 2 && norm->inputs[2] != VT_NO_VALUE)) {
        return VT_OK;
    }
    ++*changes;
    return become(builder, step, "LayerNormalization",
                  (const uint32_t[]){norm->inputs[0], norm->inputs[1], row}, 3, &spread, &match);
}

VT_PASS(layer_norm)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (step->dead || step->n_inputs != 2) {
            continue;
        }
        if (vt_step_is(step, "Div") || vt_step_is(step, "Mul")) {
            status = recognise(builder, program, step, changes);
        }
        if (status == VT_OK && vt_step_is(step, "Mul")) {
            status = take_scale(builder, program, step, "LayerNormalization", changes);
        }
        if (status == VT_OK && vt_step_is(step, "Mul")) {
            status = take_scale(builder, program, step, "RMSNormalization", changes);
        }
        if (status == VT_OK && vt_step_is(step, "Add")) {
            status = take_bias(builder, program, step, changes);
        }
    }
    return status;
}
