/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention/flash.h"

#include <math.h>
#include <string.h>

#include "kernels/gemm16/gemm16.h"

/* Scores of a strip against a block of keys stay in the first-level cache. */
#define STRIP_FLOATS 6144
/* Queries of an item, whose packed form and sums stay in the second-level cache. */
#define ITEM_QUERIES 384
/* Items a thread should get, so that drawing them evens out a slow core. */
#define ITEMS_PER_THREAD 4

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

/* An item is some strips of one head; a worker's scratch holds them and one block of keys. */
struct partition {
    int64_t mr, nr;
    int64_t keys;         /* of a block at most */
    int64_t strips;       /* of an item at most */
    int64_t items_a_head; /* the last one may have fewer strips */
};

static struct partition partition_of(const struct vt_attention *a, uint32_t threads)
{
    struct partition p = {.mr = a->gemm->mr, .nr = a->gemm->nr};
    if (a->bf16 != NULL) {
        p.mr = VT_GEMM16_KU; /* keys are steps of the second product */
        p.nr = VT_GEMM16_NR;
    }
    const int64_t strips = (a->q_len + p.nr - 1) / p.nr, heads = a->batch * a->q_heads;
    const int64_t wanted = threads == 1 ? 1 : (int64_t)threads * ITEMS_PER_THREAD;
    const int64_t keys = max_i64(1, a->past_len + a->kv_len);
    p.keys = min_i64(round_up(STRIP_FLOATS / p.nr, p.mr), round_up(keys, p.mr));
    p.strips = max_i64(1, min_i64(strips, ITEM_QUERIES / p.nr));
    while (p.strips > 1 && heads * ((strips + p.strips - 1) / p.strips) < wanted) {
        p.strips = (p.strips + 1) / 2;
    }
    p.items_a_head = (strips + p.strips - 1) / p.strips;
    return p;
}

/* A worker's scratch; every part starts a cache line. */
struct scratch {
    float *q;         /* packed: [strips][size][nr] */
    float *k, *v;     /* packed: panels of mr keys [size][mr], of mr values [keys][mr] */
    float *scores;    /* [keys][nr] */
    float *bias;      /* [keys][nr] */
    float *out;       /* [strips][v_size][nr] */
    float *max, *sum; /* [strips][nr] */
    int32_t *low, *high;
    /* Of bfloat16 alone: queries as panels, keys and values as rows, weights as a panel; and what
     * is turned before it is rounded. */
    uint16_t *q16, *k16, *v16, *p16;
    float *turned; /* [size or v_size][nr] */
};

enum { QUERIES, KEYS, VALUES, SCORES, MASK, OUT, MAX, SUM, LOW, HIGH, WEIGHTS, TURNED, PARTS };

/* Rows of bfloat16 start in different sets of the cache. */
static int64_t row16(int64_t n)
{
    return vt_gemm16_pad(n) + VT_GEMM16_KU;
}

/* Rows of a strip's sums: in bfloat16 whole tiles. */
static int64_t out_rows(const struct vt_attention *a)
{
    return a->bf16 != NULL ? round_up(a->v_size, a->bf16->mr) : a->v_size;
}

/* What differs in bfloat16, in floats. */
static void cut16(const struct vt_attention *a, const struct partition *p, int64_t floats[PARTS])
{
    const int64_t keys = round_up(p->keys, a->bf16->mr);
    floats[QUERIES] = p->strips * vt_gemm16_pad(a->size) * p->nr / 2;
    floats[KEYS] = keys * row16(a->size) / 2;
    floats[VALUES] = out_rows(a) * row16(p->keys) / 2;
    floats[SCORES] = keys * p->nr;
    floats[WEIGHTS] = vt_gemm16_pad(p->keys) * p->nr / 2;
    floats[TURNED] = max_i64(a->size, a->v_size) * p->nr;
}

/* Where the parts start, in floats; returns how many these are in all. */
static size_t cut(const struct vt_attention *a, const struct partition *p, size_t ret_at[PARTS])
{
    int64_t floats[PARTS] = {
        [QUERIES] = p->strips * a->size * p->nr,
        [KEYS] = p->keys * a->size,
        [VALUES] = p->keys * round_up(a->v_size, p->mr),
        [SCORES] = p->keys * p->nr,
        [MASK] = p->keys * p->nr,
        [OUT] = p->strips * out_rows(a) * p->nr,
        [MAX] = p->strips * p->nr,
        [SUM] = p->strips * p->nr,
        [LOW] = p->nr,
        [HIGH] = p->nr,
    };
    size_t at = 0;
    if (a->bf16 != NULL) {
        cut16(a, p, floats);
    }
    for (int i = 0; i < PARTS; i++) {
        ret_at[i] = at;
        at += (size_t)round_up(floats[i], 16);
    }
    return at;
}

