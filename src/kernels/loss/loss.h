/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of a classification in float32; sums are kept in double. */
#ifndef VT_KERNELS_LOSS_LOSS_H
#define VT_KERNELS_LOSS_LOSS_H

#include <stdbool.h>
#include <stdint.h>

enum vt_loss_reduction {
    VT_LOSS_NONE, /* one number a place */
    VT_LOSS_SUM,
    VT_LOSS_MEAN, /* divided by the sum of the weights that were used */
};

/* Scores are [batch][classes][places], classes to be right are [batch][places]. */
struct vt_loss {
    int64_t batch, classes, places;
    enum vt_loss_reduction reduction;
    bool has_ignored;
    int64_t ignored; /* a class that counts for nothing */
    bool is_64;      /* the classes are int64, not int32 */
};

/*
 * The negated logarithms of the probabilities of the right classes, times the class's weight
 * (weights NULL: 1). Returns -1, or the position of the first class that does not exist.
 */
int64_t vt_loss_run(const struct vt_loss *loss, const float *log_probabilities,
                    const void *right_classes, const float *weights, float *ret_loss);

#endif
