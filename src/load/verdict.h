/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of a run to its statistics, its metric, and whether it is valid, and why not. */
#ifndef VT_LOAD_VERDICT_H
#define VT_LOAD_VERDICT_H

#include "core/report.h"
#include "load/issuer.h"
#include "load/settings.h"

/*
 * Fills in all that follows from settings, records and counts, which the report holds already.
 * `end` is how the run ended. VT_ERR_MEMORY.
 */
enum vt_status vt_verdict_reach(struct vt_load_report *report,
                                const struct vt_load_effective *effective, enum vt_run_end end,
                                struct vt_error *err) VT_NODISCARD;

#endif
