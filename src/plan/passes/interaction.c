/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recommender's interaction becomes one step:
 *
 *     features = Concat(a row each: of a table, by Gather, or of a tensor; axis 1)
 *     pairs    = Gather(Reshape(MatMul(features, Transpose(features))), constant places; axis 1)
 *     y        = Concat(x, pairs; axis 1), or pairs themselves
 *
 * The features of a few samples alone are then put side by side, and used while the cache has them.
 * An Interaction's inputs are x (or none), the places of the pairs, and two of each feature:
 * a table and its places, or a tensor and none. It multiplies only what is wanted, and that of i
 * and j as that of j and i.
 */
#include <string.h>

#include "kernels/interaction/interaction.h"
#include "plan/passes/pass.h"

#define OWN_INPUTS 2 /* before the features */

struct parts {
    int64_t samples;
    uint32_t n_features;
    uint32_t inputs[OWN_INPUTS + 2 * VT_INTERACTION_FEATURES_MAX];
};

static bool is_f32(const struct vt_shape_info *info, uint32_t rank)
{
    return vt_shape_info_known(info) && info->rank == rank && info->dtype == VT_F32;
}

static bool is_along(const struct vt_step *step, int64_t axis, uint32_t rank, int64_t implied)
{
    const int64_t given = vt_node_int(step->node, "axis", implied);
    return given == axis || given == axis - (int64_t)rank;
}

/* A Gather of whole rows of a table, one a sample: the table and the places. */
static bool match_rows(struct vt_match *match, uint32_t value, const struct parts *parts,
                       uint32_t *ret)
{
    const uint32_t n = match->n;
    const struct vt_step *step = vt_match_step(match, value, "Gather", 1);
    if (step != NULL && is_along(step, 0, 2, 0)) {
        const struct vt_shape_info *table = vt_info_of(match->builder, step->inputs[0]);
        const struct vt_shape_info *places = vt_info_of(match->builder, step->inputs[1]);
        if (is_f32(table, 2) && vt_shape_info_known(places) && places->rank == 2 &&
            places->dim[0] == parts->samples && places->dim[1] == 1 &&
            (places->dtype == VT_I64 || places->dtype == VT_I32)) {
            ret[0] = vt_resolve(match->builder, step->inputs[0]);
            ret[1] = vt_resolve(match->builder, step->inputs[1]);
            return true;
        }
    }
    match->n = n;
    return false;
}

/* All inputs of the Concat of features, [samples, 1, width] each. */
static bool match_features(struct vt_match *match, const struct vt_step *concat,
                           struct parts *parts)
{
    const struct vt_shape_info *all = vt_info_of(match->builder, concat->outputs[0]);
    if (!is_f32(all, 3) || all->dim[1] != concat->n_inputs || all->dim[2] < 1 ||
        concat->n_inputs > VT_INTERACTION_FEATURES_MAX || !is_along(concat, 1, 3, 0)) {
        return false;
    }
    parts->samples = all->dim[0];
    parts->n_features = concat->n_inputs;
    uint32_t tables = 0;
    for (uint32_t i = 0; i < concat->n_inputs; i++) {
        uint32_t *to = parts->inputs + OWN_INPUTS + (size_t)2 * i;
        const struct vt_shape_info *feature = vt_info_of(match->builder, concat->inputs[i]);
        if (!is_f32(feature, 3) || feature->dim[1] != 1) {
            return false;
        }
        if (match->n + 1 < VT_MATCH_STEPS && match_rows(match, concat->inputs[i], parts, to)) {
            tables++;
            continue;
        }
        to[0] = vt_resolve(match->builder, concat->inputs[i]);
        to[1] = VT_NO_VALUE;
    }
    return tables > 0;
}

