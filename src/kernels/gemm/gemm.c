/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/gemm.h"

#include <string.h>

#include "base/topology.h"
#include "kernels/gemm/half.h"
#include "kernels/gemm/kernels.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/skinny.h"
#include "kernels/gemm16/gemm16.h"

/* Work items a thread should get, so that drawing them evens out a slow core. */
#define ITEMS_PER_THREAD 4
/* The second-level cache where it is unknown, and how much of it a block of a factor may fill: the
 * other factor, C and what is prefetched want room too. */
#define L2_BYTES    ((size_t)512 * 1024)
#define L2_SHARE    8
#define PANEL_TILES 4 /* at least, else packing and short tiles cost more than the caches give */
/* Rows of A this far apart fall into the same sets of the first-level cache. */
#define ALIASING_FLOATS 1024
/* What a copied row is longer than its steps: rows then start in different sets. */
#define ROW_GAP 16
/* Bytes that the micro-kernels ask for at each step: at most, and where they can choose at least. A
 * faster pace than needed takes the requests away from the operands at hand. */
#define PACE_MAX 64
#define PACE_MIN 16

static const struct vt_gemm_kernel kernel_portable = {
    .mr = 4,
    .nr = 8,
    .masks = false,
    .packed = vt_f32_gemm_packed_4x8__portable,
    .rows = vt_f32_gemm_rows_4x8__portable,
    .lines = vt_f32_gemm_lines_4x8__portable,
    .indirect = vt_f32_gemm_indirect_4x8__portable,
    .turn = vt_f32_turn__portable,
    .activate = vt_f32_activate__portable,
    .sums = vt_f32_sums__portable,
    .dots = vt_f32_dots__portable,
};
#if defined(__x86_64__)
static const struct vt_gemm_kernel kernel_avx2 = {
    .mr = 6,
    .nr = 16,
    .masks = false,
    .packed = vt_f32_gemm_packed_6x16__avx2,
    .rows = vt_f32_gemm_rows_6x16__avx2,
    .lines = vt_f32_gemm_lines_6x16__avx2,
    .indirect = vt_f32_gemm_indirect_6x16__avx2,
    .turn = vt_f32_turn__avx2,
    .activate = vt_f32_activate__avx2,
    .sums = vt_f32_sums__avx2,
    .dots = vt_f32_dots__avx2,
};
static const struct vt_gemm_kernel kernel_avx512 = {
    .mr = 14,
    .nr = 32,
    .paces = true,
    .masks = true,
    .packed = vt_f32_gemm_packed_14x32__avx512,
    .rows = vt_f32_gemm_rows_14x32__avx512,
    .lines = vt_f32_gemm_lines_14x32__avx512,
    .indirect = vt_f32_gemm_indirect_14x32__avx512,
    .turn = vt_f32_turn__avx2,
    .activate = vt_f32_activate__avx512,
    .sums = vt_f32_sums__avx512,
    .dots = vt_f32_dots__avx512,
};
#endif

const struct vt_gemm_kernel *vt_gemm_kernel_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return &kernel_avx512;
    }
    if (features & VT_CPU_AVX2) {
        return &kernel_avx2;
    }
#else
    (void)features;
#endif
    return &kernel_portable;
}

