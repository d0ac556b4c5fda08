/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph, node by node in its order, becomes a program: every output is inferred, what depends
 * on constants only is computed at once, the rest becomes steps.
 */
#include <string.h>

#include "plan/internal.h"

static enum vt_status walk_nodes(struct vt_builder *builder, const struct vt_graph *graph,
                                 struct vt_program *program);

void vt_shape_unknown(struct vt_shape_info *info)
{
    *info = (struct vt_shape_info){.dtype = VT_UNDEFINED, .rank = VT_RANK_UNKNOWN};
    for (uint32_t d = 0; d < VT_RANK_MAX; d++) {
        info->dim[d] = -1;
        info->bound[d] = -1;
    }
}

struct vt_step *vt_step_add(struct vt_builder *builder, struct vt_program *program,
                            enum vt_step_kind kind, const struct vt_node *node)
{
    struct vt_arena *memory = &builder->plan->memory;
    struct vt_step *step = vt_arena_calloc(memory, 1, sizeof(*step));
    /* More than the node has: fusing may append a bias and a residual. */
    uint32_t *inputs =
        vt_arena_calloc(memory, (size_t)node->n_inputs + VT_STEP_SPARE_INPUTS, sizeof(*inputs));
    uint32_t *outputs = vt_arena_calloc(memory, (size_t)node->n_outputs + 1, sizeof(*outputs));
    if (step == NULL || inputs == NULL || outputs == NULL) {
        (void)vt_out_of_memory(builder->err);
        return NULL;
    }
    step->kind = kind;
    step->node = node;
    step->inputs = inputs;
    step->outputs = outputs;
    step->n_inputs = node->n_inputs;
    step->n_outputs = node->n_outputs;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = vt_resolve(builder, node->inputs[i]);
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        uint32_t value = outputs[i] = node->outputs[i];
        if (value != VT_NO_VALUE) {
            builder->values[value].producer = step;
            builder->values[value].home = program;
        }
    }
    if (program->end != NULL) {
        program->end->next = step;
    } else {
        program->first = step;
    }
    program->end = step;
    return step;
}

static enum vt_status infer(struct vt_builder *builder, const struct vt_node *node,
                            const uint32_t *inputs, double *ret_flops)
{
    const struct vt_shape_info **in =
        vt_arena_calloc(&builder->scratch, (size_t)node->n_inputs + 1, sizeof(*in));
    struct vt_shape_info *out =
        vt_arena_calloc(&builder->scratch, (size_t)node->n_outputs + 1, sizeof(*out));
    if (in == NULL || out == NULL) {
        return vt_out_of_memory(builder->err);
    }
    bool known = true;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] != VT_NO_VALUE) {
            in[i] = &builder->values[inputs[i]].info;
            known = known && vt_shape_info_known(in[i]);
        }
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        vt_shape_unknown(&out[i]);
    }
    const struct vt_infer request = {builder->plan->model, node, in, out, builder->err};
    enum vt_status status = vt_infer_node(&request);
    if (status != VT_OK) {
        vt_error_name_node(builder->err, builder->plan->model, node, NULL, 0);
        return status;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] != VT_NO_VALUE) {
            struct vt_build_value *value = &builder->values[node->outputs[i]];
            known = known && vt_shape_info_known(&out[i]);
            value->info = out[i];
            value->pure = false;
        }
    }
    *ret_flops = known ? vt_node_flops(node, in, out) : 0.0;
    return VT_OK;
}

static enum vt_status walk_op(struct vt_builder *builder, struct vt_program *program,
                              const struct vt_node *node)
{
    uint32_t *inputs =
        vt_arena_calloc(&builder->scratch, (size_t)node->n_inputs + 1, sizeof(*inputs));
    if (inputs == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = vt_resolve(builder, node->inputs[i]);
    }
    double flops = 0.0;
    enum vt_status status = infer(builder, node, inputs, &flops);
    if (status != VT_OK) {
        return status;
    }
    bool folded = false;
    status = vt_fold(builder, node, inputs, &folded);
    if (status != VT_OK || folded) {
        return status;
    }
    struct vt_step *step = vt_step_add(builder, program, VT_STEP_OP, node);
    if (step == NULL) {
        return VT_ERR_MEMORY;
    }
    step->op = vt_op_for(builder->plan->model, node);
    step->flops = flops;
    if (step->op != NULL && (step->op->flags & VT_OP_VIEW) != 0) {
        step->kind = VT_STEP_VIEW;
    }
    return VT_OK;
}

/* --- If ------------------------------------------------------------------------------------ */

