/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/quant/bytes.h"

#include "base/topology.h"
#include "kernels/quant/bytes_ways.h"

/* Elements a work item covers: worth a draw, and small enough for the caches. */
#define GRAIN 16384

static const struct vt_bytes_way *way(void)
{
#if defined(__x86_64__)
    const uint32_t features = vt_topology()->features;
    if (features & VT_CPU_AVX512) {
        return &vt_bytes_way_avx512;
    }
    if (features & VT_CPU_AVX2) {
        return &vt_bytes_way_avx2;
    }
#endif
    return &vt_bytes_way_portable;
}

struct job {
    const struct vt_bytes_way *way;
    const struct vt_byte_scale *scale;
    const struct vt_byte_sum *sum;
    const char *x, *b;
    char *y;
};

static void quantize_part(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    (void)worker;
    job->way->quantize(job->scale, (const float *)(const void *)job->x + begin, end - begin,
                       job->y + begin);
}

static void dequantize_part(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    (void)worker;
    job->way->dequantize(job->scale, job->x + begin, end - begin, (float *)(void *)job->y + begin);
}

static void add_part(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    (void)worker;
    job->way->add(job->sum, job->x + begin, job->b + begin, end - begin, job->y + begin);
}

void vt_bytes_quantize(const struct vt_byte_scale *s, const float *x, int64_t n, void *y,
                       struct vt_pool *pool)
{
    struct job job = {way(), s, NULL, (const char *)x, NULL, y};
    if (n > 0) {
        vt_pool_run(pool, n, GRAIN, quantize_part, &job);
    }
}

void vt_bytes_dequantize(const struct vt_byte_scale *s, const void *x, int64_t n, float *y,
                         struct vt_pool *pool)
{
    struct job job = {way(), s, NULL, x, NULL, (char *)y};
    if (n > 0) {
        vt_pool_run(pool, n, GRAIN, dequantize_part, &job);
    }
}

void vt_bytes_add(const struct vt_byte_sum *s, const void *a, const void *b, int64_t n, void *y,
                  struct vt_pool *pool)
{
    struct job job = {way(), NULL, s, a, b, y};
    if (n > 0) {
        vt_pool_run(pool, n, GRAIN, add_part, &job);
    }
}
