/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics of the times of a run, read from its records in a few passes. Nothing is
 * copied or sorted: a pass counts the values by one digit, and narrows every wanted rank down to
 * one value of that digit, so that memory does not depend on the number of samples and records on
 * disk are read from the start to the end.
 *
 * All are exact: the value of rank i is the one that stands at [i] when all are sorted.
 *
 *     struct vt_order order = {.kind = VT_TIME_LATENCY, .limit_ns = …};
 *     vt_orders_scan(&times, &order, 1);              n, mean, smallest, largest, above the limit
 *     vt_order_want(&order, rank) …                   ranks, which depend on n
 *     vt_orders_resolve(&times, &order, 1, err);
 *     vt_order_at(&order, rank), vt_order_percentile(&order, 0.99)
 */
#ifndef VT_LOAD_STATS_H
#define VT_LOAD_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/report.h"

/* What is made of a record. Samples without a completion, or without what is asked for, count not
 * at all. */
enum vt_time {
    VT_TIME_LATENCY,       /* scheduled to done */
    VT_TIME_QUERY_LATENCY, /* scheduled to the last sample of the query; only of whole queries */
    VT_TIME_LATENESS,      /* scheduled to issued; also of samples without a completion */
    VT_TIME_FIRST_TOKEN,   /* scheduled to the first token */
    VT_TIME_PER_OUTPUT,    /* per token after the first, LoadGen's integer quotient */
};

struct vt_times {
    const struct vt_sample_record *records;
    const struct vt_token_record *tokens; /* for the last two kinds */
    uint64_t n;
};

#define VT_RANKS_MAX  16
#define VT_ORDERS_MAX 8 /* in one call */

struct vt_order {
    /* Set by the caller. */
    enum vt_time kind;
    int64_t limit_ns; /* values above it are counted */
    /* Of all values, by vt_orders_scan. */
    uint64_t n;
    uint64_t above;
    int64_t min_ns, max_ns, mean_ns;
    int64_t last_ns; /* the last value of the scan so far */
    bool rises;      /* no value is below the one before it */
    /* Of ranks. */
    uint32_t n_ranks;
    uint64_t ranks[VT_RANKS_MAX];
    int64_t values[VT_RANKS_MAX];
    struct vt_order_search *search; /* while they are being found */
};

/* The first pass. */
void vt_orders_scan(const struct vt_times *times, struct vt_order *orders, size_t n_orders);

/* Asks for the value of a rank (below n), once or more. VT_RANKS_MAX different ones at most. */
void vt_order_want(struct vt_order *order, uint64_t rank);
/* The ranks of vt_latency_stats. */
void vt_order_want_stats(struct vt_order *order);

/* The passes that find all wanted ranks of all orders. VT_ERR_MEMORY. */
enum vt_status vt_orders_resolve(const struct vt_times *times, struct vt_order *orders,
                                 size_t n_orders, struct vt_error *err) VT_NODISCARD;

/* The value of a rank that was asked for. */
int64_t vt_order_at(const struct vt_order *order, uint64_t rank);
int64_t vt_order_percentile(const struct vt_order *order, double p);
/* All 0 where n is 0. */
struct vt_latency_stats vt_order_stats(const struct vt_order *order);

/* LoadGen's rank of a percentile: (size_t)(n * p), no interpolation. n >= 1, 0 < p <= 1. */
uint64_t vt_percentile_rank(uint64_t n, double p);

#endif
