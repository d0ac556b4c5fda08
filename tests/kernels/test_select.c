/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/select/overlap.h"
#include "kernels/select/select.h"

/* TopK by counting for each element how many go before it. */
static void check_top_k(struct random *r, const struct vt_top_k *top, struct vt_pool *pool)
{
    const int64_t count = top->outer * top->n * top->inner, out = top->outer * top->k * top->inner;
    float *x = random_floats(r, count), *values = random_floats(r, out);
    int64_t *at = vt_calloc((size_t)out + 1, sizeof(int64_t));
    int64_t *workspace = vt_alloc((size_t)(top->k * vt_pool_threads(pool)) * sizeof(int64_t));
    for (int64_t i = 0; i < count; i++)
        x[i] = floorf(x[i] * 40.0f); /* with equal ones */
    vt_top_k_run(top, x, values, at, pool, workspace);
    for (int64_t c = 0; c < top->outer * top->inner; c++) {
        const float *column = x + c / top->inner * top->n * top->inner + c % top->inner;
        for (int64_t i = 0; i < top->n; i++) {
            const float v = column[i * top->inner];
            int64_t rank = 0;
            for (int64_t j = 0; j < top->n; j++) {
                const float u = column[j * top->inner];
                rank += (top->largest ? u > v : u < v) || (u == v && j < i);
            }
            if (rank < top->k) {
                const int64_t to = (c / top->inner * top->k + rank) * top->inner + c % top->inner;
                assert_int_equal(at[to], i);
                assert_true(values[to] == v);
            }
        }
    }
    vt_free(x);
    vt_free(values);
    vt_free(at);
    vt_free(workspace);
}

static void test_top_k(void **state)
{
    struct random r = {21};
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        struct vt_top_k top = {.dtype = VT_F32,
                               .outer = random_int(&r, 1, 4),
                               .n = random_int(&r, 1, turn % 3 == 0 ? 700 : 90),
                               .inner = turn % 4 == 0 ? random_int(&r, 1, 5) : 1,
                               .largest = turn % 2 == 0};
        top.k = random_int(&r, 0, top.n);
        check_top_k(&r, &top, turn % 2 ? pool : NULL);
    }
    vt_pool_free(pool);
}

static void test_nonzero(void **state)
{
    static const enum vt_dtype types[] = {VT_BOOL, VT_F32, VT_F64, VT_F16, VT_I64, VT_U16};
    struct random r = {22};
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        const size_t bytes = vt_dtype_bytes(types[turn % 6]);
        struct vt_tensor x = {.dtype = types[turn % 6], .rank = (uint32_t)random_int(&r, 1, 3)};
        int64_t n = 1, found = 0, seen = 0;
        for (uint32_t i = 0; i < x.rank; i++)
            n *= x.dim[i] = random_int(&r, i == 0 ? 0 : 1, turn % 5 == 0 ? 60 : 9);
        uint8_t *data = vt_calloc((size_t)n + 1, bytes), *exact = vt_alloc((size_t)n * bytes);
        for (int64_t i = 0; i < n; i++) {
            if (random_int(&r, 0, turn % 2 ? 2 : 90) == 0)
                data[(size_t)i * bytes] = 1; /* the lowest byte: a tiny float */
            if (types[turn % 6] == VT_F32 && random_int(&r, 0, 3) == 0)
                data[(size_t)i * bytes + 3] = 0x80; /* -0 is zero */
            found += data[(size_t)i * bytes] != 0;
        }
        memcpy(exact, data, (size_t)n * bytes);
        x.data = exact;
        struct vt_nonzero parts;
        struct vt_pool *used = turn % 4 == 0 ? pool : NULL;
        assert_int_equal(vt_nonzero_count(&x, used, &parts), found);
        int64_t *at = vt_alloc((size_t)(found * x.rank) * sizeof(int64_t));
        vt_nonzero_run(&x, &parts, at, used);
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = i;
            if (data[(size_t)i * bytes] == 0)
                continue;
            for (uint32_t axis = x.rank; axis-- > 0; rest /= x.dim[axis])
                assert_int_equal(at[axis * found + seen], rest % x.dim[axis]);
            seen++;
        }
        vt_free(data);
        vt_free(exact);
        vt_free(at);
    }
    vt_pool_free(pool);
}