static struct scratch scratch_of(const struct vt_attention *a, const struct partition *p,
                                 float *memory)
{
    size_t at[PARTS];
    (void)cut(a, p, at);
    return (struct scratch){
        .q = memory + at[QUERIES],
        .k = memory + at[KEYS],
        .v = memory + at[VALUES],
        .scores = memory + at[SCORES],
        .bias = memory + at[MASK],
        .out = memory + at[OUT],
        .max = memory + at[MAX],
        .sum = memory + at[SUM],
        .low = (int32_t *)(void *)(memory + at[LOW]),
        .high = (int32_t *)(void *)(memory + at[HIGH]),
        .q16 = (uint16_t *)(void *)(memory + at[QUERIES]),
        .k16 = (uint16_t *)(void *)(memory + at[KEYS]),
        .v16 = (uint16_t *)(void *)(memory + at[VALUES]),
        .p16 = (uint16_t *)(void *)(memory + at[WEIGHTS]),
        .turned = memory + at[TURNED],
    };
}

size_t vt_attention_flash_floats(const struct vt_attention *a, uint32_t threads)
{
    const struct partition p = partition_of(a, threads);
    size_t unused[PARTS];
    return threads * cut(a, &p, unused);
}

struct job {
    const struct vt_attention *a;
    const struct vt_attention_data *data;
    struct partition part;
    float *workspace;
    size_t step; /* floats from one worker's scratch to the next */
};

/* Some queries of one head. */
struct item {
    const struct vt_attention *a;
    const struct vt_attention_data *data;
    struct partition part;
    struct scratch s;
    int64_t batch, head, kv_head;
    int64_t first, queries; /* of the head */
    int64_t before;         /* the first query of the head stands behind so many keys */
    int64_t end;            /* keys from here on are seen by no query */
};

static int64_t query_place(const struct item *item, int64_t query)
{
    const struct vt_attention *a = item->a;
    return a->packed ? (item->batch * a->q_len + query) * a->q_heads + item->head
                     : (item->batch * a->q_heads + item->head) * a->q_len + query;
}

static void pack_queries(const struct item *item)
{
    const struct vt_attention *a = item->a;
    const int64_t nr = item->part.nr;
    const float *rows[VT_GEMM_NR_MAX];
    for (int64_t q = 0; q < item->queries; q += nr) {
        const int64_t n = min_i64(nr, item->queries - q);
        for (int64_t j = 0; j < n; j++) {
            rows[j] = item->data->q + query_place(item, item->first + q + j) * a->size;
        }
        if (a->bf16 != NULL) {
            a->way->turn(rows, n, a->size, a->scale, nr, item->s.turned);
            a->bf16->pair(item->s.turned, nr, a->size, vt_gemm16_pad(a->size),
                          item->s.q16 + q * vt_gemm16_pad(a->size));
        } else {
            a->way->turn(rows, n, a->size, a->scale, nr, item->s.q + q * a->size);
        }
    }
}

/* A row of values into panels of mr, `step` apart. The usual sizes are constants, so that a copy is
 * some moves and no call. */
static void spread(const float *from, int64_t n, int64_t mr, int64_t step, float *to)
{
    int64_t i = 0;
    switch (mr) {
    case 14:
        for (; i + 14 <= n; i += 14, to += step) {
            memcpy(to, from + i, 14 * sizeof(float));
        }
        break;
    case 12:
        for (; i + 12 <= n; i += 12, to += step) {
            memcpy(to, from + i, 12 * sizeof(float));
        }
        break;
    case 6:
        for (; i + 6 <= n; i += 6, to += step) {
            memcpy(to, from + i, 6 * sizeof(float));
        }
        break;
    default:
        for (; i + mr <= n; i += mr, to += step) {
            memcpy(to, from + i, (size_t)mr * sizeof(float));
        }
        break;
    }
    for (int64_t j = 0; i < n && j < mr; j++) {
        to[j] = i + j < n ? from[i + j] : 0.0f;
    }
}

