/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/test.h"

#include <math.h>

#include "load/setting_table.h"
#include "load/settings.h"

struct test {
    struct vt_load_settings settings; /* test05's are in it */
    const struct vt_sut *sut;
    const struct vt_qsl *qsl;
    struct vt_load_control *control;
    const struct vt_test_watch *watch; /* may be NULL */
    struct vt_load_carry carry;
    struct vt_mlperf_log log;
    struct vt_test_result *result;
    struct vt_error *err;
    uint32_t steps; /* of find-peak that were begun */
};

static bool stopped(const struct test *test)
{
    return atomic_load(&test->control->stop);
}

/* One run that is part of the test, into the log. The report is the caller's. */
static enum vt_status run_phase(struct test *test, enum vt_mode mode, double server_qps, bool sets,
                                struct vt_load_report **ret_report)
{
    struct vt_load_settings settings = test->settings;
    struct vt_load_report *report = NULL;

    settings.mode = mode;
    settings.server_target_qps = server_qps;
    if (test->watch != NULL) {
        test->watch->begin(test->watch->ctx, mode,
                           test->settings.mode == VT_FIND_PEAK ? ++test->steps : 0, server_qps);
    }
    enum vt_status status =
        vt_load_run(&settings, test->sut, test->qsl, test->control, test->err, &report);
    if (status == VT_OK) {
        *ret_report = report;
        status = vt_mlperf_log_phase(&test->log, report, sets, test->err);
    }
    return status;
}

static enum vt_status run_accuracy(struct test *test)
{
    vt_detail_say(&test->log.detail, VT_DETAIL_MESSAGE, "Starting accuracy mode");
    return run_phase(test, VT_ACCURACY, test->settings.server_target_qps, true,
                     &test->result->accuracy);
}

static enum vt_status run_performance(struct test *test)
{
    vt_detail_say(&test->log.detail, VT_DETAIL_MESSAGE, "Starting performance mode");
    enum vt_status status = run_phase(test, VT_PERFORMANCE, test->settings.server_target_qps, true,
                                      &test->result->performance);
    if (status == VT_OK) {
        vt_mlperf_log_result(&test->log, test->result->performance);
    }
    return status;
}

static enum vt_status run_submission(struct test *test)
{
    enum vt_status status = run_accuracy(test);

    if (status != VT_OK || !stopped(test)) {
        return status == VT_OK ? run_performance(test) : status;
    }
    vt_detail_say(&test->log.detail, VT_DETAIL_ERROR,
                  "The test was stopped before its performance run");
    return VT_OK;
}

/* The bounds of the search: the highest rate that held and the lowest that did not. */
struct peak {
    double low, high; /* high 0: none yet */
};

/* LoadGen looks at the latency constraint alone; a sample without an answer, or with an error in
 * its place, is above every limit. */
static bool holds(const struct vt_load_report *report)
{
    return report->performance_met && report->samples_lost == 0 && report->samples_failed == 0 &&
           !report->interrupted;
}

/* One step at a rate; what held becomes the result. */
static enum vt_status try_rate(struct test *test, double qps, bool sets, struct peak *peak)
{
    struct vt_load_report *report = NULL;
    enum vt_status status = run_phase(test, VT_PERFORMANCE, qps, sets, &report);
    struct vt_load_report *drop = report;

    if (status == VT_OK) {
        test->result->peak_steps++;
        if (holds(report)) {
            peak->low = qps;
            drop = test->result->performance;
            test->result->performance = report;
            test->result->peak_qps = qps;
        } else if (!report->interrupted) {
            peak->high = qps;
            test->result->peak_bounded = true;
        }
    }
    vt_load_report_free(drop);
    return status;
}

static enum vt_status widen(struct test *test, struct peak *peak)
{
    double factor = 1 + test->settings.server_find_peak_qps_boundary_step_size;
    double most = vt_load_setting_find("server_target_qps")->max;
    enum vt_status status = VT_OK;

