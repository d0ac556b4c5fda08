/* SPDX-License-Identifier: Apache-2.0 */
/* From the tracks of a recorder to one block of records, and what else a report wants of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "load/recorder.h"

/* Records between two steps of giving the tracks back. */
#define DROP_RECORDS UINT64_C(65536)
/* Between the sequences of two tracks' responses before they are merged. */
#define TRACK_STEP (UINT64_C(1) << 32)

static void adopt(struct vt_record_block *block, const struct vt_column *records,
                  const struct vt_column *tokens)
{
    block->record_column = *records;
    block->token_column = *tokens;
    block->records = (struct vt_sample_record *)(void *)records->base;
    block->tokens = (struct vt_token_record *)(void *)tokens->base;
    vt_column_finish(&block->record_column);
    vt_column_finish(&block->token_column);
}

/* One track, as it is. */
static void hand_over(struct vt_track *t, struct vt_record_block *block)
{
    adopt(block, &t->record_column, &t->token_column);
    memset(&t->record_column, 0, sizeof(t->record_column));
    memset(&t->token_column, 0, sizeof(t->token_column));
    block->n = atomic_load(&t->issued);
}

struct merge {
    struct vt_recorder *r;
    struct vt_record_block *block;
    struct vt_column records, tokens;
    uint64_t at[VT_TRACKS_MAX]; /* the next record of each track */
    uint64_t issued[VT_TRACKS_MAX];
    struct vt_load_response **responses; /* in order of track and sequence, as merging meets them */
    uint64_t next_response[VT_TRACKS_MAX], end_response[VT_TRACKS_MAX];
    uint64_t n; /* merged */
};

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = (*(struct vt_load_response *const *)a)->sequence;
    uint64_t y = (*(struct vt_load_response *const *)b)->sequence;
    return x < y ? -1 : x > y;
}

static enum vt_status sort_responses(struct merge *m, struct vt_error *err)
{
    struct vt_response_store *store = &m->r->responses;
    if (store->n == 0) {
        return VT_OK;
    }
    m->responses = vt_calloc(store->n, sizeof(struct vt_load_response *));
    if (m->responses == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory to order %" PRIu64 " responses",
                            store->n);
    }
    for (uint64_t i = 0; i < store->n; i++) {
        m->responses[i] = &store->list[i];
    }
    qsort(m->responses, store->n, sizeof(struct vt_load_response *), by_sequence);
    uint64_t i = 0;
    for (uint32_t track = 0; track < m->r->n_tracks; track++) {
        m->next_response[track] = i;
        while (i < store->n && m->responses[i]->sequence >> 32 == track) {
            i++;
        }
        m->end_response[track] = i;
    }
    return VT_OK;
}

static bool is_left(const struct merge *m, uint32_t track)
{
    return m->at[track] < m->issued[track];
}

static uint32_t next_query(const struct merge *m, uint32_t track)
{
    return m->r->tracks[track].records[m->at[track]].query;
}

/*
 * The track with the lowest query. Threads mostly take turns, so the one after the last is asked
 * first, and then the last itself.
 */
static uint32_t lowest_track(const struct merge *m, uint32_t last, uint32_t last_query)
{
    uint32_t after = last + 1 < m->r->n_tracks ? last + 1 : 0;
    if (is_left(m, after) && next_query(m, after) == last_query + 1) {
        return after;
    }
    if (is_left(m, last) && next_query(m, last) == last_query + 1) {
        return last;
    }
    uint32_t best = VT_TRACKS_MAX;
    for (uint32_t track = 0; track < m->r->n_tracks; track++) {
        if (is_left(m, track) &&
            (best == VT_TRACKS_MAX || next_query(m, track) < next_query(m, best))) {
            best = track;
        }
    }
    return best;
}

/* Room for one step more, out of what the tracks need no longer. */
static enum vt_status shift_room(struct merge *m, struct vt_error *err)
{
    for (uint32_t track = 0; track < m->r->n_tracks; track++) {
        struct vt_track *t = &m->r->tracks[track];
        vt_column_drop(&t->record_column, m->at[track] * sizeof(*t->records));
        vt_column_drop(&t->token_column, m->at[track] * sizeof(*t->tokens));
    }
    uint64_t n = m->n + DROP_RECORDS;
    n = n < m->block->n ? n : m->block->n;
    enum vt_status st = vt_column_grow(&m->records, n * sizeof(struct vt_sample_record), err);
    if (st == VT_OK && m->tokens.base != NULL) {
        st = vt_column_grow(&m->tokens, n * sizeof(struct vt_token_record), err);
    }
    return st;
}

static void move_one(struct merge *m, uint32_t track)
{
    const struct vt_track *t = &m->r->tracks[track];
    uint64_t sequence = m->at[track]++;
    ((struct vt_sample_record *)(void *)m->records.base)[m->n] = t->records[sequence];
    if (t->tokens != NULL) {
        ((struct vt_token_record *)(void *)m->tokens.base)[m->n] = t->tokens[sequence];
    }
    uint64_t next = m->next_response[track];
    if (next < m->end_response[track] &&
        m->responses[next]->sequence == track * TRACK_STEP + sequence) {
        m->responses[next]->sequence = m->n;
        m->next_response[track]++;
    }
    m->n++;
}

