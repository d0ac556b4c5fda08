/* SPDX-License-Identifier: Apache-2.0 */
/* What a job's meters need before the first run: idleness, and ranges for a power analyzer. */
#include "run/measure/measure.h"

void vt_measure_tell_meters(struct vt_measure *measure, bool open)
{
    const struct vt_run_events *events = measure->events;

    if (events->meters != NULL && (!open || vt_run_energy_works(measure->energy))) {
        events->meters(events->ctx, open ? measure->energy : NULL);
    }
}

void vt_measure_idle(struct vt_measure *measure, int64_t ns)
{
    if (ns > 0 && vt_run_energy_works(measure->energy)) {
        vt_measure_phase_begin(measure, "idle", ns, 0);
        vt_run_energy_idle(measure->energy, ns, &measure->control->stop);
        vt_measure_phase_end(measure);
    }
}

enum vt_status vt_measure_ranges(struct vt_measure *measure, int64_t ns, struct vt_error *err)
{
    struct vt_load_settings settings;
    struct vt_load_report *report = NULL;

    vt_measure_tell_meters(measure, false);
    /* As much load as there can be. */
    vt_scenario_settings(measure->session, &measure->probe, VT_OFFLINE, VT_PERFORMANCE, &settings);
    settings.min_duration_ns = ns;
    settings.min_query_count = 1;
    settings.use_token_latencies = false;
    vt_measure_phase_begin(measure, "ranging the analyzer", ns, 0);
    enum vt_status status = vt_measure_offline(measure, &settings, err, &report);
    if (status == VT_OK) {
        vt_load_report_free(report);
        status = vt_run_energy_range(measure->energy, &measure->control->stop, err);
    }
    vt_measure_phase_end(measure);
    if (status == VT_OK) {
        vt_measure_tell_meters(measure, true);
    }
    return status;
}
