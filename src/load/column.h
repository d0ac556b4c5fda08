/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array that grows without moving: address space is reserved at once, memory is put there step
 * by step. Beyond a budget that many columns share, the steps are pages of an unlinked file, whose
 * space is taken from the disk before they are touched: a full disk is an error, never a signal.
 *
 * Threading: a column is grown by one thread at a time; the budget may be used by many. What has
 * been grown may be read and written by any thread.
 */
#ifndef VT_LOAD_COLUMN_H
#define VT_LOAD_COLUMN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

/* The memory of all columns of a run, and the file for what exceeds it. */
struct vt_column_budget {
    uint64_t limit_bytes;          /* UINT64_MAX: none */
    char *folder;                  /* owned; NULL: TMPDIR or /var/tmp */
    _Atomic uint64_t memory_bytes; /* committed and not given back */
    pthread_mutex_t lock;          /* of what follows */
    int fd;                        /* -1: no file yet */
    uint64_t file_bytes;
};

struct vt_column {
    struct vt_column_budget *budget; /* NULL when the column has outlived it */
    char *base;                      /* NULL: no column */
    uint64_t reserved_bytes;         /* address space */
    uint64_t committed_bytes;        /* can be touched */
    uint64_t touched_bytes;          /* has been, so that it faults no more */
    uint64_t memory_bytes;  /* of the committed the first so many are memory, the rest file */
    uint64_t dropped_bytes; /* given back at the front */
    void *mapping;          /* what base lies in */
    uint64_t mapping_bytes;
};

/* limit_bytes 0: none. The folder is copied; it is looked at when it is needed. VT_ERR_MEMORY. */
enum vt_status vt_column_budget_init(struct vt_column_budget *budget, uint64_t limit_bytes,
                                     const char *folder, struct vt_error *err) VT_NODISCARD;
void vt_column_budget_release(struct vt_column_budget *budget);

/*
 * Reserves address space for most_bytes, or as much of it as there is, but for least_bytes in any
 * case. Takes no memory. VT_ERR_MEMORY.
 */
enum vt_status vt_column_init(struct vt_column *column, struct vt_column_budget *budget,
                              uint64_t least_bytes, uint64_t most_bytes,
                              struct vt_error *err) VT_NODISCARD;
void vt_column_release(struct vt_column *column); /* accepts a zeroed one */

/*
 * Makes at least `bytes` from the start usable, and touches them (and no more than a step beyond),
 * so that writing there takes no page fault. Fresh bytes are zero. VT_ERR_MEMORY, VT_ERR_WRITE;
 * VT_ERR_LIMIT beyond the reserved.
 */
enum vt_status vt_column_grow(struct vt_column *column, uint64_t bytes,
                              struct vt_error *err) VT_NODISCARD;
/* The same for a size that is known in advance: large pages where the machine has them. */
enum vt_status vt_column_grow_large(struct vt_column *column, uint64_t bytes,
                                    struct vt_error *err) VT_NODISCARD;

/* Gives back what lies before `bytes`; it is not read again. */
void vt_column_drop(struct vt_column *column, uint64_t bytes);

/* Of the committed, what lies in the file. */
static inline uint64_t vt_column_spilled(const struct vt_column *column)
{
    return column->committed_bytes - column->memory_bytes;
}

/* No more growth: from here on the column needs its budget no longer, and is read from the start
 * to the end. */
void vt_column_finish(struct vt_column *column);

#endif
