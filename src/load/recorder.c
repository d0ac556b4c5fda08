/* SPDX-License-Identifier: Apache-2.0 */
#include "load/recorder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/futex.h"

/* Samples that a track can count, and the most columns' bytes that a mere expectation gets. */
#define RECORDS_MAX  UINT64_C(0xffffffff)
#define EXPECTED_MAX (UINT64_C(512) << 20)

#define RUN_BITS   24
#define RUN_MASK   ((UINT32_C(1) << RUN_BITS) - 1)
#define TRACK_MASK UINT32_C(0xff)

/* Runs of the process so far. */
static _Atomic uint64_t runs;

/* The number of a run in its ids: never 0, so that a small number is never an id. */
static uint32_t run_number(uint64_t ordinal)
{
    return (uint32_t)((ordinal - 1) % RUN_MASK + 1);
}

/* Bytes of a column of 1-bit elements, in whole words. */
static uint64_t mark_bytes(uint64_t n)
{
    return (n + 63) / 64 * sizeof(uint64_t);
}

static enum vt_status grow_columns(struct vt_track *t, uint64_t n, bool large, struct vt_error *err)
{
    enum vt_status (*grow)(struct vt_column *, uint64_t, struct vt_error *) =
        large ? vt_column_grow_large : vt_column_grow;
    enum vt_status st = grow(&t->record_column, n * sizeof(*t->records), err);
    if (st == VT_OK && t->tokens != NULL) {
        st = grow(&t->token_column, n * sizeof(*t->tokens), err);
    }
    if (st == VT_OK && t->marks != NULL) {
        st = grow(&t->mark_column, mark_bytes(n), err);
    }
    if (st == VT_OK && t->first_bytes != NULL) {
        st = grow(&t->first_column, n * sizeof(*t->first_bytes), err);
    }
    return st;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void set_ready(struct vt_track *t)
{
    uint64_t ready = t->record_column.touched_bytes / sizeof(*t->records);
    if (t->tokens != NULL) {
        ready = min_u64(ready, t->token_column.touched_bytes / sizeof(*t->tokens));
    }
    if (t->marks != NULL) {
        ready = min_u64(ready, t->mark_column.touched_bytes * 8);
    }
    if (t->first_bytes != NULL) {
        ready = min_u64(ready, t->first_column.touched_bytes / sizeof(*t->first_bytes));
    }
    t->ready = min_u64(ready, RECORDS_MAX);
}

static enum vt_status init_column(struct vt_recorder *r, struct vt_column *column, uint64_t least,
                                  uint64_t most, uint64_t bits, struct vt_error *err)
{
    return vt_column_init(column, &r->budget, least * bits / 8, most * bits / 8, err);
}

static enum vt_status init_track(struct vt_recorder *r, struct vt_track *t, uint64_t expected,
                                 struct vt_error *err)
{
    atomic_init(&t->wake_at, UINT64_MAX);
    /* Query numbers have 32 bits too, so tracks share them: twice an equal share is plenty. */
    uint64_t most = RECORDS_MAX / r->n_tracks * 2;
    most = most < RECORDS_MAX ? most : RECORDS_MAX;
    uint64_t least = min_u64(expected, most);
    enum vt_status st =
        init_column(r, &t->record_column, least, most, 8 * sizeof(*t->records), err);
    if (st == VT_OK && r->counts_tokens) {
        st = init_column(r, &t->token_column, least, most, 8 * sizeof(*t->tokens), err);
        t->tokens = (struct vt_token_record *)(void *)t->token_column.base;
    }
    if (st == VT_OK && r->keep == VT_KEEP_MARKED) {
        st = init_column(r, &t->mark_column, least, most, 1, err);
        t->marks = (_Atomic uint64_t *)(void *)t->mark_column.base;
    }
    if (st == VT_OK && r->counts_tokens && r->keep != VT_KEEP_NONE) {
        st = init_column(r, &t->first_column, least, most, 8 * sizeof(*t->first_bytes), err);
        t->first_bytes = (_Atomic uint32_t *)(void *)t->first_column.base;
    }
    if (st != VT_OK) {
        return st;
    }
    t->records = (struct vt_sample_record *)(void *)t->record_column.base;
    st = grow_columns(t, min_u64(least, EXPECTED_MAX / sizeof(*t->records) / r->n_tracks), true,
                      err);
    set_ready(t);
    return st;
}

enum vt_status vt_recorder_init(struct vt_recorder *recorder,
                                const struct vt_recorder_config *config, struct vt_error *err)
{
    struct vt_recorder *r = recorder;
    memset(r, 0, sizeof(*r));
    pthread_mutex_init(&r->failure_lock, NULL);
    pthread_mutex_init(&r->responses.lock, NULL);
    vt_arena_init(&r->responses.data, 0);
    r->clock = config->clock == vt_clock_monotonic() ? NULL : config->clock;
    r->keep = config->keep;
    r->counts_tokens = config->tokens;
    r->whole_batch = config->whole_batch;
    r->ordinal = atomic_fetch_add(&runs, 1) + 1;
    r->run = run_number(r->ordinal);
    enum vt_status st =
        vt_column_budget_init(&r->budget, config->memory_limit_bytes, config->spill_folder, err);
    if (st != VT_OK) {
        return st;
    }
    if (config->n_tracks < 1 || config->n_tracks > VT_TRACKS_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "%" PRIu32 " threads cannot issue: from 1 to %d can",
                            config->n_tracks, VT_TRACKS_MAX);
    }
    r->tracks = vt_calloc(config->n_tracks, sizeof(*r->tracks));
    if (r->tracks == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for %" PRIu32 " issuing threads",
                            config->n_tracks);
    }
    r->n_tracks = config->n_tracks;
    for (uint32_t i = 0; i < r->n_tracks && st == VT_OK; i++) {
        st = init_track(r, &r->tracks[i], config->expected, err);
    }
    return st;
}