/* Keys as rows, values as columns that become rows, padded with zeros to whole steps. */
static void pack_block16(const struct item *item, int64_t k0, int64_t keys)
{
    const struct vt_attention *a = item->a;
    const struct vt_attention_data *data = item->data;
    const int64_t nr = item->part.nr, size = vt_gemm16_pad(a->size), step = row16(item->part.keys);
    const float *rows[VT_GEMM_NR_MAX];
    for (int64_t k = 0; k < keys; k++) {
        a->bf16->narrow(
            vt_attention_row(a, data->past_k, data->k, a->size, item->batch, item->kv_head, k0 + k),
            a->size, size, item->s.k16 + k * row16(a->size));
    }
    for (int64_t k = 0; k < keys; k += nr) {
        const int64_t n = min_i64(nr, keys - k);
        for (int64_t j = 0; j < n; j++) {
            rows[j] = vt_attention_row(a, data->past_v, data->v, a->v_size, item->batch,
                                       item->kv_head, k0 + k + j);
        }
        a->way->turn(rows, n, a->v_size, 1.0f, nr, item->s.turned);
        for (int64_t i = 0; i < a->v_size; i++) {
            a->bf16->narrow(item->s.turned + i * nr, nr, nr, item->s.v16 + i * step + k);
        }
    }
}

/* Keys [k0, k0 + keys) and their values as panels of mr rows. */
static void pack_block(const struct item *item, int64_t k0, int64_t keys)
{
    const struct vt_attention *a = item->a;
    const struct vt_attention_data *data = item->data;
    const int64_t mr = item->part.mr;
    const float *rows[VT_GEMM_MR_MAX];
    for (int64_t k = 0; k < keys; k += mr) {
        const int64_t n = min_i64(mr, keys - k);
        for (int64_t j = 0; j < n; j++) {
            rows[j] = vt_attention_row(a, data->past_k, data->k, a->size, item->batch,
                                       item->kv_head, k0 + k + j);
        }
        a->way->turn(rows, n, a->size, 1.0f, mr, item->s.k + k * a->size);
    }
    for (int64_t k = 0; k < keys; k++) {
        const float *from = vt_attention_row(a, data->past_v, data->v, a->v_size, item->batch,
                                             item->kv_head, k0 + k);
        spread(from, a->v_size, mr, keys * mr, item->s.v + k * mr);
    }
}

/* Keys [low, high) are seen by the query. */
static void seen_by(const struct item *item, int64_t query, int64_t *ret_low, int64_t *ret_high)
{
    const struct vt_attention *a = item->a;
    const int64_t place = item->before + query;
    int64_t low = 0, high = item->end;
    if (a->causal) {
        high = min_i64(high, place + 1);
    }
    if (a->right >= 0 && a->right < high - place) {
        high = place + a->right + 1;
    }
    if (a->left >= 0 && a->left < place) {
        low = place - a->left;
    }
    *ret_low = low;
    *ret_high = high;
}

/*
 * Writes into low and high which keys of the block each query of the strip sees; lanes beyond the
 * last query see what that one does. Returns whether any lane sees any; *ret_all: all see all.
 */
static bool bound_strip(const struct item *item, int64_t query, int64_t n, int64_t k0, int64_t keys,
                        bool *ret_all)
{
    bool any = false;
    *ret_all = true;
    for (int64_t j = 0; j < item->part.nr; j++) {
        int64_t low, high;
        seen_by(item, query + min_i64(j, n - 1), &low, &high);
        low = min_i64(max_i64(low - k0, 0), keys);
        high = min_i64(max_i64(high - k0, 0), keys);
        item->s.low[j] = (int32_t)low;
        item->s.high[j] = (int32_t)high;
        any = any || low < high;
        *ret_all = *ret_all && low == 0 && high == keys;
    }
    return any;
}