/* Non-maximum suppression as the operator's text has it: the best box left, again and again. */
static int64_t suppress(const struct vt_nms *nms, const float *box, const float *score,
                        int64_t *ret)
{
    bool *gone = vt_calloc((size_t)nms->boxes + 1, sizeof(bool));
    int64_t count = 0;
    while (count < nms->max_per_class) {
        int64_t best = -1;
        for (int64_t i = 0; i < nms->boxes; i++) {
            if (!gone[i] && (!nms->has_score || score[i] > nms->score) &&
                (best < 0 || score[i] > score[best]))
                best = i;
        }
        if (best < 0)
            break;
        ret[count++] = best;
        gone[best] = true;
        for (int64_t i = 0; i < nms->boxes; i++) {
            const float *a = box + best * 4, *b = box + i * 4;
            const float h = fminf(fmaxf(a[0], a[2]), fmaxf(b[0], b[2])) -
                            fmaxf(fminf(a[0], a[2]), fminf(b[0], b[2]));
            const float w = fminf(fmaxf(a[1], a[3]), fmaxf(b[1], b[3])) -
                            fmaxf(fminf(a[1], a[3]), fminf(b[1], b[3]));
            const float both =
                fabsf((a[2] - a[0]) * (a[3] - a[1])) + fabsf((b[2] - b[0]) * (b[3] - b[1])) - h * w;
            gone[i] = gone[i] || (h > 0 && w > 0 && h * w / both > nms->iou);
        }
    }
    vt_free(gone);
    return count;
}

static void test_suppression(void **state)
{
    struct random r = {23};
    struct vt_pool *pool = test_pool(3);
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        struct vt_pool *used = turn % 2 ? pool : NULL;
        const struct vt_nms nms = {.batches = random_int(&r, 1, 2),
                                   .boxes = random_int(&r, 0, turn % 3 == 0 ? 300 : 20),
                                   .classes = random_int(&r, 1, 4),
                                   .max_per_class = random_int(&r, 0, turn % 4 == 0 ? 5 : 400),
                                   .iou = turn % 5 == 0 ? 0.1f : 0.5f,
                                   .score = 0.2f,
                                   .has_score = turn % 2 == 0};
        const int64_t pairs = nms.batches * nms.classes, all = pairs * nms.boxes;
        float *boxes = random_floats(&r, nms.batches * nms.boxes * 4);
        float *scores = random_floats(&r, all);
        for (int64_t i = 0; i < all; i++)
            scores[i] = floorf(scores[i] * 20.0f) / 20.0f;
        const int64_t capacity = turn % 7 == 0 ? all / 3 : all;
        int64_t *got = vt_alloc((size_t)(3 * capacity) * sizeof(int64_t));
        int64_t *want = vt_alloc((size_t)(nms.boxes + 1) * sizeof(int64_t));
        void *workspace = vt_alloc(vt_nms_workspace_bytes(&nms, vt_pool_threads(used)));
        const int64_t n = vt_nms_run(&nms, boxes, scores, capacity, got, used, workspace);
        int64_t at = 0;
        for (int64_t pair = 0; pair < pairs; pair++) {
            const int64_t count = suppress(&nms, boxes + pair / nms.classes * nms.boxes * 4,
                                           scores + pair * nms.boxes, want);
            for (int64_t i = 0; i < count && at < capacity; i++, at++) {
                assert_true(at < n);
                assert_int_equal(got[3 * at], pair / nms.classes);
                assert_int_equal(got[3 * at + 1], pair % nms.classes);
                assert_int_equal(got[3 * at + 2], want[i]);
            }
        }
        assert_int_equal(at, n);
        vt_free(boxes);
        vt_free(scores);
        vt_free(got);
        vt_free(want);
        vt_free(workspace);
    }
    vt_pool_free(pool);
}

/* The loops of all instruction sets agree with the portable one on where a box lies. */
static void test_overlap(void **state)
{
    struct random r = {24};
    vt_overlap_func funcs[3] = {vt_f32_overlap__portable};
    int n = 1;
    (void)state;
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX2)
        funcs[n++] = vt_f32_overlap__avx2;
    if (vt_topology()->features & VT_CPU_AVX512)
        funcs[n++] = vt_f32_overlap__avx512;
#endif
    for (int64_t count = 0; count < 80; count++) {
        float *side[5];
        for (int i = 0; i < 5; i++)
            side[i] = random_floats(&r, count);
        for (int64_t i = 0; i < count; i++) {
            side[2][i] = side[0][i] + 0.2f;
            side[3][i] = side[1][i] + 0.2f;
            side[4][i] = (side[2][i] - side[0][i]) * (side[3][i] - side[1][i]);
        }
        const struct vt_boxes boxes = {side[0], side[1], side[2], side[3], side[4]};
        const float y = random_float(&r), x = random_float(&r);
        const struct vt_corners box = {y, x, y + 0.2f, x + 0.2f};
        bool want = false;
        for (int64_t i = 0; i < count; i++) {
            const double h = 0.2 - fabs((double)side[0][i] - (double)y);
            const double w = 0.2 - fabs((double)side[1][i] - (double)x);
            want = want || (h > 0 && w > 0 && h * w / (0.08 - h * w) > 0.25);
        }
        for (int f = 0; f < n; f++)
            assert_true(funcs[f](&boxes, count, box, 0.25f) == want);
        for (int i = 0; i < 5; i++)
            vt_free(side[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_nonzero),
        cmocka_unit_test(test_suppression),
        cmocka_unit_test(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
