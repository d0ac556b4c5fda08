/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm8/gemm8.h"

#include <string.h>

#include "base/topology.h"
#include "kernels/gemm8/kernels.h"

#define NR VT_GEMM8_NR
/* A packed block of B fits the second-level cache of the machines we know beside the panels of A
 * that stream past it. */
#define BLOCK_BYTES ((int64_t)256 << 10)
/* Up to here A stays in the second-level cache while panels of B pass. */
#define A_CACHED_BYTES ((size_t)768 << 10)
/* Panels that pass one panel of A together fit the first-level cache beside it. */
#define GROUP_BYTES ((int64_t)32 << 10)
#define GROUP_MOST  4
/* Work items a thread should get, so that drawing them evens out a slow core. */
#define ITEMS_PER_THREAD 4

static const struct vt_gemm8_kernel kernel_portable = {
    "4x32", 4, 4, 1, NULL, NULL, vt_s8_gemm_4x32__portable, vt_s8_finish__portable};
#if defined(__x86_64__)
static const struct vt_gemm8_kernel kernel_avx2 = {
    "4x32", 4, 4, 2, NULL, NULL, vt_s8_gemm_4x32__avx2, vt_s8_finish__avx2};
static const struct vt_gemm8_kernel kernel_vnni = {
    "12x32 vnni", 12, 4, 1, NULL, NULL, vt_s8_gemm_12x32__vnni, vt_s8_finish__avx512};
static const struct vt_gemm8_kernel kernel_amx = {
    "32x32 amx", 32, 64, 1, vt_amx_begin, vt_amx_end, vt_s8_gemm_32x32__amx, vt_s8_finish__avx512};
#endif

const struct vt_gemm8_kernel *vt_gemm8_kernel_find(uint32_t features)
{
#if defined(__x86_64__)
    const uint32_t wide = VT_CPU_AVX512 | VT_CPU_VNNI;
    if ((features & wide) == wide) {
        return (features & VT_CPU_AMX) != 0 && vt_amx_permitted() ? &kernel_amx : &kernel_vnni;
    }
    if (features & VT_CPU_AVX2) {
        return &kernel_avx2;
    }
#else
    (void)features;
#endif
    return &kernel_portable;
}

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t vt_gemm8_k4(const struct vt_gemm8_kernel *kernel, int64_t k)
{
    return div_up(k, kernel->ku) * (kernel->ku / 4);
}

bool vt_gemm8_packed_size(const struct vt_gemm8_kernel *kernel, int64_t m, int64_t k,
                          size_t *ret_bytes)
{
    const size_t rows = (size_t)div_up(m, kernel->mr) * kernel->mr;
    const size_t row = (size_t)vt_gemm8_k4(kernel, k) * 4 * kernel->a_bytes;
    return !__builtin_mul_overflow(rows, row, ret_bytes);
}

void vt_gemm8_pack(const struct vt_gemm8_kernel *kernel, int64_t m, int64_t k, const uint8_t *a,
                   int64_t row_stride, int64_t k_stride, uint8_t flip, void *ret_packed)
{
    const int64_t mr = kernel->mr, ku = kernel->ku;
    const int64_t panel = vt_gemm8_k4(kernel, k) * 4 * mr * kernel->a_bytes;
    size_t bytes = 0;

    (void)vt_gemm8_packed_size(kernel, m, k, &bytes);
    memset(ret_packed, 0, bytes);
    for (int64_t r = 0; r < m; r++) {
        char *to = (char *)ret_packed + r / mr * panel;
        for (int64_t i = 0; i < k; i++) {
            const int8_t value = (int8_t)(a[r * row_stride + i * k_stride] ^ flip);
            vt_gemm8_put(kernel, to, r % mr, i / ku, i % ku, value);
        }
    }
}

/* --- running -------------------------------------------------------------------------------- */

/* How the work is cut: blocks of columns, each packed by who works on it, and of rows. */
struct partition {
    int64_t block_n, block_m;
    int64_t items_n, items_m;
    size_t b_bytes, sum_bytes, out_bytes, column_bytes; /* of one thread */
};

