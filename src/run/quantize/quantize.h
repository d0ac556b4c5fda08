/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A float32 model and some samples become an int8 model: the ranges of activations are found by
 * running the samples on the native engine, layers that cost too much are left as they are, and
 * what comes out is compared with what went in.
 *
 * Threading: one vt_quantize_model at a time; it blocks.
 */
#ifndef VT_RUN_QUANTIZE_H
#define VT_RUN_QUANTIZE_H

#include "core/workload.h"
#include "run/job.h"

struct vt_quantize_job {
    struct vt_job job;     /* first: the options of `vatio run` keep their places */
    const char *calibrate; /* a data set's path, or the name of a workload */
    const char *file;      /* NULL: the model's name with .int8 before .onnx */
    int method;            /* enum vt_range_method */
    double percentile;
    int64_t samples;
    const char *skip; /* "auto", "none", or names of layers joined by commas */
    double least_db;  /* of --skip auto */
    int activations;  /* 0: uint8, 1: int8 */
};

/* Built on first use. Static storage; thread-safe. */
VT_API const struct vt_option_table *vt_quantize_options(void);

/* "minmax"; "uint8": of the job's method and activations. */
const char *vt_quantize_method_name(int method);
const char *vt_quantize_type_name(int activations);

/* What became of a layer. */
struct vt_quantized_layer {
    const char *name, *op;
    int64_t weights;
    bool folded_norm;
    bool quantised;
    bool measured; /* then the following is set */
    double db;     /* signal to noise of the outputs with this layer alone quantised; infinite where
                      nothing changes */
    const char *reason; /* why it was left out; "" where it was not */
};

struct vt_quantize_report {
    char model_name[256];
    char data[192]; /* what was calibrated on */
    const char *method;
    uint64_t samples;
    uint32_t n_layers;
    struct vt_quantized_layer *layers;
    bool has_db;
    double db; /* signal to noise of the outputs, all in all, on the samples */
    bool has_quality;
    struct vt_quality before, after;
    uint64_t bytes_before, bytes_after; /* of the files; 0 where there is none */
    char *path;
};

struct vt_session;

/* A model of which layers are quantised, in memory. */
struct vt_quantized_model {
    void *bytes; /* vt_free */
    size_t size;
    uint64_t samples; /* it was calibrated on */
    uint32_t n_layers, n_quantised;
};
/*
 * The model of a session whose engine and workload are started (vt_session_start_engine), by the
 * defaults of `vatio quantize`, on at most `samples` samples of its data. Without `judge` no layer
 * is left out for what it costs, which saves a run of the model for each.
 */
enum vt_status vt_quantize_session(struct vt_session *session, uint64_t samples, bool judge,
                                   struct vt_error *err,
                                   struct vt_quantized_model *ret) VT_NODISCARD;

/* Errors as of vt_run. Without success no file is left. The caller frees the report. */
VT_API enum vt_status vt_quantize_model(const struct vt_options *options, const char *model,
                                        struct vt_error *err,
                                        struct vt_quantize_report **ret_report) VT_NODISCARD;
VT_API void vt_quantize_report_free(struct vt_quantize_report *report); /* accepts NULL */

#endif
