/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VT_KERNELS_QUANT_BYTES_WAYS_H
#define VT_KERNELS_QUANT_BYTES_WAYS_H

#include "kernels/quant/bytes.h"

/* What a version brings, on a part of a tensor. */
struct vt_bytes_way {
    void (*quantize)(const struct vt_byte_scale *s, const float *x, int64_t n, void *y);
    void (*dequantize)(const struct vt_byte_scale *s, const void *x, int64_t n, float *y);
    void (*add)(const struct vt_byte_sum *s, const void *a, const void *b, int64_t n, void *y);
};
extern const struct vt_bytes_way vt_bytes_way_portable;
#if defined(__x86_64__)
extern const struct vt_bytes_way vt_bytes_way_avx2;
extern const struct vt_bytes_way vt_bytes_way_avx512;
#endif

#endif
