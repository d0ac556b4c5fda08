/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the values lie. Every step gets a number, in the order of execution, bodies of If and Loop
 * included; a buffer is needed from the step that makes it to the last one that looks at it, under
 * whatever name. What has a known size, or a bound that is not wasteful, goes to the arena; the
 * rest has buffers that grow at run time and are kept.
 *
 * In a loop a buffer that was made before it is needed until the loop's end, because the next turn
 * looks at it again; so are the carried values.
 */
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "plan/internal.h"
#include "plan/memory.h"

/* Above this many bytes a bound is not believed and the buffer grows as needed. */
#define BOUND_LIMIT ((size_t)64 << 20)

#define NEVER_FREED UINT32_MAX

/* --- buffers, in the order of the steps
 * ----------------------------------------------------------- */

static enum vt_status list_grow(void **items, uint32_t n, uint32_t *capacity, size_t item_bytes,
                                struct vt_arena *memory, struct vt_error *err)
{
    if (n < *capacity) {
        return VT_OK;
    }
    uint32_t larger = *capacity == 0 ? 64 : *capacity * 2;
    void *fresh = vt_arena_calloc(memory, larger, item_bytes);
    if (fresh == NULL) {
        return vt_out_of_memory(err);
    }
    if (n > 0) {
        memcpy(fresh, *items, n * item_bytes);
    }
    *items = fresh;
    *capacity = larger;
    return VT_OK;
}

static enum vt_status add_alias(struct vt_builder *builder, uint32_t value, uint32_t source)
{
    void *items = builder->aliases;
    enum vt_status status = list_grow(&items, builder->n_aliases, &builder->alias_capacity,
                                      sizeof(*builder->aliases), &builder->scratch, builder->err);
    if (status != VT_OK) {
        return status;
    }
    builder->aliases = items;
    builder->aliases[builder->n_aliases++] = (struct vt_alias){value, source};
    if (builder->values[source].graph_input || builder->values[source].may_be_input) {
        builder->values[value].may_be_input = true;
    }
    return VT_OK;
}

static enum vt_status add_loop(struct vt_builder *builder, uint32_t first, uint32_t last)
{
    void *items = builder->loops;
    enum vt_status status = list_grow(&items, builder->n_loops, &builder->loop_capacity,
                                      sizeof(*builder->loops), &builder->scratch, builder->err);
    if (status != VT_OK) {
        return status;
    }
    builder->loops = items;
    builder->loops[builder->n_loops++] = (struct vt_span){first, last};
    return VT_OK;
}

static void register_buffer(struct vt_builder *builder, struct vt_buffer *buffer, uint32_t first)
{
    buffer->first = buffer->last = first;
    if (builder->last_buffer != NULL) {
        builder->last_buffer->next = buffer;
    } else {
        builder->plan->buffers = buffer;
    }
    builder->last_buffer = buffer;
}

static struct vt_buffer *new_buffer(struct vt_builder *builder, uint32_t first)
{
    struct vt_buffer *buffer = vt_arena_calloc(&builder->plan->memory, 1, sizeof(*buffer));
    if (buffer == NULL) {
        (void)vt_out_of_memory(builder->err);
        return NULL;
    }
    register_buffer(builder, buffer, first);
    return buffer;
}

/* Bytes that the value takes at most; false when there is no bound worth reserving. */
static bool bounded_bytes(const struct vt_shape_info *info, size_t *ret_bytes)
{
    int64_t dim[VT_RANK_MAX];
    bool known = vt_shape_info_known(info);
    if (info->rank == VT_RANK_UNKNOWN) {
        return false;
    }
    for (uint32_t d = 0; d < info->rank; d++) {
        dim[d] = info->dim[d] >= 0 ? info->dim[d] : info->bound[d];
    }
    return vt_shape_bytes(info->dtype, dim, info->rank, ret_bytes) &&
           (known || *ret_bytes <= BOUND_LIMIT);
}

