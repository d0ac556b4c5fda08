/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compliance tests of MLPerf Inference behind a job's own runs: for each scenario that was measured
 * one more run a test under the test's settings, the comparison, and its folder.
 *
 *   OUT/<scenario>/TEST01/   verify_accuracy.txt, verify_performance.txt,
 *                            performance/run_1/ with summary and detail, accuracy/ with the
 *                            accuracy log, and where responses differ baseline_accuracy.txt and
 *                            compliance_accuracy.txt
 *   OUT/<scenario>/TEST04/   verify_performance.txt, performance/run_1/
 *   OUT/<scenario>/TEST06/   verify_accuracy.txt, performance/run_1/, accuracy/
 */
#ifndef VT_RUN_AUDIT_H
#define VT_RUN_AUDIT_H

#include "run/measure/measure.h"
#include "run/save.h"

struct vt_audit_wanted {
    bool test[VT_AUDIT_TESTS];
};

/* "TEST01,TEST04", in any case of letters, or "all". VT_ERR_USAGE names what is none. */
enum vt_status vt_audit_parse(const char *text, struct vt_error *err,
                              struct vt_audit_wanted *ret_wanted) VT_NODISCARD;

/* How long the tests of one scenario will probably take. */
int64_t vt_audit_expected_ns(const struct vt_audit_wanted *wanted,
                             const struct vt_load_settings *settings, const struct vt_probe *probe);

/*
 * The settings of a test's run: those of the reference run, changed by the test's audit.config: the
 * built-in one, or `path`. `model` is the benchmark, "" for none. Errors as vt_conf_apply_file.
 */
enum vt_status vt_audit_settings(enum vt_audit_test test, const char *model, const char *path,
                                 const struct vt_conf_warnings *warnings, struct vt_error *err,
                                 struct vt_load_settings *settings) VT_NODISCARD;

/*
 * Runs, compares and saves; the audits of `result` grow. That a test fails is no error.
 * VT_ERR_INTERRUPTED, VT_ERR_WRITE, VT_ERR_MEMORY, and errors of the file.
 */
enum vt_status vt_audit_run(struct vt_measure *measure, const struct vt_audit_wanted *wanted,
                            const struct vt_save *save, struct vt_result *result,
                            struct vt_error *err) VT_NODISCARD;

/* The folder of one test: logs of its run and the files with its verdict. */
enum vt_status vt_audit_save(const struct vt_save *save, const struct vt_result_audit *audit,
                             struct vt_error *err) VT_NODISCARD;

#endif
