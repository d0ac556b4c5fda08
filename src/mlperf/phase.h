/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the detail log tells of a phase: for each set of samples that was loaded, what LoadGen would
 * have generated for it and when it was worked on. A performance run has one set, an accuracy run
 * goes through all.
 */
#ifndef VT_MLPERF_PHASE_H
#define VT_MLPERF_PHASE_H

#include "load/selection.h"

struct vt_mlperf_part {
    struct vt_sample_set set;
    uint64_t generated_queries;
    uint64_t generated_samples_per_query;
    int64_t generated_ns; /* the start of the query behind the last one */
    int64_t begin_ns;     /* of the work on it, since the start of the run */
    int64_t end_ns;       /* its last completion */
    bool ended_naturally; /* enough queries and time; LoadGen says so except in Server */
};

struct vt_mlperf_phase {
    const struct vt_load_report *report; /* borrowed */
    struct vt_sample_sets sets;
    size_t at;       /* the next set */
    uint64_t record; /* its first */
};

/* VT_ERR_MEMORY. Release also after a failure. */
enum vt_status vt_mlperf_phase_init(struct vt_mlperf_phase *phase,
                                    const struct vt_load_report *report,
                                    struct vt_error *err) VT_NODISCARD;
/* The next set that was worked on; false when there is none. */
bool vt_mlperf_phase_next(struct vt_mlperf_phase *phase, struct vt_mlperf_part *ret_part);
void vt_mlperf_phase_release(struct vt_mlperf_phase *phase);

#endif
