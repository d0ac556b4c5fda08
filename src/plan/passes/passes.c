/* SPDX-License-Identifier: Apache-2.0 */
/* The list of passes, and what happens around each. */
#include <string.h>

#include "plan/passes/pass.h"

static const struct vt_pass table[] = {
    {"dead-code", "steps go whose results nobody looks at", vt_pass_dead_code},
    {"common", "what is computed twice is computed once", vt_pass_common},
    {"no-ops", "steps go that give their input back", vt_pass_no_ops},
    {"reshapes", "a reshape of a reshape becomes one", vt_pass_reshapes},
    {"transposes", "transposes in a row become one, a reshape or nothing", vt_pass_transposes},
    {"recognise-qdq", "operators between DequantizeLinear and QuantizeLinear run on int8",
     vt_pass_recognise_qdq},
    {"softmax", "exponentials over their sum become a Softmax", vt_pass_softmax},
    {"layer-norm", "the parts of a LayerNormalization or RMSNormalization become one",
     vt_pass_layer_norm},
    {"gelu", "the parts of a Gelu or Swish become one", vt_pass_gelu},
    {"attention", "products around a Softmax become an Attention", vt_pass_attention},
    {"heads", "an Attention reads heads where they lie side by side", vt_pass_heads},
    {"interaction", "rows of tables are looked up and multiplied in pairs at once",
     vt_pass_interaction},
    {"operands", "a product reads a transposed operand where it lies", vt_pass_operands},
    {"fuse-bias", "a row that is added moves into the product before it", vt_pass_fuse_bias},
    {"fuse-norm", "a BatchNormalization moves into the convolution before it", vt_pass_fuse_norm},
    {"fuse-residual", "a sum moves into the step that makes one of its terms",
     vt_pass_fuse_residual},
    {"fuse-activation", "an activation moves into the step before it", vt_pass_fuse_activation},
    {"channels-last", "images have their channels last in memory where convolutions want it",
     vt_pass_channels_last},
    {"batch-split", "a batch passes in parts through layers whose images outgrow the cache",
     vt_pass_batch_split},
};
#define N_PASSES (sizeof(table) / sizeof(table[0]))
_Static_assert(N_PASSES <= 64, "a set of passes is one word");

uint32_t vt_plan_pass_count(void)
{
    return (uint32_t)N_PASSES;
}

const char *vt_plan_pass_name(uint32_t pass)
{
    return pass < N_PASSES ? table[pass].name : NULL;
}

const char *vt_plan_pass_summary(uint32_t pass)
{
    return pass < N_PASSES ? table[pass].summary : NULL;
}

uint32_t vt_plan_pass_find(const char *name)
{
    uint32_t pass = 0;
    while (pass < N_PASSES && strcmp(table[pass].name, name) != 0) {
        pass++;
    }
    return pass;
}

/* --- around a pass ------------------------------------------------------------------------------
 */

typedef enum vt_status (*visit_func)(struct vt_builder *builder, struct vt_program *program,
                                     void *ctx);

/* Calls `visit` for the program and all bodies in it, these first. */
static enum vt_status each_program(struct vt_builder *builder, struct vt_program *program,
                                   visit_func visit, void *ctx)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        struct vt_program *bodies[2];
        const uint32_t n = vt_step_bodies(step, bodies);
        for (uint32_t b = 0; b < n && status == VT_OK; b++) {
            status = each_program(builder, bodies[b], visit, ctx);
        }
    }
    return status == VT_OK ? visit(builder, program, ctx) : status;
}

/* Values under the names that hold, their users, and the steps' places in the order. */
static enum vt_status take_stock(struct vt_builder *builder, struct vt_program *program, void *ctx)
{
    uint32_t *n_steps = ctx, position = 0;
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        step->position = position++;
        for (uint32_t i = 0; i < step->n_inputs; i++) {
            step->inputs[i] = vt_resolve(builder, step->inputs[i]);
            vt_value_use(builder, step->inputs[i]);
        }
        /* Parts are written into the whole, which is the step's output. */
        for (uint32_t i = 0; step->split != NULL && i < step->n_outputs; i++) {
            vt_value_use(builder, step->split->outputs[i]);
        }
    }
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        program->outputs[i] = vt_resolve(builder, program->outputs[i]);
        vt_value_use(builder, program->outputs[i]);
    }
    *n_steps += position;
    return VT_OK;
}

static uint32_t stock_of(struct vt_builder *builder)
{
    uint32_t n_steps = 0;
    for (uint32_t i = 0; i < builder->n_values; i++) {
        builder->values[i].uses = 0;
    }
    (void)each_program(builder, builder->plan->program, take_stock, &n_steps);
    return n_steps;
}

