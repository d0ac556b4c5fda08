/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lane of the native engine: threads, plans by shape, and a queue that wait() works off.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/topology.h"
#include "engine/native/native.h"

/* A plan for inputs of certain shapes, and where its outputs are shown. */
struct cached_plan {
    struct vt_plan *plan;
    uint32_t graph;
    uint32_t n_inputs;
    struct vt_tensor *inputs; /* the shapes that it is for */
    struct vt_tensor *outputs;
    size_t bytes;
    uint64_t used; /* the lane's clock at the last use */
    uint64_t runs;
};

struct slot {
    struct vt_request request;
    _Atomic uint64_t cancelled; /* the id that somebody gave up on; else not this request's */
    struct vt_error error;
    /* Copies, for an event whose plan ran again before the caller saw it. */
    struct vt_tensor *outputs;
    uint8_t *memory;
    size_t memory_bytes;
};

struct lane {
    struct vt_native_engine *engine;
    struct vt_pool *pool;
    struct cached_plan *plans;
    uint32_t n_plans;
    uint32_t last; /* most requests have the shapes of the one before */
    uint64_t clock;
    uint32_t most_outputs;
    struct vt_volume *volume; /* NULL: the engine has no windows */
    pthread_mutex_t busy;     /* held while plans are made or run: somebody may ask about them */
    struct slot slots[VT_NATIVE_IN_FLIGHT];
    uint32_t first, pending;
};

/* --- opening
 * ------------------------------------------------------------------------------------------- */

static void cached_plan_release(struct cached_plan *cached)
{
    vt_plan_free(cached->plan);
    vt_free(cached->inputs);
    vt_free(cached->outputs);
    memset(cached, 0, sizeof(*cached));
}

void vt_native_lane_close(void *engine, void *context)
{
    struct lane *lane = context;
    (void)engine;
    if (lane == NULL) {
        return;
    }
    if (lane->engine->shown_lane == lane) {
        lane->engine->shown_lane = NULL;
    }
    for (uint32_t i = 0; lane->plans != NULL && i < lane->n_plans; i++) {
        cached_plan_release(&lane->plans[i]);
    }
    vt_free(lane->plans);
    for (uint32_t i = 0; i < VT_NATIVE_IN_FLIGHT; i++) {
        vt_free(lane->slots[i].outputs);
        vt_free(lane->slots[i].memory);
    }
    vt_volume_free(lane->volume);
    vt_pool_free(lane->pool);
    (void)pthread_mutex_destroy(&lane->busy);
    vt_free(lane);
}

/* The threads are dealt out evenly; the first lanes take what is left over. */
static enum vt_status start_pool(struct lane *lane, uint32_t index, struct vt_error *err)
{
    const struct vt_native_engine *engine = lane->engine;
    uint32_t each = engine->threads / engine->lanes, rest = engine->threads % engine->lanes;
    uint32_t threads = each + (index < rest ? 1 : 0);
    uint32_t before = each * index + (index < rest ? index : rest);
    if (threads <= 1) {
        return VT_OK;
    }
    enum { MOST_CPUS = 1024 };
    uint32_t order[MOST_CPUS], cpus[MOST_CPUS];
    uint32_t n = 0;
    struct vt_pool_options options = {.threads = threads, .idle_spin_ns = engine->idle_spin_ns};
    uint32_t known = engine->affinity ? vt_topology_cpu_order(order, MOST_CPUS) : 0;
    while (known > 0 && n < threads - 1 && n < MOST_CPUS) {
        /* The lane's first core is for the thread that waits, which is not ours to bind. */
        cpus[n] = order[(before + 1 + n) % known];
        n++;
    }
    if (n > 0) {
        options.cpus = cpus;
        options.n_cpus = n;
    }
    return vt_pool_new(&options, err, &lane->pool);
}

