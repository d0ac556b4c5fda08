/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load generator: puts queries on a system under test as a scenario demands, records every
 * sample, and judges the run by the MLPerf Inference rules.
 *
 * Sample selection and schedule are those of MLPerf LoadGen 6.0.17 bit for bit (see rng.h and
 * selection.h). One call of vt_load_run is one phase: one scenario, performance or accuracy.
 *
 *   scenario      issue                                   metric
 *   Offline       all samples at once                     samples/s
 *   Server        Poisson arrivals at target_qps          completed queries/s, latency bound
 *   SingleStream  next when the one before is done        p90 latency
 *   MultiStream   the same with samples_per_query         p99 query latency
 *
 * Threading: one run at a time for a sut. vt_load_run blocks; `stop` and the counters of the
 * control work from other threads. With server_num_issue_query_threads above 1, Server issues from
 * that many threads of load's own; thread t issues the queries t, t + n, t + 2n, …
 */
#ifndef VT_LOAD_LOAD_H
#define VT_LOAD_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/query.h"
#include "core/report.h"
#include "load/rng.h"

/*
 * What goes on over the phases of one test (SubmissionRun's two, the steps of find-peak): sequence
 * numbers, and the random stream that samples responses for the accuracy log. Zeroed before the
 * first phase; belongs to vt_load_run while one is on.
 */
struct vt_load_carry {
    uint64_t samples, queries; /* that LoadGen would have generated in the phases so far */
    bool seeded;
    struct vt_mt19937 accuracy_log_rng;
};

struct vt_watched;

/* What a caller may watch and do while a run is on. Zeroed before use. */
struct vt_load_control {
    const struct vt_clock *clock; /* NULL: the machine's */
    _Atomic bool stop;            /* set it (also from a signal handler) to end the run early */
    _Atomic uint64_t issued;      /* samples */
    _Atomic uint64_t completed;   /* samples */
    _Atomic int64_t started_ns;   /* 0 before the first issue */
    struct vt_load_carry *carry;  /* NULL: this run is a test of its own */
    /* For vt_load_latency_so_far. */
    _Atomic(const struct vt_watched *) watched;
    _Atomic uint32_t watchers;
};

/* MLPerf LoadGen's defaults (min duration 10 s, 100 queries, seeds 0, …); time-out 10 s. */
void vt_load_settings_default(struct vt_load_settings *settings);

/*
 * Runs. VT_OK means that there is a report, be the run valid or not; lost or doubled completions,
 * a reached limit and an interrupt are in it. Errors: VT_ERR_USAGE (settings, with the field),
 * VT_ERR_MEMORY, and whatever qsl.load, sut.start or sut.issue returned.
 * `control` may be NULL.
 */
enum vt_status vt_load_run(const struct vt_load_settings *settings, const struct vt_sut *sut,
                           const struct vt_qsl *qsl, struct vt_load_control *control,
                           struct vt_error *err, struct vt_load_report **ret_report) VT_NODISCARD;
void vt_load_report_free(struct vt_load_report *report); /* accepts NULL */

/*
 * A percentile of the latencies of the queries that are complete in the run that is on, from some
 * thousand of them, for a display; -1 where there is none: no run, nothing complete, or Offline,
 * where a latency says nothing. Any thread; takes about a millisecond of its time and none of the
 * run's.
 */
VT_API int64_t vt_load_latency_so_far(struct vt_load_control *control, double fraction);

#endif
