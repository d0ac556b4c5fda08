/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers by position: number i of a stream depends on the stream's key and on i alone, so
 * a tensor may be filled in any order and by any number of threads.
 */
#ifndef VT_KERNELS_RANDOM_RANDOM_H
#define VT_KERNELS_RANDOM_RANDOM_H

#include <stdint.h>

#include "base/pool.h"
#include "vatio/tensor.h"

/* A key for stream `stream` of a seed. */
uint64_t vt_random_key(uint64_t seed, uint64_t stream);
/* In [0, 1), 53 bits. */
double vt_random_uniform(uint64_t key, int64_t i);
/* Mean 0, deviation 1, by the method of Box and Muller. */
double vt_random_normal(uint64_t key, int64_t i);

enum vt_random_kind {
    VT_RANDOM_UNIFORM,   /* from a to b */
    VT_RANDOM_NORMAL,    /* mean a, deviation b */
    VT_RANDOM_BERNOULLI, /* 1 with the probability that is given */
};
struct vt_random {
    enum vt_random_kind kind;
    uint64_t key;
    double a, b;
    enum vt_dtype dtype;   /* of y: anything vt_convert knows */
    enum vt_dtype p_dtype; /* of the probabilities */
};
/* n numbers; `p` holds n probabilities for VT_RANDOM_BERNOULLI, else it is NULL. */
void vt_random_run(const struct vt_random *r, const void *p, void *y, int64_t n,
                   struct vt_pool *pool);

/* For each of [batch] rows of logarithms of probabilities, n draws of a class; y is int32 or int64.
 */
void vt_multinomial_run(uint64_t key, int64_t batch, int64_t classes, int64_t n, const float *x,
                        enum vt_dtype dtype, void *y);

#endif
