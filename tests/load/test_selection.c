/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample order against MLPerf LoadGen itself: what the PyPI wheel mlcommons_loadgen 6.0.17
 * loaded and issued in these configurations, recorded as FNV-1a of the indices (8 bytes each,
 * little-endian). Seeds are those of mlperf.conf v6.1.
 */
#include <inttypes.h>
#include <math.h>

#include "load/selection.h"
#include "vt_load_double.h"
#include "vt_test.h"

enum flag { NONE, EQUAL, UNIQUE, SAME, ACC };

struct golden {
    enum vt_scenario scenario;
    enum flag flag;
    uint64_t performance, total;
    double qps;
    int64_t min_ms;
    uint64_t min_queries;
    uint64_t n; /* of the issued indices, so many were recorded */
    uint64_t issued, loaded;
};

/* clang-format off */
static const struct golden goldens[] = {
    {VT_SERVER, NONE, 64, 300, 2000, 100, 400, 400, UINT64_C(0xe99461908c228ed5), UINT64_C(0xf45d73f1c587fe65)},
    {VT_SERVER, NONE, 1023, 5000, 2000, 100, 400, 400, UINT64_C(0xe45432986ce97e15), UINT64_C(0x9b866bcab2e5b5ab)},
    {VT_SERVER, NONE, 70000, 100000, 2000, 100, 400, 400, UINT64_C(0xd34e786beded1e3b), UINT64_C(0xd30bda2e1cb9e985)},
    {VT_SERVER, EQUAL, 70, 300, 3000, 300, 193, 980, UINT64_C(0x003bc4e7d696fa65), UINT64_C(0x00733d23b1e0d584)},
    {VT_SERVER, UNIQUE, 70, 300, 2000, 0, 70, 70, UINT64_C(0x8b3526753f0fe0e4), UINT64_C(0x00733d23b1e0d584)},
    {VT_SERVER, SAME, 70, 300, 2000, 0, 100, 100, UINT64_C(0x3875e21a1c9d7e65), UINT64_C(0x00733d23b1e0d584)},
    {VT_SERVER, ACC, 70, 300, 2000, 0, 100, 300, UINT64_C(0xdd13abba32104881), UINT64_C(0x60f080a4e2c4ec59)},
    {VT_SINGLESTREAM, NONE, 64, 300, 2000, 100, 400, 400, UINT64_C(0xe99461908c228ed5), UINT64_C(0xf45d73f1c587fe65)},
    {VT_SINGLESTREAM, NONE, 1023, 5000, 2000, 100, 400, 400, UINT64_C(0xe45432986ce97e15), UINT64_C(0x9b866bcab2e5b5ab)},
    {VT_SINGLESTREAM, NONE, 70000, 100000, 2000, 100, 400, 400, UINT64_C(0xd34e786beded1e3b), UINT64_C(0xd30bda2e1cb9e985)},
    {VT_SINGLESTREAM, EQUAL, 70, 300, 3000, 300, 193, 400, UINT64_C(0x550b0c6cdfc442e7), UINT64_C(0x00733d23b1e0d584)},
    {VT_SINGLESTREAM, UNIQUE, 70, 300, 2000, 0, 70, 70, UINT64_C(0x8b3526753f0fe0e4), UINT64_C(0x00733d23b1e0d584)},
    {VT_SINGLESTREAM, SAME, 70, 300, 2000, 0, 100, 100, UINT64_C(0x3875e21a1c9d7e65), UINT64_C(0x00733d23b1e0d584)},
    {VT_SINGLESTREAM, ACC, 70, 300, 2000, 0, 100, 300, UINT64_C(0xdd13abba32104881), UINT64_C(0x60f080a4e2c4ec59)},
    {VT_MULTISTREAM, NONE, 64, 300, 2000, 100, 400, 3200, UINT64_C(0x52e79b660f28ea08), UINT64_C(0x374c16cf947ede54)},
    {VT_MULTISTREAM, NONE, 1023, 5000, 2000, 100, 400, 3200, UINT64_C(0xa6b7dfe1953ebd93), UINT64_C(0xbf98d7c70f87425d)},
    {VT_MULTISTREAM, NONE, 70000, 100000, 2000, 100, 400, 3200, UINT64_C(0xe22297f6cddcd2ff), UINT64_C(0x2aad7c9f62f87df3)},
    {VT_MULTISTREAM, EQUAL, 70, 300, 3000, 300, 193, 3200, UINT64_C(0xb81381aedbc7da90), UINT64_C(0xc2b8261acd492b39)},
    {VT_MULTISTREAM, UNIQUE, 70, 300, 2000, 0, 70, 72, UINT64_C(0xea863177fe50ca20), UINT64_C(0xc2b8261acd492b39)},
    {VT_MULTISTREAM, SAME, 70, 300, 2000, 0, 100, 800, UINT64_C(0xe5c9565704107425), UINT64_C(0xc2b8261acd492b39)},
    {VT_MULTISTREAM, ACC, 70, 300, 2000, 0, 100, 312, UINT64_C(0x597cbd03f6a5f3f9), UINT64_C(0xabb71956be1ae316)},
    {VT_OFFLINE, NONE, 64, 300, 2000, 100, 400, 400, UINT64_C(0x95655614f3930f0b), UINT64_C(0xf45d73f1c587fe65)},
    {VT_OFFLINE, NONE, 1023, 5000, 2000, 100, 400, 400, UINT64_C(0x2dcd03476ce581aa), UINT64_C(0x9b866bcab2e5b5ab)},
    {VT_OFFLINE, NONE, 70000, 100000, 2000, 100, 400, 400, UINT64_C(0x05bc60aa618e22a4), UINT64_C(0xd30bda2e1cb9e985)},
    {VT_OFFLINE, EQUAL, 70, 300, 3000, 300, 193, 1050, UINT64_C(0x605e5b171543b984), UINT64_C(0x00733d23b1e0d584)},
    {VT_OFFLINE, UNIQUE, 70, 300, 2000, 0, 70, 70, UINT64_C(0x00733d23b1e0d584), UINT64_C(0x00733d23b1e0d584)},
    {VT_OFFLINE, SAME, 70, 300, 2000, 0, 100, 100, UINT64_C(0x3875e21a1c9d7e65), UINT64_C(0x00733d23b1e0d584)},
    {VT_OFFLINE, ACC, 70, 300, 2000, 0, 100, 300, UINT64_C(0x60f080a4e2c4ec59), UINT64_C(0x60f080a4e2c4ec59)},
};
/* clang-format on */

