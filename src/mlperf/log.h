/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLPerf LoadGen's log files: summary, detail, accuracy and, where asked for, trace, in the
 * official wording, so that the tools people have read them.
 *
 * A log is opened before a test, told what happens, and committed at its end. Files appear whole or
 * not at all. One thread at a time; nothing is written while a run is on.
 */
#ifndef VT_MLPERF_LOG_H
#define VT_MLPERF_LOG_H

#include "base/file.h"
#include "mlperf/accuracy.h"
#include "mlperf/detail.h"
#include "mlperf/trace.h"

/* Log files; all borrowed. Zeroed: no files. */
struct vt_test_logs {
    const char *folder; /* exists; NULL: no files at all */
    const char *prefix; /* NULL: "mlperf_log_" */
    const char *suffix; /* before ".txt" and ".json"; NULL: none */
    bool prefix_with_datetime;
    /* The only things that the library prints. */
    bool copy_summary_to_stdout;
    bool copy_detail_to_stdout;
    bool trace; /* Chrome trace events of every sample, mlperf_log_trace.json */
};

enum vt_mlperf_file {
    VT_MLPERF_SUMMARY,
    VT_MLPERF_DETAIL,
    VT_MLPERF_ACCURACY,
    VT_MLPERF_TRACE,
    VT_MLPERF_FILES,
};

struct vt_mlperf_log {
    struct vt_file_writer files[VT_MLPERF_FILES]; /* .stream NULL: not written */
    FILE *summary_copy;
    struct vt_detail detail;
    struct vt_accuracy_log accuracy;
    struct vt_trace trace;
    enum vt_mode mode; /* of the test */
    int64_t start_ns;  /* the zero of the log's times, on the clock of the reports */
    int64_t start_unix_ms;
};

/* VT_ERR_WRITE names the file. Release also after a failure. */
enum vt_status vt_mlperf_log_open(struct vt_mlperf_log *log, const struct vt_test_logs *options,
                                  const struct vt_mlperf_test *test, int64_t start_ns,
                                  struct vt_error *err) VT_NODISCARD;
/* The sets of samples of a run: before phases that do not list theirs. */
enum vt_status vt_mlperf_log_sets(struct vt_mlperf_log *log, const struct vt_load_report *report,
                                  struct vt_error *err) VT_NODISCARD;
/* A run that is part of the test: its set of samples unless told before, what was generated and
 * came up, responses, trace. */
enum vt_status vt_mlperf_log_phase(struct vt_mlperf_log *log, const struct vt_load_report *report,
                                   bool sets, struct vt_error *err) VT_NODISCARD;
/* The performance run that the verdict is of. */
void vt_mlperf_log_result(struct vt_mlperf_log *log, const struct vt_load_report *report);
/* The last lines; the files appear. VT_ERR_WRITE names the first that does not. */
enum vt_status vt_mlperf_log_commit(struct vt_mlperf_log *log, struct vt_error *err) VT_NODISCARD;
void vt_mlperf_log_release(struct vt_mlperf_log *log); /* drops what is not committed */

/* All of the above for a run that is over: one of several, of which only this one counts. */
enum vt_status vt_mlperf_log_write(const struct vt_load_report *report,
                                   const struct vt_test_logs *options,
                                   struct vt_error *err) VT_NODISCARD;

#endif