static struct vt_buffer *value_buffer(struct vt_builder *builder, uint32_t value, uint32_t first)
{
    struct vt_buffer *buffer = new_buffer(builder, first);
    if (buffer != NULL) {
        size_t bytes = 0;
        if (bounded_bytes(&builder->values[value].info, &bytes)) {
            buffer->capacity = bytes;
        } else {
            buffer->grows = true;
        }
        builder->values[value].buffer = buffer;
        builder->values[value].first = builder->values[value].last = first;
    }
    return buffer;
}

static enum vt_status place_program(struct vt_builder *builder, struct vt_program *program);

static enum vt_status place_op(struct vt_builder *builder, struct vt_step *step)
{
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE && builder->values[step->outputs[i]].is_part) {
            struct vt_build_value *part = &builder->values[step->outputs[i]];
            part->first = part->last = step->position;
        } else if (step->outputs[i] != VT_NO_VALUE) {
            step->buffers[i] = value_buffer(builder, step->outputs[i], step->position);
            if (step->buffers[i] == NULL) {
                return VT_ERR_MEMORY;
            }
        }
    }
    if (step->workspace != NULL) {
        register_buffer(builder, step->workspace, step->position);
    }
    return VT_OK;
}

/* A view of something whose place is fixed costs nothing at run time. */
static enum vt_status place_view(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_build_value *value = &builder->values[step->outputs[0]];
    struct vt_buffer *source = builder->values[step->inputs[0]].buffer;
    value->first = value->last = step->position;
    if (source != NULL && !source->grows && step->dynamic == NULL) {
        value->buffer = source;
        step->elided = true;
        return VT_OK;
    }
    return add_alias(builder, step->outputs[0], step->inputs[0]);
}

static enum vt_status place_if(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_program *branches[2] = {step->branches->then_branch, step->branches->else_branch};
    for (uint32_t b = 0; b < 2; b++) {
        enum vt_status status = place_program(builder, branches[b]);
        if (status != VT_OK) {
            return status;
        }
    }
    step->end = builder->positions++;
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        uint32_t value = step->outputs[i];
        if (value == VT_NO_VALUE) {
            continue;
        }
        builder->values[value].first = builder->values[value].last = step->end;
        for (uint32_t b = 0; b < 2; b++) {
            enum vt_status status = i < branches[b]->n_outputs
                                        ? add_alias(builder, value, branches[b]->outputs[i])
                                        : VT_OK;
            if (status != VT_OK) {
                return status;
            }
        }
    }
    return VT_OK;
}

/* Whether the body's output may lie in the memory of a carried value, which is about to be
 * overwritten. */
static bool needs_staging(const struct vt_builder *builder, const struct vt_loop *loop,
                          uint32_t value)
{
    if (vt_is_constant(builder, value)) {
        return false;
    }
    const struct vt_buffer *buffer = builder->values[value].buffer;
    for (uint32_t i = 0; i < loop->n_carried; i++) {
        if (loop->carried[i].buffer == buffer) {
            return true;
        }
    }
    return buffer == NULL;
}

static enum vt_status place_loop(struct vt_builder *builder, struct vt_step *step)
{
    struct vt_loop *loop = step->loop;
    for (uint32_t i = 0; i < loop->n_carried; i++) {
        loop->carried[i].buffer = value_buffer(builder, loop->inside[2 + i], step->position);
        if (loop->carried[i].buffer == NULL) {
            return VT_ERR_MEMORY;
        }
    }
    enum vt_status status = place_program(builder, loop->body);
    if (status != VT_OK) {
        return status;
    }
    step->end = builder->positions++;
    status = add_loop(builder, step->position, step->end);
    for (uint32_t i = 0; i < loop->n_carried && status == VT_OK; i++) {
        if (needs_staging(builder, loop, loop->body->outputs[1 + i])) {
            loop->carried[i].staging = new_buffer(builder, step->end);
            if (loop->carried[i].staging == NULL) {
                return VT_ERR_MEMORY;
            }
            loop->carried[i].staging->grows = loop->carried[i].buffer->grows;
            loop->carried[i].staging->capacity = loop->carried[i].buffer->capacity;
        }
        if (step->outputs[i] != VT_NO_VALUE) {
            struct vt_build_value *result = &builder->values[step->outputs[i]];
            result->first = result->last = step->end;
            status = add_alias(builder, step->outputs[i], loop->inside[2 + i]);
        }
    }
    for (uint32_t i = 0; i < loop->n_scans && status == VT_OK; i++) {
        uint32_t output = loop->n_carried + i;
        if (step->outputs[output] != VT_NO_VALUE) {
            loop->scans[i].buffer = value_buffer(builder, step->outputs[output], step->position);
            status = loop->scans[i].buffer != NULL ? VT_OK : VT_ERR_MEMORY;
        }
    }
    return status;
}

