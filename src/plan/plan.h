/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From graph to an executable plan.
 *
 *     create (model, shapes of the inputs) → plan → bind (input pointers) → run
 *
 * A plan is a small program for fixed input shapes: static segments (kernels over an arena planned
 * by lifetime), control nodes (If, Loop over sub-programs) and dynamic segments, whose extents are
 * known only while they run; their buffers grow once and are kept. Running allocates nothing after
 * warm-up at unchanged extents.
 *
 * Weights that a kernel wants in another order are packed once for a model and shared by all its
 * plans (vt_weights).
 *
 * Threading: a model and its weights may serve several plans at once; a plan is run by one thread
 * at a time.
 */
#ifndef VT_PLAN_PLAN_H
#define VT_PLAN_PLAN_H

#include "base/pool.h"
#include "graph/graph.h"

struct vt_weights; /* packed weights of one model, thread-safe */
struct vt_plan;

enum vt_status vt_weights_new(const struct vt_model *model, struct vt_error *err,
                              struct vt_weights **ret_weights) VT_NODISCARD;
void vt_weights_free(struct vt_weights *weights); /* accepts NULL */

/*
 * Plans the model for inputs of exactly these shapes (`inputs[i].data` is not looked at), in the
 * order of the main graph's inputs. `pool` serves the run; NULL runs on the calling thread. Errors
 * name node and operator.
 */
enum vt_status vt_plan_new(const struct vt_model *model, struct vt_weights *weights,
                           struct vt_pool *pool, const struct vt_tensor *inputs, uint32_t n_inputs,
                           struct vt_error *err, struct vt_plan **ret_plan) VT_NODISCARD;
void vt_plan_free(struct vt_plan *plan); /* accepts NULL */

/*
 * Runs the plan. The inputs have the shapes it was made for and are borrowed for the call. On
 * success ret_outputs[0 .. n_outputs) are views of the plan's own memory, valid until the next
 * run. Errors come only from dynamic parts (an index out of range, a bound exceeded).
 */
enum vt_status vt_plan_run(struct vt_plan *plan, const struct vt_tensor *inputs, uint32_t n_inputs,
                           struct vt_error *err, struct vt_tensor *ret_outputs,
                           uint32_t n_outputs) VT_NODISCARD;

struct vt_plan_info {
    uint32_t steps;         /* kernels and control nodes of the whole program */
    uint32_t dynamic_steps; /* of those, whose extents are found at run time */
    uint32_t folded_nodes;  /* computed once, while planning */
    uint32_t fused_nodes;   /* absorbed into another node's kernel */
    size_t arena_bytes;     /* after planning by lifetime */
    size_t unshared_bytes;  /* what the same values would take without sharing memory */
    double flops;           /* of one run; dynamic steps not counted */
};
void vt_plan_info(const struct vt_plan *plan, struct vt_plan_info *ret_info);

#endif
