/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the planner share: the program that a plan runs, and the tables that exist
 * only while it is being built.
 *
 *   walk.c     the graph becomes a program: inference, control flow        (fold.c: constants)
 *   passes/    fewer steps that compute the same, one file a pass
 *   build.c    tensors, contexts, prepare()                            (widen.c: half precision)
 *   layout.c   buffers, lifetimes, the arena                               (memory.c: packing)
 *   execute.c  runs the program      (control.c: If, Loop; split.c: batches; profile.c: its clock)
 *
 * A value's number in the model is also its number here: each body of an If or a Loop stands
 * in exactly one place, so one table serves the main graph and all bodies.
 */
#ifndef VT_PLAN_INTERNAL_H
#define VT_PLAN_INTERNAL_H

#include "base/alloc.h"
#include "plan/op.h"

/* --- the program ------------------------------------------------------------------------- */

/* Memory of one or more values. */
struct vt_buffer {
    struct vt_buffer *next;   /* all of a plan's, in order of creation */
    struct vt_buffer *joined; /* lies on this one (computed in place); NULL: has its own place */
    bool grows;               /* outside the arena: `data` is its own, grown when needed */
    uint32_t first, last;     /* the steps that need it */
    size_t capacity;
    void *data;
};

/* Room behind a step's inputs for what is fused into it: a bias, a residual. */
#define VT_STEP_SPARE_INPUTS 3

enum vt_step_kind {
    VT_STEP_OP,
    VT_STEP_VIEW, /* a new shape for memory whose place is known only at run time */
    VT_STEP_IF,
    VT_STEP_LOOP,
    VT_STEP_SPLIT, /* a batch that passes through steps part by part */
};

struct vt_step;
struct vt_profiler;
struct vt_widen;

struct vt_program {
    const struct vt_graph *graph;
    struct vt_step *first, *end; /* a list while building */
    struct vt_step **steps;      /* what is left of it, in order of execution */
    uint32_t n_steps;
    uint32_t *outputs; /* values */
    uint32_t n_outputs;
};

/* Run-time state of a step whose extents are found while it runs. */
struct vt_dynamic {
    bool prepared;
    struct vt_shape_info *infos; /* inputs, then outputs: what inference sees */
    const struct vt_shape_info **info_inputs;
    struct vt_tensor *seen; /* inputs, then outputs, with the extents of the last prepare() */
    const struct vt_tensor **seen_inputs;
    bool *constant; /* by input: its data may be shown to prepare() */
};

struct vt_if {
    /* By branch (0: then): why it cannot be carried out for these shapes; NULL where it can. Such
     * a branch is an empty program, and choosing it is an error. */
    const char *why_not[2];
    struct vt_program *then_branch, *else_branch;
    const struct vt_tensor **then_outputs, **else_outputs;
};

/* A value that a loop carries from one turn to the next. */
struct vt_carried {
    const struct vt_tensor *initial;
    struct vt_tensor *inside;     /* the body's input */
    struct vt_buffer *buffer;     /* its memory */
    const struct vt_tensor *next; /* the body's output */
    struct vt_buffer *staging;    /* where `next` may be a view of another carried value; or NULL */
    struct vt_tensor *result;     /* the loop's output, or NULL */
};

struct vt_scan {
    const struct vt_tensor *slice; /* the body's output */
    struct vt_buffer *buffer;
    struct vt_tensor *result; /* or NULL */
};

struct vt_loop {
    struct vt_program *body;
    uint32_t *inside; /* the body's inputs: turn, condition, carried values */
    const struct vt_tensor *trips, *condition; /* NULL: without */
    const struct vt_tensor *go_on;             /* the body's first output */
    struct vt_tensor *turn_tensor, *condition_tensor;
    int64_t turn;
    bool condition_value;
    int64_t known_trips; /* -1: found at run time */
    uint32_t n_carried, n_scans;
    struct vt_carried *carried;
    struct vt_scan *scans;
};

/* A part of a batch, inside; the step's inputs and outputs are the whole. */
struct vt_split {
    struct vt_program *body;
    int64_t parts;
    uint32_t *inputs, *outputs;      /* values of the body, by those of the step */
    struct vt_tensor *input_parts;   /* by input */
    struct vt_tensor **output_parts; /* by output: that of the step which makes it */
};

struct vt_step {
    struct vt_step *next;
    enum vt_step_kind kind;
    bool dead;
    bool was_used; /* before the pass that is being applied */
    bool elided;   /* a view at a place known while planning: nothing to run */
    bool channels_last;
    const struct vt_node *node;
    const struct vt_op *op;
    uint32_t *inputs, *outputs; /* values, renamed; VT_NO_VALUE where omitted */
    uint32_t n_inputs, n_outputs;
    uint32_t absorbed; /* nodes fused into it */
    double flops;
    /* In the numbering of all steps; differ for control. Until the layout: within its program. */
    uint32_t position, end;
    struct vt_epilogue epilogue;
    struct vt_channel_affine affine;
    struct vt_operand_order order;
    const struct vt_tensor **input_tensors;
    struct vt_tensor *output_tensors;
    struct vt_buffer **buffers; /* by output; NULL where it has none of its own */
    struct vt_buffer *workspace;
    struct vt_op_context ctx;
    struct vt_dynamic *dynamic; /* NULL: all extents known */
    struct vt_widen *widen;     /* NULL: the operator takes the element types as they are */
    struct vt_if *branches;
    struct vt_loop *loop;
    struct vt_split *split;
    uint32_t profile_index; /* while the plan is profiled */
};

