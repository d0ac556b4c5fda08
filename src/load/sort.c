/* SPDX-License-Identifier: Apache-2.0 */
#include "load/stats.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS     6
#define BUCKETS    (1u << DIGIT_BITS)
/* Below this a pass over the buckets costs more than it saves. */
#define SHORT 64

static unsigned digit_of(int64_t value, unsigned digit)
{
    /* With the sign turned, negative numbers come first. */
    uint64_t key = (uint64_t)value ^ (UINT64_C(1) << 63);
    return (unsigned)(key >> (digit * DIGIT_BITS)) & (BUCKETS - 1);
}

static void insertion_sort(int64_t *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        int64_t value = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > value; j--) {
            a[j] = a[j - 1];
        }
        a[j] = value;
    }
}

void vt_sort_ns(int64_t *a, size_t n, int64_t *scratch)
{
    if (n <= SHORT) {
        insertion_sort(a, n);
        return;
    }
    size_t sorted = 1; /* Offline often completes, and always issues, in order */
    while (sorted < n && a[sorted - 1] <= a[sorted]) {
        sorted++;
    }
    if (sorted == n) {
        return;
    }
    int64_t *from = a, *to = scratch;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        size_t at[BUCKETS] = {0};
        for (size_t i = 0; i < n; i++) {
            at[digit_of(from[i], digit)]++;
        }
        if (at[digit_of(from[0], digit)] == n) {
            continue; /* all alike in this digit, as latencies are in the high ones */
        }
        size_t sum = 0;
        for (unsigned b = 0; b < BUCKETS; b++) {
            size_t count = at[b];
            at[b] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            to[at[digit_of(from[i], digit)]++] = from[i];
        }
        int64_t *t = from;
        from = to;
        to = t;
    }
    if (from != a) {
        memcpy(a, from, n * sizeof(*a));
    }
}

int64_t vt_percentile_ns(const int64_t *sorted, size_t n, double p)
{
    return sorted[vt_percentile_rank(n, p)];
}