void vt_gemm_tile_narrow(const struct vt_gemm_kernel *kernel, vt_gemm_tile_func func,
                         const struct vt_gemm_tile *tile, uint32_t rows, uint32_t cols)
{
    const uint32_t nr = kernel->nr;
    _Alignas(64) float c[VT_GEMM_MR_MAX * VT_GEMM_NR_MAX];
    _Alignas(64) float residual[VT_GEMM_MR_MAX * VT_GEMM_NR_MAX];
    _Alignas(64) float col_bias[VT_GEMM_NR_MAX];
    struct vt_gemm_tile wide = *tile;
    const size_t bytes = cols * sizeof(float);

    if (kernel->masks || cols == nr) {
        wide.cols = cols;
        func(&wide, rows);
        return;
    }
    wide.c = c;
    wide.ldc = nr;
    memset(c, 0, (size_t)rows * nr * sizeof(float));
    if (tile->accumulate) {
        for (uint32_t i = 0; i < rows; i++) {
            memcpy(c + (size_t)i * nr, tile->c + i * tile->ldc, bytes);
        }
    }
    if (tile->finish != NULL && tile->residual != NULL) {
        memset(residual, 0, (size_t)rows * nr * sizeof(float));
        for (uint32_t i = 0; i < rows; i++) {
            memcpy(residual + (size_t)i * nr, tile->residual + i * tile->ldc, bytes);
        }
        wide.residual = residual;
    }
    if (tile->finish != NULL && tile->col_bias != NULL) {
        memset(col_bias, 0, sizeof(col_bias));
        memcpy(col_bias, tile->col_bias, bytes);
        wide.col_bias = col_bias;
    }
    func(&wide, rows);
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(tile->c + i * tile->ldc, c + (size_t)i * nr, bytes);
    }
}

/* --- how the work is cut --------------------------------------------------------------------- */

/* How the micro-kernel gets A. */
enum source {
    SOURCE_PACKED, /* by the caller */
    SOURCE_PLACE,  /* rows in memory */
    SOURCE_COPIED, /* rows in the workspace */
    SOURCE_PANELS, /* packed into the workspace */
};

/* Blocks of C, and the scratch a worker packs into. */
struct partition {
    enum source a;
    int64_t block_m, block_n;
    int64_t items_m, items_n;
    int64_t panel_m;           /* rows that are gone through for each panel of B */
    size_t a_floats, b_floats; /* 0 where that factor needs no scratch */
};

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static enum source source_of(const struct vt_gemm *gemm)
{
    if (gemm->a_packed) {
        return SOURCE_PACKED;
    }
    if (gemm->rows_a != NULL) {
        return SOURCE_COPIED;
    }
    if (gemm->pack_a != NULL || gemm->a_col_stride != 1) {
        return SOURCE_PANELS;
    }
    /* A few columns of C are not worth a copy. */
    const bool aliases = gemm->a_row_stride % ALIASING_FLOATS == 0 && gemm->m > 4;
    return aliases && gemm->n > 2 * (int64_t)gemm->kernel->nr ? SOURCE_COPIED : SOURCE_PLACE;
}

/* Halves blocks until every thread gets enough of them. */
static void cut_blocks(struct partition *p, const struct vt_gemm *gemm, int64_t wanted)
{
    const int64_t mr = gemm->kernel->mr, nr = gemm->kernel->nr;
    while (gemm->batches * p->items_m * p->items_n < wanted) {
        bool n_first = p->block_n > nr && (p->block_n >= p->block_m || p->block_m <= mr);
        if (!gemm->b_packed && p->block_n > 2 * nr) {
            n_first = true; /* cutting rows would pack B once more for each cut */
        }
        if (n_first) {
            p->block_n = gemm_round_up(p->block_n / 2, nr);
        } else if (p->block_m > mr) {
            p->block_m = gemm_round_up(p->block_m / 2, mr);
        } else {
            break;
        }
        p->items_m = div_up(gemm->m, p->block_m);
        p->items_n = div_up(gemm->n, p->block_n);
    }
}

static int64_t clamp_to(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : gemm_min(x, high);
}

/* Rows that are gone through for each panel of B. */
static int64_t panel_rows(const struct vt_gemm *gemm, int64_t kc, int64_t share)
{
    const int64_t mr = gemm->kernel->mr, least = PANEL_TILES * mr;
    /* A's block stays in its share of the cache. */
    int64_t rows = share / (gemm_round_up(kc, ROW_GAP) + ROW_GAP);
    if (gemm->n * kc <= share) {
        /* So does B: then C's and the residual's may, too. */
        rows = gemm_min(rows, share / (2 * gemm_round_up(gemm->n, ROW_GAP)));
    }
    return clamp_to(rows / mr * mr, least, gemm_round_up(gemm->m, mr));
}

