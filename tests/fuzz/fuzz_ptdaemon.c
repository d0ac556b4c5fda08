/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a PTDaemon from any bytes. What is accepted is finite and within bounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "power/ptdaemon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = vt_strndup((const char *)data, size);
    struct vt_ptd_sample sample;
    struct vt_ptd_ranges ranges;
    double mean;
    uint32_t n;

    if (line == NULL) {
        return 0;
    }
    if (vt_ptd_sample_parse(line, &sample) &&
        !(isfinite(sample.watts) && !isinf(sample.volts) && !isinf(sample.amps) &&
          !isinf(sample.power_factor) && sample.unix_ns >= 0)) {
        abort();
    }
    if (vt_ptd_ranges_parse(line, &ranges) &&
        !(abs(ranges.amp_auto) <= 1 && abs(ranges.volt_auto) <= 1 && isfinite(ranges.amps) &&
          isfinite(ranges.volts))) {
        abort();
    }
    if (vt_ptd_uncertainty_parse(line, &mean) && !isfinite(mean)) {
        abort();
    }
    if (vt_ptd_count_parse(line, &n) && n > 500000) {
        abort();
    }
    vt_free(line);
    return 0;
}
