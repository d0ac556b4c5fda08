/* SPDX-License-Identifier: Apache-2.0 */
/* One scenario in one mode, from settings to a judged entry of the result. */
#ifndef VT_RUN_MEASURE_H
#define VT_RUN_MEASURE_H

#include "load/load.h"
#include "load/rate_search.h"
#include "mlperf/test.h"
#include "result/result.h"
#include "run/run.h"
#include "run/scenario.h"
#include "run/session.h"

struct vt_measure {
    struct vt_session *session;
    const bool *wanted; /* scenarios of the job; NULL: any */
    const struct vt_qsl *qsl;
    struct vt_probe probe;
    struct vt_load_control *control;
    const struct vt_run_events *events;
    struct vt_run_energy *energy; /* the job's meters; NULL: not open */
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

/*
 * A test of several runs as LoadGen makes it, VT_SUBMISSION or VT_FIND_PEAK, with its logs: up to
 * two entries, an accuracy one first. As above; besides, VT_ERR_WRITE when the logs cannot be
 * written, with the entries there.
 */
enum vt_status vt_measure_test(struct vt_measure *measure, enum vt_scenario scenario,
                               enum vt_mode mode, const struct vt_test_logs *logs,
                               struct vt_error *err, struct vt_result_entry ret_entries[2],
                               uint32_t *ret_n) VT_NODISCARD;
/* What the first lines say of find-peak, and how long it will probably take. */
void vt_measure_peak_plan(const struct vt_measure *measure, const struct vt_load_settings *settings,
                          char *text, size_t size, int64_t *ret_expected_ns);

/* Tells the events that meters are read from now on, or no more. */
void vt_measure_tell_meters(struct vt_measure *measure, bool open);
/* So long what the machine takes while it waits; 0: not at all. */
void vt_measure_idle(struct vt_measure *measure, int64_t ns);
/* So long load for a power analyzer to find its ranges by; then all meters are open. After the
 * probe. */
enum vt_status vt_measure_ranges(struct vt_measure *measure, int64_t ns,
                                 struct vt_error *err) VT_NODISCARD;

/* --- for the files of this room that put scenarios on ------------------------------------------
 */

void vt_measure_phase_begin(struct vt_measure *measure, const char *name, int64_t expected_ns,
                            uint64_t samples);
void vt_measure_phase_end(struct vt_measure *measure);
/* One run of load, within a phase. */
enum vt_status vt_measure_load(struct vt_measure *measure, const struct vt_load_settings *settings,
                               struct vt_error *err,
                               struct vt_load_report **ret_report) VT_NODISCARD;
/* The entry owns the report and has its verdict. */
void vt_measure_adopt(struct vt_result_entry *entry, struct vt_load_report *report);
/* The quality of the responses of an accuracy run. */
enum vt_status vt_measure_score(struct vt_measure *measure, struct vt_result_entry *entry,
                                struct vt_error *err) VT_NODISCARD;
/* What failed, what the engine did, and the rules: the last word about an entry. */
void vt_measure_finish(struct vt_measure *measure, enum vt_status status,
                       const struct vt_error *failure, struct vt_result_entry *entry);
bool vt_measure_stopped(const struct vt_measure *measure);
/* Makes the entry invalid and says why. */
void vt_measure_add_reason(struct vt_result_entry *entry, const char *text);

/* Offline with a query of the right size, which takes more than one run to find. */
enum vt_status vt_measure_offline(struct vt_measure *measure, struct vt_load_settings *settings,
                                  struct vt_error *err,
                                  struct vt_load_report **ret_report) VT_NODISCARD;

/* The search for Server's rate with these settings: trials, budget, where it starts. */
struct vt_rate_search vt_measure_rate_search(const struct vt_probe *probe,
                                             const struct vt_load_settings *settings);
/* "Server: …" for the first lines: how the rate will be searched and how long at most. */
void vt_measure_rate_plan(const struct vt_rate_search *search, char *text, size_t size);
/* Searches and confirms Server's rate, and judges the entry. */
enum vt_status vt_measure_server_rate(struct vt_measure *measure,
                                      const struct vt_load_settings *settings, struct vt_error *err,
                                      struct vt_result_entry *entry) VT_NODISCARD;

#endif