static void release_tracks(struct vt_recorder *r)
{
    for (uint32_t i = 0; i < r->n_tracks; i++) {
        vt_column_release(&r->tracks[i].record_column);
        vt_column_release(&r->tracks[i].token_column);
        vt_column_release(&r->tracks[i].mark_column);
        vt_column_release(&r->tracks[i].first_column);
    }
    vt_free(r->tracks);
    r->tracks = NULL;
    r->n_tracks = 0;
}

void vt_recorder_release(struct vt_recorder *recorder)
{
    release_tracks(recorder);
    vt_column_budget_release(&recorder->budget);
    vt_free(recorder->responses.list);
    vt_free(recorder->responses.firsts);
    vt_arena_release(&recorder->responses.data);
    pthread_mutex_destroy(&recorder->responses.lock);
    pthread_mutex_destroy(&recorder->failure_lock);
}

enum vt_status vt_recorder_grow(struct vt_recorder *recorder, uint32_t track, uint64_t n,
                                struct vt_error *err)
{
    struct vt_track *t = &recorder->tracks[track];
    uint64_t issued = atomic_load_explicit(&t->issued, memory_order_relaxed);
    if (n > RECORDS_MAX || issued + n > RECORDS_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "the run has issued %" PRIu64 " samples and cannot count more than "
                            "%" PRIu64 ": shorten it",
                            issued, RECORDS_MAX);
    }
    uint64_t wanted = issued + n;
    if (recorder->whole_batch) {
        /* Offline has no moment to miss: large pages cost it less. */
        const uint64_t large = UINT64_C(128) * 1024;
        wanted = min_u64((wanted + large - 1) / large * large, RECORDS_MAX);
    }
    enum vt_status st = grow_columns(t, wanted, recorder->whole_batch, err);
    set_ready(t);
    return st;
}

uint64_t vt_recorder_issued(const struct vt_recorder *recorder)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < recorder->n_tracks; i++) {
        sum += atomic_load_explicit(&recorder->tracks[i].issued, memory_order_acquire);
    }
    return sum;
}

uint64_t vt_recorder_completed(const struct vt_recorder *recorder)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < recorder->n_tracks; i++) {
        sum += atomic_load_explicit(&recorder->tracks[i].completed, memory_order_acquire);
    }
    return sum;
}

/* --- What went wrong ------------------------------------------------------------------------ */

static void first_failure_locked(struct vt_recorder *r, const char *text)
{
    if (r->first_failure[0] == '\0') {
        snprintf(r->first_failure, sizeof(r->first_failure), "%s", text);
    }
}

