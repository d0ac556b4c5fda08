/* SPDX-License-Identifier: Apache-2.0 */
#include "run/inspect.h"

#include "base/alloc.h"
#include "run/model_source.h"

struct vt_inspection {
    struct vt_shape_list shapes;
    struct vt_model_source source;
    struct vt_model *model;
    struct vt_model_summary summary;
};

enum vt_status vt_inspection_new(const char *model, const struct vt_text_list *shapes,
                                 struct vt_error *err, struct vt_inspection **ret_inspection)
{
    struct vt_inspection *inspection = vt_calloc(1, sizeof *inspection);

    if (inspection == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    enum vt_status status = vt_shape_list_init(&inspection->shapes, shapes, err);
    if (status == VT_OK) {
        status = vt_model_source_find(model, err, &inspection->source);
    }
    if (status == VT_OK) {
        status = vt_model_source_import(&inspection->source, err, &inspection->model);
    }
    if (status == VT_OK) {
        status = vt_model_inspect(inspection->model, inspection->shapes.items, inspection->shapes.n,
                                  err, &inspection->summary);
    }
    if (status != VT_OK) {
        vt_inspection_free(inspection);
        return status;
    }
    *ret_inspection = inspection;
    return VT_OK;
}

void vt_inspection_free(struct vt_inspection *inspection)
{
    if (inspection == NULL) {
        return;
    }
    vt_model_summary_release(&inspection->summary);
    vt_model_free(inspection->model);
    vt_model_source_release(&inspection->source);
    vt_shape_list_release(&inspection->shapes);
    vt_free(inspection);
}

const struct vt_model_summary *vt_inspection_summary(const struct vt_inspection *inspection)
{
    return &inspection->summary;
}

enum vt_status vt_inspection_passes(const struct vt_inspection *inspection, struct vt_error *err,
                                    struct vt_inspected_passes **ret_passes)
{
    return vt_inspected_passes_new(inspection->model, &inspection->summary.signature, err,
                                   ret_passes);
}