/* Brings the mask of a strip against a block to numbers that are added. */
static void fill_bias(const struct item *item, int64_t query, int64_t n, int64_t k0, int64_t keys,
                      struct vt_attention_strip *strip)
{
    const struct vt_attention *a = item->a;
    const int64_t nr = item->part.nr;
    const int64_t at =
        item->batch * a->mask_step[0] + item->head * a->mask_step[1] + query * a->mask_step[2] + k0;
    const float *floats = (const float *)item->data->mask + at;
    const uint8_t *bools = (const uint8_t *)item->data->mask + at;
    const int64_t lanes = a->mask_step[2] != 0 ? n : 1, step = a->mask_step[2] != 0 ? nr : 1;
    strip->bias_by_lane = a->mask_step[2] != 0;
    strip->bias_step = step;
    strip->bias = item->s.bias;
    if (!a->mask_is_bool && lanes == 1 && !strip->bias_by_lane) {
        strip->bias = floats;
        return;
    }
    if (!a->mask_is_bool) {
        const float *rows[VT_GEMM_NR_MAX];
        for (int64_t j = 0; j < lanes; j++) {
            rows[j] = floats + j * a->mask_step[2];
        }
        a->way->turn(rows, lanes, keys, 1.0f, nr, item->s.bias);
        return;
    }
    for (int64_t k = 0; k < keys; k++) {
        for (int64_t j = 0; j < step; j++) {
            const int64_t lane = min_i64(j, lanes - 1);
            item->s.bias[k * step + j] = bools[lane * a->mask_step[2] + k] != 0 ? 0.0f : -INFINITY;
        }
    }
}

/* Scores of a strip against the block, and then their weights times the values. */
static void scores32(const struct item *item, int64_t q, int64_t keys)
{
    const struct vt_attention *a = item->a;
    const int64_t mr = item->part.mr, nr = item->part.nr;
    struct vt_gemm_tile tile = {.k = a->size, .b = item->s.q + q * a->size, .ldc = nr};
    for (int64_t k = 0; k < keys; k += mr) {
        tile.a = item->s.k + k * a->size;
        tile.c = item->s.scores + k * nr;
        a->gemm->packed(&tile, (uint32_t)min_i64(mr, keys - k));
    }
}

static void weigh32(const struct item *item, int64_t keys, float *out)
{
    const struct vt_attention *a = item->a;
    const int64_t mr = item->part.mr, nr = item->part.nr;
    struct vt_gemm_tile tile = {.k = keys, .b = item->s.scores, .ldc = nr, .accumulate = true};
    for (int64_t i = 0; i < a->v_size; i += mr) {
        tile.a = item->s.v + i * keys;
        tile.c = out + i * nr;
        a->gemm->packed(&tile, (uint32_t)min_i64(mr, a->v_size - i));
    }
}

static void scores16(const struct item *item, int64_t q, int64_t keys)
{
    const struct vt_attention *a = item->a;
    const int64_t size = vt_gemm16_pad(a->size), mr = a->bf16->mr;
    struct vt_gemm16_tile tile = {
        .a_stride = row16(a->size), .b = item->s.q16 + q * size, .k = size, .cols = VT_GEMM16_NR};
    for (int64_t k = 0; k < keys; k += mr) {
        tile.a = item->s.k16 + k * tile.a_stride;
        tile.sums = item->s.scores + k * VT_GEMM16_NR;
        tile.rows = (uint32_t)min_i64(mr, keys - k);
        a->bf16->sum(&tile);
    }
}

static void weigh16(const struct item *item, int64_t keys, float *out)
{
    const struct vt_attention *a = item->a;
    const int64_t padded = vt_gemm16_pad(keys), mr = a->bf16->mr;
    struct vt_gemm16_tile tile = {.a_stride = row16(item->part.keys),
                                  .b = item->s.p16,
                                  .k = padded,
                                  .cols = VT_GEMM16_NR,
                                  .accumulate = true};
    a->bf16->pair(item->s.scores, VT_GEMM16_NR, keys, padded, item->s.p16);
    for (int64_t i = 0; i < a->v_size; i += mr) {
        tile.a = item->s.v16 + i * tile.a_stride;
        tile.sums = out + i * VT_GEMM16_NR;
        tile.rows = (uint32_t)min_i64(mr, a->v_size - i);
        a->bf16->sum(&tile);
    }
}

