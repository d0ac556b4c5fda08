/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `vatio meters`: which meters measure here, and what they read.
 *
 * Threading: one thread; it blocks for as long as is read.
 */
#ifndef VT_RUN_METERS_H
#define VT_RUN_METERS_H

#include "base/options.h"
#include "result/meters.h"
#include "run/energy/places.h"

struct vt_meters_job {
    int64_t for_ns;
    struct vt_meter_places places;
    bool json;
};

/* Static storage. */
VT_API const struct vt_option_table *vt_meters_options(void);

/*
 * Looks at the meters of these names, at all when there are none, and reads what is available for
 * the time of the job. A meter that cannot measure is no error, its entry says why. VT_ERR_USAGE
 * for an unknown name; VT_ERR_MEMORY. The caller releases the report.
 */
VT_API enum vt_status vt_meters_run(const struct vt_meters_job *job, const char *const *names,
                                    size_t n_names, struct vt_error *err,
                                    struct vt_meters_report *ret_report) VT_NODISCARD;
VT_API void vt_meters_report_release(struct vt_meters_report *report); /* accepts a zeroed one */

#endif