static void partition_init(struct partition *p, const struct vt_gemm *gemm, uint32_t threads)
{
    const int64_t mr = gemm->kernel->mr, nr = gemm->kernel->nr;
    const int64_t wanted = threads == 1 ? 1 : (int64_t)threads * ITEMS_PER_THREAD;
    const int64_t kc = gemm_min(VT_GEMM_KC, gemm->k > 0 ? gemm->k : 1);
    const size_t l2 = vt_topology()->l2_bytes != 0 ? vt_topology()->l2_bytes : L2_BYTES;
    const int64_t share = (int64_t)(l2 / L2_SHARE / sizeof(float));
    const int64_t m = gemm_round_up(gemm->m, mr), n = gemm_round_up(gemm->n, nr);

    p->a = source_of(gemm);
    p->panel_m = panel_rows(gemm, kc, share);
    /* Each cut in rows packs B once more, and each cut in columns visits A once more. */
    p->block_m = gemm->b_packed && !gemm->a_packed ? p->panel_m : m;
    p->block_n = gemm->b_packed ? n : clamp_to(share / kc / nr * nr, PANEL_TILES * nr, n);
    p->items_m = div_up(gemm->m, p->block_m);
    p->items_n = div_up(gemm->n, p->block_n);
    cut_blocks(p, gemm, wanted);
    p->panel_m = gemm_min(p->panel_m, p->block_m);
    p->a_floats = p->b_floats = 0;
    if (p->a == SOURCE_PANELS) {
        p->a_floats = (size_t)(p->panel_m * kc);
    } else if (p->a == SOURCE_COPIED) {
        p->a_floats = (size_t)(p->panel_m * (gemm_round_up(kc, ROW_GAP) + ROW_GAP));
    }
    if (!gemm->b_packed) {
        p->b_floats = (size_t)(p->block_n * kc);
    }
    /* Whole cache lines, so that no two workers share one. */
    p->a_floats = (p->a_floats + 15) / 16 * 16;
    p->b_floats = (p->b_floats + 15) / 16 * 16;
}

size_t vt_gemm_workspace_bytes(const struct vt_gemm *gemm, uint32_t threads)
{
    struct partition p;
    if (gemm->m == 0 || gemm->n == 0 || gemm->batches == 0) {
        return 0;
    }
    if (gemm->bf16 != NULL) {
        return vt_gemm16_workspace_bytes(gemm, threads);
    }
    if (gemm->half != NULL) {
        return 0;
    }
    if (vt_gemm_is_skinny(gemm)) {
        return vt_gemm_skinny_workspace_bytes(gemm, threads);
    }
    partition_init(&p, gemm, threads);
    return threads * (p.a_floats + p.b_floats) * sizeof(float);
}

/* --- the product ----------------------------------------------------------------------------- */

struct job {
    const struct vt_gemm *gemm;
    struct partition part;
    float *workspace;
};

/* Some rows of C by some columns, for one block of k. */
struct block {
    int64_t batch;
    int64_t m0, m1, n0, n1;
    int64_t k0, kc;
    const float *a, *b; /* of this block's first row and column */
    int64_t a_stride;   /* between rows of A; 0: panels */
};

/* Then the sums start from it, as they go on from those of the steps before. */
static bool is_over_residual(const struct vt_gemm_place *place)
{
    return place->residual == place->c;
}

