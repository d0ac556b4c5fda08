/* SPDX-License-Identifier: Apache-2.0 */
#include "quantize/range.h"

#include <math.h>

#define BINS VT_RANGE_BINS

void vt_range_see(struct vt_range_seen *seen, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            continue;
        }
        if (!seen->any) {
            seen->extremes = (struct vt_range){x[i], x[i]};
            seen->any = true;
        }
        seen->extremes.low = x[i] < seen->extremes.low ? x[i] : seen->extremes.low;
        seen->extremes.high = x[i] > seen->extremes.high ? x[i] : seen->extremes.high;
    }
}

static double greatest(const struct vt_range_seen *seen)
{
    const double low = fabs((double)seen->extremes.low), high = fabs((double)seen->extremes.high);
    return low > high ? low : high;
}

void vt_range_count(struct vt_range_seen *seen, enum vt_range_method method, const float *x,
                    int64_t n)
{
    const bool absolute = method == VT_RANGE_ENTROPY;
    const double low = absolute ? 0.0 : (double)seen->extremes.low;
    const double width = absolute ? greatest(seen) : (double)seen->extremes.high - low;
    const double per_bin = width > 0.0 ? BINS / width : 0.0;

    for (int64_t i = 0; i < n; i++) {
        /* 0 is exact whatever the range, so that entropy has nothing to lose by it. */
        if (isfinite(x[i]) && !(absolute && x[i] == 0.0f)) {
            const double at = ((absolute ? fabs((double)x[i]) : (double)x[i]) - low) * per_bin;
            seen->bins[at < 0.0 ? 0 : (at < BINS ? (int)at : BINS - 1)]++;
        }
    }
}

/* The edge before which `share` of all lies. */
static double quantile(const struct vt_range_seen *seen, double share)
{
    double total = 0.0, below = 0.0;
    const double low = (double)seen->extremes.low, width = (double)seen->extremes.high - low;

    for (int i = 0; i < BINS; i++) {
        total += (double)seen->bins[i];
    }
    for (int i = 0; i < BINS; i++) {
        const double here = (double)seen->bins[i];
        if (here > 0.0 && below + here >= share * total) {
            return low + width * (i + (share * total - below) / here) / BINS;
        }
        below += here;
    }
    return (double)seen->extremes.high;
}

static struct vt_range by_percentile(const struct vt_range_seen *seen, double percentile)
{
    const double outside = 1.0 - percentile / 100.0;
    struct vt_range range = seen->extremes;

    if (range.low >= 0.0f) {
        range.high = (float)quantile(seen, 1.0 - outside);
    } else if (range.high <= 0.0f) {
        range.low = (float)quantile(seen, outside);
    } else {
        range.low = (float)quantile(seen, outside / 2);
        range.high = (float)quantile(seen, 1.0 - outside / 2);
    }
    return range;
}

/*
 * The divergence of the first n bins, what lies beyond in the last of them, from the same in
 * `levels` steps: a step's count is spread over those of its bins that hold anything.
 */
static double divergence(const struct vt_range_seen *seen, int n, int levels)
{
    double total = 0.0, beyond = 0.0, inside = 0.0, sum = 0.0;

    for (int i = 0; i < BINS; i++) {
        total += (double)seen->bins[i];
        beyond += i >= n ? (double)seen->bins[i] : 0.0;
    }
    inside = total - beyond;
    if (inside <= 0.0) {
        return (double)INFINITY;
    }
    for (int level = 0; level < levels; level++) {
        const int first = (int)((int64_t)level * n / levels);
        const int last = (int)((int64_t)(level + 1) * n / levels);
        double count = 0.0;
        int filled = 0;
        for (int i = first; i < last; i++) {
            count += (double)seen->bins[i];
            filled += seen->bins[i] > 0 ? 1 : 0;
        }
        const double q = filled > 0 ? count / filled / inside : 0.0;
        for (int i = first; i < last; i++) {
            const double p = ((double)seen->bins[i] + (i == n - 1 ? beyond : 0.0)) / total;
            if (p > 0.0) {
                /* A bin that only holds what was cut off has nothing to be compared with. */
                const double least = 1e-9;
                sum += p * log(p / (seen->bins[i] > 0 && q > least ? q : least));
            }
        }
    }
    return sum;
}

static struct vt_range by_entropy(const struct vt_range_seen *seen)
{
    const bool both = seen->extremes.low < 0.0f && seen->extremes.high > 0.0f;
    const int levels = both ? 128 : 256;
    double best = (double)INFINITY;
    int chosen = BINS;

    for (int n = levels; n <= BINS; n += 8) {
        const double d = divergence(seen, n, levels);
        if (d < best) {
            best = d;
            chosen = n;
        }
    }
    const float t = (float)(greatest(seen) * chosen / BINS);
    struct vt_range range = seen->extremes;
    range.low = range.low < -t ? -t : range.low;
    range.high = range.high > t ? t : range.high;
    return range;
}

struct vt_range vt_range_find(const struct vt_range_seen *seen, enum vt_range_method method,
                              double percentile)
{
    struct vt_range range = {0.0f, 0.0f};

    if (seen->any && method == VT_RANGE_PERCENTILE) {
        range = by_percentile(seen, percentile);
    } else if (seen->any && method == VT_RANGE_ENTROPY) {
        range = by_entropy(seen);
    } else if (seen->any) {
        range = seen->extremes;
    }
    range.low = range.low < 0.0f ? range.low : 0.0f;
    range.high = range.high > 0.0f ? range.high : 0.0f;
    return range;
}

void vt_range_scale(struct vt_range range, bool is_signed, float *ret_scale, int32_t *ret_zero)
{
    const double width = (double)range.high - (double)range.low;
    /* Scales that are no normal numbers are not worth the trouble: nothing was seen but 0. */
    const float scale = width / 255.0 >= 1e-30 ? (float)(width / 255.0) : 1.0f;
    double zero = rint(-(double)range.low / (double)scale);

    zero = zero < 0.0 ? 0.0 : (zero > 255.0 ? 255.0 : zero);
    *ret_scale = scale;
    *ret_zero = (int32_t)zero - (is_signed ? 128 : 0);
}
