/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm16/gemm16.h"

#include <string.h>

#include "base/topology.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm16/kernels.h"
#if defined(__x86_64__)
#include "kernels/gemm8/kernels.h"
#endif

#define NR VT_GEMM16_NR
#define KU VT_GEMM16_KU
/* A panel's part of so many steps stays in the first-level cache while rows of A pass. */
#define KC 512
/* The second-level cache where it is unknown, and how much of it rows of A may fill. */
#define L2_BYTES ((size_t)1024 * 1024)
#define L2_SHARE 3 / 5
/* Rows start in different sets of the cache. */
#define ROW_GAP KU
/* Work items a thread should get, so that drawing them evens out a slow core. */
#define ITEMS_PER_THREAD 4
#define CACHE_LINE       64
/* Rows that are made in float32 before they are narrowed. */
#define CHUNK_ROWS 8
/* Rows of a block: beyond, their sums of one panel would fill the cache. */
#define ROWS_MOST ((int64_t)1024)
/* Elements of B up to which it stays in the second-level cache while rows pass. */
#define B_CACHED      ((int64_t)256 * 1024)
#define PREFETCH_MOST 16

static const struct vt_gemm16_kernel kernel_portable = {
    .name = "4x32 portable",
    .mr = 4,
    .sum = vt_bf16_gemm_4x32__portable,
    .narrow = vt_bf16_narrow__portable,
    .pair = vt_bf16_pair__portable,
    .finish = vt_bf16_finish__portable,
};
#if defined(__x86_64__)
static const struct vt_gemm16_kernel kernel_avx512 = {
    .name = "12x32 avx512",
    .mr = 12,
    .sum = vt_bf16_gemm_12x32__avx512,
    .narrow = vt_bf16_narrow__avx512,
    .pair = vt_bf16_pair__avx512,
    .finish = vt_bf16_finish__avx512,
};
static const struct vt_gemm16_kernel kernel_amx = {
    .name = "32x32 amx",
    .mr = 32,
    .begin = vt_amx_begin,
    .end = vt_amx_end,
    .sum = vt_bf16_gemm_32x32__amx,
    .narrow = vt_bf16_narrow__avx512,
    .pair = vt_bf16_pair__avx512,
    .finish = vt_bf16_finish__avx512,
};
#endif

const struct vt_gemm16_kernel *vt_gemm16_kernel_at(uint32_t features, uint32_t i)
{
    const struct vt_gemm16_kernel *usable[3] = {&kernel_portable};
    uint32_t n = 1;
#if defined(__x86_64__)
    const uint32_t wide = VT_CPU_AVX512 | VT_CPU_BF16;
    if ((features & wide) == wide) {
        usable[n++] = &kernel_avx512;
        if ((features & VT_CPU_AMX) != 0 && vt_amx_permitted()) {
            usable[n++] = &kernel_amx;
        }
    }
#else
    (void)features;
#endif
    return i < n ? usable[i] : NULL;
}

const struct vt_gemm16_kernel *vt_gemm16_kernel_find(uint32_t features)
{
    const struct vt_gemm16_kernel *best = NULL;
    for (uint32_t i = 1; vt_gemm16_kernel_at(features, i) != NULL; i++) {
        best = vt_gemm16_kernel_at(features, i);
    }
    return best;
}

/* --- packing --------------------------------------------------------------------------------- */

bool vt_gemm16_packed_b_size(int64_t k, int64_t n, size_t *ret_bytes)
{
    const size_t lanes = (size_t)gemm_round_up(n, NR), steps = (size_t)vt_gemm16_pad(k);
    size_t elements;
    return !__builtin_mul_overflow(lanes, steps, &elements) &&
           !__builtin_mul_overflow(elements, sizeof(uint16_t), ret_bytes);
}

