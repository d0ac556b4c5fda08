/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large batches through large layers: where the images of a whole batch outgrow the cache, a run of
 * steps is carried out for a few images at a time. How few is weighed against the weights, which
 * every part reads again: a part's images are at least as many bytes as the weights of each step.
 */
#include <string.h>

#include "base/topology.h"
#include "plan/passes/pass.h"

/* Second-level cache of a core where the machine does not say. */
#define CACHE_BYTES ((size_t)1 << 20)

static const struct vt_node node_split = {
    .name = "", .op = "BatchSplit", .domain = "vatio", .opset = 1};

/* What a step says about splitting. */
struct view {
    uint32_t images; /* bit i: input i is a batch of images */
    int64_t batch;
    int64_t part;       /* images that should go together; 0: the step cannot be split */
    size_t image_bytes; /* of the whole batch, read and written */
};

static bool is_reorder(const struct vt_step *step)
{
    return step->kind == VT_STEP_OP && strcmp(step->node->domain, "vatio") == 0 &&
           (strcmp(step->node->op, "ToChannelsLast") == 0 ||
            strcmp(step->node->op, "ToChannelsFirst") == 0);
}

static size_t bytes_of(const struct vt_shape_info *info)
{
    size_t bytes = 0;
    return vt_shape_bytes(info->dtype, info->dim, info->rank, &bytes) ? bytes : 0;
}

static struct view look(const struct vt_builder *builder, const struct vt_step *step)
{
    struct view view = {0};
    if (is_reorder(step)) {
        view.images = 1;
    } else if (vt_image_wish_of(builder, step, &view.images) == VT_IMAGE_NOT) {
        return view;
    }
    const struct vt_shape_info *out = &builder->values[step->outputs[0]].info;
    size_t weights = 0;
    view.batch = out->dim[0];
    view.image_bytes = bytes_of(out);
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        if (step->inputs[i] == VT_NO_VALUE) {
            continue;
        }
        const struct vt_shape_info *in = &builder->values[step->inputs[i]].info;
        const bool image = (view.images >> i & 1) != 0;
        if (image != (in->value == NULL) || (image && in->dim[0] != view.batch)) {
            return view;
        }
        *(image ? &view.image_bytes : &weights) += bytes_of(in);
    }
    const size_t one = view.batch > 0 ? view.image_bytes / (size_t)view.batch : 0;
    if (one > 0) {
        view.part = weights > one ? (int64_t)((weights + one - 1) / one) : 1;
    }
    return view;
}

/* The least divisor of the batch that is not below `part`. */
static int64_t divisor(int64_t batch, int64_t part)
{
    while (part < batch && batch % part != 0) {
        part++;
    }
    return part < batch ? part : batch;
}

/* Steps from *link to `last` that are carried out for `part` images at a time. */
struct run {
    struct vt_step **link;
    struct vt_step *last;
    uint32_t n_steps; /* 0: nothing is gained */
    int64_t batch, part;
};

/* The run that begins at *link: it goes on while no step wants more images at a time. */
static struct run find_run(const struct vt_builder *builder, struct vt_step **link)
{
    const size_t known = vt_topology()->l2_bytes;
    const size_t cache = known > 0 ? known : CACHE_BYTES;
    struct run run = {.link = link};
    size_t largest = 0;
    for (struct vt_step *step = *link; step != NULL; step = step->next) {
        const struct view view = look(builder, step);
        if (view.part == 0 || (run.n_steps > 0 && view.batch != run.batch)) {
            break;
        }
        const int64_t part = divisor(view.batch, view.part);
        if (run.n_steps == 0) {
            run.batch = view.batch;
            run.part = part;
        } else if (part > run.part) {
            break;
        }
        largest = view.image_bytes > largest ? view.image_bytes : largest;
        run.last = step;
        run.n_steps++;
    }
    if (run.n_steps < 2 || run.part >= run.batch || largest <= cache) {
        run.n_steps = 0;
    }
    return run;
}

/* --- the step that a run becomes ----------------------------------------------------------------
 */

struct split {
    struct vt_builder *builder;
    const struct run *run;
    struct vt_step *step;
};

/* A value for one part of `whole`. */
static enum vt_status add_part(struct split *s, uint32_t whole, uint32_t *ret_part)
{
    enum vt_status status = vt_value_add(s->builder, &s->builder->values[whole].info, ret_part);
    if (status == VT_OK) {
        struct vt_build_value *part = &s->builder->values[*ret_part];
        part->info.dim[0] = s->run->part;
        part->channels_last = s->builder->values[whole].channels_last;
        part->twin = whole; /* for its name */
        part->is_part = true;
    }
    return status;
}

/* How often the run's steps read a value; they read `instead` from now on, unless it is none. */
static uint32_t reads_inside(const struct split *s, uint32_t value, uint32_t instead)
{
    struct vt_step *end = s->run->last->next;
    uint32_t n = 0;
    for (struct vt_step *step = *s->run->link; step != end; step = step->next) {
        for (uint32_t i = 0; i < step->n_inputs; i++) {
            if (step->inputs[i] == value) {
                step->inputs[i] = instead != VT_NO_VALUE ? instead : value;
                n++;
            }
        }
    }
    return n;
}

