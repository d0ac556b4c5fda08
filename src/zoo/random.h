/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random weights by position: element i depends on the key and i alone, so a tensor can be made
 * piece by piece in any order. Only integer arithmetic and single IEEE operations: the same bits
 * everywhere.
 */
#ifndef VT_ZOO_RANDOM_H
#define VT_ZOO_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* What a weight is filled with (float32). `kind` decides how the two numbers are read. */
struct vt_zoo_random {
    enum {
        VT_ZOO_NORMAL,  /* mean a, standard deviation b; within 3.5 of these */
        VT_ZOO_UNIFORM, /* from a to b */
    } kind;
    uint64_t key;
    double a, b;
};

/* The key of a tensor by its name. */
uint64_t vt_zoo_key(uint64_t seed, const char *name);
/* A vt_weight_fill; ctx is a struct vt_zoo_random. */
void vt_zoo_random_fill(const void *ctx, uint64_t first, size_t n, void *ret);

#endif
