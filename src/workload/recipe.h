/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recipe for a model's images as text: what the command line says, else what a file beside the
 * model says, key by key.
 *
 * The file of DIR/NAME.onnx is DIR/NAME.vatio, or DIR/NAME.onnx.vatio. It has `key = value` lines
 * with the names of the options as keys (mean, label-offset, …); empty lines and those that begin
 * with '#' or ';' are left out. An unknown key is an error.
 */
#ifndef VT_WORKLOAD_RECIPE_H
#define VT_WORKLOAD_RECIPE_H

#include "base/alloc.h"
#include "core/workload.h"

/* X(NAME, member of vt_workload_config, key) */
#define VT_RECIPE_MAP(X)                                                                           \
    X(PREPROCESS, preprocess, "preprocess")                                                        \
    X(MEAN, mean, "mean")                                                                          \
    X(STD, std, "std")                                                                             \
    X(SCALE, scale, "scale")                                                                       \
    X(CHANNELS, channels, "channels")                                                              \
    X(RESIZE, resize, "resize")                                                                    \
    X(CROP, crop, "crop")                                                                          \
    X(LABEL_OFFSET, label_offset, "label-offset")

enum vt_recipe_key {
#define VT_RECIPE_ENUM(name, member, key) VT_RECIPE_##name,
    VT_RECIPE_MAP(VT_RECIPE_ENUM)
#undef VT_RECIPE_ENUM
        VT_RECIPE_KEYS
};

struct vt_recipe_entry {
    const char *value; /* NULL: not said */
    const char *from;  /* for messages: "--mean", "resnet50.vatio:3: mean" */
};

/* Owned by the caller, who releases it. */
struct vt_recipe {
    struct vt_arena arena;
    struct vt_recipe_entry entry[VT_RECIPE_KEYS];
};

/* VT_ERR_FORMAT with file:line, VT_ERR_READ, VT_ERR_MEMORY. */
enum vt_status vt_recipe_open(const struct vt_workload_config *config, struct vt_error *err,
                              struct vt_recipe *ret) VT_NODISCARD;
void vt_recipe_release(struct vt_recipe *recipe);
/* The file's text into `recipe`, whose arena is ready. */
enum vt_status vt_recipe_parse(struct vt_recipe *recipe, const char *name, const char *text,
                               size_t size, struct vt_error *err) VT_NODISCARD;

#endif