/* One panel: columns [0, cols) of B. */
static void pack_panel(const float *b, int64_t row_stride, int64_t col_stride, int64_t k,
                       int64_t cols, uint16_t *to)
{
    memset(to, 0, (size_t)(vt_gemm16_pad(k) * NR) * sizeof(*to));
    for (int64_t i = 0; i < k; i++) {
        uint16_t *out = to + i / 2 * (ptrdiff_t)(2 * NR) + i % 2;
        const float *row = b + i * row_stride;
        for (int64_t j = 0; j < cols; j++) {
            out[2 * j] = vt_bf16_round(row[j * col_stride]);
        }
    }
}

void vt_gemm16_pack_b(int64_t k, int64_t n, const struct vt_gemm_matrix *b, uint16_t *ret_packed)
{
    for (int64_t j = 0; j < n; j += NR) {
        pack_panel(b->data + j * b->col_stride, b->row_stride, b->col_stride, k,
                   gemm_min(NR, n - j), ret_packed + j * vt_gemm16_pad(k));
    }
}

/* --- how the work is cut --------------------------------------------------------------------- */

#define PAYS_COLUMNS   8
#define PAYS_STEPS     24
#define PAYS_ROWS      64
#define PAYS_STEPS_ALL 32768 /* of all results together: else starting costs more */

bool vt_gemm16_pays(const struct vt_gemm *gemm)
{
    const double all = (double)gemm->batches * (double)gemm->m * (double)gemm->n * (double)gemm->k;
    if (gemm->n < PAYS_COLUMNS || gemm->k < PAYS_STEPS || all < PAYS_STEPS_ALL) {
        return false;
    }
    /* A factor that is packed for a few rows is read once more than it need be. */
    return gemm->b_packed || gemm->m >= PAYS_ROWS;
}

struct partition {
    int64_t k, stride;        /* padded; from row to row of A */
    int64_t block_m, block_n; /* of an item */
    int64_t items_m, items_n;
    bool shared;                                   /* rows of A are converted once for all items */
    size_t shared_bytes;                           /* of those */
    size_t a_bytes, b_bytes, c_bytes, chunk_bytes; /* of a worker */
};

static size_t whole_lines(int64_t bytes)
{
    return (size_t)gemm_round_up(bytes, CACHE_LINE);
}

static void partition_init(struct partition *p, const struct vt_gemm *gemm, uint32_t threads)
{
    const int64_t mr = gemm->bf16->mr, panels = gemm_round_up(gemm->n, NR) / NR;
    const int64_t wanted = threads == 1 ? 1 : (int64_t)threads * ITEMS_PER_THREAD;
    const size_t l2 = vt_topology()->l2_bytes != 0 ? vt_topology()->l2_bytes : L2_BYTES;
    p->k = vt_gemm16_pad(gemm->k);
    p->stride = p->k + ROW_GAP;
    int64_t rows = (int64_t)(l2 * L2_SHARE) / (p->stride * (int64_t)sizeof(uint16_t));
    rows = rows > ROWS_MOST ? ROWS_MOST : rows;
    rows = rows < mr ? mr : rows;
    rows = gemm_min(rows / mr * mr, gemm_round_up(gemm->m, mr));
    p->items_m = (gemm->m + rows - 1) / rows;
    /* Blocks alike. */
    p->block_m = gemm_round_up((gemm->m + p->items_m - 1) / p->items_m, mr);
    p->items_m = (gemm->m + p->block_m - 1) / p->block_m;
    p->items_n = 1;
    if (gemm->batches * p->items_m < wanted) {
        p->items_n = (wanted + gemm->batches * p->items_m - 1) / (gemm->batches * p->items_m);
        p->items_n = gemm_min(p->items_n, panels);
    }
    p->block_n = (panels + p->items_n - 1) / p->items_n * NR;
    p->items_n = (gemm->n + p->block_n - 1) / p->block_n;
    p->shared = p->items_n > 1;
    const int64_t block_bytes = p->block_m * p->stride * (int64_t)sizeof(uint16_t);
    p->shared_bytes = p->shared ? whole_lines(gemm->batches * p->items_m * block_bytes) : 0;
    p->a_bytes = p->shared ? 0 : whole_lines(block_bytes);
    p->b_bytes = gemm->b_packed ? 0 : whole_lines(p->k * NR * (int64_t)sizeof(uint16_t));
    p->c_bytes = whole_lines((p->k > KC ? p->block_m : mr) * NR * (int64_t)sizeof(float));
    p->chunk_bytes = gemm->rows_a != NULL || gemm->a_col_stride != 1
                         ? whole_lines(CHUNK_ROWS * p->k * (int64_t)sizeof(float))
                         : 0;
}

