/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_knee.h"

#include <math.h>

#include "result/result.h"

#define FLAT_IN_A_ROW 2

bool vt_sweep_beyond_knee(const struct vt_sweep *sweep, const struct vt_sweep_point *point,
                          uint32_t axis, char *ret_reason, size_t size)
{
    uint32_t line[VT_SWEEP_VALUES_MAX];
    uint32_t at = vt_sweep_value(sweep, point->setting, axis);
    double best = 0;
    uint32_t flat = 0, best_at = 0;

    (void)vt_sweep_line(sweep, point->setting, axis, line);
    for (uint32_t i = 0; i < at && flat < FLAT_IN_A_ROW; i++) {
        const struct vt_sweep_point *before = &sweep->points[line[i]]; /* of the first repeat */
        double rate = before->measured.samples_per_second;
        if (before->state != VT_SWEEP_DONE || !isfinite(rate)) {
            continue;
        }
        flat = best > 0 && rate < best * (1 + sweep->knee_tolerance) ? flat + 1 : 0;
        if (rate > best) {
            best = rate;
            best_at = i;
        }
    }
    if (flat < FLAT_IN_A_ROW) {
        return false;
    }
    char batch[32], rate[32], percent[32];
    (void)snprintf(ret_reason, size,
                   "beyond the knee: two sizes in a row did not raise the throughput by %s %%, the "
                   "best is %s samples/s at batch %s (--until-knee)",
                   vt_number_text(sweep->knee_tolerance * 100, percent, sizeof percent),
                   vt_number_text(best, rate, sizeof rate),
                   vt_sweep_value_text(&sweep->axes[axis], best_at, batch, sizeof batch));
    return true;
}
