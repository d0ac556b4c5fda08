/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder alone: ids, tracks, tokens, responses, completions from several threads at once. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/futex.h"
#include "load/recorder.h"
#include "vt_test.h"
#include "vt_torture.h"

#define THREADS 4

static struct vt_recorder *recorder_with(struct vt_recorder_config config)
{
    struct vt_recorder *r = vt_alloc(sizeof(*r));
    assert_non_null(r);
    config.n_tracks = config.n_tracks != 0 ? config.n_tracks : 1;
    assert_int_equal(vt_recorder_init(r, &config, NULL), VT_OK);
    atomic_store(&r->start_ns, vt_now_ns());
    return r;
}

static struct vt_recorder *recorder_of(uint64_t expected)
{
    return recorder_with((struct vt_recorder_config){.expected = expected});
}

static void recorder_free(struct vt_recorder *r)
{
    vt_recorder_release(r);
    vt_free(r);
}

/* As an issuing thread does it: query numbers first, first + step, … of one sample each. */
static void issue_queries(struct vt_recorder *r, uint32_t track, uint64_t n, uint32_t first,
                          uint32_t step)
{
    assert_int_equal(vt_recorder_reserve(r, track, n, NULL), VT_OK);
    uint64_t sequence = atomic_load(&r->tracks[track].issued);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t query = first + (uint32_t)i * step;
        vt_recorder_open(r, track, sequence + i, query % 1000, query);
        vt_recorder_at(r, track, sequence + i)->scheduled_ns = query;
        vt_recorder_at(r, track, sequence + i)->issued_ns = track;
    }
    atomic_store_explicit(&r->tracks[track].issued, sequence + n, memory_order_release);
}

static void issue(struct vt_recorder *r, uint64_t n)
{
    issue_queries(r, 0, n, (uint32_t)atomic_load(&r->tracks[0].issued), 1);
}

static void complete(struct vt_recorder *r, uint32_t track, uint64_t sequence)
{
    struct vt_completion c = {.id = vt_recorder_id(r, track, sequence), .n_tokens = 10};
    vt_recorder_complete(r, &c, 1);
}

static void records_never_move(void **state)
{
    (void)state;
    const uint64_t n = 400017;
    struct vt_recorder *r = recorder_of(0);
    const struct vt_sample_record *first = vt_recorder_at(r, 0, 0);
    for (uint64_t i = 0; i < n; i += 7) {
        issue(r, n - i < 7 ? n - i : 7);
    }
    assert_ptr_equal(first, vt_recorder_at(r, 0, 0));
    for (uint64_t i = 0; i < n; i++) {
        complete(r, 0, n - 1 - i);
    }
    assert_int_equal(vt_recorder_completed(r), n);
    struct vt_record_block block;
    assert_int_equal(vt_recorder_take(r, NULL, &block), VT_OK);
    assert_ptr_equal(block.records, first); /* a single track is handed over as it is */
    assert_int_equal(block.n, n);
    assert_null(block.tokens);
    assert_true(block.record_bytes >= n * 32);
    assert_true(block.record_bytes < n * 32 + (1u << 20));
    assert_int_equal(block.spilled_bytes, 0);
    recorder_free(r); /* the block outlives it */
    for (uint64_t i = 0; i < n; i++) {
        if (block.records[i].scheduled_ns != (int64_t)i ||
            block.records[i].done_ns == VT_RECORD_LOST) {
            fail_msg("record %d", (int)i);
        }
    }
    vt_record_block_release(&block);
    assert_null(block.records);
}

static void ids_tell_runs_and_tracks_apart(void **state)
{
    (void)state;
    struct vt_recorder *a = recorder_of(0);
    struct vt_recorder *b = recorder_with((struct vt_recorder_config){.n_tracks = 3});
    assert_true(vt_recorder_id(a, 0, 5) >> 40 != 0);
    assert_true(vt_recorder_id(a, 0, 5) != vt_recorder_id(b, 0, 5));
    assert_true(vt_recorder_id(b, 1, 5) != vt_recorder_id(b, 0, 5));
    issue_queries(b, 0, 10, 0, 3);
    issue_queries(b, 2, 4, 2, 3);
    complete(b, 2, 3);
    assert_int_equal(vt_recorder_completed(b), 1);
    assert_int_equal(atomic_load(&b->tracks[2].completed), 1);

    struct vt_completion earlier = {.id = vt_recorder_id(a, 0, 5)};
    vt_recorder_complete(b, &earlier, 1);
    assert_int_equal(atomic_load(&b->invented), 1);
    assert_non_null(strstr(b->first_failure, "earlier run"));
    complete(b, 2, 4); /* not issued in this track */
    complete(b, 1, 0); /* nothing issued */
    struct vt_completion other = {.id = vt_recorder_id(b, 77, 0)};
    vt_recorder_complete(b, &other, 1);
    struct vt_completion later = {.id = vt_recorder_id(b, 0, 0) + (UINT64_C(1) << 40)};
    vt_recorder_complete(b, &later, 1);
    assert_int_equal(atomic_load(&b->invented), 5);
    assert_int_equal(vt_recorder_completed(b), 1);
    assert_int_equal(b->n_notes, 5);
    char id[32];
    snprintf(id, sizeof(id), "0x%llx", (unsigned long long)later.id);
    assert_non_null(strstr(b->notes[4].text, id));
    assert_non_null(strstr(b->notes[4].text, "never issued"));
    assert_true(b->notes[4].is_error);
    recorder_free(a);
    recorder_free(b);
}

