/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/gemm.h"

#include <math.h>
#include <string.h>

#include "base/topology.h"
#include "kernels/gemm/kernels.h"

/* Rows and columns of C that one work item covers at most: a packed block of B then fits the
 * second-level cache of the machines we know beside the panels of A that stream past it. */
#define BLOCK_M 192
#define BLOCK_N 192
/* Work items a thread should get, so that drawing them evens out a slow core. */
#define ITEMS_PER_THREAD 4

static const struct vt_gemm_kernel kernel_portable = {4, 8, vt_f32_gemm_4x8__portable,
                                                      vt_f32_gemm_indirect_4x8__portable};
#if defined(__x86_64__)
static const struct vt_gemm_kernel kernel_avx2 = {6, 16, vt_f32_gemm_6x16__avx2,
                                                  vt_f32_gemm_indirect_6x16__avx2};
static const struct vt_gemm_kernel kernel_avx512 = {12, 32, vt_f32_gemm_12x32__avx512,
                                                    vt_f32_gemm_indirect_12x32__avx512};
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

static int64_t round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool packed_size(int64_t lanes, int64_t unit, int64_t k, size_t *ret_floats)
{
    size_t padded = (size_t)round_up(lanes, unit);
    return !__builtin_mul_overflow(padded, (size_t)k, ret_floats);
}

bool vt_gemm_packed_a_size(const struct vt_gemm_kernel *kernel, int64_t m, int64_t k,
                           size_t *ret_floats)
{
    return packed_size(m, kernel->mr, k, ret_floats);
}

bool vt_gemm_packed_b_size(const struct vt_gemm_kernel *kernel, int64_t k, int64_t n,
                           size_t *ret_floats)
{
    return packed_size(n, kernel->nr, k, ret_floats);
}

/*
 * Packs `lanes` rows of A or columns of B into panels [kc][unit]. A lane's elements are k_stride
 * apart, neighbouring lanes lane_stride.
 */
static void pack_panels(uint32_t unit, int64_t lanes, int64_t kc, const float *source,
                        int64_t lane_stride, int64_t k_stride, const float *scale, float *out)
{
    for (int64_t l0 = 0; l0 < lanes; l0 += unit, out += kc * unit) {
        const int64_t n = min_i64(unit, lanes - l0);
        const float *from = source + l0 * lane_stride;
        if (lane_stride == 1) {
            for (int64_t k = 0; k < kc; k++) {
                memcpy(out + k * unit, from + k * k_stride, (size_t)n * sizeof(float));
                for (int64_t l = n; l < unit; l++) {
                    out[k * unit + l] = 0.0f;
                }
            }
        } else {
            for (int64_t l = 0; l < n; l++) {
                const float *lane = from + l * lane_stride;
                for (int64_t k = 0; k < kc; k++) {
                    out[k * unit + l] = lane[k * k_stride];
                }
            }
            for (int64_t l = n; l < unit; l++) {
                for (int64_t k = 0; k < kc; k++) {
                    out[k * unit + l] = 0.0f;
                }
            }
        }
        if (scale == NULL) {
            continue;
        }
        for (int64_t k = 0; k < kc; k++) {
            for (int64_t l = 0; l < n; l++) {
                out[k * unit + l] *= scale[l0 + l];
            }
        }
    }
}

void vt_gemm_pack_a(const struct vt_gemm_kernel *kernel, int64_t m, int64_t k,
                    const struct vt_gemm_matrix *a, const float *row_scale, float *ret_packed)
{
    const int64_t padded = round_up(m, kernel->mr);
    for (int64_t k0 = 0; k0 < k; k0 += VT_GEMM_KC) {
        pack_panels(kernel->mr, m, min_i64(VT_GEMM_KC, k - k0), a->data + k0 * a->col_stride,
                    a->row_stride, a->col_stride, row_scale, ret_packed + k0 * padded);
    }
}

