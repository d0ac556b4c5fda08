/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elementwise/elementwise.h"

#include <math.h>

#include "base/topology.h"
#include "kernels/elementwise/unary_ways.h"

#define GRAIN 16384

/* The activations of neural networks. */
static double activation_f64(const struct vt_unary_params *p, double v)
{
    const double alpha = p->alpha, beta = p->beta;
    switch (p->op) {
    case VT_UNARY_SIGMOID:
        return 1 / (1 + exp(-v));
    case VT_UNARY_LEAKY_RELU:
        return v < 0 ? alpha * v : v;
    case VT_UNARY_ELU:
        return v < 0 ? alpha * expm1(v) : v;
    case VT_UNARY_SELU:
        return beta * (v > 0 ? v : alpha * expm1(v));
    case VT_UNARY_CELU:
        return v < 0 ? alpha * expm1(v / alpha) : v;
    case VT_UNARY_HARD_SIGMOID:
        return fmin(fmax(alpha * v + beta, 0), 1);
    case VT_UNARY_HARD_SWISH:
        return v * fmin(fmax(v / 6 + 0.5, 0), 1);
    case VT_UNARY_SOFTPLUS:
        return (v > 0 ? v : 0) + log1p(exp(-fabs(v)));
    case VT_UNARY_SOFTSIGN:
        return v / (1 + fabs(v));
    case VT_UNARY_THRESHOLDED_RELU:
        return v > alpha ? v : 0;
    case VT_UNARY_SHRINK:
        return v < -alpha ? v + beta : (v > alpha ? v - beta : 0);
    case VT_UNARY_MISH:
        return v * tanh((v > 0 ? v : 0) + log1p(exp(-fabs(v))));
    case VT_UNARY_GELU:
        return 0.5 * v * (1 + erf(v * 0.70710678118654752));
    case VT_UNARY_SWISH:
        return v / (1 + exp(-alpha * v));
    case VT_UNARY_GELU_TANH:
        return 0.5 * v * (1 + tanh(0.79788456080286536 * (v + 0.044715 * v * v * v)));
    default:
        return v;
    }
}

static double unary_f64(const struct vt_unary_params *p, double v)
{
    const double alpha = p->alpha, beta = p->beta;
    switch (p->op) {
    case VT_UNARY_ABS:
        return fabs(v);
    case VT_UNARY_NEG:
        return -v;
    case VT_UNARY_SIGN:
        return (v > 0) - (v < 0);
    case VT_UNARY_RELU:
        return v < 0 ? 0 : v;
    case VT_UNARY_CLIP:
        v = v < alpha ? alpha : v;
        return v > beta ? beta : v;
    case VT_UNARY_BIT_NOT:
        return v;
    case VT_UNARY_EXP:
        return exp(v);
    case VT_UNARY_LOG:
        return log(v);
    case VT_UNARY_SQRT:
        return sqrt(v);
    case VT_UNARY_RECIPROCAL:
        return 1 / v;
    case VT_UNARY_FLOOR:
        return floor(v);
    case VT_UNARY_CEIL:
        return ceil(v);
    case VT_UNARY_ROUND:
        return rint(v);
    case VT_UNARY_SIN:
        return sin(v);
    case VT_UNARY_COS:
        return cos(v);
    case VT_UNARY_TAN:
        return tan(v);
    case VT_UNARY_ASIN:
        return asin(v);
    case VT_UNARY_ACOS:
        return acos(v);
    case VT_UNARY_ATAN:
        return atan(v);
    case VT_UNARY_SINH:
        return sinh(v);
    case VT_UNARY_COSH:
        return cosh(v);
    case VT_UNARY_TANH:
        return tanh(v);
    case VT_UNARY_ASINH:
        return asinh(v);
    case VT_UNARY_ACOSH:
        return acosh(v);
    case VT_UNARY_ATANH:
        return atanh(v);
    case VT_UNARY_ERF:
        return erf(v);
    default:
        return activation_f64(p, v);
    }
}

