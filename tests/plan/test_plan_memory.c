/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: random lifetimes, chains, and the bounds that hold for any plan. */
#include "vt_test.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "plan/memory.h"
#include "vt_torture.h"

static uint64_t seed = 42;

static uint32_t draw(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

static size_t rounded(size_t bytes)
{
    return (bytes + VT_ALIGNMENT - 1) / VT_ALIGNMENT * VT_ALIGNMENT;
}

/* No two that live at the same time overlap, all are aligned and inside, and the arena is between
 * the most that lives at once and the sum. */
static void check(struct vt_lifetime *items, size_t n)
{
    size_t arena = 0, sum = 0, peak = 0;
    assert_int_equal(vt_memory_plan(items, n, NULL, &arena), VT_OK);
    for (size_t i = 0; i < n; i++) {
        size_t at_once = 0;
        sum += rounded(items[i].bytes);
        assert_int_equal(items[i].offset % VT_ALIGNMENT, 0);
        assert_true(items[i].offset + items[i].bytes <= arena);
        for (size_t k = 0; k < n; k++) {
            bool contemporary = items[k].first <= items[i].last && items[i].first <= items[k].last;
            if (items[k].first <= items[i].first && items[i].first <= items[k].last) {
                at_once += rounded(items[k].bytes);
            }
            if (k != i && contemporary) {
                assert_true(items[i].offset + items[i].bytes <= items[k].offset ||
                            items[k].offset + items[k].bytes <= items[i].offset);
            }
        }
        peak = at_once > peak ? at_once : peak;
    }
    assert_true(arena <= sum);
    assert_true(arena >= peak);
}

static void test_random_lifetimes(void **state)
{
    (void)state;
    for (int round = 0; round < 400; round++) {
        struct vt_lifetime items[120];
        size_t n = draw(120);
        for (size_t i = 0; i < n; i++) {
            uint32_t first = draw(60);
            items[i] = (struct vt_lifetime){draw(3) == 0 ? draw(100) : draw(100000), first,
                                            first + draw(round % 2 == 0 ? 5 : 40), SIZE_MAX};
        }
        check(items, n);
    }
}

static void test_chain_needs_two(void **state)
{
    (void)state;
    struct vt_lifetime items[50];
    size_t arena = 0;
    for (uint32_t i = 0; i < 50; i++) {
        items[i] = (struct vt_lifetime){4096, i, i + 1, 0};
    }
    assert_int_equal(vt_memory_plan(items, 50, NULL, &arena), VT_OK);
    assert_int_equal(arena, 2 * 4096);
    check(items, 50);
}

static void test_nothing(void **state)
{
    (void)state;
    size_t arena = 1;
    assert_int_equal(vt_memory_plan(NULL, 0, NULL, &arena), VT_OK);
    assert_int_equal(arena, 0);
}

static void test_overflow(void **state)
{
    (void)state;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_lifetime items[2] = {{SIZE_MAX / 3, 0, 9, 0}, {SIZE_MAX / 3, 0, 9, 0}};
    size_t arena = 7;
    assert_int_equal(vt_memory_plan(items, 2, &err, &arena), VT_ERR_LIMIT);
    assert_int_equal(arena, 7);
    assert_non_null(strstr(err.text, "memory"));
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct vt_lifetime item = {64, 0, 1, 0};
    struct vt_torture torture;
    size_t arena = 0;
    vt_torture_begin(&torture, 0);
    enum vt_status status = vt_memory_plan(&item, 1, NULL, &arena);
    assert_int_equal(vt_torture_end(&torture), 0);
    assert_int_equal(status, VT_ERR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lifetimes), cmocka_unit_test(test_chain_needs_two),
        cmocka_unit_test(test_nothing),          cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
