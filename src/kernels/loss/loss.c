/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/loss/loss.h"

#include <stddef.h>

int64_t vt_loss_run(const struct vt_loss *loss, const float *log_probabilities,
                    const void *right_classes, const float *weights, float *ret_loss)
{
    double sum = 0, weight_sum = 0;
    for (int64_t i = 0; i < loss->batch * loss->places; i++) {
        const int64_t right =
            loss->is_64 ? ((const int64_t *)right_classes)[i] : ((const int32_t *)right_classes)[i];
        double one = 0;
        if (!loss->has_ignored || right != loss->ignored) {
            if (right < 0 || right >= loss->classes) {
                return i;
            }
            const int64_t n = i / loss->places, place = i % loss->places;
            const int64_t at = (n * loss->classes + right) * loss->places + place;
            const double weight = weights != NULL ? (double)weights[right] : 1;
            one = -(double)log_probabilities[at] * weight;
            weight_sum += weight;
        }
        sum += one;
        if (loss->reduction == VT_LOSS_NONE) {
            ret_loss[i] = (float)one;
        }
    }
    if (loss->reduction != VT_LOSS_NONE) {
        *ret_loss = (float)(loss->reduction == VT_LOSS_MEAN ? sum / weight_sum : sum);
    }
    return -1;
}