/* Arithmetic on the unsigned bits, so that the most negative number wraps. */
static int64_t unary_i64(const struct vt_unary_params *p, int64_t v)
{
    switch (p->op) {
    case VT_UNARY_ABS:
        return v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
    case VT_UNARY_NEG:
        return (int64_t)(0 - (uint64_t)v);
    case VT_UNARY_SIGN:
        return (v > 0) - (v < 0);
    case VT_UNARY_RELU:
        return v < 0 ? 0 : v;
    case VT_UNARY_CLIP:
        v = v < p->lower ? p->lower : v;
        return v > p->upper ? p->upper : v;
    case VT_UNARY_BIT_NOT:
        return ~v;
    default:
        return v;
    }
}

static uint64_t unary_u64(const struct vt_unary_params *p, uint64_t v)
{
    switch (p->op) {
    case VT_UNARY_SIGN:
        return v != 0;
    case VT_UNARY_CLIP:
        v = p->lower > 0 && v < (uint64_t)p->lower ? (uint64_t)p->lower : v;
        return v > p->upper_u ? p->upper_u : v;
    case VT_UNARY_BIT_NOT:
        return ~v;
    default:
        return v;
    }
}

struct job {
    const struct vt_unary_params *params;
    enum vt_dtype dtype;
    const void *x;
    void *y;
};

static void run_range(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_unary_params *p = job->params;
    (void)worker;
#define EACH(dtype, type, function)                                                                \
    case dtype: {                                                                                  \
        const type *x = job->x;                                                                    \
        type *y = job->y;                                                                          \
        for (int64_t i = begin; i < end; i++)                                                      \
            y[i] = (type)function(p, x[i]);                                                        \
        return;                                                                                    \
    }
    switch (job->dtype) {
    case VT_F32: {
        const float *x = (const float *)job->x + begin;
        float *y = (float *)job->y + begin;
#if defined(__x86_64__)
        if (vt_topology()->features & VT_CPU_AVX512) {
            vt_f32_unary__avx512(p, x, y, end - begin);
            return;
        }
        if (vt_topology()->features & VT_CPU_AVX2) {
            vt_f32_unary__avx2(p, x, y, end - begin);
            return;
        }
#endif
        vt_f32_unary__portable(p, x, y, end - begin);
        return;
    }
        EACH(VT_F64, double, unary_f64)
        EACH(VT_I8, int8_t, unary_i64)
        EACH(VT_I16, int16_t, unary_i64)
        EACH(VT_I32, int32_t, unary_i64)
        EACH(VT_I64, int64_t, unary_i64)
        EACH(VT_U8, uint8_t, unary_u64)
        EACH(VT_U16, uint16_t, unary_u64)
        EACH(VT_U32, uint32_t, unary_u64)
        EACH(VT_U64, uint64_t, unary_u64)
    default:
        return;
    }
#undef EACH
}

bool vt_unary_knows(enum vt_unary op, enum vt_dtype dtype)
{
    switch (dtype) {
    case VT_F32:
    case VT_F64:
        return op != VT_UNARY_BIT_NOT;
    case VT_I8:
    case VT_I16:
    case VT_I32:
    case VT_I64:
        return op <= VT_UNARY_BIT_NOT;
    case VT_U8:
    case VT_U16:
    case VT_U32:
    case VT_U64:
        return op <= VT_UNARY_BIT_NOT && op != VT_UNARY_NEG;
    default:
        return false;
    }
}

void vt_unary_run(const struct vt_unary_params *params, enum vt_dtype dtype, const void *x, void *y,
                  int64_t n, struct vt_pool *pool)
{
    struct job job = {params, dtype, x, y};
    vt_pool_run(pool, n, GRAIN, run_range, &job);
}

void vt_not_run(const uint8_t *x, uint8_t *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] == 0;
    }
}
