/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "doubles.h"
#include "sut/sut.h"
#include "vt_torture.h"

#define MOST 1000

/* What the sink saw, by id. */
struct seen {
    _Atomic int times[MOST];
    float response[MOST];
    enum vt_status status[MOST];
    char text[256];
    _Atomic uint64_t total;
    _Atomic int firsts[MOST];
    float first[MOST];
    int64_t n_tokens[MOST];
};
static struct seen seen;

static void on_first_token(void *ctx, const struct vt_completion *firsts, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = firsts[i].id;
        assert_int_equal(atomic_load(&seen.times[id]), 0);
        assert_int_equal(firsts[i].response_bytes, sizeof(float));
        memcpy(&seen.first[id], firsts[i].response, sizeof(float));
        atomic_fetch_add(&seen.firsts[id], 1);
    }
}

static void on_complete(void *ctx, const struct vt_completion *completions, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = completions[i].id;
        seen.status[id] = completions[i].status;
        seen.n_tokens[id] = completions[i].n_tokens;
        if (completions[i].status == VT_OK) {
            memcpy(&seen.response[id], completions[i].response, sizeof(float));
        } else {
            (void)snprintf(seen.text, sizeof seen.text, "%s", completions[i].text);
        }
        atomic_fetch_add(&seen.times[id], 1);
        atomic_fetch_add(&seen.total, 1);
    }
}
static const struct vt_completion_sink sink = {on_complete, on_first_token, NULL};

static struct vt_sut_options options(uint32_t batch, uint32_t lanes)
{
    return (struct vt_sut_options){
        .batch = batch, .lanes = lanes, .request_timeout_ns = 50 * VT_NS_PER_MS};
}

static struct vt_batching_sut *new_sut(struct fake_engine *engine, const char *workload,
                                       const struct vt_sut_options *with)
{
    struct vt_batching_sut *sut = NULL;
    struct vt_error err = VT_ERROR_INIT;
    uint64_t all[MOST];

    for (uint64_t i = 0; i < MOST; i++) {
        all[i] = i;
    }
    memset(&seen, 0, sizeof seen);
    assert_int_equal(fake_workload_ops.load(NULL, all, MOST, &err), VT_OK);
    assert_int_equal(vt_sut_new(&fake_engine_ops, engine, &fake_signature, &fake_workload_ops,
                                (void *)(uintptr_t)workload, "fake sut", with, &err, &sut),
                     VT_OK);
    assert_string_equal(vt_sut_seam(sut)->name(vt_sut_seam(sut)->ctx), "fake sut");
    return sut;
}

static void start(struct vt_batching_sut *sut, enum vt_scenario scenario)
{
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_sut_seam(sut)->start(vt_sut_seam(sut)->ctx, &sink, scenario, &err), VT_OK);
}

static void issue(struct vt_batching_sut *sut, uint64_t first, size_t n)
{
    struct vt_query_sample samples[MOST];
    struct vt_error err = VT_ERROR_INIT;
    for (size_t i = 0; i < n; i++) {
        samples[i] = (struct vt_query_sample){.id = first + i, .index = (first + i) % MOST};
    }
    assert_int_equal(vt_sut_seam(sut)->issue(vt_sut_seam(sut)->ctx, samples, n, &err), VT_OK);
}

/* Ends the run and frees: nothing may be reported afterwards. */
static void finish(struct vt_batching_sut *sut, uint64_t awaited)
{
    struct vt_error err = VT_ERROR_INIT;
    int64_t deadline = vt_now_ns() + 10 * VT_NS_PER_S;
    while (seen.total < awaited && vt_now_ns() < deadline) {
        vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
    }
    assert_int_equal(vt_sut_seam(sut)->start(vt_sut_seam(sut)->ctx, NULL, VT_OFFLINE, &err), VT_OK);
    vt_sut_free(sut);
}

static void assert_all_right(uint64_t n)
{
    for (uint64_t id = 0; id < n; id++) {
        assert_int_equal(seen.times[id], 1);
        assert_int_equal(seen.status[id], VT_OK);
        assert_float_equal(seen.response[id], (float)id + 6.0F, 0.0F);
    }
}

