/* SPDX-License-Identifier: Apache-2.0 */
/* The clock beside a plan: what each step took, and what it computed and moved meanwhile. */
#include <string.h>

#include "base/clock.h"
#include "plan/internal.h"

struct cost {
    const struct vt_step *step;
    uint64_t calls;
    int64_t time_ns;
    double flops, bytes;
    char shape[64];
};

struct vt_profiler {
    struct cost *costs;
    uint32_t n;
    int64_t inner_ns; /* of the steps that ended inside the one that runs */
};

/* --- numbering ------------------------------------------------------------------------------- */

/* Calls `visit` for all steps of the program and of its bodies, in order. */
static void each_step(struct vt_program *program, void (*visit)(void *ctx, struct vt_step *step),
                      void *ctx)
{
    for (uint32_t i = 0; i < program->n_steps; i++) {
        struct vt_step *step = program->steps[i];
        visit(ctx, step);
        struct vt_program *bodies[2];
        const uint32_t n = vt_step_bodies(step, bodies);
        for (uint32_t b = 0; b < n; b++) {
            each_step(bodies[b], visit, ctx);
        }
    }
}

static void count_step(void *ctx, struct vt_step *step)
{
    uint32_t *n = ctx;
    step->profile_index = (*n)++;
}

static void note_step(void *ctx, struct vt_step *step)
{
    struct vt_profiler *profiler = ctx;
    profiler->costs[step->profile_index].step = step;
}

enum vt_status vt_plan_profile_begin(struct vt_plan *plan, struct vt_error *err)
{
    struct vt_profiler *profiler = vt_calloc(1, sizeof(*profiler));
    if (profiler == NULL) {
        return vt_out_of_memory(err);
    }
    each_step(plan->program, count_step, &profiler->n);
    profiler->costs = vt_calloc((size_t)profiler->n + 1, sizeof(*profiler->costs));
    if (profiler->costs == NULL) {
        vt_free(profiler);
        return vt_out_of_memory(err);
    }
    each_step(plan->program, note_step, profiler);
    vt_plan_profile_end(plan);
    plan->profiler = profiler;
    return VT_OK;
}

void vt_plan_profile_end(struct vt_plan *plan)
{
    if (plan->profiler != NULL) {
        vt_free(plan->profiler->costs);
        vt_free(plan->profiler);
        plan->profiler = NULL;
    }
}

/* --- one step -------------------------------------------------------------------------------- */

/* Of the first input of these only what is chosen is read. */
static bool reads_a_part(const struct vt_node *node)
{
    static const char *const names[] = {"Gather", "GatherElements", "GatherND", "Slice"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (vt_is_op(node, names[i])) {
            return true;
        }
    }
    return false;
}

/* Bytes that are read of an input which the operator looks up rows in. */
static double looked_up(const struct vt_step *step, uint32_t input, double all, double written)
{
    if (input == 0 && reads_a_part(step->node)) {
        return all < written ? all : written;
    }
    if (strcmp(step->node->op, "Interaction") != 0 || input + 1 >= step->n_inputs ||
        step->input_tensors[input] == NULL || step->input_tensors[input]->rank != 2 ||
        step->input_tensors[input + 1] == NULL) {
        return all;
    }
    const struct vt_tensor *table = step->input_tensors[input];
    const double rows = (double)step->input_tensors[input + 1]->dim[0];
    const double bytes = rows * (double)table->dim[1] * sizeof(float);
    return all < bytes ? all : bytes;
}

static double step_bytes(const struct vt_step *step)
{
    double bytes = 0;
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        bytes += step->outputs[i] != VT_NO_VALUE ? (double)step->output_tensors[i].bytes : 0;
    }
    double written = bytes;
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        const struct vt_tensor *tensor = step->input_tensors[i];
        bool again = tensor == NULL;
        for (uint32_t k = 0; k < i && !again; k++) {
            again = step->input_tensors[k] == tensor;
        }
        double read = again ? 0 : (double)tensor->bytes;
        bytes += looked_up(step, i, read, written);
    }
    return bytes;
}

