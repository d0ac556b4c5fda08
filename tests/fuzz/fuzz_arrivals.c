/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of arrivals from any bytes. What is accepted begins at 0 and ascends. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "run/arrivals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vt_arrival_trace trace = {0};
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status =
        vt_arrival_trace_parse((const char *)data, size, "any.csv", &err, &trace);
    require(status == err.status);
    if (status != VT_OK) {
        require(strncmp(err.text, "any.csv:", 8) == 0 && strchr(err.text, '\n') == NULL);
        require(trace.ns == NULL);
        return 0;
    }
    require(trace.n > 0 && trace.n <= size && trace.ns[0] == 0);
    for (uint64_t i = 1; i < trace.n; i++) {
        require(trace.ns[i] >= trace.ns[i - 1] && trace.ns[i] <= VT_ARRIVALS_NS_MAX);
    }
    vt_arrival_trace_release(&trace);
    return 0;
}
