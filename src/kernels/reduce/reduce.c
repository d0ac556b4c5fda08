/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/reduce/reduce.h"

#include <math.h>

#define LANES 16

bool vt_reduce_knows(enum vt_dtype dtype)
{
    switch (dtype) {
    case VT_F32:
    case VT_F64:
    case VT_I8:
    case VT_I16:
    case VT_I32:
    case VT_I64:
    case VT_U8:
    case VT_U16:
    case VT_U32:
    case VT_U64:
        return true;
    default:
        return false;
    }
}

static void push(int64_t *dim, int64_t *step, uint32_t *n, int64_t extent, int64_t stride,
                 bool joins)
{
    if (joins && *n > 0) {
        dim[*n - 1] *= extent;
        step[*n - 1] = stride;
        return;
    }
    dim[*n] = extent;
    step[(*n)++] = stride;
}

void vt_reduce_init(struct vt_reduce *reduce, const int64_t *dim, uint32_t rank, uint32_t axes)
{
    int64_t step[VT_RANK_MAX], running = 1;
    for (uint32_t i = rank; i-- > 0;) {
        step[i] = running;
        running *= dim[i];
    }
    reduce->n_kept = reduce->n_summed = 0;
    for (uint32_t i = 0; i < rank; i++) {
        const bool summed = axes >> i & 1;
        const bool joins = i > 0 && (axes >> (i - 1) & 1) == summed;
        if (summed) {
            push(reduce->summed, reduce->summed_step, &reduce->n_summed, dim[i], step[i], joins);
        } else {
            push(reduce->kept, reduce->kept_step, &reduce->n_kept, dim[i], step[i], joins);
        }
    }
}

struct job {
    const struct vt_reduce *r;
    const void *x;
    void *y;
    int64_t rows, row, row_step; /* the last summed extent is a row */
};

static int64_t offset_of(int64_t index, uint32_t n, const int64_t *dim, const int64_t *step)
{
    int64_t offset = 0;
    for (uint32_t i = n; i-- > 0;) {
        offset += index % dim[i] * step[i];
        index /= dim[i];
    }
    return offset;
}

static double start_of(enum vt_reduction kind)
{
    switch (kind) {
    case VT_REDUCE_MAX:
        return -(double)INFINITY;
    case VT_REDUCE_MIN:
        return (double)INFINITY;
    case VT_REDUCE_PROD:
        return 1;
    default:
        return 0;
    }
}

static inline double step_of(enum vt_reduction kind, double sum, double v, double max)
{
    switch (kind) {
    case VT_REDUCE_MAX:
        return v > sum || v != v ? v : sum;
    case VT_REDUCE_MIN:
        return v < sum || v != v ? v : sum;
    case VT_REDUCE_PROD:
        return sum * v;
    case VT_REDUCE_L1:
        return sum + fabs(v);
    case VT_REDUCE_L2:
    case VT_REDUCE_SUM_SQUARE:
        return sum + v * v;
    case VT_REDUCE_LOG_SUM_EXP:
        return sum + exp(v - max);
    default:
        return sum + v;
    }
}

static double end_of(enum vt_reduction kind, double sum, double n, double max)
{
    switch (kind) {
    case VT_REDUCE_MEAN:
        return sum / n;
    case VT_REDUCE_L2:
        return sqrt(sum);
    case VT_REDUCE_LOG_SUM:
        return log(sum);
    case VT_REDUCE_LOG_SUM_EXP:
        return log(sum) + max;
    default:
        return sum;
    }
}

/* The sum of a contiguous row, in lanes that become vector code. */
static double sum_row(const float *x, int64_t n)
{
    float lane[LANES] = {0};
    double sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            lane[j] += x[i + j];
        }
    }
    for (int j = 0; j < LANES; j++) {
        sum += (double)lane[j];
    }
    for (; i < n; i++) {
        sum += (double)x[i];
    }
    return sum;
}

