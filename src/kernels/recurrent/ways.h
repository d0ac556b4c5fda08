/* SPDX-License-Identifier: Apache-2.0 */
/* What a step of a recurrent layer needs of an instruction set; ways.c chooses. */
#ifndef VT_KERNELS_RECURRENT_WAYS_H
#define VT_KERNELS_RECURRENT_WAYS_H

#include <stdint.h>

#define VT_RECURRENT_ROWS_MAX  6
#define VT_RECURRENT_WIDTH_MAX 64

/* sums[rows][width] = (+=) a[rows][k] · panel[k][width]. */
struct vt_recurrent_tile {
    int64_t k, lda;
    const float *a;
    const void *panel; /* floats, or halves for product_half */
    float *sums;
    uint32_t accumulate; /* 1: start from the sums */
    const void *ahead;   /* as much of the panel to call into the cache meanwhile, or NULL */
};
typedef void (*vt_recurrent_product_func)(const struct vt_recurrent_tile *tile, uint32_t rows);

/* An LSTM's gates with the usual activations, for n units: the sums of the gates i, o, f, c stand
 * `width` / 4 apart, what comes from the input `hidden` apart. c is updated. */
struct vt_recurrent_lstm {
    int64_t n, width, hidden;
    const float *sums, *from_input;
    float *c, *h;
};

struct vt_recurrent_way {
    uint32_t rows;  /* of one product at most */
    uint32_t width; /* floats of a panel's row, a multiple of 4 */
    vt_recurrent_product_func product;
    vt_recurrent_product_func product_half; /* NULL: none */
    void (*lstm)(const struct vt_recurrent_lstm *step);
};

extern const struct vt_recurrent_way vt_recurrent_way_portable;
#if defined(__x86_64__)
extern const struct vt_recurrent_way vt_recurrent_way_avx2;
extern const struct vt_recurrent_way vt_recurrent_way_avx512;
#endif

#endif
