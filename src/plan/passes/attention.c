/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax(Q·Kᵀ · scale + mask)·V becomes an Attention, which keeps the scores of a few queries at a
 * time instead of all. The scale may stand at the scores, at Q or at Kᵀ, as a product or a
 * quotient.
 *
 * A query that the mask lets see nothing at all (-infinity throughout) gives 0, not NaN.
 */
#include <math.h>
#include <string.h>

#include "plan/passes/pass.h"

struct parts {
    uint32_t q, k_turned, v, mask; /* mask: VT_NO_VALUE where there is none */
    double scale;
};

/* --- the parts ------------------------------------------------------------------------------- */

/* Works a number that the value is multiplied with or divided by into the scale. */
static uint32_t without_scale(struct vt_match *match, uint32_t value, double *scale)
{
    const uint32_t n = match->n;
    double number = 1.0;
    uint32_t other = VT_NO_VALUE;
    const struct vt_step *step = vt_match_step(match, value, "Mul", 1);
    if (step != NULL && vt_match_number(match, step, &number, &other) &&
        vt_keeps_shape(match->builder, step, other)) {
        *scale *= number;
        return other;
    }
    match->n = n;
    step = vt_match_step(match, value, "Div", 1);
    if (step != NULL && vt_constant_number(match->builder, step->inputs[1], &number) &&
        number != 0.0 && vt_keeps_shape(match->builder, step, step->inputs[0])) {
        *scale /= number;
        return vt_resolve(match->builder, step->inputs[0]);
    }
    match->n = n;
    return vt_resolve(match->builder, value);
}

static bool match_product(struct vt_match *match, uint32_t value, struct parts *ret)
{
    const uint32_t n = match->n;
    ret->scale = 1.0;
    const uint32_t product = without_scale(match, value, &ret->scale);
    const struct vt_step *step = vt_match_step(match, product, "MatMul", 1);
    if (step == NULL) {
        match->n = n;
        return false;
    }
    ret->q = without_scale(match, step->inputs[0], &ret->scale);
    ret->k_turned = without_scale(match, step->inputs[1], &ret->scale);
    return true;
}

static bool is_over_last_axis(const struct vt_builder *builder, const struct vt_step *softmax)
{
    const struct vt_shape_info *x = vt_info_of(builder, softmax->inputs[0]);
    const int64_t axis = vt_node_int(softmax->node, "axis", softmax->node->opset < 13 ? 1 : -1);
    return x->rank != VT_RANK_UNKNOWN && x->rank > 0 &&
           (axis == -1 || axis == (int64_t)x->rank - 1);
}

static bool match_parts(struct vt_match *match, const struct vt_step *step, struct parts *ret)
{
    const struct vt_step *softmax = vt_match_step(match, step->inputs[0], "Softmax", 1);
    if (softmax == NULL || !is_over_last_axis(match->builder, softmax)) {
        return false;
    }
    const uint32_t scores = vt_resolve(match->builder, softmax->inputs[0]);
    ret->v = vt_resolve(match->builder, step->inputs[1]);
    ret->mask = VT_NO_VALUE;
    if (match_product(match, scores, ret)) {
        return true;
    }
    const struct vt_step *sum = vt_match_step(match, scores, "Add", 1);
    for (uint32_t i = 0; sum != NULL && i < 2; i++) {
        if (match_product(match, sum->inputs[i], ret)) {
            ret->mask = vt_resolve(match->builder, sum->inputs[1 - i]);
            return true;
        }
    }
    return false;
}

/* --- whether they fit ------------------------------------------------------------------------ */

/* Matrices of the same batch (and heads), [.., rows, inner] and [.., inner, cols]. */
static bool is_plain_product(const struct vt_shape_info *a, const struct vt_shape_info *b)
{
    return vt_shape_info_known(a) && vt_shape_info_known(b) && (a->rank == 3 || a->rank == 4) &&
           b->rank == a->rank && memcmp(a->dim, b->dim, (a->rank - 2) * sizeof(a->dim[0])) == 0 &&
           a->dim[a->rank - 1] == b->dim[a->rank - 2] && a->dtype == b->dtype &&
           vt_is_float(a->dtype);
}

/* The mask is added to scores [batch][heads][q_len][k_len], with one head where they have rank 3.
 */
