/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/interaction/interaction.h"

#include <string.h>

#include "base/topology.h"

/* How many samples ahead rows are asked for: they lie anywhere in tables beyond every cache. */
#define AHEAD      2
#define LINE_BYTES 64
#define GRAIN      64

vt_interaction_pairs_func vt_interaction_pairs_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return vt_f32_pairs__avx512;
    }
    if (features & VT_CPU_AVX2) {
        return vt_f32_pairs__avx2;
    }
#else
    (void)features;
#endif
    return vt_f32_pairs__portable;
}

struct job {
    const struct vt_interaction *interaction;
    const struct vt_interaction_feature *features;
    const float *x;
    float *y;
    float *workspace;
};

static int64_t round_up(int64_t x, int64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

static int64_t row_floats(const struct vt_interaction *interaction)
{
    return round_up(interaction->width, VT_INTERACTION_STEPS);
}

static int64_t worker_floats(const struct vt_interaction *interaction)
{
    return round_up(interaction->n_features, VT_INTERACTION_BLOCK) * row_floats(interaction);
}

size_t vt_interaction_workspace_bytes(const struct vt_interaction *interaction, uint32_t threads)
{
    return threads * (size_t)worker_floats(interaction) * sizeof(float);
}

static int64_t place_of(const struct vt_interaction_feature *feature, int64_t sample)
{
    const int64_t place = feature->places == NULL ? sample
                          : feature->places_64    ? ((const int64_t *)feature->places)[sample]
                                                  : ((const int32_t *)feature->places)[sample];
    return place < 0 ? place + feature->n_rows : place;
}

static const float *row_of(const struct job *job, uint32_t feature, int64_t sample)
{
    const struct vt_interaction_feature *f = &job->features[feature];
    return f->rows + place_of(f, sample) * job->interaction->width;
}

static void ask_for(const struct job *job, int64_t sample)
{
    const int64_t bytes = job->interaction->width * (int64_t)sizeof(float);
    for (uint32_t i = 0; i < job->interaction->n_features; i++) {
        const char *row = (const char *)row_of(job, i, sample);
        for (int64_t at = 0; at < bytes; at += LINE_BYTES) {
            __builtin_prefetch(row + at);
        }
    }
}

/* Side by side: each row is used as often as there are blocks, and in as many pages as there are
 * rows that would wait for the translation of addresses. */
static void fetch(const struct job *job, int64_t sample, float *ret_rows)
{
    const int64_t steps = row_floats(job->interaction);
    const size_t bytes = (size_t)job->interaction->width * sizeof(float);
    for (uint32_t i = 0; i < job->interaction->n_features; i++) {
        memcpy(ret_rows + i * steps, row_of(job, i, sample), bytes);
    }
}

static void run_samples(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_interaction *interaction = job->interaction;
    const size_t floats = (size_t)worker_floats(interaction);
    float *rows = job->workspace + worker * floats;
    _Alignas(64) float products[VT_INTERACTION_FEATURES_MAX * VT_INTERACTION_FEATURES_MAX];
    memset(rows, 0, floats * sizeof(float)); /* what fills up the rows */
    for (int64_t s = begin; s < end && s < begin + AHEAD; s++) {
        ask_for(job, s);
    }
    for (int64_t s = begin; s < end; s++) {
        float *y = job->y + s * (interaction->x_width + interaction->n_wanted);
        if (s + AHEAD < end) {
            ask_for(job, s + AHEAD);
        }
        fetch(job, s, rows);
        interaction->pairs(rows, interaction->n_features, row_floats(interaction), products);
        if (interaction->x_width > 0) {
            memcpy(y, job->x + s * interaction->x_width,
                   (size_t)interaction->x_width * sizeof(float));
            y += interaction->x_width;
        }
        for (int64_t p = 0; p < interaction->n_wanted; p++) {
            y[p] = products[interaction->wanted[p]];
        }
    }
}

int64_t vt_interaction_run(const struct vt_interaction *interaction,
                           const struct vt_interaction_feature *features, const float *x, float *y,
                           struct vt_pool *pool, void *workspace)
{
    struct job job = {interaction, features, x, y, workspace};
    for (uint32_t i = 0; i < interaction->n_features; i++) {
        for (int64_t s = 0; s < interaction->samples; s++) {
            const int64_t place = place_of(&features[i], s);
            if (place < 0 || place >= features[i].n_rows) {
                return i * interaction->samples + s;
            }
        }
    }
    vt_pool_run(pool, interaction->samples, GRAIN, run_samples, &job);
    return -1;
}
