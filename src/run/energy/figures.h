/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a sampler has read to the energy of one run.
 *
 * Threading: one thread, after the sampler has stopped.
 */
#ifndef VT_RUN_ENERGY_FIGURES_H
#define VT_RUN_ENERGY_FIGURES_H

#include "core/report.h"
#include "power/sampler.h"
#include "result/energy.h"

struct vt_energy_question {
    struct vt_sampler *sampler; /* stopped */
    struct vt_power_window window;
    const struct vt_power_window *idle; /* NULL: not measured */
    bool on_cpu;                        /* the engine computes on the processors */
};

/* The window of a run by the monotonic clock: first issue to last completion. */
struct vt_power_window vt_energy_window(const struct vt_load_report *report);

/* Which of two meters stands for a machine: by the widest scope of those domains that lie in no
 * other. 0: it measures nothing. */
int vt_energy_rank(const struct vt_sampler *sampler, uint32_t first, bool on_cpu);

/*
 * VT_ERR_MEMORY only: what could not be measured is in it with its reason. The caller frees it
 * (vt_result_energy_free).
 */
enum vt_status vt_energy_of_run(const struct vt_energy_question *question,
                                const struct vt_load_report *report, struct vt_error *err,
                                struct vt_result_energy **ret) VT_NODISCARD;

/* --- parts of it, in beside.c ---------------------------------------------------------------- */

/* What measures the same, beside each other. VT_ERR_MEMORY. */
enum vt_status vt_energy_compare_meters(struct vt_error *err,
                                        struct vt_result_energy *energy) VT_NODISCARD;
/* Temperatures, clocks, and what slowed a device, over the window. VT_ERR_MEMORY. */
enum vt_status vt_energy_add_telemetry(const struct vt_energy_question *question,
                                       struct vt_error *err,
                                       struct vt_result_energy *energy) VT_NODISCARD;

#endif
