/* SPDX-License-Identifier: Apache-2.0 */
/* A model, by name or path, opened to be looked at. */
#ifndef VT_RUN_INSPECT_H
#define VT_RUN_INSPECT_H

#include "base/options.h"
#include "graph/inspect.h"
#include "plan/plan.h"

struct vt_inspection;

/* Errors are those of model names, of --shape and of the importer. */
VT_API enum vt_status vt_inspection_new(const char *model, const struct vt_text_list *shapes,
                                        struct vt_error *err,
                                        struct vt_inspection **ret_inspection) VT_NODISCARD;
VT_API void vt_inspection_free(struct vt_inspection *inspection); /* accepts NULL */
/* Owned by the inspection. */
VT_API const struct vt_model_summary *vt_inspection_summary(const struct vt_inspection *inspection);

/* What the native engine's passes did to the model, for inputs as bound and a batch of 1. */
struct vt_inspected_passes {
    struct vt_pass_report *reports; /* in the order in which they were applied */
    uint32_t n_reports;
    struct vt_operator_count *operators; /* of the steps that are left to run, as in the summary */
    uint32_t n_operators, n_steps;
    struct vt_plan *plan;
    struct vt_weights *weights;
};
/* Errors: those of planning, and VT_ERR_USAGE where an extent is open that only --shape can tell.
 * Owned by the caller; names are valid while the inspection is. */
VT_API enum vt_status vt_inspection_passes(const struct vt_inspection *inspection,
                                           struct vt_error *err,
                                           struct vt_inspected_passes **ret_passes) VT_NODISCARD;
VT_API void vt_inspected_passes_free(struct vt_inspected_passes *passes); /* accepts NULL */

/* The same of a model that is open already. */
enum vt_status vt_inspected_passes_new(const struct vt_model *model,
                                       const struct vt_signature *signature, struct vt_error *err,
                                       struct vt_inspected_passes **ret_passes) VT_NODISCARD;

#endif
