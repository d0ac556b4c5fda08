/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out-of-memory torture: an allocator that gives out so many blocks and then refuses, and counts
 * what was not given back.
 *
 *     for (int allowed = 0; !done; allowed++) {
 *         struct vt_torture torture;
 *         vt_torture_begin(&torture, allowed);
 *         … build the object; when that succeeded, free it and set done …
 *         assert_int_equal(vt_torture_end(&torture), 0);
 *     }
 *
 * No assertion may fail in between: it would leave the torture allocator in place.
 */
#ifndef VT_TORTURE_H
#define VT_TORTURE_H

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"

struct vt_torture {
    _Atomic int left;
    _Atomic int live; /* blocks out */
    struct vt_allocator allocator;
    struct vt_allocator before;
};

static inline void *vt_torture_alloc(void *ctx, size_t bytes, size_t alignment)
{
    struct vt_torture *torture = ctx;
    void *memory = NULL;

    if (atomic_fetch_sub(&torture->left, 1) <= 0) {
        return NULL;
    }
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) !=
        0) {
        return NULL;
    }
    atomic_fetch_add(&torture->live, 1);
    return memory;
}

static inline void vt_torture_free(void *ctx, void *memory)
{
    struct vt_torture *torture = ctx;

    if (memory != NULL) {
        atomic_fetch_sub(&torture->live, 1);
    }
    free(memory);
}

static inline void vt_torture_begin(struct vt_torture *torture, int allowed)
{
    atomic_init(&torture->left, allowed);
    atomic_init(&torture->live, 0);
    torture->allocator = (struct vt_allocator){vt_torture_alloc, vt_torture_free, torture};
    torture->before = vt_allocator_set(&torture->allocator);
}

/* Restores the allocator; returns how many blocks were not given back. */
static inline int vt_torture_end(struct vt_torture *torture)
{
    vt_allocator_set(&torture->before);
    return atomic_load(&torture->live);
}

#endif
