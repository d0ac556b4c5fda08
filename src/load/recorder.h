/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a run: one vt_sample_record a sample, written by the issuing thread before the
 * sample is issued, completed by any thread without a lock.
 *
 * Every issuing thread has a track of its own: its records, its counters, its sleep. Two issuing
 * threads share no cache line, and a completion touches only the lines of its sample's track.
 *
 * An id is the run's number (24 bits, counted in the process), the track (8 bits) and the sample's
 * sequence in the track (32 bits). So a completion that comes twice, that answers nothing, or that
 * answers an earlier run is told from a good one, whatever the system under test sends.
 *
 * A track's records are one array that never moves (load/column.h): address space is reserved for
 * as many as ids can count, and memory, or beyond a limit an unlinked file, is put there between
 * queries, ahead of need. Tokens, marks and the like are further columns beside it.
 *
 * How an issuing thread goes about n samples:
 *
 *     vt_recorder_reserve(r, track, n, err)            room; the only step that may take time
 *     vt_recorder_open(r, track, seq, index, query)    for each; everything but the times
 *     vt_recorder_mark(r, track, seq)                  for those whose response is kept
 *     vt_recorder_at(r, track, seq)->scheduled_ns = …  and issued_ns
 *     atomic_store_explicit(&r->tracks[track].issued, seq + n, memory_order_release)
 *
 * and only then hands them over. `query` rises in a track, and is the same only for the samples of
 * one query, which lie side by side in one track.
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
#include "load/column.h"

/* Issuing threads. */
#define VT_TRACKS_MAX 64

enum vt_keep {
    VT_KEEP_NONE,
    VT_KEEP_ALL,
    VT_KEEP_MARKED, /* the responses of the samples that vt_recorder_mark named */
};

struct vt_recorder_config {
    const struct vt_clock *clock; /* NULL: the machine's; outlives the recorder */
    uint32_t n_tracks;            /* 1..VT_TRACKS_MAX */
    uint64_t expected;            /* samples a track; gets its memory at once */
    enum vt_keep keep;
    bool tokens;                 /* count tokens, time the first one */
    bool whole_batch;            /* Offline: samples may be done without a first token */
    uint64_t memory_limit_bytes; /* of all columns of all tracks; 0: none */
    const char *spill_folder;    /* copied; NULL: TMPDIR or /var/tmp */
};

/* One issuing thread's part. Lines by who writes them. */
struct vt_track {
    /* Set once, read by all. NULL where the column is not kept. */
    _Alignas(64) struct vt_sample_record *records;
    struct vt_token_record *tokens;
    _Atomic uint64_t *marks;       /* a bit a sample */
    _Atomic uint32_t *first_bytes; /* a sample's entry in the store of first tokens, plus 1 */
    /* Written by the issuing thread, read by completers. */
    _Alignas(64) _Atomic uint64_t issued;
    _Atomic uint64_t wake_at; /* its thread sleeps until so many are completed; UINT64_MAX: not */
    /* Written by completers. */
    _Alignas(64) _Atomic uint64_t completed;
    _Atomic uint32_t wake; /* the word to sleep on */
    /* The issuing thread's alone. */
    _Alignas(64) uint64_t ready; /* records that are there to be written without a fault */
    struct vt_column record_column, token_column, mark_column, first_column;
};

struct vt_response_store {
    pthread_mutex_t lock;
    struct vt_arena data;
    struct vt_load_response *list;
    uint64_t n, room;
    struct vt_first_token *firsts; /* of kept responses, in order of arrival */
    uint64_t n_firsts, firsts_room;
    bool out_of_memory;
};

struct vt_first_token {
    const void *data;
    size_t bytes;
};

struct vt_recorder {
    /* Set once, read by all. */
    const struct vt_clock *clock; /* NULL: the machine's */
    struct vt_track *tracks;
    uint32_t n_tracks;
    uint64_t ordinal; /* of the run in the process, from 1 */
    uint32_t run;     /* the highest 24 bits of the ids, from the ordinal */
    enum vt_keep keep;
    bool counts_tokens, whole_batch;
    _Atomic int64_t start_ns; /* set before the first issue; the zero of the records */
    _Atomic bool aborted;     /* the run has ended; what still comes is late */
    /* Rare. */
    _Alignas(64) _Atomic uint64_t failed;
    _Atomic uint64_t doubled;
    _Atomic uint64_t invented;
    _Atomic uint64_t late;         /* of the completed: after `aborted` */
    _Atomic uint64_t token_errors; /* first tokens and numbers of tokens that cannot be */
    struct vt_column_budget budget;
    pthread_mutex_t failure_lock;
    char first_failure[256];
    struct vt_load_note notes[VT_NOTES_MAX];
    uint32_t n_notes;
    uint64_t notes_dropped, errors_dropped; /* the latter among the former */
    struct vt_response_store responses;
};

/*
 * VT_ERR_MEMORY; VT_ERR_WRITE when the limit leaves what is expected to a file that cannot be.
 * Release also after a failure.
 */
enum vt_status vt_recorder_init(struct vt_recorder *recorder,
                                const struct vt_recorder_config *config,
                                struct vt_error *err) VT_NODISCARD;
