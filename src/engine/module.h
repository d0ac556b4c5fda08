/* SPDX-License-Identifier: Apache-2.0 */
/* Engines from shared objects. */
#ifndef VT_ENGINE_MODULE_H
#define VT_ENGINE_MODULE_H

#include "vatio/engine.h"

/*
 * Opens the module `path` ("./mine.so" or "./mine.so:engine") and finds its engine; without a name
 * the module must hold exactly one. Errors: VT_ERR_NOT_FOUND, VT_ERR_FORMAT, VT_ERR_USAGE (no such
 * engine in it). On success the caller closes *ret_handle by vt_module_close, when nothing of
 * *ret_ops is used any more.
 */
enum vt_status vt_module_open(const char *path, struct vt_error *err,
                              const struct vt_engine_ops **ret_ops, void **ret_handle) VT_NODISCARD;
void vt_module_close(void *handle); /* accepts NULL */

#endif
