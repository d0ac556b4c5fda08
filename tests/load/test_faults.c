/* SPDX-License-Identifier: Apache-2.0 */
/* Systems under test that misbehave, interrupts, errors, and a machine without memory. */
#include <inttypes.h>

#include "base/alloc.h"
#include "vt_load_double.h"
#include "vt_test.h"

#define MS VT_NS_PER_MS
#define S  VT_NS_PER_S

struct bench {
    struct vt_fake_clock clock;
    struct vt_fake_sut sut;
    struct vt_fake_qsl qsl;
    struct vt_load_control control;
    struct vt_load_settings settings;
    struct vt_load_report *report;
    struct vt_error err;
};

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    vt_fake_init(&b->clock, &b->sut, &b->qsl, &b->control, 1000, 1000);
    vt_load_settings_default(&b->settings);
    b->settings.scenario = VT_SERVER;
    b->settings.server_target_qps = 100;
    b->settings.min_duration_ns = 0;
    b->settings.min_query_count = 512;
    b->sut.style = VT_FAKE_UNLIMITED;
    b->sut.fixed_ns = MS;
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    vt_load_report_free(b->report);
    vt_fake_release(&b->sut);
    free(b);
    return 0;
}

static enum vt_status try_run(struct bench *b)
{
    return vt_load_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, &b->err, &b->report);
}

static const struct vt_load_report *run(struct bench *b)
{
    if (try_run(b) != VT_OK) {
        fail_msg("%s", b->err.text);
    }
    assert_int_equal(b->sut.stops, 1);
    assert_int_equal(b->qsl.loaded, 0);
    return b->report;
}

static void assert_reason(const struct vt_load_report *r, const char *text)
{
    assert_false(r->valid);
    for (uint32_t i = 0; i < r->reasons.n; i++) {
        if (strstr(r->reasons.text[i], text) != NULL) {
            return;
        }
    }
    fail_msg("no reason says '%s'; the first is '%s'", text,
             r->reasons.n > 0 ? r->reasons.text[0] : "");
}

static void one_lost_sample_is_named_after_the_time_out(void **state)
{
    struct bench *b = *state;
    b->sut.lose = 17;
    b->sut.lose_to = 17;
    const struct vt_load_report *r = run(b);
    char expected[128];
    snprintf(expected, sizeof(expected),
             "1 of 512 samples was never completed (first: sample 17, index %u) within 10 s",
             r->records[17].index);
    assert_reason(r, expected);
    assert_int_equal(r->samples_lost, 1);
    assert_int_equal(r->samples_completed, 511);
    assert_int_equal(r->records[17].done_ns, VT_RECORD_LOST);
    snprintf(expected, sizeof(expected),
             "sample 17 (index %u, id 0x%" PRIx64 ") was never completed", r->records[17].index,
             b->sut.ids[17]);
    assert_string_equal(r->first_failure, expected);
    assert_int_equal(b->sut.aborts, 1);
    /* It waited 10 s behind the last completion and not longer. */
    int64_t waited = b->clock.now_ns - VT_FAKE_EPOCH - r->duration_ns;
    assert_in_range(waited, 10 * S, 10 * S + 200 * MS);
}

static void a_silent_sut_ends_a_long_server_run_early(void **state)
{
    struct bench *b = *state;
    b->settings.min_duration_ns = 600 * S;
    b->sut.lose = 0;
    b->sut.lose_to = UINT64_MAX - 1;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_completed, 0);
    assert_in_range(b->clock.now_ns - VT_FAKE_EPOCH, 10 * S, 11 * S);
    assert_reason(r, "samples were never completed (first: sample 0");
    assert_null(r->metric.name);
}

static void a_lost_sample_ends_a_closed_loop(void **state)
{
    struct bench *b = *state;
    b->settings.scenario = VT_SINGLESTREAM;
    b->sut.style = VT_FAKE_INLINE;
    b->sut.lose = 17;
    b->sut.lose_to = 17;
    b->settings.completion_timeout_ns = 2 * S;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->queries_issued, 18);
    assert_reason(r, "1 of 18 samples was never completed (first: sample 17");
    assert_reason(r, "needs 512 queries, got 18");
    assert_false(r->interrupted || r->capped);
}

static void a_lost_sample_of_offline_is_found(void **state)
{
    struct bench *b = *state;
    b->settings.scenario = VT_OFFLINE;
    b->settings.min_query_count = 100000;
    b->sut.style = VT_FAKE_INLINE;
    b->sut.lose = 70000;
    b->sut.lose_to = 70002;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_lost, 3);
    assert_reason(r, "3 of 100000 samples were never completed (first: sample 70000");
}