static void partition_init(struct partition *p, const struct vt_gemm8 *gemm, uint32_t threads)
{
    const int64_t mr = gemm->kernel->mr, panel = vt_gemm8_k4(gemm->kernel, gemm->k) * 4 * NR;
    const int64_t wanted = threads == 1 ? 1 : (int64_t)threads * ITEMS_PER_THREAD;
    const int64_t panels = div_up(gemm->n, NR);
    int64_t block = panel > 0 ? BLOCK_BYTES / panel : panels;

    block = min_i64(block < 1 ? 1 : block, panels);
    while (block > 1 && gemm->batches * div_up(panels, block) < wanted) {
        block = div_up(block, 2);
    }
    p->block_n = block * NR;
    p->items_n = div_up(gemm->n, p->block_n);
    p->block_m = div_up(gemm->m, mr) * mr;
    while (p->block_m > mr &&
           gemm->batches * p->items_n * div_up(gemm->m, p->block_m) < (int64_t)threads) {
        p->block_m = div_up(p->block_m / mr, 2) * mr;
    }
    p->items_m = div_up(gemm->m, p->block_m);
    p->b_bytes = (size_t)(block * panel);
    p->sum_bytes = (size_t)mr * NR * sizeof(int32_t);
    p->out_bytes = gemm->col_stride != 1 ? p->sum_bytes : 0;
    p->column_bytes = gemm->finish.a_zero != NULL ? (size_t)p->block_n * sizeof(int32_t) : 0;
}

static size_t thread_bytes(const struct partition *p)
{
    return (p->b_bytes + p->sum_bytes + p->out_bytes + p->column_bytes + 63) / 64 * 64;
}

size_t vt_gemm8_workspace_bytes(const struct vt_gemm8 *gemm, uint32_t threads)
{
    struct partition p;
    if (gemm->m == 0 || gemm->n == 0 || gemm->batches == 0) {
        return 0;
    }
    partition_init(&p, gemm, threads);
    return threads * thread_bytes(&p);
}

struct job {
    const struct vt_gemm8 *gemm;
    struct partition part;
    char *workspace;
};

/* A block of columns under work. */
struct block {
    const struct vt_gemm8 *gemm;
    struct vt_gemm8_place place;
    int64_t k4;
    int64_t n0, n1, m0, m1;
    uint8_t *b;
    int32_t *sums;
    void *out;        /* where results lie across the columns: a tile of them; else NULL */
    int32_t *columns; /* sums of the columns, NULL: not needed */
};

static void sum_columns(const struct block *block)
{
    for (int64_t n = block->n0; n < block->n1; n++) {
        const int64_t at = n - block->n0;
        const uint8_t *x = block->b + at / NR * block->k4 * 4 * NR + at % NR * 4;
        uint32_t sum = 0;
        for (int64_t k = 0; k < block->k4; k++, x += (ptrdiff_t)4 * NR) {
            sum += (uint32_t)x[0] + x[1] + x[2] + x[3];
        }
        block->columns[at] = (int32_t)sum;
    }
}

/* The zero points of A times what the columns sum up to is in the sums: take it off. */
static void take_zeros(const struct block *block, int64_t m, uint32_t rows, int64_t n,
                       uint32_t cols)
{
    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t zero = (uint32_t)block->gemm->finish.a_zero[block->place.row + m + r];
        uint32_t *sums = (uint32_t *)block->sums + (size_t)r * NR;
        for (uint32_t c = 0; c < cols; c++) {
            sums[c] -= zero * (uint32_t)block->columns[n - block->n0 + c];
        }
    }
}

static void finish_tile(const struct block *block, int64_t m, uint32_t rows, int64_t n,
                        uint32_t cols)
{
    const struct vt_gemm8 *gemm = block->gemm;
    const size_t bytes = vt_dtype_bytes(gemm->finish.output);
    const int64_t at = m * gemm->row_stride + n * gemm->col_stride;
    char *output = (char *)block->place.output + (size_t)at * bytes;
    struct vt_gemm8_tile tile = {.sums = block->sums,
                                 .rows = rows,
                                 .cols = cols,
                                 .row = block->place.row + m,
                                 .output = output,
                                 .stride = gemm->row_stride};

    if (block->columns != NULL) {
        take_zeros(block, m, rows, n, cols);
    }
    if (block->out == NULL) {
        tile.residual = gemm->finish.has_residual ? (const char *)block->place.residual + at : NULL;
        gemm->kernel->finish(&gemm->finish, &tile);
        return;
    }
    tile.output = block->out;
    tile.stride = NR;
    gemm->kernel->finish(&gemm->finish, &tile);
    vt_gemm8_turn(block->out, bytes, rows, cols, output, (size_t)gemm->col_stride * bytes);
}

/* Rows of the result and the residual lie far apart: they are asked for before the sums, which
 * take a while. */
static void prefetch_rows(const struct block *block, int64_t m, uint32_t rows, int64_t n)
{
    const struct vt_gemm8 *gemm = block->gemm;
    const size_t bytes = vt_dtype_bytes(gemm->finish.output);
    const int64_t at = m * gemm->row_stride + n;
    const char *residual =
        gemm->finish.has_residual ? (const char *)block->place.residual + at : NULL;
    const char *output = (const char *)block->place.output + (size_t)at * bytes;

    for (uint32_t r = 0; r < rows; r++) {
        __builtin_prefetch(output + (size_t)(r * gemm->row_stride) * bytes, 1);
    }
    for (uint32_t r = 0; residual != NULL && r < rows; r++) {
        __builtin_prefetch(residual + r * gemm->row_stride);
    }
}

