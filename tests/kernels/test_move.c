/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/move/move.h"
#include "kernels/move/transpose.h"

static int transposers(vt_transpose_func ret[3])
{
    int n = 0;
    ret[n++] = vt_x32_transpose__portable;
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX2)
        ret[n++] = vt_x32_transpose__avx2;
    if (vt_topology()->features & VT_CPU_AVX512)
        ret[n++] = vt_x32_transpose__avx512;
#endif
    return n;
}

/* Matrices of all sizes around the tiles', the last row and column ending where memory does. */
static void test_transpose(void **state)
{
    struct random r = {31};
    vt_transpose_func funcs[3];
    const int n = transposers(funcs);
    (void)state;
    for (int turn = 0; turn < 600; turn++) {
        struct vt_transpose t = {random_int(&r, 1, turn % 10 == 0 ? 150 : 20),
                                 random_int(&r, 1, turn % 7 == 0 ? 150 : 20), 0, 0};
        t.from_step = t.columns + random_int(&r, 0, 5);
        t.to_step = t.rows + random_int(&r, 0, 5);
        const int64_t from_size = (t.rows - 1) * t.from_step + t.columns;
        const int64_t to_size = (t.columns - 1) * t.to_step + t.rows;
        uint32_t *from = vt_alloc((size_t)from_size * 4), *to = vt_alloc((size_t)to_size * 4);
        for (int64_t i = 0; i < from_size; i++)
            from[i] = (uint32_t)random_bits(&r);
        memset(to, 0x5a, (size_t)to_size * 4);
        funcs[turn % n](&t, from, to);
        for (int64_t i = 0; i < to_size; i++) {
            const int64_t row = i % t.to_step, column = i / t.to_step;
            const uint32_t want =
                row < t.rows ? from[row * t.from_step + column] : UINT32_C(0x5a5a5a5a);
            assert_int_equal(to[i], want);
        }
        vt_free(from);
        vt_free(to);
    }
}

/* Any permutation of up to five extents, elements of any size. */
static void test_permutations(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16, 4, 4};
    struct random r = {32};
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 400; turn++) {
        struct vt_copy c = {.rank = (uint32_t)random_int(&r, 1, 5), .bytes = sizes[turn % 7]};
        int64_t dim[5], step[5], total = 1;
        uint32_t perm[5];
        for (uint32_t i = 0; i < c.rank; i++) {
            dim[i] = random_int(&r, 1, c.rank > 3 ? 9 : 40);
            perm[i] = i;
        }
        for (uint32_t i = c.rank; i-- > 0; total *= dim[i])
            step[i] = total;
        for (uint32_t i = c.rank; i-- > 1;) {
            const uint32_t j = (uint32_t)random_int(&r, 0, i), swap = perm[i];
            perm[i] = perm[j];
            perm[j] = swap;
        }
        int64_t running = 1;
        for (uint32_t i = c.rank; i-- > 0; running *= c.dim[i]) {
            c.dim[i] = dim[perm[i]];
            c.from[i] = step[perm[i]];
            c.to[i] = running;
        }
        uint8_t *from = vt_alloc((size_t)total * c.bytes), *to = vt_alloc((size_t)total * c.bytes);
        for (int64_t i = 0; i < total * (int64_t)c.bytes; i++)
            from[i] = (uint8_t)random_bits(&r);
        vt_copy_run(&c, from, to, turn % 2 ? pool : NULL);
        for (int64_t i = 0; i < total; i++) {
            int64_t rest = i, at = 0;
            for (uint32_t d = c.rank; d-- > 0; rest /= c.dim[d])
                at += rest % c.dim[d] * c.from[d];
            assert_memory_equal(to + (size_t)i * c.bytes, from + (size_t)at * c.bytes, c.bytes);
        }
        vt_free(from);
        vt_free(to);
    }
    vt_pool_free(pool);
}

/* Channels joined behind each other, channels last: rows into every part of wider rows. */
static void test_channels_joined(void **state)
{
    struct random r = {33};
    struct vt_pool *pool = test_pool(2);
    (void)state;
    for (int turn = 0; turn < 40; turn++) {
        const int64_t pixels = random_int(&r, 1, 3000), a = random_int(&r, 1, 70);
        const int64_t b = random_int(&r, 1, 70), wide = a + b;
        float *left = random_floats(&r, pixels * a), *right = random_floats(&r, pixels * b);
        float *out = random_floats(&r, pixels * wide);
        const struct vt_copy first = {
            .rank = 2, .dim = {pixels, a}, .from = {a, 1}, .to = {wide, 1}, .bytes = 4};
        const struct vt_copy second = {
            .rank = 2, .dim = {pixels, b}, .from = {b, 1}, .to = {wide, 1}, .bytes = 4};
        vt_copy_run(&first, left, out, turn % 2 ? pool : NULL);
        vt_copy_run(&second, right, out + a, turn % 2 ? pool : NULL);
        for (int64_t i = 0; i < pixels * wide; i++) {
            const int64_t p = i / wide, c = i % wide;
            const float want = c < a ? left[p * a + c] : right[p * b + c - a];
            assert_memory_equal(&out[i], &want, sizeof(want));
        }
        vt_free(left);
        vt_free(right);
        vt_free(out);
    }
    vt_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_channels_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
