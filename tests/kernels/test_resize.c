/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/resize/mix.h"
#include "kernels/resize/resize.h"

static int mixers(vt_mix_func ret[3])
{
    int n = 0;
    ret[n++] = vt_f32_mix__portable;
#if defined(__x86_64__)
    if (vt_topology()->features & VT_CPU_AVX2)
        ret[n++] = vt_f32_mix__avx2;
    if (vt_topology()->features & VT_CPU_AVX512)
        ret[n++] = vt_f32_mix__avx512;
#endif
    return n;
}

static void test_mix(void **state)
{
    struct random r = {41};
    vt_mix_func funcs[3];
    const int n_funcs = mixers(funcs);
    (void)state;
    for (int turn = 0; turn < 120; turn++) {
        const int64_t n = random_int(&r, 1, 90), rows = random_int(&r, 0, 8);
        float *x = random_floats(&r, rows * n + 1), *weight = random_floats(&r, rows + 1);
        float *y = random_floats(&r, n);
        const float *row[8];
        for (int64_t k = 0; k < rows; k++)
            row[k] = x + 1 + k * n;
        funcs[turn % n_funcs](row, weight, rows, n, y);
        for (int64_t c = 0; c < n; c++) {
            double want = 0;
            for (int64_t k = 0; k < rows; k++)
                want += (double)weight[k] * (double)row[k][c];
            assert_close((double)y[c], want, rows);
        }
        vt_free(x);
        vt_free(weight);
        vt_free(y);
    }
}

/* Channels last gives what the same image gives channels first. */
static void test_channels_last(void **state)
{
    struct random r = {42};
    struct vt_pool *pool = test_pool(2);
    (void)state;
    for (int turn = 0; turn < 90; turn++) {
        struct vt_resize last = {.mode = (enum vt_resize_mode)(turn % 3),
                                 .coordinate = (enum vt_resize_coordinate)random_int(&r, 0, 4),
                                 .nearest = (enum vt_resize_nearest)random_int(&r, 0, 3),
                                 .cubic_a = -0.75f,
                                 .exclude_outside = turn % 3 == 2 && turn % 2 == 0,
                                 .rank = 4};
        const int64_t batch = random_int(&r, 1, 2), channels = random_int(&r, 2, 40);
        last.in[0] = last.out[0] = batch;
        last.in[3] = last.out[3] = channels;
        last.scale[0] = last.scale[3] = 1;
        for (int d = 1; d < 3; d++) {
            last.in[d] = random_int(&r, 1, 9);
            last.out[d] = random_int(&r, 1, 20);
            last.scale[d] = (double)last.out[d] / (double)last.in[d];
        }
        struct vt_resize first = last;
        const int64_t in = last.in[1] * last.in[2], out = last.out[1] * last.out[2];
        const uint32_t from[4] = {0, 3, 1, 2};
        for (int d = 0; d < 4; d++) {
            first.in[d] = last.in[from[d]];
            first.out[d] = last.out[from[d]];
            first.scale[d] = last.scale[from[d]];
        }
        float *a = random_floats(&r, batch * channels * in);
        float *b = random_floats(&r, batch * channels * in);
        float *ya = random_floats(&r, batch * channels * out);
        float *yb = random_floats(&r, batch * channels * out);
        for (int64_t i = 0; i < batch * channels * in; i++)
            b[(i / in / channels * in + i % in) * channels + i / in % channels] = a[i];
        void *workspace = vt_alloc(vt_resize_workspace_bytes(&first));
        vt_resize_run(&first, sizeof(float), a, ya, NULL, workspace);
        vt_resize_run(&last, sizeof(float), b, yb, turn % 2 ? pool : NULL, workspace);
        for (int64_t i = 0; i < batch * channels * out; i++) {
            const int64_t at = (i / out / channels * out + i % out) * channels + i / out % channels;
            assert_close((double)yb[at], (double)ya[i], 16);
        }
        float *const all[] = {a, b, ya, yb};
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
            vt_free(all[i]);
        vt_free(workspace);
    }
    vt_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_channels_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
