/* SPDX-License-Identifier: Apache-2.0 */
#include "load/log_sampler.h"

/* std::mt19937's default seed. */
#define DEFAULT_SEED 5489
/* Words that one sample takes from the stream. */
#define WORDS 2

bool vt_log_sampler_wanted(const struct vt_load_settings *settings)
{
    return settings->accuracy_log_probability > 0 || settings->accuracy_log_sampling_target > 0;
}

void vt_log_sampler_seed(struct vt_mt19937 *ret_stream)
{
    vt_mt19937_seed(ret_stream, DEFAULT_SEED);
}

/* The samples that a run of min_duration would issue, LoadGen's arithmetic. */
static uint64_t expected_samples(const struct vt_load_settings *s,
                                 const struct vt_load_effective *e)
{
    double n = e->target_qps * ((double)s->min_duration_ns / 1e6) / 1000;
    uint64_t expected = n < 0x1p62 ? (uint64_t)n : UINT64_C(1) << 62;
    uint64_t minimum = e->min_query_count * e->samples_per_query;
    if (s->scenario == VT_OFFLINE) {
        minimum = e->min_sample_count;
    } else if (__builtin_mul_overflow(expected, e->samples_per_query, &expected)) {
        expected = UINT64_MAX;
    }
    return expected < minimum ? minimum : expected;
}

void vt_log_sampler_init(struct vt_log_sampler *sampler, const struct vt_load_settings *settings,
                         const struct vt_load_effective *effective, const struct vt_mt19937 *stream)
{
    *sampler = (struct vt_log_sampler){
        .on = settings->mode == VT_PERFORMANCE && vt_log_sampler_wanted(settings),
        .probability = settings->accuracy_log_probability,
    };
    if (!sampler->on) {
        return;
    }
    if (settings->accuracy_log_sampling_target > 0) {
        sampler->probability = (double)settings->accuracy_log_sampling_target /
                               (double)expected_samples(settings, effective);
    }
    struct vt_mt19937 offset;
    vt_mt19937_seed(&offset, settings->accuracy_log_rng_seed);
    sampler->offset = vt_rng_canonical(&offset);
    sampler->rng = *stream;
}

bool vt_log_sampler_next(struct vt_log_sampler *sampler)
{
    double v = vt_rng_canonical(&sampler->rng) + sampler->offset;
    return (v < 1.0 ? v : v - 1.0) <= sampler->probability;
}

void vt_log_sampler_skip(struct vt_mt19937 *stream, uint64_t n)
{
    for (uint64_t i = 0; i < WORDS * n; i++) {
        (void)vt_mt19937_next(stream);
    }
}
