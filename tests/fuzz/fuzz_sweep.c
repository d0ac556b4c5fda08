/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.json from any bytes. What is accepted can be written and read again, the same. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "result/sweep.h"
#include "run/sweep/analyse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vt_sweep sweep = {0}, again = {0};
    struct vt_error err = VT_ERROR_INIT;
    char *json = NULL;

    enum vt_status status = vt_sweep_parse("any.json", (const char *)data, size, &err, &sweep);
    require(status == err.status);
    if (status != VT_OK) {
        require(strchr(err.text, '\n') == NULL && sweep.points == NULL);
        return 0;
    }
    require(vt_sweep_find_axis(&sweep, "scenario") < sweep.n_axes);
    require(vt_sweep_analyse(&sweep, &err) == VT_OK);
    require(vt_sweep_json(&sweep, &err, &json) == VT_OK);
    require(vt_sweep_parse("again.json", json, strlen(json), &err, &again) == VT_OK);
    require(again.n_points == sweep.n_points && again.n_command == sweep.n_command);
    for (uint32_t i = 0; i < sweep.n_points; i++) {
        require(again.points[i].state == sweep.points[i].state);
    }
    vt_free(json);
    vt_sweep_release(&again);
    vt_sweep_release(&sweep);
    return 0;
}
