/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a sample goes inside a system under test, from its admission to its completion.
 * The stages follow one another without a gap.
 */
#ifndef VT_CORE_STAGES_H
#define VT_CORE_STAGES_H

#include <stdbool.h>
#include <stdint.h>

enum vt_stage {
    VT_STAGE_QUEUE,    /* no lane was free */
    VT_STAGE_BATCH,    /* one was: waiting for company, and for its thread to wake up */
    VT_STAGE_COPY,     /* collating the batch and handing it over, until computing begins */
    VT_STAGE_COMPUTE,  /* what the engine says */
    VT_STAGE_COMPLETE, /* reading outputs, making the response */
    VT_STAGE_COUNT,
};

/* Of all samples that have a result; percentiles are known to about 1 %. */
struct vt_stage_times {
    uint64_t samples; /* 0: nothing was measured */
    struct {
        int64_t mean_ns, p50_ns, p99_ns;
    } stage[VT_STAGE_COUNT];
};

/* "queue", "batch_wait", "copy", "compute", "completion": as result.json writes them. */
const char *vt_stage_key(enum vt_stage stage);

#endif
