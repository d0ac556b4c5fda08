/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_knee.h"
#include "run/sweep/sweep_order.h"

#include "sweep_fixture.h"

static const double batches[] = {1, 2, 4, 8, 16, 32};

static void set_order(struct vt_sweep *sweep, enum vt_sweep_order order, uint64_t seed,
                      bool ascending)
{
    struct vt_error err = VT_ERROR_INIT;

    sweep->order = order;
    sweep->seed = seed;
    assert_int_equal(
        vt_sweep_set_order(sweep, ascending ? vt_sweep_find_axis(sweep, "batch") : sweep->n_axes,
                           &err),
        VT_OK);
}

/* The setting at a place of a block. */
static uint32_t setting_at(const struct vt_sweep *sweep, uint32_t position)
{
    for (uint32_t i = 0; i < sweep->n_points; i++) {
        if (sweep->points[i].position == position) {
            return sweep->points[i].setting;
        }
    }
    fail_msg("no point has position %u", position);
    return 0;
}

static void assert_each_once_a_block(const struct vt_sweep *sweep)
{
    for (uint32_t r = 0; r < sweep->repeats; r++) {
        uint64_t seen = 0;
        for (uint32_t i = 0; i < sweep->n_settings; i++) {
            seen |= UINT64_C(1) << setting_at(sweep, r * sweep->n_settings + i);
        }
        assert_true(seen == (UINT64_C(1) << sweep->n_settings) - 1);
    }
}

static void test_every_order_has_each_point_once(void **state)
{
    (void)state;
    for (int order = VT_SWEEP_RANDOM; order <= VT_SWEEP_FULL; order++) {
        for (uint32_t n = 1; n <= 6; n++) {
            for (uint64_t seed = 0; seed < 5; seed++) {
                struct vt_sweep sweep;
                make_sweep(&sweep, n, batches, 3, 0, 4);
                set_order(&sweep, (enum vt_sweep_order)order, seed, seed % 2 == 1);
                assert_each_once_a_block(&sweep);
                vt_sweep_release(&sweep);
            }
        }
    }
}

static void test_places_and_names_follow_from_the_axes(void **state)
{
    struct vt_sweep sweep;
    char text[96];
    (void)state;

    make_sweep(&sweep, 3, batches, 2, 0, 2);
    assert_int_equal(sweep.n_points, 12);
    assert_string_equal(sweep.points[4].id, "p0005");
    vt_sweep_setting_text(&sweep, 4, sweep.n_axes, text, sizeof text);
    assert_string_equal(text, "lanes 2, batch 2");
    vt_sweep_setting_text(&sweep, 4, vt_sweep_find_axis(&sweep, "batch"), text, sizeof text);
    assert_string_equal(text, "lanes 2");
    assert_int_equal(sweep.points[10].setting, 4);
    assert_int_equal(sweep.points[10].repeat, 1);
    vt_sweep_release(&sweep);
}

static void test_full_is_nested(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 3, batches, 2, 0, 2);
    set_order(&sweep, VT_SWEEP_FULL, 7, false);
    for (uint32_t i = 0; i < sweep.n_points; i++) {
        assert_int_equal(sweep.points[i].position, i);
    }
    vt_sweep_release(&sweep);
}

static void test_random_is_by_seed_and_differs_by_block(void **state)
{
    struct vt_sweep a, b, c;
    bool same_seed = true, other_seed = true, blocks = true;
    (void)state;

    make_sweep(&a, 6, batches, 4, 0, 2);
    make_sweep(&b, 6, batches, 4, 0, 2);
    make_sweep(&c, 6, batches, 4, 0, 2);
    set_order(&a, VT_SWEEP_RANDOM, 1, false);
    set_order(&b, VT_SWEEP_RANDOM, 1, false);
    set_order(&c, VT_SWEEP_RANDOM, 2, false);
    for (uint32_t i = 0; i < a.n_settings; i++) {
        same_seed = same_seed && setting_at(&a, i) == setting_at(&b, i);
        other_seed = other_seed && setting_at(&a, i) == setting_at(&c, i);
        blocks = blocks && setting_at(&a, i) == setting_at(&a, a.n_settings + i);
    }
    assert_true(same_seed);
    assert_false(other_seed);
    assert_false(blocks);
    vt_sweep_release(&a);
    vt_sweep_release(&b);
    vt_sweep_release(&c);
}