static void offline_answers_every_sample_once_with_its_own_result(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= 3; lanes++) {
        for (uint32_t batch = 1; batch <= 33; batch += 16) {
            struct fake_engine engine = {0};
            struct vt_sut_options with = options(batch, lanes);
            struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);
            struct vt_sut_counts counts;
            start(sut, VT_OFFLINE);
            issue(sut, 0, 500);
            issue(sut, 500, 500);
            vt_sut_seam(sut)->flush(vt_sut_seam(sut)->ctx);
            int64_t deadline = vt_now_ns() + 10 * VT_NS_PER_S;
            while (seen.total < MOST && vt_now_ns() < deadline) {
                vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
            }
            vt_sut_counts(sut, &counts);
            assert_int_equal(counts.samples, MOST);
            assert_true(counts.requests >= MOST / batch);
            assert_true(engine.largest_request <= batch);
            finish(sut, MOST);
            assert_all_right(MOST);
        }
    }
}

static void one_lane_computes_closed_loops_in_place(void **state)
{
    (void)state;
    struct fake_engine engine = {0};
    struct vt_sut_options with = options(8, 1);
    struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);

    start(sut, VT_SINGLESTREAM);
    for (uint64_t id = 0; id < 20; id++) {
        issue(sut, id, 1);
        assert_int_equal(seen.total, id + 1);
    }
    start(sut, VT_MULTISTREAM);
    issue(sut, 20, 12);
    assert_int_equal(seen.total, 32);
    assert_int_equal(engine.largest_request, 8);
    finish(sut, 32);
    assert_all_right(32);
}

static void server_waits_for_company_but_not_for_ever(void **state)
{
    (void)state;
    struct fake_engine engine = {0};
    struct vt_sut_options with = options(4, 1);
    with.batch_delay_ns = 300 * VT_NS_PER_MS;
    struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);

    start(sut, VT_SERVER);
    int64_t before = vt_now_ns();
    for (uint64_t id = 0; id < 4; id++) {
        issue(sut, id, 1);
    }
    while (seen.total < 4 && vt_now_ns() - before < VT_NS_PER_S) {
        vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
    }
    assert_int_equal(seen.total, 4);
    assert_int_equal(engine.largest_request, 4);
    issue(sut, 4, 1);
    while (seen.total < 5 && vt_now_ns() - before < 5 * VT_NS_PER_S) {
        vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
    }
    finish(sut, 5);
    assert_all_right(5);
}

/* Every sample of a faulty engine is answered with a failure that says why. */
static void assert_fault(enum fault fault, uint32_t batch, uint64_t n, const char *text)
{
    struct fake_engine engine = {.fault = fault};
    struct vt_sut_options with = options(batch, 1);
    struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);

    start(sut, VT_OFFLINE);
    issue(sut, 0, n);
    finish(sut, n);
    for (uint64_t id = 0; id < n; id++) {
        assert_int_equal(seen.times[id], 1);
        assert_int_not_equal(seen.status[id], VT_OK);
    }
    assert_non_null(strstr(seen.text, text));
}

static void faults_become_failed_samples(void **state)
{
    (void)state;
    assert_fault(FAULT_ERROR_EVENT, 4, 10, "dislikes this");
    assert_fault(FAULT_SILENT, 4, 10, "gave no answer within 0.05 s");
    assert_fault(FAULT_WAIT_FAILS, 4, 10, "lane broke");
    assert_fault(FAULT_SUBMIT_FAILS, 4, 10, "takes nothing");
    assert_fault(FAULT_WRONG_OUTPUTS, 4, 10, "gave 0 outputs, the model has 1");
    assert_fault(FAULT_WRONG_ROWS, 5, 10, "cannot be divided");
}

static void a_second_answer_is_passed_on(void **state)
{
    (void)state;
    struct fake_engine engine = {.fault = FAULT_TWICE};
    struct vt_sut_options with = options(4, 1);
    struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);

    start(sut, VT_SINGLESTREAM);
    issue(sut, 0, 1);
    finish(sut, 2);
    assert_int_equal(seen.times[0], 2);
}

static void the_first_token_is_passed_on_once_and_the_count_with_the_answer(void **state)
{
    (void)state;
    /* In place with one sample a request, and through the lanes in batches of four. */
    for (uint32_t batch = 1; batch <= 4; batch += 3) {
        struct fake_engine engine = {.fault = FAULT_TOKENS};
        struct vt_sut_options with = options(batch, 1);
        struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);
        start(sut, batch == 1 ? VT_SINGLESTREAM : VT_OFFLINE);
        issue(sut, 0, 8);
        finish(sut, 8);
        for (uint64_t i = 0; i < 8; i++) {
            assert_int_equal(seen.firsts[i], 1);
            assert_int_equal(seen.times[i], 1);
            assert_true(seen.first[i] == (float)i + 6);
            assert_in_range(seen.n_tokens[i], 3, 3 + batch - 1);
        }
        assert_int_equal(seen.n_tokens[0], 3);
    }
}

