/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes: each turns a program into one that computes the same with less to do. One pass, one
 * file; passes.c has the list of all in their order.
 *
 * A pass sees one program at a time, its list of steps: bodies of If and Loop come before the
 * program around them. What it can rely on, and has to leave behind:
 *
 * - No value has more users than its `uses` says: inputs of living steps in all programs, and
 *   outputs of these. It is exact before a pass; while one is under way it may be too high.
 * - step->position ascends in the order of execution within a program.
 * - Steps that nobody uses any more after a pass go by themselves. A pass gives a step that is
 * there another meaning; only the last ones, channels_last.c and batch_split.c, link in new ones.
 * - A value that stands for another one is `renamed`; until the pass ends steps may still name the
 *   old one, so inputs are read through vt_resolve.
 * - What a step makes is a value of the model until then. Values that passes add are constants.
 *
 * A pass fires only where the result is the same but for rounding.
 */
#ifndef VT_PLAN_PASSES_PASS_H
#define VT_PLAN_PASSES_PASS_H

#include "plan/internal.h"

struct vt_pass {
    const char *name;
    const char *summary;
    /* Adds to *changes what it changed in this program, in whatever unit the summary speaks of. */
    enum vt_status (*apply)(struct vt_builder *builder, struct vt_program *program,
                            uint32_t *changes);
};

/* --- one a file ------------------------------------------------------------------------------ */

#define VT_PASS(name)                                                                              \
    enum vt_status vt_pass_##name(struct vt_builder *builder, struct vt_program *program,          \
                                  uint32_t *changes)
VT_PASS(dead_code);
VT_PASS(common);
VT_PASS(no_ops);
VT_PASS(reshapes);
VT_PASS(transposes);
VT_PASS(recognise_qdq);
VT_PASS(softmax);
VT_PASS(layer_norm);
VT_PASS(gelu);
VT_PASS(attention);
VT_PASS(heads);
VT_PASS(interaction);
VT_PASS(operands);
VT_PASS(fuse_bias);
VT_PASS(fuse_norm);
VT_PASS(fuse_residual);
VT_PASS(fuse_activation);
VT_PASS(channels_last);
VT_PASS(batch_split);

/* --- reading (match.c) ----------------------------------------------------------------------- */

static inline const struct vt_shape_info *vt_info_of(const struct vt_builder *builder,
                                                     uint32_t value)
{
    return &builder->values[vt_resolve(builder, value)].info;
}

/* float32, or what operators get as float32. */
bool vt_is_float(enum vt_dtype dtype);
/* All extents known and the same, and the type too. */
bool vt_same_shape(const struct vt_shape_info *a, const struct vt_shape_info *b);

/* Whether a step's output has the type and the shape of `value`, as far as they are known; the rank
 * is. */
bool vt_keeps_shape(const struct vt_builder *builder, const struct vt_step *step, uint32_t value);

/* A constant with one float. False when the value is something else. */
bool vt_constant_float(const struct vt_builder *builder, uint32_t value, float *ret);
/* A constant with one number of any floating-point type. */
bool vt_constant_number(const struct vt_builder *builder, uint32_t value, double *ret);
/* A constant list of at most VT_RANK_MAX integers. */
bool vt_constant_ints(const struct vt_builder *builder, uint32_t value, int64_t *ret, uint32_t *n);
/* A constant of n floats that does not depend on the inputs' shapes; else NULL. */
const float *vt_constant_floats(const struct vt_builder *builder, uint32_t value, int64_t n);
/* Whether they are the same number, as near as an exporter writes it. */
bool vt_is_near(double x, double wanted);

/* A step that carries out an operator of ONNX with one result, nothing fused into it yet. */
bool vt_step_is(const struct vt_step *step, const char *op);

/*
 * A pattern is matched from its last step to its first ones. `inner` collects the steps in between
 * of which nobody else sees the results; the pattern takes their place.
 */
#define VT_MATCH_STEPS 80
struct vt_match {
    const struct vt_builder *builder;
    const struct vt_program *program;
    uint32_t n;
    struct vt_step *inner[VT_MATCH_STEPS];
};
/* The plain step with that operator that makes `value` in this program and of which there are
 * exactly `uses` users (0: any number, and it stays out of `inner`). NULL when there is none. */
struct vt_step *vt_match_step(struct vt_match *match, uint32_t value, const char *op,
                              uint32_t uses);
/* Of two inputs, one that is a constant number: that, and the other one. */
bool vt_match_number(const struct vt_match *match, const struct vt_step *step, double *ret_number,
                     uint32_t *ret_other);
/* Of two inputs, one made by such a step: that, and the other input. */
struct vt_step *vt_match_either(struct vt_match *match, const struct vt_step *step, const char *op,
                                uint32_t uses, uint32_t *ret_other);