enum vt_status vt_native_lane_open(void *context, uint32_t index, struct vt_error *err,
                                   void **ret_lane)
{
    struct vt_native_engine *engine = context;
    if (index == 0 && engine->first_lane != NULL) {
        *ret_lane = engine->first_lane;
        engine->first_lane = NULL;
        return VT_OK;
    }
    struct lane *lane = vt_calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    if (pthread_mutex_init(&lane->busy, NULL) != 0) {
        vt_free(lane);
        return vt_error_set(err, VT_ERR_SYSTEM, "a mutex could not be made");
    }
    lane->engine = engine;
    for (uint32_t g = 0; g < engine->models.n; g++) {
        uint32_t n = engine->models.items[g].signature.n_outputs;
        lane->most_outputs = n > lane->most_outputs ? n : lane->most_outputs;
    }
    enum vt_status status = VT_OK;
    lane->plans = vt_calloc(engine->plans_a_lane, sizeof(*lane->plans));
    for (uint32_t i = 0; i < VT_NATIVE_IN_FLIGHT && lane->plans != NULL; i++) {
        lane->slots[i].outputs =
            vt_calloc((size_t)lane->most_outputs + 1, sizeof(*lane->slots[i].outputs));
        if (lane->slots[i].outputs == NULL) {
            status = VT_ERR_MEMORY;
        }
    }
    if (lane->plans == NULL || status != VT_OK) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    } else {
        status = start_pool(lane, index, err);
    }
    if (status == VT_OK && engine->windows.axes > 0) {
        status = vt_volume_new(&engine->windows, engine->max_batch, lane->most_outputs, lane->pool,
                               err, &lane->volume);
    }
    if (status != VT_OK) {
        vt_native_lane_close(engine, lane);
        return status;
    }
    if (index == 0) {
        engine->shown_lane = lane;
    }
    *ret_lane = lane;
    return VT_OK;
}

/* --- plans by shape
 * -------------------------------------------------------------------------------------- */

static bool plan_fits(const struct cached_plan *cached, const struct vt_request *request)
{
    if (cached->graph != request->graph || cached->n_inputs != request->n_inputs) {
        return false;
    }
    for (uint32_t i = 0; i < request->n_inputs; i++) {
        if (!vt_tensor_same_shape(&cached->inputs[i], &request->inputs[i])) {
            return false;
        }
    }
    return true;
}

/* Lets the least recently used plans go until one more fits. */
static void make_room(struct lane *lane)
{
    for (;;) {
        size_t bytes = 0;
        uint32_t oldest = 0;
        for (uint32_t i = 0; i < lane->n_plans; i++) {
            bytes += lane->plans[i].bytes;
            if (lane->plans[i].used < lane->plans[oldest].used) {
                oldest = i;
            }
        }
        if (lane->n_plans == 0 || (lane->n_plans < lane->engine->plans_a_lane &&
                                   bytes <= lane->engine->plan_bytes_a_lane)) {
            return;
        }
        cached_plan_release(&lane->plans[oldest]);
        lane->plans[oldest] = lane->plans[--lane->n_plans];
        memset(&lane->plans[lane->n_plans], 0, sizeof(lane->plans[0]));
    }
}

/* Where it cannot be written it will be measured again. */
static void keep_tuning(struct vt_tuning *tuning)
{
    struct vt_error quiet = VT_ERROR_INIT;
    if (vt_tuning_save(tuning, &quiet) != VT_OK) {
        vt_log(VT_LOG_WARNING, "the tuning is not kept: %s", quiet.text);
    }
}

