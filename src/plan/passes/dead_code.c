/* SPDX-License-Identifier: Apache-2.0 */
/* Steps whose outputs nobody looks at go. Nothing here has an effect but its outputs. */
#include "plan/passes/pass.h"

/* Turns the list round: what only a dead step uses is dead too, and stands before it. */
static void reverse(struct vt_program *program)
{
    struct vt_step *head = NULL;
    program->end = program->first;
    for (struct vt_step *step = program->first; step != NULL;) {
        struct vt_step *next = step->next;
        step->next = head;
        head = step;
        step = next;
    }
    program->first = head;
}

VT_PASS(dead_code)
{
    reverse(program);
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (!vt_step_is_used(builder, step)) {
            vt_step_kill(builder, step);
            ++*changes;
        }
    }
    reverse(program);
    return VT_OK;
}
