/* SPDX-License-Identifier: Apache-2.0 */
typedef float vt_vec __attribute__((vector_size(16)));

static inline void sum_four(const vt_vec s[4], float *out)
{
    for (int j = 0; j < 4; j++) {
        out[j] = (s[j][0] + s[j][1]) + (s[j][2] + s[j][3]);
    }
}

#define VT_PAIRS_VL   4
#define VT_PAIRS_ROWS 2
#define VT_PAIRS_NAME vt_f32_pairs__portable
#include "kernels/interaction/pairs.inc"
