/* SPDX-License-Identifier: Apache-2.0 */
/* One scenario in one mode, from settings to a judged entry of the result. */
#ifndef VT_RUN_MEASURE_H
#define VT_RUN_MEASURE_H

#include "load/load.h"
#include "result/result.h"
#include "run/run.h"
#include "run/scenario.h"
#include "run/session.h"

struct vt_measure {
    struct vt_session *session;
    const struct vt_qsl *qsl;
    struct vt_probe probe;
    struct vt_load_control *control;
    const struct vt_run_events *events;
};

/*
 * Warms up, and measures a single sample and full batches for a moment. VT_ERR_INTERRUPTED when
 * control->stop came; other errors mean that the model cannot be run here.
 */
enum vt_status vt_measure_probe(struct vt_measure *measure, struct vt_error *err) VT_NODISCARD;

/*
 * Fills *ret_entry, also when the run fails (then with its failure). Only VT_ERR_MEMORY and
 * VT_ERR_INTERRUPTED before anything was issued leave no entry behind.
 */
enum vt_status vt_measure_scenario(struct vt_measure *measure, enum vt_scenario scenario,
                                   enum vt_mode mode, struct vt_error *err,
                                   struct vt_result_entry *ret_entry) VT_NODISCARD;

#endif
