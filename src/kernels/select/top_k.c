/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/select/select.h"

#define INLINE static inline __attribute__((always_inline))

/* Elements looked at as one: most blocks have none that is better than the worst one chosen. */
#define BLOCK 64

struct job {
    const struct vt_top_k *top;
    const char *x;
    char *values;
    int64_t *indices;
    int64_t *workspace;
};

bool vt_top_k_knows(enum vt_dtype dtype)
{
    return dtype == VT_F32 || dtype == VT_F64 || (dtype >= VT_U8 && dtype <= VT_I64) ||
           dtype == VT_U32 || dtype == VT_U64;
}

/* -1, 0 or 1 as element i stands before, with or behind element j in rising order. */
INLINE int compare(enum vt_dtype dtype, const void *x, int64_t i, int64_t j)
{
#define CASE(dtype, type)                                                                          \
    case dtype: {                                                                                  \
        const type a = ((const type *)x)[i], b = ((const type *)x)[j];                             \
        return (a > b) - (a < b);                                                                  \
    }
    switch (dtype) {
        CASE(VT_F32, float)
        CASE(VT_F64, double)
        CASE(VT_U8, uint8_t)
        CASE(VT_I8, int8_t)
        CASE(VT_U16, uint16_t)
        CASE(VT_I16, int16_t)
        CASE(VT_I32, int32_t)
        CASE(VT_I64, int64_t)
        CASE(VT_U32, uint32_t)
        CASE(VT_U64, uint64_t)
    default:
        return 0;
    }
#undef CASE
}

/* Whether element i is chosen before element j. `dtype` is top's: a constant in the copy of these
 * functions for float32. */
INLINE bool before(enum vt_dtype dtype, const struct vt_top_k *top, const void *x, int64_t i,
                   int64_t j)
{
    const int order = compare(dtype, x, i * top->inner, j * top->inner);
    if (order == 0) {
        return i < j;
    }
    return top->largest ? order > 0 : order < 0;
}

/* Restores the heap below `at`: its root is the one chosen last. */
INLINE void sift(enum vt_dtype dtype, const struct vt_top_k *top, const void *x, int64_t *heap,
                 int64_t n, int64_t at)
{
    for (;;) {
        int64_t worst = at;
        for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
            if (before(dtype, top, x, heap[worst], heap[child])) {
                worst = child;
            }
        }
        if (worst == at) {
            return;
        }
        const int64_t swap = heap[at];
        heap[at] = heap[worst];
        heap[worst] = swap;
        at = worst;
    }
}

/* The first block from i on with a number beyond `bar`, or its last whole one. */
static int64_t skip(const float *x, int64_t i, int64_t n, float bar, bool largest)
{
    for (; i + BLOCK <= n; i += BLOCK) {
        int some = 0;
        if (largest) {
            for (int64_t k = i; k < i + BLOCK; k++) {
                some |= x[k] > bar;
            }
        } else {
            for (int64_t k = i; k < i + BLOCK; k++) {
                some |= x[k] < bar;
            }
        }
        if (some != 0) {
            return i;
        }
    }
    return i;
}

INLINE void choose(enum vt_dtype dtype, const struct vt_top_k *top, const void *x, int64_t *heap)
{
    const int64_t k = top->k;
    for (int64_t i = 0; i < k; i++) {
        heap[i] = i;
    }
    for (int64_t i = k / 2; i-- > 0;) {
        sift(dtype, top, x, heap, k, i);
    }
    for (int64_t i = k; i < top->n;) {
        if (dtype == VT_F32 && top->inner == 1) {
            i = skip(x, i, top->n, ((const float *)x)[heap[0]], top->largest);
        }
        const int64_t end = top->n - i < BLOCK ? top->n : i + BLOCK;
        for (; i < end; i++) {
            if (before(dtype, top, x, i, heap[0])) {
                heap[0] = i;
                sift(dtype, top, x, heap, k, 0);
            }
        }
    }
    for (int64_t n = k; n-- > 1;) {
        const int64_t last = heap[0];
        heap[0] = heap[n];
        heap[n] = last;
        sift(dtype, top, x, heap, n, 0);
    }
}

static void run_columns(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_top_k *top = job->top;
    const int64_t bytes = (int64_t)vt_dtype_bytes(top->dtype);
    int64_t *heap = job->workspace + worker * top->k;
    for (int64_t c = begin; c < end; c++) {
        const int64_t outer = c / top->inner, inner = c % top->inner;
        const char *x = job->x + (outer * top->n * top->inner + inner) * bytes;
        if (top->dtype == VT_F32) {
            choose(VT_F32, top, x, heap);
        } else {
            choose(top->dtype, top, x, heap);
        }
        for (int64_t i = 0; i < top->k; i++) {
            const int64_t at = (outer * top->k + i) * top->inner + inner;
            if (job->values != NULL) {
                memcpy(job->values + at * bytes, x + heap[i] * top->inner * bytes, (size_t)bytes);
            }
            if (job->indices != NULL) {
                job->indices[at] = heap[i];
            }
        }
    }
}

void vt_top_k_run(const struct vt_top_k *top, const void *x, void *values, int64_t *indices,
                  struct vt_pool *pool, int64_t *workspace)
{
    struct job job = {top, x, values, indices, workspace};
    if (top->k > 0) {
        vt_pool_run(pool, top->outer * top->inner, 1 + 2048 / top->n, run_columns, &job);
    }
}
