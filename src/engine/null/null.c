/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/null/null.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/models.h"
#include "engine/settings.h"

#define IN_FLIGHT 64u

/* Where an open extent of an output comes from. */
struct extent {
    bool from_input; /* the extent of an input that has the same symbol; else the samples, or 1 */
    uint32_t input, dim;
};

struct null_graph {
    struct extent (*outputs)[VT_RANK_MAX];
    uint32_t first_output; /* in a slot's tensors */
};

struct null_engine {
    struct vt_engine_models models;
    struct null_graph *graphs;
    uint32_t most_outputs;
};

struct slot {
    uint64_t id;
    int64_t start_ns;
    uint32_t n_outputs;
    struct vt_tensor *outputs;
};

/* Requests wait in a ring of slots; all outputs show the same zeros. */
struct null_lane {
    struct slot slots[IN_FLIGHT];
    uint32_t first, pending;
    struct vt_tensor *tensors;
    uint8_t *zeros;
    size_t zero_bytes;
};

/* --- engine --------------------------------------------------------------------------------------
 */

static bool find_symbol(const struct vt_signature *signature, const char *symbol,
                        struct extent *ret)
{
    for (uint32_t i = 0; symbol != NULL && i < signature->n_inputs; i++) {
        const struct vt_port *port = &signature->inputs[i];
        for (uint32_t d = 0; d < port->rank && d < VT_RANK_MAX; d++) {
            if (port->dim[d] < 0 && port->symbol[d] != NULL &&
                strcmp(port->symbol[d], symbol) == 0) {
                *ret = (struct extent){true, i, d};
                return true;
            }
        }
    }
    return false;
}

static enum vt_status resolve_outputs(struct null_engine *engine, struct vt_error *err)
{
    engine->graphs = vt_calloc(engine->models.n, sizeof(*engine->graphs));
    if (engine->graphs == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the null engine");
    }
    for (uint32_t g = 0; g < engine->models.n; g++) {
        const struct vt_signature *signature = &engine->models.items[g].signature;
        struct null_graph *graph = &engine->graphs[g];
        graph->outputs = vt_calloc((size_t)signature->n_outputs + 1, sizeof(*graph->outputs));
        if (graph->outputs == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the null engine");
        }
        for (uint32_t i = 0; i < signature->n_outputs; i++) {
            const struct vt_port *port = &signature->outputs[i];
            for (uint32_t d = 0; d < port->rank && d < VT_RANK_MAX; d++) {
                find_symbol(signature, port->symbol[d], &graph->outputs[i][d]);
            }
        }
        if (signature->n_outputs > engine->most_outputs) {
            engine->most_outputs = signature->n_outputs;
        }
    }
    return VT_OK;
}

static void null_close(void *context)
{
    struct null_engine *engine = context;
    if (engine == NULL) {
        return;
    }
    for (uint32_t g = 0; engine->graphs != NULL && g < engine->models.n; g++) {
        vt_free(engine->graphs[g].outputs);
    }
    vt_free(engine->graphs);
    vt_engine_models_release(&engine->models);
    vt_free(engine);
}

static enum vt_status null_open(const struct vt_bundle *bundle,
                                const struct vt_engine_config *config, struct vt_error *err,
                                void **ret_engine)
{
    enum vt_status status = vt_engine_check_settings(config, "null", NULL, 0, err);
    if (status != VT_OK) {
        return status;
    }
    struct null_engine *engine = vt_calloc(1, sizeof(*engine));
    if (engine == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the null engine");
    }
    status = vt_engine_models_open(&engine->models, bundle, config, NULL, err);
    if (status == VT_OK) {
        status = resolve_outputs(engine, err);
    }
    if (status != VT_OK) {
        null_close(engine);
        return status;
    }
    *ret_engine = engine;
    return VT_OK;
}

static enum vt_status null_signature(void *context, uint32_t graph, struct vt_error *err,
                                     struct vt_signature *ret_signature)
{
    struct null_engine *engine = context;
    return vt_engine_models_signature(&engine->models, graph, err, ret_signature);
}

static enum vt_status null_caps(void *context, struct vt_error *err,
                                struct vt_engine_caps *ret_caps)
{
    const struct null_engine *engine = context;
    (void)err;
    ret_caps->max_batch = VT_ANY_BATCH;
    for (uint32_t g = 0; g < engine->models.n; g++) {
        if (!engine->models.items[g].any_batch) {
            ret_caps->max_batch = 1;
        }
    }
    ret_caps->best_batch = 0;
    ret_caps->best_lanes = 0;
    ret_caps->max_in_flight = IN_FLIGHT;
    ret_caps->uses_cpu = false;
    snprintf(ret_caps->precision, sizeof(ret_caps->precision), "none");
    snprintf(ret_caps->description, sizeof(ret_caps->description),
             "null: answers zeros at once, computes nothing");
    return VT_OK;
}

/* --- lanes ---------------------------------------------------------------------------------------
 */

static void null_lane_close(void *context, void *lane_context)
{
    struct null_lane *lane = lane_context;
    (void)context;
    if (lane != NULL) {
        vt_free(lane->tensors);
        vt_free(lane->zeros);
        vt_free(lane);
    }
}

