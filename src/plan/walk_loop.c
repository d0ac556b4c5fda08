/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop: its body is planned for shapes that hold in every turn. The first assumption is that the
 * carried values keep the shape that they start with; where the body gives them another extent,
 * that extent is taken for unknown and the body is walked again.
 */
#include <string.h>

#include "plan/internal.h"

/* More passes than a body needs that is meant well; then nothing is assumed any more. */
#define MAX_PASSES 8
/* Walks over bodies, all loops of a model taken together, after which nothing is assumed from the
 * start: loops in loops whose assumptions fail would each double the walks of those inside. */
#define MAX_WALKS 2048u

static bool true_value = true;
static const struct vt_tensor true_tensor = {
    .dtype = VT_BOOL, .rank = 0, .data = &true_value, .bytes = sizeof(true_value)};

static void scalar_info(enum vt_dtype dtype, struct vt_shape_info *ret)
{
    vt_shape_unknown(ret);
    ret->dtype = dtype;
    ret->rank = 0;
}

static bool is_true(const struct vt_builder *builder, uint32_t value)
{
    const struct vt_tensor *known = builder->values[value].info.value;
    return known != NULL && known->dtype == VT_BOOL && known->bytes == 1 &&
           *(const uint8_t *)known->data != 0;
}

/* The number of turns where it is known; -1 otherwise. */
static int64_t known_trips(const struct vt_builder *builder, const struct vt_node *node)
{
    uint32_t trips = vt_resolve(builder, node->inputs[0]);
    if (trips == VT_NO_VALUE || !vt_is_constant(builder, trips)) {
        return -1;
    }
    const struct vt_tensor *tensor = builder->values[trips].info.value;
    if (tensor->dtype != VT_I64 || tensor->bytes != sizeof(int64_t)) {
        return -1;
    }
    int64_t n;
    memcpy(&n, tensor->data, sizeof(n));
    return n > 0 ? n : 0;
}

static enum vt_status check_body(struct vt_builder *builder, const struct vt_node *node,
                                 const struct vt_graph **ret_body)
{
    char text[VT_NODE_TEXT_MAX];
    const struct vt_attr *attr = vt_node_attr(node, "body");
    if (attr == NULL || attr->type != VT_ATTR_GRAPH || node->n_inputs < 2) {
        return vt_error_set(builder->err, VT_ERR_FORMAT, "%s has no body or no inputs",
                            vt_node_text(builder, node, text));
    }
    const struct vt_graph *body = attr->graph;
    uint32_t carried = node->n_inputs - 2;
    if (body->n_inputs != node->n_inputs || body->n_outputs < 1 + carried ||
        node->n_outputs != body->n_outputs - 1) {
        return vt_error_set(builder->err, VT_ERR_FORMAT,
                            "%s has %u inputs and %u outputs, which does not fit its body of %u "
                            "inputs and %u outputs",
                            vt_node_text(builder, node, text), node->n_inputs, node->n_outputs,
                            body->n_inputs, body->n_outputs);
    }
    for (uint32_t i = 2; i < node->n_inputs; i++) {
        if (node->inputs[i] == VT_NO_VALUE) {
            return vt_error_set(builder->err, VT_ERR_FORMAT, "%s omits its carried value %u",
                                vt_node_text(builder, node, text), i - 2);
        }
    }
    *ret_body = body;
    return VT_OK;
}

/* Leaves the type alone, which never changes. */
static void assume_nothing(struct vt_shape_info *info)
{
    enum vt_dtype dtype = info->dtype;
    vt_shape_unknown(info);
    info->dtype = dtype;
}

/*
 * Weakens what is assumed about the carried value `assumed` to what also fits `found`. True when
 * it already did.
 */
static bool weaken(struct vt_shape_info *assumed, const struct vt_shape_info *found)
{
    if (assumed->rank == VT_RANK_UNKNOWN) {
        return true;
    }
    if (found->rank != assumed->rank) {
        assume_nothing(assumed);
        return false;
    }
    bool held = true;
    for (uint32_t d = 0; d < assumed->rank; d++) {
        if (assumed->dim[d] >= 0 && assumed->dim[d] != found->dim[d]) {
            assumed->dim[d] = -1;
            held = false;
        }
    }
    return held;
}

/* A bound at the start says nothing about later turns. */
static void drop_bounds(struct vt_shape_info *info)
{
    for (uint32_t d = 0; d < VT_RANK_MAX; d++) {
        info->bound[d] = -1;
    }
    info->value = NULL;
}

static void assume_start(struct vt_builder *builder, const struct vt_node *node,
                         const struct vt_graph *body, bool go_on)
{
    for (uint32_t i = 0; i < body->n_inputs; i++) {
        struct vt_build_value *inside = &builder->values[body->inputs[i]];
        inside->renamed = VT_NO_VALUE;
        inside->pure = false;
        if (i == 0) {
            scalar_info(VT_I64, &inside->info);
        } else if (i == 1) {
            scalar_info(VT_BOOL, &inside->info);
            inside->info.value = go_on ? &true_tensor : NULL;
        } else {
            inside->info = builder->values[vt_resolve(builder, node->inputs[i])].info;
            drop_bounds(&inside->info);
            if (builder->body_walks > MAX_WALKS) {
                assume_nothing(&inside->info);
            }
        }
    }
}

