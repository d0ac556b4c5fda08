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
struct vt_plan_file; /* plan/plan_file.h */
struct vt_tuning;    /* plan/tuning.h */

enum vt_status vt_weights_new(const struct vt_model *model, struct vt_error *err,
                              struct vt_weights **ret_weights) VT_NODISCARD;
void vt_weights_free(struct vt_weights *weights); /* accepts NULL */
/* What the file holds is not packed again. Before the first plan; `file` outlives the weights. */
void vt_weights_use(struct vt_weights *weights, const struct vt_plan_file *file);

struct vt_weights_stats {
    uint32_t packed, mapped; /* forms that were packed here; that come from the file */
    size_t packed_bytes, mapped_bytes;
};
void vt_weights_stats(struct vt_weights *weights, struct vt_weights_stats *ret_stats);

/*
 * The passes that turn the graph's steps into fewer (plan/passes/), by their number in the order
 * in which they are applied. Name and summary are NULL from the count on.
 */
uint32_t vt_plan_pass_count(void);
const char *vt_plan_pass_name(uint32_t pass);
const char *vt_plan_pass_summary(uint32_t pass);
uint32_t vt_plan_pass_find(const char *name); /* the count when there is none */
#define VT_PLAN_NO_PASSES UINT64_MAX
/* "all", "none", "gelu+softmax" (these alone) or "-gelu+softmax" (all but these) as the set of
 * those to leave out. VT_ERR_USAGE when there is no such pass. */
enum vt_status vt_plan_passes_read(const char *text, struct vt_error *err,
                                   uint64_t *ret_without) VT_NODISCARD;

/* What a pass did. First come "shapes" and "constants", which every plan needs. */
struct vt_pass_report {
    const char *name, *summary;
    uint32_t steps_before, steps_after; /* of the whole program, bodies included */
    uint32_t changes;
};

/*
 * How weights are kept and products computed; everything else is fp32 in any case. Values between
 * layers are float32 with all of them.
 *
 *   fp32   as the model has them
 *   fp16w  weights of products and of recurrent layers are kept as float16, which is read in half
 *          the time; arithmetic is fp32. Weights with a number beyond float16 stay fp32
 *   bf16   factors of products, convolutions and attention are rounded to bfloat16, sums are fp32
 */
enum vt_precision {
    VT_PRECISION_FP32,
    VT_PRECISION_FP16W,
    VT_PRECISION_BF16,
    VT_PRECISION_COUNT,
};
const char *vt_precision_name(enum vt_precision precision);
/* VT_ERR_UNSUPPORTED where this processor has no instructions for it: says which would do. */
enum vt_status vt_precision_check(enum vt_precision precision, struct vt_error *err);

struct vt_plan_options {
    enum vt_precision precision;
    uint64_t without; /* passes to leave out: bit i is pass i */
    /* Which kernels are fast here; NULL: rules decide. It outlives the plan. */
    struct vt_tuning *tuning;
    /* The plan only shows whether there is one: no weights are packed, and it is not run. */
    bool check_only;
    /* Called while planning, after each pass that is not left out; may be NULL. */
    void (*observe)(void *ctx, const struct vt_pass_report *report);
    void *observe_ctx;
    /* Values of the main graph that are outputs too, behind its own; borrowed for the call. */
    const uint32_t *watched;
    uint32_t n_watched;
};

/*
 * Plans the model for inputs of exactly these shapes (`inputs[i].data` is not looked at), in the
 * order of the main graph's inputs. `pool` serves the run; NULL runs on the calling thread.
 * `options` may be NULL: all passes. Errors name node and operator.
 */
enum vt_status vt_plan_new(const struct vt_model *model, struct vt_weights *weights,
                           struct vt_pool *pool, const struct vt_tensor *inputs, uint32_t n_inputs,
                           const struct vt_plan_options *options, struct vt_error *err,
                           struct vt_plan **ret_plan) VT_NODISCARD;
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

/*
 * What the steps of a plan cost. Measured only between vt_plan_profile_begin and _end; else a run
 * looks at no clock.
 */
struct vt_step_profile {
    const struct vt_node *node;  /* whose kernel it is */
    uint32_t absorbed;           /* nodes fused into it */
    const char *activation;      /* fused into it, "Relu"; NULL: none */
    bool residual, affine, bias; /* a sum, a scale a channel, a row, likewise */
    bool control;                /* If or Loop: its own time without that of its bodies' steps */
    const char *kernel;          /* which one was chosen; "" where there is but one */
    bool tuned;                  /* it was chosen by measuring */
    const char *shape;           /* of its first output at the last run, "1x64x56x56" */
    uint64_t calls;
    int64_t time_ns; /* these are sums over the calls */
    double flops;    /* by vt_node_flops */
    double bytes;    /* of inputs and outputs, each read or written once */
};
/* Profiles from now on; begins again at zero. VT_ERR_MEMORY. */
enum vt_status vt_plan_profile_begin(struct vt_plan *plan, struct vt_error *err) VT_NODISCARD;
void vt_plan_profile_end(struct vt_plan *plan);
/* Steps in order of the program, bodies behind their control node; 0 while not profiling. */
uint32_t vt_plan_profile_count(const struct vt_plan *plan);
/* `index` is below the count. What it points to is valid until profiling ends or the plan runs
 * again. */
void vt_plan_profile_read(const struct vt_plan *plan, uint32_t index,
                          struct vt_step_profile *ret_profile);
/* All steps in the same order without their costs; what they point to is valid for the call. The
 * plan is not run meanwhile. */
void vt_plan_each_step(const struct vt_plan *plan,
                       void (*visit)(void *ctx, const struct vt_step_profile *step), void *ctx);

#endif
