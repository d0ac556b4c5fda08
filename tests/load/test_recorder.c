/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder alone: ids, chunks, and completions from several threads at once. */
#include <pthread.h>

#include "load/recorder.h"
#include "vt_test.h"

#define THREADS 4

static struct vt_recorder *recorder_of(uint64_t expected)
{
    struct vt_recorder *r = vt_calloc(1, sizeof(*r));
    assert_non_null(r);
    assert_int_equal(vt_recorder_init(r, NULL, expected, false, NULL), VT_OK);
    return r;
}

static void recorder_free(struct vt_recorder *r)
{
    vt_recorder_release(r);
    vt_free(r);
}

/* As the issuing thread does it. */
static void issue(struct vt_recorder *r, uint64_t n)
{
    assert_int_equal(vt_recorder_reserve(r, n, NULL), VT_OK);
    uint64_t sequence = atomic_load(&r->issued);
    for (uint64_t i = 0; i < n; i++) {
        *vt_recorder_at(r, sequence + i) = (struct vt_sample_record){
            .scheduled_ns = (int64_t)(sequence + i),
            .done_ns = VT_RECORD_LOST,
            .index = (uint32_t)(sequence + i) % 1000,
        };
    }
    atomic_store(&r->issued, sequence + n);
}

static void records_stay_in_order_across_chunks(void **state)
{
    (void)state;
    const uint64_t n = 5 * VT_RECORDER_CHUNK + 17;
    struct vt_recorder *r = recorder_of(0);
    struct vt_sample_record *first = vt_recorder_at(r, 0);
    for (uint64_t i = 0; i < n; i += 7) {
        issue(r, n - i < 7 ? n - i : 7);
    }
    assert_ptr_equal(first, vt_recorder_at(r, 0)); /* nothing moved */
    for (uint64_t i = 0; i < n; i++) {
        struct vt_completion c = {.id = vt_recorder_id(r, n - 1 - i)};
        vt_recorder_complete(r, &c, 1);
    }
    assert_int_equal(atomic_load(&r->completed), n);
    struct vt_sample_record *records = NULL;
    assert_int_equal(vt_recorder_take(r, NULL, &records), VT_OK);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(records[i].scheduled_ns, i);
        assert_true(records[i].done_ns != VT_RECORD_LOST);
    }
    vt_free(records);
    recorder_free(r);
}

static void an_expected_run_is_handed_over_without_a_copy(void **state)
{
    (void)state;
    struct vt_recorder *r = recorder_of(3 * VT_RECORDER_CHUNK);
    issue(r, 3 * VT_RECORDER_CHUNK);
    struct vt_sample_record *first = vt_recorder_at(r, 0);
    assert_ptr_equal(vt_recorder_at(r, 2 * VT_RECORDER_CHUNK), first + 2 * VT_RECORDER_CHUNK);
    struct vt_sample_record *records = NULL;
    assert_int_equal(vt_recorder_take(r, NULL, &records), VT_OK);
    assert_ptr_equal(records, first);
    vt_free(records);
    recorder_free(r);
}

static void runs_have_ids_of_their_own(void **state)
{
    (void)state;
    struct vt_recorder *a = recorder_of(0), *b = recorder_of(0);
    assert_true(vt_recorder_id(a, 5) >> 32 != 0);
    assert_true(vt_recorder_id(a, 5) != vt_recorder_id(b, 5));
    issue(b, 10);
    struct vt_completion c = {.id = vt_recorder_id(a, 5)};
    vt_recorder_complete(b, &c, 1);
    assert_int_equal(atomic_load(&b->invented), 1);
    assert_int_equal(atomic_load(&b->completed), 0);
    recorder_free(a);
    recorder_free(b);
}

static void a_sequence_has_an_end(void **state)
{
    (void)state;
    struct vt_recorder *r = recorder_of(0);
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_recorder_reserve(r, UINT64_C(1) << 32, &err), VT_ERR_LIMIT);
    assert_non_null(strstr(err.text, "4294967295"));
    recorder_free(r);
}

struct worker {
    struct vt_recorder *recorder;
    uint64_t n;
};

/* Every thread completes every sample: one of them wins each. */
static void *complete_all(void *arg)
{
    struct worker *w = arg;
    for (uint64_t i = 0; i < w->n; i += 4) {
        struct vt_completion c[4];
        for (uint64_t k = 0; k < 4; k++) {
            c[k] = (struct vt_completion){.id = vt_recorder_id(w->recorder, i + k)};
        }
        vt_recorder_complete(w->recorder, c, 4);
    }
    return NULL;
}

static void racing_completions_count_exactly_once(void **state)
{
    (void)state;
    const uint64_t n = 40000;
    struct vt_recorder *r = recorder_of(n);
    issue(r, n);
    pthread_t threads[THREADS];
    struct worker w = {r, n};
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, complete_all, &w), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&r->completed), n);
    assert_int_equal(atomic_load(&r->doubled), (THREADS - 1) * n);
    assert_int_equal(atomic_load(&r->invented), 0);
    recorder_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_stay_in_order_across_chunks),
        cmocka_unit_test(an_expected_run_is_handed_over_without_a_copy),
        cmocka_unit_test(runs_have_ids_of_their_own),
        cmocka_unit_test(a_sequence_has_an_end),
        cmocka_unit_test(racing_completions_count_exactly_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
