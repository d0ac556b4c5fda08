/* SPDX-License-Identifier: Apache-2.0 */
#include "sut/sut.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sut/lane.h"
#include "sut/queue.h"
#include "sut/stages.h"

/* Every size up to this one is warmed up, then the powers of two. */
#define WARM_EVERY_SIZE 16U
/* A batch must beat a smaller one by this factor in throughput to be worth its latency. */
#define WORTH_A_LARGER_BATCH 1.03

struct lane_thread {
    struct vt_batching_sut *sut;
    struct vt_lane lane;
    struct vt_waiting_sample *taken; /* batch */
    struct vt_query_sample *samples; /* batch */
    struct vt_stages *stages;        /* NULL: not stamped */
    pthread_t thread;
    bool started;
};

/* What is known of a request before it runs. Only in runs that are stamped. */
struct stamps {
    int64_t ready_ns; /* the lane was free */
    int64_t taken_ns; /* the batch was there */
};

struct vt_batching_sut {
    struct vt_sut seam;
    struct vt_lane_context context;
    char *name;
    uint32_t batch; /* in effect; at most context.batch */
    bool batch_auto;
    int64_t batch_delay_ns;
    uint32_t n_lanes;
    struct lane_thread *lanes;
    struct vt_sample_queue queue;
    /* Of the run in progress; written by start() while no lane is busy. */
    struct vt_completion_sink sink;
    bool in_place; /* the issuing thread computes on lane 0 */
    bool stamped;
    _Atomic uint64_t requests, samples_done;
    _Atomic int64_t queue_ns, compute_ns;
};

static void count(struct vt_batching_sut *sut, size_t n, int64_t waited_ns, int64_t computed_ns)
{
    atomic_fetch_add_explicit(&sut->requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sut->samples_done, n, memory_order_relaxed);
    atomic_fetch_add_explicit(&sut->queue_ns, waited_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&sut->compute_ns, computed_ns, memory_order_relaxed);
}

static int64_t between(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The stages of a request that has just run; failed ones have none. An engine's times are taken for
 * what they are as long as they lie within its request. */
static void stamp(struct lane_thread *self, const struct stamps *stamps, size_t n)
{
    struct vt_lane *lane = &self->lane;

    if (lane->end_ns == 0) {
        return;
    }
    int64_t done = vt_now_ns();
    int64_t start = between(lane->start_ns, stamps->taken_ns, done);
    int64_t end = between(lane->end_ns, start, done);
    for (size_t k = 0; k < n; k++) {
        int64_t admitted = between(self->taken[k].admitted_ns, 0, stamps->taken_ns);
        int64_t free_ns = between(stamps->ready_ns, admitted, stamps->taken_ns);
        vt_stages_add(self->stages, VT_STAGE_QUEUE, free_ns - admitted, 1);
        vt_stages_add(self->stages, VT_STAGE_BATCH, stamps->taken_ns - free_ns, 1);
    }
    vt_stages_add(self->stages, VT_STAGE_COPY, start - stamps->taken_ns, n);
    vt_stages_add(self->stages, VT_STAGE_COMPUTE, end - start, n);
    vt_stages_add(self->stages, VT_STAGE_COMPLETE, done - end, n);
}

static void *lane_main(void *argument)
{
    struct lane_thread *self = argument;
    struct vt_batching_sut *sut = self->sut;
    struct stamps stamps;

    for (;;) {
        stamps.ready_ns = vt_now_ns();
        size_t n = vt_sample_queue_take(&sut->queue, self->taken);
        if (n == 0) {
            return NULL;
        }
        int64_t now = vt_now_ns();
        int64_t waited = 0;
        for (size_t k = 0; k < n; k++) {
            self->samples[k] = self->taken[k].sample;
            waited += now - self->taken[k].admitted_ns;
        }
        int64_t computed = vt_lane_run(&self->lane, self->samples, n, &sut->sink);
        count(sut, n, waited, computed);
        if (sut->stamped) {
            stamps.taken_ns = now;
            stamp(self, &stamps, n);
        }
        sut->sink.complete(sut->sink.ctx, self->lane.completions, n);
        vt_sample_queue_done(&sut->queue);
    }
}

static const char *seam_name(void *ctx)
{
    struct vt_batching_sut *sut = ctx;
    return sut->name;
}

static enum vt_status seam_start(void *ctx, const struct vt_completion_sink *sink,
                                 enum vt_scenario scenario, struct vt_error *err)
{
    struct vt_batching_sut *sut = ctx;

    (void)err;
    vt_sample_queue_drain(&sut->queue);
    sut->sink = sink != NULL ? *sink : (struct vt_completion_sink){0};
    sut->in_place =
        sut->n_lanes == 1 && (scenario == VT_SINGLESTREAM || scenario == VT_MULTISTREAM);
    vt_sample_queue_batching(&sut->queue, sut->batch,
                             scenario == VT_SERVER ? sut->batch_delay_ns : 0);
    if (sink != NULL) {
        sut->stamped = sut->lanes[0].stages != NULL;
        for (uint32_t i = 0; sut->stamped && i < sut->n_lanes; i++) {
            memset(sut->lanes[i].stages, 0, sizeof *sut->lanes[i].stages);
        }
        atomic_store(&sut->requests, 0);
        atomic_store(&sut->samples_done, 0);
        atomic_store(&sut->queue_ns, 0);
        atomic_store(&sut->compute_ns, 0);
    }
    return VT_OK;
}

static void compute_in_place(struct vt_batching_sut *sut, const struct vt_query_sample *samples,
                             size_t n)
{
    struct lane_thread *first = &sut->lanes[0];
    struct vt_lane *lane = &first->lane;
    int64_t admitted = sut->stamped ? vt_now_ns() : 0, begin = admitted;

    while (n > 0) {
        size_t now = n < sut->batch ? n : sut->batch;
        int64_t computed = vt_lane_run(lane, samples, now, &sut->sink);
        count(sut, now, 0, computed);
        if (sut->stamped) {
            /* The samples behind the first batch of a query wait for the lane. */
            const struct stamps stamps = {begin, begin};
            for (size_t k = 0; k < now; k++) {
                first->taken[k].admitted_ns = admitted;
            }
            stamp(first, &stamps, now);
            begin = vt_now_ns();
        }
        sut->sink.complete(sut->sink.ctx, lane->completions, now);
        samples += now;
        n -= now;
    }
}

static enum vt_status seam_issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                                 struct vt_error *err)
{
    struct vt_batching_sut *sut = ctx;

