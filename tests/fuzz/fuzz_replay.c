/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of power from any bytes. What is accepted ascends and is finite. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "power/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vt_replay_curve curve = {0};
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status = vt_replay_parse((const char *)data, size, "any.csv", &err, &curve);

    require(status == err.status);
    if (status != VT_OK) {
        require(strncmp(err.text, "any.csv:", 8) == 0 && strchr(err.text, '\n') == NULL);
        require(curve.seconds == NULL && curve.n == 0);
        return 0;
    }
    require(curve.n >= 2 && curve.n <= size && curve.seconds[0] == 0);
    for (size_t i = 0; i < curve.n; i++) {
        require(curve.watts[i] >= 0 && curve.watts[i] <= VT_REPLAY_WATTS_MAX);
        require(i == 0 || curve.seconds[i] > curve.seconds[i - 1]);
        require(isfinite(curve.seconds[i]) && curve.seconds[i] <= VT_REPLAY_SECONDS_MAX);
    }
    vt_replay_release(&curve);
    return 0;
}