static size_t worker_bytes(const struct partition *p)
{
    return p->a_bytes + p->b_bytes + p->c_bytes + p->chunk_bytes;
}

size_t vt_gemm16_workspace_bytes(const struct vt_gemm *gemm, uint32_t threads)
{
    struct partition p;
    partition_init(&p, gemm, threads);
    return p.shared_bytes + threads * worker_bytes(&p);
}

/* --- the product ----------------------------------------------------------------------------- */

struct job {
    const struct vt_gemm *gemm;
    struct partition part;
    char *workspace;
};

struct scratch {
    uint16_t *a, *b;
    float *c, *chunk;
};

static struct scratch scratch_of(const struct job *job, uint32_t worker)
{
    const struct partition *p = &job->part;
    char *at = job->workspace + p->shared_bytes + worker * worker_bytes(p);
    return (struct scratch){.a = (uint16_t *)(void *)at,
                            .b = (uint16_t *)(void *)(at + p->a_bytes),
                            .c = (float *)(void *)(at + p->a_bytes + p->b_bytes),
                            .chunk = (float *)(void *)(at + p->a_bytes + p->b_bytes + p->c_bytes)};
}

/* Rows [m0, m0 + rows) of A, narrowed. */
static void narrow_rows(const struct job *job, int64_t batch, const float *a, int64_t m0,
                        int64_t rows, float *chunk, uint16_t *to)
{
    const struct vt_gemm *gemm = job->gemm;
    const struct partition *p = &job->part;
    const float *from = a + m0 * gemm->a_row_stride;
    for (int64_t r = 0; r < rows; r += CHUNK_ROWS) {
        const int64_t n = gemm_min(CHUNK_ROWS, rows - r);
        const float *source = from + r * gemm->a_row_stride;
        int64_t stride = gemm->a_row_stride;
        if (gemm->rows_a != NULL) {
            gemm->rows_a(gemm->ctx, batch, 0, gemm->k, m0 + r, n, p->k, chunk);
            source = chunk;
            stride = p->k;
        } else if (gemm->a_col_stride != 1) {
            for (int64_t k = 0; k < gemm->k; k++) {
                for (int64_t i = 0; i < n; i++) {
                    chunk[i * p->k + k] = source[i * gemm->a_row_stride + k * gemm->a_col_stride];
                }
            }
            source = chunk;
            stride = p->k;
        }
        for (int64_t i = 0; i < n; i++) {
            gemm->bf16->narrow(source + i * stride, gemm->k, p->k, to + (r + i) * p->stride);
        }
    }
}

/* Rows by columns of one product, whose A is there. */
struct block {
    const struct vt_gemm *gemm;
    const struct partition *part;
    struct vt_gemm_place place;
    const uint16_t *a;
    int64_t m0, m1;
    float *sums; /* of a tile; where k is cut, of all rows */
};

/* A panel of B against the block's rows. */
struct panel {
    const uint16_t *b, *next; /* `next` is asked for meanwhile; NULL: nothing */
    int64_t n;
    uint32_t cols;
};