static void accuracy_stops_at_a_lost_sample(void **state)
{
    struct bench *b = *state;
    b->settings.mode = VT_ACCURACY;
    b->settings.performance_sample_count_override = 100;
    b->sut.lose = 150;
    b->sut.lose_to = 150;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_issued, 200);
    assert_int_equal(r->n_responses, 199);
    assert_int_equal(b->qsl.unloads, 2);
    assert_reason(r, "1 of 200 samples was never completed");
}

static void a_doubled_completion_counts_once_and_is_reported(void **state)
{
    struct bench *b = *state;
    b->sut.repeat = 5;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_doubled, 1);
    assert_int_equal(r->samples_completed, 512);
    assert_int_equal(r->samples_lost, 0);
    assert_reason(r, "1 completions came twice");
    assert_non_null(strstr(r->first_failure, "sample 5 "));
    assert_non_null(strstr(r->first_failure, "twice"));
}

static void invented_completions_are_counted_not_believed(void **state)
{
    static const uint64_t ids[] = {0, 17, UINT64_MAX >> 1, UINT64_C(0x7ffffff000000005)};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (i > 0) {
            tear_down(state);
            set_up(state);
        }
        struct bench *b = *state;
        b->sut.invent_after = 3;
        b->sut.invent_id = ids[i];
        const struct vt_load_report *r = run(b);
        assert_int_equal(r->samples_invented, 1);
        assert_int_equal(r->samples_completed, 512);
        assert_reason(r, "1 completions belong to no sample of this run");
        assert_non_null(strstr(r->first_failure, "never issued"));
    }
}

static void an_id_of_this_run_that_is_not_issued_yet_is_invented(void **state)
{
    struct bench *b = *state;
    /* The id that the run will have is known only from one before: runs count up. */
    struct vt_load_report *first = NULL;
    assert_int_equal(
        vt_load_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, NULL, &first), VT_OK);
    vt_load_report_free(first);
    uint64_t run_before = b->sut.ids[0] >> 40;
    b->sut.invent_after = 3;
    b->sut.invent_id = (run_before + 1) << 40 | 400;
    b->sut.stops = 0;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_invented, 1);
    assert_int_equal(r->samples_doubled, 0); /* the real 400 came later and counts */
    assert_int_equal(r->samples_completed, 512);
}

static void a_completion_of_an_earlier_run_is_recognised(void **state)
{
    struct bench *b = *state;
    struct vt_load_report *first = NULL;
    assert_int_equal(
        vt_load_run(&b->settings, &b->sut.seam, &b->qsl.seam, &b->control, NULL, &first), VT_OK);
    assert_true(first->valid);
    vt_load_report_free(first);
    b->sut.invent_after = 100;
    b->sut.invent_id = b->sut.ids[7];
    b->sut.stops = 0;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_invented, 1);
    assert_non_null(strstr(r->first_failure, "earlier run"));
    assert_non_null(strstr(r->first_failure, "sample 7 "));
}

static void a_failed_sample_brings_its_text(void **state)
{
    struct bench *b = *state;
    b->sut.fail = 200;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->samples_failed, 1);
    assert_int_equal(r->samples_completed, 512);
    assert_reason(r, "1 of 512 samples failed (first: sample 200");
    assert_non_null(strstr(r->first_failure, "the double was told to fail"));
}

static void a_failed_sample_leaves_no_response(void **state)
{
    struct bench *b = *state;
    b->settings.mode = VT_ACCURACY;
    b->sut.fail = 200;
    const struct vt_load_report *r = run(b);
    assert_int_equal(r->n_responses, 999);
    assert_reason(r, "failed");
}

static void stop_ends_every_scenario_and_keeps_what_was_measured(void **state)
{
    for (enum vt_scenario scenario = 0; scenario < VT_SCENARIO_COUNT; scenario++) {
        for (enum vt_mode mode = 0; mode <= VT_ACCURACY; mode++) {
            if (scenario + mode > 0) {
                tear_down(state);
                set_up(state);
            }
            struct bench *b = *state;
            b->settings.scenario = scenario;
            b->settings.mode = mode;
            b->settings.min_duration_ns = 600 * S;
            b->settings.min_query_count = 100000;
            b->sut.style = VT_FAKE_QUEUED;
            b->sut.stop_at = 100;
            const struct vt_load_report *r = run(b);
            assert_true(r->interrupted);
            assert_reason(r, "interrupted after");
            assert_true(b->clock.now_ns - VT_FAKE_EPOCH < 3 * S);
            if (scenario != VT_OFFLINE) {
                assert_in_range(r->samples_completed, 96, 104);
            }
        }
    }
}

