/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena of a plan: values that do not live at the same time share bytes.
 */
#ifndef VT_PLAN_MEMORY_H
#define VT_PLAN_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

/* A piece of memory that is needed from step `first` to step `last`, both included. */
struct vt_lifetime {
    size_t bytes;
    uint32_t first, last;
    size_t offset; /* the answer, a multiple of VT_ALIGNMENT */
};

/*
 * Finds an offset for each of n lifetimes so that no two that overlap in time overlap in memory,
 * and the size of the arena that holds them all. The largest are placed first, each in the
 * tightest gap that its contemporaries leave. The arena is never larger than the sum of the
 * rounded sizes. Errors: VT_ERR_MEMORY, VT_ERR_LIMIT when the sizes overflow.
 */
enum vt_status vt_memory_plan(struct vt_lifetime *lifetimes, size_t n, struct vt_error *err,
                              size_t *ret_arena_bytes) VT_NODISCARD;

#endif