    for (int i = 0; peak->high == 0 && status == VT_OK && !stopped(test); i++) {
        double qps = peak->low * factor;
        if (i == VT_PEAK_WIDENINGS_MAX || qps > most) {
            vt_detail_say(&test->log.detail, VT_DETAIL_ERROR,
                          "FindPeakPerformance: the constraint still held at %f after %d steps: "
                          "start at a higher server_target_qps or with a larger "
                          "server_find_peak_qps_boundary_step_size",
                          peak->low, i);
            return VT_OK;
        }
        vt_detail_say(&test->log.detail, VT_DETAIL_MESSAGE,
                      "FindBoundaries: Checking fields [%f, %f)", peak->low, qps);
        status = try_rate(test, qps, true, peak);
    }
    return status;
}

/* The two are one at the precision that was asked for. */
static bool met(const struct test *test, const struct peak *peak)
{
    double scale = pow(10, (double)test->settings.server_find_peak_qps_decimals_of_precision);

    return floor(peak->low * scale) + 1 >= floor(peak->high * scale);
}

static enum vt_status bisect(struct test *test, struct peak *peak)
{
    struct vt_detail *detail = &test->log.detail;
    enum vt_status status = VT_OK;

    while (status == VT_OK && !stopped(test) && !met(test, peak)) {
        double qps = peak->low + (peak->high - peak->low) / 2;
        if (qps <= peak->low || qps >= peak->high) {
            break; /* no number lies between */
        }
        vt_detail_say(detail, VT_DETAIL_MESSAGE,
                      "FindPeakPerformanceBinarySearch: Testing the mid value of bounds [%f, %f): "
                      "%f",
                      peak->low, peak->high, qps);
        status = try_rate(test, qps, false, peak);
    }
    return status;
}

static enum vt_status search(struct test *test, struct peak *peak)
{
    struct vt_detail *detail = &test->log.detail;
    enum vt_status status = widen(test, peak);

    if (status == VT_OK && peak->high != 0) {
        vt_detail_say(detail, VT_DETAIL_MESSAGE, "FindPeakPerformance: Found boundaries: [%f, %f)",
                      peak->low, peak->high);
        status = vt_mlperf_log_sets(&test->log, test->result->performance, test->err);
        status = status == VT_OK ? bisect(test, peak) : status;
    }
    if (status == VT_OK && stopped(test)) {
        vt_detail_say(detail, VT_DETAIL_ERROR,
                      "FindPeakPerformance: stopped after %u runs, before the peak was found",
                      (unsigned)test->result->peak_steps);
    }
    if (status == VT_OK) {
        vt_detail_say(detail, VT_DETAIL_MESSAGE,
                      "FindPeakPerformance: Found peak performance field: %f", peak->low);
    }
    return status;
}

static enum vt_status run_find_peak(struct test *test)
{
    struct vt_detail *detail = &test->log.detail;
    struct peak peak = {.low = test->settings.server_target_qps};
    struct vt_test_result *result = test->result;

    vt_detail_say(detail, VT_DETAIL_MESSAGE, "Starting FindPeakPerformance mode");
    vt_detail_say(detail, VT_DETAIL_MESSAGE,
                  "FindPeakPerformance: Check validity of the base settings field: %f", peak.low);
    enum vt_status status = run_phase(test, VT_PERFORMANCE, peak.low, true, &result->performance);
    if (status != VT_OK) {
        return status;
    }
    result->peak_steps = 1;
    if (holds(result->performance)) {
        result->peak_qps = peak.low;
        status = search(test, &peak);
    } else if (!result->performance->performance_met) {
        vt_detail_say(detail, VT_DETAIL_ERROR,
                      "FindPeakPerformance: Initial lower bound does not satisfy performance "
                      "constraints, msg: %s",
                      vt_mlperf_performance_advice(result->performance));
    }
    if (status == VT_OK) {
        vt_mlperf_log_result(&test->log, result->performance);
    }
    return status;
}