static void doubled_and_late_completions_are_told_with_their_ids(void **state)
{
    (void)state;
    struct vt_recorder *r = recorder_of(8);
    issue(r, 3);
    complete(r, 0, 1);
    int64_t done = vt_recorder_at(r, 0, 1)->done_ns;
    complete(r, 0, 1);
    assert_int_equal(vt_recorder_at(r, 0, 1)->done_ns, done);
    atomic_store(&r->aborted, true);
    complete(r, 0, 2);
    struct vt_completion dropped = {.id = vt_recorder_id(r, 0, 0), .status = VT_ERR_INTERRUPTED};
    vt_recorder_complete(r, &dropped, 1);
    struct vt_load_report *report = vt_calloc(1, sizeof(*report));
    assert_non_null(report);
    vt_recorder_tell(r, report);
    assert_int_equal(report->samples_issued, 3);
    assert_int_equal(report->samples_completed, 2);
    assert_int_equal(report->samples_lost, 1);
    assert_int_equal(report->samples_doubled, 1);
    assert_int_equal(report->samples_late, 1);
    assert_int_equal(report->n_notes, 2);
    char id[32];
    snprintf(id, sizeof(id), "0x%llx)", (unsigned long long)vt_recorder_id(r, 0, 1));
    assert_non_null(strstr(report->notes[0].text, id));
    assert_non_null(strstr(report->first_failure, id));
    snprintf(id, sizeof(id), "0x%llx)", (unsigned long long)vt_recorder_id(r, 0, 2));
    assert_non_null(strstr(report->notes[1].text, id));
    assert_false(report->notes[1].is_error);
    assert_true(report->notes[0].at_ns >= 0 && report->notes[1].at_ns >= report->notes[0].at_ns);
    vt_free(report);
    recorder_free(r);
}

static void a_sequence_has_an_end(void **state)
{
    (void)state;
    struct vt_recorder *r = recorder_of(0);
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_recorder_reserve(r, 0, UINT64_C(1) << 32, &err), VT_ERR_LIMIT);
    assert_non_null(strstr(err.text, "4294967295"));
    assert_int_equal(vt_recorder_reserve(r, 0, UINT64_MAX, &err), VT_ERR_LIMIT);
    issue(r, 100);
    assert_int_equal(vt_recorder_reserve(r, 0, UINT64_MAX - 50, &err), VT_ERR_LIMIT);
    recorder_free(r);

    static const uint32_t wrong[] = {0, VT_TRACKS_MAX + 1};
    for (int i = 0; i < 2; i++) {
        struct vt_recorder bad;
        struct vt_recorder_config config = {.n_tracks = wrong[i]};
        assert_int_equal(vt_recorder_init(&bad, &config, &err), VT_ERR_USAGE);
        vt_recorder_release(&bad);
    }
}