static enum vt_status make_plan(struct lane *lane, const struct vt_request *request,
                                struct vt_error *err, struct cached_plan **ret)
{
    const struct vt_engine_model *item = &lane->engine->models.items[request->graph];
    struct cached_plan fresh = {.graph = request->graph, .n_inputs = request->n_inputs};
    make_room(lane);
    fresh.inputs = vt_calloc((size_t)request->n_inputs + 1, sizeof(*fresh.inputs));
    fresh.outputs = vt_calloc((size_t)item->signature.n_outputs + 1, sizeof(*fresh.outputs));
    enum vt_status status = VT_OK;
    if (fresh.inputs == NULL || fresh.outputs == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for a plan");
    } else {
        memcpy(fresh.inputs, request->inputs, request->n_inputs * sizeof(*fresh.inputs));
        struct vt_plan_options options = lane->engine->plan_options;
        options.tuning = lane->engine->tuning;
        status = vt_plan_new(item->model, lane->engine->weights[request->graph], lane->pool,
                             request->inputs, request->n_inputs, &options, err, &fresh.plan);
        keep_tuning(lane->engine->tuning);
    }
    if (status != VT_OK) {
        cached_plan_release(&fresh);
        return status;
    }
    struct vt_plan_info info;
    vt_plan_info(fresh.plan, &info);
    fresh.bytes = info.arena_bytes;
    lane->plans[lane->n_plans] = fresh;
    *ret = &lane->plans[lane->n_plans++];
    return VT_OK;
}

static enum vt_status plan_for(struct lane *lane, const struct vt_request *request,
                               struct vt_error *err, struct cached_plan **ret)
{
    struct cached_plan *found = NULL;
    if (lane->last < lane->n_plans && plan_fits(&lane->plans[lane->last], request)) {
        found = &lane->plans[lane->last];
    }
    for (uint32_t i = 0; i < lane->n_plans && found == NULL; i++) {
        found = plan_fits(&lane->plans[i], request) ? &lane->plans[i] : NULL;
    }
    if (found == NULL) {
        enum vt_status status = make_plan(lane, request, err, &found);
        if (status != VT_OK) {
            return status;
        }
    }
    lane->last = (uint32_t)(found - lane->plans);
    found->used = ++lane->clock;
    *ret = found;
    return VT_OK;
}

/* Whether it is computed window by window. */
static bool is_volume(const struct lane *lane, const struct vt_request *request)
{
    return lane->volume != NULL && request->n_inputs == 1 &&
           !vt_windows_are_whole(&lane->engine->windows, &request->inputs[0]);
}

enum vt_status vt_native_lane_prepare(void *context, uint32_t graph, const struct vt_tensor *inputs,
                                      uint32_t n_inputs, struct vt_error *err)
{
    struct lane *lane = context;
    struct vt_request request = {.graph = graph, .inputs = inputs, .n_inputs = n_inputs};
    struct cached_plan *cached = NULL;
    struct vt_tensor windows;
    if (is_volume(lane, &request)) {
        enum vt_status status = vt_volume_begin(lane->volume, inputs, err, &windows);
        if (status != VT_OK) {
            return status;
        }
        request.inputs = &windows;
    }
    return plan_for(lane, &request, err, &cached);
}

/* --- requests
 * ------------------------------------------------------------------------------------------- */

enum vt_status vt_native_submit(void *context, void *lane_context,
                                const struct vt_request *requests, uint32_t n, struct vt_error *err)
{
    const struct vt_native_engine *engine = context;
    struct lane *lane = lane_context;
    if (n > VT_NATIVE_IN_FLIGHT - lane->pending) {
        return vt_error_set(err, VT_ERR_LIMIT, "%u requests on top of %u in flight exceed %u", n,
                            lane->pending, VT_NATIVE_IN_FLIGHT);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (requests[i].graph >= engine->models.n) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "a request names graph %u, but the bundle has %u",
                                requests[i].graph, engine->models.n);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        struct slot *slot = &lane->slots[(lane->first + lane->pending + i) % VT_NATIVE_IN_FLIGHT];
        slot->request = requests[i];
        atomic_store_explicit(&slot->cancelled, ~requests[i].id, memory_order_release);
    }
    lane->pending += n;
    return VT_OK;
}

void vt_native_cancel(void *engine, void *lane_context, uint64_t id)
{
    struct lane *lane = lane_context;
    (void)engine;
    /* Every slot is told: the one that holds this id will notice, if there is one. */
    for (uint32_t i = 0; i < VT_NATIVE_IN_FLIGHT; i++) {
        atomic_store_explicit(&lane->slots[i].cancelled, id, memory_order_release);
    }
}

