/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lane of an engine with its input buffers: makes a request of some samples, runs it, and
 * turns its outputs into responses.
 *
 * Threading: a lane is used by one thread at a time.
 */
#ifndef VT_SUT_LANE_H
#define VT_SUT_LANE_H

#include <stdbool.h>

#include "core/query.h"
#include "core/workload.h"
#include "vatio/engine.h"

/* What all lanes of a sut share; borrowed. */
struct vt_lane_context {
    const struct vt_engine_ops *ops;
    void *engine;
    const struct vt_signature *signature;
    const struct vt_workload_ops *workload_ops;
    void *workload;
    uint32_t batch; /* the largest request */
    int64_t request_timeout_ns;
};

struct vt_lane {
    const struct vt_lane_context *context;
    void *handle; /* the engine's lane */
    uint32_t index;
    uint64_t next_request;
    bool broken; /* the engine failed or lost a request: its buffers may be in use for ever */
    struct vt_error failure; /* why */
    void **buffers;          /* one an input, for `batch` samples; filled in when first needed */
    size_t *buffer_bytes;
    struct vt_tensor *inputs;          /* of the request in flight */
    struct vt_tensor *views;           /* n_inputs of one sample */
    struct vt_tensor *outputs;         /* n_outputs of one sample */
    struct vt_completion *completions; /* batch */
    unsigned char *responses;          /* batch * VT_RESPONSE_MAX */
    int64_t start_ns, end_ns;          /* of the last request's computing; 0 when it failed */
};

enum vt_status vt_lane_init(struct vt_lane *lane, const struct vt_lane_context *context,
                            uint32_t index, struct vt_error *err) VT_NODISCARD;
void vt_lane_release(struct vt_lane *lane); /* accepts a zeroed one */

/*
 * Runs n samples (1..batch) as one request and fills lane->completions[0..n): a failure of any kind
 * becomes the status of the completions. An answer that arrives twice is given to `sink` twice; the
 * first tokens that the engine shows before its answer go there too. `sink` may be NULL.
 * Returns the time the engine says it computed, 0 when it failed.
 */
int64_t vt_lane_run(struct vt_lane *lane, const struct vt_query_sample *samples, size_t n,
                    const struct vt_completion_sink *sink);

#endif
