/* SPDX-License-Identifier: Apache-2.0 */
/* A model, by name or path, opened to be looked at. */
#ifndef VT_RUN_INSPECT_H
#define VT_RUN_INSPECT_H

#include "base/options.h"
#include "graph/inspect.h"

struct vt_inspection;

/* Errors are those of model names, of --shape and of the importer. */
VT_API enum vt_status vt_inspection_new(const char *model, const struct vt_text_list *shapes,
                                        struct vt_error *err,
                                        struct vt_inspection **ret_inspection) VT_NODISCARD;
VT_API void vt_inspection_free(struct vt_inspection *inspection); /* accepts NULL */
/* Owned by the inspection. */
VT_API const struct vt_model_summary *vt_inspection_summary(const struct vt_inspection *inspection);

#endif