/* Walks the body until its assumptions hold. */
static enum vt_status settle(struct vt_builder *builder, const struct vt_node *node,
                             const struct vt_graph *body, struct vt_program **ret_program)
{
    uint32_t condition = vt_resolve(builder, node->inputs[1]);
    bool may_last = builder->body_walks <= MAX_WALKS;
    assume_start(builder, node, body,
                 may_last && (condition == VT_NO_VALUE || is_true(builder, condition)));
    for (uint32_t pass = 0;; pass++) {
        uint32_t folded = builder->plan->info.folded_nodes;
        struct vt_program *program = NULL;
        builder->body_walks++;
        enum vt_status status = vt_walk(builder, body, &program);
        if (status != VT_OK) {
            return status;
        }
        bool held = true;
        struct vt_shape_info *go_on = &builder->values[body->inputs[1]].info;
        if (go_on->value != NULL && !is_true(builder, program->outputs[0])) {
            go_on->value = NULL;
            held = false;
        }
        for (uint32_t i = 2; i < body->n_inputs; i++) {
            struct vt_shape_info *assumed = &builder->values[body->inputs[i]].info;
            const struct vt_shape_info *found = &builder->values[program->outputs[i - 1]].info;
            if (found->dtype != assumed->dtype) {
                char text[VT_NODE_TEXT_MAX];
                return vt_error_set(builder->err, VT_ERR_FORMAT,
                                    "%s: carried value %u starts as %s and comes back as %s",
                                    vt_node_text(builder, node, text), i - 2,
                                    vt_dtype_name(assumed->dtype), vt_dtype_name(found->dtype));
            }
            held = weaken(assumed, found) && held;
            if (!held && (pass >= MAX_PASSES || builder->body_walks > MAX_WALKS)) {
                assume_nothing(assumed);
            }
        }
        if (held) {
            *ret_program = program;
            return VT_OK;
        }
        builder->plan->info.folded_nodes = folded;
    }
}

static void infer_outputs(struct vt_builder *builder, const struct vt_node *node,
                          const struct vt_graph *body, const struct vt_program *program,
                          int64_t trips, bool certain)
{
    uint32_t carried = node->n_inputs - 2;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] == VT_NO_VALUE) {
            continue;
        }
        struct vt_build_value *out = &builder->values[node->outputs[i]];
        out->pure = false;
        if (i < carried) {
            out->info = builder->values[body->inputs[i + 2]].info;
            out->info.value = NULL;
            continue;
        }
        const struct vt_shape_info *slice = &builder->values[program->outputs[i + 1]].info;
        vt_shape_unknown(&out->info);
        out->info.dtype = slice->dtype;
        if (slice->rank == VT_RANK_UNKNOWN || slice->rank >= VT_RANK_MAX) {
            continue;
        }
        out->info.rank = slice->rank + 1;
        out->info.dim[0] = certain ? trips : -1;
        out->info.bound[0] = certain ? -1 : trips;
        for (uint32_t d = 0; d < slice->rank; d++) {
            out->info.dim[d + 1] = slice->dim[d];
            out->info.bound[d + 1] = slice->bound[d];
        }
    }
}

enum vt_status vt_walk_loop(struct vt_builder *builder, struct vt_program *program,
                            const struct vt_node *node)
{
    const struct vt_graph *body = NULL;
    enum vt_status status = check_body(builder, node, &body);
    if (status != VT_OK) {
        return status;
    }
    status = vt_check_scalar(builder, node, 0, VT_I64, "trip count");
    if (status == VT_OK) {
        status = vt_check_scalar(builder, node, 1, VT_BOOL, "condition");
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_arena *memory = &builder->plan->memory;
    struct vt_loop *loop = vt_arena_calloc(memory, 1, sizeof(*loop));
    uint32_t *inside = vt_arena_calloc(memory, body->n_inputs, sizeof(*inside));
    if (loop == NULL || inside == NULL) {
        return vt_out_of_memory(builder->err);
    }
    status = settle(builder, node, body, &loop->body);
    if (status != VT_OK) {
        return status;
    }
    memcpy(inside, body->inputs, body->n_inputs * sizeof(*inside));
    loop->inside = inside;
    loop->n_carried = node->n_inputs - 2;
    loop->n_scans = node->n_outputs - loop->n_carried;
    /* The condition stays true from turn to turn only when it was never in question. */
    int64_t trips = known_trips(builder, node);
    bool certain = trips >= 0 && vt_is_constant(builder, body->inputs[1]);
    loop->known_trips = certain ? trips : -1;
    struct vt_step *step = vt_step_add(builder, program, VT_STEP_LOOP, node);
    if (step == NULL) {
        return VT_ERR_MEMORY;
    }
    step->loop = loop;
    infer_outputs(builder, node, body, loop->body, trips, certain);
    return VT_OK;
}
