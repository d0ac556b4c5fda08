/* SPDX-License-Identifier: Apache-2.0 */
#include "load/stats.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

/* Values that are made from records at once; they stay in the first cache. */
#define BLOCK 1024

/* Fourteen bits of a value a pass: three passes for times up to an hour, counters of 64 KiB. */
#define DIGIT_BITS 14
#define BUCKETS    (1u << DIGIT_BITS)
#define LEVELS_MAX ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define NO_NODE    0xffu

/* --- From records to values ----------------------------------------------------------------- */

/* Where a pass is. Queries go across blocks. */
struct cursor {
    const struct vt_times *times;
    uint64_t at;
    bool in_query, lost;
    uint32_t query;
    int64_t scheduled_ns, done_ns;
};

static bool is_lost(const struct vt_sample_record *record)
{
    return record->done_ns == VT_RECORD_LOST;
}

/* Also where one of them is lost, when the result is dropped. */
static int64_t between(int64_t from_ns, int64_t to_ns)
{
    return (int64_t)((uint64_t)to_ns - (uint64_t)from_ns);
}

/* False where there is no such time. */
static bool token_time(const struct vt_times *times, uint64_t i, enum vt_time kind, int64_t *ret)
{
    const struct vt_sample_record *record = &times->records[i];
    const struct vt_token_record *token = &times->tokens[i];
    if (is_lost(record) || token->first_ns == VT_RECORD_LOST) {
        return false;
    }
    if (kind == VT_TIME_FIRST_TOKEN) {
        *ret = token->first_ns - record->scheduled_ns;
    } else {
        /* A number of tokens that cannot be is kept as 0, and the quotient is what LoadGen makes
         * of it; the run is not valid with it. */
        *ret =
            (record->done_ns - token->first_ns) / (token->n_tokens > 1 ? token->n_tokens - 1 : -1);
    }
    return true;
}

/* The last query ends with the records. */
static size_t next_queries(struct cursor *c, uint64_t end, int64_t *values)
{
    const struct vt_times *times = c->times;
    size_t n = 0;
    for (; c->at < end; c->at++) {
        const struct vt_sample_record *record = &times->records[c->at];
        if (!c->in_query || record->query != c->query) {
            values[n] = between(c->scheduled_ns, c->done_ns);
            n += c->in_query && !c->lost;
            c->in_query = true;
            c->lost = false;
            c->query = record->query;
            c->scheduled_ns = record->scheduled_ns;
            c->done_ns = record->done_ns;
        }
        c->lost |= is_lost(record);
        c->done_ns = record->done_ns > c->done_ns ? record->done_ns : c->done_ns;
    }
    if (c->at == times->n && c->in_query && !c->lost) {
        values[n++] = between(c->scheduled_ns, c->done_ns);
    }
    return n;
}

/* The values of the next block of records. */
static size_t next_values(struct cursor *c, enum vt_time kind, int64_t values[BLOCK + 1])
{
    const struct vt_times *times = c->times;
    uint64_t end = times->n - c->at < BLOCK ? times->n : c->at + BLOCK;
    size_t n = 0;
    switch (kind) {
    case VT_TIME_LATENCY:
        for (; c->at < end; c->at++) {
            const struct vt_sample_record *record = &times->records[c->at];
            values[n] = between(record->scheduled_ns, record->done_ns);
            n += !is_lost(record);
        }
        break;
    case VT_TIME_QUERY_LATENCY:
        n = next_queries(c, end, values);
        break;
    case VT_TIME_LATENESS:
        for (; c->at < end; c->at++) {
            values[n++] = times->records[c->at].issued_ns - times->records[c->at].scheduled_ns;
        }
        break;
    case VT_TIME_FIRST_TOKEN:
    case VT_TIME_PER_OUTPUT:
        for (; c->at < end; c->at++) {
            n += token_time(times, c->at, kind, &values[n]);
        }
        break;
    }
    return n;
}