/* What comes from outside is looked at by every part, and what goes out is written by each. */
static enum vt_status place_split(struct vt_builder *builder, struct vt_step *step)
{
    enum vt_status status = place_op(builder, step);
    if (status == VT_OK) {
        status = place_program(builder, step->split->body);
    }
    if (status != VT_OK) {
        return status;
    }
    step->end = builder->positions++;
    return add_loop(builder, step->position, step->end);
}

static enum vt_status place_program(struct vt_builder *builder, struct vt_program *program)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        enum vt_status status = VT_OK;
        if (step->dead) {
            continue;
        }
        step->position = step->end = builder->positions++;
        switch (step->kind) {
        case VT_STEP_OP:
            status = place_op(builder, step);
            break;
        case VT_STEP_VIEW:
            status = place_view(builder, step);
            break;
        case VT_STEP_IF:
            status = place_if(builder, step);
            break;
        case VT_STEP_LOOP:
            status = place_loop(builder, step);
            break;
        case VT_STEP_SPLIT:
            status = place_split(builder, step);
            break;
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

/* --- lifetimes
 * ------------------------------------------------------------------------------------ */

/* A step at `position` looks at something made at `first`: until when is it needed? Loops stand
 * in the order in which they end, the inner ones first. */
static uint32_t needed_until(const struct vt_builder *builder, uint32_t first, uint32_t position)
{
    for (uint32_t i = 0; i < builder->n_loops; i++) {
        const struct vt_span *loop = &builder->loops[i];
        if (first < loop->first && position >= loop->first && position < loop->last) {
            position = loop->last;
        }
    }
    return position;
}

static void touch(struct vt_builder *builder, uint32_t value, uint32_t position)
{
    if (value == VT_NO_VALUE) {
        return;
    }
    struct vt_build_value *used = &builder->values[value];
    uint32_t until = needed_until(builder, used->first, position);
    if (until > used->last) {
        used->last = until;
    }
    if (used->buffer != NULL) {
        until = needed_until(builder, used->buffer->first, until);
        if (until > used->buffer->last) {
            used->buffer->last = until;
        }
    }
}

static void touch_program(struct vt_builder *builder, const struct vt_program *program)
{
    for (const struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (step->dead) {
            continue;
        }
        for (uint32_t i = 0; i < step->n_inputs; i++) {
            touch(builder, step->inputs[i], step->position);
        }
        if (step->branches != NULL) {
            const struct vt_program *branches[2] = {step->branches->then_branch,
                                                    step->branches->else_branch};
            for (uint32_t b = 0; b < 2; b++) {
                touch_program(builder, branches[b]);
                for (uint32_t i = 0; i < branches[b]->n_outputs; i++) {
                    touch(builder, branches[b]->outputs[i], step->end);
                }
            }
        }
        if (step->split != NULL) {
            touch_program(builder, step->split->body);
            for (uint32_t i = 0; i < step->n_inputs; i++) {
                touch(builder, step->inputs[i], step->end);
            }
            for (uint32_t i = 0; i < step->n_outputs; i++) {
                touch(builder, step->outputs[i], step->end);
            }
        }
        if (step->loop != NULL) {
            const struct vt_loop *loop = step->loop;
            touch_program(builder, loop->body);
            for (uint32_t i = 0; i < loop->body->n_outputs; i++) {
                touch(builder, loop->body->outputs[i], step->end);
            }
            for (uint32_t i = 0; i < loop->n_carried; i++) {
                touch(builder, loop->inside[2 + i], step->end);
            }
            for (uint32_t i = loop->n_carried; i < step->n_outputs; i++) {
                touch(builder, step->outputs[i], step->end);
            }
        }
    }
}

static void find_lifetimes(struct vt_builder *builder)
{
    const struct vt_program *program = builder->plan->program;
    touch_program(builder, program);
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        touch(builder, program->outputs[i], NEVER_FREED);
    }
    for (uint32_t i = builder->n_aliases; i > 0; i--) {
        const struct vt_alias *alias = &builder->aliases[i - 1];
        touch(builder, alias->source, builder->values[alias->value].last);
    }
}

