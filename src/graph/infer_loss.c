/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of the losses: scores [N, C, d…] against classes [N, d…], with a weight for each class.
 */
#include <string.h>

#include "graph/infer.h"

/* Scores and classes fit together, and the weights the classes. */
static enum vt_status check_classes(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *classes = vt_infer_input(infer, 1);
    const struct vt_shape_info *weights = vt_infer_input(infer, 2);

    enum vt_status status = vt_infer_types(infer, 0, VT_TYPES_FLOAT);
    if (status == VT_OK) {
        status = vt_infer_types(infer, 1, VT_TYPES_INDEX);
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 2, 1);
    }
    if (status != VT_OK || !vt_infer_ranked(x)) {
        return status;
    }
    if (x->rank < 2) {
        return vt_infer_fail(infer, VT_ERR_FORMAT,
                             "its scores have %u dimensions: batch and classes are needed",
                             x->rank);
    }
    if (vt_infer_ranked(weights)) {
        status = vt_infer_same_extent(infer, vt_extent_get(weights, 0), vt_extent_get(x, 1),
                                      "the weights and the classes");
    }
    if (status == VT_OK) {
        status = vt_infer_rank(infer, 1, x->rank - 1);
    }
    for (uint32_t d = 0; status == VT_OK && vt_infer_ranked(classes) && d < classes->rank; d++) {
        status = vt_infer_same_extent(infer, vt_extent_get(classes, d),
                                      vt_extent_get(x, d == 0 ? 0 : d + 1),
                                      "the extents of scores and classes");
    }
    return status;
}

enum vt_status vt_infer_loss(const struct vt_infer *infer)
{
    const struct vt_shape_info *x = vt_infer_input(infer, 0), *classes = vt_infer_input(infer, 1);
    const char *reduction = vt_node_string(infer->node, "reduction", "mean");

    enum vt_status status = check_classes(infer);
    if (status != VT_OK) {
        return status;
    }
    vt_infer_copy(infer, 1, x); /* the logarithms of the probabilities */
    if (strcmp(reduction, "none") == 0) {
        vt_infer_copy(infer, 0, classes);
        vt_infer_output(infer, 0)->dtype = x->dtype;
        return VT_OK;
    }
    if (strcmp(reduction, "sum") != 0 && strcmp(reduction, "mean") != 0) {
        return vt_infer_fail(infer, VT_ERR_FORMAT, "its reduction must be none, sum or mean");
    }
    return vt_infer_set(infer, 0, x->dtype, 0);
}