static void one_strip(const struct item *item, int64_t q, int64_t k0, int64_t keys)
{
    const struct vt_attention *a = item->a;
    const int64_t nr = item->part.nr, n = min_i64(nr, item->queries - q);
    struct vt_attention_strip strip = {.keys = keys,
                                       .lanes = nr,
                                       .scores = item->s.scores,
                                       .softcap = a->softcap,
                                       .max = item->s.max + q,
                                       .sum = item->s.sum + q,
                                       .out = item->s.out + q * out_rows(a),
                                       .v_size = a->v_size};
    bool all = true;
    if (!bound_strip(item, item->first + q, n, k0, keys, &all)) {
        return;
    }
    strip.low = all ? NULL : item->s.low;
    strip.high = all ? NULL : item->s.high;
    if (item->data->mask != NULL) {
        fill_bias(item, item->first + q, n, k0, keys, &strip);
    }
    if (a->bf16 != NULL) {
        scores16(item, q, keys);
        a->way->strip(&strip);
        weigh16(item, keys, strip.out);
    } else {
        scores32(item, q, keys);
        a->way->strip(&strip);
        weigh32(item, keys, strip.out);
    }
}

/* Sums become averages; a query that sees nothing gives 0. */
static void write_strip(const struct item *item, int64_t q)
{
    const struct vt_attention *a = item->a;
    const int64_t nr = item->part.nr, n = min_i64(nr, item->queries - q);
    float scale[VT_GEMM_NR_MAX];
    float *rows[VT_GEMM_NR_MAX];
    for (int64_t j = 0; j < n; j++) {
        const float sum = item->s.sum[q + j];
        scale[j] = sum == 0.0f ? 0.0f : 1.0f / sum;
        rows[j] = item->data->y + query_place(item, item->first + q + j) * a->v_size;
    }
    a->way->turn_back(item->s.out + q * out_rows(a), nr, n, a->v_size, scale, rows);
}

static void run_item(const struct item *item)
{
    const struct vt_attention *a = item->a;
    const int64_t nr = item->part.nr, lanes = round_up(item->queries, nr);
    int64_t low, high, unused;
    seen_by(item, item->first, &low, &unused);
    seen_by(item, item->first + item->queries - 1, &unused, &high);
    pack_queries(item);
    memset(item->s.out, 0, (size_t)(lanes * out_rows(a)) * sizeof(float));
    for (int64_t j = 0; j < lanes; j++) {
        item->s.max[j] = -INFINITY;
        item->s.sum[j] = 0.0f;
    }
    for (int64_t k0 = low; k0 < high; k0 += item->part.keys) {
        const int64_t keys = min_i64(item->part.keys, high - k0);
        if (a->bf16 != NULL) {
            pack_block16(item, k0, keys);
        } else {
            pack_block(item, k0, keys);
        }
        for (int64_t q = 0; q < item->queries; q += nr) {
            one_strip(item, q, k0, keys);
        }
    }
    for (int64_t q = 0; q < item->queries; q += nr) {
        write_strip(item, q);
    }
}

static void run_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_attention *a = job->a;
    const struct vt_attention_data *data = job->data;
    if (a->bf16 != NULL && a->bf16->begin != NULL) {
        a->bf16->begin();
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = i / job->part.items_a_head, queries = job->part.strips * job->part.nr;
        struct item item = {.a = a,
                            .data = data,
                            .part = job->part,
                            .batch = row / a->q_heads,
                            .head = row % a->q_heads,
                            .first = i % job->part.items_a_head * queries,
                            .before = a->past_len,
                            .end = a->past_len + a->kv_len};
        item.kv_head = item.head / (a->q_heads / a->kv_heads);
        item.queries = min_i64(queries, a->q_len - item.first);
        if (data->valid != NULL) {
            item.before = data->valid[item.batch] - a->q_len;
            item.end = min_i64(item.end, data->valid[item.batch]);
        }
        if (data->mask != NULL) {
            item.end = min_i64(item.end, a->mask_len);
        }
        item.s = scratch_of(a, &job->part, job->workspace + worker * job->step);
        run_item(&item);
    }
    if (a->bf16 != NULL && a->bf16->end != NULL) {
        a->bf16->end();
    }
}

void vt_attention_flash(const struct vt_attention *a, const struct vt_attention_data *data,
                        struct vt_pool *pool, float *workspace)
{
    struct job job = {.a = a, .data = data, .workspace = workspace};
    size_t unused[PARTS];
    job.part = partition_of(a, vt_pool_threads(pool));
    job.step = cut(a, &job.part, unused);
    vt_pool_run(pool, a->batch * a->q_heads * job.part.items_a_head, 1, run_items, &job);
}
