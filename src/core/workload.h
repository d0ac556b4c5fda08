/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload seam: a task with data. It reads samples, prepares them for a model, turns the
 * model's outputs into a short response, and scores responses.
 *
 * Life: open (knows the model's signature) → info → load … sample … finish … unload → score →
 * close.
 */
#ifndef VT_CORE_WORKLOAD_H
#define VT_CORE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/engine.h"
#include "vatio/tensor.h"

#define VT_WORKLOAD_API_VERSION 1
/* The longest response that finish() may write. */
#define VT_RESPONSE_MAX 64

/* An input whose integers are places in a table: any from 0 to below the bound is one. */
struct vt_index_bound {
    const char *input;
    int64_t bound;
};

/* How a workload is opened. Everything is borrowed until close(). NULL and 0 mean "not said". */
struct vt_workload_config {
    const char *model_path;     /* for a MODEL.vatio file beside it; NULL for a built-in model */
    const char *dataset;        /* folder or file */
    const char *labels;         /* a label list, where it is not in the dataset */
    uint64_t sample_count;      /* use only the first so many samples; 0: all */
    uint64_t performance_count; /* samples to keep in memory; 0: the workload decides */
    uint64_t seed;              /* of generated data */
    bool skip_bad;              /* a sample that cannot be read is left out, not fatal */
    /* image-classification */
    const char *preprocess; /* raw | imagenet | tf */
    const char *mean;       /* one or three numbers, "123.68,116.78,103.94" */
    const char *std;
    const char *scale;        /* one number */
    const char *channels;     /* rgb | bgr */
    const char *resize;       /* shorter side in pixels, or WxH */
    const char *crop;         /* fraction of the image, or pixels */
    const char *label_offset; /* added to a label before it is compared with the model's class */
    /* tensor: NAME=FILE */
    const char *const *inputs;
    size_t n_inputs;
    const char *const *expects;
    size_t n_expects;
    const struct vt_index_bound *bounds; /* for generated integers, where they are known */
    size_t n_bounds;
    double rtol; /* relative and absolute tolerance of expects, as they are: 0 is exact */
    double atol;
};

struct vt_workload_info {
    const char *name;           /* "image-classification" */
    char description[192];      /* one line for the header: data set, size, preprocessing */
    uint64_t total_count;       /* samples; at least 1 */
    uint64_t performance_count; /* at least 1 */
    uint64_t skipped;           /* bad samples left out */
    bool has_quality;           /* whether score() can say anything */
    int64_t latency_bound_ns;   /* the task's own bound for Server; 0: none */
};

/* What score() found. Percentages are in percent. */
struct vt_quality {
    char metric[32]; /* "top-1" */
    char unit[16];   /* "%" */
    double value;
    bool has_target;
    double target; /* pass means value >= target, or <= where smaller is better */
    bool smaller_is_better;
    bool pass;         /* true without a target */
    uint64_t count;    /* samples scored */
    char detail[192];  /* "on 360 held-out images" */
    char failure[400]; /* why pass is false, where value and target do not say it all: the worst
                          element and what was expected of it */
};

/* One scored response: what finish() wrote for a sample. */
struct vt_response {
    uint64_t index;
    const void *data;
    size_t bytes;
};

struct vt_workload_ops {
    uint32_t api_version; /* VT_WORKLOAD_API_VERSION */
    uint32_t struct_size;
    const char *name;
    const char *summary; /* one line for `vatio list` */
    /*
     * Reads what is needed to know the samples, not the samples. `signature` is the model's, with
     * the user's shapes applied; borrowed until close(). May block. On success the caller owns
     * *ret_workload and gives it back to close().
     */
    enum vt_status (*open)(const struct vt_workload_config *config,
                           const struct vt_signature *signature, struct vt_error *err,
                           void **ret_workload);
    void (*close)(void *workload); /* accepts NULL */
    void (*info)(void *workload, struct vt_workload_info *ret_info);
    /*
     * The shapes it wants where the model leaves extents open (beyond the batch), so that the
     * engine can be opened with them; optional. Called before open() with the same config. At most
     * `capacity` bindings whose names are borrowed from the signature.
     */
    enum vt_status (*shapes)(const struct vt_workload_config *config,
                             const struct vt_signature *signature, struct vt_error *err,
                             struct vt_shape_binding *ret_shapes, uint32_t capacity,
                             uint32_t *ret_n);
    /* Brings samples into memory, ready to be collated; unload drops them. One thread. */
    enum vt_status (*load)(void *workload, const uint64_t *indices, size_t n, struct vt_error *err);
    void (*unload)(void *workload, const uint64_t *indices, size_t n);
    /*
     * One view an input, in the order of the signature, of a loaded sample: dimension 0 is 1 where
     * the model has a batch dimension. Borrowed until unload. Any thread, several at once; no
     * allocation.
     */
    void (*sample)(void *workload, uint64_t index, struct vt_tensor *ret_inputs);
    /*
     * The model's outputs for one sample (views with dimension 0 = 1) to a response of at most
     * VT_RESPONSE_MAX bytes. Any thread, several at once; no allocation; must not block.
     */
    enum vt_status (*finish)(void *workload, uint64_t index, const struct vt_tensor *outputs,
                             uint32_t n_outputs, void *ret_response, size_t *ret_bytes,
                             struct vt_error *err);
    /* Optional: the quality of a whole accuracy run. That a target was missed is no error. */
    enum vt_status (*score)(void *workload, const struct vt_response *responses, size_t n,
                            struct vt_error *err, struct vt_quality *ret_quality);
};

#endif
