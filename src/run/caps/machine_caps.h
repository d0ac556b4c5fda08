/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `vatio caps`: what can be capped here, and what processes that died have left.
 *
 * Threading: one thread.
 */
#ifndef VT_RUN_CAPS_MACHINE_CAPS_H
#define VT_RUN_CAPS_MACHINE_CAPS_H

#include "base/options.h"
#include "result/caps.h"
#include "run/energy/places.h"

struct vt_caps_job {
    struct vt_meter_places places;
    bool allow_reboot, json;
};

/* Static storage. */
VT_API const struct vt_option_table *vt_caps_options(void);

/* Lists kinds, domains and records; sets nothing. VT_ERR_READ when the folder of records cannot be
 * trusted; VT_ERR_MEMORY. The caller releases the report. */
VT_API enum vt_status vt_caps_look(const struct vt_caps_job *job, struct vt_error *err,
                                   struct vt_caps_report *ret_report) VT_NODISCARD;
/* Puts back what dead processes left. As above; a record that could not be put back is told in the
 * report. */
VT_API enum vt_status vt_caps_restore(const struct vt_caps_job *job, struct vt_error *err,
                                      struct vt_caps_report *ret_report) VT_NODISCARD;
/* Whether a record of the report could not be put back. */
VT_API bool vt_caps_report_failed(const struct vt_caps_report *report);
VT_API void vt_caps_report_release(struct vt_caps_report *report); /* accepts a zeroed one */

#endif
