/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch that passes through some steps part by part, so that what one step hands to the next is
 * still in the cache. The body is planned for the extents of one part; its inputs and outputs are
 * windows on the whole, moved from part to part.
 */
#include "plan/internal.h"

enum vt_status vt_build_split(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_split *split = step->split;
    struct vt_arena *memory = &builder->plan->memory;
    split->input_parts =
        vt_arena_calloc(memory, (size_t)step->n_inputs + 1, sizeof(*split->input_parts));
    split->output_parts =
        vt_arena_calloc(memory, (size_t)step->n_outputs + 1, sizeof(*split->output_parts));
    if (split->input_parts == NULL || split->output_parts == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        struct vt_build_value *part = &builder->values[split->inputs[i]];
        enum vt_status status =
            vt_tensor_shape(builder, step->node, &part->info, &split->input_parts[i]);
        if (status != VT_OK) {
            return status;
        }
        part->tensor = &split->input_parts[i];
    }
    const double before = builder->plan->info.flops;
    enum vt_status status = vt_build_steps(builder, split->body);
    if (status != VT_OK) {
        return status;
    }
    builder->plan->info.flops =
        before + (builder->plan->info.flops - before) * (double)split->parts;
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        const struct vt_step *producer = builder->values[split->outputs[i]].producer;
        split->output_parts[i] = &producer->output_tensors[0];
    }
    return VT_OK;
}

/* The window of a part: where it lies is known once the whole does. */
static void move_window(const struct vt_tensor *whole, int64_t part, struct vt_tensor *window)
{
    window->data = (uint8_t *)whole->data + (size_t)part * window->bytes;
}

enum vt_status vt_split_run(struct vt_plan *plan, struct vt_step *step, struct vt_error *err)
{
    struct vt_split *split = step->split;
    enum vt_status status = VT_OK;
    for (int64_t part = 0; part < split->parts && status == VT_OK; part++) {
        for (uint32_t i = 0; i < step->n_inputs; i++) {
            move_window(step->input_tensors[i], part, &split->input_parts[i]);
        }
        for (uint32_t i = 0; i < step->n_outputs; i++) {
            move_window(&step->output_tensors[i], part, split->output_parts[i]);
        }
        status = vt_program_run(plan, split->body, err);
    }
    return status;
}