void vt_recorder_release(struct vt_recorder *recorder);

/* The two functions of the sink that the sut reports to: ctx is the recorder. */
void vt_recorder_complete(void *ctx, const struct vt_completion *completions, size_t n);
void vt_recorder_first_token(void *ctx, const struct vt_completion *firsts, size_t n);

/* The machine's clock without a detour, or the double that stands in its place. */
static inline int64_t vt_recorder_now_ns(const struct vt_recorder *recorder)
{
    return recorder->clock == NULL ? vt_now_ns() : recorder->clock->now_ns(recorder->clock->ctx);
}

/* The part of vt_recorder_reserve that takes time. */
enum vt_status vt_recorder_grow(struct vt_recorder *recorder, uint32_t track, uint64_t n,
                                struct vt_error *err) VT_NODISCARD;

/*
 * Room for n samples beyond those issued. Its track's thread, between queries. VT_ERR_MEMORY;
 * VT_ERR_WRITE when records go to a file and the disk is full; VT_ERR_LIMIT when the run is longer
 * than ids can count.
 */
VT_NODISCARD static inline enum vt_status
vt_recorder_reserve(struct vt_recorder *recorder, uint32_t track, uint64_t n, struct vt_error *err)
{
    const struct vt_track *t = &recorder->tracks[track];
    uint64_t issued = atomic_load_explicit(&t->issued, memory_order_relaxed);
    return n <= t->ready - issued ? VT_OK : vt_recorder_grow(recorder, track, n, err);
}

static inline struct vt_sample_record *vt_recorder_at(const struct vt_recorder *recorder,
                                                      uint32_t track, uint64_t sequence)
{
    return &recorder->tracks[track].records[sequence];
}

/* Everything about the next sample but its times. Its track's thread. */
static inline void vt_recorder_open(const struct vt_recorder *recorder, uint32_t track,
                                    uint64_t sequence, uint32_t index, uint32_t query)
{
    const struct vt_track *t = &recorder->tracks[track];
    struct vt_sample_record *record = &t->records[sequence];
    record->done_ns = VT_RECORD_LOST;
    record->index = index;
    record->query = query;
    if (t->tokens != NULL) {
        t->tokens[sequence] = (struct vt_token_record){.first_ns = VT_RECORD_LOST};
    }
}

/* The response to this sample is kept. Before it is issued; only with VT_KEEP_MARKED. */
static inline void vt_recorder_mark(const struct vt_recorder *recorder, uint32_t track,
                                    uint64_t sequence)
{
    _Atomic uint64_t *word = &recorder->tracks[track].marks[sequence / 64];
    /* Completers only read it, and nobody else writes this track's. */
    uint64_t bits = atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(word, bits | UINT64_C(1) << sequence % 64, memory_order_relaxed);
}

/* The id of the sample with this sequence in this track. */
static inline uint64_t vt_recorder_id(const struct vt_recorder *recorder, uint32_t track,
                                      uint64_t sequence)
{
    return (uint64_t)recorder->run << 40 | (uint64_t)track << 32 | sequence;
}

/* Of all tracks together. */
uint64_t vt_recorder_issued(const struct vt_recorder *recorder);
uint64_t vt_recorder_completed(const struct vt_recorder *recorder);

/* The first failure wins; for what the recorder cannot see itself. Any thread. */
void vt_recorder_first_failure(struct vt_recorder *recorder, const char *fmt, ...) VT_PRINTF(2, 3);

/* A line for the log of the run, an error or a warning, with the time. Any thread. The first
 * VT_NOTES_MAX are kept, the others counted. */
void vt_recorder_note(struct vt_recorder *recorder, bool is_error, const char *fmt, ...)
    VT_PRINTF(3, 4);

/*
 * The first sample, by its query, that has no completion; false when there is none. After the last
 * word of the sut, before the records are taken.
 */
bool vt_recorder_first_lost(const struct vt_recorder *recorder, uint32_t *ret_track,
                            uint64_t *ret_sequence);

/* The records of a run. Owned by whoever took them; vt_record_block_release. */
struct vt_record_block {
    struct vt_sample_record *records;
    struct vt_token_record *tokens; /* NULL unless tokens are counted */
    uint64_t n;
    uint64_t record_bytes;  /* what the columns took, on disk too */
    uint64_t spilled_bytes; /* of them on disk */
    /* What holds them. */
    struct vt_column record_column, token_column;
};

/*
 * The records of the run in one array, in order of `query`, the tokens beside them. A single track
 * is handed over as it is; several are merged and given back bit by bit meanwhile. From here on
 * `sequence` of the kept responses is the place of their record; before, it is the low 40 bits of
 * the id. No completion may come any more. Errors as for reserve.
 */
enum vt_status vt_recorder_take(struct vt_recorder *recorder, struct vt_error *err,
                                struct vt_record_block *ret_block) VT_NODISCARD;
void vt_record_block_release(struct vt_record_block *block); /* accepts a zeroed one */

/*
 * What the recorder saw of a run: counts of samples, first failure, notes. After the last word of
 * the sut; the records are taken apart from this.
 */
void vt_recorder_tell(const struct vt_recorder *recorder, struct vt_load_report *report);

#endif
