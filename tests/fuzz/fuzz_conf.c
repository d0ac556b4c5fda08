/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files from any bytes. What is accepted leaves settings in range; a failure leaves
 * them as they were; every message is one line that names the file.
 */
#include <stdlib.h>
#include <string.h>

#include "load/load.h"
#include "load/setting_table.h"
#include "mlperf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void on_warning(void *ctx, const char *text)
{
    unsigned *n = ctx;
    require(strncmp(text, "any.conf:", 9) == 0 && strchr(text, '\n') == NULL);
    *n += 1;
}

static void apply(const char *text, size_t size, enum vt_conf_kind kind, enum vt_scenario scenario,
                  const char *model)
{
    struct vt_load_settings settings, before;
    struct vt_error err = VT_ERROR_INIT;
    unsigned n_warnings = 0;
    struct vt_conf_warnings warnings = {on_warning, &n_warnings};
    vt_load_settings_default(&settings);
    settings.scenario = scenario;
    before = settings;
    enum vt_status status =
        vt_conf_apply_text(&settings, kind, text, size, "any.conf", model, &warnings, &err);
    require(status == err.status);
    require(n_warnings <= VT_CONF_WARNINGS_MAX + 1);
    if (status == VT_OK) {
        require(vt_load_settings_check(&settings, &err) == VT_OK);
    } else {
        require(memcmp(&settings, &before, sizeof settings) == 0);
        require(strncmp(err.text, "any.conf:", 9) == 0 && strchr(err.text, '\n') == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    apply(text, size, VT_CONF_MLPERF, VT_SERVER, "llama2-70b");
    apply(text, size, VT_CONF_USER, VT_OFFLINE, "resnet50");
    apply(text, size, VT_CONF_AUDIT, VT_MULTISTREAM, NULL);
    return 0;
}
