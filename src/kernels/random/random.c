/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/random/random.h"

#include <math.h>
#include <stddef.h>

#include "kernels/convert/convert.h"

#define CHUNK 256

/* The finaliser of SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t vt_random_key(uint64_t seed, uint64_t stream)
{
    return mix(mix(seed) + stream * UINT64_C(0x9e3779b97f4a7c15) + 1);
}

static uint64_t bits_at(uint64_t key, uint64_t i)
{
    return mix(key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

double vt_random_uniform(uint64_t key, int64_t i)
{
    return (double)(bits_at(key, (uint64_t)i) >> 11) * 0x1p-53;
}

double vt_random_normal(uint64_t key, int64_t i)
{
    /* Two uniform numbers make two normal ones: a pair shares them. */
    const int64_t pair = i & ~INT64_C(1);
    const double radius = sqrt(-2 * log(1 - vt_random_uniform(key, pair)));
    const double angle = 2 * 3.14159265358979323846 * vt_random_uniform(key, pair + 1);
    return radius * ((i & 1) == 0 ? cos(angle) : sin(angle));
}

struct job {
    const struct vt_random *r;
    const void *p;
    void *y;
};

static double draw(const struct vt_random *r, double p, int64_t i)
{
    switch (r->kind) {
    case VT_RANDOM_UNIFORM:
        return r->a + (r->b - r->a) * vt_random_uniform(r->key, i);
    case VT_RANDOM_NORMAL:
        return r->a + r->b * vt_random_normal(r->key, i);
    case VT_RANDOM_BERNOULLI:
        break;
    }
    return vt_random_uniform(r->key, i) < p ? 1 : 0;
}

static void run_range(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_random *r = job->r;
    double numbers[CHUNK] = {0}, p[CHUNK] = {0};
    (void)worker;
    for (int64_t at = begin; at < end; at += CHUNK) {
        const int64_t n = end - at < CHUNK ? end - at : CHUNK;
        if (job->p != NULL) {
            vt_convert(r->p_dtype, (const char *)job->p + at * (int64_t)vt_dtype_bytes(r->p_dtype),
                       VT_F64, p, n);
        }
        for (int64_t i = 0; i < n; i++) {
            numbers[i] = draw(r, p[i], at + i);
        }
        vt_convert(VT_F64, numbers, r->dtype,
                   (char *)job->y + at * (int64_t)vt_dtype_bytes(r->dtype), n);
    }
}

void vt_random_run(const struct vt_random *r, const void *p, void *y, int64_t n,
                   struct vt_pool *pool)
{
    struct job job = {r, p, y};
    if (n > 0) {
        vt_pool_run(pool, n, 16 * (int64_t)CHUNK, run_range, &job);
    }
}

void vt_multinomial_run(uint64_t key, int64_t batch, int64_t classes, int64_t n, const float *x,
                        enum vt_dtype dtype, void *y)
{
    for (int64_t b = 0; b < batch; b++) {
        const float *row = x + b * classes;
        double sum = 0, most = -(double)INFINITY;
        for (int64_t c = 0; c < classes; c++) {
            most = (double)row[c] > most ? (double)row[c] : most;
        }
        for (int64_t c = 0; c < classes; c++) {
            sum += exp((double)row[c] - most);
        }
        for (int64_t i = b * n; i < (b + 1) * n; i++) {
            double left = vt_random_uniform(key, i) * sum;
            int64_t chosen = 0;
            for (; chosen + 1 < classes; chosen++) {
                left -= exp((double)row[chosen] - most);
                if (left < 0) {
                    break;
                }
            }
            if (dtype == VT_I64) {
                ((int64_t *)y)[i] = chosen;
            } else {
                ((int32_t *)y)[i] = (int32_t)chosen;
            }
        }
    }
}