void vt_recorder_first_failure(struct vt_recorder *recorder, const char *fmt, ...)
{
    char text[sizeof(recorder->first_failure)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    pthread_mutex_lock(&recorder->failure_lock);
    first_failure_locked(recorder, text);
    pthread_mutex_unlock(&recorder->failure_lock);
}

static void note_locked(struct vt_recorder *r, bool is_error, const char *text)
{
    if (r->n_notes == VT_NOTES_MAX) {
        r->notes_dropped++;
        r->errors_dropped += is_error;
        return;
    }
    int64_t start = atomic_load_explicit(&r->start_ns, memory_order_relaxed);
    struct vt_load_note *note = &r->notes[r->n_notes++];
    note->at_ns = start != 0 ? vt_recorder_now_ns(r) - start : 0;
    note->is_error = is_error;
    snprintf(note->text, sizeof(note->text), "%s", text);
}

void vt_recorder_note(struct vt_recorder *recorder, bool is_error, const char *fmt, ...)
{
    char text[sizeof(recorder->notes[0].text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    pthread_mutex_lock(&recorder->failure_lock);
    note_locked(recorder, is_error, text);
    pthread_mutex_unlock(&recorder->failure_lock);
}

/* An error of the run: a note, and the first failure when it is that. */
static void fault(struct vt_recorder *r, const char *fmt, ...) VT_PRINTF(2, 3);
static void fault(struct vt_recorder *r, const char *fmt, ...)
{
    char text[sizeof(r->first_failure)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    pthread_mutex_lock(&r->failure_lock);
    first_failure_locked(r, text);
    note_locked(r, true, text);
    pthread_mutex_unlock(&r->failure_lock);
}

/* An id that none of this run's samples has. */
static void invented(struct vt_recorder *r, uint64_t id, const char *what)
{
    atomic_fetch_add_explicit(&r->invented, 1, memory_order_relaxed);
    uint32_t run = (uint32_t)(id >> 40);
    /* Numbers go round after 2^24 - 1 runs. */
    bool has_been = run != 0 && run != r->run && (run < r->run || r->ordinal > RUN_MASK);
    if (has_been) {
        fault(r,
              "a %s of an earlier run came in this one: id 0x%" PRIx64 ", sample %" PRIu64
              " of that run",
              what, id, id & UINT32_MAX);
    } else {
        fault(r, "a %s came for a sample that was never issued: id 0x%" PRIx64, what, id);
    }
}

/* --- Responses ------------------------------------------------------------------------------ */

/* Room for one more; false when there is no memory. With the lock of the store. */
static bool make_room(void **list, uint64_t n, uint64_t *room, size_t element)
{
    if (n < *room) {
        return true;
    }
    uint64_t wanted = *room != 0 ? 2 * *room : 256;
    void *grown = vt_regrow(*list, *room * element, wanted * element);
    if (grown == NULL) {
        return false;
    }
    *list = grown;
    *room = wanted;
    return true;
}

/* A copy of the bytes; false when there is no memory. */
static bool copy_bytes(struct vt_response_store *store, const void *bytes, size_t n,
                       const void **ret_copy)
{
    *ret_copy = NULL;
    if (bytes == NULL || n == 0) {
        return true;
    }
    void *copy = vt_arena_alloc(&store->data, n, 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, bytes, n);
    *ret_copy = copy;
    return true;
}

static bool is_kept(const struct vt_recorder *r, const struct vt_track *t, uint64_t sequence)
{
    if (r->keep != VT_KEEP_MARKED) {
        return r->keep == VT_KEEP_ALL;
    }
    uint64_t word = atomic_load_explicit(&t->marks[sequence / 64], memory_order_relaxed);
    return (word >> sequence % 64 & 1) != 0;
}

static void keep_response(struct vt_recorder *r, const struct vt_track *t,
                          const struct vt_completion *c, uint64_t sequence, int64_t n_tokens)
{
    struct vt_response_store *store = &r->responses;
    uint32_t first = t->first_bytes != NULL
                         ? atomic_load_explicit(&t->first_bytes[sequence], memory_order_acquire)
                         : 0;
    const void *data = NULL;
    pthread_mutex_lock(&store->lock);
    if (!make_room((void **)&store->list, store->n, &store->room, sizeof(*store->list)) ||
        !copy_bytes(store, c->response, c->response_bytes, &data)) {
        store->out_of_memory = true;
    } else {
        const struct vt_first_token none = {0};
        const struct vt_first_token *token = first != 0 ? &store->firsts[first - 1] : &none;
        store->list[store->n++] = (struct vt_load_response){
            .sequence = (uint64_t)(t - r->tracks) << 32 | sequence, /* see vt_recorder_take */
            .index = t->records[sequence].index,
            .data = data,
            .bytes = data != NULL ? c->response_bytes : 0,
            .first_token = token->data,
            .first_token_bytes = token->bytes,
            .n_tokens = n_tokens,
        };
    }
    pthread_mutex_unlock(&store->lock);
}

static void keep_first_token(struct vt_recorder *r, const struct vt_track *t,
                             const struct vt_completion *c, uint64_t sequence)
{
    struct vt_response_store *store = &r->responses;
    const void *data = NULL;
    pthread_mutex_lock(&store->lock);
    if (store->n_firsts == UINT32_MAX ||
        !make_room((void **)&store->firsts, store->n_firsts, &store->firsts_room,
                   sizeof(*store->firsts)) ||
        !copy_bytes(store, c->response, c->response_bytes, &data)) {
        store->out_of_memory = true;
    } else {
        store->firsts[store->n_firsts++] =
            (struct vt_first_token){data, data != NULL ? c->response_bytes : 0};
        atomic_store_explicit(&t->first_bytes[sequence], (uint32_t)store->n_firsts,
                              memory_order_release);
    }
    pthread_mutex_unlock(&store->lock);
}

/* --- Completions ---------------------------------------------------------------------------- */

/* What a completion or a first token answers. */
struct answered {
    struct vt_track *track;
    uint64_t sequence;
    struct vt_sample_record *record;
};

/* False when no sample of this run has the id. */
static bool find(struct vt_recorder *r, uint64_t id, const char *what, struct answered *ret)
{
    uint32_t track = (uint32_t)(id >> 32) & TRACK_MASK;
    uint64_t sequence = id & UINT32_MAX;
    if (id >> 40 != r->run || track >= r->n_tracks ||
        sequence >= atomic_load_explicit(&r->tracks[track].issued, memory_order_acquire)) {
        invented(r, id, what);
        return false;
    }
    struct vt_track *t = &r->tracks[track];
    *ret = (struct answered){t, sequence, &t->records[sequence]};
    return true;
}

static int64_t since_start(const struct vt_recorder *r, int64_t now)
{
    return now - atomic_load_explicit(&r->start_ns, memory_order_relaxed);
}

/* The number that is recorded; what MLPerf LoadGen calls an error of the run is noted. */
static int64_t judge_tokens(struct vt_recorder *r, const struct vt_completion *c,
                            const struct answered *a)
{
    struct vt_token_record *token = &a->track->tokens[a->sequence];
    uint32_t index = a->record->index;
    int64_t n = c->n_tokens;
    if (!r->whole_batch && __atomic_load_n(&token->first_ns, __ATOMIC_RELAXED) == VT_RECORD_LOST) {
        atomic_fetch_add_explicit(&r->token_errors, 1, memory_order_relaxed);
        fault(r,
              "sample %" PRIu64 " (index %" PRIu32 ", id 0x%" PRIx64
              ") was completed before its first token",
              a->sequence, index, c->id);
    }
    if (n < 2) {
        atomic_fetch_add_explicit(&r->token_errors, 1, memory_order_relaxed);
        fault(r,
              "sample %" PRIu64 " (index %" PRIu32 ", id 0x%" PRIx64 ") was completed with %" PRId64
              " tokens: at least 2 are needed",
              a->sequence, index, c->id, n);
        n = 0;
    }
    token->n_tokens = n;
    return n;
}

static void sample_failed(struct vt_recorder *r, const struct vt_completion *c, uint32_t index)
{
    atomic_fetch_add_explicit(&r->failed, 1, memory_order_relaxed);
    fault(r, "sample %" PRIu64 " (index %" PRIu32 ", id 0x%" PRIx64 ") failed: %s",
          c->id & UINT32_MAX, index, c->id, c->text != NULL ? c->text : vt_status_text(c->status));
}

/* True when this is the completion of a sample that waited for it. */
static bool complete_one(struct vt_recorder *r, const struct vt_completion *c, int64_t now)
{
    struct answered a;
    if (!find(r, c->id, "completion", &a)) {
        return false;
    }
    bool aborted = atomic_load_explicit(&r->aborted, memory_order_relaxed);
    if (c->status == VT_ERR_INTERRUPTED && aborted) {
        return false; /* dropped because we asked for it: stays without a completion */
    }
    int64_t open = VT_RECORD_LOST;
    if (!__atomic_compare_exchange_n(&a.record->done_ns, &open, since_start(r, now), false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        atomic_fetch_add_explicit(&r->doubled, 1, memory_order_relaxed);
        fault(r, "sample %" PRIu64 " (index %" PRIu32 ", id 0x%" PRIx64 ") was completed twice",
              a.sequence, a.record->index, c->id);
        return false;
    }
    if (aborted) {
        atomic_fetch_add_explicit(&r->late, 1, memory_order_relaxed);
        vt_recorder_note(r, false,
                         "sample %" PRIu64 " (index %" PRIu32 ", id 0x%" PRIx64
                         ") was completed after the end of the run",
                         a.sequence, a.record->index, c->id);
    }
    if (c->status != VT_OK) {
        sample_failed(r, c, a.record->index);
        return true;
    }
    int64_t n_tokens = r->counts_tokens ? judge_tokens(r, c, &a) : 0;
    if (r->keep != VT_KEEP_NONE && is_kept(r, a.track, a.sequence)) {
        keep_response(r, a.track, c, a.sequence, n_tokens);
    }
    return true;
}

/*
 * Sequentially consistent, as the sleeper's store to wake_at and its reading of `completed`: one of
 * the two sees the other, so no wake-up is lost.
 */
static void count(struct vt_track *t, uint64_t good)
{
    uint64_t completed = atomic_fetch_add(&t->completed, good) + good;
    if (completed >= atomic_load(&t->wake_at)) {
        atomic_fetch_add(&t->wake, 1);
        vt_futex_wake(&t->wake, 1);
    }
}

void vt_recorder_complete(void *ctx, const struct vt_completion *completions, size_t n)
{
    struct vt_recorder *r = ctx;
    int64_t now = vt_recorder_now_ns(r);
    uint32_t track = 0; /* of the completions not counted yet */
    uint64_t good = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t of = (uint32_t)(completions[i].id >> 32) & TRACK_MASK;
        if (of != track && good > 0) {
            count(&r->tracks[track], good);
            good = 0;
        }
        track = of;
        good += complete_one(r, &completions[i], now);
    }
    if (good > 0) {
        count(&r->tracks[track], good);
    }
}

static void first_token_fault(struct vt_recorder *r, const struct vt_completion *c,
                              const struct answered *a, const char *what)
{
    atomic_fetch_add_explicit(&r->token_errors, 1, memory_order_relaxed);
    fault(r, "the first token of sample %" PRIu64 " (index %" PRIu32 ", id 0x%" PRIx64 ") came %s",
          a->sequence, a->record->index, c->id, what);
}

static void first_token_one(struct vt_recorder *r, const struct vt_completion *c, int64_t now)
{
    struct answered a;
    if (!find(r, c->id, "first token", &a)) {
        return;
    }
    if (__atomic_load_n(&a.record->done_ns, __ATOMIC_RELAXED) != VT_RECORD_LOST) {
        first_token_fault(r, c, &a, "after its completion");
        return;
    }
    int64_t open = VT_RECORD_LOST;
    if (!__atomic_compare_exchange_n(&a.track->tokens[a.sequence].first_ns, &open,
                                     since_start(r, now), false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        first_token_fault(r, c, &a, "twice");
        return;
    }
    if (a.track->first_bytes != NULL && is_kept(r, a.track, a.sequence)) {
        keep_first_token(r, a.track, c, a.sequence);
    }
}

void vt_recorder_first_token(void *ctx, const struct vt_completion *firsts, size_t n)
{
    struct vt_recorder *r = ctx;
    if (!r->counts_tokens) {
        return;
    }
    int64_t now = vt_recorder_now_ns(r);
    for (size_t i = 0; i < n; i++) {
        first_token_one(r, &firsts[i], now);
    }
}
