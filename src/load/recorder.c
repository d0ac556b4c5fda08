/* SPDX-License-Identifier: Apache-2.0 */
#include "load/recorder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/futex.h"

/* The least that the first block holds, and the most that is asked for on a mere expectation. */
#define HEAD_CHUNKS_MAX UINT64_C(1024)

/* Runs of the process; 0 is never used, so that a small number is never an id. */
static _Atomic uint32_t runs;

enum vt_status vt_recorder_init(struct vt_recorder *recorder, const struct vt_clock *clock,
                                uint64_t expected, bool keep_responses, struct vt_error *err)
{
    struct vt_recorder *r = recorder;
    memset(r, 0, sizeof(*r));
    pthread_mutex_init(&r->failure_lock, NULL);
    pthread_mutex_init(&r->responses.lock, NULL);
    vt_arena_init(&r->responses.data, 0);
    r->clock = clock == vt_clock_monotonic() ? NULL : clock;
    r->keep_responses = keep_responses;
    uint32_t run = atomic_fetch_add(&runs, 1) + 1;
    r->run = run != 0 ? run : atomic_fetch_add(&runs, 1) + 1;
    atomic_init(&r->wake_at, UINT64_MAX);

    uint64_t chunks = expected / VT_RECORDER_CHUNK + 1;
    chunks = chunks < HEAD_CHUNKS_MAX ? chunks : HEAD_CHUNKS_MAX;
    r->directory = vt_alloc(VT_RECORDER_CHUNKS * sizeof(*r->directory));
    if (r->directory != NULL) {
        r->head = vt_alloc(chunks * VT_RECORDER_CHUNK * sizeof(*r->head));
    }
    if (r->directory == NULL || r->head == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for the records of %" PRIu64 " samples",
                            chunks * VT_RECORDER_CHUNK);
    }
    for (uint64_t i = 0; i < chunks; i++) {
        r->directory[i] = r->head + i * VT_RECORDER_CHUNK;
    }
    r->head_chunks = chunks;
    r->chunks = chunks;
    return VT_OK;
}

static void free_chunks(struct vt_recorder *r)
{
    for (uint64_t i = r->head_chunks; i < r->chunks; i++) {
        vt_free(r->directory[i]);
    }
    vt_free(r->head);
    vt_free(r->directory);
    r->head = NULL;
    r->directory = NULL;
    r->chunks = 0;
    r->head_chunks = 0;
}

void vt_recorder_release(struct vt_recorder *recorder)
{
    free_chunks(recorder);
    vt_free(recorder->responses.list);
    vt_arena_release(&recorder->responses.data);
    pthread_mutex_destroy(&recorder->responses.lock);
    pthread_mutex_destroy(&recorder->failure_lock);
}

enum vt_status vt_recorder_reserve(struct vt_recorder *recorder, uint64_t n, struct vt_error *err)
{
    uint64_t issued = atomic_load_explicit(&recorder->issued, memory_order_relaxed);
    uint64_t wanted = issued + n + VT_RECORDER_CHUNK / 2;
    if (wanted <= recorder->chunks * VT_RECORDER_CHUNK) {
        return VT_OK;
    }
    if (n > UINT32_MAX || issued + n > UINT32_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT,
                            "the run has issued %" PRIu64
                            " samples and cannot count more than %u: shorten it",
                            issued, UINT32_MAX);
    }
    while (recorder->chunks * VT_RECORDER_CHUNK < wanted && recorder->chunks < VT_RECORDER_CHUNKS) {
        struct vt_sample_record *chunk = vt_alloc(VT_RECORDER_CHUNK * sizeof(*chunk));
        if (chunk == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY,
                                "no memory for more than %" PRIu64 " sample records: shorten the "
                                "run",
                                recorder->chunks * VT_RECORDER_CHUNK);
        }
        recorder->directory[recorder->chunks++] = chunk;
    }
    return VT_OK;
}

static void first_failure_v(struct vt_recorder *r, const char *fmt, va_list args) VT_PRINTF(2, 0);
static void first_failure_v(struct vt_recorder *r, const char *fmt, va_list args)
{
    pthread_mutex_lock(&r->failure_lock);
    if (r->first_failure[0] == '\0') {
        vsnprintf(r->first_failure, sizeof(r->first_failure), fmt, args);
    }
    pthread_mutex_unlock(&r->failure_lock);
}

void vt_recorder_first_failure(struct vt_recorder *recorder, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    first_failure_v(recorder, fmt, args);
    va_end(args);
}

static void invented(struct vt_recorder *r, uint64_t id)
{
    atomic_fetch_add_explicit(&r->invented, 1, memory_order_relaxed);
    uint64_t run = id >> 32;
    if (run != 0 && run < r->run) {
        vt_recorder_first_failure(r,
                                  "a completion of an earlier run came in this one: id 0x%" PRIx64
                                  ", sample %" PRIu64 " of that run",
                                  id, id & UINT32_MAX);
    } else {
        vt_recorder_first_failure(
            r, "a completion came for a sample that was never issued: id 0x%" PRIx64, id);
    }
}

