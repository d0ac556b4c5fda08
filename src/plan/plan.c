/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public face: make a plan, run it, free it.
 */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/topology.h"
#include "kernels/gemm16/gemm16.h"
#include "plan/internal.h"

/* --- making
 * ------------------------------------------------------------------------------------------ */

static enum vt_status check_input(const struct vt_model *model, uint32_t index, uint32_t value,
                                  const struct vt_tensor *input, struct vt_error *err)
{
    const struct vt_value *declared = &vt_model_values(model)[value];
    bool fits = input->rank <= VT_RANK_MAX &&
                (declared->dtype == VT_UNDEFINED || declared->dtype == input->dtype);
    if (declared->rank != VT_RANK_UNKNOWN) {
        fits = fits && declared->rank == input->rank;
        for (uint32_t d = 0; fits && d < declared->rank; d++) {
            fits = declared->dim[d] < 0 || declared->dim[d] == input->dim[d];
        }
    }
    for (uint32_t d = 0; fits && d < input->rank; d++) {
        fits = input->dim[d] >= 0;
    }
    if (!fits) {
        char wanted[96] = "any shape", given[96];
        if (declared->rank != VT_RANK_UNKNOWN) {
            vt_shape_text(declared->dim, declared->rank, declared->symbol, wanted, sizeof(wanted));
        }
        vt_shape_text(input->dim, input->rank < VT_RANK_MAX ? input->rank : VT_RANK_MAX, NULL,
                      given, sizeof(given));
        return vt_error_set(
            err, VT_ERR_USAGE, "%s: input %u '%s' must be %s %s, but is given as %s %s",
            vt_model_name(model), index, vt_plain(declared->name).text,
            vt_dtype_name(declared->dtype), wanted, vt_dtype_name(input->dtype), given);
    }
    return VT_OK;
}

static enum vt_status set_inputs(struct vt_builder *builder, const struct vt_tensor *inputs,
                                 uint32_t n_inputs)
{
    struct vt_plan *plan = builder->plan;
    const struct vt_graph *graph = vt_model_graph(plan->model);
    if (n_inputs != graph->n_inputs) {
        return vt_error_set(builder->err, VT_ERR_USAGE, "%s has %u inputs, but %u are given",
                            vt_model_name(plan->model), graph->n_inputs, n_inputs);
    }
    plan->inputs = vt_arena_calloc(&plan->memory, (size_t)n_inputs + 1, sizeof(*plan->inputs));
    if (plan->inputs == NULL) {
        return vt_out_of_memory(builder->err);
    }
    plan->n_inputs = n_inputs;
    for (uint32_t i = 0; i < n_inputs; i++) {
        enum vt_status status =
            check_input(plan->model, i, graph->inputs[i], &inputs[i], builder->err);
        if (status != VT_OK) {
            return status;
        }
        plan->inputs[i] = inputs[i];
        plan->inputs[i].data = NULL;
        if (!vt_tensor_size(&plan->inputs[i])) {
            return vt_error_set(builder->err, VT_ERR_LIMIT, "%s: input %u is too large",
                                vt_model_name(plan->model), i);
        }
        struct vt_build_value *value = &builder->values[graph->inputs[i]];
        value->info.dtype = inputs[i].dtype;
        value->info.rank = inputs[i].rank;
        memcpy(value->info.dim, inputs[i].dim, sizeof(inputs[i].dim));
        value->graph_input = true;
        value->tensor = &plan->inputs[i];
    }
    return VT_OK;
}

static enum vt_status set_constants(struct vt_builder *builder)
{
    const struct vt_value *declared = vt_model_values(builder->plan->model);
    builder->n_values = builder->value_capacity = vt_model_value_count(builder->plan->model);
    builder->values =
        vt_arena_calloc(&builder->scratch, (size_t)builder->n_values + 1, sizeof(*builder->values));
    if (builder->values == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < builder->n_values; i++) {
        struct vt_build_value *value = &builder->values[i];
        vt_shape_unknown(&value->info);
        value->renamed = value->twin = VT_NO_VALUE;
        const struct vt_tensor *constant = declared[i].constant;
        if (constant != NULL) {
            value->info.dtype = constant->dtype;
            value->info.rank = constant->rank;
            memcpy(value->info.dim, constant->dim, sizeof(constant->dim));
            value->info.value = constant;
            value->pure = true;
        }
    }
    return VT_OK;
}

