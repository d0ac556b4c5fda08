/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant folding: a node whose inputs are all known while planning is run at once.
 *
 * What depends on the model alone is kept with the weights, so that it is computed once and shared
 * by all plans. What depends on the shapes of the inputs too (a Shape and what follows from it)
 * belongs to the plan.
 *
 * Not folded: results that are more than GROWTH times as large as all inputs together, beyond
 * GROWN_LIMIT bytes a plan (a ConstantOfShape of gigabytes costs a fill a run, not memory a plan),
 * all beyond TOTAL_LIMIT bytes a plan, and whatever draws random numbers.
 */
#include <string.h>

#include "plan/internal.h"

#define GROWN_LIMIT ((size_t)64 << 20)
#define GROWTH      4u
#define TOTAL_LIMIT ((size_t)1 << 30)

/* One folding under way. */
struct fold {
    struct vt_builder *builder;
    const struct vt_node *node;
    const struct vt_op *op;
    const uint32_t *inputs;
    bool pure;
    bool grown; /* the outputs are much larger than the inputs */
    const struct vt_tensor **input_tensors;
    struct vt_tensor *outputs;
};

bool vt_node_is_random(const struct vt_node *node)
{
    return strncmp(node->op, "Random", 6) == 0 || strcmp(node->op, "Bernoulli") == 0 ||
           strcmp(node->op, "Multinomial") == 0;
}

/* Shape and Size look at the extents of their input, not at its contents. */
static bool is_shape_query(const struct vt_node *node)
{
    return (vt_is_op(node, "Shape") || vt_is_op(node, "Size")) && node->n_inputs == 1;
}

/* The inputs as tensors. False when one of them is not known. */
static bool collect_inputs(struct fold *fold, struct vt_tensor *shape_only, size_t *ret_bytes)
{
    struct vt_builder *builder = fold->builder;
    for (uint32_t i = 0; i < fold->node->n_inputs; i++) {
        if (fold->inputs[i] == VT_NO_VALUE) {
            continue;
        }
        const struct vt_build_value *value = &builder->values[fold->inputs[i]];
        if (value->info.value != NULL) {
            fold->input_tensors[i] = value->info.value;
            fold->pure = fold->pure && value->pure;
            *ret_bytes += value->info.value->bytes;
        } else if (is_shape_query(fold->node) && vt_shape_info_known(&value->info)) {
            shape_only->dtype = value->info.dtype;
            shape_only->rank = value->info.rank;
            memcpy(shape_only->dim, value->info.dim, sizeof(shape_only->dim));
            if (!vt_tensor_size(shape_only)) {
                return false;
            }
            fold->input_tensors[i] = shape_only;
            fold->pure = false;
        } else {
            return false;
        }
    }
    return true;
}

/* The outputs with their extents, or the bounds of these. False when they are too large. */
static bool size_outputs(struct fold *fold, size_t input_bytes)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < fold->node->n_outputs; i++) {
        if (fold->node->outputs[i] == VT_NO_VALUE) {
            continue;
        }
        const struct vt_shape_info *info = &fold->builder->values[fold->node->outputs[i]].info;
        struct vt_tensor *out = &fold->outputs[i];
        if (info->rank == VT_RANK_UNKNOWN || vt_dtype_bytes(info->dtype) == 0) {
            return false;
        }
        out->dtype = info->dtype;
        out->rank = info->rank;
        for (uint32_t d = 0; d < info->rank; d++) {
            out->dim[d] = info->dim[d] >= 0 ? info->dim[d] : info->bound[d];
        }
        if (!vt_tensor_size(out) || out->bytes > TOTAL_LIMIT) {
            return false;
        }
        sum += out->bytes;
    }
    fold->grown = sum / GROWTH > input_bytes;
    return (!fold->grown || fold->builder->grown_bytes + sum <= GROWN_LIMIT) &&
           fold->builder->folded_bytes + sum <= TOTAL_LIMIT;
}

static void release_outputs(struct fold *fold)
{
    for (uint32_t i = 0; i < fold->node->n_outputs; i++) {
        vt_free(fold->outputs[i].data);
        fold->outputs[i].data = NULL;
    }
}

