/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several engines on one model, measured in turns: what was found, as a table and as JSON.
 *
 * The first engine is the one that the others are compared with. `speed` is how many times as fast
 * as it an engine is, in either scenario: the ratio of median throughputs, or of median latencies
 * turned over. What is 1 within its interval is not shown to differ.
 *
 * Ownership: strings are borrowed unless they are arrays; vt_comparison_release frees the arrays
 * that pointers lead to.
 */
#ifndef VT_RESULT_COMPARISON_H
#define VT_RESULT_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bootstrap.h"
#include "base/options.h"
#include "result/precision.h"
#include "vatio/tensor.h"

#define VT_COMPARE_ENGINES_MAX 8
#define VT_COMPARE_CONFIDENCE  0.95

/* One output of an engine against the same output of the first, over all samples looked at. */
struct vt_output_agreement {
    char name[128];
    enum vt_dtype dtype;
    bool agrees;
    uint64_t elements;
    uint64_t beyond;     /* of them out of tolerance; of whole numbers: that differ */
    double max_absolute; /* largest |a - b| */
    double max_relative; /* largest |a - b| / max(|b|, atol / rtol) */
    double rms_relative; /* sqrt(sum of (a - b)^2 / sum of b^2) */
    uint32_t feeders;    /* differs, but depends on a decision: so many tensors that feed it were
                            compared in its place */
    char note[256];      /* why it cannot be compared, or the worst element; "" */
};

/* One engine in one scenario, by round. */
struct vt_compared_scenario {
    double *values;    /* Offline: samples/s; SingleStream: median latency in ns */
    double *latencies; /* SingleStream: p90 in ns; else NULL */
    double median;     /* of values */
    double p90_median; /* of latencies */
    bool has_speed;
    struct vt_ratio_estimate speed;
};

/* What an engine gets anew before every turn. */
enum vt_renewal {
    VT_RENEW_NOTHING,
    VT_RENEW_LANES,
    VT_RENEW_ENGINE, /* and its lanes */
};

struct vt_compared_engine {
    char label[128]; /* "native", "native:spin-us=0" as the user wrote it */
    char name[64];
    char description[96];
    char precision[16];
    /* It computes in another precision than the first: its outputs are not held to the tolerance,
     * what they differ by is shown beside its speed. */
    bool other_precision;
    struct vt_precision_choice precision_choice; /* of the native engine's auto */
    uint32_t batch, lanes;
    enum vt_renewal renewal; /* the most that it allows; while measuring, the comparison's */
    int64_t open_ns;         /* loading the model */
    int64_t first_ns;        /* the first request, with what the engine builds for it */
    struct vt_compared_scenario offline, single_stream;
    struct vt_output_agreement *outputs; /* NULL for the first engine */
    struct vt_output_agreement *feeders; /* of all its decided outputs that differ */
    uint32_t n_outputs, n_feeders;
};

struct vt_comparison {
    char started_utc[32];
    const char *model_name;
    const char *model_path; /* NULL when built in */
    bool random_weights;
    const char *workload_name;
    char workload_description[192];
    uint64_t sample_count;
    uint32_t threads;
    bool partial;                      /* interrupted */
    uint32_t rounds_wanted, rounds[2]; /* asked for; done of Offline and of SingleStream */
    int64_t turn_ns;
    enum vt_renewal renewal;
    uint64_t samples_checked; /* whose outputs were compared */
    double rtol, atol;
    int64_t settle_longest_ns; /* waited between turns until the process was idle */
    const struct vt_options *options;
    struct vt_compared_engine engines[VT_COMPARE_ENGINES_MAX];
    uint32_t n_engines;
};

void vt_comparison_release(struct vt_comparison *comparison);

/* The largest RMS error of the engine's outputs, relative; NAN where none was compared. */
double vt_compared_rms(const struct vt_compared_engine *engine);

/* Whether the outputs of all engines agree with those of the first, in so far as they are held to
 * the tolerance. */
VT_API bool vt_comparison_agrees(const struct vt_comparison *comparison);
/* 0; 1 when outputs differ; 130 when interrupted. */
VT_API int vt_comparison_exit_code(const struct vt_comparison *comparison);

/* `columns` is the width; at least 40. */
VT_API void vt_comparison_print_table(const struct vt_comparison *comparison, FILE *out,
                                      int columns);
/* result.json as text in fresh memory (vt_free); numbers at full precision. */
VT_API enum vt_status vt_comparison_json(const struct vt_comparison *comparison,
                                         struct vt_error *err, char **ret_json) VT_NODISCARD;
/* Writes folder/result.json; the folder exists. VT_ERR_WRITE names what could not be written. */
enum vt_status vt_comparison_write_json(const struct vt_comparison *comparison, const char *folder,
                                        struct vt_error *err) VT_NODISCARD;

#endif