/* A constant that depends on the shapes of the inputs, computed while planning. */
struct vt_folded {
    struct vt_folded *next;
    void *data;
    size_t bytes;
};

/* An output of the plan. */
struct vt_plan_output {
    const struct vt_tensor *tensor;
    struct vt_buffer *copy; /* where it might be an input's own memory; else NULL */
};

struct vt_plan {
    const struct vt_model *model;
    struct vt_weights *weights;
    struct vt_pool *pool;
    struct vt_tuning *tuning; /* NULL: rules decide */
    enum vt_precision precision;
    bool check_only;
    struct vt_arena memory; /* everything but the values */
    struct vt_program *program;
    uint32_t n_inputs, n_outputs;
    struct vt_tensor *inputs;
    struct vt_plan_output *outputs;
    struct vt_buffer *buffers;
    struct vt_folded *folded;
    struct vt_buffer workspace; /* of dynamic steps */
    uint8_t *arena;
    struct vt_plan_info info;
    struct vt_profiler *profiler; /* NULL: not profiled */
};

/* --- building ------------------------------------------------------------------------------ */

struct vt_build_value {
    struct vt_shape_info info; /* info.value: a constant */
    bool pure;                 /* a constant that does not depend on the inputs' shapes */
    bool graph_input;
    bool is_part;       /* its memory is found at run time, within that of a whole batch */
    bool may_be_input;  /* its memory may be that of an input of the plan */
    bool channels_last; /* the order of its elements: [batch][spatial][channels] */
    uint32_t twin;      /* the same value in the other order; VT_NO_VALUE: there is none */
    uint32_t renamed;   /* stands for this value; VT_NO_VALUE: for itself */
    uint32_t uses;
    struct vt_step *producer;
    struct vt_program *home; /* the producer's program */
    uint32_t first, last;
    struct vt_buffer *buffer;
    const struct vt_tensor *tensor;
};

/* `value` may be `source` under another name: what uses one uses the other. */
struct vt_alias {
    uint32_t value, source;
};

/* A loop's steps, [first, last]: what was made before it and is used in it lives to its end. */
struct vt_span {
    uint32_t first, last;
};

struct vt_builder {
    struct vt_plan *plan;
    struct vt_arena scratch;
    struct vt_build_value *values; /* those of the model, then those that a pass added */
    uint32_t n_values, value_capacity;
    struct vt_alias *aliases;
    uint32_t n_aliases, alias_capacity;
    struct vt_span *loops;
    uint32_t n_loops, loop_capacity;
    struct vt_buffer *last_buffer;
    uint32_t positions;
    size_t folded_bytes, grown_bytes; /* of folded results; of those larger than their inputs */
    uint32_t body_walks;              /* of loops */
    struct vt_error *err;
};

/* "node 'conv1' (Conv)", or the first output's name where the node has none. Returns text. */
#define VT_NODE_TEXT_MAX 160
char *vt_node_text(const struct vt_builder *builder, const struct vt_node *node, char *text);
char *vt_model_node_text(const struct vt_model *model, const struct vt_node *node, char *text);
/* Puts node and shapes before the error, unless the text names the node already. */
void vt_error_name_node(struct vt_error *err, const struct vt_model *model,
                        const struct vt_node *node, const struct vt_tensor *const *inputs,
                        uint32_t n_inputs);
enum vt_status vt_out_of_memory(struct vt_error *err);
/* Whether the node's input can be one number of that type, as far as is known; `role` names it. */
enum vt_status vt_check_scalar(struct vt_builder *builder, const struct vt_node *node,
                               uint32_t input, enum vt_dtype dtype, const char *role);

/* The programs inside a step: at most two. Returns how many. */
static inline uint32_t vt_step_bodies(const struct vt_step *step, struct vt_program *ret_bodies[2])
{
    if (step->branches != NULL) {
        ret_bodies[0] = step->branches->then_branch;
        ret_bodies[1] = step->branches->else_branch;
        return 2;
    }
    if (step->loop != NULL || step->split != NULL) {
        ret_bodies[0] = step->loop != NULL ? step->loop->body : step->split->body;
        return 1;
    }
    return 0;
}

/* The value that `value` stands for. */
static inline uint32_t vt_resolve(const struct vt_builder *builder, uint32_t value)
{
    while (value != VT_NO_VALUE && builder->values[value].renamed != VT_NO_VALUE) {
        value = builder->values[value].renamed;
    }
    return value;
}

/* The value's name in the model, also of one that a pass added for it. */
static inline const char *vt_value_name(const struct vt_builder *builder, uint32_t value)
{
    const struct vt_model *model = builder->plan->model;
    while (value != VT_NO_VALUE && value >= vt_model_value_count(model)) {
        value = builder->values[value].twin;
    }
    return value != VT_NO_VALUE ? vt_model_values(model)[value].name : "";
}