/* What the pass left without users goes, and what only that used: it stands before it. */
static enum vt_status sweep(struct vt_builder *builder, struct vt_program *program, void *ctx)
{
    (void)ctx;
    vt_program_reverse(program);
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (step->was_used && !vt_step_is_used(builder, step)) {
            vt_step_kill(builder, step);
        }
    }
    vt_program_reverse(program);
    return VT_OK;
}

static enum vt_status unlink_dead(struct vt_builder *builder, struct vt_program *program, void *ctx)
{
    (void)builder;
    (void)ctx;
    struct vt_step **at = &program->first;
    program->end = NULL;
    while (*at != NULL) {
        if ((*at)->dead) {
            *at = (*at)->next;
        } else {
            program->end = *at;
            at = &(*at)->next;
        }
    }
    return VT_OK;
}

static enum vt_status note_used(struct vt_builder *builder, struct vt_program *program, void *ctx)
{
    (void)ctx;
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        step->was_used = vt_step_is_used(builder, step);
    }
    return VT_OK;
}

struct application {
    const struct vt_pass *pass;
    uint32_t changes;
};

static enum vt_status apply(struct vt_builder *builder, struct vt_program *program, void *ctx)
{
    struct application *application = ctx;
    return application->pass->apply(builder, program, &application->changes);
}

static enum vt_status run_pass(struct vt_builder *builder, struct application *application,
                               uint32_t *n_steps)
{
    struct vt_program *program = builder->plan->program;
    (void)each_program(builder, program, note_used, NULL);
    enum vt_status status = each_program(builder, program, apply, application);
    if (status != VT_OK || application->changes == 0) {
        return status;
    }
    (void)each_program(builder, program, unlink_dead, NULL);
    (void)stock_of(builder);
    (void)each_program(builder, program, sweep, NULL);
    (void)each_program(builder, program, unlink_dead, NULL);
    *n_steps = stock_of(builder);
    return VT_OK;
}

static void observe(const struct vt_plan_options *options, const struct vt_pass_report *report)
{
    if (options->observe != NULL) {
        options->observe(options->observe_ctx, report);
    }
}

/* --- what the walk did --------------------------------------------------------------------------
 */

/* Values whose extents the file leaves open and the inputs at hand settle. */
static uint32_t settled_shapes(const struct vt_builder *builder)
{
    const struct vt_value *declared = vt_model_values(builder->plan->model);
    uint32_t n = 0;
    for (uint32_t i = 0; i < vt_model_value_count(builder->plan->model); i++) {
        bool open = declared[i].rank == VT_RANK_UNKNOWN;
        for (uint32_t d = 0; !open && d < declared[i].rank; d++) {
            open = declared[i].dim[d] < 0;
        }
        n += open && vt_shape_info_known(&builder->values[i].info) ? 1 : 0;
    }
    return n;
}

static void report_walk(const struct vt_builder *builder, const struct vt_plan_options *options,
                        uint32_t n_steps)
{
    const uint32_t folded = builder->plan->info.folded_nodes;
    observe(options, &(struct vt_pass_report){
                         .name = "shapes",
                         .summary = "extents that the model leaves open follow from the inputs",
                         .steps_before = n_steps + folded,
                         .steps_after = n_steps + folded,
                         .changes = settled_shapes(builder)});
    observe(options, &(struct vt_pass_report){
                         .name = "constants",
                         .summary = "what depends on constants and extents only is computed once",
                         .steps_before = n_steps + folded,
                         .steps_after = n_steps,
                         .changes = folded});
}

enum vt_status vt_passes_run(struct vt_builder *builder, const struct vt_plan_options *options)
{
    const struct vt_plan_options defaults = {0};
    options = options != NULL ? options : &defaults;
    uint32_t n_steps = stock_of(builder);
    report_walk(builder, options, n_steps);
    for (uint32_t i = 0; i < N_PASSES; i++) {
        struct application application = {&table[i], 0};
        const uint32_t before = n_steps;
        if ((options->without >> i & 1) != 0) {
            continue;
        }
        enum vt_status status = run_pass(builder, &application, &n_steps);
        if (status != VT_OK) {
            return status;
        }
        observe(options, &(struct vt_pass_report){.name = table[i].name,
                                                  .summary = table[i].summary,
                                                  .steps_before = before,
                                                  .steps_after = n_steps,
                                                  .changes = application.changes});
    }
    return VT_OK;
}