/* Where the next panel is, so many lines each KU steps: while this one is worked on. */
static void plan_prefetch(const struct block *block, const uint16_t *next,
                          struct vt_gemm16_tile *tile)
{
    const int64_t mr = block->gemm->bf16->mr, k = block->part->k;
    const int64_t tiles = (block->m1 - block->m0 + mr - 1) / mr;
    const int64_t lines = k * NR * (int64_t)sizeof(uint16_t) / CACHE_LINE;
    const int64_t each = (lines + tiles * (k / KU) - 1) / (tiles * (k / KU));
    tile->prefetch = next;
    tile->prefetch_lines = next != NULL ? (uint32_t)gemm_min(each, PREFETCH_MOST) : 0;
}

static void finish_tile(const struct block *block, const struct panel *panel, int64_t m,
                        uint32_t rows, float *sums)
{
    const struct vt_gemm *gemm = block->gemm;
    const struct vt_gemm_place *place = &block->place;
    const int64_t at = m * gemm->ldc + panel->n;
    const struct vt_gemm16_finish finish = {
        .sums = sums,
        .rows = rows,
        .cols = panel->cols,
        .c = place->c + at,
        .ldc = gemm->ldc,
        .row_bias = place->row_bias != NULL ? place->row_bias + m : NULL,
        .col_bias = place->col_bias != NULL ? place->col_bias + panel->n : NULL,
        .residual = place->residual != NULL ? place->residual + at : NULL,
        .activation = &gemm->finish,
        .activate = gemm->kernel->activate,
    };
    gemm->bf16->finish(&finish);
}

/* One tile of steps [k0, k0 + tile->k), finished where these are the last ones. */
static void compute_tile(const struct block *block, const struct panel *panel, int64_t k0,
                         int64_t m, struct vt_gemm16_tile *tile)
{
    const struct vt_gemm16_kernel *kernel = block->gemm->bf16;
    const struct partition *p = block->part;
    tile->rows = (uint32_t)gemm_min(kernel->mr, block->m1 - m);
    tile->cols = panel->cols;
    tile->b = panel->b + k0 * NR;
    tile->accumulate = k0 > 0;
    tile->a = block->a + (m - block->m0) * tile->a_stride + k0;
    tile->sums = block->sums + (p->k > KC ? (m - block->m0) * NR : 0);
    kernel->sum(tile);
    if (k0 + tile->k == p->k) {
        finish_tile(block, panel, m, tile->rows, tile->sums);
    }
}

static void compute_panel(const struct block *block, const struct panel *panel)
{
    const int64_t mr = block->gemm->bf16->mr, k = block->part->k;
    struct vt_gemm16_tile tile = {.a_stride = block->part->stride};
    plan_prefetch(block, panel->next, &tile);
    for (int64_t k0 = 0; k0 < k; k0 += KC) {
        tile.k = gemm_min(KC, k - k0);
        for (int64_t m = block->m0; m < block->m1; m += mr) {
            compute_tile(block, panel, k0, m, &tile);
            if (tile.prefetch != NULL) {
                tile.prefetch = (const char *)tile.prefetch +
                                (size_t)(tile.k / KU) * tile.prefetch_lines * CACHE_LINE;
            }
        }
    }
}

/* Columns [n0, n1) of a B that the cache holds: row after row of C is written. */
static void compute_rows(const struct block *block, const uint16_t *b, int64_t n0, int64_t n1)
{
    const int64_t mr = block->gemm->bf16->mr, k = block->part->k;
    struct vt_gemm16_tile tile = {.a_stride = block->part->stride, .k = k};
    for (int64_t m = block->m0; m < block->m1; m += mr) {
        for (int64_t n = n0; n < n1; n += NR) {
            const struct panel panel = {
                .b = b + n * k, .n = n, .cols = (uint32_t)gemm_min(NR, n1 - n)};
            compute_tile(block, &panel, 0, m, &tile);
        }
    }
}

