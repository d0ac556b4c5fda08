/* SPDX-License-Identifier: Apache-2.0 */
/* What recognise_qdq.c looks for: which values are dequantised, by what. */
#ifndef VT_PLAN_PASSES_QDQ_H
#define VT_PLAN_PASSES_QDQ_H

#include <string.h>

#include "plan/ops/quantised.h"
#include "plan/passes/pass.h"

struct recognition {
    struct vt_builder *builder;
    struct vt_program *program;
    const struct vt_node **makers; /* by value: the node of this graph that makes it */
    uint32_t *changes;
};

/* A tensor of quantised numbers: values, VT_NO_VALUE where the zero point is omitted. */
struct quantised {
    uint32_t data, scale, zero;
    int64_t axis;
    struct vt_step *step; /* the DequantizeLinear; NULL where it was folded */
};

static inline const struct vt_shape_info *info_of(const struct recognition *r, uint32_t value)
{
    return &r->builder->values[value].info;
}

static inline bool is_byte(enum vt_dtype dtype)
{
    return dtype == VT_I8 || dtype == VT_U8;
}

static inline bool is_step(const struct vt_step *step, const char *name)
{
    return step != NULL && !step->dead && step->op != NULL && step->node->domain[0] == '\0' &&
           strcmp(step->op->name, name) == 0;
}

/* The living step of this program that makes the value; NULL: another, or none. */
static inline struct vt_step *producer_of(const struct recognition *r, uint32_t value)
{
    value = vt_resolve(r->builder, value);
    if (value == VT_NO_VALUE) {
        return NULL;
    }
    const struct vt_build_value *made = &r->builder->values[value];
    return made->producer != NULL && !made->producer->dead && made->home == r->program
               ? made->producer
               : NULL;
}

/* The same, where nobody else looks at the value. */
static inline struct vt_step *sole_producer_of(const struct recognition *r, uint32_t value)
{
    value = vt_resolve(r->builder, value);
    return value != VT_NO_VALUE && r->builder->values[value].uses == 1 ? producer_of(r, value)
                                                                       : NULL;
}

static inline const struct vt_tensor *constant_of(const struct recognition *r, uint32_t value)
{
    value = vt_resolve(r->builder, value);
    return value != VT_NO_VALUE ? r->builder->values[value].info.value : NULL;
}

static inline uint32_t input_of(const struct recognition *r, const struct vt_step *step, uint32_t i)
{
    return i < step->n_inputs ? vt_resolve(r->builder, step->inputs[i]) : VT_NO_VALUE;
}

/* Scale and zero point are constants, `n` of each or one. */
bool vt_qdq_has_scales(const struct recognition *r, const struct quantised *q, int64_t n);
/* A tensor of bytes with one scale that a DequantizeLinear makes `value` of. */
bool vt_qdq_data(const struct recognition *r, uint32_t value, struct quantised *ret);
/* Constant weights, a scale for each of the positions of `axis` or one. */
bool vt_qdq_weights(const struct recognition *r, uint32_t value, uint32_t axis,
                    struct quantised *ret);
/*
 * A constant bias of `n` numbers: the int32 that were dequantised, where their scales are those of
 * the sums, else the float32. VT_NO_VALUE in *ret where the operator has none.
 */
bool vt_qdq_bias(const struct recognition *r, uint32_t value, int64_t n,
                 const struct quantised *data, const struct quantised *weights, uint32_t *ret);
/* Sets r->makers. */
enum vt_status vt_qdq_makers(struct recognition *r);

#endif