#define FNV_START UINT64_C(0xcbf29ce484222325)

static uint64_t fnv(uint64_t hash, const uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (int byte = 0; byte < 8; byte++) {
            hash = (hash ^ (values[i] >> (8 * byte) & 0xff)) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

static uint64_t loaded_hash;

static enum vt_status hash_load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)ctx;
    (void)err;
    loaded_hash = fnv(loaded_hash, indices, n);
    return VT_OK;
}

static void no_unload(void *ctx, const uint64_t *indices, size_t n)
{
    (void)ctx;
    (void)indices;
    (void)n;
}

static struct vt_load_settings settings_of(const struct golden *g)
{
    struct vt_load_settings s;
    vt_load_settings_default(&s);
    s.scenario = g->scenario;
    s.mode = g->flag == ACC ? VT_ACCURACY : VT_PERFORMANCE;
    s.qsl_rng_seed = UINT64_C(2085463073848966840);
    s.sample_index_rng_seed = UINT64_C(2747215439041700203);
    s.schedule_rng_seed = UINT64_C(16159082839903944936);
    s.server_target_qps = g->qps;
    s.offline_expected_qps = g->qps;
    s.single_stream_expected_latency_ns = trunc(1e9 / g->qps);
    s.multi_stream_expected_latency_ns = trunc(1e9 / g->qps);
    s.min_duration_ns = g->min_ms * VT_NS_PER_MS;
    s.min_query_count = g->min_queries;
    s.sample_concatenate_permutation = g->flag == EQUAL;
    s.performance_issue_unique = g->flag == UNIQUE;
    s.performance_issue_same = g->flag == SAME;
    s.performance_issue_same_index = 5;
    return s;
}

static void order_is_that_of_loadgen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
        const struct golden *g = &goldens[i];
        struct vt_load_settings s = settings_of(g);
        struct vt_fake_clock clock;
        struct vt_fake_sut sut;
        struct vt_fake_qsl qsl;
        struct vt_load_control control;
        struct vt_load_report *r = NULL;
        vt_fake_init(&clock, &sut, &qsl, &control, g->total, g->performance);
        qsl.seam.load = hash_load;
        qsl.seam.unload = no_unload;
        sut.fixed_ns = VT_NS_PER_US;
        loaded_hash = FNV_START;
        assert_int_equal(vt_load_run(&s, &sut.seam, &qsl.seam, &control, NULL, &r), VT_OK);
        bool closed = s.scenario == VT_SINGLESTREAM || s.scenario == VT_MULTISTREAM;
        assert_true(closed && s.mode == VT_PERFORMANCE ? sut.issued >= g->n : sut.issued == g->n);
        if (loaded_hash != g->loaded || fnv(FNV_START, sut.indices, g->n) != g->issued) {
            fail_msg("configuration %zu: the order differs from LoadGen's", i);
        }
        vt_load_report_free(r);
        vt_fake_release(&sut);
    }
}

#define COPIED 500

/* Drawn from by turns, a selection and its copy give the same; whatever their rule. */
static void copy_of(const struct golden *g, const struct vt_sample_sets *sets,
                    const struct vt_load_settings *s, const struct vt_load_effective *effective)
{
    struct vt_selection original = {0}, copy = {0};
    struct vt_sample_set set = vt_sample_sets_get(sets, 0);
    assert_int_equal(vt_selection_init(&original, s, effective, set, NULL), VT_OK);
    size_t width = original.width;
    uint64_t a[64], b[64], skipped[64];
    assert_true(width <= 64);
    for (int i = 0; i < 13 && g->flag != UNIQUE; i++) {
        vt_selection_fill(&original, skipped, width);
    }
    assert_int_equal(vt_selection_copy(&copy, &original, NULL), VT_OK);
    for (int i = 0; i < COPIED; i++) {
        vt_selection_fill(&original, a, width);
        vt_selection_fill(&copy, b, width);
        assert_memory_equal(a, b, width * sizeof(a[0]));
    }
    vt_selection_release(&original);
    vt_selection_fill(&copy, b, width);
    vt_selection_release(&copy);
}

static void a_copy_draws_on_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
        const struct golden *g = &goldens[i];
        struct vt_load_settings s = settings_of(g);
        struct vt_load_effective effective;
        struct vt_sample_sets sets = {0};
        assert_int_equal(vt_load_settings_resolve(&s, g->total, g->performance, NULL, &effective),
                         VT_OK);
        assert_int_equal(vt_sample_sets_init(&sets, &s, &effective, NULL), VT_OK);
        copy_of(g, &sets, &s, &effective);
        vt_sample_sets_release(&sets);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_loadgen),
        cmocka_unit_test(a_copy_draws_on_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
