/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/move/move.h"

/* Every order of three and four axes, sizes around the blocks, elements of all widths. */
static void test_transpose(void **state)
{
    static const size_t widths[5] = {1, 2, 4, 8, 16};
    struct random r = {31};
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 150; turn++) {
        struct vt_copy copy = {.rank = (uint32_t)random_int(&r, 2, 4), .bytes = widths[turn % 5]};
        int64_t in[4], order[4], step[4], n = 1;
        for (uint32_t i = 0; i < copy.rank; i++) {
            in[i] = random_int(&r, 1, copy.rank == 2 ? 150 : 20);
            n *= in[i];
            order[i] = i;
        }
        for (uint32_t i = copy.rank; i-- > 1;) {
            const int64_t j = random_int(&r, 0, i), swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        for (uint32_t i = copy.rank; i-- > 0;)
            step[i] = i + 1 == copy.rank ? 1 : step[i + 1] * in[i + 1];
        int64_t to = 1;
        for (uint32_t i = copy.rank; i-- > 0;) {
            copy.dim[i] = in[order[i]];
            copy.from[i] = step[order[i]];
            copy.to[i] = to;
            to *= copy.dim[i];
        }
        const size_t bytes = (size_t)n * copy.bytes;
        uint8_t *x = vt_alloc(bytes), *y = vt_calloc(bytes, 1);
        for (size_t i = 0; i < bytes; i++)
            x[i] = (uint8_t)random_bits(&r);
        vt_copy_run(&copy, x, y, turn % 2 ? pool : NULL);
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = i, from = 0;
            for (uint32_t axis = copy.rank; axis-- > 0; rest /= copy.dim[axis])
                from += rest % copy.dim[axis] * copy.from[axis];
            assert_memory_equal(y + (size_t)i * copy.bytes, x + (size_t)from * copy.bytes,
                                copy.bytes);
        }
        vt_free(x);
        vt_free(y);
    }
    vt_pool_free(pool);
}

/* Blocks of one number and of many, indices of both types, from both ends; the first bad one. */
static void test_gather(void **state)
{
    static const int64_t blocks[7] = {1, 2, 4, 8, 12, 64, 700};
    struct random r = {32};
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 140; turn++) {
        const int64_t outer = random_int(&r, 1, 5), n = random_int(&r, 1, 30);
        const int64_t block = blocks[turn % 7], count = random_int(&r, 1, 40);
        int64_t wide[40];
        int32_t narrow[40];
        struct vt_indices indices = {turn % 2 ? (const void *)wide : narrow, turn % 2 != 0};
        uint8_t *x = vt_alloc((size_t)(outer * n * block));
        uint8_t *y = vt_calloc((size_t)(outer * count * block), 1);
        for (int64_t i = 0; i < outer * n * block; i++)
            x[i] = (uint8_t)random_bits(&r);
        for (int64_t i = 0; i < count; i++)
            wide[i] = narrow[i] = (int32_t)random_int(&r, -n, n - 1);
        assert_int_equal(
            vt_gather_run(outer, n, block, &indices, count, x, y, turn % 3 ? pool : NULL), -1);
        for (int64_t i = 0; i < outer * count; i++) {
            const int64_t at = wide[i % count] < 0 ? wide[i % count] + n : wide[i % count];
            assert_memory_equal(y + i * block, x + (i / count * n + at) * block, (size_t)block);
        }
        const int64_t bad = random_int(&r, 0, count - 1);
        wide[bad] = narrow[bad] = (int32_t)(turn % 5 ? n : -n - 1);
        assert_int_equal(vt_gather_run(outer, n, block, &indices, count, x, y, NULL), bad);
        vt_free(x);
        vt_free(y);
    }
    vt_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
