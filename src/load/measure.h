/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of a run to its figures: statistics, early stopping, metric, token latencies. */
#ifndef VT_LOAD_MEASURE_H
#define VT_LOAD_MEASURE_H

#include "core/report.h"

/*
 * Fills in the figures of the report from its settings, records and counts; what is met by them is
 * among it where it is a matter of figures alone (early stopping, the limits of latencies). Takes a
 * few MiB, however many records there are. VT_ERR_MEMORY.
 */
enum vt_status vt_measure(struct vt_load_report *report, const struct vt_load_effective *effective,
                          struct vt_error *err) VT_NODISCARD;

#endif