static void tracks_merge_in_order_of_queries(void **state)
{
    (void)state;
    /* Turns, runs of one track, and a track without anything; queries of several samples. */
    struct vt_recorder *r = recorder_with(
        (struct vt_recorder_config){.n_tracks = 4, .tokens = true, .keep = VT_KEEP_MARKED});
    const uint32_t n = 200000;
    uint32_t x = 1;
    for (uint32_t query = 0; query < n;) {
        x = x * 1664525 + 1013904223;
        uint32_t track = query < n / 2 ? query % 3 : (x >> 16) % 3;
        uint32_t many = (x >> 8) % 7 == 0 ? 3 : 1;
        uint64_t sequence = atomic_load(&r->tracks[track].issued);
        issue_queries(r, track, many, query, 0);
        for (uint32_t i = 0; i < many; i++) {
            vt_recorder_at(r, track, sequence + i)->index = query * 4 + i;
            if (query % 1000 == 7) {
                vt_recorder_mark(r, track, sequence + i);
            }
        }
        query++;
    }
    uint64_t total = vt_recorder_issued(r);
    for (uint32_t track = 3; track-- > 0;) { /* completed in another order */
        for (uint64_t i = 0; i < atomic_load(&r->tracks[track].issued); i++) {
            struct vt_completion first = {.id = vt_recorder_id(r, track, i)};
            vt_recorder_first_token(r, &first, 1);
            uint32_t index = vt_recorder_at(r, track, i)->index;
            struct vt_completion c = {.id = first.id,
                                      .response = &index,
                                      .response_bytes = sizeof(index),
                                      .n_tokens = index + 2};
            vt_recorder_complete(r, &c, 1);
        }
    }
    assert_int_equal(vt_recorder_completed(r), total);
    struct vt_record_block block;
    assert_int_equal(vt_recorder_take(r, NULL, &block), VT_OK);
    assert_int_equal(block.n, total);
    uint64_t at = 0;
    for (uint32_t query = 0; query < n; query++) {
        for (uint32_t i = 0; at < total && block.records[at].query == query; i++, at++) {
            if (block.records[at].index != query * 4 + i ||
                block.tokens[at].n_tokens != (int64_t)query * 4 + i + 2) {
                fail_msg("record %d of query %d", (int)at, (int)query);
            }
        }
    }
    assert_int_equal(at, total);
    assert_true(r->responses.n >= n / 1000);
    for (uint64_t i = 0; i < r->responses.n; i++) {
        const struct vt_load_response *response = &r->responses.list[i];
        uint32_t index = 0;
        memcpy(&index, response->data, sizeof(index));
        assert_int_equal(index / 4 % 1000, 7);
        assert_int_equal(block.records[response->sequence].index, index);
        assert_int_equal(response->index, index);
        assert_int_equal(response->n_tokens, index + 2);
    }
    vt_record_block_release(&block);
    recorder_free(r);
}

static void the_first_of_a_sample_comes_once_and_before_its_end(void **state)
{
    (void)state;
    struct vt_recorder *r =
        recorder_with((struct vt_recorder_config){.tokens = true, .keep = VT_KEEP_ALL});
    issue(r, 6);
    struct vt_completion c[6];
    for (uint64_t i = 0; i < 6; i++) {
        c[i] = (struct vt_completion){.id = vt_recorder_id(r, 0, i),
                                      .response = "abcdef" + i,
                                      .response_bytes = 1,
                                      .n_tokens = 5};
    }
    vt_recorder_first_token(r, c, 5);
    int64_t first = vt_recorder_at(r, 0, 0)[0].done_ns;
    assert_true(first == VT_RECORD_LOST);
    vt_recorder_first_token(r, &c[1], 1); /* twice */
    assert_non_null(strstr(r->first_failure, "twice"));
    c[2].n_tokens = 0;
    c[3].n_tokens = -3;
    c[4].n_tokens = 1;
    for (int i = 0; i < 6; i++) {
        c[i].response = "whole";
        c[i].response_bytes = 5;
    }
    vt_recorder_complete(r, c, 6); /* the last without a first token */
    vt_recorder_first_token(r, &c[5], 1);
    assert_int_equal(atomic_load(&r->token_errors), 6);
    static const char *const notes[] = {"twice",
                                        " 0 tokens",
                                        " -3 tokens",
                                        " 1 tokens",
                                        "before its first token",
                                        "after its completion"};
    assert_int_equal(r->n_notes, 6);
    for (int i = 0; i < 6; i++) {
        assert_non_null(strstr(r->notes[i].text, notes[i]));
        assert_true(r->notes[i].is_error);
    }
    assert_int_equal(vt_recorder_completed(r), 6);
    assert_int_equal(r->responses.n, 6);
    static const int64_t tokens[] = {5, 5, 0, 0, 0, 5};
    struct vt_record_block block;
    assert_int_equal(vt_recorder_take(r, NULL, &block), VT_OK);
    for (int i = 0; i < 6; i++) {
        const struct vt_load_response *response = &r->responses.list[i];
        assert_int_equal(block.tokens[i].n_tokens, tokens[i]);
        assert_int_equal(response->n_tokens, tokens[i]);
        assert_int_equal(response->sequence, i);
        assert_memory_equal(response->data, "whole", 5);
        assert_int_equal(response->first_token_bytes, i < 5 ? 1 : 0);
        if (i < 5) {
            assert_memory_equal(response->first_token, "abcdef" + i, 1);
            assert_true(block.tokens[i].first_ns >= 0);
        } else {
            assert_true(block.tokens[i].first_ns == VT_RECORD_LOST);
        }
    }
    vt_record_block_release(&block);
    recorder_free(r);
}