    if (sut->in_place) {
        compute_in_place(sut, samples, n);
        return VT_OK;
    }
    return vt_sample_queue_put(&sut->queue, samples, n, vt_now_ns(), err);
}

static void seam_flush(void *ctx)
{
    struct vt_batching_sut *sut = ctx;
    vt_sample_queue_flush(&sut->queue);
}

static void seam_abort(void *ctx)
{
    struct vt_batching_sut *sut = ctx;
    vt_sample_queue_clear(&sut->queue);
}

static enum vt_status open_lane(struct vt_batching_sut *sut, uint32_t index, struct vt_error *err)
{
    struct lane_thread *self = &sut->lanes[index];

    self->sut = sut;
    self->taken = vt_calloc(sut->context.batch, sizeof self->taken[0]);
    self->samples = vt_calloc(sut->context.batch, sizeof self->samples[0]);
    if (self->taken == NULL || self->samples == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u of batch %u", index,
                            sut->context.batch);
    }
    enum vt_status status = vt_lane_init(&self->lane, &sut->context, index, err);
    if (status != VT_OK) {
        return status;
    }
    int code = pthread_create(&self->thread, NULL, lane_main, self);
    if (code != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "the thread of lane %u cannot be started: %s",
                            index, strerror(code));
    }
    self->started = true;
    return VT_OK;
}

enum vt_status vt_sut_new(const struct vt_engine_ops *ops, void *engine,
                          const struct vt_signature *signature,
                          const struct vt_workload_ops *workload_ops, void *workload,
                          const char *name, const struct vt_sut_options *options,
                          struct vt_error *err, struct vt_batching_sut **ret_sut)
{
    struct vt_batching_sut *sut = vt_calloc(1, sizeof *sut);
    if (sut == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the system under test");
    }
    sut->seam = (struct vt_sut){VT_SUT_HEAD, seam_name,  seam_start, seam_issue,
                                seam_flush,  seam_abort, sut};
    sut->context = (struct vt_lane_context){
        .ops = ops,
        .engine = engine,
        .signature = signature,
        .workload_ops = workload_ops,
        .workload = workload,
        .batch = options->batch,
        .request_timeout_ns = options->request_timeout_ns,
    };
    sut->batch = options->batch;
    sut->batch_auto = options->batch_auto;
    sut->batch_delay_ns = options->batch_delay_ns;
    enum vt_status status = vt_sample_queue_init(&sut->queue, err);
    if (status != VT_OK) {
        goto fail;
    }
    sut->name = vt_strdup(name);
    sut->lanes = vt_calloc(options->lanes, sizeof sut->lanes[0]);
    if (sut->name == NULL || sut->lanes == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u lanes", options->lanes);
        goto fail;
    }
    for (uint32_t i = 0; i < options->lanes; i++) {
        sut->n_lanes = i + 1;
        status = open_lane(sut, i, err);
        if (status != VT_OK) {
            goto fail;
        }
    }
    *ret_sut = sut;
    return VT_OK;
fail:
    vt_sut_free(sut);
    return status;
}