#define FLOAT(name, type)                                                                          \
    static double pass_##name(const struct job *job, enum vt_reduction kind, const type *x,        \
                              double max)                                                          \
    {                                                                                              \
        const struct vt_reduce *r = job->r;                                                        \
        double sum = start_of(kind);                                                               \
        for (int64_t row = 0; row < job->rows; row++) {                                            \
            const type *at =                                                                       \
                x + (r->n_summed > 1 ? offset_of(row, r->n_summed - 1, r->summed, r->summed_step)  \
                                     : 0);                                                         \
            for (int64_t i = 0; i < job->row; i++)                                                 \
                sum = step_of(kind, sum, (double)at[i * job->row_step], max);                      \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void output_##name(const struct job *job, int64_t o)                                    \
    {                                                                                              \
        const struct vt_reduce *r = job->r;                                                        \
        const type *x = (const type *)job->x + offset_of(o, r->n_kept, r->kept, r->kept_step);     \
        double max = 0;                                                                            \
        if (r->kind == VT_REDUCE_LOG_SUM_EXP) {                                                    \
            max = pass_##name(job, VT_REDUCE_MAX, x, 0);                                           \
            max = isfinite(max) ? max : 0;                                                         \
        }                                                                                          \
        const double sum = pass_##name(job, r->kind, x, max);                                      \
        ((type *)job->y)[o] =                                                                      \
            (type)end_of(r->kind, sum, (double)job->rows * (double)job->row, max);                 \
    }
FLOAT(f32, float)
FLOAT(f64, double)

/* Cut to an integer; what has no place in the type becomes the nearest that has. */
static int64_t cut_i64(double value)
{
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

static uint64_t cut_u64(double value)
{
    return value >= 0x1p64 ? UINT64_MAX : value <= 0 ? 0 : (uint64_t)value;
}

/* Integers: sums wrap, means are cut to integers, roots and logarithms go through double. */
#define INTEGER(name, type, wide, unsigned_wide, cut)                                              \
    static double largest_##name(const struct job *job, const type *x)                             \
    {                                                                                              \
        const struct vt_reduce *r = job->r;                                                        \
        double largest = -HUGE_VAL;                                                                \
        for (int64_t i = 0; i < job->rows * job->row; i++)                                         \
            largest =                                                                              \
                fmax(largest, (double)x[offset_of(i, r->n_summed, r->summed, r->summed_step)]);    \
        return largest;                                                                            \
    }                                                                                              \
    static void output_##name(const struct job *job, int64_t o)                                    \
    {                                                                                              \
        const struct vt_reduce *r = job->r;                                                        \
        const type *x = (const type *)job->x + offset_of(o, r->n_kept, r->kept, r->kept_step);     \
        const double largest = r->kind == VT_REDUCE_LOG_SUM_EXP ? largest_##name(job, x) : 0;      \
        wide sum = r->kind == VT_REDUCE_PROD;                                                      \
        double real = 0;                                                                           \
        bool first = true;                                                                         \
        for (int64_t i = 0; i < job->rows * job->row; i++) {                                       \
            const wide v = x[offset_of(i, r->n_summed, r->summed, r->summed_step)];                \
            const bool better = first || (r->kind == VT_REDUCE_MAX ? v > sum : v < sum);           \
            first = false;                                                                         \
            if (r->kind == VT_REDUCE_MAX || r->kind == VT_REDUCE_MIN)                              \
                sum = better ? v : sum;                                                            \
            else if (r->kind == VT_REDUCE_PROD)                                                    \
                sum = (wide)((unsigned_wide)sum * (unsigned_wide)v);                               \
            else if (r->kind == VT_REDUCE_L2 || r->kind == VT_REDUCE_SUM_SQUARE)                   \
                sum = (wide)((unsigned_wide)sum + (unsigned_wide)v * (unsigned_wide)v);            \
            else if (r->kind == VT_REDUCE_L1)                                                      \
                sum = (wide)((unsigned_wide)sum +                                                  \
                             (v < 1 ? 0 - (unsigned_wide)v : (unsigned_wide)v));                   \
            else                                                                                   \
                sum = (wide)((unsigned_wide)sum + (unsigned_wide)v);                               \
            real += r->kind == VT_REDUCE_LOG_SUM_EXP ? exp((double)v - largest) : (double)v;       \
        }                                                                                          \
        if (r->kind == VT_REDUCE_MEAN && job->rows * job->row > 0)                                 \
            sum /= (wide)(job->rows * job->row);                                                   \
        else if (r->kind == VT_REDUCE_L2)                                                          \
            sum = sum > 0 ? (wide)sqrt((double)sum) : 0; /* a sum that wrapped has none */         \
        else if (r->kind == VT_REDUCE_LOG_SUM)                                                     \
            sum = real > 1 ? (wide)log(real) : 0;                                                  \
        else if (r->kind == VT_REDUCE_LOG_SUM_EXP)                                                 \
            sum = real > 0 ? cut(largest + log(real)) : 0;                                         \
        ((type *)job->y)[o] = (type)sum;                                                           \
    }
INTEGER(i8, int8_t, int64_t, uint64_t, cut_i64)
INTEGER(i16, int16_t, int64_t, uint64_t, cut_i64)
INTEGER(i32, int32_t, int64_t, uint64_t, cut_i64)
INTEGER(i64, int64_t, int64_t, uint64_t, cut_i64)
INTEGER(u8, uint8_t, uint64_t, uint64_t, cut_u64)
INTEGER(u16, uint16_t, uint64_t, uint64_t, cut_u64)
INTEGER(u32, uint32_t, uint64_t, uint64_t, cut_u64)
INTEGER(u64, uint64_t, uint64_t, uint64_t, cut_u64)

static void run_outputs(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_reduce *r = job->r;
    const bool rows = r->dtype == VT_F32 && r->n_summed == 1 && job->row_step == 1 &&
                      (r->kind == VT_REDUCE_SUM || r->kind == VT_REDUCE_MEAN);
    (void)worker;
    for (int64_t o = begin; o < end; o++) {
        if (rows) {
            const float *x = (const float *)job->x + offset_of(o, r->n_kept, r->kept, r->kept_step);
            const double sum = sum_row(x, job->row);
            ((float *)job->y)[o] =
                (float)(r->kind == VT_REDUCE_MEAN ? sum / (double)job->row : sum);
            continue;
        }
        switch (r->dtype) {
#define CASE(dtype, name)                                                                          \
    case dtype:                                                                                    \
        output_##name(job, o);                                                                     \
        break;
            CASE(VT_F32, f32)
            CASE(VT_F64, f64)
            CASE(VT_I8, i8)
            CASE(VT_I16, i16)
            CASE(VT_I32, i32)
            CASE(VT_I64, i64)
            CASE(VT_U8, u8)
            CASE(VT_U16, u16)
            CASE(VT_U32, u32)
            CASE(VT_U64, u64)
#undef CASE
        default:
            break;
        }
    }
}

void vt_reduce_run(const struct vt_reduce *reduce, const void *x, void *y, struct vt_pool *pool)
{
    struct job job = {.r = reduce, .x = x, .y = y, .rows = 1, .row = 1, .row_step = 1};
    int64_t outputs = 1;
    for (uint32_t i = 0; i < reduce->n_kept; i++) {
        outputs *= reduce->kept[i];
    }
    if (reduce->n_summed > 0) {
        const uint32_t last = reduce->n_summed - 1;
        job.row = reduce->summed[last];
        job.row_step = reduce->summed_step[last];
        for (uint32_t i = 0; i < last; i++) {
            job.rows *= reduce->summed[i];
        }
    }
    if (outputs > 0) {
        vt_pool_run(pool, outputs, 1 + 8192 / (job.rows * job.row + 1), run_outputs, &job);
    }
}