/* One panel of B, which begins at column n, against the block's rows. */
static void panel_compute(const struct vt_gemm *gemm, const struct vt_gemm_place *place,
                          const struct block *block, struct vt_gemm_tile *tile, int64_t n)
{
    const struct vt_gemm_kernel *kernel = gemm->kernel;
    const uint32_t cols = (uint32_t)gemm_min(kernel->nr, block->n1 - n);
    const bool in_rows = block->a_stride != 0;
    /* The next panel of B is asked for while the tiles of this one run. */
    const char *next = (const char *)(tile->b + kernel->nr * block->kc);
    const char *end =
        next + (n + kernel->nr < block->n1 ? kernel->nr * block->kc : 0) * (int64_t)sizeof(float);
    int64_t tiles = div_up(block->m1 - block->m0, kernel->mr);
    const int64_t pace =
        kernel->paces
            ? clamp_to(div_up(kernel->nr * (int64_t)sizeof(float), tiles), PACE_MIN, PACE_MAX)
            : PACE_MAX;
    tile->prefetch_pace = pace;
    float *first_c = place->c + block->m0 * gemm->ldc + n;
    uint32_t rows;
    for (int64_t m = block->m0; m < block->m1; m += rows, tiles--) {
        /* Rows in place are shared out evenly: short tiles are slow. */
        rows = (uint32_t)(in_rows ? div_up(block->m1 - m, tiles)
                                  : gemm_min(kernel->mr, block->m1 - m));
        tile->a = block->a + (m - block->m0) * (in_rows ? block->a_stride : block->kc);
        tile->c = place->c + m * gemm->ldc + n;
        tile->row_bias = place->row_bias != NULL ? place->row_bias + m : NULL;
        tile->residual = is_over_residual(place) || place->residual == NULL
                             ? NULL
                             : place->residual + m * gemm->ldc + n;
        tile->next_c = tiles > 1                    ? tile->c + rows * gemm->ldc
                       : n + kernel->nr < block->n1 ? first_c + kernel->nr
                                                    : NULL;
        tile->prefetch = next < end ? next : NULL;
        next += pace * block->kc;
        vt_gemm_tile_narrow(kernel, in_rows ? kernel->rows : kernel->packed, tile, rows, cols);
    }
}

static void block_compute(const struct vt_gemm *gemm, const struct vt_gemm_place *place,
                          const struct block *block)
{
    struct vt_gemm_tile tile = {.k = block->kc,
                                .a_stride = block->a_stride,
                                .ldc = gemm->ldc,
                                .accumulate = block->k0 > 0 || is_over_residual(place),
                                .finish = block->k0 + block->kc >= gemm->k ? &gemm->finish : NULL};
    for (int64_t n = block->n0; n < block->n1; n += gemm->kernel->nr) {
        tile.b = block->b + (n - block->n0) * block->kc;
        tile.col_bias = place->col_bias != NULL ? place->col_bias + n : NULL;
        panel_compute(gemm, place, block, &tile, n);
    }
}

static const float *a_at(const struct vt_gemm *gemm, const struct vt_gemm_place *place,
                         const struct block *block)
{
    return place->a + block->m0 * gemm->a_row_stride + block->k0 * gemm->a_col_stride;
}

/* Rows one behind the other with a gap between, which the cache can hold all at once. */
static void copy_rows(const float *from, int64_t from_stride, int64_t rows, int64_t kc,
                      int64_t stride, float *out)
{
    for (int64_t i = 0; i < rows; i++) {
        memcpy(out + i * stride, from + i * from_stride, (size_t)kc * sizeof(float));
    }
}

/* Brings A and B of a block to where and how the micro-kernel wants them. */
static void block_a(const struct job *job, const struct vt_gemm_place *place, float *scratch,
                    struct block *block)
{
    const struct vt_gemm *gemm = job->gemm;
    const uint32_t mr = gemm->kernel->mr;
    const int64_t rows = block->m1 - block->m0, kc = block->kc;
    const int64_t stride = gemm_round_up(gemm_min(VT_GEMM_KC, gemm->k), ROW_GAP) + ROW_GAP;
    block->a = scratch;
    block->a_stride = 0;
    switch (job->part.a) {
    case SOURCE_PACKED:
        block->a = place->a + block->k0 * gemm_round_up(gemm->m, mr) + block->m0 * kc;
        break;
    case SOURCE_PLACE:
        block->a = a_at(gemm, place, block);
        block->a_stride = gemm->a_row_stride;
        break;
    case SOURCE_COPIED:
        block->a_stride = stride;
        if (gemm->rows_a != NULL) {
            gemm->rows_a(gemm->ctx, block->batch, block->k0, kc, block->m0, rows, stride, scratch);
        } else {
            copy_rows(a_at(gemm, place, block), gemm->a_row_stride, rows, kc, stride, scratch);
        }
        break;
    case SOURCE_PANELS:
        if (gemm->pack_a != NULL) {
            gemm->pack_a(gemm->ctx, mr, block->batch, block->k0, kc, block->m0, rows, scratch);
        } else {
            vt_gemm_pack_panels(gemm->kernel, mr, rows, kc, a_at(gemm, place, block),
                                gemm->a_row_stride, gemm->a_col_stride, NULL, scratch);
        }
        break;
    }
}

