/* SPDX-License-Identifier: Apache-2.0 */
/* Steps whose outputs nobody looks at go. Nothing here has an effect but its outputs. */
#include "plan/passes/pass.h"

VT_PASS(dead_code)
{
    /* What only a dead step uses is dead too, and stands before it. */
    vt_program_reverse(program);
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (!vt_step_is_used(builder, step)) {
            vt_step_kill(builder, step);
            ++*changes;
        }
    }
    vt_program_reverse(program);
    return VT_OK;
}