void vt_sut_free(struct vt_batching_sut *sut)
{
    if (sut == NULL) {
        return;
    }
    if (sut->queue.ring != NULL) {
        vt_sample_queue_close(&sut->queue);
    }
    for (uint32_t i = 0; sut->lanes != NULL && i < sut->n_lanes; i++) {
        struct lane_thread *self = &sut->lanes[i];
        if (self->started) {
            pthread_join(self->thread, NULL);
        }
        vt_lane_release(&self->lane);
        vt_free(self->taken);
        vt_free(self->samples);
        vt_free(self->stages);
    }
    vt_sample_queue_release(&sut->queue);
    vt_free(sut->lanes);
    vt_free(sut->name);
    vt_free(sut);
}

const struct vt_sut *vt_sut_seam(struct vt_batching_sut *sut)
{
    return &sut->seam;
}

/* The time of a request of `size` samples on one lane; the faster of two where it is short. */
static enum vt_status warm_lane(struct lane_thread *self, uint64_t index, uint32_t size,
                                struct vt_error *err, int64_t *ret_ns)
{
    int64_t best = INT64_MAX;

    for (uint32_t k = 0; k < size; k++) {
        self->samples[k] = (struct vt_query_sample){.id = k, .index = index};
    }
    /* The first request of a size pays for what the engine builds; the second shows the pace. */
    for (int round = 0; round < 3; round++) {
        int64_t start = vt_now_ns();
        vt_lane_run(&self->lane, self->samples, size, NULL);
        int64_t took = vt_now_ns() - start;
        const struct vt_completion *first = &self->lane.completions[0];
        if (first->status != VT_OK) {
            return vt_error_set(err, first->status, "%s", first->text);
        }
        best = took < best ? took : best;
        if (round > 0 && took > 50 * VT_NS_PER_MS) {
            break;
        }
    }
    *ret_ns = best;
    return VT_OK;
}

static uint32_t next_size(uint32_t size, uint32_t most)
{
    uint32_t next = size < WARM_EVERY_SIZE ? size + 1 : size * 2;
    return size < most && next > most ? most : next;
}

enum vt_status vt_sut_warm_up(struct vt_batching_sut *sut, uint64_t index, int64_t budget_ns,
                              struct vt_error *err, struct vt_warm_up *ret_warm_up)
{
    struct vt_warm_up warm = {.batch = sut->batch};
    int64_t stop = vt_now_ns() + budget_ns;
    uint32_t best_batch = 1;
    double best_rate = 0.0;

    for (uint32_t size = 1; size <= sut->context.batch;
         size = next_size(size, sut->context.batch)) {
        int64_t took = 0;
        for (uint32_t i = 0; i < sut->n_lanes; i++) {
            enum vt_status status = warm_lane(&sut->lanes[i], index, size, err, &took);
            if (status != VT_OK) {
                return status;
            }
        }
        double rate = (double)size / (double)(took > 0 ? took : 1);
        if (size == 1) {
            warm.single_ns = took;
        }
        if (rate > best_rate * WORTH_A_LARGER_BATCH) {
            best_rate = rate;
            best_batch = size;
            warm.batch_ns = took;
        }
        if (vt_now_ns() >= stop) {
            break;
        }
    }
    if (sut->batch_auto) {
        sut->batch = best_batch;
    } else {
        warm.batch_ns = (int64_t)((double)sut->batch / best_rate);
    }
    warm.batch = sut->batch;
    *ret_warm_up = warm;
    return VT_OK;
}

void vt_sut_counts(const struct vt_batching_sut *sut, struct vt_sut_counts *ret_counts)
{
    *ret_counts = (struct vt_sut_counts){
        .requests = atomic_load(&sut->requests),
        .samples = atomic_load(&sut->samples_done),
        .queue_ns = atomic_load(&sut->queue_ns),
        .compute_ns = atomic_load(&sut->compute_ns),
    };
}

enum vt_status vt_sut_stamp_stages(struct vt_batching_sut *sut, bool on, struct vt_error *err)
{
    bool complete = true;

    sut->stamped = false;
    for (uint32_t i = 0; i < sut->n_lanes; i++) {
        struct lane_thread *self = &sut->lanes[i];
        vt_free(self->stages);
        self->stages = on && complete ? vt_calloc(1, sizeof *self->stages) : NULL;
        complete = complete && (!on || self->stages != NULL);
    }
    if (complete) {
        return VT_OK;
    }
    for (uint32_t i = 0; i < sut->n_lanes; i++) {
        vt_free(sut->lanes[i].stages);
        sut->lanes[i].stages = NULL;
    }
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the stages of samples");
}

void vt_sut_stage_times(const struct vt_batching_sut *sut, struct vt_stage_times *ret_times)
{
    *ret_times = (struct vt_stage_times){0};
    struct vt_stages *all = sut->stamped ? vt_calloc(1, sizeof *all) : NULL;
    if (all == NULL) {
        return; /* for want of memory nothing was measured */
    }
    for (uint32_t i = 0; i < sut->n_lanes; i++) {
        vt_stages_merge(all, sut->lanes[i].stages);
    }
    vt_stages_times(all, ret_times);
    vt_free(all);
}
