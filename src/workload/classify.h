/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What classification tasks share: which output names the class, the predicted class as the
 * response, and top-1 accuracy.
 *
 * The response is the predicted class as the model counts it, a little-endian int32, the form that
 * MLPerf's accuracy script for ImageNet reads with --dtype int32. -1: the outputs held no number.
 */
#ifndef VT_WORKLOAD_CLASSIFY_H
#define VT_WORKLOAD_CLASSIFY_H

#include "core/workload.h"

/* A label that is not known: such a sample is not scored. */
#define VT_NO_LABEL INT64_MIN

struct vt_class_output {
    uint32_t index;   /* of the output in the signature */
    bool holds_class; /* an integer output that is the class itself (an ArgMax in the model) */
    int64_t classes;  /* -1: not known before a run */
};

/*
 * Takes the first floating-point output that is a list of scores (one extent above 1 beside the
 * batch, or open), else the first integer output that is one number a sample. VT_ERR_UNSUPPORTED
 * lists the outputs when there is neither.
 */
enum vt_status vt_class_output_find(const struct vt_signature *signature, struct vt_error *err,
                                    struct vt_class_output *ret) VT_NODISCARD;
/* The largest score of the sample's outputs (the first of equal ones; NaN never is) as a
 * response. */
enum vt_status vt_class_output_finish(const struct vt_class_output *output,
                                      const struct vt_tensor *outputs, uint32_t n_outputs,
                                      void *ret_response, size_t *ret_bytes,
                                      struct vt_error *err) VT_NODISCARD;

/*
 * Top-1 in percent over the responses whose label is known: labels[index] + offset is the class.
 * A response of the wrong length, that of a sample which failed, counts as wrong. Fills metric,
 * unit, value, count and pass; VT_ERR_FORMAT when an index is not below n_labels, VT_ERR_USAGE
 * when nothing can be scored.
 */
enum vt_status vt_class_score(const int64_t *labels, uint64_t n_labels, int64_t offset,
                              const struct vt_response *responses, size_t n, struct vt_error *err,
                              struct vt_quality *ret_quality) VT_NODISCARD;

#endif
