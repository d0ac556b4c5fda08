/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an ONNX model: import, then everything that can be asked of a model without running
 * it. The limits keep an input from being slow rather than wrong.
 */
#include "graph/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct vt_import_limits limits = {
        .max_nodes = 4096,
        .max_values = 8192,
        .max_metadata_bytes = (size_t)64 << 20,
    };
    const struct vt_shape_binding binding = {"N", 1, {3}};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_summary summary;
    struct vt_model *model = NULL;

    if (vt_model_import_memory("fuzz", data, size, &limits, &err, &model) != VT_OK) {
        return 0;
    }
    if (vt_model_inspect(model, NULL, 0, &err, &summary) == VT_OK) {
        vt_model_summary_release(&summary);
    }
    err = (struct vt_error)VT_ERROR_INIT;
    if (vt_model_inspect(model, &binding, 1, &err, &summary) == VT_OK) {
        vt_model_summary_release(&summary);
    }
    vt_model_free(model);
    return 0;
}
