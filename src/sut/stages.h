/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how long samples spend in each stage, in bins that grow with the time (64 to a power of
 * two), so that a sample costs some increments and no memory.
 *
 * Threading: a struct belongs to one thread at a time.
 */
#ifndef VT_SUT_STAGES_H
#define VT_SUT_STAGES_H

#include <stddef.h>

#include "core/stages.h"

/* Up to 2^44 ns, which is near five hours; what is longer counts as that. */
#define VT_STAGE_POWERS 44
#define VT_STAGE_FINE   64
#define VT_STAGE_BINS   ((size_t)(VT_STAGE_POWERS - 5) * VT_STAGE_FINE)

struct vt_stage_bins {
    uint64_t samples;
    double sum_ns;
    uint64_t bin[VT_STAGE_BINS];
};

struct vt_stages {
    struct vt_stage_bins stage[VT_STAGE_COUNT];
};

/* n samples that spent `ns` each; a negative time counts as none. */
void vt_stages_add(struct vt_stages *stages, enum vt_stage stage, int64_t ns, uint64_t n);
/* Adds another thread's counts. */
void vt_stages_merge(struct vt_stages *into, const struct vt_stages *from);
void vt_stages_times(const struct vt_stages *stages, struct vt_stage_times *ret_times);

#endif
