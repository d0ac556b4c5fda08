/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of samples: the bins against sorted values, and the stages of a sut whose engine sleeps.
 */
#include "vt_test.h"

#include <math.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "doubles.h"
#include "sut/stages.h"
#include "sut/sut.h"
#include "vt_torture.h"

#define N 20000

static struct vt_stages stages;

static uint64_t state = 1;
static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) * 0x1p-53;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void bins_know_percentiles(void **context)
{
    static int64_t values[N];
    (void)context;

    for (double most = 10; most < 1e13; most *= 31) {
        struct vt_stage_times times;
        double sum = 0;
        memset(&stages, 0, sizeof stages);
        for (int i = 0; i < N; i++) {
            values[i] = (int64_t)exp(uniform() * log(most));
            sum += (double)values[i];
            vt_stages_add(&stages, VT_STAGE_COMPUTE, values[i], 1);
        }
        qsort(values, N, sizeof values[0], ascending);
        vt_stages_times(&stages, &times);
        assert_int_equal(times.samples, N);
        double p50 = (double)values[N / 2], p99 = (double)values[(size_t)(N * 0.99)];
        assert_true(fabs((double)times.stage[VT_STAGE_COMPUTE].p50_ns - p50) <= 1 + 0.02 * p50);
        assert_true(fabs((double)times.stage[VT_STAGE_COMPUTE].p99_ns - p99) <= 1 + 0.02 * p99);
        assert_true(fabs((double)times.stage[VT_STAGE_COMPUTE].mean_ns - sum / N) <= 1);
        assert_int_equal(times.stage[VT_STAGE_QUEUE].p50_ns, 0);
    }
}

static void ends_of_the_range(void **context)
{
    struct vt_stage_times times;
    (void)context;
    memset(&stages, 0, sizeof stages);
    vt_stages_add(&stages, VT_STAGE_COMPUTE, -5, 2);
    vt_stages_times(&stages, &times);
    assert_int_equal(times.samples, 2);
    assert_int_equal(times.stage[VT_STAGE_COMPUTE].p99_ns, 0);
    memset(&stages, 0, sizeof stages);
    vt_stages_add(&stages, VT_STAGE_COMPUTE, INT64_MAX, 1);
    vt_stages_times(&stages, &times);
    assert_true(times.stage[VT_STAGE_COMPUTE].p50_ns > INT64_C(17000000000000));
    struct vt_stages both = stages;
    vt_stages_merge(&both, &stages);
    vt_stages_times(&both, &times);
    assert_int_equal(times.samples, 2);
}

static _Atomic uint64_t completed;
static void on_complete(void *ctx, const struct vt_completion *completions, size_t n)
{
    (void)ctx;
    (void)completions;
    atomic_fetch_add(&completed, n);
}
static const struct vt_completion_sink sink = {on_complete, NULL, NULL};

static struct vt_batching_sut *new_sut(struct fake_engine *engine, uint32_t batch, uint32_t lanes)
{
    const struct vt_sut_options options = {
        .batch = batch, .lanes = lanes, .request_timeout_ns = 5 * VT_NS_PER_S};
    struct vt_batching_sut *sut = NULL;
    uint64_t all[64];
    for (uint64_t i = 0; i < 64; i++) {
        all[i] = i;
    }
    assert_int_equal(fake_workload_ops.load(NULL, all, 64, NULL), VT_OK);
    assert_int_equal(vt_sut_new(&fake_engine_ops, engine, &fake_signature, &fake_workload_ops, NULL,
                                "fake", &options, NULL, &sut),
                     VT_OK);
    return sut;
}

