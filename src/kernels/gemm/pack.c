/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/pack.h"

#include <string.h>

static bool packed_size(int64_t lanes, int64_t unit, int64_t k, size_t *ret_floats)
{
    size_t padded = (size_t)gemm_round_up(lanes, unit);
    return !__builtin_mul_overflow(padded, (size_t)k, ret_floats);
}

bool vt_gemm_packed_a_size(const struct vt_gemm_kernel *kernel, int64_t m, int64_t k,
                           size_t *ret_floats)
{
    return packed_size(m, kernel->mr, k, ret_floats);
}

bool vt_gemm_packed_b_size(const struct vt_gemm_kernel *kernel, int64_t k, int64_t n,
                           size_t *ret_floats)
{
    return packed_size(n, kernel->nr, k, ret_floats);
}

/* Lanes side by side: a step is one copy. */
static void copy_panel(const float *from, int64_t k_stride, int64_t lanes, int64_t kc,
                       uint32_t unit, float *out)
{
    if (lanes == 32 && unit == 32) { /* sizes that the compiler turns into registers */
        for (int64_t k = 0; k < kc; k++) {
            memcpy(out + k * 32, from + k * k_stride, 32 * sizeof(float));
        }
        return;
    }
    if (lanes == 16 && unit == 16) {
        for (int64_t k = 0; k < kc; k++) {
            memcpy(out + k * 16, from + k * k_stride, 16 * sizeof(float));
        }
        return;
    }
    for (int64_t k = 0; k < kc; k++) {
        memcpy(out + k * unit, from + k * k_stride, (size_t)lanes * sizeof(float));
        for (int64_t l = lanes; l < unit; l++) {
            out[k * unit + l] = 0.0f;
        }
    }
}

static void gather_panel(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes,
                         int64_t kc, uint32_t unit, float *out)
{
    for (int64_t l = 0; l < unit; l++) {
        for (int64_t k = 0; k < kc; k++) {
            out[k * unit + l] = l < lanes ? from[l * lane_stride + k * k_stride] : 0.0f;
        }
    }
}

void vt_gemm_pack_panels(const struct vt_gemm_kernel *kernel, uint32_t unit, int64_t lanes,
                         int64_t kc, const float *source, int64_t lane_stride, int64_t k_stride,
                         const float *scale, float *ret_panels)
{
    float *out = ret_panels;
    for (int64_t l0 = 0; l0 < lanes; l0 += unit, out += kc * unit) {
        const int64_t n = gemm_min(unit, lanes - l0);
        const float *from = source + l0 * lane_stride;
        if (lane_stride == 1) {
            copy_panel(from, k_stride, n, kc, unit, out);
        } else if (k_stride == 1) {
            kernel->turn(from, lane_stride, n, kc, unit, out);
        } else {
            gather_panel(from, lane_stride, k_stride, n, kc, unit, out);
        }
        if (scale == NULL) {
            continue;
        }
        for (int64_t k = 0; k < kc; k++) {
            for (int64_t l = 0; l < n; l++) {
                out[k * unit + l] *= scale[l0 + l];
            }
        }
    }
}

void vt_gemm_pack_a(const struct vt_gemm_kernel *kernel, int64_t m, int64_t k,
                    const struct vt_gemm_matrix *a, const float *row_scale, float *ret_packed)
{
    const int64_t padded = gemm_round_up(m, kernel->mr);
    for (int64_t k0 = 0; k0 < k; k0 += VT_GEMM_KC) {
        vt_gemm_pack_panels(kernel, kernel->mr, m, gemm_min(VT_GEMM_KC, k - k0),
                            a->data + k0 * a->col_stride, a->row_stride, a->col_stride, row_scale,
                            ret_packed + k0 * padded);
    }
}

void vt_gemm_pack_b(const struct vt_gemm_kernel *kernel, int64_t k, int64_t n,
                    const struct vt_gemm_matrix *b, float *ret_packed)
{
    const int64_t padded = gemm_round_up(n, kernel->nr);
    for (int64_t k0 = 0; k0 < k; k0 += VT_GEMM_KC) {
        vt_gemm_pack_panels(kernel, kernel->nr, n, gemm_min(VT_GEMM_KC, k - k0),
                            b->data + k0 * b->row_stride, b->col_stride, b->row_stride, NULL,
                            ret_packed + k0 * padded);
    }
}
