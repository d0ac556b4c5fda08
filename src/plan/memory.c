/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/memory.h"

#include <stdlib.h>

#include "base/alloc.h"

static size_t rounded(size_t bytes)
{
    return (bytes + VT_ALIGNMENT - 1) / VT_ALIGNMENT * VT_ALIGNMENT;
}

/* Largest first; among equals the one that starts earlier, then the one that lives longer. */
static int by_size(const void *a, const void *b)
{
    const struct vt_lifetime *x = *(const struct vt_lifetime *const *)a;
    const struct vt_lifetime *y = *(const struct vt_lifetime *const *)b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    if (x->first != y->first) {
        return x->first < y->first ? -1 : 1;
    }
    if (x->last != y->last) {
        return x->last > y->last ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* the order of the array, so that the result is reproducible */
}

/*
 * The tightest gap for `item` below the end of what lives at the same time. `placed` is sorted by
 * offset.
 */
static size_t find_offset(const struct vt_lifetime *item, struct vt_lifetime *const *placed,
                          size_t n_placed)
{
    size_t need = rounded(item->bytes);
    size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (size_t i = 0; i < n_placed; i++) {
        const struct vt_lifetime *other = placed[i];
        if (other->last < item->first || item->last < other->first) {
            continue;
        }
        if (other->offset > end && other->offset - end >= need && other->offset - end < best_gap) {
            best = end;
            best_gap = other->offset - end;
        }
        if (other->offset + rounded(other->bytes) > end) {
            end = other->offset + rounded(other->bytes);
        }
    }
    return best != SIZE_MAX ? best : end;
}

static void place(struct vt_lifetime **order, size_t n, size_t *ret_arena_bytes)
{
    /* order[0 .. i) becomes the placed ones, sorted by offset, as order[i] is looked at. */
    size_t arena = 0;
    for (size_t i = 0; i < n; i++) {
        struct vt_lifetime *item = order[i];
        item->offset = find_offset(item, order, i);
        if (item->offset + rounded(item->bytes) > arena) {
            arena = item->offset + rounded(item->bytes);
        }
        size_t at = i;
        while (at > 0 && order[at - 1]->offset > item->offset) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = item;
    }
    *ret_arena_bytes = arena;
}

enum vt_status vt_memory_plan(struct vt_lifetime *lifetimes, size_t n, struct vt_error *err,
                              size_t *ret_arena_bytes)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (lifetimes[i].bytes > SIZE_MAX / 2 - VT_ALIGNMENT ||
            sum > SIZE_MAX / 2 - rounded(lifetimes[i].bytes)) {
            return vt_error_set(err, VT_ERR_LIMIT,
                                "the values of the model need more memory than can be addressed");
        }
        sum += rounded(lifetimes[i].bytes);
    }
    struct vt_lifetime **order = vt_calloc(n + 1, sizeof(*order));
    if (order == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for planning %zu values", n);
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = &lifetimes[i];
    }
    qsort(order, n, sizeof(*order), by_size);
    place(order, n, ret_arena_bytes);
    vt_free(order);
    return VT_OK;
}
