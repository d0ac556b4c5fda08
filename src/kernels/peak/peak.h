/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two roofs of a machine, for fp32: how many multiply-adds it can do when everything lies in
 * registers, and how fast memory streams (the triad of McCalpin's STREAM, a = b + s·c).
 */
#ifndef VT_KERNELS_PEAK_PEAK_H
#define VT_KERNELS_PEAK_PEAK_H

#include <stdint.h>

/* Independent multiply-adds on registers. Stores something that depends on all of them. */
struct vt_peak_kernel {
    const char *name;       /* "AVX-512" */
    double flops_per_round; /* a multiply-add counts 2 */
    void (*run)(int64_t rounds, float *ret_sink);
};

/* The widest for a set of enum vt_cpu_feature. Static storage. */
const struct vt_peak_kernel *vt_peak_kernel_find(uint32_t features);

/* a[i] = b[i] + s * c[i]: 12 bytes of traffic an element. */
void vt_peak_triad(float *a, const float *b, const float *c, float s, int64_t n);

#endif
