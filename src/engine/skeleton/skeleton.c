/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine to start from. It "runs" a model that takes a row of numbers a sample and gives their
 * mean, which is little enough that everything else here is what any engine needs.
 *
 * Build it anywhere, against the installed headers alone:
 *
 *     cc -std=c17 -shared -fPIC -I PREFIX/include skeleton.c -o skeleton.so
 *     vatio run MODEL.onnx --engine ./skeleton.so --engine-option elements=64
 *
 * include/vatio/engine.h is the contract: which thread calls what, what may block, who owns what.
 * The order of this file is the life of an engine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vatio/engine.h"

/* What the host offers; kept by the entry function at the bottom. */
static const struct vt_host *host;

/* Requests that a lane takes before wait() must be called. */
#define IN_FLIGHT 4u

/* Memory from the host, so that vatio's own limits and tests cover it; malloc would do as well. */
static void *zeroed(size_t bytes)
{
    void *memory = host->alloc(bytes, 64);
    if (memory != NULL) {
        memset(memory, 0, bytes);
    }
    return memory;
}

/* --- the engine: one model, loaded -------------------------------------------------------------
 */

struct engine {
    int64_t elements; /* a sample */
    uint32_t lanes;
    struct vt_port input, output;
};

/*
 * open() reads the model and prepares whatever all lanes share. A real engine would look at
 *
 *     bundle->graphs[0].path     a file, or NULL when the model is in memory:
 *     bundle->graphs[0].bytes    then this, which stays valid until close()
 *
 * and would use config->shapes to fill open extents, config->threads as the number of CPU threads
 * for all lanes together, config->max_batch as the largest request that will come.
 *
 * This one gets along without a file; its only parameter comes as a setting. A setting that it
 * does not know is an error: a user who mistypes must not measure something else.
 */
static enum vt_status skeleton_open(const struct vt_bundle *bundle,
                                    const struct vt_engine_config *config, struct vt_error *err,
                                    void **ret_engine)
{
    long elements = 16;
    (void)bundle;
    for (uint32_t i = 0; i < config->n_settings; i++) {
        char *end = NULL;
        if (strcmp(config->settings[i].key, "elements") != 0) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "engine skeleton has no setting '%s'; it knows 'elements'",
                                config->settings[i].key);
        }
        elements = strtol(config->settings[i].value, &end, 10);
        if (*end != '\0' || elements < 1 || elements > 1000000) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "setting 'elements' is '%s', but must be from 1 to 1000000",
                                config->settings[i].value);
        }
    }

    struct engine *engine = zeroed(sizeof(*engine));
    if (engine == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the skeleton engine");
    }
    engine->elements = elements;
    engine->lanes = config->lanes;
    /* -1 in dimension 0 says that any number of samples can be collated. */
    engine->input = (struct vt_port){
        .name = "row", .dtype = VT_F32, .rank = 2, .dim = {-1, elements}, .symbol = {"N"}};
    engine->output = (struct vt_port){
        .name = "mean", .dtype = VT_F32, .rank = 2, .dim = {-1, 1}, .symbol = {"N"}};
    *ret_engine = engine; /* outputs are written only on success */
    return VT_OK;
}

/* Called once, after all lanes are closed. NULL is allowed. */
static void skeleton_close(void *engine)
{
    host->free(engine);
}

/* What goes in and what comes out. The arrays stay ours and must live as long as the engine. */
static enum vt_status skeleton_signature(void *context, uint32_t graph, struct vt_error *err,
                                         struct vt_signature *ret_signature)
{
    const struct engine *engine = context;
    if (graph != 0) {
        return vt_error_set(err, VT_ERR_USAGE, "graph %u is asked for, but there is one only",
                            graph);
    }
    *ret_signature = (struct vt_signature){&engine->input, &engine->output, 1, 1};
    return VT_OK;
}

/* What this engine can do, now that it knows the model. */
static enum vt_status skeleton_caps(void *context, struct vt_error *err,
                                    struct vt_engine_caps *ret_caps)
{
    (void)context;
    (void)err;
    ret_caps->max_batch = 1024;
    ret_caps->best_batch = 0; /* no opinion */
    ret_caps->best_lanes = 0;
    ret_caps->max_in_flight = IN_FLIGHT;
    ret_caps->uses_cpu = true; /* then nobody else spins on these cores */
    snprintf(ret_caps->precision, sizeof(ret_caps->precision), "fp32");
    snprintf(ret_caps->description, sizeof(ret_caps->description),
             "skeleton: the mean of each row, 1 thread a lane");
    return VT_OK;
}

/* --- a lane: one independent stream of work ------------------------------------------------------
 */

struct slot {
    uint64_t id;
    int64_t start_ns, end_ns;
    struct vt_tensor output;
};

/*
 * Each lane is used by one thread at a time, different lanes by different threads at once: what
 * only a lane touches needs no lock.
 */
struct lane {
    struct slot slots[IN_FLIGHT]; /* a ring */
    uint32_t first, ready;
    float *results; /* max_batch of them for each slot */
};

/* Everything that a request will need is taken here, so that submit() and wait() allocate nothing:
 * their time is measured. */
