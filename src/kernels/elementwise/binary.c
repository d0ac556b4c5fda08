/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/convert/convert.h"
#include "kernels/elementwise/broadcast.h"

struct kind {
    enum vt_binary op;
    enum vt_dtype a, b;
};

/* Three loops, so that each becomes vector code. */
#define LOOPS(in_type, out_type, expr)                                                             \
    {                                                                                              \
        const in_type *a = in[0], *b = in[1];                                                      \
        out_type *y = out;                                                                         \
        if (step[0] != 0 && step[1] != 0) {                                                        \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const in_type u = a[i], v = b[i];                                                  \
                y[i] = (out_type)(expr);                                                           \
            }                                                                                      \
        } else if (step[0] != 0) {                                                                 \
            const in_type v = b[0];                                                                \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const in_type u = a[i];                                                            \
                y[i] = (out_type)(expr);                                                           \
            }                                                                                      \
        } else {                                                                                   \
            const in_type u = a[0];                                                                \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const in_type v = b[i * step[1]];                                                  \
                y[i] = (out_type)(expr);                                                           \
            }                                                                                      \
        }                                                                                          \
        return;                                                                                    \
    }

#define FLOAT_OPS(name, type, fmod_func, pow_func)                                                 \
    static type mod_##name(type u, type v)                                                         \
    {                                                                                              \
        const type r = fmod_func(u, v);                                                            \
        return r != 0 && (r < 0) != (v < 0) ? r + v : r;                                           \
    }                                                                                              \
    static void stretch_##name(enum vt_binary op, const void *const *in, const int64_t *step,      \
                               void *out, int64_t n)                                               \
    {                                                                                              \
        switch (op) {                                                                              \
        case VT_BINARY_ADD:                                                                        \
            LOOPS(type, type, u + v)                                                               \
        case VT_BINARY_SUB:                                                                        \
            LOOPS(type, type, u - v)                                                               \
        case VT_BINARY_MUL:                                                                        \
            LOOPS(type, type, u *v)                                                                \
        case VT_BINARY_DIV:                                                                        \
            LOOPS(type, type, u / v)                                                               \
        case VT_BINARY_MAX:                                                                        \
            LOOPS(type, type, u != u || u > v ? u : v)                                             \
        case VT_BINARY_MIN:                                                                        \
            LOOPS(type, type, u != u || u < v ? u : v)                                             \
        case VT_BINARY_MOD:                                                                        \
            LOOPS(type, type, mod_##name(u, v))                                                    \
        case VT_BINARY_FMOD:                                                                       \
            LOOPS(type, type, fmod_func(u, v))                                                     \
        case VT_BINARY_PRELU:                                                                      \
            LOOPS(type, type, u < 0 ? u * v : u)                                                   \
        case VT_BINARY_POW:                                                                        \
            LOOPS(type, type, v == 2 ? u * u : pow_func(u, v))                                     \
        case VT_BINARY_EQUAL:                                                                      \
            LOOPS(type, uint8_t, u == v)                                                           \
        case VT_BINARY_LESS:                                                                       \
            LOOPS(type, uint8_t, u < v)                                                            \
        case VT_BINARY_LESS_OR_EQUAL:                                                              \
            LOOPS(type, uint8_t, u <= v)                                                           \
        case VT_BINARY_GREATER:                                                                    \
            LOOPS(type, uint8_t, u > v)                                                            \
        case VT_BINARY_GREATER_OR_EQUAL:                                                           \
            LOOPS(type, uint8_t, u >= v)                                                           \
        default:                                                                                   \
            return;                                                                                \
        }                                                                                          \
    }
FLOAT_OPS(f32, float, fmodf, powf)
FLOAT_OPS(f64, double, fmod, pow)

/*
 * Integers wrap: sums are taken without sign. Division by zero gives 0. `wide` holds every value
 * of `type` and -1 where it has a sign; `bits` is its unsigned twin, at least as wide as int.
 */
#define INTEGER_OPS(name, type, bits, is_signed)                                                   \
    static type div_##name(type u, type v)                                                         \
    {                                                                                              \
        if (v == 0)                                                                                \
            return 0;                                                                              \
        return is_signed && v == (type)-1 ? (type)(0 - (bits)u) : (type)(u / v);                   \
    }                                                                                              \
    static type rem_##name(type u, type v)                                                         \
    {                                                                                              \
        return v == 0 || (is_signed && v == (type)-1) ? 0 : (type)(u % v);                         \
    }                                                                                              \
    static type mod_##name(type u, type v)                                                         \
    {                                                                                              \
        const type r = rem_##name(u, v);                                                           \
        return is_signed && r != 0 && (r < 1) != (v < 1) ? (type)(r + v) : r;                      \
    }                                                                                              \
    static void stretch_##name(enum vt_binary op, const void *const *in, const int64_t *step,      \
                               void *out, int64_t n)                                               \
    {                                                                                              \
        const unsigned width = 8 * (unsigned)sizeof(type);                                         \
        switch (op) {                                                                              \
        case VT_BINARY_ADD:                                                                        \
            LOOPS(type, type, (bits)u + (bits)v)                                                   \
        case VT_BINARY_SUB:                                                                        \
            LOOPS(type, type, (bits)u - (bits)v)                                                   \
        case VT_BINARY_MUL:                                                                        \
            LOOPS(type, type, (bits)u *(bits)v)                                                    \
        case VT_BINARY_DIV:                                                                        \
            LOOPS(type, type, div_##name(u, v))                                                    \
        case VT_BINARY_MAX:                                                                        \
            LOOPS(type, type, u > v ? u : v)                                                       \
        case VT_BINARY_MIN:                                                                        \
            LOOPS(type, type, u < v ? u : v)                                                       \
        case VT_BINARY_MOD:                                                                        \
            LOOPS(type, type, mod_##name(u, v))                                                    \
        case VT_BINARY_FMOD:                                                                       \
            LOOPS(type, type, rem_##name(u, v))                                                    \
        case VT_BINARY_PRELU:                                                                      \
            LOOPS(type, type, u < 1 && u != 0 ? (bits)u * (bits)v : (bits)u)                       \
        case VT_BINARY_EQUAL:                                                                      \
            LOOPS(type, uint8_t, u == v)                                                           \
        case VT_BINARY_LESS:                                                                       \
            LOOPS(type, uint8_t, u < v)                                                            \
        case VT_BINARY_LESS_OR_EQUAL:                                                              \
            LOOPS(type, uint8_t, u <= v)                                                           \
        case VT_BINARY_GREATER:                                                                    \
            LOOPS(type, uint8_t, u > v)                                                            \
        case VT_BINARY_GREATER_OR_EQUAL:                                                           \
            LOOPS(type, uint8_t, u >= v)                                                           \
        case VT_BINARY_SHIFT_LEFT:                                                                 \
            LOOPS(type, type, (bits)v >= width ? 0 : (bits)u << (bits)v)                           \
        case VT_BINARY_SHIFT_RIGHT:                                                                \
            LOOPS(type, type, (bits)v >= width ? 0 : (bits)u >> (bits)v)                           \
        case VT_BINARY_BIT_AND:                                                                    \
            LOOPS(type, type, u &v)                                                                \
        case VT_BINARY_BIT_OR:                                                                     \
            LOOPS(type, type, u | v)                                                               \
        case VT_BINARY_BIT_XOR:                                                                    \
            LOOPS(type, type, u ^ v)                                                               \
        default:                                                                                   \
            return;                                                                                \
        }                                                                                          \
    }
INTEGER_OPS(i8, int8_t, uint32_t, 1)
INTEGER_OPS(i16, int16_t, uint32_t, 1)
INTEGER_OPS(i32, int32_t, uint32_t, 1)
INTEGER_OPS(i64, int64_t, uint64_t, 1)
INTEGER_OPS(u8, uint8_t, uint32_t, 0)
INTEGER_OPS(u16, uint16_t, uint32_t, 0)
INTEGER_OPS(u32, uint32_t, uint32_t, 0)
INTEGER_OPS(u64, uint64_t, uint64_t, 0)

static void stretch_bool(enum vt_binary op, const void *const *in, const int64_t *step, void *out,
                         int64_t n)
{
    switch (op) {
    case VT_BINARY_AND:
        LOOPS(uint8_t, uint8_t, u && v)
    case VT_BINARY_OR:
        LOOPS(uint8_t, uint8_t, u || v)
    case VT_BINARY_XOR:
        LOOPS(uint8_t, uint8_t, !u != !v)
    case VT_BINARY_EQUAL:
        LOOPS(uint8_t, uint8_t, !u == !v)
    default:
        return;
    }
}

/* Powers of mixed types, through double. */
static void stretch_pow(const struct kind *kind, const void *const *in, const int64_t *step,
                        void *out, int64_t n)
{
    const int64_t a_bytes = (int64_t)vt_dtype_bytes(kind->a);
    const int64_t b_bytes = (int64_t)vt_dtype_bytes(kind->b);
    for (int64_t i = 0; i < n; i++) {
        double u = 0, v = 0;
        vt_convert(kind->a, (const char *)in[0] + i * step[0] * a_bytes, VT_F64, &u, 1);
        vt_convert(kind->b, (const char *)in[1] + i * step[1] * b_bytes, VT_F64, &v, 1);
        u = pow(u, v);
        vt_convert(VT_F64, &u, kind->a, (char *)out + i * a_bytes, 1);
    }
}

#define TYPES(X)                                                                                   \
    X(VT_F32, f32)                                                                                 \
    X(VT_F64, f64)                                                                                 \
    X(VT_I8, i8)                                                                                   \
    X(VT_I16, i16)                                                                                 \
    X(VT_I32, i32)                                                                                 \
    X(VT_I64, i64)                                                                                 \
    X(VT_U8, u8)                                                                                   \
    X(VT_U16, u16)                                                                                 \
    X(VT_U32, u32)                                                                                 \
    X(VT_U64, u64)                                                                                 \
    X(VT_BOOL, bool)

static void stretch(const void *ctx, const void *const *in, const int64_t *step, void *out,
                    int64_t n)
{
    const struct kind *kind = ctx;
    const bool is_float = kind->a == VT_F32 || kind->a == VT_F64;
    if (kind->op == VT_BINARY_POW && (kind->a != kind->b || !is_float)) {
        stretch_pow(kind, in, step, out, n);
        return;
    }
    switch (kind->a) {
#define CASE(dtype, name)                                                                          \
    case dtype:                                                                                    \
        stretch_##name(kind->op, in, step, out, n);                                                \
        return;
        TYPES(CASE)
#undef CASE
    default:
        return;
    }
}

bool vt_binary_knows(enum vt_binary op, enum vt_dtype a_dtype, enum vt_dtype b_dtype)
{
    const bool is_float = a_dtype == VT_F32 || a_dtype == VT_F64;
    bool known = false;
    switch (a_dtype) {
#define CASE(dtype, name) case dtype:
        TYPES(CASE)
#undef CASE
        known = true;
        break;
    default:
        break;
    }
    if (!known) {
        return false;
    }
    if (op == VT_BINARY_POW) {
        return a_dtype != VT_BOOL && b_dtype != VT_BOOL && vt_convert_knows(b_dtype);
    }
    if (a_dtype != b_dtype) {
        return false;
    }
    if (a_dtype == VT_BOOL) {
        return op == VT_BINARY_EQUAL || (op >= VT_BINARY_AND && op <= VT_BINARY_XOR);
    }
    return is_float ? op < VT_BINARY_AND : op < VT_BINARY_AND || op > VT_BINARY_XOR;
}

void vt_binary_run(enum vt_binary op, enum vt_dtype a_dtype, enum vt_dtype b_dtype,
                   const struct vt_broadcast *b, const void *const *inputs, void *out,
                   struct vt_pool *pool)
{
    const struct kind kind = {op, a_dtype, b_dtype};
    const bool to_bool = op >= VT_BINARY_EQUAL && op <= VT_BINARY_XOR;
    const struct vt_walk walk = {b,
                                 inputs,
                                 {vt_dtype_bytes(a_dtype), vt_dtype_bytes(b_dtype), 0},
                                 to_bool ? 1 : vt_dtype_bytes(a_dtype),
                                 out,
                                 stretch,
                                 &kind};
    vt_walk_run(&walk, pool);
}
