/* SPDX-License-Identifier: Apache-2.0 */
/* How factors become panels; gemm.c's own. */
#ifndef VT_KERNELS_GEMM_PACK_H
#define VT_KERNELS_GEMM_PACK_H

#include "kernels/gemm/gemm.h"

/*
 * Packs `lanes` rows of A or columns of B into panels [kc][unit]. A lane's elements are k_stride
 * apart, neighbouring lanes lane_stride. `scale`, one for each lane, may be NULL.
 */
void vt_gemm_pack_panels(const struct vt_gemm_kernel *kernel, uint32_t unit, int64_t lanes,
                         int64_t kc, const float *source, int64_t lane_stride, int64_t k_stride,
                         const float *scale, float *ret_panels);

static inline int64_t gemm_round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

static inline int64_t gemm_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