/* What the file declares about an output's type is what users are told: it must be so. */
static enum vt_status check_output(struct vt_builder *builder, uint32_t index, enum vt_dtype dtype)
{
    const struct vt_model *model = builder->plan->model;
    if (index >= vt_model_graph(model)->n_outputs) {
        return VT_OK; /* a watched value */
    }
    const struct vt_value *declared =
        &vt_model_values(model)[vt_model_graph(model)->outputs[index]];
    if (declared->dtype == VT_UNDEFINED || dtype == VT_UNDEFINED || declared->dtype == dtype) {
        return VT_OK;
    }
    return vt_error_set(builder->err, VT_ERR_FORMAT,
                        "%s: output %u '%s' is declared as %s, but is computed as %s",
                        vt_model_name(model), index, vt_plain(declared->name).text,
                        vt_dtype_name(declared->dtype), vt_dtype_name(dtype));
}

/* Values to be watched become outputs of the program. */
static enum vt_status add_watched(struct vt_builder *builder, const struct vt_plan_options *options)
{
    struct vt_program *program = builder->plan->program;
    if (options == NULL || options->n_watched == 0) {
        return VT_OK;
    }
    const size_t n = (size_t)program->n_outputs + options->n_watched;
    uint32_t *outputs = vt_arena_calloc(&builder->plan->memory, n, sizeof(*outputs));
    if (outputs == NULL) {
        return vt_out_of_memory(builder->err);
    }
    memcpy(outputs, program->outputs, program->n_outputs * sizeof(*outputs));
    for (uint32_t i = 0; i < options->n_watched; i++) {
        const uint32_t value = options->watched[i];
        if (value >= vt_model_value_count(builder->plan->model)) {
            return vt_error_set(builder->err, VT_ERR_USAGE, "there is no value %u to watch", value);
        }
        outputs[program->n_outputs + i] = vt_resolve(builder, value);
    }
    program->outputs = outputs;
    program->n_outputs = (uint32_t)n;
    return VT_OK;
}

static enum vt_status set_outputs(struct vt_builder *builder)
{
    struct vt_plan *plan = builder->plan;
    const struct vt_program *program = plan->program;
    plan->outputs =
        vt_arena_calloc(&plan->memory, (size_t)program->n_outputs + 1, sizeof(*plan->outputs));
    if (plan->outputs == NULL) {
        return vt_out_of_memory(builder->err);
    }
    plan->n_outputs = program->n_outputs;
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        const struct vt_build_value *value = &builder->values[program->outputs[i]];
        enum vt_status status = check_output(builder, i, value->info.dtype);
        if (status != VT_OK) {
            return status;
        }
        plan->outputs[i].tensor = value->info.value != NULL ? value->info.value : value->tensor;
        if (plan->outputs[i].tensor == NULL) {
            return vt_error_set(builder->err, VT_ERR_FORMAT, "%s: nothing makes output '%s'",
                                vt_model_name(plan->model),
                                vt_plain(vt_value_name(builder, program->outputs[i])).text);
        }
        if (value->info.value == NULL && (value->graph_input || value->may_be_input)) {
            struct vt_buffer *copy = vt_arena_calloc(&plan->memory, 1, sizeof(*copy));
            if (copy == NULL) {
                return vt_out_of_memory(builder->err);
            }
            copy->grows = true;
            copy->next = plan->buffers;
            plan->buffers = copy;
            plan->outputs[i].copy = copy;
        }
    }
    return VT_OK;
}

static enum vt_status build(struct vt_builder *builder, const struct vt_tensor *inputs,
                            uint32_t n_inputs, const struct vt_plan_options *options)
{
    struct vt_plan *plan = builder->plan;
    enum vt_status status = set_constants(builder);
    if (status == VT_OK) {
        status = set_inputs(builder, inputs, n_inputs);
    }
    if (status == VT_OK) {
        status = vt_walk(builder, vt_model_graph(plan->model), &plan->program);
    }
    if (status == VT_OK) {
        status = add_watched(builder, options);
    }
    if (status != VT_OK) {
        return status;
    }
    status = vt_passes_run(builder, options);
    if (status == VT_OK) {
        status = vt_build_steps(builder, plan->program);
    }
    if (status == VT_OK) {
        status = vt_layout(builder);
    }
    return status == VT_OK ? set_outputs(builder) : status;
}

const char *vt_precision_name(enum vt_precision precision)
{
    static const char *const names[VT_PRECISION_COUNT] = {"fp32", "fp16w", "bf16"};
    return names[precision];
}

enum vt_status vt_precision_check(enum vt_precision precision, struct vt_error *err)
{
    if (precision == VT_PRECISION_BF16 && vt_gemm16_kernel_find(vt_topology()->features) == NULL) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "precision bf16 needs AVX512-BF16 or AMX-BF16, which %s has not; fp32, "
                            "fp16w and int8 run here",
                            vt_topology_isa());
    }
    return VT_OK;
}