static void offline_needs_no_first_token(void **state)
{
    (void)state;
    struct vt_recorder *r =
        recorder_with((struct vt_recorder_config){.tokens = true, .whole_batch = true});
    issue(r, 1);
    complete(r, 0, 0);
    assert_int_equal(r->n_notes, 0);
    recorder_free(r);
    /* Where tokens are not counted, first ones are nobody's business. */
    r = recorder_of(1);
    issue(r, 1);
    struct vt_completion c = {.id = vt_recorder_id(r, 0, 0)};
    vt_recorder_first_token(r, &c, 1);
    vt_recorder_complete(r, &c, 1);
    assert_int_equal(r->n_notes, 0);
    assert_int_equal(vt_recorder_completed(r), 1);
    recorder_free(r);
}

static void notes_beyond_the_list_are_counted(void **state)
{
    (void)state;
    struct vt_recorder *r = recorder_of(0);
    for (int i = 0; i < VT_NOTES_MAX + 5; i++) {
        vt_recorder_note(r, i % 2 == 0, "note %d", i);
    }
    assert_int_equal(r->n_notes, VT_NOTES_MAX);
    assert_int_equal(r->notes_dropped, 5);
    assert_int_equal(r->errors_dropped, 3);
    assert_string_equal(r->notes[15].text, "note 15");
    recorder_free(r);
}

struct worker {
    struct vt_recorder *recorder;
    uint64_t n;
    uint32_t track;
};

/* Every thread completes every sample of every track: one of them wins each. */
static void *complete_all(void *arg)
{
    struct worker *w = arg;
    for (uint64_t i = 0; i < w->n; i += 2) {
        struct vt_completion c[4];
        for (uint64_t k = 0; k < 4; k++) {
            c[k] = (struct vt_completion){.id = vt_recorder_id(w->recorder, k / 2, i + k % 2),
                                          .n_tokens = 2,
                                          .response = "r",
                                          .response_bytes = 1};
        }
        vt_recorder_first_token(w->recorder, c, 4);
        vt_recorder_complete(w->recorder, c, 4);
    }
    return NULL;
}

static void racing_completions_count_exactly_once(void **state)
{
    (void)state;
    const uint64_t n = 20000;
    struct vt_recorder *r = recorder_with((struct vt_recorder_config){
        .expected = n, .n_tracks = 2, .tokens = true, .keep = VT_KEEP_ALL});
    issue_queries(r, 0, n, 0, 2);
    issue_queries(r, 1, n, 1, 2);
    pthread_t threads[THREADS];
    struct worker w = {r, n, 0};
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, complete_all, &w), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(vt_recorder_completed(r), 2 * n);
    assert_int_equal(atomic_load(&r->doubled), (THREADS - 1) * 2 * n);
    assert_int_equal(atomic_load(&r->invented), 0);
    assert_int_equal(r->responses.n, 2 * n);
    assert_int_equal(atomic_load(&r->token_errors), (THREADS - 1) * 2 * n); /* first ones */
    recorder_free(r);
}

/* Completes what the track's thread issues, as soon as it is there. */
static void *follow(void *arg)
{
    struct worker *w = arg;
    struct vt_track *t = &w->recorder->tracks[w->track];
    for (uint64_t i = 0; i < w->n; i++) {
        while (atomic_load_explicit(&t->issued, memory_order_acquire) <= i) {
        }
        complete(w->recorder, w->track, i);
    }
    return NULL;
}

/* A closed loop by the futex protocol; every fifth query is waited for asleep. */
static void *lead(void *arg)
{
    struct worker *w = arg;
    struct vt_track *t = &w->recorder->tracks[w->track];
    for (uint64_t i = 0; i < w->n; i++) {
        issue_queries(w->recorder, w->track, 1, (uint32_t)(i * 2 + w->track), 0);
        while (i % 5 == 0 && atomic_load(&t->completed) <= i) {
            uint32_t wake = atomic_load(&t->wake);
            atomic_store(&t->wake_at, i + 1);
            if (atomic_load(&t->completed) <= i) {
                assert_true(vt_futex_wait(&t->wake, wake, vt_now_ns() + 20 * VT_NS_PER_S, 0));
            }
            atomic_store(&t->wake_at, UINT64_MAX);
        }
    }
    return NULL;
}