static bool is_made_inside(const struct split *s, uint32_t value)
{
    struct vt_step *end = s->run->last->next;
    struct vt_step *step = *s->run->link;
    while (step != end && step->outputs[0] != value) {
        step = step->next;
    }
    return step != end;
}

/* Images from outside come in as windows. */
static enum vt_status take_inputs(struct split *s)
{
    struct vt_step *end = s->run->last->next;
    for (struct vt_step *step = *s->run->link; step != end; step = step->next) {
        for (uint32_t i = 0; i < step->n_inputs; i++) {
            const uint32_t value = step->inputs[i];
            if (value == VT_NO_VALUE || s->builder->values[value].info.value != NULL ||
                s->builder->values[value].is_part || is_made_inside(s, value)) {
                continue;
            }
            uint32_t part = VT_NO_VALUE;
            enum vt_status status = add_part(s, value, &part);
            if (status != VT_OK) {
                return status;
            }
            s->step->inputs[s->step->n_inputs] = value;
            s->step->split->inputs[s->step->n_inputs++] = part;
            (void)reads_inside(s, value, part);
        }
    }
    return VT_OK;
}

/* What is used behind the run is written into the whole; the rest is as large as a part. */
static enum vt_status give_outputs(struct split *s)
{
    struct vt_step *end = s->run->last->next;
    for (struct vt_step *step = *s->run->link; step != end; step = step->next) {
        const uint32_t value = step->outputs[0];
        if (s->builder->values[value].uses == reads_inside(s, value, VT_NO_VALUE)) {
            s->builder->values[value].info.dim[0] = s->run->part;
            continue;
        }
        uint32_t part = VT_NO_VALUE;
        enum vt_status status = add_part(s, value, &part);
        if (status != VT_OK) {
            return status;
        }
        s->builder->values[part].producer = step;
        s->builder->values[value].producer = s->step;
        s->step->outputs[s->step->n_outputs] = value;
        s->step->split->outputs[s->step->n_outputs++] = part;
        (void)reads_inside(s, value, part);
        step->outputs[0] = part;
    }
    return VT_OK;
}

/* NULL when out of memory. */
static struct vt_step *make_step(struct vt_builder *builder, const struct run *run)
{
    struct vt_arena *memory = &builder->plan->memory;
    size_t n_inputs = 1;
    for (struct vt_step *step = *run->link; step != run->last->next; step = step->next) {
        n_inputs += step->n_inputs;
    }
    struct vt_step *step = vt_arena_calloc(memory, 1, sizeof(*step));
    struct vt_split *split = vt_arena_calloc(memory, 1, sizeof(*split));
    struct vt_program *body = vt_arena_calloc(memory, 1, sizeof(*body));
    uint32_t *values = vt_arena_calloc(memory, 2 * (n_inputs + run->n_steps), sizeof(*values));
    if (step == NULL || split == NULL || body == NULL || values == NULL) {
        return NULL;
    }
    split->body = body;
    split->parts = run->batch / run->part;
    step->kind = VT_STEP_SPLIT;
    step->node = &node_split;
    step->split = split;
    step->inputs = values;
    split->inputs = values + n_inputs;
    step->outputs = split->inputs + n_inputs;
    split->outputs = step->outputs + run->n_steps;
    return step;
}

/* The run's steps move into the body. */
static void enclose(struct split *s, struct vt_program *program)
{
    const struct run *run = s->run;
    struct vt_program *body = s->step->split->body;
    body->graph = program->graph;
    body->first = *run->link;
    body->end = run->last;
    s->step->next = run->last->next;
    run->last->next = NULL;
    *run->link = s->step;
    if (s->step->next == NULL) {
        program->end = s->step;
    }
    for (struct vt_step *step = body->first; step != NULL; step = step->next) {
        step->flops /= (double)s->step->split->parts;
        s->builder->values[step->outputs[0]].home = body;
    }
}

static enum vt_status split_run(struct vt_builder *builder, struct vt_program *program,
                                const struct run *run)
{
    struct split s = {builder, run, make_step(builder, run)};
    if (s.step == NULL) {
        return vt_out_of_memory(builder->err);
    }
    enum vt_status status = take_inputs(&s);
    if (status == VT_OK) {
        status = give_outputs(&s);
    }
    if (status == VT_OK) {
        enclose(&s, program);
    }
    return status;
}

enum vt_status vt_pass_batch_split(struct vt_builder *builder, struct vt_program *program,
                                   uint32_t *changes)
{
    if (program != builder->plan->program) {
        return VT_OK; /* a body's turns are short enough */
    }
    for (struct vt_step **link = &program->first; *link != NULL; link = &(*link)->next) {
        const struct run run = find_run(builder, link);
        if (run.n_steps > 0) {
            enum vt_status status = split_run(builder, program, &run);
            if (status != VT_OK) {
                return status;
            }
            *changes += run.n_steps;
        }
    }
    return VT_OK;
}
