/* SPDX-License-Identifier: Apache-2.0 */
/* The fast maximum of bytes against the general one and against a plain search. */
#include "kernel_test.h"

#include "kernels/pool/pool.h"

static int64_t volume(const int64_t d[VT_POOL_DIMS])
{
    return d[0] * d[1] * d[2];
}

static int32_t plain_maximum(const struct vt_pooling_params *p, const uint8_t *x, int64_t plane,
                             const int64_t at[VT_POOL_DIMS], bool is_signed)
{
    int32_t most = -1000;
    for (int64_t t = 0; t < volume(p->kernel); t++) {
        const int64_t k[3] = {t / p->kernel[2] / p->kernel[1], t / p->kernel[2] % p->kernel[1],
                              t % p->kernel[2]};
        int64_t i[3];
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            i[d] = at[d] * p->stride[d] - p->pad[d] + k[d] * p->dilation[d];
            inside = inside && i[d] >= 0 && i[d] < p->in[d];
        }
        if (inside) {
            const uint8_t byte = x[((plane * p->in[0] + i[0]) * p->in[1] + i[1]) * p->in[2] + i[2]];
            const int32_t value = is_signed ? (int8_t)byte : byte;
            most = value > most ? value : most;
        }
    }
    return most;
}

static void test_maximum_of_bytes(void **state)
{
    struct random r = {5};
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct vt_pooling_params p = {.kind = VT_POOLING_MAX, .planes = random_int(&r, 1, 5)};
        const bool is_signed = round % 2 == 1;
        for (int d = 0; d < 3; d++) {
            p.kernel[d] = random_int(&r, 1, d == 0 ? 2 : 4);
            p.stride[d] = random_int(&r, 1, 3);
            p.dilation[d] = random_int(&r, 1, 2);
            p.pad[d] = random_int(&r, 0, p.kernel[d] - 1);
            p.in[d] = random_int(&r, 0, d == 2 ? 50 : 6) + (p.kernel[d] - 1) * p.dilation[d] + 1;
            p.out[d] =
                (p.in[d] + p.pad[d] - (p.kernel[d] - 1) * p.dilation[d] - 1) / p.stride[d] + 1;
        }
        const int64_t n_in = p.planes * volume(p.in), n_out = p.planes * volume(p.out);
        uint8_t *x = vt_alloc((size_t)n_in), *y = vt_alloc((size_t)n_out);
        struct vt_pool *pool = test_pool(1 + (uint32_t)round % 2);
        for (int64_t i = 0; i < n_in; i++)
            x[i] = (uint8_t)random_bits(&r);
        assert_true(vt_pooling_max_bytes(&p, x, y, is_signed, pool));
        for (int64_t i = 0; i < n_out; i++) {
            const int64_t rest = i % volume(p.out);
            const int64_t at[3] = {rest / p.out[2] / p.out[1], rest / p.out[2] % p.out[1],
                                   rest % p.out[2]};
            assert_int_equal(is_signed ? (int8_t)y[i] : y[i],
                             plain_maximum(&p, x, i / volume(p.out), at, is_signed));
        }
        vt_pool_free(pool);
        vt_free(x);
        vt_free(y);
    }
}

static void test_too_wide_is_refused(void **state)
{
    const struct vt_pooling_params p = {.kind = VT_POOLING_MAX,
                                        .planes = 1,
                                        .in = {1, 1, 5000},
                                        .out = {1, 1, 5000},
                                        .kernel = {1, 1, 1},
                                        .stride = {1, 1, 1},
                                        .dilation = {1, 1, 1}};
    (void)state;
    assert_false(vt_pooling_max_bytes(&p, NULL, NULL, false, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maximum_of_bytes),
        cmocka_unit_test(test_too_wide_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