/* Issues n samples at once and waits for all of them. */
static void run(struct vt_batching_sut *sut, enum vt_scenario scenario, size_t n)
{
    const struct vt_sut *seam = vt_sut_seam(sut);
    struct vt_query_sample samples[64];
    for (size_t i = 0; i < n; i++) {
        samples[i] = (struct vt_query_sample){.id = i, .index = i};
    }
    atomic_store(&completed, 0);
    assert_int_equal(seam->start(seam->ctx, &sink, scenario, NULL), VT_OK);
    assert_int_equal(seam->issue(seam->ctx, samples, n, NULL), VT_OK);
    seam->flush(seam->ctx);
    while (atomic_load(&completed) < n) {
        vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
    }
    assert_int_equal(seam->start(seam->ctx, NULL, scenario, NULL), VT_OK);
}

static void a_queue_builds_up_behind_a_slow_engine(void **context)
{
    struct fake_engine engine = {.compute_ns = 10 * VT_NS_PER_MS};
    struct vt_stage_times times;
    (void)context;
    struct vt_batching_sut *sut = new_sut(&engine, 4, 1);
    run(sut, VT_OFFLINE, 16);
    vt_sut_stage_times(sut, &times);
    assert_int_equal(times.samples, 0); /* nobody asked */
    assert_int_equal(vt_sut_stamp_stages(sut, true, NULL), VT_OK);
    run(sut, VT_OFFLINE, 16);
    vt_sut_stage_times(sut, &times);
    assert_int_equal(times.samples, 16);
    /* Four requests, one after another: samples wait for 0, 1, 2 and 3 of them. */
    assert_true(times.stage[VT_STAGE_QUEUE].mean_ns >= 14 * VT_NS_PER_MS);
    assert_true(times.stage[VT_STAGE_QUEUE].p99_ns >= 29 * VT_NS_PER_MS);
    assert_true(times.stage[VT_STAGE_COMPUTE].p50_ns >= 9900000);
    /* A run begins anew. */
    run(sut, VT_OFFLINE, 4);
    vt_sut_stage_times(sut, &times);
    assert_int_equal(times.samples, 4);
    assert_true(times.stage[VT_STAGE_QUEUE].p50_ns < 10 * VT_NS_PER_MS);
    vt_sut_free(sut);
}

static void computing_in_place_queues_within_a_query(void **context)
{
    struct fake_engine engine = {.compute_ns = 10 * VT_NS_PER_MS};
    struct vt_stage_times times;
    (void)context;
    struct vt_batching_sut *sut = new_sut(&engine, 2, 1);
    assert_int_equal(vt_sut_stamp_stages(sut, true, NULL), VT_OK);
    run(sut, VT_MULTISTREAM, 4);
    vt_sut_stage_times(sut, &times);
    assert_int_equal(times.samples, 4);
    assert_int_equal(times.stage[VT_STAGE_BATCH].mean_ns, 0);
    assert_true(times.stage[VT_STAGE_QUEUE].mean_ns >= 4900000);
    vt_sut_free(sut);
}

static void failures_have_no_stages(void **context)
{
    struct fake_engine engine = {.fault = FAULT_ERROR_EVENT};
    struct vt_stage_times times;
    (void)context;
    struct vt_batching_sut *sut = new_sut(&engine, 4, 2);
    assert_int_equal(vt_sut_stamp_stages(sut, true, NULL), VT_OK);
    run(sut, VT_SERVER, 8);
    vt_sut_stage_times(sut, &times);
    assert_int_equal(times.samples, 0);
    vt_sut_free(sut);
}

static void want_of_memory(void **context)
{
    struct fake_engine engine = {.fault = FAULT_NONE};
    struct vt_torture torture;
    (void)context;
    struct vt_batching_sut *sut = new_sut(&engine, 4, 3);
    vt_torture_begin(&torture, 2);
    enum vt_status status = vt_sut_stamp_stages(sut, true, NULL);
    int leaked = vt_torture_end(&torture);
    assert_int_equal(status, VT_ERR_MEMORY);
    assert_int_equal(leaked, 0);
    run(sut, VT_SERVER, 8);
    vt_sut_free(sut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_know_percentiles),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(a_queue_builds_up_behind_a_slow_engine),
        cmocka_unit_test(computing_in_place_queues_within_a_query),
        cmocka_unit_test(failures_have_no_stages),
        cmocka_unit_test(want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
