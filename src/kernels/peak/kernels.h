/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of all instruction sets; peak.c chooses among them. */
#ifndef VT_KERNELS_PEAK_KERNELS_H
#define VT_KERNELS_PEAK_KERNELS_H

#include <stdint.h>

/* Chains that run at once: latency times throughput of today's units is 8 to 10. */
#define VT_PEAK_CHAINS 12

void vt_peak_fma__portable(int64_t rounds, float *ret_sink);
#if defined(__x86_64__)
void vt_peak_fma__avx2(int64_t rounds, float *ret_sink);
void vt_peak_fma__avx512(int64_t rounds, float *ret_sink);
#endif

#endif