static void keep_response(struct vt_recorder *r, const struct vt_completion *c, uint64_t sequence,
                          uint64_t index)
{
    struct vt_response_store *store = &r->responses;
    pthread_mutex_lock(&store->lock);
    if (store->n == store->room) {
        uint64_t room = store->room != 0 ? 2 * store->room : 256;
        struct vt_load_response *list =
            vt_regrow(store->list, store->room * sizeof(*list), room * sizeof(*list));
        if (list != NULL) {
            store->list = list;
            store->room = room;
        }
    }
    void *data = NULL;
    if (c->response != NULL && c->response_bytes > 0) {
        data = vt_arena_alloc(&store->data, c->response_bytes, 1);
        if (data == NULL) {
            store->out_of_memory = true;
        }
    }
    if (store->n == store->room) {
        store->out_of_memory = true;
    } else if (!store->out_of_memory) {
        if (data != NULL) {
            memcpy(data, c->response, c->response_bytes);
        }
        store->list[store->n++] = (struct vt_load_response){
            .sequence = sequence,
            .index = index,
            .data = data,
            .bytes = data != NULL ? c->response_bytes : 0,
        };
    }
    pthread_mutex_unlock(&store->lock);
}

static void sample_failed(struct vt_recorder *r, const struct vt_completion *c, uint64_t sequence,
                          uint32_t index)
{
    atomic_fetch_add_explicit(&r->failed, 1, memory_order_relaxed);
    vt_recorder_first_failure(r, "sample %" PRIu64 " (index %" PRIu32 ") failed: %s", sequence,
                              index, c->text != NULL ? c->text : vt_status_text(c->status));
}

/* True when this is the completion of a sample that waited for it. */
static bool complete_one(struct vt_recorder *r, const struct vt_completion *c, int64_t done_ns,
                         uint64_t issued)
{
    uint64_t sequence = c->id & UINT32_MAX;
    if (c->id >> 32 != r->run || sequence >= issued) {
        invented(r, c->id);
        return false;
    }
    if (c->status == VT_ERR_INTERRUPTED &&
        atomic_load_explicit(&r->aborted, memory_order_relaxed)) {
        return false; /* dropped because we asked for it: stays without a completion */
    }
    struct vt_sample_record *record = vt_recorder_at(r, sequence);
    int64_t open = VT_RECORD_LOST;
    if (!__atomic_compare_exchange_n(&record->done_ns, &open, done_ns, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        atomic_fetch_add_explicit(&r->doubled, 1, memory_order_relaxed);
        vt_recorder_first_failure(r, "sample %" PRIu64 " (index %" PRIu32 ") was completed twice",
                                  sequence, record->index);
        return false;
    }
    if (c->status != VT_OK) {
        sample_failed(r, c, sequence, record->index);
    } else if (r->keep_responses) {
        keep_response(r, c, sequence, record->index);
    }
    return true;
}

void vt_recorder_complete(void *ctx, const struct vt_completion *completions, size_t n)
{
    struct vt_recorder *r = ctx;
    int64_t now = vt_recorder_now_ns(r);
    uint64_t issued = atomic_load_explicit(&r->issued, memory_order_acquire);
    int64_t done_ns = issued != 0 ? now - r->start_ns : 0;
    uint64_t good = 0;
    for (size_t i = 0; i < n; i++) {
        good += complete_one(r, &completions[i], done_ns, issued);
    }
    if (good == 0) {
        return;
    }
    /*
     * Sequentially consistent, as the sleeper's store to wake_at and its reading of `completed`:
     * one of the two sees the other, so no wake-up is lost.
     */
    uint64_t completed = atomic_fetch_add(&r->completed, good) + good;
    if (completed >= atomic_load(&r->wake_at)) {
        atomic_fetch_add(&r->wake, 1);
        vt_futex_wake(&r->wake, 1);
    }
}

enum vt_status vt_recorder_take(struct vt_recorder *recorder, struct vt_error *err,
                                struct vt_sample_record **ret_records)
{
    struct vt_recorder *r = recorder;
    uint64_t n = atomic_load(&r->issued);
    if (n <= r->head_chunks * VT_RECORDER_CHUNK) {
        *ret_records = r->head;
        r->head = NULL;
        free_chunks(r);
        return VT_OK;
    }
    struct vt_sample_record *all = vt_alloc(n * sizeof(*all)); /* n < 2^32 */
    if (all == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "no memory for %" PRIu64 " sample records", n);
    }
    uint64_t at = r->head_chunks * VT_RECORDER_CHUNK;
    memcpy(all, r->head, at * sizeof(*all));
    vt_free(r->head);
    r->head = NULL;
    for (uint64_t i = r->head_chunks; i < r->chunks; i++) {
        uint64_t part = n - at < VT_RECORDER_CHUNK ? n - at : VT_RECORDER_CHUNK;
        memcpy(all + at, r->directory[i], part * sizeof(*all));
        vt_free(r->directory[i]);
        r->directory[i] = NULL;
        at += part;
    }
    free_chunks(r);
    *ret_records = all;
    return VT_OK;
}