/* --- in place
 * --------------------------------------------------------------------------------------- */

/* Whether the value's memory may be that of `buffer`: what is a view at run time may be of
 * anything. */
static bool may_lie_on(const struct vt_builder *builder, uint32_t value,
                       const struct vt_buffer *buffer)
{
    const struct vt_build_value *used = &builder->values[value];
    const struct vt_buffer *own = used->buffer;
    while (own != NULL && own->joined != NULL) {
        own = own->joined;
    }
    return own == buffer || (own == NULL && used->info.value == NULL && !used->graph_input);
}

/* The step's first output gets the memory of that input where nobody needs it any more. */
static void join_output(struct vt_builder *builder, struct vt_step *step, uint32_t input)
{
    if (step->n_outputs == 0 || step->outputs[0] == VT_NO_VALUE || step->n_inputs == 0 ||
        step->inputs[input] == VT_NO_VALUE || step->dynamic != NULL) {
        return;
    }
    struct vt_buffer *from = builder->values[step->inputs[input]].buffer;
    struct vt_buffer *to = step->buffers[0];
    while (from != NULL && from->joined != NULL) {
        from = from->joined;
    }
    if (from == NULL || to == NULL || from->grows || to->grows || from->last != step->position ||
        from->first >= step->position || from->capacity != to->capacity) {
        return;
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (i != input && step->inputs[i] != VT_NO_VALUE &&
            may_lie_on(builder, step->inputs[i], from)) {
            return;
        }
    }
    to->joined = from;
    from->last = to->last;
}

static void join_program(struct vt_builder *builder, const struct vt_program *program)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (step->dead) {
            continue;
        }
        if (step->kind == VT_STEP_OP && (step->op->flags & VT_OP_IN_PLACE) != 0) {
            join_output(builder, step, 0);
        } else if (step->kind == VT_STEP_OP && step->ctx.over_residual && step->widen == NULL &&
                   step->epilogue.has_residual) {
            join_output(builder, step, step->n_inputs - 1); /* the residual */
        }
        struct vt_program *bodies[2];
        const uint32_t n = vt_step_bodies(step, bodies);
        for (uint32_t b = 0; b < n; b++) {
            join_program(builder, bodies[b]);
        }
    }
}

/* --- the arena
 * ----------------------------------------------------------------------------------------- */

/* All memory of this machine; 0 when that is not known. */
static size_t machine_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (size_t)pages * (size_t)bytes : 0;
}

/* The values do not fit: names the largest of them. */
static enum vt_status too_large_for(struct vt_builder *builder, size_t machine,
                                    enum vt_status status)
{
    uint32_t largest = VT_NO_VALUE;
    size_t most = 0;
    for (uint32_t i = 0; i < builder->n_values; i++) {
        const struct vt_buffer *buffer = builder->values[i].buffer;
        if (buffer != NULL && !buffer->grows && buffer->capacity > most) {
            most = buffer->capacity;
            largest = i;
        }
    }
    const char *name = largest != VT_NO_VALUE ? vt_value_name(builder, largest) : "";
    return vt_error_set(builder->err, status,
                        "%s: the values of the model need %zu MiB of memory for inputs of this "
                        "size, '%s' alone %zu MiB; this machine has %zu MiB: try a smaller batch "
                        "or shape",
                        vt_model_name(builder->plan->model), builder->plan->info.arena_bytes >> 20,
                        vt_plain(name).text, most >> 20, machine >> 20);
}

