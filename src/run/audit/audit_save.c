/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a compliance test, as the submission checker looks for it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "mlperf/log.h"
#include "run/audit/audit.h"

#define ACCURACY_LOG "mlperf_log_accuracy.json"

typedef void print_fn(const struct vt_result_audit *audit, FILE *out);

static void print_verdict(enum vt_audit_verdict verdict, FILE *out)
{
    fprintf(out, "TEST %s\n", verdict == VT_AUDIT_PASS ? "PASS" : "FAIL");
}

static void print_performance(const struct vt_result_audit *audit, FILE *out)
{
    const struct vt_audit_performance *p = &audit->performance;

    fprintf(out, "scenario = %s\nreference score = %.17g\ntest score = %.17g\n",
            vt_scenario_name(audit->scenario), p->reference, p->test);
    fprintf(out, "tolerance = %s%g\n%s\n", p->both_sides ? "+-" : "+", p->tolerance, p->text);
    print_verdict(p->verdict, out);
}

static void print_accuracy(const struct vt_result_audit *audit, FILE *out)
{
    const struct vt_audit_accuracy *a = &audit->accuracy;
#define COUNT(name, value) fprintf(out, name " = %llu\n", (unsigned long long)(value))
    COUNT("num_acc_log_entries", a->reference_entries);
    COUNT("num_acc_log_duplicate_keys", a->duplicates);
    COUNT("num_acc_log_data_mismatch", a->duplicate_mismatches);
    COUNT("num_perf_log_entries", a->entries);
    COUNT("num_perf_log_qsl_idx_match", a->matched);
    COUNT("num_perf_log_data_mismatch", a->mismatches);
    COUNT("num_perf_log_first_byte_mismatch", a->first_mismatches);
    COUNT("num_missing_qsl_idxs", a->missing);
#undef COUNT
    fprintf(out, "%s\n", audit->text[0] != '\0' ? audit->text : a->text);
    /* Of the responses alone: the quality stands in files of its own. */
    print_verdict(a->mismatches == 0 && a->matched > 0 ? VT_AUDIT_PASS : VT_AUDIT_FAIL, out);
}

static void print_baseline(const struct vt_result_audit *audit, FILE *out)
{
    const struct vt_audit_accuracy *a = &audit->accuracy;
    fprintf(out, "%s=%.17g %s\n", a->metric, a->reference_quality, a->unit);
}

static void print_compliance(const struct vt_result_audit *audit, FILE *out)
{
    const struct vt_audit_accuracy *a = &audit->accuracy;
    fprintf(out, "%s=%.17g %s\n", a->metric, a->quality, a->unit);
}

static const char *truth(bool value)
{
    return value ? "True" : "False";
}

static void print_tokens(const struct vt_result_audit *audit, FILE *out)
{
    const struct vt_audit_tokens *t = &audit->tokens;

    fprintf(out, "First token check pass: %s\n",
            t->first_token_skipped ? "Skipped" : truth(t->first_token));
    fprintf(out, "EOS check pass: %s\n", truth(t->end_of_sequence));
    fprintf(out, "Sample length check pass: %s\n", truth(t->length));
    fprintf(out, "TEST06 verification %s\n", t->verdict == VT_AUDIT_PASS ? "complete" : "failed");
}

static enum vt_status write_file(const char *folder, const char *name,
                                 const struct vt_result_audit *audit, print_fn *print,
                                 struct vt_error *err)
{
    struct vt_file_writer writer;
    char *path = vt_path_join(folder, name);

    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s/%s: out of memory", folder, name);
    }
    enum vt_status status = vt_file_writer_open(&writer, path, err);
    vt_free(path);
    if (status == VT_OK) {
        print(audit, writer.stream);
        status = vt_file_writer_commit(&writer, err);
    }
    return status;
}

/* The accuracy log has a folder of its own; where the test logs no responses, there is none. */
static enum vt_status move_accuracy_log(const char *from_folder, const char *to_folder,
                                        struct vt_error *err)
{
    enum vt_status status = VT_OK;
    char *from = vt_path_join(from_folder, ACCURACY_LOG);
    char *to = to_folder != NULL ? vt_path_join(to_folder, ACCURACY_LOG) : NULL;

    if (from == NULL || (to_folder != NULL && to == NULL)) {
        status = vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", from_folder);
    } else if (to != NULL ? rename(from, to) != 0 : unlink(from) != 0) {
        status = vt_error_set(err, VT_ERR_WRITE, "%s: cannot be moved: %s", from, strerror(errno));
    }
    vt_free(from);
    vt_free(to);
    return status;
}

/* Which files there are, in the folder that is given or its accuracy/. */
static enum vt_status write_verdicts(const struct vt_result_audit *audit, const char *folder,
                                     const char *accuracy, struct vt_error *err)
{
    enum vt_status status = VT_OK;

    if (audit->performance.judged) {
        status = write_file(folder, "verify_performance.txt", audit, print_performance, err);
    }
    if (status == VT_OK && audit->test != VT_TEST04) {
        status = write_file(folder, "verify_accuracy.txt", audit,
                            audit->test == VT_TEST06 ? print_tokens : print_accuracy, err);
    }
    if (status == VT_OK && audit->accuracy.by_quality) {
        status = write_file(accuracy, "baseline_accuracy.txt", audit, print_baseline, err);
        if (status == VT_OK) {
            status = write_file(accuracy, "compliance_accuracy.txt", audit, print_compliance, err);
        }
    }
    return status;
}

enum vt_status vt_audit_save(const struct vt_save *save, const struct vt_result_audit *audit,
                             struct vt_error *err)
{
    if (audit->report == NULL) {
        return VT_OK;
    }
    char *folder = vt_asprintf("%s/%s/%s", save->folder, vt_scenario_key(audit->scenario),
                               vt_audit_test_name(audit->test));
    char *run = folder != NULL ? vt_path_join(folder, "performance/run_1") : NULL;
    char *accuracy = folder != NULL ? vt_path_join(folder, "accuracy") : NULL;
    bool logs_responses = audit->test != VT_TEST04;
    enum vt_status status = VT_OK;

    if (run == NULL || accuracy == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", save->folder);
    }
    if (status == VT_OK) {
        status = vt_make_folders(run, err);
    }
    if (status == VT_OK && logs_responses) {
        status = vt_make_folders(accuracy, err);
    }
    if (status == VT_OK) {
        status = vt_mlperf_log_write(
            audit->report, &(struct vt_test_logs){.folder = run, .trace = save->trace}, err);
    }
    if (status == VT_OK) {
        status = move_accuracy_log(run, logs_responses ? accuracy : NULL, err);
    }
    if (status == VT_OK) {
        status = write_verdicts(audit, folder, accuracy, err);
    }
    vt_free(accuracy);
    vt_free(run);
    vt_free(folder);
    return status;
}
