/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of two values of one shape moves into the step that makes one of them. */
#include <string.h>

#include "plan/passes/pass.h"

static bool same_known_shape(const struct vt_shape_info *a, const struct vt_shape_info *b)
{
    return a->dtype == b->dtype && vt_shape_info_known(a) && vt_shape_info_known(b) &&
           a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

static bool is_sum(const struct vt_builder *builder, const struct vt_step *step)
{
    return !step->dead && step->kind == VT_STEP_OP && vt_is_op(step->node, "Add") &&
           step->n_inputs == 2 && step->inputs[0] != step->inputs[1] &&
           same_known_shape(&builder->values[step->inputs[0]].info,
                            &builder->values[step->inputs[1]].info);
}

VT_PASS(fuse_residual)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        struct vt_step *inner[2];
        if (!is_sum(builder, step)) {
            continue;
        }
        for (uint32_t i = 0; i < 2; i++) {
            inner[i] = vt_step_open(builder, program, step->inputs[i]);
            if (inner[i] != NULL && inner[i]->epilogue.has_residual) {
                inner[i] = NULL;
            }
        }
        /* The one that runs later: its inputs are kept for a shorter while. */
        const uint32_t chosen =
            inner[0] == NULL || (inner[1] != NULL && inner[1]->position > inner[0]->position) ? 1
                                                                                              : 0;
        if (inner[chosen] == NULL) {
            continue;
        }
        const uint32_t residual = step->inputs[1 - chosen];
        vt_step_absorb(builder, step, inner[chosen]);
        step->inputs[step->n_inputs++] = residual;
        vt_value_use(builder, residual);
        step->epilogue.has_residual = true;
        ++*changes;
    }
    return VT_OK;
}
