/* SPDX-License-Identifier: Apache-2.0 */
/* Every instruction set's multiply-adds end where the recurrence does; the triad is a triad. */
#include "vt_test.h"

#include <math.h>

#include "base/topology.h"
#include "kernels/peak/peak.h"

static void chains_converge(void **state)
{
    static const uint32_t sets[] = {0, VT_CPU_AVX2, VT_CPU_AVX2 | VT_CPU_AVX512};
    uint32_t have = vt_topology()->features;
    (void)state;

    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if ((sets[i] & ~have) != 0) {
            continue;
        }
        const struct vt_peak_kernel *kernel = vt_peak_kernel_find(sets[i]);
        float sink = 0;
        kernel->run(200, &sink);
        /* x = x / 2 + c ends at 2 c. The sets add up one chain's lanes, 12 chains of them. */
        double expected = i == 0 ? 12 * 2 * (1 + 2 + 3 + 4) : 12 * 2 * (i == 1 ? 8 : 16);
        assert_true(fabs((double)sink - expected) < 1e-3);
        assert_true(kernel->flops_per_round > 0);
    }
}

static void triad(void **state)
{
    float a[37], b[37], c[37];
    (void)state;
    for (int i = 0; i < 37; i++) {
        a[i] = -1;
        b[i] = (float)i;
        c[i] = (float)(2 * i);
    }
    vt_peak_triad(a, b, c, 3, 36);
    for (int i = 0; i < 36; i++) {
        assert_true(a[i] == (float)(7 * i));
    }
    assert_true(a[36] == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_converge),
        cmocka_unit_test(triad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
