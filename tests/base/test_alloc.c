/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include "base/alloc.h"

static void *refuse(void *ctx, size_t bytes, size_t alignment)
{
    (void)bytes;
    (void)alignment;
    ++*(int *)ctx;
    return NULL;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void memory_is_aligned_and_zeroed_where_promised(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < 300; bytes += 37) {
        unsigned char *memory = vt_calloc(bytes, 1);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % VT_ALIGNMENT, 0);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(memory[i], 0);
        }
        vt_free(memory);
    }
    vt_free(NULL);
}

static void an_overflowing_size_is_refused(void **state)
{
    (void)state;
    struct vt_arena arena;
    assert_null(vt_calloc(SIZE_MAX / 2, 3));
    vt_arena_init(&arena, 0);
    assert_null(vt_arena_calloc(&arena, SIZE_MAX / 2, 3));
    assert_null(vt_arena_alloc(&arena, SIZE_MAX, 8));
    assert_null(vt_arena_strndup(&arena, "", SIZE_MAX));
    vt_arena_release(&arena);
}

static void regrow_keeps_the_contents(void **state)
{
    (void)state;
    char *memory = vt_strdup("vatio");
    assert_non_null(memory);
    memory = vt_regrow(memory, 6, 100);
    assert_non_null(memory);
    assert_string_equal(memory, "vatio");
    memory = vt_regrow(memory, 100, 3);
    assert_non_null(memory);
    assert_memory_equal(memory, "vat", 3);
    vt_free(memory);
}

static void the_allocator_can_be_replaced(void **state)
{
    (void)state;
    int calls = 0;
    struct vt_allocator refusing = {refuse, release, &calls};
    struct vt_arena arena;

    struct vt_allocator before = vt_allocator_set(&refusing);
    vt_arena_init(&arena, 0);
    assert_null(vt_alloc(8));
    assert_null(vt_strdup("x"));
    assert_null(vt_asprintf("%d", 7));
    assert_null(vt_arena_alloc(&arena, 1, 1));
    vt_arena_release(&arena);
    vt_allocator_set(&before);
    assert_int_equal(calls, 4);
    char *text = vt_asprintf("%d-%s", 7, "seven");
    assert_string_equal(text, "7-seven");
    vt_free(text);
}

static void an_arena_aligns_and_does_not_overlap(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct vt_arena arena;
    unsigned char *pieces[COUNT];
    size_t sizes[COUNT];
    unsigned seed = 1;

    vt_arena_init(&arena, 0);
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1103515245U + 12345U;
        sizes[i] = (seed >> 16) % 700;
        size_t alignment = (size_t)1 << (seed >> 8) % 7;
        pieces[i] = vt_arena_alloc(&arena, sizes[i], alignment);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignment, 0);
        memset(pieces[i], i & 0xff, sizes[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(pieces[i][k], i & 0xff);
        }
    }
    vt_arena_release(&arena);
    assert_null(arena.head);
}

static void an_arena_keeps_its_limit(void **state)
{
    (void)state;
    struct vt_arena arena;
    vt_arena_init(&arena, 1000);
    assert_non_null(vt_arena_alloc(&arena, 600, 1));
    assert_null(vt_arena_alloc(&arena, 401, 1));
    assert_non_null(vt_arena_alloc(&arena, 400, 1));
    assert_null(vt_arena_alloc(&arena, 1, 1));
    vt_arena_release(&arena);
    assert_non_null(vt_arena_alloc(&arena, 1000, 1));
    vt_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_and_zeroed_where_promised),
        cmocka_unit_test(an_overflowing_size_is_refused),
        cmocka_unit_test(regrow_keeps_the_contents),
        cmocka_unit_test(the_allocator_can_be_replaced),
        cmocka_unit_test(an_arena_aligns_and_does_not_overlap),
        cmocka_unit_test(an_arena_keeps_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