static enum vt_status allocate(struct vt_builder *builder)
{
    struct vt_plan *plan = builder->plan;
    size_t n = 0, at = 0;
    for (const struct vt_buffer *buffer = plan->buffers; buffer != NULL; buffer = buffer->next) {
        n += buffer->grows || buffer->joined != NULL ? 0 : 1;
        if (!buffer->grows) {
            plan->info.unshared_bytes +=
                (buffer->capacity + VT_ALIGNMENT - 1) / VT_ALIGNMENT * VT_ALIGNMENT;
        }
    }
    struct vt_lifetime *lifetimes = vt_arena_calloc(&builder->scratch, n + 1, sizeof(*lifetimes));
    if (lifetimes == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (const struct vt_buffer *buffer = plan->buffers; buffer != NULL; buffer = buffer->next) {
        if (!buffer->grows && buffer->joined == NULL) {
            lifetimes[at++] =
                (struct vt_lifetime){buffer->capacity, buffer->first, buffer->last, 0};
        }
    }
    enum vt_status status = vt_memory_plan(lifetimes, n, builder->err, &plan->info.arena_bytes);
    if (status != VT_OK) {
        return status;
    }
    size_t machine = machine_bytes();
    bool too_large = machine > 0 && plan->info.arena_bytes > machine;
    plan->arena = too_large ? NULL : vt_alloc(plan->info.arena_bytes);
    if (plan->arena == NULL) {
        return too_large_for(builder, machine, too_large ? VT_ERR_LIMIT : VT_ERR_MEMORY);
    }
    at = 0;
    for (struct vt_buffer *buffer = plan->buffers; buffer != NULL; buffer = buffer->next) {
        if (!buffer->grows && buffer->joined == NULL) {
            buffer->data = plan->arena + lifetimes[at++].offset;
        } else if (buffer->joined != NULL) {
            buffer->data = buffer->joined->data; /* made earlier, so placed already */
        }
    }
    return VT_OK;
}

/* Where a step that asks for no workspace has its: kernels add offsets of 0 to it, and to a null
 * pointer nothing may be added. Never written. */
static _Alignas(VT_ALIGNMENT) uint8_t no_workspace[VT_ALIGNMENT];

static void bind_program(struct vt_builder *builder, const struct vt_program *program)
{
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (step->dead) {
            continue;
        }
        for (uint32_t i = 0; i < step->n_outputs; i++) {
            if (step->outputs[i] != VT_NO_VALUE) {
                const struct vt_buffer *buffer = builder->values[step->outputs[i]].buffer;
                step->output_tensors[i].data = buffer != NULL ? buffer->data : NULL;
            }
        }
        step->ctx.workspace = step->workspace != NULL ? step->workspace->data : no_workspace;
        if (step->loop != NULL) {
            step->loop->turn_tensor->data = &step->loop->turn;
            step->loop->condition_tensor->data = &step->loop->condition_value;
        }
        struct vt_program *bodies[2];
        const uint32_t n = vt_step_bodies(step, bodies);
        for (uint32_t b = 0; b < n; b++) {
            bind_program(builder, bodies[b]);
        }
    }
}

/* The list becomes an array of what has to be run. */
static enum vt_status flatten(struct vt_builder *builder, struct vt_program *program)
{
    uint32_t n = 0;
    for (const struct vt_step *step = program->first; step != NULL; step = step->next) {
        n += step->dead || step->elided ? 0 : 1;
    }
    program->steps =
        vt_arena_calloc(&builder->plan->memory, (size_t)n + 1, sizeof(*program->steps));
    if (program->steps == NULL) {
        return vt_out_of_memory(builder->err);
    }
    builder->plan->info.steps += n;
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        enum vt_status status = VT_OK;
        if (step->dead || step->elided) {
            continue;
        }
        program->steps[program->n_steps++] = step;
        struct vt_program *bodies[2];
        const uint32_t n_bodies = vt_step_bodies(step, bodies);
        for (uint32_t b = 0; b < n_bodies && status == VT_OK; b++) {
            status = flatten(builder, bodies[b]);
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

enum vt_status vt_layout(struct vt_builder *builder)
{
    struct vt_program *program = builder->plan->program;
    builder->positions = 1; /* 0: the inputs are there */
    enum vt_status status = place_program(builder, program);
    if (status != VT_OK) {
        return status;
    }
    find_lifetimes(builder);
    join_program(builder, program);
    status = allocate(builder);
    if (status != VT_OK) {
        return status;
    }
    bind_program(builder, program);
    return flatten(builder, program);
}
