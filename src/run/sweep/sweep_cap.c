/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_cap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "run/caps/caps.h"

enum vt_status vt_sweep_cap_open(struct vt_sweep_cap *cap, const struct vt_meter_places *places,
                                 struct vt_error *err, char *ret_note, size_t size)
{
    /* A mode that restarts the machine ends a sweep: it is not for one. */
    cap->places = vt_run_cap_places(places, false);
    enum vt_status status = vt_cap_hold_new(&cap->places, err, &cap->hold);

    if (status != VT_OK) {
        vt_error_prefix(err, "--cap");
        return status;
    }
    (void)snprintf(ret_note, size, "%s", vt_cap_hold_note(cap->hold));
    return VT_OK;
}

enum vt_status vt_sweep_cap_set(struct vt_sweep_cap *cap, const struct vt_sweep *sweep,
                                const struct vt_sweep_point *point, struct vt_error *err,
                                double *ret_enforced)
{
    uint32_t axis = vt_sweep_find_axis(sweep, "cap");
    char number[40], wish[128];
    double enforced;

    if (axis == sweep->n_axes || cap->hold == NULL) {
        *ret_enforced = (double)NAN;
        return VT_OK;
    }
    vt_format_real(sweep->axes[axis].numbers[vt_sweep_value(sweep, point->setting, axis)], number,
                   sizeof number);
    (void)snprintf(wish, sizeof wish, "%s%s%s", sweep->cap_kind,
                   sweep->cap_kind[0] != '\0' ? "=" : "", number);
    enum vt_status status = vt_cap_hold_ask(cap->hold, wish, err, &enforced);
    if (status != VT_OK) {
        return status;
    }
    *ret_enforced = enforced;
    return VT_OK;
}

enum vt_status vt_sweep_cap_release(struct vt_sweep_cap *cap, struct vt_sweep *sweep,
                                    struct vt_error *err)
{
    uint32_t n;
    size_t used;

    if (cap->hold == NULL) {
        return VT_OK;
    }
    enum vt_status status = vt_cap_hold_release(cap->hold, err);
    const struct vt_cap_held *held = vt_cap_hold_list(cap->hold, &n);
    if (n == 0) {
        return status;
    }
    used = (size_t)snprintf(sweep->caps, sizeof sweep->caps, "%s:", held[0].kind->name);
    for (uint32_t i = 0; i < n; i++) {
        char previous[40] = "what it was";
        if (isfinite(held[i].previous)) {
            vt_format_real(held[i].previous, previous, sizeof previous);
        }
        if (used < sizeof sweep->caps) {
            used += (size_t)snprintf(sweep->caps + used, sizeof sweep->caps - used,
                                     "%s %s %s to %s%s%s", i > 0 ? ";" : "", held[i].domain,
                                     held[i].restored ? "back" : "NOT back", previous,
                                     isfinite(held[i].previous) ? " " : "",
                                     isfinite(held[i].previous) ? held[i].kind->unit : "");
        }
    }
    return status;
}

void vt_sweep_cap_close(struct vt_sweep_cap *cap)
{
    vt_cap_hold_free(cap->hold);
    cap->hold = NULL;
}