static double step_flops(const struct vt_step *step)
{
    if (step->dynamic == NULL) {
        return step->flops;
    }
    return vt_node_flops(step->node, step->dynamic->info_inputs,
                         &step->dynamic->infos[step->n_inputs]);
}

void vt_profile_enter(struct vt_profiler *profiler, struct vt_profile_mark *ret_mark)
{
    ret_mark->outer_ns = profiler->inner_ns;
    profiler->inner_ns = 0;
    ret_mark->start_ns = vt_now_ns();
}

void vt_profile_leave(struct vt_profiler *profiler, const struct vt_step *step,
                      const struct vt_profile_mark *mark)
{
    int64_t elapsed = vt_now_ns() - mark->start_ns;
    struct cost *cost = &profiler->costs[step->profile_index];
    cost->calls++;
    cost->time_ns += elapsed - profiler->inner_ns;
    profiler->inner_ns = mark->outer_ns + elapsed;
    if (step->kind == VT_STEP_OP) {
        cost->flops += step_flops(step);
        cost->bytes += step_bytes(step);
    }
    if (step->n_outputs > 0 && step->outputs[0] != VT_NO_VALUE) {
        const struct vt_tensor *first = &step->output_tensors[0];
        vt_shape_text(first->dim, first->rank, NULL, cost->shape, sizeof(cost->shape));
    }
}

/* --- reading --------------------------------------------------------------------------------- */

static const char *activation_name(enum vt_activation activation)
{
    switch (activation) {
    case VT_ACT_NONE:
        return NULL;
    case VT_ACT_RELU:
        return "Relu";
    case VT_ACT_LEAKY_RELU:
        return "LeakyRelu";
    case VT_ACT_CLIP:
        return "Clip";
    case VT_ACT_SIGMOID:
        return "Sigmoid";
    case VT_ACT_HARD_SWISH:
        return "HardSwish";
    case VT_ACT_TANH:
        return "Tanh";
    case VT_ACT_SILU:
        return "SiLU";
    case VT_ACT_GELU:
    case VT_ACT_GELU_TANH:
        return "Gelu";
    default:
        return "activation";
    }
}

uint32_t vt_plan_profile_count(const struct vt_plan *plan)
{
    return plan->profiler != NULL ? plan->profiler->n : 0;
}

static struct vt_step_profile describe_step(const struct vt_step *step)
{
    return (struct vt_step_profile){
        .node = step->node,
        .absorbed = step->absorbed,
        .activation = activation_name(step->epilogue.activation),
        .residual = step->epilogue.has_residual,
        .bias = step->epilogue.has_bias,
        .affine = step->affine.scale != NULL || step->affine.shift != NULL,
        .control =
            step->kind == VT_STEP_IF || step->kind == VT_STEP_LOOP || step->kind == VT_STEP_SPLIT,
        .kernel = step->ctx.kernel,
        .tuned = step->ctx.tuned,
    };
}

void vt_plan_profile_read(const struct vt_plan *plan, uint32_t index,
                          struct vt_step_profile *ret_profile)
{
    const struct cost *cost = &plan->profiler->costs[index];
    *ret_profile = describe_step(cost->step);
    ret_profile->shape = cost->shape;
    ret_profile->calls = cost->calls;
    ret_profile->time_ns = cost->time_ns;
    ret_profile->flops = cost->flops;
    ret_profile->bytes = cost->bytes;
}

struct visitor {
    void (*visit)(void *ctx, const struct vt_step_profile *step);
    void *ctx;
};

static void visit_step(void *ctx, struct vt_step *step)
{
    const struct visitor *visitor = ctx;
    struct vt_step_profile described = describe_step(step);
    char shape[64] = "";
    if (step->n_outputs > 0 && step->outputs[0] != VT_NO_VALUE) {
        const struct vt_tensor *first = &step->output_tensors[0];
        vt_shape_text(first->dim, first->rank, NULL, shape, sizeof(shape));
    }
    described.shape = shape;
    visitor->visit(visitor->ctx, &described);
}

void vt_plan_each_step(const struct vt_plan *plan,
                       void (*visit)(void *ctx, const struct vt_step_profile *step), void *ctx)
{
    struct visitor visitor = {visit, ctx};
    each_step(plan->program, visit_step, &visitor);
}
