/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an ONNX operator is carried out: the seam between the planner and the kernels. One file in
 * plan/ops/ a family of operators; each entry binds an operator's attributes and tensors to
 * functions of kernels/.
 *
 * For a step with known extents the planner calls prepare() once and run() many times. In a
 * dynamic segment it calls prepare() again whenever the extents of the inputs have changed.
 *
 * Threading: one step is prepared and run by one thread at a time; inside, run() may spread over
 * `pool`.
 */
#ifndef VT_PLAN_OP_H
#define VT_PLAN_OP_H

#include "base/pool.h"
#include "graph/graph.h"
#include "kernels/activation.h"
#include "plan/plan.h"
#include "plan/tuning.h"

/*
 * What the planner fused into a step that declares VT_OP_EPILOGUE: out = act(op(…) + residual), or
 * with VT_OP_BIAS out = act(op(…) + bias + residual). They are inputs behind the node's own.
 */
struct vt_epilogue {
    enum vt_activation activation;
    float alpha, beta;
    bool has_residual; /* the step's last input, of the output's shape */
    bool has_bias;     /* before the residual: a number for each place of the output's last axis */
};

/* A BatchNormalization folded into the convolution before it: w' = w·scale, b' = b·scale + shift,
 * one number an output channel. NULL pointers where there is none. */
struct vt_channel_affine {
    const float *scale;
    const float *shift;
};

/* The order in which a MatMul reads its factors: axis d of factor i as ONNX means it is axis
 * perm[i][d] of the input. All extents are known then, and the elements are float32. */
struct vt_operand_order {
    bool given[2]; /* else as they are */
    uint8_t perm[2][VT_RANK_MAX];
};

struct vt_op_context {
    const struct vt_model *model;
    const struct vt_node *node;
    struct vt_weights *weights;
    struct vt_pool *pool;
    const struct vt_epilogue *epilogue;     /* never NULL */
    const struct vt_channel_affine *affine; /* never NULL */
    const struct vt_operand_order *order;   /* NULL: all as they are */
    /* Images (input 0, the residual, all inputs of the output's extents, output 0) have their
     * elements in the order [batch][spatial][channels]; their extents are as ONNX has them. Only
     * where passes/channels_last.c has a rule for the operator. */
    bool channels_last;
    /* In the node's order, NULL where omitted. In prepare(), `data` is set only for constants. */
    const struct vt_tensor *const *inputs;
    uint32_t n_inputs;
    struct vt_tensor *outputs; /* data is set in run() only */
    uint32_t n_outputs;
    void *state;     /* state_bytes, zeroed before the first prepare(), kept between calls */
    void *workspace; /* run(): what prepare() asked for, aligned; contents undefined */
    enum vt_precision precision;
    char kernel[32]; /* prepare() may say which kernel it chose, for people */
    /* For prepare(), where it has a choice (vt_tuning_choose); NULL: by rule. */
    struct vt_tuning *tuning;
    bool tuned; /* prepare() chose by measurement */
    /* prepare(): output 0 may lie on the residual where that dies here. */
    bool over_residual;
    struct vt_error *err;
};

enum vt_op_flags {
    /* The output is input 0's memory under another shape: no copy; run is NULL. */
    VT_OP_VIEW = 1 << 0,
    /* Output 0 may lie on input 0 where that dies here and has the same bytes. */
    VT_OP_IN_PLACE = 1 << 1,
    /* run() finds the extents: outputs come with the capacity of their bound and run() sets dim[]
     * and bytes. */
    VT_OP_DATA_DEPENDENT = 1 << 2,
    /* Understands ctx->epilogue. */
    VT_OP_EPILOGUE = 1 << 3,
    /* Understands ctx->affine. */
    VT_OP_AFFINE = 1 << 4,
    /* Takes float16 and bfloat16 as they are. Every other operator gets them as float32, and its
     * results are rounded back. */
    VT_OP_ANY_FLOAT = 1 << 5,
    /* Understands ctx->epilogue->has_bias. */
    VT_OP_BIAS = 1 << 6,
};

struct vt_op {
    const char *domain; /* "" for ONNX's own */
    const char *name;
    uint32_t flags;
    size_t state_bytes;
    /*
     * Optional. Checks attributes and types that inference did not, chooses the kernel, packs
     * constant weights (vt_weights_pack), fills state. *ret_workspace_bytes is preset to 0. Must
     * not keep pointers to inputs other than constants, nor read what was packed. May allocate only
     * through vt_weights_pack, and while it measures.
     */
    enum vt_status (*prepare)(struct vt_op_context *ctx, size_t *ret_workspace_bytes);
    /* Computes. Allocates nothing, logs nothing. Fails only on data (an index out of range). */
    enum vt_status (*run)(struct vt_op_context *ctx);
};

/* Every operator that can be carried out, from the families' tables. NULL when there is none. */
const struct vt_op *vt_op_find(const char *domain, const char *name);
/* The entry that carries a node out: an operator may have another one for its rarer forms. */
const struct vt_op *vt_op_for(const struct vt_model *model, const struct vt_node *node);

/*
 * Packed form of a constant, made once for a model. The key is (source pointer, kind, variant);
 * when it is new, `bytes` are allocated and pack(ctx, memory) fills them, or they are mapped from a
 * plan file. For that a variant must be the same in every process: no addresses, but
 * vt_weights_name of them. NULL when out of memory. Thread-safe. Without `weights`, in a plan that
 * only checks, the pointer is none to read from.
 */
typedef void (*vt_pack_func)(void *ctx, void *ret_packed);
const void *vt_weights_pack(struct vt_weights *weights, const void *source, const char *kind,
                            uint64_t variant, size_t bytes, vt_pack_func pack, void *ctx);
/* A number for a constant's memory, part of a variant; 0 for NULL. */
uint64_t vt_weights_name(struct vt_weights *weights, const void *source);

#endif
