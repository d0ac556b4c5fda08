/* SPDX-License-Identifier: Apache-2.0 */
/* Generated integers that are places in a table. */
#include "vt_test.h"
#include "workload/tensor_random.h"

static void wide_integers_fill_their_table(void **state)
{
    (void)state;
    enum { N = 20000, ROWS = 1000 };
    static int64_t wide[N];
    static int32_t narrow[N];
    struct vt_tensor a = {
        .dtype = VT_I64, .rank = 1, .dim = {N}, .data = wide, .bytes = sizeof wide};
    struct vt_tensor b = {
        .dtype = VT_I32, .rank = 1, .dim = {N}, .data = narrow, .bytes = sizeof narrow};
    unsigned seen[ROWS] = {0}, missing = 0;

    vt_tensor_random_fill_below(&a, 7, ROWS);
    vt_tensor_random_fill_below(&b, 7, ROWS);
    for (size_t i = 0; i < N; i++) {
        assert_true(wide[i] >= 0 && wide[i] < ROWS);
        assert_int_equal(wide[i], narrow[i]);
        seen[wide[i]]++;
    }
    for (size_t i = 0; i < ROWS; i++) {
        missing += seen[i] == 0;
        assert_true(seen[i] < 60); /* 20 on average, deviation 4.5 */
    }
    assert_int_equal(missing, 0);
}

static void the_largest_bound_is_in_range(void **state)
{
    (void)state;
    static int64_t wide[1000];
    struct vt_tensor a = {
        .dtype = VT_I64, .rank = 1, .dim = {1000}, .data = wide, .bytes = sizeof wide};
    int64_t most = 0;

    vt_tensor_random_fill_below(&a, 7, INT64_C(1) << 31);
    for (size_t i = 0; i < 1000; i++) {
        assert_true(wide[i] >= 0 && wide[i] < INT64_C(1) << 31);
        most = wide[i] > most ? wide[i] : most;
    }
    assert_true(most > INT64_C(1) << 30);
}

static void other_types_are_as_ever(void **state)
{
    (void)state;
    static _Alignas(8) float plain[100], below[100];
    struct vt_tensor a = {
        .dtype = VT_F32, .rank = 1, .dim = {100}, .data = plain, .bytes = sizeof plain};
    struct vt_tensor b = a;

    b.data = below;
    vt_tensor_random_fill(&a, 3);
    vt_tensor_random_fill_below(&b, 3, 17);
    assert_memory_equal(plain, below, sizeof plain);
    a.dtype = b.dtype = VT_I64;
    a.bytes = b.bytes = 50 * sizeof(int64_t);
    a.dim[0] = b.dim[0] = 50;
    vt_tensor_random_fill(&a, 3);
    vt_tensor_random_fill_below(&b, 3, 0); /* not known */
    assert_memory_equal(plain, below, a.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_integers_fill_their_table),
        cmocka_unit_test(the_largest_bound_is_in_range),
        cmocka_unit_test(other_types_are_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
