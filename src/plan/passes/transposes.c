/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes in a row become one whose permutation is that of all; where it changes nothing it
 * goes, and where it moves only extents of 1 it is a new shape for the same memory.
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

VT_PASS(transposes)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (vt_step_is(step, "Transpose")) {
            status = join(builder, program, step, changes);
        }
        if (status == VT_OK && vt_step_is(step, "Transpose")) {
            status = relax(builder, step, changes);
        }
    }
    return status;
}
