/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of the candidates of a class gives them one by one as they are needed: no class is sorted
 * beyond its last chosen box.
 */
#include <string.h>

#include "base/topology.h"
#include "kernels/select/overlap.h"
#include "kernels/select/select.h"

struct job {
    const struct vt_nms *nms;
    const float *boxes, *scores;
    vt_overlap_func overlap;
    int64_t *triples, *counts; /* of each pair of batch and class */
    int64_t room;              /* triples from one pair to the next */
    char *workspace;
};

static vt_overlap_func overlap_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return vt_f32_overlap__avx512;
    }
    if (features & VT_CPU_AVX2) {
        return vt_f32_overlap__avx2;
    }
#else
    (void)features;
#endif
    return vt_f32_overlap__portable;
}

static struct vt_corners corners_of(const struct vt_nms *nms, const float *box)
{
    struct vt_corners c;
    if (nms->centre) {
        c.x1 = box[0] - box[2] / 2;
        c.x2 = box[0] + box[2] / 2;
        c.y1 = box[1] - box[3] / 2;
        c.y2 = box[1] + box[3] / 2;
        return c;
    }
    c.y1 = box[0] < box[2] ? box[0] : box[2];
    c.y2 = box[0] < box[2] ? box[2] : box[0];
    c.x1 = box[1] < box[3] ? box[1] : box[3];
    c.x2 = box[1] < box[3] ? box[3] : box[1];
    return c;
}

static bool before(const float *score, int64_t i, int64_t j)
{
    return score[i] > score[j] || (score[i] == score[j] && i < j);
}

/* Restores the heap below `at`: its root is the best. */
static void sift(const float *score, int64_t *heap, int64_t n, int64_t at)
{
    const int64_t moved = heap[at];
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && before(score, heap[child + 1], heap[child])) {
            child++;
        }
        if (!before(score, heap[child], moved)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static int64_t collect(const struct vt_nms *nms, const float *score, int64_t *heap)
{
    int64_t n = 0;
    for (int64_t i = 0; i < nms->boxes; i++) {
        heap[n] = i;
        n += !nms->has_score || score[i] > nms->score;
    }
    for (int64_t i = n / 2; i-- > 0;) {
        sift(score, heap, n, i);
    }
    return n;
}

static size_t boxes_bytes(const struct vt_nms *nms)
{
    return ((size_t)nms->boxes * sizeof(float) + 63) / 64 * 64;
}

static size_t worker_bytes(const struct vt_nms *nms)
{
    return 7 * boxes_bytes(nms);
}

size_t vt_nms_workspace_bytes(const struct vt_nms *nms, uint32_t threads)
{
    return threads * worker_bytes(nms) + (size_t)(nms->batches * nms->classes) * sizeof(int64_t);
}

/* Chooses at most `most` boxes of one class of one batch; returns how many. */
static int64_t choose(const struct job *job, int64_t pair, int64_t most, char *scratch,
                      int64_t *ret_triples)
{
    const struct vt_nms *nms = job->nms;
    const float *score = job->scores + pair * nms->boxes;
    const float *box = job->boxes + pair / nms->classes * nms->boxes * 4;
    const size_t step = boxes_bytes(nms) / sizeof(float);
    float *numbers = (float *)(void *)scratch;
    const struct vt_boxes kept = {numbers, numbers + step, numbers + 2 * step, numbers + 3 * step,
                                  numbers + 4 * step};
    int64_t *heap = (int64_t *)(void *)(numbers + 5 * step);
    int64_t count = 0;
    for (int64_t n = collect(nms, score, heap); n > 0 && count < most; n--) {
        const int64_t at = heap[0];
        const struct vt_corners c = corners_of(nms, box + at * 4);
        heap[0] = heap[n - 1];
        sift(score, heap, n - 1, 0);
        if (job->overlap(&kept, count, c, nms->iou)) {
            continue;
        }
        kept.y1[count] = c.y1;
        kept.x1[count] = c.x1;
        kept.y2[count] = c.y2;
        kept.x2[count] = c.x2;
        kept.area[count] = (c.y2 - c.y1) * (c.x2 - c.x1);
        ret_triples[3 * count] = pair / nms->classes;
        ret_triples[3 * count + 1] = pair % nms->classes;
        ret_triples[3 * count + 2] = at;
        count++;
    }
    return count;
}

static void run_pairs(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    for (int64_t pair = begin; pair < end; pair++) {
        job->counts[pair] =
            choose(job, pair, job->room, job->workspace + worker * worker_bytes(job->nms),
                   job->triples + 3 * pair * job->room);
    }
}

int64_t vt_nms_run(const struct vt_nms *nms, const float *boxes, const float *scores,
                   int64_t capacity, int64_t *ret_triples, struct vt_pool *pool, void *workspace)
{
    const int64_t pairs = nms->batches * nms->classes;
    const uint32_t threads = vt_pool_threads(pool);
    struct job job = {.nms = nms,
                      .boxes = boxes,
                      .scores = scores,
                      .overlap = overlap_find(vt_topology()->features),
                      .triples = ret_triples,
                      .room = nms->max_per_class < nms->boxes ? nms->max_per_class : nms->boxes,
                      .workspace = workspace};
    int64_t count = 0;
    job.counts = (int64_t *)(void *)(job.workspace + threads * worker_bytes(nms));
    if (job.room <= 0 || pairs == 0) {
        return 0;
    }
    if (threads == 1 || capacity / pairs < job.room) {
        for (int64_t pair = 0; pair < pairs && count < capacity; pair++) {
            const int64_t most = job.room < capacity - count ? job.room : capacity - count;
            count += choose(&job, pair, most, job.workspace, ret_triples + 3 * count);
        }
        return count;
    }
    /* Each class where it would stand if all were full; then they move together. */
    vt_pool_run(pool, pairs, 1, run_pairs, &job);
    for (int64_t pair = 0; pair < pairs; pair++) {
        memmove(ret_triples + 3 * count, ret_triples + 3 * pair * job.room,
                (size_t)(3 * job.counts[pair]) * sizeof(*ret_triples));
        count += job.counts[pair];
    }
    return count;
}
