/* SPDX-License-Identifier: Apache-2.0 */
#include "run/measure/measure.h"

/* A query that turned out too small is repeated so many times at most. */
#define AGAIN 3

/*
 * Offline asks for as many samples as fill the duration at the expected rate. The rate of single
 * requests says little about that of a whole machine, so a short run comes first; and where the
 * system turns out faster than even that, the run is repeated with what is known by then.
 */
enum vt_status vt_measure_offline(struct vt_measure *measure, struct vt_load_settings *settings,
                                  struct vt_error *err, struct vt_load_report **ret_report)
{
    struct vt_load_settings trial = *settings;
    struct vt_load_report *report;

    if (vt_scenario_offline_rate_given(measure->session)) {
        return vt_measure_load(measure, settings, err, ret_report);
    }
    trial.min_duration_ns = settings->min_duration_ns / 10;
    trial.min_query_count = 1;
    enum vt_status status = vt_measure_load(measure, &trial, err, &report);
    for (int again = 0; status == VT_OK; again++) {
        bool enough = again > 0 && (report->min_duration_met || again >= AGAIN);
        if (enough || report->interrupted || report->capped || report->metric.value <= 0 ||
            report->samples_completed < report->samples_issued) {
            *ret_report = report;
            return VT_OK;
        }
        settings->offline_expected_qps = report->metric.value * (again > 0 ? 1.2 : 1.0);
        vt_load_report_free(report);
        status = vt_measure_load(measure, settings, err, &report);
    }
    return status;
}