static enum vt_status move_all(struct merge *m, struct vt_error *err)
{
    uint32_t track = m->r->n_tracks - 1;
    uint32_t query = UINT32_MAX; /* so that the first one expected is query 0 of track 0 */
    while (m->n < m->block->n) {
        if (m->n % DROP_RECORDS == 0) {
            enum vt_status st = shift_room(m, err);
            if (st != VT_OK) {
                return st;
            }
        }
        if (!is_left(m, track) || next_query(m, track) != query) {
            track = lowest_track(m, track, query);
            query = next_query(m, track);
        }
        move_one(m, track);
    }
    return VT_OK;
}

static enum vt_status merge(struct vt_recorder *r, uint64_t n, struct vt_error *err,
                            struct vt_record_block *block)
{
    struct merge m = {.r = r, .block = block};
    block->n = n;
    for (uint32_t track = 0; track < r->n_tracks; track++) {
        m.issued[track] = atomic_load(&r->tracks[track].issued);
    }
    uint64_t bytes = n * sizeof(struct vt_sample_record);
    enum vt_status st = vt_column_init(&m.records, &r->budget, bytes, bytes, err);
    if (st == VT_OK && r->counts_tokens) {
        bytes = n * sizeof(struct vt_token_record);
        st = vt_column_init(&m.tokens, &r->budget, bytes, bytes, err);
    }
    if (st == VT_OK) {
        st = sort_responses(&m, err);
    }
    if (st == VT_OK) {
        st = move_all(&m, err);
    }
    vt_free(m.responses);
    if (st != VT_OK) {
        vt_column_release(&m.records);
        vt_column_release(&m.tokens);
        return st;
    }
    adopt(block, &m.records, &m.tokens);
    return VT_OK;
}

/* What the tracks hold, and how much of it is on disk. */
static void measure(const struct vt_recorder *r, struct vt_record_block *block)
{
    for (uint32_t track = 0; track < r->n_tracks; track++) {
        const struct vt_track *t = &r->tracks[track];
        const struct vt_column *columns[] = {&t->record_column, &t->token_column, &t->mark_column,
                                             &t->first_column};
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
            block->record_bytes += columns[i]->touched_bytes;
            block->spilled_bytes += vt_column_spilled(columns[i]);
        }
    }
}

enum vt_status vt_recorder_take(struct vt_recorder *recorder, struct vt_error *err,
                                struct vt_record_block *ret_block)
{
    struct vt_recorder *r = recorder;
    struct vt_record_block block = {0};
    uint64_t n = vt_recorder_issued(r);
    uint32_t used = 0, only = 0;
    for (uint32_t track = 0; track < r->n_tracks; track++) {
        if (atomic_load(&r->tracks[track].issued) > 0) {
            used++;
            only = track;
        }
    }
    measure(r, &block);
    if (used > 1) {
        enum vt_status st = merge(r, n, err, &block);
        if (st != VT_OK) {
            return st;
        }
    } else {
        hand_over(&r->tracks[only], &block);
        for (uint64_t i = 0; i < r->responses.n; i++) {
            r->responses.list[i].sequence &= UINT32_MAX;
        }
    }
    *ret_block = block;
    return VT_OK;
}

bool vt_recorder_first_lost(const struct vt_recorder *recorder, uint32_t *ret_track,
                            uint64_t *ret_sequence)
{
    const struct vt_sample_record *first = NULL;
    for (uint32_t track = 0; track < recorder->n_tracks; track++) {
        const struct vt_track *t = &recorder->tracks[track];
        uint64_t n = atomic_load(&t->issued), i = 0;
        while (i < n && t->records[i].done_ns != VT_RECORD_LOST) {
            i++;
        }
        if (i < n && (first == NULL || t->records[i].query < first->query)) {
            first = &t->records[i];
            *ret_track = track;
            *ret_sequence = i;
        }
    }
    return first != NULL;
}

void vt_record_block_release(struct vt_record_block *block)
{
    vt_column_release(&block->record_column);
    vt_column_release(&block->token_column);
    memset(block, 0, sizeof(*block));
}

void vt_recorder_tell(const struct vt_recorder *recorder, struct vt_load_report *report)
{
    const struct vt_recorder *r = recorder;
    report->samples_issued = vt_recorder_issued(r);
    report->samples_completed = vt_recorder_completed(r);
    report->samples_lost = report->samples_issued - report->samples_completed;
    report->samples_failed = atomic_load(&r->failed);
    report->samples_doubled = atomic_load(&r->doubled);
    report->samples_invented = atomic_load(&r->invented);
    report->samples_late = atomic_load(&r->late);
    report->token.errors = atomic_load(&r->token_errors);
    report->start_monotonic_ns = atomic_load(&r->start_ns);
    memcpy(report->first_failure, r->first_failure, sizeof(report->first_failure));
    memcpy(report->notes, r->notes, sizeof(report->notes));
    report->n_notes = r->n_notes;
    report->notes_dropped = r->notes_dropped;
    report->errors_dropped = r->errors_dropped;
}