static enum vt_status branch_of(struct vt_builder *builder, const struct vt_node *node,
                                const char *name, const struct vt_graph **ret_graph)
{
    const struct vt_attr *attr = vt_node_attr(node, name);
    char text[VT_NODE_TEXT_MAX];
    if (attr == NULL || attr->type != VT_ATTR_GRAPH) {
        return vt_error_set(builder->err, VT_ERR_FORMAT, "%s has no graph in attribute '%s'",
                            vt_node_text(builder, node, text), name);
    }
    if (attr->graph->n_outputs != node->n_outputs) {
        return vt_error_set(builder->err, VT_ERR_FORMAT, "%s has %u outputs, but its %s gives %u",
                            vt_node_text(builder, node, text), node->n_outputs, name,
                            attr->graph->n_outputs);
    }
    *ret_graph = attr->graph;
    return VT_OK;
}

/* The condition is known: the branch's nodes stand in the place of the If. */
static enum vt_status inline_branch(struct vt_builder *builder, struct vt_program *program,
                                    const struct vt_node *node, const struct vt_graph *branch)
{
    enum vt_status status = walk_nodes(builder, branch, program);
    if (status != VT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] != VT_NO_VALUE) {
            builder->values[node->outputs[i]].renamed = vt_resolve(builder, branch->outputs[i]);
        }
    }
    builder->plan->info.folded_nodes++;
    return VT_OK;
}

enum vt_status vt_check_scalar(struct vt_builder *builder, const struct vt_node *node,
                               uint32_t input, enum vt_dtype dtype, const char *role)
{
    uint32_t value = vt_resolve(builder, node->inputs[input]);
    char text[VT_NODE_TEXT_MAX], shape[64];
    if (value == VT_NO_VALUE) {
        return VT_OK;
    }
    const struct vt_shape_info *info = &builder->values[value].info;
    bool fits = info->dtype == VT_UNDEFINED || info->dtype == dtype;
    if (info->rank != VT_RANK_UNKNOWN) {
        for (uint32_t d = 0; d < info->rank; d++) {
            fits = fits && (info->dim[d] < 0 || info->dim[d] == 1);
        }
        vt_shape_text(info->dim, info->rank, NULL, shape, sizeof(shape));
    }
    if (fits) {
        return VT_OK;
    }
    return vt_error_set(builder->err, VT_ERR_FORMAT, "%s: its %s must be one %s, but is %s %s",
                        vt_node_text(builder, node, text), role, vt_dtype_name(dtype),
                        vt_dtype_name(info->dtype),
                        info->rank != VT_RANK_UNKNOWN ? shape : "of any shape");
}

/* What is known about a value that is either `a` or `b`. */
static void merge_info(const struct vt_shape_info *a, const struct vt_shape_info *b,
                       struct vt_shape_info *ret)
{
    vt_shape_unknown(ret);
    ret->dtype = a->dtype;
    if (a->rank == VT_RANK_UNKNOWN || a->rank != b->rank) {
        return;
    }
    ret->rank = a->rank;
    for (uint32_t d = 0; d < a->rank; d++) {
        int64_t bound_a = a->dim[d] >= 0 ? a->dim[d] : a->bound[d];
        int64_t bound_b = b->dim[d] >= 0 ? b->dim[d] : b->bound[d];
        if (a->dim[d] >= 0 && a->dim[d] == b->dim[d]) {
            ret->dim[d] = a->dim[d];
        } else if (bound_a >= 0 && bound_b >= 0) {
            ret->bound[d] = bound_a > bound_b ? bound_a : bound_b;
        }
    }
}

/*
 * A branch that does not fit the shapes at hand is no error while nobody takes it: models guard
 * themselves with an If against inputs that one of its branches is not made for.
 */
static enum vt_status walk_branch(struct vt_builder *builder, const struct vt_graph *graph,
                                  struct vt_program **ret_program, const char **ret_why_not)
{
    struct vt_error found = VT_ERROR_INIT;
    struct vt_error *outer = builder->err;
    uint32_t folded = builder->plan->info.folded_nodes;
    builder->err = &found;
    enum vt_status status = vt_walk(builder, graph, ret_program);
    builder->err = outer;
    if (status == VT_OK) {
        return VT_OK;
    }
    if (status != VT_ERR_FORMAT) {
        return vt_error_set(outer, status, "%s", found.text);
    }
    struct vt_arena *memory = &builder->plan->memory;
    struct vt_program *empty = vt_arena_calloc(memory, 1, sizeof(*empty));
    *ret_why_not = vt_arena_strndup(memory, found.text, strlen(found.text));
    if (empty == NULL || *ret_why_not == NULL) {
        return vt_out_of_memory(outer);
    }
    empty->graph = graph;
    builder->plan->info.folded_nodes = folded;
    *ret_program = empty;
    return VT_OK;
}