static enum vt_status check_mode(const struct vt_load_settings *s, struct vt_error *err)
{
    if (s->mode == VT_FIND_PEAK && s->scenario != VT_SERVER) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "mode is FindPeakPerformance, scenario is %s: Finding peak performance "
                            "is only supported in Server scenarios.",
                            vt_scenario_name(s->scenario));
    }
    return VT_OK;
}

static enum vt_status open_log(struct test *test, const struct vt_load_effective *effective,
                               const struct vt_test_logs *logs)
{
    static const struct vt_test_logs none;
    const struct vt_clock *clock =
        test->control->clock != NULL ? test->control->clock : vt_clock_monotonic();
    struct vt_mlperf_test head = {
        .qsl_name = test->qsl->name(test->qsl->ctx),
        .total_count = test->qsl->total_count,
        .performance_count = test->qsl->performance_count,
        .start_unix_ms = vt_clock_unix_ms(test->control->clock),
    };
    int64_t start_ns = clock->now_ns(clock->ctx);

    head.sut_name = test->sut->name(test->sut->ctx);
    head.sut_name_ns = clock->now_ns(clock->ctx) - start_ns;
    vt_mlperf_settings_of(&test->settings, effective, &head.settings);
    return vt_mlperf_log_open(&test->log, logs != NULL ? logs : &none, &head, start_ns, test->err);
}

static enum vt_status run_mode(struct test *test)
{
    switch (test->settings.mode) {
    case VT_ACCURACY:
        return run_accuracy(test);
    case VT_SUBMISSION:
        return run_submission(test);
    case VT_FIND_PEAK:
        return run_find_peak(test);
    case VT_PERFORMANCE:
    case VT_MODE_COUNT:
        break;
    }
    return run_performance(test);
}

/* The log of a test that failed is kept as far as it goes; its own troubles come second. */
static enum vt_status run_and_commit(struct test *test)
{
    enum vt_status status = run_mode(test);
    struct vt_error second = VT_ERROR_INIT;

    if (status == VT_OK) {
        return vt_mlperf_log_commit(&test->log, test->err);
    }
    vt_detail_say(&test->log.detail, VT_DETAIL_ERROR, "The test failed: %s",
                  test->err != NULL ? test->err->text : vt_status_text(status));
    enum vt_status written = vt_mlperf_log_commit(&test->log, &second);
    (void)written;
    return status;
}

enum vt_status vt_test_run(const struct vt_load_settings *settings, const struct vt_sut *sut,
                           const struct vt_qsl *qsl, struct vt_load_control *control,
                           const struct vt_test_logs *logs, const struct vt_test_watch *watch,
                           struct vt_error *err, struct vt_test_result *ret_result)
{
    struct vt_load_control own = {0};
    struct vt_load_effective effective;
    struct test test = {
        .settings = *settings,
        .sut = sut,
        .qsl = qsl,
        .control = control != NULL ? control : &own,
        .watch = watch,
        .result = ret_result,
        .err = err,
    };

    *ret_result = (struct vt_test_result){.requested = *settings};
    vt_load_settings_apply_test05(&test.settings);
    enum vt_status status = check_mode(&test.settings, err);
    if (status == VT_OK) {
        status = vt_load_settings_resolve(&test.settings, qsl->total_count, qsl->performance_count,
                                          err, &effective);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_load_carry *before = test.control->carry;
    if (before == NULL) {
        test.control->carry = &test.carry;
    }
    status = open_log(&test, &effective, logs);
    if (status == VT_OK) {
        status = run_and_commit(&test);
    }
    vt_mlperf_log_release(&test.log);
    test.control->carry = before;
    return status;
}

void vt_test_result_release(struct vt_test_result *result)
{
    vt_load_report_free(result->performance);
    vt_load_report_free(result->accuracy);
    *result = (struct vt_test_result){0};
}
