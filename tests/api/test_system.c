/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vatio engine as a system under test: driven by hand as a foreign load generator would, and by
 * vatio's own through the public handles. The model is the built-in one.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "vatio/system.h"
#include "vt_test.h"
#include "vt_torture.h"

#define IMAGES  360u
#define ISSUERS 3u

static const struct vt_system_option digits[] = {
    {"model", "digits"}, {"threads", "1"}, {"lanes", "2"}, {"batch", "8"}};

static struct vt_system *open_system(const struct vt_system_option *options, size_t n)
{
    struct vt_system *system = NULL;
    struct vt_error err = VT_ERROR_INIT;
    if (vt_system_open(options, n, &err, &system) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return system;
}

/* What a generator keeps of completions, by id. */
struct answers {
    _Atomic uint32_t n;
    _Atomic uint32_t times[ISSUERS * IMAGES];
    int32_t class_of[ISSUERS * IMAGES];
    _Atomic uint32_t failed;
};

static void complete(void *ctx, const struct vt_completion *completions, size_t n)
{
    struct answers *answers = ctx;
    for (size_t i = 0; i < n; i++) {
        const struct vt_completion *c = &completions[i];
        if (c->id >= ISSUERS * IMAGES || c->status != VT_OK || c->response_bytes != 4) {
            atomic_fetch_add(&answers->failed, 1);
            continue;
        }
        memcpy(&answers->class_of[c->id], c->response, 4);
        atomic_fetch_add(&answers->times[c->id], 1);
    }
    atomic_fetch_add(&answers->n, (uint32_t)n);
}

static void await(struct answers *answers, uint32_t n)
{
    int64_t until = vt_now_ns() + 60 * VT_NS_PER_S;
    while (atomic_load(&answers->n) < n && vt_now_ns() < until) {
        vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
    }
    assert_int_equal(atomic_load(&answers->n), n);
}

static void load_all(struct vt_system *system, uint64_t indices[IMAGES])
{
    for (uint64_t i = 0; i < IMAGES; i++) {
        indices[i] = i;
    }
    assert_int_equal(vt_system_load(system, indices, IMAGES, NULL), VT_OK);
}

/* --- misuse */

static void null_is_refused_or_harmless(void **state)
{
    (void)state;
    const uint64_t index = 0;
    struct vt_system *system = NULL;
    struct vt_completion_sink sink = {NULL, NULL, NULL};
    assert_int_equal(vt_system_open(NULL, 1, NULL, &system), VT_ERR_USAGE);
    assert_int_equal(vt_system_open(digits, 1, NULL, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_system_load(NULL, &index, 1, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_system_start(NULL, VT_SERVER, &sink, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_system_stop(NULL, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_system_issue(NULL, &index, &index, 1, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_system_score(NULL, NULL, 0, NULL, NULL), VT_ERR_USAGE);
    vt_system_unload(NULL, &index, 1);
    vt_system_flush(NULL);
    vt_system_abort(NULL);
    vt_system_close(NULL);
    assert_null(vt_system_name(NULL));
    assert_null(vt_system_description(NULL));
    assert_null(vt_system_sut(NULL));
    assert_null(vt_system_qsl(NULL));
    assert_int_equal(vt_system_total_count(NULL), 0);
    assert_int_equal(vt_system_performance_count(NULL), 0);
    assert_null(system);
}

static void options_are_those_of_a_system(void **state)
{
    (void)state;
    static const struct {
        struct vt_system_option option;
        const char *word;
    } wrong[] = {
        {{"batsh", "8"}, "batch"},       {{"batch", "none"}, "batch"},
        {{"batch", "0"}, "1..65536"},    {{"scenario", "server"}, "has no use here"},
        {{"duration", "1s"}, "no use"},  {{"output", "x"}, "no use"},
        {{"model", "digit"}, "digits"},  {{"engine", "nativ"}, "native"},
        {{"batch", NULL}, "no value"},   {{NULL, "8"}, "no name"},
        {{"dataset", "/none"}, "/none"}, {{"engine-option", "x"}, "KEY=VALUE"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vt_system_option options[2] = {digits[0], wrong[i].option};
        struct vt_system *system = NULL;
        struct vt_error err = VT_ERROR_INIT;
        assert_int_not_equal(vt_system_open(options, 2, &err, &system), VT_OK);
        assert_null(system);
        if (strstr(err.text, wrong[i].word) == NULL) {
            fail_msg("'%s' does not name '%s'", err.text, wrong[i].word);
        }
    }
    struct vt_error err = VT_ERROR_INIT;
    struct vt_system *system = NULL;
    assert_int_equal(vt_system_open(NULL, 0, &err, &system), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "'model' is missing"));
}

static void calls_out_of_order_are_refused(void **state)
{
    (void)state;
    struct vt_system *system = open_system(digits, 4);
    static struct answers answers;
    const struct vt_completion_sink sink = {complete, NULL, &answers};
    struct vt_error err = VT_ERROR_INIT;
    const uint64_t one[1] = {7}, id[1] = {1}, beyond[1] = {IMAGES};
    memset(&answers, 0, sizeof answers);
    assert_int_equal(vt_system_issue(system, id, one, 1, &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "not started"));
    assert_int_equal(vt_system_stop(system, NULL), VT_OK);
    assert_int_equal(vt_system_start(system, VT_SCENARIO_COUNT, &sink, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_system_start(system, VT_SERVER, &sink, NULL), VT_OK);
    assert_int_equal(vt_system_start(system, VT_SERVER, &sink, NULL), VT_ERR_USAGE);
    err = (struct vt_error)VT_ERROR_INIT;
    assert_int_equal(vt_system_issue(system, id, one, 1, &err), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "not loaded"));
    assert_int_equal(vt_system_load(system, beyond, 1, NULL), VT_ERR_USAGE);
    assert_int_equal(vt_system_issue(system, id, beyond, 1, NULL), VT_ERR_USAGE);
    vt_system_unload(system, beyond, 1);
    vt_system_unload(system, one, 1);
    /* Loaded twice, dropped once: still there. */
    assert_int_equal(vt_system_load(system, one, 1, NULL), VT_OK);
    assert_int_equal(vt_system_load(system, one, 1, NULL), VT_OK);
    vt_system_unload(system, one, 1);
    assert_int_equal(vt_system_issue(system, id, one, 1, NULL), VT_OK);
    await(&answers, 1);
    vt_system_unload(system, one, 1);
    assert_int_equal(vt_system_issue(system, id, one, 1, NULL), VT_ERR_USAGE);
    /* vatio's own generator does not come between. */
    err = (struct vt_error)VT_ERROR_INIT;
    struct vt_load_test *test = NULL;
    struct vt_load_result *result = NULL;
    assert_int_equal(vt_load_test_new(NULL, &test), VT_OK);
    assert_int_equal(
        vt_load_test_run(test, vt_system_sut(system), vt_system_qsl(system), &err, &result),
        VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "started already"));
    vt_load_test_free(test);
    vt_system_close(system); /* while it is started */
}

/* --- work */

struct issuer {
    struct vt_system *system;
    uint64_t first_id;
    size_t step;
    enum vt_status status;
};

static void *issue_all(void *arg)
{
    struct issuer *issuer = arg;
    uint64_t ids[IMAGES], indices[IMAGES];
    for (uint64_t i = 0; i < IMAGES; i++) {
        ids[i] = issuer->first_id + i;
        indices[i] = i;
    }
    for (size_t i = 0; i < IMAGES && issuer->status == VT_OK; i += issuer->step) {
        size_t n = IMAGES - i < issuer->step ? IMAGES - i : issuer->step;
        issuer->status = vt_system_issue(issuer->system, ids + i, indices + i, n, NULL);
    }
    return NULL;
}

static void several_threads_issue_and_every_sample_is_answered_once(void **state)
{
    (void)state;
    static struct answers answers;
    const struct vt_completion_sink sink = {complete, NULL, &answers};
    struct vt_system *system = open_system(digits, 4);
    uint64_t indices[IMAGES];
    assert_string_equal(vt_system_name(system), "vatio native");
    assert_non_null(strstr(vt_system_description(system), "batch 8"));
    assert_int_equal(vt_system_total_count(system), IMAGES);
    assert_int_equal(vt_system_performance_count(system), IMAGES);
    load_all(system, indices);
    static const enum vt_scenario scenarios[] = {VT_OFFLINE, VT_SERVER};
    for (int s = 0; s < 2; s++) {
        memset(&answers, 0, sizeof answers);
        assert_int_equal(vt_system_start(system, scenarios[s], &sink, NULL), VT_OK);
        struct issuer issuers[ISSUERS];
        pthread_t threads[ISSUERS];
        for (uint64_t i = 0; i < ISSUERS; i++) {
            /* One by one, in fives, and all at once. */
            static const size_t steps[ISSUERS] = {1, 5, IMAGES};
            issuers[i] = (struct issuer){system, i * IMAGES, steps[i], VT_OK};
            assert_int_equal(pthread_create(&threads[i], NULL, issue_all, &issuers[i]), 0);
        }
        for (uint32_t i = 0; i < ISSUERS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(issuers[i].status, VT_OK);
        }
        vt_system_flush(system);
        await(&answers, ISSUERS * IMAGES);
        assert_int_equal(vt_system_stop(system, NULL), VT_OK);
        assert_int_equal(atomic_load(&answers.failed), 0);
        for (uint32_t i = 0; i < ISSUERS * IMAGES; i++) {
            assert_int_equal(atomic_load(&answers.times[i]), 1);
            assert_int_equal(answers.class_of[i], answers.class_of[i % IMAGES]);
        }
    }
    vt_system_unload(system, indices, IMAGES);
    vt_system_close(system);
}

static void responses_are_scored(void **state)
{
    (void)state;
    static struct answers answers;
    const struct vt_completion_sink sink = {complete, NULL, &answers};
    struct vt_system *system = open_system(digits, 2); /* one lane: in place */
    uint64_t indices[IMAGES];
    struct vt_load_answer list[IMAGES];
    struct vt_system_quality quality = {.struct_size = sizeof quality};
    memset(&answers, 0, sizeof answers);
    load_all(system, indices);
    assert_int_equal(vt_system_start(system, VT_SINGLESTREAM, &sink, NULL), VT_OK);
    for (uint64_t i = 0; i < IMAGES; i++) {
        assert_int_equal(vt_system_issue(system, &i, &i, 1, NULL), VT_OK);
        assert_int_equal(atomic_load(&answers.n), i + 1);
    }
    assert_int_equal(vt_system_stop(system, NULL), VT_OK);
    for (uint64_t i = 0; i < IMAGES; i++) {
        list[i] = (struct vt_load_answer){i, i, &answers.class_of[i], 4};
    }
    assert_int_equal(vt_system_score(system, list, IMAGES, NULL, &quality), VT_OK);
    assert_string_equal(quality.metric, "top-1");
    assert_string_equal(quality.unit, "%");
    assert_true(quality.value > 97.7 && quality.value < 98.9); /* 98.33 as trained */
    assert_true(quality.pass && quality.has_target && quality.count == IMAGES);
    /* Ten wrong ones are ten less. */
    double before = quality.value;
    int32_t none = -1;
    int wrong = 0;
    for (uint64_t i = 0; i < IMAGES; i++) {
        struct vt_system_quality single = {.struct_size = sizeof single};
        assert_int_equal(vt_system_score(system, &list[i], 1, NULL, &single), VT_OK);
        if (single.value > 99 && wrong < 10) {
            list[i].data = &none;
            wrong++;
        }
    }
    assert_int_equal(vt_system_score(system, list, IMAGES, NULL, &quality), VT_OK);
    assert_true(quality.value > before - 10 * 100.0 / IMAGES - 1e-9 &&
                quality.value < before - 10 * 100.0 / IMAGES + 1e-9);
    assert_false(quality.pass);
    quality.struct_size = 4;
    assert_int_equal(vt_system_score(system, list, IMAGES, NULL, &quality), VT_ERR_USAGE);
    vt_system_close(system);
}

static void an_aborted_system_answers_nothing_more_and_works_again(void **state)
{
    (void)state;
    static struct answers answers;
    const struct vt_completion_sink sink = {complete, NULL, &answers};
    struct vt_system *system = open_system(digits, 4);
    uint64_t indices[IMAGES];
    memset(&answers, 0, sizeof answers);
    load_all(system, indices);
    assert_int_equal(vt_system_start(system, VT_OFFLINE, &sink, NULL), VT_OK);
    assert_int_equal(vt_system_issue(system, indices, indices, IMAGES, NULL), VT_OK);
    vt_system_abort(system);
    assert_int_equal(vt_system_stop(system, NULL), VT_OK);
    uint32_t some = atomic_load(&answers.n);
    assert_true(some <= IMAGES);
    vt_sleep_until_ns(vt_now_ns() + 20 * VT_NS_PER_MS, 0);
    assert_int_equal(atomic_load(&answers.n), some);
    memset(&answers, 0, sizeof answers);
    assert_int_equal(vt_system_start(system, VT_OFFLINE, &sink, NULL), VT_OK);
    assert_int_equal(vt_system_issue(system, indices, indices, IMAGES, NULL), VT_OK);
    vt_system_flush(system);
    await(&answers, IMAGES);
    vt_system_close(system);
}

static void vatios_own_load_takes_the_system_as_it_is(void **state)
{
    (void)state;
    struct vt_system *system = open_system(digits, 4);
    struct vt_load_test *test = NULL;
    struct vt_load_result *result = NULL;
    struct vt_error err = VT_ERROR_INIT;
    assert_int_equal(vt_load_test_new(NULL, &test), VT_OK);
    assert_int_equal(vt_load_test_set(test, "scenario", "MultiStream", NULL), VT_OK);
    assert_int_equal(vt_load_test_set(test, "mode", "AccuracyOnly", NULL), VT_OK);
    if (vt_load_test_run(test, vt_system_sut(system), vt_system_qsl(system), &err, &result) !=
        VT_OK) {
        fail_msg("%s", err.text);
    }
    vt_load_test_free(test);
    struct vt_load_answer list[IMAGES];
    struct vt_system_quality quality = {.struct_size = sizeof quality};
    assert_int_equal(vt_load_result_answers(result), IMAGES);
    for (uint64_t i = 0; i < IMAGES; i++) {
        assert_int_equal(vt_load_result_answer(result, i, NULL, &list[i]), VT_OK);
    }
    assert_int_equal(vt_system_score(system, list, IMAGES, NULL, &quality), VT_OK);
    assert_true(quality.pass);
    vt_load_result_free(result);
    vt_system_close(system);
}

/* --- memory */

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const struct vt_system_option null_engine[] = {
        {"model", "digits"}, {"engine", "null"}, {"threads", "1"}, {"batch", "2"}};
    enum vt_status status = VT_ERR_MEMORY;
    int allowed = 0;
    for (; status == VT_ERR_MEMORY && allowed < 5000; allowed++) {
        struct vt_torture torture;
        struct vt_system *system = NULL;
        vt_torture_begin(&torture, allowed);
        status = vt_system_open(null_engine, 4, NULL, &system);
        vt_system_close(system);
        assert_int_equal(vt_torture_end(&torture), 0);
    }
    assert_int_equal(status, VT_OK);
    assert_true(allowed > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_refused_or_harmless),
        cmocka_unit_test(options_are_those_of_a_system),
        cmocka_unit_test(calls_out_of_order_are_refused),
        cmocka_unit_test(several_threads_issue_and_every_sample_is_answered_once),
        cmocka_unit_test(responses_are_scored),
        cmocka_unit_test(an_aborted_system_answers_nothing_more_and_works_again),
        cmocka_unit_test(vatios_own_load_takes_the_system_as_it_is),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
