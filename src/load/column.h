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
    uint64_t limit_bytes;           /* UINT64_MAX: none */
    char *folder;                   /* owned; NULL: TMPDIR or /var/tmp */
    _Atomic uint64_t memory_bytes;  /* in use */
    _Atomic uint64_t spilled_bytes; /* in use */
    pthread_mutex_t lock;           /* of what follows */
    int fd;                         /* -1: no file yet */
    uint64_t file_bytes;
};

struct vt_column {
    struct vt_column_budget *budget; /* NULL: no column */
    char *base;
    uint64_t reserved_bytes;  /* address space */
    uint64_t committed_bytes; /* can be touched */
    uint64_t touched_bytes;   /* has been, so that it faults no more */
    uint64_t memory_bytes;    /* of the committed: the first so many are memory, the rest file */
};

#endif