static void compute_tile(const struct block *block, int64_t m, int64_t n)
{
    const struct vt_gemm8_kernel *kernel = block->gemm->kernel;
    const uint32_t rows = (uint32_t)min_i64(kernel->mr, block->m1 - m);
    const uint32_t cols = (uint32_t)min_i64(NR, block->n1 - n);
    const char *a = (const char *)block->place.a + m * block->k4 * 4 * kernel->a_bytes;

    if (block->out == NULL) {
        prefetch_rows(block, m, rows, n);
    }
    kernel->sum(a, block->b + (n - block->n0) * block->k4 * 4, block->k4, rows, cols, block->sums);
    finish_tile(block, m, rows, n, cols);
}

/* Panels of B that take turns on one panel of A, all in the first-level cache. So the tiles of a
 * row, which share lines of the result, come one after the other, too. */
static int64_t group_of(const struct block *block)
{
    const int64_t panel = block->k4 * 4 * NR;
    const int64_t a_panel = block->k4 * 4 * block->gemm->kernel->mr;
    const int64_t fit = panel > 0 ? (GROUP_BYTES - a_panel) / panel : 1;
    return fit < 1 ? 1 : min_i64(fit, GROUP_MOST);
}

static void compute_block(const struct block *block)
{
    const int64_t mr = block->gemm->kernel->mr;
    size_t a_bytes = 0;

    (void)vt_gemm8_packed_size(block->gemm->kernel, block->m1 - block->m0, block->gemm->k,
                               &a_bytes);
    if (a_bytes <= A_CACHED_BYTES) {
        const int64_t group = group_of(block) * NR;
        for (int64_t n = block->n0; n < block->n1; n += group) {
            const int64_t end = min_i64(n + group, block->n1);
            for (int64_t m = block->m0; m < block->m1; m += mr) {
                for (int64_t at = n; at < end; at += NR) {
                    compute_tile(block, m, at);
                }
            }
        }
        return;
    }
    for (int64_t m = block->m0; m < block->m1; m += mr) {
        for (int64_t n = block->n0; n < block->n1; n += NR) {
            compute_tile(block, m, n);
        }
    }
}

static void compute_item(const struct job *job, int64_t item, char *scratch)
{
    const struct vt_gemm8 *gemm = job->gemm;
    const struct partition *p = &job->part;
    const int64_t batch = item / (p->items_m * p->items_n);
    struct block block = {.gemm = gemm, .k4 = vt_gemm8_k4(gemm->kernel, gemm->k)};

    gemm->locate(gemm->ctx, batch, &block.place);
    block.m0 = item / p->items_n % p->items_m * p->block_m;
    block.n0 = item % p->items_n * p->block_n;
    block.m1 = min_i64(gemm->m, block.m0 + p->block_m);
    block.n1 = min_i64(gemm->n, block.n0 + p->block_n);
    block.sums = (int32_t *)(void *)scratch;
    scratch += p->sum_bytes;
    block.out = p->out_bytes > 0 ? scratch : NULL;
    scratch += p->out_bytes;
    block.b = (uint8_t *)scratch;
    scratch += p->b_bytes;
    gemm->pack_b(gemm->ctx, batch, block.n0, block.n1 - block.n0, block.b);
    if (gemm->finish.a_zero != NULL) {
        block.columns = (int32_t *)(void *)scratch;
        sum_columns(&block);
    }
    compute_block(&block);
}

static void run_items(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_gemm8_kernel *kernel = job->gemm->kernel;
    char *scratch = job->workspace + worker * thread_bytes(&job->part);

    if (kernel->begin != NULL) {
        kernel->begin();
    }
    for (int64_t item = begin; item < end; item++) {
        compute_item(job, item, scratch);
    }
    if (kernel->end != NULL) {
        kernel->end();
    }
}

void vt_gemm8_run(const struct vt_gemm8 *gemm, struct vt_pool *pool, void *workspace)
{
    struct job job = {.gemm = gemm, .workspace = workspace};
    if (gemm->m == 0 || gemm->n == 0 || gemm->batches == 0) {
        return;
    }
    partition_init(&job.part, gemm, vt_pool_threads(pool));
    vt_pool_run(pool, gemm->batches * job.part.items_m * job.part.items_n, 1, run_items, &job);
}