static void tracks_run_side_by_side_and_no_wake_up_is_lost(void **state)
{
    (void)state;
    struct vt_recorder *r = recorder_with((struct vt_recorder_config){.n_tracks = 2});
    struct worker w[2] = {{r, 20000, 0}, {r, 20000, 1}};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? lead : follow, &w[i % 2]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    struct vt_record_block block;
    assert_int_equal(vt_recorder_take(r, NULL, &block), VT_OK);
    assert_int_equal(block.n, 40000);
    for (uint32_t i = 0; i < 40000; i++) {
        assert_int_equal(block.records[i].query, i);
        assert_true(block.records[i].done_ns != VT_RECORD_LOST);
    }
    vt_record_block_release(&block);
    recorder_free(r);
}

/* A small run with everything on; the first status that is not VT_OK. */
static enum vt_status small_run(void)
{
    struct vt_recorder r;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_recorder_config config = {.n_tracks = 2,
                                        .expected = 100,
                                        .tokens = true,
                                        .keep = VT_KEEP_MARKED,
                                        .memory_limit_bytes = 1,
                                        .spill_folder = "/var/tmp"};
    struct vt_record_block block = {0};
    enum vt_status st = vt_recorder_init(&r, &config, &err);
    for (uint32_t i = 0; st == VT_OK && i < 700; i++) {
        uint32_t track = i % 2;
        st = vt_recorder_reserve(&r, track, 1, &err);
        if (st == VT_OK) {
            vt_recorder_open(&r, track, i / 2, i, i);
            vt_recorder_mark(&r, track, i / 2);
            atomic_store(&r.tracks[track].issued, i / 2 + 1);
            struct vt_completion c = {.id = vt_recorder_id(&r, track, i / 2),
                                      .response = "four",
                                      .response_bytes = 4,
                                      .n_tokens = 4};
            vt_recorder_first_token(&r, &c, 1);
            vt_recorder_complete(&r, &c, 1);
        }
    }
    if (st == VT_OK && r.responses.out_of_memory) {
        st = VT_ERR_MEMORY;
    }
    if (st == VT_OK) {
        st = vt_recorder_take(&r, &err, &block);
    }
    if (st == VT_OK && (r.responses.n != 700 || block.spilled_bytes == 0)) {
        st = VT_ERR_USAGE;
    }
    vt_record_block_release(&block);
    vt_recorder_release(&r);
    return st;
}

static void every_failed_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    int allowed = 0;
    for (enum vt_status st = VT_ERR_MEMORY; st != VT_OK; allowed++) {
        struct vt_torture torture;
        vt_torture_begin(&torture, allowed);
        st = small_run();
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(st == VT_OK || st == VT_ERR_MEMORY);
    }
    assert_true(allowed > 6);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Address space for less than was asked for is an error only when it is needed. */
static void scarce_address_space_is_an_error_in_time(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {UINT64_C(600) << 20, UINT64_C(600) << 20};
        struct vt_recorder *r = vt_calloc(1, sizeof(*r));
        struct vt_recorder_config config = {.n_tracks = 1, .expected = 1000};
        if (r == NULL || setrlimit(RLIMIT_AS, &limit) != 0 ||
            vt_recorder_init(r, &config, NULL) != VT_OK) {
            _exit(1);
        }
        enum vt_status st = VT_OK;
        struct vt_error err = VT_ERROR_INIT;
        uint64_t n = 0;
        for (; st == VT_OK && n < 100000000; n += 1000) {
            st = vt_recorder_reserve(r, 0, 1000, &err);
            atomic_store(&r->tracks[0].issued, n + 1000);
        }
        void *rest = vt_alloc(10 << 20); /* something was left for others */
        bool good = (st == VT_ERR_LIMIT || st == VT_ERR_MEMORY) && n > 1000000 && rest != NULL;
        vt_free(rest);
        vt_recorder_release(r);
        vt_free(r);
        _exit(good ? 0 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_never_move),
        cmocka_unit_test(ids_tell_runs_and_tracks_apart),
        cmocka_unit_test(doubled_and_late_completions_are_told_with_their_ids),
        cmocka_unit_test(a_sequence_has_an_end),
        cmocka_unit_test(tracks_merge_in_order_of_queries),
        cmocka_unit_test(the_first_of_a_sample_comes_once_and_before_its_end),
        cmocka_unit_test(offline_needs_no_first_token),
        cmocka_unit_test(notes_beyond_the_list_are_counted),
        cmocka_unit_test(racing_completions_count_exactly_once),
        cmocka_unit_test(tracks_run_side_by_side_and_no_wake_up_is_lost),
        cmocka_unit_test(every_failed_allocation_is_an_error_and_leaks_nothing),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(scarce_address_space_is_an_error_in_time),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