enum vt_status vt_plan_new(const struct vt_model *model, struct vt_weights *weights,
                           struct vt_pool *pool, const struct vt_tensor *inputs, uint32_t n_inputs,
                           const struct vt_plan_options *options, struct vt_error *err,
                           struct vt_plan **ret_plan)
{
    /* What goes wrong on the way needs a place for its text, also where the caller has none. */
    struct vt_error own = VT_ERROR_INIT;
    struct vt_plan *plan = vt_calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return vt_out_of_memory(err);
    }
    vt_arena_init(&plan->memory, 0);
    plan->model = model;
    plan->weights = weights;
    plan->pool = pool;
    if (options != NULL) {
        plan->tuning = options->tuning;
        plan->check_only = options->check_only;
        plan->precision = options->precision;
    }
    plan->workspace.grows = true;
    struct vt_builder builder = {.plan = plan, .err = err != NULL ? err : &own};
    vt_arena_init(&builder.scratch, 0);
    enum vt_status status = build(&builder, inputs, n_inputs, options);
    vt_arena_release(&builder.scratch);
    if (status != VT_OK) {
        vt_plan_free(plan);
        return status;
    }
    *ret_plan = plan;
    return VT_OK;
}

void vt_plan_free(struct vt_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (struct vt_buffer *buffer = plan->buffers; buffer != NULL; buffer = buffer->next) {
        if (buffer->grows) {
            vt_free(buffer->data);
        }
    }
    for (struct vt_folded *folded = plan->folded; folded != NULL; folded = folded->next) {
        vt_weights_forget(plan->weights, folded->data, folded->bytes);
        vt_free(folded->data);
    }
    vt_plan_profile_end(plan);
    vt_free(plan->workspace.data);
    vt_free(plan->arena);
    vt_arena_release(&plan->memory);
    vt_free(plan);
}

/* --- running
 * ----------------------------------------------------------------------------------------- */

static enum vt_status bind_inputs(struct vt_plan *plan, const struct vt_tensor *inputs,
                                  uint32_t n_inputs, uint32_t n_outputs, struct vt_error *err)
{
    if (n_inputs != plan->n_inputs || n_outputs != plan->n_outputs) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "the plan has %u inputs and %u outputs, but %u and %u are given",
                            plan->n_inputs, plan->n_outputs, n_inputs, n_outputs);
    }
    for (uint32_t i = 0; i < n_inputs; i++) {
        if (!vt_tensor_same_shape(&inputs[i], &plan->inputs[i])) {
            char planned[96], given[96];
            return vt_error_set(
                err, VT_ERR_USAGE, "input %u was planned as %s %s, but is given as %s %s", i,
                vt_dtype_name(plan->inputs[i].dtype),
                vt_shape_text(plan->inputs[i].dim, plan->inputs[i].rank, NULL, planned,
                              sizeof(planned)),
                vt_dtype_name(inputs[i].dtype),
                vt_shape_text(inputs[i].dim,
                              inputs[i].rank < VT_RANK_MAX ? inputs[i].rank : VT_RANK_MAX, NULL,
                              given, sizeof(given)));
        }
        plan->inputs[i].data = inputs[i].data;
    }
    return VT_OK;
}

static enum vt_status give_outputs(struct vt_plan *plan, struct vt_error *err,
                                   struct vt_tensor *ret_outputs)
{
    for (uint32_t i = 0; i < plan->n_outputs; i++) {
        struct vt_buffer *copy = plan->outputs[i].copy;
        const struct vt_tensor *tensor = plan->outputs[i].tensor;
        if (copy == NULL) {
            continue;
        }
        enum vt_status status = vt_buffer_reserve(copy, tensor->bytes, 0, err);
        if (status != VT_OK) {
            return status;
        }
        if (tensor->bytes > 0) {
            memcpy(copy->data, tensor->data, tensor->bytes);
        }
    }
    for (uint32_t i = 0; i < plan->n_outputs; i++) {
        ret_outputs[i] = *plan->outputs[i].tensor;
        if (plan->outputs[i].copy != NULL) {
            ret_outputs[i].data = plan->outputs[i].copy->data;
        }
    }
    return VT_OK;
}

enum vt_status vt_plan_run(struct vt_plan *plan, const struct vt_tensor *inputs, uint32_t n_inputs,
                           struct vt_error *err, struct vt_tensor *ret_outputs, uint32_t n_outputs)
{
    struct vt_error own = VT_ERROR_INIT;
    struct vt_error *used = err != NULL ? err : &own;
    enum vt_status status = bind_inputs(plan, inputs, n_inputs, n_outputs, used);
    if (status == VT_OK) {
        status = vt_program_run(plan, plan->program, used);
    }
    return status == VT_OK ? give_outputs(plan, used, ret_outputs) : status;
}

void vt_plan_info(const struct vt_plan *plan, struct vt_plan_info *ret_info)
{
    *ret_info = plan->info;
}
