/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/peak/peak.h"

#include "base/topology.h"
#include "kernels/peak/kernels.h"

#define PORTABLE_LANES 4

/* Four lanes as one value: what any 128-bit unit takes, and what the compiler splits up elsewhere.
 * Without a fused instruction the two operations stand apart. */
typedef float lanes __attribute__((vector_size(PORTABLE_LANES * sizeof(float))));

void vt_peak_fma__portable(int64_t rounds, float *ret_sink)
{
    lanes chain[VT_PEAK_CHAINS];
    const lanes factor = {0.5F, 0.5F, 0.5F, 0.5F}, summand = {1, 2, 3, 4};

    for (int i = 0; i < VT_PEAK_CHAINS; i++) {
        chain[i] = summand + (float)i;
    }
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < VT_PEAK_CHAINS; i++) {
            chain[i] = chain[i] * factor + summand;
        }
    }
    for (int i = 1; i < VT_PEAK_CHAINS; i++) {
        chain[0] += chain[i];
    }
    *ret_sink = chain[0][0] + chain[0][1] + chain[0][2] + chain[0][3];
}

const struct vt_peak_kernel *vt_peak_kernel_find(uint32_t features)
{
    static const struct vt_peak_kernel portable = {
        "portable", 2.0 * PORTABLE_LANES * VT_PEAK_CHAINS, vt_peak_fma__portable};
#if defined(__x86_64__)
    static const struct vt_peak_kernel avx2 = {"AVX2", 2.0 * 8 * VT_PEAK_CHAINS, vt_peak_fma__avx2};
    static const struct vt_peak_kernel avx512 = {"AVX-512", 2.0 * 16 * VT_PEAK_CHAINS,
                                                 vt_peak_fma__avx512};
    if ((features & VT_CPU_AVX512) != 0) {
        return &avx512;
    }
    if ((features & VT_CPU_AVX2) != 0) {
        return &avx2;
    }
#endif
    (void)features;
    return &portable;
}

void vt_peak_triad(float *restrict a, const float *restrict b, const float *restrict c, float s,
                   int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = b[i] + s * c[i];
    }
}
