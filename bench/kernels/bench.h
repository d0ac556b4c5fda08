/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of bench/kernels share: timing of one thread by processor time, the machine's peak
 * beside it, and a line of the table.
 */
#ifndef BENCH_KERNELS_BENCH_H
#define BENCH_KERNELS_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

struct bench_options {
    const char *filter; /* only shapes whose names contain it; NULL: all */
    bool every_isa;     /* every instruction set of the machine, not the best alone */
    bool cold;          /* weights come from beyond the caches */
    int rounds;         /* the best of so many counts */
    uint32_t threads;
    struct vt_pool *pool; /* NULL with one thread */
};

/* One thing to time. */
struct bench_case {
    const char *shape, *kernel;
    double flops; /* of a call; a multiply-add counts 2 */
    /* Carries it out once; `turn` counts calls, for whoever has several copies of the weights. */
    void (*call)(void *ctx, int64_t turn);
    void *ctx;
};

/* Measures cases of one shape, which take turns, and prints a line for each: GF/s, the share of the
 * peak measured in between, and the time of a call. Above one thread by the clock on the wall. */
void bench_cases(const struct bench_options *options, const struct bench_case *cases, int n);

/* Instruction sets to measure, best first. Returns how many. */
int bench_features(const struct bench_options *options, uint32_t ret[3]);
bool bench_wants(const struct bench_options *options, const char *shape);
/* Numbers in [-1, 1); ends the program when there is no memory. */
float *bench_floats(int64_t n);
/* How many copies of `floats` lie beyond the caches; 1 where they may be warm. */
int64_t bench_copies(const struct bench_options *options, int64_t floats);

int bench_gemm(const struct bench_options *options);
int bench_conv(const struct bench_options *options);

#endif
