/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the analysis among themselves. */
#ifndef VT_RUN_SWEEP_ANALYSE_FINDINGS_H
#define VT_RUN_SWEEP_ANALYSE_FINDINGS_H

#include "run/sweep/analyse.h"

enum vt_sweep_quantity {
    VT_SWEEP_THROUGHPUT,
    VT_SWEEP_LATENCY,
    VT_SWEEP_JOULES,
    VT_SWEEP_EFFICIENCY,
    VT_SWEEP_WATTS,
};

/* What a setting's repeats gave, NAN where it was not measured. Returns how many were done. */
uint32_t vt_sweep_values(const struct vt_sweep *sweep, uint32_t setting,
                         enum vt_sweep_quantity quantity, double ret[VT_SWEEP_REPEATS_MAX]);
/* The meter's relative uncertainty of a setting's energy; 0: unknown. */
double vt_sweep_meter_share(const struct vt_sweep *sweep, uint32_t setting);

/* A statement without figures; text in printf's words. NULL: no more room. */
struct vt_sweep_statement *vt_sweep_state(struct vt_sweep_analysis *analysis, const char *name,
                                          enum vt_sweep_holds holds, const char *fmt, ...)
    VT_PRINTF(4, 5);
void vt_sweep_add_text(struct vt_sweep_statement *statement, const char *fmt, ...) VT_PRINTF(2, 3);
void vt_sweep_add_figure(struct vt_sweep_statement *statement, const char *name, double value);

/* Adds the statements about the study's findings, and about what could not be measured. */
void vt_sweep_find(struct vt_sweep *sweep);
/* Chooses the recommended point and says why, or why there is none. */
void vt_sweep_recommend(struct vt_sweep *sweep);

#endif