void vt_gemm_pack_b(const struct vt_gemm_kernel *kernel, int64_t k, int64_t n,
                    const struct vt_gemm_matrix *b, float *ret_packed)
{
    const int64_t padded = round_up(n, kernel->nr);
    for (int64_t k0 = 0; k0 < k; k0 += VT_GEMM_KC) {
        pack_panels(kernel->nr, n, min_i64(VT_GEMM_KC, k - k0), b->data + k0 * b->row_stride,
                    b->col_stride, b->row_stride, NULL, ret_packed + k0 * padded);
    }
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

/* How the work is cut: blocks of C, and the scratch a worker packs into. */
struct partition {
    int64_t block_m, block_n;
    int64_t items_m, items_n;
    size_t a_floats, b_floats; /* 0 where that factor comes packed */
};

static int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void partition_init(struct partition *p, const struct vt_gemm *gemm, uint32_t threads)
{
    const int64_t mr = gemm->kernel->mr, nr = gemm->kernel->nr;
    const int64_t wanted = threads == 1 ? 1 : (int64_t)threads * ITEMS_PER_THREAD;

    /* A factor that comes packed costs nothing to visit again, so only the other is cut. */
    p->block_m = gemm->a_packed ? round_up(gemm->m, mr) : min_i64(BLOCK_M, round_up(gemm->m, mr));
    p->block_n = gemm->b_packed ? round_up(gemm->n, nr) : min_i64(BLOCK_N, round_up(gemm->n, nr));
    p->items_m = div_up(gemm->m, p->block_m);
    p->items_n = div_up(gemm->n, p->block_n);
    while (gemm->batches * p->items_m * p->items_n < wanted) {
        bool n_first = p->block_n > nr && (p->block_n >= p->block_m || p->block_m <= mr);
        if (!gemm->b_packed && p->block_n > 2 * nr) {
            n_first = true; /* cutting rows would pack B once more for each cut */
        }
        if (n_first) {
            p->block_n = round_up(p->block_n / 2, nr);
        } else if (p->block_m > mr) {
            p->block_m = round_up(p->block_m / 2, mr);
        } else {
            break;
        }
        p->items_m = div_up(gemm->m, p->block_m);
        p->items_n = div_up(gemm->n, p->block_n);
    }
    const int64_t kc = min_i64(VT_GEMM_KC, gemm->k);
    p->a_floats = gemm->a_packed ? 0 : (size_t)(p->block_m * kc);
    p->b_floats = gemm->b_packed ? 0 : (size_t)(p->block_n * kc);
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
    partition_init(&p, gemm, threads);
    return threads * (p.a_floats + p.b_floats) * sizeof(float);
}

struct job {
    const struct vt_gemm *gemm;
    struct partition part;
    float *workspace;
};

/* One block of C for one block of k: every tile of it. */
struct block {
    int64_t m0, m1, n0, n1;
    int64_t k0, kc;
    const float *a, *b; /* packed, of this block's first row and column */
};

static void block_compute(const struct vt_gemm *gemm, const struct vt_gemm_place *place,
                          const struct block *block)
{
    const struct vt_gemm_kernel *kernel = gemm->kernel;
    const bool last = block->k0 + block->kc >= gemm->k;
    struct vt_gemm_tile tile = {.k = block->kc,
                                .ldc = gemm->ldc,
                                .accumulate = block->k0 > 0,
                                .finish = last ? &gemm->finish : NULL};

    for (int64_t n = block->n0; n < block->n1; n += kernel->nr) {
        const uint32_t cols = (uint32_t)min_i64(kernel->nr, block->n1 - n);
        tile.b = block->b + (n - block->n0) * block->kc;
        tile.col_bias = place->col_bias != NULL ? place->col_bias + n : NULL;
        for (int64_t m = block->m0; m < block->m1; m += kernel->mr) {
            const uint32_t rows = (uint32_t)min_i64(kernel->mr, block->m1 - m);
            tile.a = block->a + (m - block->m0) * block->kc;
            tile.c = place->c + m * gemm->ldc + n;
            tile.row_bias = place->row_bias != NULL ? place->row_bias + m : NULL;
            tile.residual = place->residual != NULL ? place->residual + m * gemm->ldc + n : NULL;
            if (cols == kernel->nr) {
                kernel->packed(&tile, rows);
            } else {
                vt_gemm_tile_narrow(kernel, kernel->packed, &tile, rows, cols);
            }
        }
    }
}

static void item_compute(const struct job *job, int64_t item, float *scratch)
{
    const struct vt_gemm *gemm = job->gemm;
    const struct partition *p = &job->part;
    const int64_t mr = gemm->kernel->mr, nr = gemm->kernel->nr;
    const int64_t m_padded = round_up(gemm->m, mr), n_padded = round_up(gemm->n, nr);
    const int64_t batch = item / (p->items_m * p->items_n);
    float *a_scratch = scratch, *b_scratch = scratch + p->a_floats;
    struct vt_gemm_place place = {0};
    struct block block;

    gemm->locate(gemm->ctx, batch, &place);
    block.m0 = item / p->items_n % p->items_m * p->block_m;
    block.n0 = item % p->items_n * p->block_n;
    block.m1 = min_i64(gemm->m, block.m0 + p->block_m);
    block.n1 = min_i64(gemm->n, block.n0 + p->block_n);
    block.k0 = 0;
    do {
        block.kc = min_i64(VT_GEMM_KC, gemm->k - block.k0);
        if (gemm->a_packed) {
            block.a = place.a + block.k0 * m_padded + block.m0 * block.kc;
        } else if (gemm->pack_a != NULL) {
            gemm->pack_a(gemm->ctx, (uint32_t)mr, batch, block.k0, block.kc, block.m0,
                         block.m1 - block.m0, a_scratch);
            block.a = a_scratch;
        } else {
            pack_panels((uint32_t)mr, block.m1 - block.m0, block.kc,
                        place.a + block.m0 * gemm->a_row_stride + block.k0 * gemm->a_col_stride,
                        gemm->a_row_stride, gemm->a_col_stride, NULL, a_scratch);
            block.a = a_scratch;
        }
        if (gemm->b_packed) {
            block.b = place.b + block.k0 * n_padded + block.n0 * block.kc;
        } else if (gemm->pack_b != NULL) {
            gemm->pack_b(gemm->ctx, (uint32_t)nr, batch, block.k0, block.kc, block.n0,
                         block.n1 - block.n0, b_scratch);
            block.b = b_scratch;
        } else {
            pack_panels((uint32_t)nr, block.n1 - block.n0, block.kc,
                        place.b + block.n0 * gemm->b_col_stride + block.k0 * gemm->b_row_stride,
                        gemm->b_col_stride, gemm->b_row_stride, NULL, b_scratch);
            block.b = b_scratch;
        }
        block_compute(gemm, &place, &block);
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

void vt_gemm_run(const struct vt_gemm *gemm, struct vt_pool *pool, void *workspace)
{
    struct job job = {.gemm = gemm, .workspace = workspace};
    if (gemm->m == 0 || gemm->n == 0 || gemm->batches == 0) {
        return;
    }
    partition_init(&job.part, gemm, vt_pool_threads(pool));
    vt_pool_run(pool, gemm->batches * job.part.items_m * job.part.items_n, 1, run_items, &job);
}
