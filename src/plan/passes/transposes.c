/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes in a row become one whose permutation is that of all; where it changes nothing it
 * goes, and where it moves only extents of 1 it is a new shape for the same memory. One that moves
 * channels behind the pixels does so before they are cut by a reshape.
 */
#include <string.h>

#include "plan/passes/pass.h"

/* The permutation: axis d of the output is axis perm[d] of the input. */
static bool perm_of(const struct vt_builder *builder, const struct vt_step *step, int64_t *ret_perm,
                    uint32_t *ret_rank)
{
    const struct vt_shape_info *x = vt_info_of(builder, step->inputs[0]);
    return x->rank != VT_RANK_UNKNOWN &&
           vt_transpose_perm(step->node, *ret_rank = x->rank, ret_perm);
}

static bool is_identity(const int64_t *perm, uint32_t rank)
{
    uint32_t d = 0;
    while (d < rank && perm[d] == d) {
        d++;
    }
    return d == rank;
}

/* Whether the axes that are longer than 1 stay in their order. */
static bool keeps_order(const struct vt_shape_info *x, const int64_t *perm)
{
    int64_t last = -1;
    if (!vt_shape_info_known(x)) {
        return false;
    }
    for (uint32_t d = 0; d < x->rank; d++) {
        if (x->dim[perm[d]] == 1) {
            continue;
        }
        if (perm[d] < last) {
            return false;
        }
        last = perm[d];
    }
    return true;
}

/* One with the one before it; that one may have other users and then stays for them. */
static enum vt_status join(struct vt_builder *builder, const struct vt_program *program,
                           struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    int64_t inner[VT_RANK_MAX], outer[VT_RANK_MAX], both[VT_RANK_MAX];
    uint32_t rank = 0, same = 0;
    struct vt_step *before = vt_match_step(&match, step->inputs[0], "Transpose", 0);
    if (before == NULL || !perm_of(builder, before, inner, &same) ||
        !perm_of(builder, step, outer, &rank) || rank != same) {
        return VT_OK;
    }
    for (uint32_t d = 0; d < rank; d++) {
        both[d] = inner[outer[d]];
    }
    ++*changes;
    return vt_step_become(
        builder, step,
        &(struct vt_step_form){
            .op = "Transpose",
            .inputs = &before->inputs[0],
            .n_inputs = 1,
            .attrs =
                &(struct vt_attr){.name = "perm", .type = VT_ATTR_INTS, .n = rank, .ints = both},
            .n_attrs = 1},
        NULL);
}

/* Nothing, or a view, where it can be. */
static enum vt_status relax(struct vt_builder *builder, struct vt_step *step, uint32_t *changes)
{
    int64_t perm[VT_RANK_MAX];
    uint32_t rank = 0;
    if (!perm_of(builder, step, perm, &rank)) {
        return VT_OK;
    }
    if (is_identity(perm, rank)) {
        vt_value_replace(builder, step->outputs[0], step->inputs[0]);
        ++*changes;
        return VT_OK;
    }
    if (!keeps_order(vt_info_of(builder, step->inputs[0]), perm)) {
        return VT_OK;
    }
    ++*changes;
    return vt_step_view(builder, step, step->inputs[0]);
}

/* The reshape that makes `value` for this one user, all extents known; NULL: none. */
static struct vt_step *reshape_of(const struct vt_builder *builder,
                                  const struct vt_program *program, uint32_t value)
{
    const struct vt_build_value *made = &builder->values[vt_resolve(builder, value)];
    struct vt_step *step = made->producer;
    if (step == NULL || step->dead || made->home != program || made->uses != 1 ||
        step->kind != VT_STEP_VIEW || !vt_step_is(step, "Reshape") ||
        !vt_shape_info_known(vt_info_of(builder, step->inputs[0])) ||
        !vt_shape_info_known(vt_info_of(builder, step->outputs[0]))) {
        return NULL;
    }
    return step;
}

/* Whether `cut` is `whole` with its axis 1 in two. */
static bool is_cut(const struct vt_shape_info *whole, const struct vt_shape_info *cut)
{
    bool same = whole->rank >= 3 && cut->rank == whole->rank + 1 && whole->dim[0] == cut->dim[0] &&
                whole->dim[1] == cut->dim[1] * cut->dim[2];
    for (uint32_t d = 2; same && d < whole->rank; d++) {
        same = whole->dim[d] == cut->dim[d + 1];
    }
    return same;
}

/*
 * The channels of an image are cut in two and then moved behind the pixels: they are moved first,
 * which costs nothing where they are last in memory already, and then cut.
 */
static enum vt_status move_first(struct vt_builder *builder, const struct vt_program *program,
                                 struct vt_step *step, uint32_t *changes)
{
    struct vt_step *cut = reshape_of(builder, program, step->inputs[0]);
    int64_t perm[VT_RANK_MAX];
    uint32_t rank = 0;
    if (cut == NULL || !perm_of(builder, step, perm, &rank) ||
        !is_cut(vt_info_of(builder, cut->inputs[0]), vt_info_of(builder, cut->outputs[0])) ||
        perm[0] != 0 || perm[rank - 2] != 1 || perm[rank - 1] != 2) {
        return VT_OK;
    }
    for (uint32_t d = 1; d + 2 < rank; d++) {
        if (perm[d] != d + 2) {
            return VT_OK;
        }
        perm[d]--; /* before the cut there is an axis less */
    }
    perm[rank - 2] = 1;
    struct vt_shape_info *turned = &builder->values[cut->outputs[0]].info;
    const struct vt_shape_info *image = vt_info_of(builder, cut->inputs[0]);
    turned->rank = image->rank;
    for (uint32_t d = 0; d < image->rank; d++) {
        turned->dim[d] = image->dim[perm[d]];
    }
    enum vt_status status =
        vt_step_become(builder, cut,
                       &(struct vt_step_form){.op = "Transpose",
                                              .inputs = &cut->inputs[0],
                                              .n_inputs = 1,
                                              .attrs = &(struct vt_attr){.name = "perm",
                                                                         .type = VT_ATTR_INTS,
                                                                         .n = image->rank,
                                                                         .ints = perm},
                                              .n_attrs = 1},
                       NULL);
    ++*changes;
    return status == VT_OK ? vt_step_view(builder, step, cut->outputs[0]) : status;
}

VT_PASS(transposes)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (vt_step_is(step, "Transpose")) {
            status = join(builder, program, step, changes);
        }
        if (status == VT_OK && vt_step_is(step, "Transpose")) {
            status = move_first(builder, program, step, changes);
        }
        if (status == VT_OK && vt_step_is(step, "Transpose")) {
            status = relax(builder, step, changes);
        }
    }
    return status;
}
