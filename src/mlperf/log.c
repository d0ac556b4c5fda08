/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/log.h"

#include "base/alloc.h"
#include "mlperf/summary.h"
#include "mlperf/time.h"

static enum vt_status open_file(struct vt_mlperf_log *log, const struct vt_test_logs *options,
                                enum vt_mlperf_file file, struct vt_error *err)
{
    static const struct {
        const char *name, *extension;
    } files[VT_MLPERF_FILES] = {
        [VT_MLPERF_SUMMARY] = {"summary", ".txt"},
        [VT_MLPERF_DETAIL] = {"detail", ".txt"},
        [VT_MLPERF_ACCURACY] = {"accuracy", ".json"},
        [VT_MLPERF_TRACE] = {"trace", ".json"},
    };
    char time[VT_MLPERF_TIME_MAX] = "";

    if (options->prefix_with_datetime) {
        (void)vt_mlperf_time_iso(log->start_unix_ms, time);
    }
    char *path = vt_asprintf("%s/%s%s%s%s%s%s", options->folder,
                             options->prefix != NULL ? options->prefix : "mlperf_log_", time,
                             time[0] != '\0' ? "_" : "", files[file].name,
                             options->suffix != NULL ? options->suffix : "", files[file].extension);
    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for the name of a log",
                            options->folder);
    }
    enum vt_status status = vt_file_writer_open(&log->files[file], path, err);
    vt_free(path);
    return status;
}

enum vt_status vt_mlperf_log_open(struct vt_mlperf_log *log, const struct vt_test_logs *options,
                                  const struct vt_mlperf_test *test, int64_t start_ns,
                                  struct vt_error *err)
{
    enum vt_status status = VT_OK;

    *log = (struct vt_mlperf_log){
        .mode = test->settings.asked.mode,
        .start_ns = start_ns,
        .start_unix_ms = test->start_unix_ms,
        .summary_copy = options->copy_summary_to_stdout ? stdout : NULL,
    };
    for (int file = 0; options->folder != NULL && file < VT_MLPERF_FILES && status == VT_OK;
         file++) {
        if (file != VT_MLPERF_TRACE || options->trace) {
            status = open_file(log, options, (enum vt_mlperf_file)file, err);
        }
    }
    if (status != VT_OK) {
        return status;
    }
    if (log->files[VT_MLPERF_ACCURACY].stream != NULL) {
        vt_accuracy_begin(&log->accuracy, log->files[VT_MLPERF_ACCURACY].stream);
    }
    if (log->files[VT_MLPERF_TRACE].stream != NULL) {
        vt_trace_begin(&log->trace, log->files[VT_MLPERF_TRACE].stream);
    }
    vt_detail_init(&log->detail, log->files[VT_MLPERF_DETAIL].stream,
                   options->copy_detail_to_stdout ? stdout : NULL);
    vt_detail_test(&log->detail, test);
    return VT_OK;
}

enum vt_status vt_mlperf_log_sets(struct vt_mlperf_log *log, const struct vt_load_report *report,
                                  struct vt_error *err)
{
    struct vt_mlperf_phase phase;
    enum vt_status status = vt_mlperf_phase_init(&phase, report, err);

    if (status == VT_OK) {
        vt_detail_sets(&log->detail, &phase);
    }
    vt_mlperf_phase_release(&phase);
    return status;
}

enum vt_status vt_mlperf_log_phase(struct vt_mlperf_log *log, const struct vt_load_report *report,
                                   bool sets, struct vt_error *err)
{
    struct vt_mlperf_phase phase;
    int64_t zero_ns = report->start_monotonic_ns - log->start_ns;
    enum vt_status status = vt_mlperf_phase_init(&phase, report, err);

    if (status == VT_OK) {
        vt_detail_phase(&log->detail, &phase, zero_ns, sets);
    }
    vt_mlperf_phase_release(&phase);
    if (log->accuracy.out != NULL) {
        vt_accuracy_add(&log->accuracy, report);
    }
    if (log->trace.out != NULL) {
        vt_trace_add(&log->trace, report, zero_ns);
    }
    return status;
}

void vt_mlperf_log_result(struct vt_mlperf_log *log, const struct vt_load_report *report)
{
    FILE *outs[] = {log->files[VT_MLPERF_SUMMARY].stream, log->summary_copy};
    struct vt_mlperf_view view;

    vt_mlperf_view_init(&view, report, log->mode);
    for (size_t i = 0; i < sizeof outs / sizeof outs[0]; i++) {
        if (outs[i] != NULL) {
            vt_summary_result(&view, outs[i]);
        }
    }
    vt_detail_result(&log->detail, &view);
}

enum vt_status vt_mlperf_log_commit(struct vt_mlperf_log *log, struct vt_error *err)
{
    FILE *outs[] = {log->files[VT_MLPERF_SUMMARY].stream, log->summary_copy};
    enum vt_status status = VT_OK;

    for (size_t i = 0; i < sizeof outs / sizeof outs[0]; i++) {
        if (outs[i] != NULL) {
            vt_summary_end(log->detail.warnings, log->detail.errors, outs[i]);
        }
    }
    if (log->accuracy.out != NULL) {
        vt_accuracy_end(&log->accuracy);
    }
    if (log->trace.out != NULL) {
        vt_trace_end(&log->trace, log->start_unix_ms);
    }
    for (int file = 0; file < VT_MLPERF_FILES && status == VT_OK; file++) {
        if (log->files[file].stream != NULL) {
            status = vt_file_writer_commit(&log->files[file], err);
        }
    }
    vt_mlperf_log_release(log);
    return status;
}

void vt_mlperf_log_release(struct vt_mlperf_log *log)
{
    for (int file = 0; file < VT_MLPERF_FILES; file++) {
        vt_file_writer_release(&log->files[file]);
    }
    *log = (struct vt_mlperf_log){0};
}

enum vt_status vt_mlperf_log_write(const struct vt_load_report *report,
                                   const struct vt_test_logs *options, struct vt_error *err)
{
    struct vt_mlperf_log log;
    struct vt_mlperf_test test = {
        .sut_name = report->sut_name,
        .qsl_name = report->qsl_name,
        .total_count = report->qsl_total_count,
        .performance_count = report->qsl_performance_count,
        .start_unix_ms = report->start_unix_ms,
        .sut_name_ns = report->sut_name_ns,
    };

    vt_mlperf_settings_of(&report->settings, &report->effective, &test.settings);
    enum vt_status status =
        vt_mlperf_log_open(&log, options, &test, report->start_monotonic_ns, err);
    if (status == VT_OK) {
        vt_detail_say(&log.detail, VT_DETAIL_MESSAGE, "Starting %s mode",
                      report->settings.mode == VT_ACCURACY ? "accuracy" : "performance");
        status = vt_mlperf_log_phase(&log, report, true, err);
    }
    if (status == VT_OK && report->settings.mode == VT_PERFORMANCE) {
        vt_mlperf_log_result(&log, report);
    }
    if (status == VT_OK) {
        status = vt_mlperf_log_commit(&log, err);
    }
    vt_mlperf_log_release(&log);
    return status;
}
