/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that only give memory another shape (Reshape, Flatten, Squeeze, Unsqueeze): of several in a
 * row the last one alone says what comes out.
 */
#include "plan/passes/pass.h"

static bool is_reshape(const struct vt_builder *builder, const struct vt_step *step)
{
    return step->kind == VT_STEP_VIEW && step->n_inputs > 0 && step->n_outputs > 0 &&
           (vt_step_is(step, "Reshape") || vt_step_is(step, "Flatten") ||
            vt_step_is(step, "Squeeze") || vt_step_is(step, "Unsqueeze")) &&
           vt_shape_info_known(vt_info_of(builder, step->inputs[0])) &&
           vt_shape_info_known(vt_info_of(builder, step->outputs[0]));
}

/* The value that a chain of reshapes in this program begins with. */
static uint32_t source_of(const struct vt_builder *builder, const struct vt_program *program,
                          const struct vt_step *step)
{
    uint32_t value = vt_resolve(builder, step->inputs[0]);
    const struct vt_build_value *made = &builder->values[value];
    while (made->info.value == NULL && made->producer != NULL && made->home == program &&
           !made->producer->dead && is_reshape(builder, made->producer)) {
        value = vt_resolve(builder, made->producer->inputs[0]);
        made = &builder->values[value];
    }
    return value;
}

VT_PASS(reshapes)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (!is_reshape(builder, step)) {
            continue;
        }
        const uint32_t source = source_of(builder, program, step);
        if (source == vt_resolve(builder, step->inputs[0])) {
            continue;
        }
        if (vt_same_shape(vt_info_of(builder, source), vt_info_of(builder, step->outputs[0]))) {
            vt_value_replace(builder, step->outputs[0], source);
            ++*changes;
            continue;
        }
        enum vt_status status = vt_step_view(builder, step, source);
        if (status != VT_OK) {
            return status;
        }
        ++*changes;
    }
    return VT_OK;
}