static void block_b(const struct job *job, const struct vt_gemm_place *place, float *scratch,
                    struct block *block)
{
    const struct vt_gemm *gemm = job->gemm;
    const uint32_t nr = gemm->kernel->nr;
    const int64_t cols = block->n1 - block->n0, kc = block->kc;
    block->b = scratch;
    if (gemm->b_packed) {
        block->b = place->b + block->k0 * gemm_round_up(gemm->n, nr) + block->n0 * kc;
    } else if (gemm->pack_b != NULL) {
        gemm->pack_b(gemm->ctx, nr, block->batch, block->k0, kc, block->n0, cols, scratch);
    } else {
        vt_gemm_pack_panels(gemm->kernel, nr, cols, kc,
                            place->b + block->n0 * gemm->b_col_stride +
                                block->k0 * gemm->b_row_stride,
                            gemm->b_col_stride, gemm->b_row_stride, NULL, scratch);
    }
}

static void item_compute(const struct job *job, int64_t item, float *scratch)
{
    const struct vt_gemm *gemm = job->gemm;
    const struct partition *p = &job->part;
    const int64_t m0 = item / p->items_n % p->items_m * p->block_m;
    const int64_t m1 = gemm_min(gemm->m, m0 + p->block_m);
    struct vt_gemm_place place = {0};
    struct block block = {.batch = item / (p->items_m * p->items_n)};

    gemm->locate(gemm->ctx, block.batch, &place);
    block.n0 = item % p->items_n * p->block_n;
    block.n1 = gemm_min(gemm->n, block.n0 + p->block_n);
    do {
        block.kc = gemm_min(VT_GEMM_KC, gemm->k - block.k0);
        block_b(job, &place, scratch + p->a_floats, &block);
        for (block.m0 = m0; block.m0 < m1; block.m0 = block.m1) {
            block.m1 = gemm_min(m1, block.m0 + p->panel_m);
            block_a(job, &place, scratch, &block);
            block_compute(gemm, &place, &block);
        }
        block.k0 += VT_GEMM_KC;
    } while (block.k0 < gemm->k);
}

static void run_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const size_t floats = job->part.a_floats + job->part.b_floats;
    for (int64_t item = begin; item < end; item++) {
        item_compute(job, item, job->workspace + worker * floats);
    }
}

bool vt_gemm_over_residual(const struct vt_gemm *gemm)
{
    return !vt_gemm_is_skinny(gemm);
}

void vt_gemm_run(const struct vt_gemm *gemm, struct vt_pool *pool, void *workspace)
{
    struct job job = {.gemm = gemm, .workspace = workspace};
    if (gemm->m == 0 || gemm->n == 0 || gemm->batches == 0) {
        return;
    }
    if (gemm->bf16 != NULL) {
        vt_gemm16_run(gemm, pool, workspace);
        return;
    }
    if (gemm->half != NULL) {
        vt_gemm_half_run(gemm, pool);
        return;
    }
    if (vt_gemm_is_skinny(gemm)) {
        vt_gemm_skinny_run(gemm, pool, workspace);
        return;
    }
    partition_init(&job.part, gemm, vt_pool_threads(pool));
    vt_pool_run(pool, gemm->batches * job.part.items_m * job.part.items_n, 1, run_items, &job);
}
