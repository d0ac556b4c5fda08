/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/select/select.h"

/* Elements looked at as one: where none is set, which is the rule behind a threshold, nothing more
 * is done about them. */
#define BLOCK 64
/* The same within a block that has some: as many words as an element has bytes. */
#define GROUP 8
/* Below so many elements nobody else is asked to help. */
#define SMALL 65536

static int64_t elements(const struct vt_tensor *x)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        n *= x->dim[i];
    }
    return n;
}

/* The bits of an element that make it something else than zero: a float's sign does not. */
static uint64_t weighty_bits(enum vt_dtype dtype)
{
    switch (dtype) {
    case VT_F32:
        return UINT64_C(0x7fffffff);
    case VT_F64:
        return UINT64_C(0x7fffffffffffffff);
    case VT_F16:
    case VT_BF16:
        return UINT64_C(0x7fff);
    default:
        return UINT64_MAX;
    }
}

#define WIDTHS(X)                                                                                  \
    X(uint8_t)                                                                                     \
    X(uint16_t)                                                                                    \
    X(uint32_t)                                                                                    \
    X(uint64_t)

/* count_…: how many of n elements are set. list_…: where; room for n. */
#define FUNCTIONS(type)                                                                            \
    static int64_t count_##type(const type *x, int64_t n, type bits)                               \
    {                                                                                              \
        int64_t found = 0;                                                                         \
        for (int64_t begin = 0; begin < n; begin += BLOCK) {                                       \
            const int64_t end = n - begin < BLOCK ? n : begin + BLOCK;                             \
            type some = 0;                                                                         \
            for (int64_t i = begin; i < end; i++)                                                  \
                some |= x[i];                                                                      \
            if ((some & bits) == 0)                                                                \
                continue;                                                                          \
            type set = 0;                                                                          \
            for (int64_t i = begin; i < end; i++)                                                  \
                set = (type)(set + ((x[i] & bits) != 0));                                          \
            found += (int64_t)set;                                                                 \
        }                                                                                          \
        return found;                                                                              \
    }                                                                                              \
    static int64_t list_##type(const type *x, int64_t n, type bits, int64_t *ret)                  \
    {                                                                                              \
        int64_t found = 0;                                                                         \
        int64_t i = 0;                                                                             \
        for (; i + GROUP <= n; i += GROUP) {                                                       \
            uint64_t words[sizeof(type)], some = 0;                                                \
            memcpy(words, x + i, sizeof(words));                                                   \
            for (size_t k = 0; k < sizeof(type); k++)                                              \
                some |= words[k];                                                                  \
            for (int64_t k = i; k < i + GROUP && some != 0; k++) {                                 \
                ret[found] = k;                                                                    \
                found += (x[k] & bits) != 0;                                                       \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            ret[found] = i;                                                                        \
            found += (x[i] & bits) != 0;                                                           \
        }                                                                                          \
        return found;                                                                              \
    }
WIDTHS(FUNCTIONS)

/* --- by parts -------------------------------------------------------------------------------- */

struct job {
    const struct vt_tensor *x;
    struct vt_nonzero *parts;
    int64_t *out; /* [axis][found] */
};

static int64_t part_begin(const struct vt_tensor *x, int64_t part)
{
    const int64_t n = elements(x), blocks = (n + BLOCK - 1) / BLOCK;
    const int64_t begin = (blocks + VT_NONZERO_PARTS - 1) / VT_NONZERO_PARTS * part * BLOCK;
    return begin < n ? begin : n;
}

static void count_parts(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_tensor *x = job->x;
    const uint64_t bits = weighty_bits(x->dtype);
    (void)worker;
    for (int64_t part = begin; part < end; part++) {
        const int64_t first = part_begin(x, part), n = part_begin(x, part + 1) - first;
        switch (vt_dtype_bytes(x->dtype)) {
#define CASE(type)                                                                                 \
    case sizeof(type):                                                                             \
        job->parts->found[part] = count_##type((const type *)x->data + first, n, (type)bits);      \
        break;
            WIDTHS(CASE)
#undef CASE
        default:
            job->parts->found[part] = 0;
            break;
        }
    }
}

int64_t vt_nonzero_count(const struct vt_tensor *x, struct vt_pool *pool,
                         struct vt_nonzero *ret_parts)
{
    struct job job = {.x = x, .parts = ret_parts};
    const int64_t grain = elements(x) < SMALL ? VT_NONZERO_PARTS : 1;
    int64_t found = 0;
    vt_pool_run(pool, VT_NONZERO_PARTS, grain, count_parts, &job);
    for (int64_t part = 0; part < VT_NONZERO_PARTS; part++) {
        found += ret_parts->found[part];
    }
    return found;
}

/* Where among n <= BLOCK elements from `begin` on those that are not zero are. */
static int64_t list_block(const struct vt_tensor *x, int64_t begin, int64_t n, int64_t *ret)
{
    const uint64_t bits = weighty_bits(x->dtype);
    switch (vt_dtype_bytes(x->dtype)) {
#define CASE(type)                                                                                 \
    case sizeof(type):                                                                             \
        return list_##type((const type *)x->data + begin, n, (type)bits, ret);
        WIDTHS(CASE)
#undef CASE
    default:
        return 0;
    }
}

static void list_parts(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_tensor *x = job->x;
    int64_t list[BLOCK], found = 0, at = 0;
    (void)worker;
    for (int64_t part = 0; part < VT_NONZERO_PARTS; part++) {
        at += part < begin ? job->parts->found[part] : 0;
        found += job->parts->found[part];
    }
    const int64_t stop = part_begin(x, end);
    for (int64_t i = part_begin(x, begin); i < stop; i += BLOCK) {
        const int64_t some = list_block(x, i, stop - i < BLOCK ? stop - i : BLOCK, list);
        for (int64_t k = 0; k < some; k++, at++) {
            int64_t rest = i + list[k];
            for (uint32_t axis = x->rank; axis-- > 1;) {
                job->out[axis * found + at] = rest % x->dim[axis];
                rest /= x->dim[axis];
            }
            job->out[at] = rest;
        }
    }
}

void vt_nonzero_run(const struct vt_tensor *x, const struct vt_nonzero *parts, int64_t *ret,
                    struct vt_pool *pool)
{
    struct vt_nonzero copy = *parts;
    struct job job = {x, &copy, ret};
    const int64_t grain = elements(x) < SMALL ? VT_NONZERO_PARTS : 1;
    vt_pool_run(pool, VT_NONZERO_PARTS, grain, list_parts, &job);
}