struct issuing {
    struct vt_batching_sut *sut;
    uint64_t first;
};

static void *issue_singly(void *argument)
{
    const struct issuing *self = argument;
    for (uint64_t i = 0; i < MOST / 4; i++) {
        issue(self->sut, self->first + i, 1);
    }
    return NULL;
}

static void issue_from_several_threads_loses_nothing(void **state)
{
    (void)state;
    struct fake_engine engine = {0};
    struct vt_sut_options with = options(8, 3);
    struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);
    struct issuing issuing[4];
    pthread_t threads[4];
    start(sut, VT_SERVER);
    for (uint64_t i = 0; i < 4; i++) {
        issuing[i] = (struct issuing){sut, i * (MOST / 4)};
        assert_int_equal(pthread_create(&threads[i], NULL, issue_singly, &issuing[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    finish(sut, MOST);
    assert_all_right(MOST);
}

static void samples_of_different_shapes_do_not_share_a_batch(void **state)
{
    (void)state;
    struct fake_engine engine = {0};
    struct vt_sut_options with = options(20, 1);
    struct vt_batching_sut *sut = new_sut(&engine, "uneven", &with);

    start(sut, VT_MULTISTREAM);
    issue(sut, 0, 20);
    assert_int_equal(seen.status[13], VT_ERR_UNSUPPORTED);
    assert_non_null(strstr(seen.text, "--batch 1"));
    finish(sut, 20);
}

static void abort_drops_what_waits(void **state)
{
    (void)state;
    struct fake_engine engine = {.compute_ns = 20 * VT_NS_PER_MS};
    struct vt_sut_options with = options(1, 1);
    struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);

    start(sut, VT_OFFLINE);
    issue(sut, 0, 500);
    vt_sut_seam(sut)->abort(vt_sut_seam(sut)->ctx);
    finish(sut, 0);
    assert_true(seen.total <= 2);
}

static void warm_up_finds_the_best_batch(void **state)
{
    (void)state;
    struct fake_engine engine = {.compute_ns = 2 * VT_NS_PER_MS};
    struct vt_sut_options with = options(32, 2);
    struct vt_warm_up warm;
    struct vt_error err = VT_ERROR_INIT;
    with.batch_auto = true;
    struct vt_batching_sut *sut = new_sut(&engine, NULL, &with);

    /* A request costs the same whatever its size, so the largest is the best. */
    assert_int_equal(vt_sut_warm_up(sut, 5, 20 * VT_NS_PER_S, &err, &warm), VT_OK);
    assert_true(warm.batch >= 16);
    assert_true(warm.single_ns >= 2 * VT_NS_PER_MS);
    vt_sut_free(sut);

    engine.fault = FAULT_ERROR_EVENT;
    sut = new_sut(&engine, NULL, &with);
    assert_int_equal(vt_sut_warm_up(sut, 5, VT_NS_PER_S, &err, &warm), VT_ERR_ENGINE);
    assert_non_null(strstr(err.text, "dislikes this"));
    vt_sut_free(sut);
}

static void out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    struct fake_engine engine = {0};
    struct vt_sut_options with = options(4, 2);
    enum vt_status status = VT_ERR_MEMORY;

    for (int allowed = 0; status != VT_OK; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_batching_sut *sut = NULL;

        vt_torture_begin(&torture, allowed);
        status = vt_sut_new(&fake_engine_ops, &engine, &fake_signature, &fake_workload_ops, NULL,
                            "fake", &with, &err, &sut);
        vt_sut_free(sut);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(status == VT_OK ? allowed > 10 : status == VT_ERR_MEMORY && sut == NULL);
        assert_int_equal(err.status, status);
    }
    vt_sut_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offline_answers_every_sample_once_with_its_own_result),
        cmocka_unit_test(one_lane_computes_closed_loops_in_place),
        cmocka_unit_test(server_waits_for_company_but_not_for_ever),
        cmocka_unit_test(faults_become_failed_samples),
        cmocka_unit_test(a_second_answer_is_passed_on),
        cmocka_unit_test(the_first_token_is_passed_on_once_and_the_count_with_the_answer),
        cmocka_unit_test(issue_from_several_threads_loses_nothing),
        cmocka_unit_test(samples_of_different_shapes_do_not_share_a_batch),
        cmocka_unit_test(abort_drops_what_waits),
        cmocka_unit_test(warm_up_finds_the_best_batch),
        cmocka_unit_test(out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