static void stop_before_the_start_measures_nothing(void **state)
{
    struct bench *b = *state;
    atomic_store(&b->control.stop, true);
    const struct vt_load_report *r = run(b);
    assert_true(r->interrupted);
    assert_true(r->samples_issued <= 1);
}

static void errors_of_sut_and_library_come_through(void **state)
{
    struct bench *b = *state;
    b->sut.refuse_at = 30;
    assert_int_equal(try_run(b), VT_ERR_ENGINE);
    assert_string_equal(b->err.text, "the double refuses sample 30");
    assert_int_equal(b->sut.aborts, 1);
    assert_int_equal(b->sut.stops, 1);
    assert_int_equal(b->qsl.loaded, 0);
    assert_null(b->report);

    tear_down(state);
    set_up(state);
    b = *state;
    b->sut.refuse_start = true;
    assert_int_equal(try_run(b), VT_ERR_ENGINE);
    assert_int_equal(b->qsl.loads, 0);
    assert_int_equal(b->sut.stops, 0);

    tear_down(state);
    set_up(state);
    b = *state;
    b->settings.mode = VT_ACCURACY;
    b->settings.performance_sample_count_override = 100;
    b->qsl.refuse_load = 3;
    assert_int_equal(try_run(b), VT_ERR_READ);
    assert_int_equal(b->sut.stops, 1);
    assert_int_equal(b->qsl.unloads, 3);
}

struct scarce {
    struct vt_allocator real;
    long left;
    long taken; /* not given back */
};

static void *scarce_alloc(void *ctx, size_t bytes, size_t alignment)
{
    struct scarce *scarce = ctx;
    if (scarce->left == 0) {
        return NULL;
    }
    scarce->left--;
    void *memory = scarce->real.alloc(scarce->real.ctx, bytes, alignment);
    scarce->taken += memory != NULL;
    return memory;
}

static void scarce_free(void *ctx, void *memory)
{
    struct scarce *scarce = ctx;
    scarce->taken -= memory != NULL;
    scarce->real.free(scarce->real.ctx, memory);
}

/* Every allocation fails in turn; returns how many there were. */
static long torture(void **state, enum vt_scenario scenario, enum vt_mode mode, uint64_t count)
{
    for (long fail = 0;; fail++) {
        tear_down(state);
        set_up(state);
        struct bench *b = *state;
        b->settings.scenario = scenario;
        b->settings.mode = mode;
        b->settings.min_query_count = count;
        b->settings.sample_concatenate_permutation = true;
        b->sut.style = VT_FAKE_INLINE;
        struct scarce scarce = {.left = fail};
        const struct vt_allocator allocator = {scarce_alloc, scarce_free, &scarce};
        scarce.real = vt_allocator_set(&allocator);
        enum vt_status st = try_run(b);
        vt_load_report_free(b->report);
        b->report = NULL;
        vt_allocator_set(&scarce.real);
        assert_int_equal(scarce.taken, 0);
        assert_int_equal(b->qsl.loaded, 0);
        assert_int_equal(b->sut.starts, b->sut.stops);
        if (st == VT_OK) {
            return fail;
        }
        assert_int_equal(st, VT_ERR_MEMORY);
        assert_true(b->err.text[0] != '\0');
    }
}

static void every_failed_allocation_is_an_error_and_leaks_nothing(void **state)
{
    assert_true(torture(state, VT_SINGLESTREAM, VT_PERFORMANCE, 300) > 5);
    assert_true(torture(state, VT_MULTISTREAM, VT_ACCURACY, 300) > 8);
    assert_true(torture(state, VT_OFFLINE, VT_PERFORMANCE, 40000) > 5);
    assert_true(torture(state, VT_SERVER, VT_ACCURACY, 300) > 8);
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(one_lost_sample_is_named_after_the_time_out),
        FAULT_TEST(a_silent_sut_ends_a_long_server_run_early),
        FAULT_TEST(a_lost_sample_ends_a_closed_loop),
        FAULT_TEST(a_lost_sample_of_offline_is_found),
        FAULT_TEST(accuracy_stops_at_a_lost_sample),
        FAULT_TEST(a_doubled_completion_counts_once_and_is_reported),
        FAULT_TEST(invented_completions_are_counted_not_believed),
        FAULT_TEST(an_id_of_this_run_that_is_not_issued_yet_is_invented),
        FAULT_TEST(a_completion_of_an_earlier_run_is_recognised),
        FAULT_TEST(a_failed_sample_brings_its_text),
        FAULT_TEST(a_failed_sample_leaves_no_response),
        FAULT_TEST(stop_ends_every_scenario_and_keeps_what_was_measured),
        FAULT_TEST(stop_before_the_start_measures_nothing),
        FAULT_TEST(errors_of_sut_and_library_come_through),
        FAULT_TEST(every_failed_allocation_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
