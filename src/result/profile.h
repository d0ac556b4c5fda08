/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a model goes, layer by layer, beside what the machine can do: as a table and as
 * JSON.
 *
 * Roofline (Williams, Waterman and Patterson 2009): a layer of F operations on B bytes can run at
 * min(peak, F / B · bandwidth) operations a second. It is bound by computing where F / B is above
 * the ridge, peak / bandwidth, else by memory. The bandwidth is that of main memory: a layer whose
 * data lie in a cache may exceed its roof.
 *
 * Ownership: vt_profile_release frees the layers; other strings are borrowed.
 */
#ifndef VT_RESULT_PROFILE_H
#define VT_RESULT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options.h"

struct vt_machine_peak {
    const char *isa;      /* of the multiply-adds */
    double flops_per_s;   /* all threads */
    double bytes_per_s;   /* the triad's */
    uint64_t triad_bytes; /* of its three arrays */
};

/* One kernel of the plan; the nodes fused into it count with it. Times are medians over the runs,
 * amounts those of one run. */
struct vt_profile_layer {
    char node[128]; /* its name, or that of its first output */
    char op[64];    /* "Conv", with "+…" for what is fused into it */
    char kernel[32];
    bool tuned;     /* the kernel was chosen by measuring */
    char shape[64]; /* of its first output */
    uint32_t position;
    uint64_t calls;
    double time_ns, flops, bytes;
};

/* Layers of one operator together. */
struct vt_profile_operator {
    char op[64];
    uint32_t layers;
    double time_ns, flops, bytes;
};

struct vt_profile {
    char started_utc[32];
    const char *model_name;
    const char *model_path;
    const char *workload_name;
    char engine_description[96];
    uint32_t batch, threads;
    uint64_t runs;          /* measured, layer by layer */
    double run_ns;          /* median of a whole run without looking at layers */
    double profiled_run_ns; /* and with it */
    struct vt_machine_peak peak;
    bool partial; /* interrupted */
    uint32_t top; /* layers that the table shows */
    const struct vt_options *options;
    struct vt_profile_layer *layers; /* the dearest first */
    uint32_t n_layers;
    struct vt_profile_operator *operators; /* likewise */
    uint32_t n_operators;
};

void vt_profile_release(struct vt_profile *profile);

/* What the roof allows a layer of so many operations and bytes, in ns. */
double vt_machine_roof_ns(const struct vt_machine_peak *peak, double flops, double bytes);
/* Whether computing, not memory, limits it. */
bool vt_machine_compute_bound(const struct vt_machine_peak *peak, double flops, double bytes);

/* Sorts the layers, the dearest first, and sums them up by operator. False when out of memory. */
bool vt_profile_sum_up(struct vt_profile *profile) VT_NODISCARD;

VT_API void vt_profile_print_table(const struct vt_profile *profile, FILE *out, int columns);
/* result.json as text in fresh memory (vt_free); numbers at full precision. */
VT_API enum vt_status vt_profile_json(const struct vt_profile *profile, struct vt_error *err,
                                      char **ret_json) VT_NODISCARD;
/* Writes folder/result.json; the folder exists. VT_ERR_WRITE names what could not be written. */
enum vt_status vt_profile_write_json(const struct vt_profile *profile, const char *folder,
                                     struct vt_error *err) VT_NODISCARD;

#endif
