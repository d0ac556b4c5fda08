/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/convert/convert.h"

#include <string.h>

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint32_t to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

float vt_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00) { /* infinity or NaN */
        return from_bits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    }
    if (magnitude >= 0x0400) {
        return from_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
    }
    /* Subnormal: the magnitude counts steps of 2^-24. */
    const float x = (float)magnitude * 0x1p-24f;
    return sign ? -x : x;
}

uint16_t vt_float_to_half(float x)
{
    const uint32_t bits = to_bits(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (magnitude >= 0x477ff000u) { /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) {
        /* Subnormal: adding 0.5 leaves the rounded count of 2^-24 steps in the low bits. */
        const uint32_t steps = to_bits(from_bits(magnitude) + 0.5f) - to_bits(0.5f);
        return (uint16_t)(sign | steps);
    }
    const uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | (magnitude - ((127u - 15u) << 23) + 0xfffu + odd) >> 13);
}

float vt_bfloat_to_float(uint16_t bfloat)
{
    return from_bits((uint32_t)bfloat << 16);
}

uint16_t vt_float_to_bfloat(float x)
{
    const uint32_t bits = to_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static int64_t saturate(double x, int64_t low, int64_t high)
{
    if (x != x) {
        return 0;
    }
    if (x <= (double)low) {
        return low;
    }
    if (x >= (double)high) {
        return high;
    }
    return (int64_t)x;
}

static uint64_t saturate_u64(double x)
{
    if (!(x > 0.0)) {
        return 0;
    }
    return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

#define SAME(x) (x)
/* X(enum, C type, load) */
#define FLOATS(X)                                                                                  \
    X(VT_F32, float, SAME)                                                                         \
    X(VT_F64, double, SAME)                                                                        \
    X(VT_F16, uint16_t, vt_half_to_float)                                                          \
    X(VT_BF16, uint16_t, vt_bfloat_to_float)
#define INTEGERS(X)                                                                                \
    X(VT_U8, uint8_t, SAME)                                                                        \
    X(VT_I8, int8_t, SAME)                                                                         \
    X(VT_U16, uint16_t, SAME)                                                                      \
    X(VT_I16, int16_t, SAME)                                                                       \
    X(VT_U32, uint32_t, SAME)                                                                      \
    X(VT_I32, int32_t, SAME)                                                                       \
    X(VT_U64, uint64_t, SAME)                                                                      \
    X(VT_I64, int64_t, SAME)                                                                       \
    X(VT_BOOL, uint8_t, SAME)

#define LOOP(dtype, type, store)                                                                   \
    case dtype: {                                                                                  \
        type *y = out;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (type)(store);                                                                  \
        return;                                                                                    \
    }

#define FROM_FLOAT(dtype, type, load)                                                              \
    static void from_##dtype(const type *x, enum vt_dtype to, void *out, int64_t n)                \
    {                                                                                              \
        switch (to) {                                                                              \
            LOOP(VT_F32, float, load(x[i]))                                                        \
            LOOP(VT_F64, double, load(x[i]))                                                       \
            LOOP(VT_F16, uint16_t, vt_float_to_half((float)load(x[i])))                            \
            LOOP(VT_BF16, uint16_t, vt_float_to_bfloat((float)load(x[i])))                         \
            LOOP(VT_U8, uint8_t, saturate((double)load(x[i]), 0, UINT8_MAX))                       \
            LOOP(VT_I8, int8_t, saturate((double)load(x[i]), INT8_MIN, INT8_MAX))                  \
            LOOP(VT_U16, uint16_t, saturate((double)load(x[i]), 0, UINT16_MAX))                    \
            LOOP(VT_I16, int16_t, saturate((double)load(x[i]), INT16_MIN, INT16_MAX))              \
            LOOP(VT_U32, uint32_t, saturate((double)load(x[i]), 0, UINT32_MAX))                    \
            LOOP(VT_I32, int32_t, saturate((double)load(x[i]), INT32_MIN, INT32_MAX))              \
            LOOP(VT_U64, uint64_t, saturate_u64((double)load(x[i])))                               \
            LOOP(VT_I64, int64_t, saturate((double)load(x[i]), INT64_MIN, INT64_MAX))              \
            LOOP(VT_BOOL, uint8_t, load(x[i]) != 0)                                                \
        default:                                                                                   \
            return;                                                                                \
        }                                                                                          \
    }
FLOATS(FROM_FLOAT)

#define FROM_INTEGER(dtype, type, load)                                                            \
    static void from_##dtype(const type *x, enum vt_dtype to, void *out, int64_t n)                \
    {                                                                                              \
        switch (to) {                                                                              \
            LOOP(VT_F32, float, x[i])                                                              \
            LOOP(VT_F64, double, x[i])                                                             \
            LOOP(VT_F16, uint16_t, vt_float_to_half((float)x[i]))                                  \
            LOOP(VT_BF16, uint16_t, vt_float_to_bfloat((float)x[i]))                               \
            LOOP(VT_U8, uint8_t, x[i])                                                             \
            LOOP(VT_I8, int8_t, x[i])                                                              \
            LOOP(VT_U16, uint16_t, x[i])                                                           \
            LOOP(VT_I16, int16_t, x[i])                                                            \
            LOOP(VT_U32, uint32_t, x[i])                                                           \
            LOOP(VT_I32, int32_t, x[i])                                                            \
            LOOP(VT_U64, uint64_t, x[i])                                                           \
            LOOP(VT_I64, int64_t, x[i])                                                            \
            LOOP(VT_BOOL, uint8_t, x[i] != 0)                                                      \
        default:                                                                                   \
            return;                                                                                \
        }                                                                                          \
    }
INTEGERS(FROM_INTEGER)

bool vt_convert_knows(enum vt_dtype dtype)
{
    return vt_dtype_bytes(dtype) != 0 && dtype != VT_C64 && dtype != VT_C128;
}

void vt_convert(enum vt_dtype from, const void *in, enum vt_dtype to, void *out, int64_t n)
{
#define DISPATCH(dtype, type, load)                                                                \
    case dtype:                                                                                    \
        from_##dtype(in, to, out, n);                                                              \
        return;
    if (n == 0) {
        return;
    }
    if (from == to) {
        memmove(out, in, (size_t)n * vt_dtype_bytes(from));
        return;
    }
    switch (from) {
        FLOATS(DISPATCH)
        INTEGERS(DISPATCH)
    default:
        return;
    }
#undef DISPATCH
}

struct job {
    enum vt_dtype from, to;
    const char *in;
    char *out;
};

static void run_range(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    (void)worker;
    vt_convert(job->from, job->in + begin * (int64_t)vt_dtype_bytes(job->from), job->to,
               job->out + begin * (int64_t)vt_dtype_bytes(job->to), end - begin);
}

void vt_convert_run(enum vt_dtype from, const void *in, enum vt_dtype to, void *out, int64_t n,
                    struct vt_pool *pool)
{
    struct job job = {from, to, in, out};
    vt_pool_run(pool, n, 32768, run_range, &job);
}