/* --- All values ----------------------------------------------------------------------------- */

/* A block's sum stays within 64 bits while its values are below this. */
#define SUM_SAFE_NS (INT64_MAX / (INT64_C(2) * BLOCK))

static __int128 sum_block(const int64_t *values, size_t n, bool safe)
{
    int64_t narrow = 0;
    for (size_t i = 0; safe && i < n; i++) {
        narrow += values[i];
    }
    __int128 wide = narrow;
    for (size_t i = 0; !safe && i < n; i++) {
        wide += values[i];
    }
    return wide;
}

static void scan_block(struct vt_order *order, const int64_t *values, size_t n, __int128 *sum)
{
    if (n == 0) {
        return;
    }
    int64_t least = values[0], most = values[0];
    uint64_t above = values[0] > order->limit_ns, falls = values[0] < order->last_ns;
    for (size_t i = 1; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
        above += values[i] > order->limit_ns;
        falls += values[i] < values[i - 1];
    }
    *sum += sum_block(values, n, least > -SUM_SAFE_NS && most < SUM_SAFE_NS);
    order->min_ns = least < order->min_ns ? least : order->min_ns;
    order->max_ns = most > order->max_ns ? most : order->max_ns;
    order->last_ns = values[n - 1];
    order->rises &= falls == 0;
    order->above += above;
    order->n += n;
}

void vt_orders_scan(const struct vt_times *times, struct vt_order *orders, size_t n_orders)
{
    struct cursor cursors[VT_ORDERS_MAX];
    __int128 sums[VT_ORDERS_MAX];
    int64_t values[BLOCK + 1];
    for (size_t i = 0; i < n_orders; i++) {
        cursors[i] = (struct cursor){.times = times};
        sums[i] = 0;
        orders[i].n = 0;
        orders[i].above = 0;
        orders[i].n_ranks = 0;
        orders[i].min_ns = INT64_MAX;
        orders[i].max_ns = INT64_MIN;
        orders[i].last_ns = INT64_MIN;
        orders[i].rises = true;
    }
    for (uint64_t at = 0; at < times->n; at += BLOCK) {
        for (size_t i = 0; i < n_orders; i++) {
            size_t n = next_values(&cursors[i], orders[i].kind, values);
            scan_block(&orders[i], values, n, &sums[i]);
        }
    }
    for (size_t i = 0; i < n_orders; i++) {
        struct vt_order *order = &orders[i];
        if (order->n == 0) {
            order->min_ns = 0;
            order->max_ns = 0;
            order->mean_ns = 0;
        } else {
            order->mean_ns = (int64_t)(sums[i] / (__int128)order->n);
        }
    }
}

/* --- Ranks ---------------------------------------------------------------------------------- */

void vt_order_want(struct vt_order *order, uint64_t rank)
{
    for (uint32_t i = 0; i < order->n_ranks; i++) {
        if (order->ranks[i] == rank) {
            return;
        }
    }
    if (rank < order->n && order->n_ranks < VT_RANKS_MAX) {
        order->ranks[order->n_ranks++] = rank;
    }
}

int64_t vt_order_at(const struct vt_order *order, uint64_t rank)
{
    for (uint32_t i = 0; i < order->n_ranks; i++) {
        if (order->ranks[i] == rank) {
            return order->values[i];
        }
    }
    return 0;
}

/*
 * The search goes down the digits of value - smallest. At every level a wanted rank lies in a node:
 * all values that begin with its digits so far. Ranks that begin alike share a node.
 */
struct vt_order_search {
    unsigned shift;    /* of this level's digit */
    unsigned n_levels; /* above this one */
    unsigned shifts[LEVELS_MAX];
    uint8_t *maps[LEVELS_MAX];   /* per level above: [node][digit] to the node below */
    uint32_t n_nodes;            /* at this level */
    uint32_t *counts;            /* [node][digit] */
    uint32_t node[VT_RANKS_MAX]; /* of each rank */
    uint64_t left[VT_RANKS_MAX]; /* of each rank: its rank in the node */
    uint64_t prefix[VT_RANKS_MAX];
};

