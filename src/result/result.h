/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result model: what a job measured, and everything that is written from it. JSON is the
 * truth; terminal, CSV and later reports are derived from the same struct.
 *
 * Ownership: strings are borrowed from the caller, who keeps them as long as the struct; reports
 * belong to the struct (vt_result_release frees them).
 */
#ifndef VT_RESULT_RESULT_H
#define VT_RESULT_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options.h"
#include "core/report.h"
#include "core/stages.h"
#include "core/workload.h"
#include "load/rate_search.h"
#include "result/audit.h"
#include "result/caps.h"
#include "result/energy.h"
#include "result/precision.h"

#define VT_RESULT_SCHEMA_VERSION 1
#define VT_RESULTS_MAX           (VT_SCENARIO_COUNT * 2) /* a performance and an accuracy phase each */

#define VT_AUDITS_MAX (VT_SCENARIO_COUNT * VT_AUDIT_TESTS)

/* What FindPeakPerformance found. */
struct vt_result_peak {
    uint32_t steps; /* runs that it took; 0: it did not run */
    double qps;     /* the highest rate that held; 0: none */
    bool bounded;   /* one that did not hold was found too */
    bool interrupted;
};

/* One scenario in one mode. */
struct vt_result_entry {
    enum vt_scenario scenario;
    enum vt_mode mode;      /* performance or accuracy */
    enum vt_mode test_mode; /* of the test that it is a part of: `mode` itself, submission, or
                               find-peak */
    struct vt_load_report *report; /* owned; NULL when there was no run: `failure` says why it
                                      failed, or `reasons` why there was nothing to run */
    struct vt_error failure;
    bool valid;                /* the limits of this job */
    struct vt_reasons reasons; /* why not valid */
    bool rules_met;            /* would count under the MLPerf rules of the round */
    struct vt_reasons rules;   /* why not, each with the option that would make it count */
    bool has_quality;
    struct vt_quality quality;
    bool rate_found; /* Server: target_qps was searched for */
    double target_qps;
    struct vt_rate_found rate; /* how it was searched for and how sure it is; no report in it */
    struct vt_result_peak peak;
    uint64_t requests; /* of the engine */
    struct vt_stage_times stages;
    uint64_t batch_max;              /* --batch in effect */
    struct vt_result_energy *energy; /* owned; NULL: no meter was read, or not in this mode */
};

struct vt_profile_layer; /* result/profile.h */

struct vt_result {
    /* the start is filled in by vt_result_init; tool and machine are looked up when it is written
     */
    char started_utc[32];   /* "2026-11-30T10:12:07Z" */
    const char *model_name; /* "digits", "resnet8_cifar10.onnx" */
    const char *model_path; /* NULL when built in */
    bool random_weights;
    uint64_t model_parameters;
    uint64_t model_bytes;
    double model_flops; /* of one sample; 0 unknown */
    int64_t model_opset;
    const char *engine_name;
    char engine_description[96];
    char precision[16];
    struct vt_precision_choice precision_choice;
    const char *workload_name;
    char workload_description[192];
    uint64_t sample_count;
    uint64_t samples_skipped;
    uint32_t batch, lanes, threads;
    bool official;          /* the rule's durations and counts */
    bool partial;           /* interrupted */
    char rate_plan[192];    /* how Server's rate will be searched; empty: it is given */
    char weights_text[192]; /* "" or what to know about the weights: random */
    char energy_text[VT_ERROR_TEXT_MAX]; /* why no meter was read and what to do; "": some were */
    struct vt_energy_unavailable unavailable[VT_ENERGY_UNAVAILABLE_MAX];
    uint32_t n_unavailable;
    struct vt_result_cap *caps; /* owned; what was capped while it was measured */
    uint32_t n_caps;
    const struct vt_options *options; /* echoed as the job */
    struct vt_result_entry entries[VT_RESULTS_MAX];
    uint32_t n_entries;
    struct vt_result_audit audits[VT_AUDITS_MAX];
    uint32_t n_audits;
    struct vt_profile_layer *layers; /* owned; how the model was computed, NULL: not known */
    uint32_t n_layers;
};

void vt_result_init(struct vt_result *result);
void vt_result_release(struct vt_result *result);
/* Whether every entry ran and is valid, no quality target was missed and no audit failed or all of
 * them did not apply. */
VT_API bool vt_result_valid(const struct vt_result *result);
/* The exit code of the program for this result: 0, 1 or 130; when an entry failed, the code of that
 * failure, 4 where it has none of its own. */
VT_API int vt_result_exit_code(const struct vt_result *result);

/* result.json as text in fresh memory (vt_free); numbers at full precision. */
VT_API enum vt_status vt_result_json(const struct vt_result *result, struct vt_error *err,
                                     char **ret_json) VT_NODISCARD;

/* The parts that a terminal shows, in the order in which they become known. `columns` is the
 * width; at least 40. Nothing is coloured. */
VT_API void vt_result_print_table(const struct vt_result *result, FILE *out, int columns);

/* The part of it that shows where the time of samples went; nothing where that is not known. */
void vt_result_print_stages(const struct vt_result *result, FILE *out, int columns);
/* The part of it that energy is: a line a scenario. */
void vt_result_print_energy(const struct vt_result *result, FILE *out, int columns);
/* Why an entry without an energy has none. */
const char *vt_result_energy_reason(const struct vt_result *result);
/* A label, and behind it a text that wraps. */
void vt_result_print_item(FILE *out, const char *label, const char *text, int columns);
/* The part of it that compliance tests are; nothing without them. */
void vt_result_print_audits(const struct vt_result *result, FILE *out, int columns);

/* Three to four significant digits with thousands separators: "212,400", "0.0071". */
VT_API char *vt_number_text(double value, char *text, size_t size);
/* All digits with thousands separators: "14,474". */
VT_API char *vt_count_text(uint64_t count, char *text, size_t size);
/* A duration with a fitting unit: "0.03 ms", "7.1 µs", "12.3 s". */
VT_API char *vt_duration_text(int64_t ns, char *text, size_t size);

/* Tokens a second until the last-issued query was done, in Offline over the longest latency; 0
 * where none were counted. */
double vt_result_token_rate(const struct vt_load_report *report);

/* Writes folder/result.json; the folder exists. VT_ERR_WRITE names what could not be written. */
enum vt_status vt_result_write_json(const struct vt_result *result, const char *folder,
                                    struct vt_error *err) VT_NODISCARD;
/* The folder of an entry below OUT: "server/performance/run_1", "offline/accuracy",
 * "offline/submission/accuracy". */
char *vt_result_entry_folder(const struct vt_result_entry *entry, char *text, size_t size);

#endif