static enum vt_status check_cancelled(struct slot *slot)
{
    if (atomic_load_explicit(&slot->cancelled, memory_order_acquire) == slot->request.id) {
        return vt_error_set(&slot->error, VT_ERR_INTERRUPTED, "the request was cancelled");
    }
    return VT_OK;
}

static enum vt_status compute_volume(struct lane *lane, struct slot *slot, struct vt_event *event)
{
    const struct vt_tensor *input = slot->request.inputs;
    struct vt_tensor windows;
    struct vt_request request = {.graph = slot->request.graph, .inputs = &windows, .n_inputs = 1};
    struct cached_plan *cached = NULL;
    enum vt_status status = vt_volume_begin(lane->volume, input, &slot->error, &windows);
    if (status == VT_OK) {
        status = plan_for(lane, &request, &slot->error, &cached);
    }
    if (status != VT_OK) {
        return status;
    }
    event->start_ns = vt_now_ns();
    event->n_outputs = lane->engine->models.items[request.graph].signature.n_outputs;
    event->outputs = vt_volume_outputs(lane->volume);
    const int64_t runs = vt_volume_runs(lane->volume);
    for (int64_t run = 0; run < runs && status == VT_OK; run++) {
        status = check_cancelled(slot);
        if (status == VT_OK) {
            vt_volume_cut(lane->volume, input, run);
            status = vt_plan_run(cached->plan, &windows, 1, &slot->error, cached->outputs,
                                 event->n_outputs);
        }
        if (status == VT_OK) {
            cached->runs++;
            status = vt_volume_blend(lane->volume, run, cached->outputs, &slot->error);
        }
    }
    return status;
}

static enum vt_status compute_plain(struct lane *lane, struct slot *slot, struct vt_event *event)
{
    const struct vt_request *request = &slot->request;
    struct cached_plan *cached = NULL;
    enum vt_status status = plan_for(lane, request, &slot->error, &cached);
    if (status != VT_OK) {
        return status;
    }
    uint32_t n_outputs = lane->engine->models.items[request->graph].signature.n_outputs;
    event->start_ns = vt_now_ns(); /* a plan made just now is not part of the computation */
    status = vt_plan_run(cached->plan, request->inputs, request->n_inputs, &slot->error,
                         cached->outputs, n_outputs);
    cached->runs++;
    event->outputs = cached->outputs;
    event->n_outputs = n_outputs;
    return status;
}

static enum vt_status compute(struct lane *lane, struct slot *slot, struct vt_event *event)
{
    slot->error.status = VT_OK;
    enum vt_status status = check_cancelled(slot);
    if (status != VT_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&lane->busy);
    status = is_volume(lane, &slot->request) ? compute_volume(lane, slot, event)
                                             : compute_plain(lane, slot, event);
    (void)pthread_mutex_unlock(&lane->busy);
    return status;
}

static void fill_event(struct lane *lane, struct slot *slot, struct vt_event *ret_event)
{
    struct vt_event event = {.id = slot->request.id, .kind = VT_EVENT_FINAL, .status = VT_OK};
    event.start_ns = vt_now_ns();
    enum vt_status status = compute(lane, slot, &event);
    event.end_ns = vt_now_ns();
    if (status != VT_OK) {
        event.kind = VT_EVENT_ERROR;
        event.status = status;
        event.text = slot->error.text;
        event.outputs = NULL;
        event.n_outputs = 0;
    }
    *ret_event = event;
}

/* Another request will be computed in this call and may use the same plan: put the outputs into
 * the slot's own memory. */
