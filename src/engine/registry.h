/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines that are there: an explicit table of the built-in ones, and modules opened by path.
 * What an engine leaves out of its seam is filled in here, so that callers need no special cases.
 */
#ifndef VT_ENGINE_REGISTRY_H
#define VT_ENGINE_REGISTRY_H

#include "vatio/engine.h"

/* The built-in engines, in the order of preference. Static storage. */
const struct vt_engine_ops *const *vt_engine_table(size_t *ret_n);

/* An engine found and checked: complete slots, the right api_version. Release it when done. */
struct vt_engine_ref {
    struct vt_engine_ops ops; /* a copy in which optional slots hold their defaults */
    void *module;             /* dlopen handle of a module, NULL when built in */
};

/*
 * `name` is a built-in name or, with a slash in it, the path of a module ("./mine.so", or
 * "./mine.so:engine" where it has several). Errors: VT_ERR_USAGE (no such engine; the nearest name
 * is proposed), VT_ERR_NOT_FOUND, VT_ERR_FORMAT (not a module, another API version, a required
 * slot that is missing: which).
 */
enum vt_status vt_engine_find(const char *name, struct vt_error *err,
                              struct vt_engine_ref *ret) VT_NODISCARD;
void vt_engine_ref_release(struct vt_engine_ref *ref); /* accepts a zeroed one */

#endif
