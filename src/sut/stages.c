/* SPDX-License-Identifier: Apache-2.0 */
#include "sut/stages.h"

/* Below VT_STAGE_FINE a bin is a nanosecond, above it 1/64 of a power of two. */
static size_t bin_of(int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;

    if (value < VT_STAGE_FINE) {
        return (size_t)value;
    }
    if (value >> VT_STAGE_POWERS != 0) {
        return VT_STAGE_BINS - 1;
    }
    unsigned power = 63U - (unsigned)__builtin_clzll(value); /* 6 and more */
    return (size_t)(power - 5) * VT_STAGE_FINE + (size_t)((value >> (power - 6)) - VT_STAGE_FINE);
}

/* The lowest time of a bin. */
static double start_of(size_t bin)
{
    if (bin < VT_STAGE_FINE) {
        return (double)bin;
    }
    unsigned power = (unsigned)(bin / VT_STAGE_FINE) + 5;
    uint64_t fine = VT_STAGE_FINE + bin % VT_STAGE_FINE;
    return (double)(fine << (power - 6));
}

void vt_stages_add(struct vt_stages *stages, enum vt_stage stage, int64_t ns, uint64_t n)
{
    struct vt_stage_bins *bins = &stages->stage[stage];

    bins->samples += n;
    bins->sum_ns += (double)(ns > 0 ? ns : 0) * (double)n;
    bins->bin[bin_of(ns)] += n;
}

void vt_stages_merge(struct vt_stages *into, const struct vt_stages *from)
{
    for (int s = 0; s < VT_STAGE_COUNT; s++) {
        into->stage[s].samples += from->stage[s].samples;
        into->stage[s].sum_ns += from->stage[s].sum_ns;
        for (size_t i = 0; i < VT_STAGE_BINS; i++) {
            into->stage[s].bin[i] += from->stage[s].bin[i];
        }
    }
}

/* The sorted value number floor(n * share), as between its bin's ends by its place there. */
static int64_t percentile(const struct vt_stage_bins *bins, double share)
{
    uint64_t wanted = (uint64_t)((double)bins->samples * share), before = 0;

    for (size_t i = 0; i < VT_STAGE_BINS; i++) {
        if (before + bins->bin[i] > wanted) {
            double start = start_of(i);
            double width = i + 1 < VT_STAGE_BINS ? start_of(i + 1) - start : 0;
            double place = ((double)(wanted - before) + 0.5) / (double)bins->bin[i];
            return (int64_t)(width > 1 ? start + width * place : start);
        }
        before += bins->bin[i];
    }
    return 0;
}

void vt_stages_times(const struct vt_stages *stages, struct vt_stage_times *ret_times)
{
    *ret_times = (struct vt_stage_times){.samples = stages->stage[VT_STAGE_COMPUTE].samples};
    for (int s = 0; s < VT_STAGE_COUNT; s++) {
        const struct vt_stage_bins *bins = &stages->stage[s];
        if (bins->samples > 0) {
            ret_times->stage[s].mean_ns = (int64_t)(bins->sum_ns / (double)bins->samples);
            ret_times->stage[s].p50_ns = percentile(bins, 0.5);
            ret_times->stage[s].p99_ns = percentile(bins, 0.99);
        }
    }
}
