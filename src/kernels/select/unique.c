/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/select/select.h"

#define TYPES(X)                                                                                   \
    X(VT_F32, float)                                                                               \
    X(VT_F64, double)                                                                              \
    X(VT_I8, int8_t)                                                                               \
    X(VT_I16, int16_t)                                                                             \
    X(VT_I32, int32_t)                                                                             \
    X(VT_I64, int64_t)                                                                             \
    X(VT_U8, uint8_t)                                                                              \
    X(VT_U16, uint16_t)                                                                            \
    X(VT_U32, uint32_t)                                                                            \
    X(VT_U64, uint64_t)                                                                            \
    X(VT_BOOL, uint8_t)

/* The order of two slices; a NaN is the largest of all and equal to itself. */
#define COMPARE(dtype, type)                                                                       \
    static int compare_##dtype(const struct vt_unique *u, const type *x, int64_t a, int64_t b)     \
    {                                                                                              \
        for (int64_t o = 0; o < u->outer; o++) {                                                   \
            for (int64_t i = 0; i < u->inner; i++) {                                               \
                const type p = x[(o * u->n + a) * u->inner + i];                                   \
                const type q = x[(o * u->n + b) * u->inner + i];                                   \
                if (p < q || (p == p && q != q))                                                   \
                    return -1;                                                                     \
                if (p > q || (p != p && q == q))                                                   \
                    return 1;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return 0;                                                                                  \
    }
TYPES(COMPARE)

static int compare(const struct vt_unique *u, const void *x, int64_t a, int64_t b)
{
    switch (u->dtype) {
#define CASE(dtype, type)                                                                          \
    case dtype:                                                                                    \
        return compare_##dtype(u, x, a, b);
        TYPES(CASE)
#undef CASE
    default:
        return 0;
    }
}

bool vt_unique_knows(enum vt_dtype dtype)
{
    switch (dtype) {
#define CASE(known, type) case known:
        TYPES(CASE)
#undef CASE
        return true;
    default:
        return false;
    }
}

/* Sorts positions by merging runs of doubling length; equal ones stay in their order. */
static void sort(const struct vt_unique *u, const void *x, int64_t *order, int64_t *spare)
{
    for (int64_t i = 0; i < u->n; i++) {
        order[i] = i;
    }
    for (int64_t run = 1; run < u->n; run *= 2) {
        for (int64_t begin = 0; begin < u->n; begin += 2 * run) {
            const int64_t middle = begin + run < u->n ? begin + run : u->n;
            const int64_t end = middle + run < u->n ? middle + run : u->n;
            int64_t a = begin, b = middle;
            for (int64_t to = begin; to < end; to++) {
                const bool left =
                    a < middle && (b == end || compare(u, x, order[a], order[b]) <= 0);
                spare[to] = left ? order[a++] : order[b++];
            }
        }
        memcpy(order, spare, (size_t)u->n * sizeof(*order));
    }
}

int64_t vt_unique_run(const struct vt_unique *u, const void *x, int64_t *ret_first,
                      int64_t *ret_which, int64_t *ret_counts, int64_t *workspace)
{
    int64_t *order = workspace, *renamed = workspace + u->n;
    int64_t found = 0;
    sort(u, x, order, renamed);
    for (int64_t i = 0; i < u->n; i++) {
        found += i == 0 || compare(u, x, order[i - 1], order[i]) != 0;
        ret_which[order[i]] = found - 1;
        renamed[i] = u->sorted ? i : -1;
        ret_counts[i] = 0;
    }
    /* Unsorted ones are named in the order of their first element. */
    int64_t next = 0;
    for (int64_t i = 0; i < u->n; i++) {
        int64_t *name = &renamed[ret_which[i]];
        if (*name < 0) {
            *name = next++;
        }
        ret_which[i] = *name;
        if (ret_counts[*name]++ == 0) {
            ret_first[*name] = i;
        }
    }
    return found;
}
