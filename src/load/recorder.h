/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a run: one vt_sample_record a sample, written by the issuing thread before the
 * sample is issued, completed by any thread without a lock.
 *
 * An id is the run's number in the high half, unique in the process, and the sample's sequence in
 * the low half. So a completion that comes twice, that answers nothing, or that answers an earlier
 * run is told from a good one, whatever the system under test sends.
 *
 * The records lie in chunks that never move: a directory of fixed size finds them. The first
 * chunks are one block, sized by what the run is expected to need; the rest are taken between
 * queries, before they are wanted.
 */
#ifndef VT_LOAD_RECORDER_H
#define VT_LOAD_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/query.h"
#include "core/report.h"

#define VT_RECORDER_CHUNK_BITS 16
#define VT_RECORDER_CHUNK      (UINT64_C(1) << VT_RECORDER_CHUNK_BITS)
#define VT_RECORDER_CHUNKS     (UINT64_C(1) << (32 - VT_RECORDER_CHUNK_BITS))

struct vt_response_store {
    pthread_mutex_t lock;
    struct vt_arena data;
    struct vt_load_response *list;
    uint64_t n, room;
    bool out_of_memory;
};

struct vt_recorder {
    /* Set once, read by all. */
    const struct vt_clock *clock; /* NULL: the machine's */
    struct vt_sample_record **directory;
    struct vt_sample_record *head; /* one block of head_chunks chunks */
    uint64_t head_chunks;
    uint64_t run; /* the high half of the ids */
    int64_t start_ns;
    bool keep_responses;
    /* The issuing thread's. */
    uint64_t chunks; /* in the directory */
    /* Written by the issuing thread, read by completers. */
    _Alignas(64) _Atomic uint64_t issued;
    _Atomic uint64_t wake_at; /* the issuing thread sleeps until so many are completed */
    _Atomic bool aborted;
    /* Written by completers. */
    _Alignas(64) _Atomic uint64_t completed;
    _Atomic uint32_t wake;
    /* Rare. */
    _Alignas(64) _Atomic uint64_t failed;
    _Atomic uint64_t doubled;
    _Atomic uint64_t invented;
    pthread_mutex_t failure_lock;
    char first_failure[256];
    struct vt_response_store responses;
};

/*
 * `expected` samples get their room at once (their pages when they are written). Keeps a copy of
 * every response where asked. Release also after a failure.
 */
enum vt_status vt_recorder_init(struct vt_recorder *recorder, const struct vt_clock *clock,
                                uint64_t expected, bool keep_responses,
                                struct vt_error *err) VT_NODISCARD;
void vt_recorder_release(struct vt_recorder *recorder);

/* What the sut reports to: ctx is the recorder. */
void vt_recorder_complete(void *ctx, const struct vt_completion *completions, size_t n);

/* The machine's clock without a detour, or the double that stands in its place. */
static inline int64_t vt_recorder_now_ns(const struct vt_recorder *recorder)
{
    return recorder->clock == NULL ? vt_now_ns() : recorder->clock->now_ns(recorder->clock->ctx);
}

/*
 * Room for n more samples, and a chunk ahead of that. Between queries. VT_ERR_MEMORY, or
 * VT_ERR_LIMIT when the run is longer than ids can count.
 */
enum vt_status vt_recorder_reserve(struct vt_recorder *recorder, uint64_t n,
                                   struct vt_error *err) VT_NODISCARD;

static inline struct vt_sample_record *vt_recorder_at(const struct vt_recorder *recorder,
                                                      uint64_t sequence)
{
    return &recorder
                ->directory[sequence >> VT_RECORDER_CHUNK_BITS][sequence & (VT_RECORDER_CHUNK - 1)];
}

/* The id of the sample with this sequence. */
static inline uint64_t vt_recorder_id(const struct vt_recorder *recorder, uint64_t sequence)
{
    return recorder->run << 32 | sequence;
}

/* The first failure wins; for what the recorder cannot see itself. */
void vt_recorder_first_failure(struct vt_recorder *recorder, const char *fmt, ...) VT_PRINTF(2, 3);

/*
 * The records of the run in one block, in order of issue. The chunks are given back one by one
 * while they are copied, or the first block is handed over as it is. Owned by the caller (vt_free).
 * No completion may come any more.
 */
enum vt_status vt_recorder_take(struct vt_recorder *recorder, struct vt_error *err,
                                struct vt_sample_record **ret_records) VT_NODISCARD;

#endif
