/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that give their input back as it is: users look at the input instead. */
#include <string.h>

#include "plan/passes/pass.h"

static bool is_one_of(const struct vt_step *step, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (vt_step_is(step, names[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the first input comes out unchanged, in type, shape and contents. */
static bool gives_input_back(const struct vt_builder *builder, const struct vt_step *step)
{
    static const char *const always[] = {"Identity", "Dropout"};
    static const char *const same_shape[] = {"Reshape",   "Flatten", "Squeeze",
                                             "Unsqueeze", "Expand",  "Tile"};
    static const char *const alone[] = {"Concat", "Sum", "Max", "Min", "Mean"};
    if (step->n_inputs == 0 || step->inputs[0] == VT_NO_VALUE || step->n_outputs == 0 ||
        step->outputs[0] == VT_NO_VALUE) {
        return false;
    }
    const struct vt_shape_info *in = vt_info_of(builder, step->inputs[0]);
    const struct vt_shape_info *out = vt_info_of(builder, step->outputs[0]);
    if (in->dtype != out->dtype || in->dtype == VT_UNDEFINED) {
        return false;
    }
    if (is_one_of(step, always, sizeof(always) / sizeof(always[0]))) {
        return (step->op->flags & VT_OP_VIEW) != 0; /* a Dropout may be another one */
    }
    if (vt_step_is(step, "Cast")) {
        return true;
    }
    if (is_one_of(step, same_shape, sizeof(same_shape) / sizeof(same_shape[0]))) {
        return vt_same_shape(in, out);
    }
    return step->n_inputs == 1 && is_one_of(step, alone, sizeof(alone) / sizeof(alone[0]));
}

VT_PASS(no_ops)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (gives_input_back(builder, step)) {
            vt_value_replace(builder, step->outputs[0], step->inputs[0]);
            ++*changes;
        }
    }
    return VT_OK;
}
