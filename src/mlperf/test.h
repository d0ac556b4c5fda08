/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One test as MLPerf's StartTest runs it: settings as requested, the phases of the mode, the log
 * files.
 *
 *   PerformanceOnly, AccuracyOnly   one phase
 *   SubmissionRun                   performance, then accuracy
 *   FindPeakPerformance             Server at server_target_qps; widened while the constraint
 * holds, then bisected; the log is of the highest rate that held
 */
#ifndef VT_MLPERF_TEST_H
#define VT_MLPERF_TEST_H

#include "load/load.h"

/* Log files; all borrowed. Zeroed: the current folder and LoadGen's names. */
struct vt_test_logs {
    const char *folder; /* exists; NULL: no files at all */
    const char *prefix; /* NULL: "mlperf_log_" */
    const char *suffix; /* before ".txt"; NULL: none */
    bool prefix_with_datetime;
    bool copy_summary_to_stdout;
    bool copy_detail_to_stdout;
    bool trace; /* Chrome trace events of every sample, mlperf_log_trace.json */
};

struct vt_test_result {
    struct vt_load_settings requested;
    struct vt_load_report *performance; /* owned; NULL in AccuracyOnly; find-peak: the best run */
    struct vt_load_report *accuracy;    /* owned; NULL where the mode has no such phase */
    uint32_t peak_steps;                /* runs that find-peak took */
    double peak_qps;                    /* 0: none held */
};

/*
 * Runs and writes the logs, also of a run that was interrupted. Errors as vt_load_run, and
 * VT_ERR_WRITE. Release the result also after a failure.
 */
enum vt_status vt_test_run(const struct vt_load_settings *settings, const struct vt_sut *sut,
                           const struct vt_qsl *qsl, struct vt_load_control *control,
                           const struct vt_test_logs *logs, struct vt_error *err,
                           struct vt_test_result *ret_result) VT_NODISCARD;
void vt_test_result_release(struct vt_test_result *result); /* accepts a zeroed one */

#endif