static bool mask_fits(const struct vt_shape_info *mask, const struct vt_shape_info *q,
                      const struct vt_shape_info *k)
{
    const uint32_t rank = q->rank;
    int64_t wanted[4] = {q->dim[0], rank == 4 ? q->dim[1] : 1, q->dim[rank - 2], k->dim[rank - 1]};
    if (!vt_shape_info_known(mask) || mask->rank < 1 || mask->rank > rank ||
        mask->dtype != q->dtype || mask->dim[mask->rank - 1] != wanted[3]) {
        return false;
    }
    for (uint32_t i = 1; i < mask->rank; i++) {
        const int64_t extent = mask->dim[mask->rank - 1 - i];
        if (extent != 1 && extent != wanted[3 - i]) {
            return false;
        }
    }
    return true;
}

static bool fit(const struct vt_builder *builder, const struct vt_step *step,
                const struct parts *parts)
{
    const struct vt_shape_info *q = vt_info_of(builder, parts->q);
    const struct vt_shape_info *k = vt_info_of(builder, parts->k_turned);
    const struct vt_shape_info *v = vt_info_of(builder, parts->v);
    const struct vt_shape_info *out = vt_info_of(builder, step->outputs[0]);
    if (!is_plain_product(q, k) || !vt_shape_info_known(v) || v->rank != q->rank ||
        v->dtype != q->dtype || v->dim[v->rank - 2] != k->dim[k->rank - 1] ||
        memcmp(q->dim, v->dim, (q->rank - 2) * sizeof(q->dim[0])) != 0 || out->rank != q->rank ||
        !isfinite((float)parts->scale)) {
        return false;
    }
    for (uint32_t d = 0; d < q->rank; d++) {
        if (q->dim[d] < 1 || k->dim[d] < 1 || v->dim[d] < 1) {
            return false;
        }
    }
    return parts->mask == VT_NO_VALUE || mask_fits(vt_info_of(builder, parts->mask), q, k);
}

/* --- keys as rows ---------------------------------------------------------------------------- */

/*
 * The keys as the Attention takes them: what is transposed to Kᵀ, or, where that is turned in other
 * ways too, the same Transpose without the last turn. VT_NO_VALUE where Kᵀ is not made by a
 * Transpose that only this product looks at.
 */
static enum vt_status keys_of(struct vt_builder *builder, const struct vt_program *program,
                              uint32_t turned, uint32_t *ret)
{
    struct vt_match match = {.builder = builder, .program = program};
    int64_t perm[VT_RANK_MAX];
    *ret = VT_NO_VALUE;
    struct vt_step *step = vt_match_step(&match, turned, "Transpose", 1);
    const uint32_t rank = vt_info_of(builder, turned)->rank;
    if (step == NULL || !vt_transpose_perm(step->node, rank, perm)) {
        return VT_OK;
    }
    const int64_t last = perm[rank - 1];
    perm[rank - 1] = perm[rank - 2];
    perm[rank - 2] = last;
    uint32_t same = 0;
    while (same < rank && perm[same] == same) {
        same++;
    }
    *ret = same == rank ? vt_resolve(builder, step->inputs[0]) : turned;
    return same < rank ? vt_step_turn(builder, step, perm) : VT_OK;
}

static enum vt_status recognise(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct parts parts;
    uint32_t keys = VT_NO_VALUE;
    if (!match_parts(&match, step, &parts) || !fit(builder, step, &parts)) {
        return VT_OK;
    }
    const struct vt_shape_info *q = vt_info_of(builder, parts.q);
    enum vt_status status = keys_of(builder, program, parts.k_turned, &keys);
    if (status != VT_OK || keys == VT_NO_VALUE) {
        return status;
    }
    const bool has_mask = parts.mask != VT_NO_VALUE;
    const uint32_t inputs[] = {parts.q, keys, parts.v, parts.mask};
    const struct vt_attr attrs[] = {
        {.name = "scale", .type = VT_ATTR_FLOAT, .f = (float)parts.scale},
        {.name = "q_num_heads", .type = VT_ATTR_INT, .i = 1},
        {.name = "kv_num_heads", .type = VT_ATTR_INT, .i = 1}};
    ++*changes;
    return vt_step_become(builder, step,
                          &(struct vt_step_form){.op = "Attention",
                                                 .inputs = inputs,
                                                 .n_inputs = has_mask ? 4 : 3,
                                                 .attrs = attrs,
                                                 .n_attrs = q->rank == 3 ? 3 : 1},
                          &match);
}

VT_PASS(attention)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (step->n_inputs == 2 && vt_step_is(step, "MatMul")) {
            status = recognise(builder, program, step, changes);
        }
    }
    return status;
}
