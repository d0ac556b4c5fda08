/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One test as MLPerf's StartTest runs it: settings as requested, the phases of the mode, the log
 * files.
 *
 *   PerformanceOnly, AccuracyOnly   one phase
 *   SubmissionRun                   accuracy, then performance
 *   FindPeakPerformance             Server at server_target_qps; widened while the constraint
 *                                   holds, then bisected; the result is of the highest rate that
 *                                   held
 *
 * test05 makes a performance run with the seeds of that compliance test of any of them.
 */
#ifndef VT_MLPERF_TEST_H
#define VT_MLPERF_TEST_H

#include "load/load.h"
#include "mlperf/log.h"

/* Find-peak gives up widening after so many steps (LoadGen never does). */
#define VT_PEAK_WIDENINGS_MAX 40

struct vt_test_result {
    struct vt_load_settings requested;
    struct vt_load_report *performance; /* owned; NULL in AccuracyOnly, and where the test was
                                           stopped before; find-peak: the best run, the first one
                                           where none held */
    struct vt_load_report *accuracy;    /* owned; NULL where the mode has no such phase */
    uint32_t peak_steps;                /* runs that find-peak took */
    double peak_qps;                    /* 0: none held */
    bool peak_bounded;                  /* a rate that did not hold was found too */
};

/* Who hears of every run that the test is made of, before it begins. On the thread of the test. */
struct vt_test_watch {
    /* `phase` is VT_ACCURACY or VT_PERFORMANCE; `step` counts find-peak's runs from 1, else 0;
     * `qps` is Server's rate. */
    void (*begin)(void *ctx, enum vt_mode phase, uint32_t step, double qps);
    void *ctx;
};

/*
 * Runs and writes the logs, also of a run that was interrupted or failed. Errors as vt_load_run,
 * VT_ERR_USAGE for find-peak in another scenario than Server, and VT_ERR_WRITE. `logs` may be NULL:
 * no files; so may be `watch`. Whatever was run is in the result, also after a failure: release it
 * in any case.
 */
enum vt_status vt_test_run(const struct vt_load_settings *settings, const struct vt_sut *sut,
                           const struct vt_qsl *qsl, struct vt_load_control *control,
                           const struct vt_test_logs *logs, const struct vt_test_watch *watch,
                           struct vt_error *err, struct vt_test_result *ret_result) VT_NODISCARD;
void vt_test_result_release(struct vt_test_result *result); /* accepts a zeroed one */

#endif
