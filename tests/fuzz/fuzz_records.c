/* SPDX-License-Identifier: Apache-2.0 */
/* Records from any bytes, and what a report makes of them. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/distribution.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vt_distribution d;
    struct vt_records records = {0};
    struct vt_error err = VT_ERROR_INIT;
    enum vt_status status = vt_records_parse(data, size, "any.vtr", &err, &records);

    require(status == err.status);
    if (status != VT_OK) {
        require(strncmp(err.text, "any.vtr:", 8) == 0 && strchr(err.text, '\n') == NULL);
        return 0;
    }
    uint64_t bars = 0, done = 0;
    vt_distribution_make(&records, &d);
    require(d.n + d.lost == records.n && d.n_bars <= VT_LATENCY_BARS);
    require(d.n_bins <= VT_RATE_BINS_MAX && (d.n == 0 || (d.min_ns >= 1 && d.min_ns <= d.max_ns)));
    for (uint32_t i = 0; i < d.n_bars; i++) {
        bars += d.bars[i];
    }
    for (uint32_t i = 0; i < d.n_bins; i++) {
        done += d.completed[i];
    }
    require(bars == d.n && done == d.n);
    const double middle = vt_distribution_percentile(&d, 0.5);
    require(middle >= (double)d.min_ns && middle <= (double)d.max_ns);
    vt_records_release(&records);
    return 0;
}
