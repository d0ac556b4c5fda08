/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/select/select.h"

/* Elements looked at as one: where none is set, which is the rule behind a threshold, nothing more
 * is done about them. */
#define BLOCK 64

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
        type some = 0;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            some |= x[i];                                                                          \
        for (int64_t i = 0; i < n && (some & bits) != 0; i++) {                                    \
            ret[found] = i;                                                                        \
            found += (x[i] & bits) != 0;                                                           \
        }                                                                                          \
        return found;                                                                              \
    }
WIDTHS(FUNCTIONS)

int64_t vt_nonzero_count(const struct vt_tensor *x)
{
    const uint64_t bits = weighty_bits(x->dtype);
    switch (vt_dtype_bytes(x->dtype)) {
#define CASE(type)                                                                                 \
    case sizeof(type):                                                                             \
        return count_##type(x->data, elements(x), (type)bits);
        WIDTHS(CASE)
#undef CASE
    default:
        return 0;
    }
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

void vt_nonzero_run(const struct vt_tensor *x, int64_t found, int64_t *ret)
{
    const int64_t n = elements(x);
    int64_t list[BLOCK], at = 0;
    for (int64_t begin = 0; begin < n && at < found; begin += BLOCK) {
        int64_t some = list_block(x, begin, n - begin < BLOCK ? n - begin : BLOCK, list);
        some = some < found - at ? some : found - at;
        for (int64_t i = 0; i < some; i++) {
            int64_t rest = begin + list[i];
            for (uint32_t axis = x->rank; axis-- > 1;) {
                ret[axis * found + at + i] = rest % x->dim[axis];
                rest /= x->dim[axis];
            }
            ret[at + i] = rest;
        }
        at += some;
    }
}