static enum vt_status walk_branches(struct vt_builder *builder, const struct vt_graph *then_graph,
                                    const struct vt_graph *else_graph, struct vt_if *branches)
{
    enum vt_status status =
        walk_branch(builder, then_graph, &branches->then_branch, &branches->why_not[0]);
    if (status == VT_OK) {
        status = walk_branch(builder, else_graph, &branches->else_branch, &branches->why_not[1]);
    }
    if (status == VT_OK && branches->why_not[0] != NULL && branches->why_not[1] != NULL) {
        return vt_error_set(builder->err, VT_ERR_FORMAT, "%s", branches->why_not[0]);
    }
    return status;
}

static enum vt_status infer_if(struct vt_builder *builder, const struct vt_node *node,
                               const struct vt_if *branches)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] == VT_NO_VALUE) {
            continue;
        }
        const struct vt_shape_info *info[2] = {NULL, NULL};
        const struct vt_program *programs[2] = {branches->then_branch, branches->else_branch};
        for (uint32_t b = 0; b < 2; b++) {
            if (branches->why_not[b] == NULL) {
                info[b] = &builder->values[programs[b]->outputs[i]].info;
            }
        }
        if (info[0] != NULL && info[1] != NULL && info[0]->dtype != VT_UNDEFINED &&
            info[1]->dtype != VT_UNDEFINED && info[0]->dtype != info[1]->dtype) {
            char text[VT_NODE_TEXT_MAX];
            return vt_error_set(builder->err, VT_ERR_FORMAT,
                                "%s: its output %u is of type %s in then_branch and %s in "
                                "else_branch",
                                vt_node_text(builder, node, text), i, vt_dtype_name(info[0]->dtype),
                                vt_dtype_name(info[1]->dtype));
        }
        struct vt_build_value *value = &builder->values[node->outputs[i]];
        merge_info(info[0] != NULL ? info[0] : info[1], info[1] != NULL ? info[1] : info[0],
                   &value->info);
        value->pure = false;
    }
    return VT_OK;
}

static enum vt_status walk_if(struct vt_builder *builder, struct vt_program *program,
                              const struct vt_node *node)
{
    const struct vt_graph *then_graph = NULL, *else_graph = NULL;
    enum vt_status status = branch_of(builder, node, "then_branch", &then_graph);
    if (status == VT_OK) {
        status = branch_of(builder, node, "else_branch", &else_graph);
    }
    if (status == VT_OK) {
        status = vt_check_scalar(builder, node, 0, VT_BOOL, "condition");
    }
    if (status != VT_OK) {
        return status;
    }
    uint32_t condition = vt_resolve(builder, node->inputs[0]);
    const struct vt_tensor *known = builder->values[condition].info.value;
    if (known != NULL && known->dtype == VT_BOOL && known->bytes == 1) {
        return inline_branch(builder, program, node,
                             *(const uint8_t *)known->data != 0 ? then_graph : else_graph);
    }
    struct vt_if *branches = vt_arena_calloc(&builder->plan->memory, 1, sizeof(*branches));
    if (branches == NULL) {
        return vt_out_of_memory(builder->err);
    }
    status = walk_branches(builder, then_graph, else_graph, branches);
    if (status != VT_OK) {
        return status;
    }
    struct vt_step *step = vt_step_add(builder, program, VT_STEP_IF, node);
    if (step == NULL) {
        return VT_ERR_MEMORY;
    }
    step->branches = branches;
    return infer_if(builder, node, branches);
}

static enum vt_status walk_nodes(struct vt_builder *builder, const struct vt_graph *graph,
                                 struct vt_program *program)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct vt_node *node = &graph->nodes[i];
        enum vt_status status;
        for (uint32_t o = 0; o < node->n_outputs; o++) {
            /* A body is walked again when a loop's assumptions about its inputs did not hold. */
            if (node->outputs[o] != VT_NO_VALUE) {
                builder->values[node->outputs[o]].renamed = VT_NO_VALUE;
            }
        }
        if (vt_is_op(node, "If")) {
            status = walk_if(builder, program, node);
        } else if (vt_is_op(node, "Loop")) {
            status = vt_walk_loop(builder, program, node);
        } else {
            status = walk_op(builder, program, node);
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

enum vt_status vt_walk(struct vt_builder *builder, const struct vt_graph *graph,
                       struct vt_program **ret_program)
{
    struct vt_arena *memory = &builder->plan->memory;
    struct vt_program *program = vt_arena_calloc(memory, 1, sizeof(*program));
    uint32_t *outputs = vt_arena_calloc(memory, (size_t)graph->n_outputs + 1, sizeof(*outputs));
    if (program == NULL || outputs == NULL) {
        return vt_out_of_memory(builder->err);
    }
    program->graph = graph;
    program->outputs = outputs;
    program->n_outputs = graph->n_outputs;
    enum vt_status status = walk_nodes(builder, graph, program);
    if (status != VT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < graph->n_outputs; i++) {
        outputs[i] = vt_resolve(builder, graph->outputs[i]);
    }
    *ret_program = program;
    return VT_OK;
}