/* The axes that a reduction is over, a bit each; false when they are not known or when it does not
 * keep them as extents of 1. */
bool vt_match_axes(const struct vt_builder *builder, const struct vt_step *step,
                   uint32_t *ret_axes);
/* Whether these are all from some axis on: that. */
bool vt_match_last_axes(const struct vt_builder *builder, const struct vt_step *step,
                        uint32_t *ret_first);
/* The permutation of a Transpose of that rank: axis d of the output is axis perm[d] of the input.
 * False when the node does not hold one. */
bool vt_transpose_perm(const struct vt_node *node, uint32_t rank, int64_t *ret_perm);

/* --- changing (edit.c) ----------------------------------------------------------------------- */

/* A value that the model does not have, of that shape; its number is not below the model's count.
 */
enum vt_status vt_value_add(struct vt_builder *builder, const struct vt_shape_info *info,
                            uint32_t *ret_value);

/* A step or an output looks at the value. */
void vt_value_use(struct vt_builder *builder, uint32_t value);
/* All that use `value` use `source` from now on, which is there wherever `value` is. */
void vt_value_replace(struct vt_builder *builder, uint32_t value, uint32_t source);
/* A constant more. `tensor` (not its data) is copied; the data live as long as the plan. `pure`:
 * they do not depend on the inputs' shapes. VT_NO_VALUE when out of memory. */
uint32_t vt_value_constant(struct vt_builder *builder, const struct vt_tensor *tensor, bool pure);
/* A row of n ones; a list of integers. VT_NO_VALUE when out of memory. */
uint32_t vt_value_ones(struct vt_builder *builder, enum vt_dtype dtype, int64_t n);
uint32_t vt_value_ints(struct vt_builder *builder, const int64_t *ints, uint32_t n);

/* Turns the list of steps round. */
void vt_program_reverse(struct vt_program *program);
/* Whether some living step or output looks at an output of the step. */
bool vt_step_is_used(const struct vt_builder *builder, const struct vt_step *step);
/* The step is no longer wanted: takes back its uses, and those of everything inside it. */
void vt_step_kill(struct vt_builder *builder, struct vt_step *step);

/*
 * The step that makes `value` in this program, if nobody else looks at the value and the step's
 * operator may take in something behind it: it understands ctx->epilogue, its result is its only
 * one, float32, and no activation ends it yet. NULL otherwise.
 */
struct vt_step *vt_step_open(const struct vt_builder *builder, const struct vt_program *program,
                             uint32_t value);
/*
 * `step`, which uses the output of `inner` and nobody else does, becomes what `inner` was with its
 * own output: at its place all inputs exist. Its other inputs are used no more.
 */
void vt_step_absorb(struct vt_builder *builder, struct vt_step *step, struct vt_step *inner);

/* What a step is to be: an operator of ONNX, in its newest form, or one of plan/ops' own. */
struct vt_step_form {
    const char *domain; /* NULL: ONNX's */
    const char *op;
    const uint32_t *inputs;
    uint32_t n_inputs;
    const struct vt_attr *attrs;
    uint32_t n_attrs;
};
/*
 * Gives the step another meaning; it keeps its output. Everything is copied, but not what
 * attributes point to unless they are lists of integers. `match` may be NULL: nothing is taken in.
 */
enum vt_status vt_step_become(struct vt_builder *builder, struct vt_step *step,
                              const struct vt_step_form *form, const struct vt_match *match);
/* The same with the attributes of the step's own operator: other inputs. */
enum vt_status vt_step_reform(struct vt_builder *builder, struct vt_step *step,
                              const uint32_t *inputs, uint32_t n_inputs);
/* The step becomes a new shape, that of its output, for `source`, which has as many elements; all
 * extents are known. */
enum vt_status vt_step_view(struct vt_builder *builder, struct vt_step *step, uint32_t source);
/* The step, a Transpose of a known shape, gets this permutation; its output the shape that follows.
 */
enum vt_status vt_step_turn(struct vt_builder *builder, struct vt_step *step, const int64_t *perm);

/* What an operator on images does about their layout (image_rules.c). */
enum vt_image_wish {
    VT_IMAGE_NOT,     /* is no such operator, or stays channels first */
    VT_IMAGE_FOLLOWS, /* does what its inputs do */
    VT_IMAGE_WANTS,   /* is better channels last */
};
/* Bit i of *ret_images: input i is an image of the batch, in the layout of output 0. */
enum vt_image_wish vt_image_wish_of(const struct vt_builder *builder, const struct vt_step *step,
                                    uint32_t *ret_images);

#endif