static inline bool vt_is_constant(const struct vt_builder *builder, uint32_t value)
{
    return builder->values[value].info.value != NULL;
}

static inline bool vt_is_op(const struct vt_node *node, const char *name)
{
    return node->domain[0] == '\0' && __builtin_strcmp(node->op, name) == 0;
}

/* Bytes of a tensor's elements from its shape. False when they overflow. */
static inline bool vt_tensor_size(struct vt_tensor *tensor)
{
    return vt_shape_bytes(tensor->dtype, tensor->dim, tensor->rank, &tensor->bytes);
}

/* walk.c */
enum vt_status vt_walk(struct vt_builder *builder, const struct vt_graph *graph,
                       struct vt_program **ret_program);
/* walk_loop.c */
enum vt_status vt_walk_loop(struct vt_builder *builder, struct vt_program *program,
                            const struct vt_node *node);
struct vt_step *vt_step_add(struct vt_builder *builder, struct vt_program *program,
                            enum vt_step_kind kind, const struct vt_node *node);
void vt_shape_unknown(struct vt_shape_info *info);

/* fold.c */
/* Whether it draws random numbers, so that two of it differ. */
bool vt_node_is_random(const struct vt_node *node);
/* True in *ret_folded when the node's outputs have become constants. */
enum vt_status vt_fold(struct vt_builder *builder, const struct vt_node *node,
                       const uint32_t *inputs, bool *ret_folded);

/* passes/passes.c */
enum vt_status vt_passes_run(struct vt_builder *builder, const struct vt_plan_options *options);

/* widen.c: prepare() and run() of an operator, which sees float16 and bfloat16 as float32. */
/* NULL in *ret_widen where there is nothing to convert. */
enum vt_status vt_widen_new(struct vt_arena *memory, const struct vt_op *op,
                            const struct vt_op_context *ctx, struct vt_error *err,
                            struct vt_widen **ret_widen);
/* `keep_constants`: converted constants are kept with the weights, not made by each run. */
enum vt_status vt_op_prepare(struct vt_op_context *ctx, const struct vt_op *op,
                             struct vt_widen *widen, bool keep_constants, size_t *ret_workspace);
enum vt_status vt_op_run(struct vt_op_context *ctx, const struct vt_op *op, struct vt_widen *widen);

/* build.c */
/* A tensor of that shape, without data; extents found at run time are 0 until then. */
enum vt_status vt_tensor_shape(struct vt_builder *builder, const struct vt_node *node,
                               const struct vt_shape_info *info, struct vt_tensor *ret);
enum vt_status vt_build_steps(struct vt_builder *builder, struct vt_program *program);

/* layout.c */
enum vt_status vt_layout(struct vt_builder *builder);

/* execute.c */
enum vt_status vt_program_run(struct vt_plan *plan, struct vt_program *program,
                              struct vt_error *err);
/* Makes room for `bytes`; what was in it is lost, or kept up to `keep` bytes. */
enum vt_status vt_buffer_reserve(struct vt_buffer *buffer, size_t bytes, size_t keep,
                                 struct vt_error *err);

/* profile.c: around one step; what ran inside a control node is not counted twice. */
struct vt_profile_mark {
    int64_t start_ns, outer_ns;
};
void vt_profile_enter(struct vt_profiler *profiler, struct vt_profile_mark *ret_mark);
void vt_profile_leave(struct vt_profiler *profiler, const struct vt_step *step,
                      const struct vt_profile_mark *mark);

/* split.c */
enum vt_status vt_build_split(struct vt_builder *builder, struct vt_step *step);
enum vt_status vt_split_run(struct vt_plan *plan, struct vt_step *step, struct vt_error *err);

/* control.c */
enum vt_status vt_if_run(struct vt_plan *plan, struct vt_step *step, struct vt_error *err);
enum vt_status vt_loop_run(struct vt_plan *plan, struct vt_step *step, struct vt_error *err);

/* weights.c */
/*
 * Constants that the planner computed from the model alone, by value number: kept with the packed
 * weights, shared by all plans. NULL when there is none yet.
 */
const struct vt_tensor *vt_weights_constant(struct vt_weights *weights, uint32_t value);
/* Gives `tensor`'s data (from vt_alloc) to the weights, or frees it where another plan was
 * first. NULL when out of memory; then the data is still the caller's. */
const struct vt_tensor *vt_weights_keep(struct vt_weights *weights, uint32_t value,
                                        const struct vt_tensor *tensor);
/* Each packed form of a constant that the model itself determines, by its value number. */
typedef void (*vt_packed_visit_func)(void *ctx, uint32_t value, const char *kind, uint64_t variant,
                                     size_t bytes, const void *memory);
void vt_weights_each(struct vt_weights *weights, vt_packed_visit_func visit, void *ctx);
/* Drops what was packed from this memory, which is about to be freed. */
void vt_weights_forget(struct vt_weights *weights, const void *source, size_t bytes);

#endif
