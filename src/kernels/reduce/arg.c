/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/reduce/reduce.h"

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
    X(VT_U64, uint64_t)

#define FIND(dtype, type)                                                                          \
    static int64_t find_##dtype(const struct vt_arg *arg, const type *x)                           \
    {                                                                                              \
        int64_t best = 0;                                                                          \
        for (int64_t i = 1; i < arg->n; i++) {                                                     \
            const type v = x[i * arg->inner], b = x[best * arg->inner];                            \
            if ((arg->minimum ? v < b : v > b) || (arg->last && v == b))                           \
                best = i;                                                                          \
        }                                                                                          \
        return best;                                                                               \
    }
TYPES(FIND)

void vt_arg_run(const struct vt_arg *arg, const void *x, int64_t *y)
{
    for (int64_t i = 0; i < arg->outer * arg->inner; i++) {
        const int64_t offset = i / arg->inner * arg->n * arg->inner + i % arg->inner;
        switch (arg->dtype) {
#define CASE(dtype, type)                                                                          \
    case dtype:                                                                                    \
        y[i] = find_##dtype(arg, (const type *)x + offset);                                        \
        break;
            TYPES(CASE)
#undef CASE
        default:
            break;
        }
    }
}

#define CUMULATE(dtype, type, sum_type)                                                            \
    static void cumulate_##dtype(const struct vt_cumulate *c, const type *x, type *y)              \
    {                                                                                              \
        sum_type sum = 0;                                                                          \
        for (int64_t k = 0; k < c->n; k++) {                                                       \
            const int64_t i = (c->reverse ? c->n - 1 - k : k) * c->inner;                          \
            const sum_type next = sum + (sum_type)x[i];                                            \
            y[i] = (type)(c->exclusive ? sum : next);                                              \
            sum = next;                                                                            \
        }                                                                                          \
    }
CUMULATE(VT_F32, float, double)
CUMULATE(VT_F64, double, double)
CUMULATE(VT_I32, int32_t, uint32_t)
CUMULATE(VT_I64, int64_t, uint64_t)

void vt_cumulate_run(const struct vt_cumulate *c, const void *x, void *y)
{
    for (int64_t i = 0; i < c->outer * c->inner; i++) {
        const int64_t offset = i / c->inner * c->n * c->inner + i % c->inner;
        switch (c->dtype) {
#define CASE(dtype, type)                                                                          \
    case dtype:                                                                                    \
        cumulate_##dtype(c, (const type *)x + offset, (type *)y + offset);                         \
        break;
            CASE(VT_F32, float)
            CASE(VT_F64, double)
            CASE(VT_I32, int32_t)
            CASE(VT_I64, int64_t)
#undef CASE
        default:
            break;
        }
    }
}
