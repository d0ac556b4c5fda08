/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/signal/signal.h"

#define PI 3.14159265358979323846

/* The largest transform: its table must be a sane allocation, its cost grows with the square. */
#define LENGTH_MAX (INT64_C(1) << 24)

bool vt_fourier_table_size(int64_t length, size_t *ret_bytes)
{
    if (length < 0 || length > LENGTH_MAX) {
        return false;
    }
    *ret_bytes = 2 * (size_t)length * sizeof(double);
    return true;
}

/* cos and sin of 2π·i / length. */
static void fill_table(int64_t length, double *table)
{
    for (int64_t i = 0; i < length; i++) {
        const double angle = 2 * PI * (double)i / (double)length;
        table[2 * i] = cos(angle);
        table[2 * i + 1] = sin(angle);
    }
}

static double number_at(enum vt_dtype dtype, const void *x, int64_t i)
{
    return dtype == VT_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void put_number(enum vt_dtype dtype, void *y, int64_t i, double value)
{
    if (dtype == VT_F64) {
        ((double *)y)[i] = value;
    } else {
        ((float *)y)[i] = (float)value;
    }
}

/* A line of `n` points, the first at element `at`, `step` elements apart. */
struct line {
    enum vt_dtype dtype;
    const void *x, *window;
    int64_t at, step, parts, n, length;
    bool inverse, half;
};

/* Bin k of a line's transform. */
static void transform(const struct line *l, const double *table, int64_t k, double *ret)
{
    const int64_t n = l->n < l->length ? l->n : l->length;
    double real = 0, imaginary = 0;
    int64_t turn = 0; /* k·i modulo the length */
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = l->at + i * l->step;
        double weight = l->window != NULL ? number_at(l->dtype, l->window, i) : 1;
        if (l->half) { /* each stands for its mirror image, too, unless it is its own */
            weight = i == 0 || 2 * i == l->length ? 1 : (2 * i < l->length ? 2 : 0);
        }
        const double a = number_at(l->dtype, l->x, at) * weight;
        const double b = l->parts == 2 ? number_at(l->dtype, l->x, at + 1) * weight : 0;
        const double c = table[2 * turn],
                     s = l->inverse ? table[2 * turn + 1] : -table[2 * turn + 1];
        real += a * c - b * s;
        imaginary += a * s + b * c;
        turn += k;
        turn = turn >= l->length ? turn - l->length : turn;
    }
    ret[0] = real;
    ret[1] = imaginary;
}

void vt_fourier_run(const struct vt_fourier *f, const void *x, void *y, double *table)
{
    struct line line = {.dtype = f->dtype,
                        .x = x,
                        .step = f->inner * f->parts,
                        .parts = f->parts,
                        .n = f->n,
                        .length = f->length,
                        .inverse = f->inverse,
                        .half = f->half};
    const double factor = f->inverse ? 1 / (double)f->length : 1;
    fill_table(f->length, table);
    for (int64_t o = 0; o < f->outer; o++) {
        for (int64_t i = 0; i < f->inner; i++) {
            line.at = (o * f->n * f->inner + i) * f->parts;
            for (int64_t k = 0; k < f->bins; k++) {
                double value[2];
                transform(&line, table, k, value);
                const int64_t to = (o * f->bins + k) * f->inner + i;
                if (f->half) {
                    put_number(f->dtype, y, to, value[0] * factor);
                    continue;
                }
                put_number(f->dtype, y, 2 * to, value[0] * factor);
                put_number(f->dtype, y, 2 * to + 1, value[1] * factor);
            }
        }
    }
}

void vt_frames_run(const struct vt_frames *f, const void *x, const void *window, void *y,
                   double *table)
{
    struct line line = {.dtype = f->dtype,
                        .x = x,
                        .window = window,
                        .step = f->parts,
                        .parts = f->parts,
                        .n = f->length,
                        .length = f->length};
    int64_t to = 0;
    fill_table(f->length, table);
    for (int64_t b = 0; b < f->batch; b++) {
        for (int64_t frame = 0; frame < f->frames; frame++) {
            line.at = (b * f->n + frame * f->step) * f->parts;
            for (int64_t k = 0; k < f->bins; k++) {
                double value[2];
                transform(&line, table, k, value);
                put_number(f->dtype, y, to++, value[0]);
                put_number(f->dtype, y, to++, value[1]);
            }
        }
    }
}