/*
 * Prepares and runs the operator. VT_ERR_MEMORY is an error; any other failure only means that
 * the node stays in the program, where it may never be reached or will say what is wrong.
 */
static enum vt_status compute(struct fold *fold)
{
    struct vt_builder *builder = fold->builder;
    struct vt_error quiet = VT_ERROR_INIT;
    const struct vt_epilogue no_epilogue = {.activation = VT_ACT_NONE};
    const struct vt_channel_affine no_affine = {NULL, NULL};
    struct vt_op_context ctx = {.model = builder->plan->model,
                                .node = fold->node,
                                .weights = builder->plan->weights,
                                .pool = builder->plan->pool,
                                .epilogue = &no_epilogue,
                                .affine = &no_affine,
                                .inputs = fold->input_tensors,
                                .n_inputs = fold->node->n_inputs,
                                .outputs = fold->outputs,
                                .n_outputs = fold->node->n_outputs,
                                .err = &quiet};
    size_t workspace_bytes = 0;
    enum vt_status status = VT_OK;
    ctx.state = vt_calloc(1, fold->op->state_bytes + 1);
    if (ctx.state == NULL) {
        return VT_ERR_MEMORY;
    }
    struct vt_widen *widen = NULL;
    status = vt_widen_new(&builder->scratch, fold->op, &ctx, &quiet, &widen);
    if (status == VT_OK) {
        status = vt_op_prepare(&ctx, fold->op, widen, false, &workspace_bytes);
    }
    if (status == VT_OK) {
        ctx.workspace = vt_alloc(workspace_bytes);
        status = ctx.workspace != NULL ? VT_OK : VT_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < fold->node->n_outputs && status == VT_OK; i++) {
        if (fold->node->outputs[i] != VT_NO_VALUE) {
            fold->outputs[i].data = vt_alloc(fold->outputs[i].bytes);
            status = fold->outputs[i].data != NULL ? VT_OK : VT_ERR_MEMORY;
        }
    }
    if (status == VT_OK) {
        status = vt_op_run(&ctx, fold->op, widen);
    }
    vt_free(ctx.workspace);
    vt_free(ctx.state);
    return status;
}

/* Makes `tensor` the known contents of the value. */
static void set_constant(struct fold *fold, uint32_t value, const struct vt_tensor *tensor)
{
    struct vt_build_value *out = &fold->builder->values[value];
    out->info.dtype = tensor->dtype;
    out->info.rank = tensor->rank;
    memcpy(out->info.dim, tensor->dim, sizeof(tensor->dim));
    out->info.value = tensor;
    out->pure = fold->pure;
    out->producer = NULL;
}

/* The data goes to the plan. */
static const struct vt_tensor *keep_in_plan(struct vt_builder *builder, struct vt_tensor *tensor)
{
    struct vt_plan *plan = builder->plan;
    struct vt_folded *folded = vt_arena_calloc(&plan->memory, 1, sizeof(*folded));
    struct vt_tensor *kept = vt_arena_calloc(&plan->memory, 1, sizeof(*kept));
    if (folded == NULL || kept == NULL) {
        return NULL;
    }
    *kept = *tensor;
    *folded = (struct vt_folded){plan->folded, tensor->data, tensor->bytes};
    plan->folded = folded;
    return kept;
}

static enum vt_status keep_outputs(struct fold *fold)
{
    struct vt_builder *builder = fold->builder;
    for (uint32_t i = 0; i < fold->node->n_outputs; i++) {
        uint32_t value = fold->node->outputs[i];
        if (value == VT_NO_VALUE) {
            continue;
        }
        struct vt_tensor *out = &fold->outputs[i];
        size_t bytes = out->bytes;
        const struct vt_tensor *kept = fold->pure
                                           ? vt_weights_keep(builder->plan->weights, value, out)
                                           : keep_in_plan(builder, out);
        if (kept == NULL) {
            release_outputs(fold);
            return vt_out_of_memory(builder->err);
        }
        out->data = NULL;
        builder->folded_bytes += bytes;
        builder->grown_bytes += fold->grown ? bytes : 0;
        set_constant(fold, value, kept);
    }
    builder->plan->info.folded_nodes++;
    return VT_OK;
}

