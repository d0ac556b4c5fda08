/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/move/transpose.h"

#define TILE 16

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void vt_x32_transpose__portable(const struct vt_transpose *t, const uint32_t *from, uint32_t *to)
{
    for (int64_t r0 = 0; r0 < t->rows; r0 += TILE) {
        for (int64_t c0 = 0; c0 < t->columns; c0 += TILE) {
            const int64_t r1 = min_i64(r0 + TILE, t->rows), c1 = min_i64(c0 + TILE, t->columns);
            for (int64_t c = c0; c < c1; c++) {
                for (int64_t r = r0; r < r1; r++) {
                    to[c * t->to_step + r] = from[r * t->from_step + c];
                }
            }
        }
    }
}