static void compute_columns(const struct block *block, int64_t n0, int64_t n1, uint16_t *scratch)
{
    const struct vt_gemm *gemm = block->gemm;
    const int64_t k = block->part->k;
    const uint16_t *b = (const uint16_t *)(const void *)block->place.b;
    if (gemm->b_packed && k <= KC && k * (n1 - n0) <= B_CACHED) {
        compute_rows(block, b, n0, n1);
        return;
    }
    for (int64_t n = n0; n < n1; n += NR) {
        struct panel panel = {.n = n, .cols = (uint32_t)gemm_min(NR, n1 - n)};
        if (gemm->b_packed) {
            panel.b = b + n * k;
            panel.next = n + NR < n1 ? panel.b + NR * k : NULL;
        } else {
            const float *from = block->place.b + n * gemm->b_col_stride;
            if (gemm->b_col_stride == 1 && panel.cols == NR) {
                gemm->bf16->pair(from, gemm->b_row_stride, gemm->k, k, scratch);
            } else {
                pack_panel(from, gemm->b_row_stride, gemm->b_col_stride, gemm->k, panel.cols,
                           scratch);
            }
            panel.b = scratch;
        }
        compute_panel(block, &panel);
    }
}

static void compute_item(const struct job *job, int64_t item, const struct scratch *scratch)
{
    const struct vt_gemm *gemm = job->gemm;
    const struct partition *p = &job->part;
    const int64_t rows_item = item / p->items_n, batch = rows_item / p->items_m;
    struct block block = {.gemm = gemm, .part = p, .sums = scratch->c};
    gemm->locate(gemm->ctx, batch, &block.place);
    block.m0 = rows_item % p->items_m * p->block_m;
    block.m1 = gemm_min(gemm->m, block.m0 + p->block_m);
    if (p->shared) {
        block.a = (const uint16_t *)(void *)job->workspace + rows_item * p->block_m * p->stride;
    } else {
        narrow_rows(job, batch, block.place.a, block.m0, block.m1 - block.m0, scratch->chunk,
                    scratch->a);
        block.a = scratch->a;
    }
    const int64_t n0 = item % p->items_n * p->block_n;
    compute_columns(&block, n0, gemm_min(gemm->n, n0 + p->block_n), scratch->b);
}

static void run_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_gemm16_kernel *kernel = job->gemm->bf16;
    const struct scratch scratch = scratch_of(job, worker);
    if (kernel->begin != NULL) {
        kernel->begin();
    }
    for (int64_t item = begin; item < end; item++) {
        compute_item(job, item, &scratch);
    }
    if (kernel->end != NULL) {
        kernel->end();
    }
}

#define SHARED_ROWS ((int64_t)32) /* that are converted at once */

static int64_t shared_chunks(const struct partition *p)
{
    return (p->block_m + SHARED_ROWS - 1) / SHARED_ROWS;
}

static void convert_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_gemm *gemm = job->gemm;
    const struct partition *p = &job->part;
    const struct scratch scratch = scratch_of(job, worker);
    for (int64_t item = begin; item < end; item++) {
        const int64_t rows_item = item / shared_chunks(p), batch = rows_item / p->items_m;
        const int64_t first = item % shared_chunks(p) * SHARED_ROWS;
        const int64_t m0 = rows_item % p->items_m * p->block_m + first;
        const int64_t rows = gemm_min(gemm_min(SHARED_ROWS, p->block_m - first), gemm->m - m0);
        struct vt_gemm_place place = {0};
        gemm->locate(gemm->ctx, batch, &place);
        if (rows > 0) {
            narrow_rows(job, batch, place.a, m0, rows, scratch.chunk,
                        (uint16_t *)(void *)job->workspace +
                            (rows_item * p->block_m + first) * p->stride);
        }
    }
}

void vt_gemm16_run(const struct vt_gemm *gemm, struct vt_pool *pool, void *workspace)
{
    struct job job = {.gemm = gemm, .workspace = workspace};
    partition_init(&job.part, gemm, vt_pool_threads(pool));
    const struct partition *p = &job.part;
    if (p->shared) {
        vt_pool_run(pool, gemm->batches * p->items_m * shared_chunks(p), 1, convert_items, &job);
    }
    vt_pool_run(pool, gemm->batches * p->items_m * p->items_n, 1, run_items, &job);
}
