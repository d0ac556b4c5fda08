/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes: each turns a program into one that computes the same with less to do. One pass, one
 * file; passes.c has the list of all in their order.
 *
 * A pass sees one program at a time, its list of steps: bodies of If and Loop come before the
 * program around them. What it can rely on, and has to leave behind:
 *
 * - `uses` of every value is exact: inputs of living steps in all programs, and outputs of these.
 * - step->position ascends in the order of execution within a program.
 * - A step that is no longer wanted is marked `dead` (and its uses are taken back); the runner
 *   unlinks it. A pass gives a step that is there another meaning; only channels_last.c, the last
 *   one, links in new ones.
 * - A value that stands for another one is `renamed`; until the pass ends steps may still name the
 *   old one, so inputs are read through vt_resolve.
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

/* The list of all, in order. */
const struct vt_pass *vt_pass_table(size_t *ret_n);

/* --- one a file -------------------------------------------------------------------------------
 */

#define VT_PASS(name)                                                                              \
    enum vt_status vt_pass_##name(struct vt_builder *builder, struct vt_program *program,          \
                                  uint32_t *changes)
VT_PASS(dead_code);
VT_PASS(fuse_norm);
VT_PASS(fuse_residual);
VT_PASS(fuse_activation);
VT_PASS(channels_last);
VT_PASS(batch_split);

/* --- what they share (edit.c) -------------------------------------------------------------------
 */

/* A value that the model does not have, of that shape; its number is not below the model's count.
 */
enum vt_status vt_value_add(struct vt_builder *builder, const struct vt_shape_info *info,
                            uint32_t *ret_value);

/* A step or an output looks at the value. */
void vt_value_use(struct vt_builder *builder, uint32_t value);

/* The step is no longer wanted: takes back its uses, and those of everything inside it. */
void vt_step_kill(struct vt_builder *builder, struct vt_step *step);

/* Whether some living step or output looks at an output of the step. */
bool vt_step_is_used(const struct vt_builder *builder, const struct vt_step *step);

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

/* What an operator on images does about their layout (image_rules.c). */
enum vt_image_wish {
    VT_IMAGE_NOT,     /* is no such operator, or stays channels first */
    VT_IMAGE_FOLLOWS, /* does what its inputs do */
    VT_IMAGE_WANTS,   /* is better channels last */
};
/* Bit i of *ret_images: input i is an image of the batch, in the layout of output 0. */
enum vt_image_wish vt_image_wish_of(const struct vt_builder *builder, const struct vt_step *step,
                                    uint32_t *ret_images);

/* A constant with one float. False when the value is something else. */
bool vt_constant_float(const struct vt_builder *builder, uint32_t value, float *ret);
/* A constant of n floats that does not depend on the inputs' shapes; else NULL. */
const float *vt_constant_floats(const struct vt_builder *builder, uint32_t value, int64_t n);

#endif