/* Another plan of the model has computed it already. */
static bool already_known(struct fold *fold)
{
    if (!fold->pure) {
        return false;
    }
    const struct vt_tensor *known = NULL;
    for (uint32_t i = 0; i < fold->node->n_outputs; i++) {
        if (fold->node->outputs[i] != VT_NO_VALUE) {
            known = vt_weights_constant(fold->builder->plan->weights, fold->node->outputs[i]);
            if (known == NULL) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < fold->node->n_outputs; i++) {
        uint32_t value = fold->node->outputs[i];
        if (value != VT_NO_VALUE) {
            set_constant(fold, value, vt_weights_constant(fold->builder->plan->weights, value));
        }
    }
    fold->builder->plan->info.folded_nodes++;
    return true;
}

/* A view of a constant is the same memory under another shape. */
static enum vt_status fold_view(struct fold *fold, bool *ret_folded)
{
    const struct vt_tensor *source = fold->input_tensors[0];
    for (uint32_t i = 1; i < fold->node->n_outputs; i++) {
        if (fold->node->outputs[i] != VT_NO_VALUE) {
            return VT_OK;
        }
    }
    if (source == NULL || fold->outputs[0].bytes != source->bytes ||
        fold->outputs[0].dtype != source->dtype) {
        return VT_OK;
    }
    struct vt_tensor *view = vt_arena_calloc(&fold->builder->plan->memory, 1, sizeof(*view));
    if (view == NULL) {
        return vt_out_of_memory(fold->builder->err);
    }
    *view = fold->outputs[0];
    view->data = source->data;
    set_constant(fold, fold->node->outputs[0], view);
    fold->builder->plan->info.folded_nodes++;
    *ret_folded = true;
    return VT_OK;
}

/* Inference may have told the contents itself. */
static bool told_by_inference(const struct fold *fold)
{
    for (uint32_t i = 0; i < fold->node->n_outputs; i++) {
        uint32_t value = fold->node->outputs[i];
        if (value != VT_NO_VALUE && fold->builder->values[value].info.value == NULL) {
            return false;
        }
    }
    return fold->node->n_outputs > 0;
}

enum vt_status vt_fold(struct vt_builder *builder, const struct vt_node *node,
                       const uint32_t *inputs, bool *ret_folded)
{
    struct fold fold = {builder, node, vt_op_for(builder->plan->model, node), inputs, true, false,
                        NULL,    NULL};
    if (told_by_inference(&fold)) {
        builder->plan->info.folded_nodes++;
        *ret_folded = true;
        return VT_OK;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] != VT_NO_VALUE) {
            builder->values[node->outputs[i]].info.value = NULL;
        }
    }
    if (fold.op == NULL || vt_node_is_random(node) || node->n_outputs == 0) {
        return VT_OK;
    }
    struct vt_tensor shape_only = {.dtype = VT_UNDEFINED};
    size_t input_bytes = 0;
    fold.input_tensors =
        vt_arena_calloc(&builder->scratch, (size_t)node->n_inputs + 1, sizeof(*fold.input_tensors));
    fold.outputs =
        vt_arena_calloc(&builder->scratch, (size_t)node->n_outputs + 1, sizeof(*fold.outputs));
    if (fold.input_tensors == NULL || fold.outputs == NULL) {
        return vt_out_of_memory(builder->err);
    }
    if (!collect_inputs(&fold, &shape_only, &input_bytes) || !size_outputs(&fold, input_bytes)) {
        return VT_OK;
    }
    if ((fold.op->flags & VT_OP_VIEW) != 0) {
        return fold_view(&fold, ret_folded);
    }
    if (already_known(&fold)) {
        *ret_folded = true;
        return VT_OK;
    }
    enum vt_status status = compute(&fold);
    if (status != VT_OK) {
        release_outputs(&fold);
        return status == VT_ERR_MEMORY ? vt_out_of_memory(builder->err) : VT_OK;
    }
    status = keep_outputs(&fold);
    *ret_folded = status == VT_OK;
    return status;
}
