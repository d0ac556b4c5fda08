/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/element.h"

#include <math.h>
#include <string.h>

bool vt_element_is_integer(enum vt_dtype dtype)
{
    switch (dtype) {
    case VT_U8:
    case VT_I8:
    case VT_U16:
    case VT_I16:
    case VT_I32:
    case VT_I64:
    case VT_U32:
    case VT_U64:
        return true;
    default:
        return false;
    }
}

bool vt_element_is_real(enum vt_dtype dtype)
{
    return vt_element_is_integer(dtype) || dtype == VT_F32 || dtype == VT_F64 || dtype == VT_F16 ||
           dtype == VT_BF16 || dtype == VT_BOOL;
}

static double half_get(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double value;

    if (exponent == 31) {
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        value = ldexp(fraction, -24);
    } else {
        value = ldexp(1024 + fraction, exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

static uint16_t half_set(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;

    value = fabs(value);
    if (isnan(value)) {
        return 0x7e00;
    }
    if (value == 0) {
        return sign;
    }
    if (value >= 65520) {
        return sign | 0x7c00;
    }
    (void)frexp(value, &exponent);
    /* The exponent of the last bit; subnormal numbers share one. A carry out of the fraction runs
     * into the exponent, as it should. */
    int last = exponent < -13 ? -24 : exponent - 11;
    unsigned fraction = (unsigned)nearbyint(ldexp(value, -last));
    return (uint16_t)(sign | (fraction + (unsigned)(last + 24) * 1024));
}

static double bfloat_get(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static uint16_t bfloat_set(double value)
{
    float narrow = (float)value;
    uint32_t wide;

    memcpy(&wide, &narrow, sizeof wide);
    if (isnan(narrow)) {
        return 0x7fc0;
    }
    return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

/* X(TYPE, C type): the types that C has itself. */
#define PLAIN_MAP(X)                                                                               \
    X(F32, float)                                                                                  \
    X(F64, double)                                                                                 \
    X(U8, uint8_t)                                                                                 \
    X(I8, int8_t)                                                                                  \
    X(U16, uint16_t)                                                                               \
    X(I16, int16_t)                                                                                \
    X(I32, int32_t)                                                                                \
    X(I64, int64_t)                                                                                \
    X(U32, uint32_t)                                                                               \
    X(U64, uint64_t)

double vt_element_get(enum vt_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
#define CASE(name, type)                                                                           \
    case VT_##name:                                                                                \
        return (double)((const type *)data)[i];
        PLAIN_MAP(CASE)
#undef CASE
    case VT_BOOL:
        return ((const uint8_t *)data)[i] != 0;
    case VT_F16:
        return half_get(((const uint16_t *)data)[i]);
    case VT_BF16:
        return bfloat_get(((const uint16_t *)data)[i]);
    default:
        return (double)NAN;
    }
}

void vt_element_set(enum vt_dtype dtype, void *data, size_t i, double value)
{
    switch (dtype) {
#define CASE(name, type)                                                                           \
    case VT_##name:                                                                                \
        ((type *)data)[i] = (type)value;                                                           \
        return;
        PLAIN_MAP(CASE)
#undef CASE
    case VT_BOOL:
        ((uint8_t *)data)[i] = value != 0;
        return;
    case VT_F16:
        ((uint16_t *)data)[i] = half_set(value);
        return;
    case VT_BF16:
        ((uint16_t *)data)[i] = bfloat_set(value);
        return;
    default:
        return;
    }
}