static enum vt_status null_lane_open(void *context, uint32_t index, struct vt_error *err,
                                     void **ret_lane)
{
    const struct null_engine *engine = context;
    struct null_lane *lane = vt_calloc(1, sizeof(*lane));
    if (lane != NULL) {
        lane->tensors =
            vt_calloc(IN_FLIGHT * ((size_t)engine->most_outputs + 1), sizeof(*lane->tensors));
    }
    if (lane == NULL || lane->tensors == NULL) {
        null_lane_close(context, lane);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        lane->slots[i].outputs = lane->tensors + (size_t)i * engine->most_outputs;
    }
    *ret_lane = lane;
    return VT_OK;
}

/* The shape of an output of this request; open extents that nothing tells are 1. */
static enum vt_status shape_output(const struct vt_port *port, const struct extent *extents,
                                   const struct vt_request *request, struct vt_error *err,
                                   struct vt_tensor *ret)
{
    ret->dtype = port->dtype;
    ret->memory = VT_MEMORY_HOST;
    ret->rank = port->rank <= VT_RANK_MAX ? port->rank : 0;
    for (uint32_t d = 0; d < ret->rank; d++) {
        if (port->dim[d] >= 0) {
            ret->dim[d] = port->dim[d];
        } else if (extents[d].from_input) {
            ret->dim[d] = request->inputs[extents[d].input].dim[extents[d].dim];
        } else {
            ret->dim[d] = d == 0 ? request->samples : 1;
        }
    }
    if (vt_dtype_bytes(ret->dtype) == 0) {
        ret->bytes = 0;
        return VT_OK;
    }
    if (!vt_shape_bytes(ret->dtype, ret->dim, ret->rank, &ret->bytes)) {
        return vt_error_set(err, VT_ERR_LIMIT, "output '%s' would be too large", port->name);
    }
    return VT_OK;
}

static enum vt_status take(const struct null_engine *engine, struct null_lane *lane,
                           const struct vt_request *request, struct slot *slot,
                           struct vt_error *err)
{
    if (request->graph >= engine->models.n ||
        request->n_inputs != engine->models.items[request->graph].signature.n_inputs) {
        return vt_error_set(err, VT_ERR_USAGE, "a request names graph %u of %u with %u inputs",
                            request->graph, engine->models.n, request->n_inputs);
    }
    const struct vt_signature *signature = &engine->models.items[request->graph].signature;
    slot->id = request->id;
    slot->n_outputs = signature->n_outputs;
    for (uint32_t i = 0; i < signature->n_outputs; i++) {
        struct vt_tensor *output = &slot->outputs[i];
        enum vt_status status =
            shape_output(&signature->outputs[i], engine->graphs[request->graph].outputs[i], request,
                         err, output);
        if (status != VT_OK) {
            return status;
        }
        if (output->bytes > lane->zero_bytes) {
            uint8_t *zeros = vt_calloc(1, output->bytes);
            if (zeros == NULL) {
                return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %zu bytes of zeros",
                                    output->bytes);
            }
            vt_free(lane->zeros);
            lane->zeros = zeros;
            lane->zero_bytes = output->bytes;
        }
    }
    slot->start_ns = vt_now_ns();
    return VT_OK;
}

static enum vt_status null_submit(void *context, void *lane_context,
                                  const struct vt_request *requests, uint32_t n,
                                  struct vt_error *err)
{
    const struct null_engine *engine = context;
    struct null_lane *lane = lane_context;
    if (n > IN_FLIGHT - lane->pending) {
        return vt_error_set(err, VT_ERR_LIMIT, "%u requests on top of %u in flight exceed %u", n,
                            lane->pending, IN_FLIGHT);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct slot *slot = &lane->slots[(lane->first + lane->pending + i) % IN_FLIGHT];
        enum vt_status status = take(engine, lane, &requests[i], slot, err);
        if (status != VT_OK) {
            return status;
        }
    }
    lane->pending += n;
    return VT_OK;
}

static enum vt_status null_wait(void *context, void *lane_context, uint32_t min, uint32_t max,
                                int64_t deadline_ns, struct vt_error *err,
                                struct vt_event *ret_events, uint32_t *ret_n)
{
    struct null_lane *lane = lane_context;
    (void)context;
    (void)min;
    (void)deadline_ns;
    (void)err;
    uint32_t n = lane->pending < max ? lane->pending : max;
    for (uint32_t i = 0; i < n; i++) {
        struct slot *slot = &lane->slots[lane->first];
        for (uint32_t o = 0; o < slot->n_outputs; o++) {
            slot->outputs[o].data = lane->zeros;
        }
        ret_events[i] = (struct vt_event){.id = slot->id,
                                          .kind = VT_EVENT_FINAL,
                                          .status = VT_OK,
                                          .outputs = slot->outputs,
                                          .n_outputs = slot->n_outputs,
                                          .start_ns = slot->start_ns,
                                          .end_ns = slot->start_ns};
        lane->first = (lane->first + 1) % IN_FLIGHT;
    }
    lane->pending -= n;
    *ret_n = n;
    return VT_OK;
}

const struct vt_engine_ops vt_null_engine = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "null",
    .summary = "answers zeros at once: what is measured is the tool's own cost",
    .open = null_open,
    .close = null_close,
    .signature = null_signature,
    .caps = null_caps,
    .lane_open = null_lane_open,
    .lane_close = null_lane_close,
    .submit = null_submit,
    .wait = null_wait,
};
