/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention/attention.h"

int64_t vt_rotary_run(const struct vt_rotary *r, const float *x, const float *cosine,
                      const float *sine, const int64_t *position, float *y)
{
    const int64_t half = r->turned / 2;
    for (int64_t row = 0; row < r->batch * r->len * r->heads; row++) {
        const int64_t batch = row / (r->len * r->heads);
        const int64_t i = r->packed ? row / r->heads % r->len : row % r->len;
        const int64_t at = position != NULL ? position[batch * r->len + i] : batch * r->len + i;
        const float *from = x + row * r->size;
        float *to = y + row * r->size;
        if (at < 0 || at >= r->positions) {
            return batch * r->len + i;
        }
        for (int64_t k = 0; k < half; k++) {
            const float c = cosine[at * half + k], s = sine[at * half + k];
            const int64_t a = r->interleaved ? 2 * k : k, b = r->interleaved ? a + 1 : k + half;
            const float u = from[a], v = from[b];
            to[a] = c * u - s * v;
            to[b] = s * u + c * v;
        }
        for (int64_t k = 2 * half; k < r->size; k++) {
            to[k] = from[k];
        }
    }
    return -1;
}
