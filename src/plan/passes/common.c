/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common subexpressions: of two steps of a program with the same operator, attributes and inputs
 * the second goes, and its users look at the first one's results. Small constants count as the
 * same when they hold the same.
 */
#include <math.h>
#include <string.h>

#include "plan/ops/support.h"
#include "plan/passes/pass.h"

/* Constants up to here are compared by what they hold. */
#define SMALL_BYTES 64u

struct entry {
    struct entry *next;
    struct vt_step *step;
    uint64_t hash;
};

static const struct vt_tensor *small_constant(const struct vt_builder *builder, uint32_t value)
{
    const struct vt_tensor *tensor =
        value != VT_NO_VALUE ? builder->values[value].info.value : NULL;
    return tensor != NULL && tensor->bytes <= SMALL_BYTES ? tensor : NULL;
}

static bool same_value(const struct vt_builder *builder, uint32_t a, uint32_t b)
{
    if (a == b) {
        return true;
    }
    const struct vt_tensor *s = small_constant(builder, a), *t = small_constant(builder, b);
    return s != NULL && t != NULL && s->dtype == t->dtype && s->rank == t->rank &&
           memcmp(s->dim, t->dim, s->rank * sizeof(s->dim[0])) == 0 && s->bytes == t->bytes &&
           (s->bytes == 0 || memcmp(s->data, t->data, s->bytes) == 0);
}

static bool same_attr(const struct vt_attr *a, const struct vt_attr *b)
{
    if (strcmp(a->name, b->name) != 0 || a->type != b->type || a->n != b->n) {
        return false;
    }
    switch (a->type) {
    case VT_ATTR_INT:
        return a->i == b->i;
    case VT_ATTR_FLOAT:
        return a->f == b->f && signbit(a->f) == signbit(b->f);
    case VT_ATTR_STRING:
        return memcmp(a->s, b->s, a->n) == 0;
    case VT_ATTR_INTS:
        return a->n == 0 || memcmp(a->ints, b->ints, a->n * sizeof(*a->ints)) == 0;
    case VT_ATTR_FLOATS:
        return a->n == 0 || memcmp(a->floats, b->floats, a->n * sizeof(*a->floats)) == 0;
    default:
        return false;
    }
}

/* Values as they are called now. */
static uint32_t input_of(const struct vt_builder *builder, const struct vt_step *step, uint32_t i)
{
    return vt_resolve(builder, step->inputs[i]);
}

static bool same_step(const struct vt_builder *builder, const struct vt_step *a,
                      const struct vt_step *b)
{
    if (a->op != b->op || a->node->opset != b->node->opset || a->n_inputs != b->n_inputs ||
        a->node->n_attrs != b->node->n_attrs || strcmp(a->node->op, b->node->op) != 0 ||
        strcmp(a->node->domain, b->node->domain) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->node->n_attrs; i++) {
        if (!same_attr(&a->node->attrs[i], &b->node->attrs[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < a->n_inputs; i++) {
        if (!same_value(builder, input_of(builder, a, i), input_of(builder, b, i))) {
            return false;
        }
    }
    /* `a` has to give all that is asked of `b`, and the types have to be the same. */
    for (uint32_t i = 0; i < b->n_outputs; i++) {
        if (b->outputs[i] != VT_NO_VALUE && (i >= a->n_outputs || a->outputs[i] == VT_NO_VALUE ||
                                             builder->values[a->outputs[i]].info.dtype !=
                                                 builder->values[b->outputs[i]].info.dtype)) {
            return false;
        }
    }
    /* How many outputs there are decides what some operators give. */
    return a->n_outputs == b->n_outputs;
}

static uint64_t hash_attr(uint64_t hash, const struct vt_attr *attr)
{
    switch (attr->type) {
    case VT_ATTR_INT:
        return vt_op_hash(hash, &attr->i, sizeof(attr->i));
    case VT_ATTR_FLOAT:
        return vt_op_hash(hash, &attr->f, sizeof(attr->f));
    case VT_ATTR_STRING:
        return vt_op_hash(hash, attr->s, attr->n);
    case VT_ATTR_INTS:
        return vt_op_hash(hash, attr->ints, attr->n * sizeof(*attr->ints));
    case VT_ATTR_FLOATS:
        return vt_op_hash(hash, attr->floats, attr->n * sizeof(*attr->floats));
    default:
        return hash;
    }
}

static uint64_t hash_of(const struct vt_builder *builder, const struct vt_step *step)
{
    uint64_t hash = vt_op_hash(VT_OP_HASH_START, step->node->op, strlen(step->node->op));
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        const uint32_t value = input_of(builder, step, i);
        const struct vt_tensor *constant = small_constant(builder, value);
        hash = constant != NULL ? vt_op_hash(hash, constant->data, constant->bytes)
                                : vt_op_hash(hash, &value, sizeof(value));
    }
    for (uint32_t i = 0; i < step->node->n_attrs; i++) {
        hash = hash_attr(hash, &step->node->attrs[i]);
    }
    return hash;
}

/* Tensors, graphs, lists of texts are not looked into. */
static bool has_opaque_attr(const struct vt_node *node)
{
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        const enum vt_attr_type type = node->attrs[i].type;
        if (type == VT_ATTR_TENSOR || type == VT_ATTR_GRAPH || type == VT_ATTR_STRINGS) {
            return true;
        }
    }
    return false;
}

static bool may_be_shared(const struct vt_step *step)
{
    return (step->kind == VT_STEP_OP || step->kind == VT_STEP_VIEW) && step->op != NULL &&
           step->n_outputs > 0 && step->affine.scale == NULL && !step->order.given[0] &&
           !step->order.given[1] && step->epilogue.activation == VT_ACT_NONE &&
           !step->epilogue.has_residual && !step->epilogue.has_bias &&
           !vt_node_is_random(step->node) && !has_opaque_attr(step->node);
}

static void replace(struct vt_builder *builder, const struct vt_step *step,
                    const struct vt_step *by)
{
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            vt_value_replace(builder, step->outputs[i], by->outputs[i]);
        }
    }
}

static uint32_t count_steps(const struct vt_program *program)
{
    uint32_t n = 0;
    for (const struct vt_step *step = program->first; step != NULL; step = step->next) {
        n++;
    }
    return n;
}

VT_PASS(common)
{
    const uint32_t n = count_steps(program);
    struct entry *entries = vt_arena_calloc(&builder->scratch, (size_t)n + 1, sizeof(*entries));
    struct entry **buckets = vt_arena_calloc(&builder->scratch, (size_t)n + 1, sizeof(*buckets));
    if (entries == NULL || buckets == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (!may_be_shared(step)) {
            continue;
        }
        const uint64_t hash = hash_of(builder, step);
        struct entry **bucket = &buckets[hash % (n + 1)], *at = *bucket;
        while (at != NULL && (at->hash != hash || !same_step(builder, at->step, step))) {
            at = at->next;
        }
        if (at != NULL) {
            replace(builder, step, at->step);
            ++*changes;
            continue;
        }
        *entries = (struct entry){*bucket, step, hash};
        *bucket = entries++;
    }
    return VT_OK;
}
