/* SPDX-License-Identifier: Apache-2.0 */
#include "zoo/random.h"

/* The mixing function of SplitMix64 (Steele, Lea and Flood, 2014) over a counter. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t draw(uint64_t key, uint64_t at)
{
    return mix(key + (at + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t vt_zoo_key(uint64_t seed, const char *name)
{
    /* FNV-1a, then mixed with the seed. */
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (const char *at = name; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    return mix(hash ^ mix(seed + UINT64_C(0x9e3779b97f4a7c15)));
}

/* The sum of four numbers of 16 bits is near enough to normal: mean 131070 and this deviation,
 * the root of 4 (65536^2 - 1) / 12. */
#define SUM_MEAN      131070
#define SUM_DEVIATION 37837.2271249

static void fill_normal(const struct vt_zoo_random *random, uint64_t first, size_t n, float *ret)
{
    const double step = random->b / SUM_DEVIATION;

    for (size_t i = 0; i < n; i++) {
        uint64_t x = draw(random->key, first + i);
        int32_t sum = (int32_t)((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48));
        ret[i] = (float)(random->a + step * (double)(sum - SUM_MEAN));
    }
}

static void fill_uniform(const struct vt_zoo_random *random, uint64_t first, size_t n, float *ret)
{
    const double width = random->b - random->a;

    for (size_t i = 0; i < n; i++) {
        ret[i] =
            (float)(random->a + width * ((double)(draw(random->key, first + i) >> 40) * 0x1p-24));
    }
}

void vt_zoo_random_fill(const void *ctx, uint64_t first, size_t n, void *ret)
{
    const struct vt_zoo_random *random = ctx;

    if (random->kind == VT_ZOO_NORMAL) {
        fill_normal(random, first, n, ret);
    } else {
        fill_uniform(random, first, n, ret);
    }
}
