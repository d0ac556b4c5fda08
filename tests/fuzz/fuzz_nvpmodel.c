/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of nvpmodel from any bytes. What is accepted has modes that can be told apart. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "power/cap/nvpmodel_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vt_nvpmodel_conf conf;
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status = vt_nvpmodel_parse((const char *)data, size, "any", &err, &conf);

    require(status == err.status);
    if (status != VT_OK) {
        require(strncmp(err.text, "any:", 4) == 0 && strchr(err.text, '\n') == NULL);
        return 0;
    }
    require(conf.n >= 1 && conf.n <= VT_NVPMODEL_MODES_MAX);
    require(vt_nvpmodel_find(&conf, conf.standard) != NULL);
    for (uint32_t i = 0; i < conf.n; i++) {
        require(conf.modes[i].id >= 0 && conf.modes[i].id <= VT_NVPMODEL_ID_MAX);
        require(conf.modes[i].name[0] != '\0');
        require(vt_nvpmodel_find(&conf, conf.modes[i].id) == &conf.modes[i]);
    }
    return 0;
}