/* Every setting has every place once, and follows every other once where their number is even. */
static void test_latin_is_a_balanced_square(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 6; n++) {
        struct vt_sweep sweep;
        uint32_t followed[6][6] = {{0}};
        make_sweep(&sweep, n, batches, 0, 0, n);
        set_order(&sweep, VT_SWEEP_LATIN, 3, false);
        for (uint32_t place = 0; place < n; place++) {
            uint32_t seen = 0;
            for (uint32_t r = 0; r < n; r++) {
                uint32_t setting = setting_at(&sweep, r * n + place);
                seen |= 1u << setting;
                if (place > 0) {
                    followed[setting_at(&sweep, r * n + place - 1)][setting]++;
                }
            }
            assert_int_equal(seen, (1u << n) - 1);
        }
        for (uint32_t a = 0; a < n && n % 2 == 0; a++) {
            for (uint32_t b = 0; b < n; b++) {
                assert_int_equal(followed[a][b], a == b ? 0 : 1);
            }
        }
        vt_sweep_release(&sweep);
    }
}

static void test_latin_with_fewer_repeats_never_repeats_a_place(void **state)
{
    struct vt_sweep sweep;
    (void)state;

    make_sweep(&sweep, 6, batches, 4, 0, 5);
    set_order(&sweep, VT_SWEEP_LATIN, 11, false);
    for (uint32_t place = 0; place < sweep.n_settings; place++) {
        uint32_t seen = 0;
        for (uint32_t r = 0; r < sweep.repeats; r++) {
            uint32_t bit = 1u << setting_at(&sweep, r * sweep.n_settings + place);
            assert_int_equal(seen & bit, 0);
            seen |= bit;
        }
    }
    vt_sweep_release(&sweep);
}

static void test_a_knee_needs_ascending_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct vt_sweep sweep;
        uint32_t line[VT_SWEEP_VALUES_MAX];
        make_sweep(&sweep, 6, batches, 4, 0, 3);
        set_order(&sweep, seed % 2 == 0 ? VT_SWEEP_RANDOM : VT_SWEEP_LATIN, seed, true);
        uint32_t axis = vt_sweep_find_axis(&sweep, "batch");
        for (uint32_t r = 0; r < 3; r++) {
            for (uint32_t lanes = 0; lanes < 4; lanes++) {
                uint32_t n = vt_sweep_line(&sweep, lanes * 6, axis, line);
                for (uint32_t i = 1; i < n; i++) {
                    assert_true(sweep.points[r * 24 + line[i]].position >
                                sweep.points[r * 24 + line[i - 1]].position);
                }
            }
        }
        assert_each_once_a_block(&sweep);
        vt_sweep_release(&sweep);
    }
}

static bool is_beyond(const struct vt_sweep *sweep, uint32_t index)
{
    char reason[256];
    return vt_sweep_beyond_knee(sweep, &sweep->points[index], vt_sweep_find_axis(sweep, "batch"),
                                reason, sizeof reason);
}

static void test_two_flat_sizes_end_an_axis(void **state)
{
    struct vt_sweep sweep;
    char reason[256];
    (void)state;

    make_sweep(&sweep, 6, batches, 2, 0, 2);
    put_point(&sweep, 0, 100, 1, NAN, NAN);
    put_point(&sweep, 1, 190, 1, NAN, NAN);
    assert_false(is_beyond(&sweep, 2));
    put_point(&sweep, 2, 195, 1, NAN, NAN); /* + 2.6 %: flat */
    assert_false(is_beyond(&sweep, 3));
    put_point(&sweep, 3, 220, 1, NAN, NAN); /* + 12.8 % over 195: one flat size ends nothing */
    assert_false(is_beyond(&sweep, 4));
    put_point(&sweep, 4, 221, 1, NAN, NAN);
    put_point(&sweep, 5, 222, 1, NAN, NAN);
    assert_false(is_beyond(&sweep, 5));
    put_point(&sweep, 3, 204, 1, NAN, NAN); /* + 4.6 % over 195: the second flat one */
    assert_true(vt_sweep_beyond_knee(&sweep, &sweep.points[4], vt_sweep_find_axis(&sweep, "batch"),
                                     reason, sizeof reason));
    assert_non_null(strstr(reason, "204 samples/s at batch 8"));
    /* The other lanes have a knee of their own; the second repeat has that of the first. */
    assert_false(is_beyond(&sweep, 6 + 4));
    assert_true(is_beyond(&sweep, 12 + 4));
    /* A size that failed tells nothing. */
    sweep.points[3].state = VT_SWEEP_FAILED;
    assert_false(is_beyond(&sweep, 4));
    vt_sweep_release(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order_has_each_point_once),
        cmocka_unit_test(test_places_and_names_follow_from_the_axes),
        cmocka_unit_test(test_full_is_nested),
        cmocka_unit_test(test_random_is_by_seed_and_differs_by_block),
        cmocka_unit_test(test_latin_is_a_balanced_square),
        cmocka_unit_test(test_latin_with_fewer_repeats_never_repeats_a_place),
        cmocka_unit_test(test_a_knee_needs_ascending_batches),
        cmocka_unit_test(test_two_flat_sizes_end_an_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