static enum vt_status skeleton_lane_open(void *context, uint32_t index, struct vt_error *err,
                                         void **ret_lane)
{
    (void)context;
    struct lane *lane = zeroed(sizeof(*lane));
    if (lane != NULL) {
        lane->results = zeroed((size_t)IN_FLIGHT * 1024 * sizeof(*lane->results));
    }
    if (lane == NULL || lane->results == NULL) {
        host->free(lane);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    *ret_lane = lane;
    return VT_OK;
}

static void skeleton_lane_close(void *engine, void *context)
{
    struct lane *lane = context;
    (void)engine;
    if (lane != NULL) {
        host->free(lane->results);
        host->free(lane);
    }
}

static void mean_of_rows(const float *rows, int64_t n, int64_t elements, float *ret_means)
{
    for (int64_t row = 0; row < n; row++) {
        double sum = 0.0;
        for (int64_t i = 0; i < elements; i++) {
            sum += (double)rows[row * elements + i];
        }
        ret_means[row] = (float)(sum / (double)elements);
    }
}

/*
 * Takes requests. An accelerator would start its work here and return at once; this engine is so
 * quick that it computes in place and only keeps the result for wait(). Either all requests are
 * taken or none: check first, then take.
 */
static enum vt_status skeleton_submit(void *context, void *lane_context,
                                      const struct vt_request *requests, uint32_t n,
                                      struct vt_error *err)
{
    const struct engine *engine = context;
    struct lane *lane = lane_context;
    if (n > IN_FLIGHT - lane->ready) {
        return vt_error_set(err, VT_ERR_LIMIT, "%u requests on top of %u exceed %u", n, lane->ready,
                            IN_FLIGHT);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vt_request *request = &requests[i];
        if (request->n_inputs != 1 || request->samples > 1024 ||
            request->inputs[0].dtype != VT_F32 || request->inputs[0].rank != 2 ||
            request->inputs[0].dim[0] != (int64_t)request->samples ||
            request->inputs[0].dim[1] != engine->elements) {
            return vt_error_set(
                err, VT_ERR_USAGE, "request %llu must have one float32 input of %u rows of %lld",
                (unsigned long long)request->id, request->samples, (long long)engine->elements);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vt_request *request = &requests[i];
        uint32_t at = (lane->first + lane->ready) % IN_FLIGHT;
        struct slot *slot = &lane->slots[at];
        float *means = lane->results + (size_t)at * 1024;
        slot->id = request->id;
        slot->start_ns = host->now_ns();
        mean_of_rows(request->inputs[0].data, request->samples, engine->elements, means);
        slot->end_ns = host->now_ns();
        slot->output = (struct vt_tensor){.dtype = VT_F32,
                                          .rank = 2,
                                          .dim = {request->samples, 1},
                                          .data = means,
                                          .bytes = request->samples * sizeof(float)};
        lane->ready++;
    }
    return VT_OK;
}

/*
 * Gives results back. When fewer than `min` are ready an engine waits here, on whatever its device
 * signals, until `deadline_ns` at most; then it returns VT_OK with what there is. Here everything
 * is ready. A request that failed would be an event of kind VT_EVENT_ERROR; any status but VT_OK
 * says that the lane as a whole is broken.
 *
 * An engine that makes tokens shows the first one of a request with an event of kind
 * VT_EVENT_PARTIAL, and says in `n_tokens` of the final event how many each sample got.
 *
 * The outputs are borrowed by the caller until its next call on this lane.
 */
static enum vt_status skeleton_wait(void *engine, void *lane_context, uint32_t min, uint32_t max,
                                    int64_t deadline_ns, struct vt_error *err,
                                    struct vt_event *ret_events, uint32_t *ret_n)
{
    struct lane *lane = lane_context;
    uint32_t n = 0;
    (void)engine;
    (void)min;
    (void)deadline_ns;
    (void)err;
    while (n < max && lane->ready > 0) {
        const struct slot *slot = &lane->slots[lane->first];
        ret_events[n++] = (struct vt_event){.id = slot->id,
                                            .kind = VT_EVENT_FINAL,
                                            .status = VT_OK,
                                            .outputs = &slot->output,
                                            .n_outputs = 1,
                                            .start_ns = slot->start_ns,
                                            .end_ns = slot->end_ns};
        lane->first = (lane->first + 1) % IN_FLIGHT;
        lane->ready--;
    }
    *ret_n = n;
    return VT_OK;
}

/* --- the module
 * ------------------------------------------------------------------------------------ */

/* The optional slots are left out: probe (always available), buffer_alloc and buffer_free (host
 * memory), cancel (nothing to cancel). */
static const struct vt_engine_ops skeleton = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "skeleton",
    .summary = "an example: gives the mean of each row",
    .open = skeleton_open,
    .close = skeleton_close,
    .signature = skeleton_signature,
    .caps = skeleton_caps,
    .lane_open = skeleton_lane_open,
    .lane_close = skeleton_lane_close,
    .submit = skeleton_submit,
    .wait = skeleton_wait,
};

static const struct vt_engine_ops *const engines[] = {&skeleton};

static const struct vt_module module = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_module),
    .name = "skeleton",
    .engines = engines,
    .n_engines = 1,
};

/* The one symbol that a module exports. */
VT_API const struct vt_module *vatio_module(const struct vt_host *given);

const struct vt_module *vatio_module(const struct vt_host *given)
{
    if (given->api_version != VT_ENGINE_API_VERSION) {
        return NULL;
    }
    host = given;
    return &module;
}