static unsigned digit_of(uint64_t key, unsigned shift)
{
    return (unsigned)(key >> shift) & (BUCKETS - 1);
}

static unsigned next_shift(unsigned bits)
{
    return bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
}

static void search_free(struct vt_order *order)
{
    struct vt_order_search *s = order->search;
    if (s == NULL) {
        return;
    }
    for (unsigned i = 0; i < s->n_levels; i++) {
        vt_free(s->maps[i]);
    }
    vt_free(s->counts);
    vt_free(s);
    order->search = NULL;
}

/* Offline is issued, and often completed, in order: then a rank is the place of its record. */
static bool stands_in_order(const struct vt_times *times, struct vt_order *order)
{
    bool latency = order->kind == VT_TIME_LATENCY;
    if (!order->rises || order->n != times->n || !(latency || order->kind == VT_TIME_LATENESS)) {
        return false;
    }
    for (uint32_t i = 0; i < order->n_ranks; i++) {
        const struct vt_sample_record *record = &times->records[order->ranks[i]];
        order->values[i] = (latency ? record->done_ns : record->issued_ns) - record->scheduled_ns;
    }
    return true;
}

/* False when there is no memory. An order without a search is done. */
static bool search_begin(const struct vt_times *times, struct vt_order *order)
{
    order->search = NULL;
    if (stands_in_order(times, order)) {
        return true;
    }
    uint64_t span = (uint64_t)order->max_ns - (uint64_t)order->min_ns;
    if (order->n_ranks == 0 || span == 0) {
        for (uint32_t i = 0; i < order->n_ranks; i++) {
            order->values[i] = order->min_ns;
        }
        return true;
    }
    struct vt_order_search *s = vt_calloc(1, sizeof(*s));
    order->search = s;
    if (s == NULL) {
        return false;
    }
    s->shift = next_shift(64 - (unsigned)__builtin_clzll(span));
    s->n_nodes = 1;
    memcpy(s->left, order->ranks, sizeof(s->left));
    s->counts = vt_calloc(BUCKETS, sizeof(*s->counts));
    return s->counts != NULL;
}

static void count_block(const struct vt_order *order, const int64_t *values, size_t n)
{
    struct vt_order_search *s = order->search;
    const uint64_t least = (uint64_t)order->min_ns;
    if (s->n_levels == 0) {
        for (size_t i = 0; i < n; i++) {
            s->counts[digit_of((uint64_t)values[i] - least, s->shift)]++;
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)values[i] - least;
        unsigned node = 0;
        for (unsigned level = 0; level < s->n_levels && node != NO_NODE; level++) {
            node = s->maps[level][node * BUCKETS + digit_of(key, s->shifts[level])];
        }
        if (node != NO_NODE) {
            s->counts[node * BUCKETS + digit_of(key, s->shift)]++;
        }
    }
}

/* The digit of a rank at this level; what is left of the rank behind it. */
static unsigned find_digit(struct vt_order_search *s, uint32_t rank)
{
    const uint32_t *counts = s->counts + (size_t)s->node[rank] * BUCKETS;
    unsigned digit = 0;
    while (s->left[rank] >= counts[digit]) {
        s->left[rank] -= counts[digit++];
    }
    return digit;
}