/* Whether the constant holds places within the products of n features. */
static bool are_places(const struct vt_builder *builder, uint32_t value, uint32_t n)
{
    const struct vt_tensor *places = vt_info_of(builder, value)->value;
    if (places == NULL || places->rank != 1 || places->dtype != VT_I64 || places->dim[0] < 1) {
        return false;
    }
    const int64_t *at = places->data, all = (int64_t)n * n;
    for (int64_t i = 0; i < places->dim[0]; i++) {
        if (at[i] < -all || at[i] >= all) {
            return false;
        }
    }
    return true;
}

/* `gather` picks products of features. */
static bool match_pairs(struct vt_match *match, const struct vt_step *gather, struct parts *parts)
{
    const struct vt_builder *builder = match->builder;
    const struct vt_shape_info *flat = vt_info_of(builder, gather->inputs[0]);
    const struct vt_step *reshape = vt_match_step(match, gather->inputs[0], "Reshape", 1);
    if (reshape == NULL || !is_f32(flat, 2) || !is_along(gather, 1, 2, 0)) {
        return false;
    }
    const struct vt_step *product = vt_match_step(match, reshape->inputs[0], "MatMul", 1);
    int64_t perm[VT_RANK_MAX];
    if (product == NULL) {
        return false;
    }
    const uint32_t features = vt_resolve(builder, product->inputs[0]);
    const struct vt_step *turned = vt_match_step(match, product->inputs[1], "Transpose", 1);
    if (turned == NULL || vt_resolve(builder, turned->inputs[0]) != features ||
        !is_f32(vt_info_of(builder, features), 3) || !vt_transpose_perm(turned->node, 3, perm) ||
        perm[0] != 0 || perm[1] != 2) {
        return false;
    }
    const struct vt_step *concat = vt_match_step(match, features, "Concat", 2);
    if (concat == NULL || !match_features(match, concat, parts) || flat->dim[0] != parts->samples ||
        flat->dim[1] != (int64_t)parts->n_features * parts->n_features) {
        return false;
    }
    parts->inputs[0] = VT_NO_VALUE;
    parts->inputs[1] = vt_resolve(builder, gather->inputs[1]);
    return are_places(builder, gather->inputs[1], parts->n_features);
}

static enum vt_status become(struct vt_builder *builder, struct vt_step *step,
                             const struct parts *parts, const struct vt_match *match,
                             uint32_t *changes)
{
    ++*changes;
    return vt_step_become(builder, step,
                          &(struct vt_step_form){.domain = "vatio",
                                                 .op = "Interaction",
                                                 .inputs = parts->inputs,
                                                 .n_inputs = OWN_INPUTS + 2 * parts->n_features},
                          match);
}

/* Rows that stand before the pairs are taken in, too. */
static enum vt_status recognise_behind(struct vt_builder *builder, const struct vt_program *program,
                                       struct vt_step *concat, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct parts parts;
    const struct vt_step *gather = vt_match_step(&match, concat->inputs[1], "Gather", 1);
    const struct vt_shape_info *x = vt_info_of(builder, concat->inputs[0]);
    if (gather == NULL || !is_f32(x, 2) || !is_along(concat, 1, 2, 0) ||
        !match_pairs(&match, gather, &parts)) {
        return VT_OK;
    }
    parts.inputs[0] = vt_resolve(builder, concat->inputs[0]);
    return become(builder, concat, &parts, &match, changes);
}

static enum vt_status recognise(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *gather, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct parts parts;
    return match_pairs(&match, gather, &parts) ? become(builder, gather, &parts, &match, changes)
                                               : VT_OK;
}

VT_PASS(interaction)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (step->n_inputs == 2 && vt_step_is(step, "Concat")) {
            status = recognise_behind(builder, program, step, changes);
        }
    }
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        /* Those that were just taken in have no user left. */
        if (step->n_inputs == 2 && vt_step_is(step, "Gather") &&
            builder->values[step->outputs[0]].uses > 0) {
            status = recognise(builder, program, step, changes);
        }
    }
    return status;
}
