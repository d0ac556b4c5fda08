/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes: the settings that ask for windows, and what the model then gets. */
#include <string.h>

#include "engine/native/native.h"
#include "engine/settings.h"

enum vt_status vt_native_windows_settings(const struct vt_engine_config *config,
                                          struct vt_error *err, struct vt_windows *ret_windows)
{
    static const char *const needing[] = {"overlap", "blend", "window-batch"};
    static const char *const blends[] = {"constant", "gaussian"};
    struct vt_windows windows = {.axes = 0};
    int64_t batch = 0;
    size_t blend = 0;
    const char *text = vt_engine_setting_text(config, "window", NULL);
    if (text == NULL) {
        for (size_t i = 0; i < sizeof(needing) / sizeof(needing[0]); i++) {
            if (vt_engine_setting_text(config, needing[i], NULL) != NULL) {
                return vt_error_set(err, VT_ERR_USAGE,
                                    "setting '%s' is about windows: say their extents too, "
                                    "window=128x128x128",
                                    needing[i]);
            }
        }
        *ret_windows = windows;
        return VT_OK;
    }
    enum vt_status status = vt_windows_read(text, err, &windows);
    if (status == VT_OK) {
        status = vt_engine_setting_real(config, "overlap", 0.5, 0, 1, err, &windows.overlap);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_choice(config, "blend", blends, 2, 1, err, &blend);
    }
    if (status == VT_OK) {
        status =
            vt_engine_setting_int(config, "window-batch", 0, 0, VT_WINDOWS_BATCH_MAX, err, &batch);
    }
    if (status == VT_OK) {
        windows.blend = blend == 1 ? VT_BLEND_GAUSSIAN : VT_BLEND_CONSTANT;
        windows.batch = (uint32_t)batch;
        *ret_windows = windows;
    }
    return status;
}

bool vt_native_inputs(const struct vt_native_engine *engine, uint32_t graph, int64_t batch,
                      struct vt_tensor *ret_inputs)
{
    const struct vt_signature *signature = &engine->models.items[graph].signature;
    const struct vt_windows *windows = &engine->windows;
    if (windows->axes == 0) {
        return vt_engine_batch_of(signature, batch, ret_inputs);
    }
    struct vt_port port = signature->inputs[0];
    memcpy(&port.dim[2], windows->dim, windows->axes * sizeof(port.dim[0]));
    const struct vt_signature of_windows = {.inputs = &port, .n_inputs = 1};
    return vt_engine_batch_of(&of_windows, batch, ret_inputs);
}