/* After a pass: the digit of every rank. The last digit ends the search; false without memory. */
static bool search_descend(struct vt_order *order)
{
    struct vt_order_search *s = order->search;
    uint8_t *map = vt_alloc((size_t)s->n_nodes * BUCKETS);
    if (map == NULL) {
        return false;
    }
    memset(map, NO_NODE, (size_t)s->n_nodes * BUCKETS);
    uint32_t below = 0;
    for (uint32_t i = 0; i < order->n_ranks; i++) {
        unsigned digit = find_digit(s, i);
        s->prefix[i] |= (uint64_t)digit << s->shift;
        uint8_t *child = &map[(size_t)s->node[i] * BUCKETS + digit];
        if (*child == NO_NODE) {
            *child = (uint8_t)below++;
        }
        s->node[i] = *child;
    }
    s->maps[s->n_levels] = map;
    s->shifts[s->n_levels++] = s->shift;
    if (s->shift == 0) {
        for (uint32_t i = 0; i < order->n_ranks; i++) {
            order->values[i] = (int64_t)((uint64_t)order->min_ns + s->prefix[i]);
        }
        search_free(order);
        return true;
    }
    s->shift = next_shift(s->shift);
    s->n_nodes = below;
    vt_free(s->counts);
    s->counts = vt_calloc((size_t)below * BUCKETS, sizeof(*s->counts));
    return s->counts != NULL;
}

/* One pass for all that search. False when nothing searches any more. */
static bool count_pass(const struct vt_times *times, const struct vt_order *orders, size_t n_orders)
{
    struct cursor cursors[VT_ORDERS_MAX];
    int64_t values[BLOCK + 1];
    bool any = false;
    for (size_t i = 0; i < n_orders; i++) {
        cursors[i] = (struct cursor){.times = times};
        any |= orders[i].search != NULL;
    }
    for (uint64_t at = 0; any && at < times->n; at += BLOCK) {
        for (size_t i = 0; i < n_orders; i++) {
            if (orders[i].search != NULL) {
                count_block(&orders[i], values, next_values(&cursors[i], orders[i].kind, values));
            }
        }
    }
    return any;
}

enum vt_status vt_orders_resolve(const struct vt_times *times, struct vt_order *orders,
                                 size_t n_orders, struct vt_error *err)
{
    bool ok = true;
    for (size_t i = 0; i < n_orders; i++) {
        ok &= search_begin(times, &orders[i]);
    }
    while (ok && count_pass(times, orders, n_orders)) {
        for (size_t i = 0; i < n_orders && ok; i++) {
            ok = orders[i].search == NULL || search_descend(&orders[i]);
        }
    }
    for (size_t i = 0; i < n_orders; i++) {
        search_free(&orders[i]);
    }
    return ok ? VT_OK
              : vt_error_set(err, VT_ERR_MEMORY,
                             "no memory to count the times of %" PRIu64 " samples", times->n);
}

/* --- Percentiles ---------------------------------------------------------------------------- */

uint64_t vt_percentile_rank(uint64_t n, double p)
{
    uint64_t rank = (uint64_t)((double)n * p);
    return rank < n ? rank : n - 1;
}

static const double stats_percentiles[] = {0.50, 0.90, 0.95, 0.97, 0.99, 0.999};

void vt_order_want_stats(struct vt_order *order)
{
    for (size_t i = 0; i < sizeof(stats_percentiles) / sizeof(stats_percentiles[0]); i++) {
        vt_order_want(order, vt_percentile_rank(order->n, stats_percentiles[i]));
    }
}

struct vt_latency_stats vt_order_stats(const struct vt_order *order)
{
    if (order->n == 0) {
        return (struct vt_latency_stats){0};
    }
    return (struct vt_latency_stats){
        .min_ns = order->min_ns,
        .mean_ns = order->mean_ns,
        .p50_ns = vt_order_percentile(order, 0.50),
        .p90_ns = vt_order_percentile(order, 0.90),
        .p95_ns = vt_order_percentile(order, 0.95),
        .p97_ns = vt_order_percentile(order, 0.97),
        .p99_ns = vt_order_percentile(order, 0.99),
        .p99_9_ns = vt_order_percentile(order, 0.999),
        .max_ns = order->max_ns,
    };
}

int64_t vt_order_percentile(const struct vt_order *order, double p)
{
    return vt_order_at(order, vt_percentile_rank(order->n, p));
}