static void keep_outputs(struct slot *slot, struct vt_event *event)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < event->n_outputs; i++) {
        bytes += (event->outputs[i].bytes + VT_ALIGNMENT - 1) / VT_ALIGNMENT * VT_ALIGNMENT;
    }
    if (bytes > slot->memory_bytes) {
        uint8_t *memory = vt_alloc(bytes);
        if (memory == NULL) {
            event->kind = VT_EVENT_ERROR;
            event->status = vt_error_set(&slot->error, VT_ERR_MEMORY,
                                         "out of memory for %zu bytes of outputs", bytes);
            event->text = slot->error.text;
            event->outputs = NULL;
            event->n_outputs = 0;
            return;
        }
        vt_free(slot->memory);
        slot->memory = memory;
        slot->memory_bytes = bytes;
    }
    uint8_t *at = slot->memory;
    for (uint32_t i = 0; i < event->n_outputs; i++) {
        slot->outputs[i] = event->outputs[i];
        slot->outputs[i].data = at;
        if (event->outputs[i].bytes > 0) {
            memcpy(at, event->outputs[i].data, event->outputs[i].bytes);
        }
        at += (event->outputs[i].bytes + VT_ALIGNMENT - 1) / VT_ALIGNMENT * VT_ALIGNMENT;
    }
    event->outputs = slot->outputs;
}

/* min = 0 polls: computes one request, if there is one, so that polling gets on. Once min events
 * are there no other request is begun. */
enum vt_status vt_native_wait(void *engine, void *lane_context, uint32_t min, uint32_t max,
                              int64_t deadline_ns, struct vt_error *err,
                              struct vt_event *ret_events, uint32_t *ret_n)
{
    struct lane *lane = lane_context;
    uint32_t wanted = min > 0 ? min : 1, n = 0;
    (void)engine;
    (void)err;
    wanted = wanted > max ? max : wanted;
    while (n < wanted && lane->pending > 0) {
        if (min > 0 && deadline_ns != VT_NEVER && vt_now_ns() >= deadline_ns) {
            break;
        }
        struct slot *slot = &lane->slots[lane->first];
        fill_event(lane, slot, &ret_events[n]);
        lane->first = (lane->first + 1) % VT_NATIVE_IN_FLIGHT;
        lane->pending--;
        if (n + 1 < wanted && lane->pending > 0 && ret_events[n].kind == VT_EVENT_FINAL) {
            keep_outputs(slot, &ret_events[n]);
        }
        n++;
    }
    *ret_n = n;
    return VT_OK;
}

struct vt_plan *vt_native_lane_plan(void *context)
{
    struct lane *lane = context;
    return lane->last < lane->n_plans ? lane->plans[lane->last].plan : NULL;
}

const struct vt_model *vt_native_lane_model(void *context)
{
    const struct lane *lane = context;
    return lane->last < lane->n_plans
               ? lane->engine->models.items[lane->plans[lane->last].graph].model
               : NULL;
}

/* Samples so far: what most of the time went into. */
static double work_of(const struct cached_plan *cached)
{
    const struct vt_tensor *first = cached->n_inputs > 0 ? &cached->inputs[0] : NULL;
    const double samples = first != NULL && first->rank > 0 ? (double)first->dim[0] : 1;
    return (double)cached->runs * (samples > 0 ? samples : 1);
}

struct step_visitor {
    const struct vt_model *model;
    void (*visit)(void *ctx, const struct vt_model *model, const struct vt_step_profile *step);
    void *ctx;
};

static void show_step(void *ctx, const struct vt_step_profile *step)
{
    const struct step_visitor *visitor = ctx;
    visitor->visit(visitor->ctx, visitor->model, step);
}

bool vt_native_each_step(void *context,
                         void (*visit)(void *ctx, const struct vt_model *model,
                                       const struct vt_step_profile *step),
                         void *ctx)
{
    struct vt_native_engine *engine = context;
    struct lane *lane = engine->shown_lane;
    const struct cached_plan *most = NULL;
    if (lane == NULL || pthread_mutex_trylock(&lane->busy) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < lane->n_plans; i++) {
        if (most == NULL || work_of(&lane->plans[i]) > work_of(most)) {
            most = &lane->plans[i];
        }
    }
    if (most != NULL) {
        struct step_visitor visitor = {engine->models.items[most->graph].model, visit, ctx};
        vt_plan_each_step(most->plan, show_step, &visitor);
    }
    (void)pthread_mutex_unlock(&lane->busy);
    return most != NULL;
}
