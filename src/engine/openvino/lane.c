/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: one infer request a graph, one request at a time, computed while its caller waits.
 * Outputs lie in the infer request's own tensors until it runs again.
 */
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "engine/openvino/openvino.h"

struct lane {
    struct vt_ov_engine *engine;
    struct ov_infer_request **requests; /* by graph */
    struct vt_turn turn;
    struct ov_tensor **handles; /* of the outputs that are shown */
    uint32_t n_handles;
    struct vt_tensor *outputs;
};

static void release_outputs(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->n_handles; i++) {
        lane->engine->api.tensor_free(lane->handles[i]);
    }
    lane->n_handles = 0;
}

void vt_ov_lane_close(void *engine_context, void *context)
{
    struct vt_ov_engine *engine = engine_context;
    struct lane *lane = context;
    if (lane == NULL) {
        return;
    }
    release_outputs(lane);
    for (uint32_t g = 0; lane->requests != NULL && g < engine->n_graphs; g++) {
        if (lane->requests[g] != NULL) {
            engine->api.infer_request_free(lane->requests[g]);
        }
    }
    vt_turn_release(&lane->turn);
    vt_free(lane->requests);
    vt_free(lane->handles);
    vt_free(lane->outputs);
    vt_free(lane);
}

enum vt_status vt_ov_lane_open(void *context, uint32_t index, struct vt_error *err, void **ret_lane)
{
    struct vt_ov_engine *engine = context;
    size_t most = 0;
    for (uint32_t g = 0; g < engine->n_graphs; g++) {
        size_t n = engine->graphs[g].ports.n_outputs;
        most = n > most ? n : most;
    }
    struct lane *lane = vt_calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    lane->engine = engine;
    lane->requests = vt_calloc(engine->n_graphs, sizeof(struct ov_infer_request *));
    lane->handles = vt_calloc(most + 1, sizeof(struct ov_tensor *));
    lane->outputs = vt_calloc(most + 1, sizeof(*lane->outputs));
    enum vt_status status = vt_turn_init(&lane->turn, err);
    if (lane->requests == NULL || lane->handles == NULL || lane->outputs == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    for (uint32_t g = 0; g < engine->n_graphs && status == VT_OK; g++) {
        status = vt_ov_check(
            engine,
            engine->api.create_infer_request(engine->graphs[g].compiled, &lane->requests[g]),
            "opening a lane", err);
        if (status != VT_OK) {
            lane->requests[g] = NULL;
        }
    }
    if (status != VT_OK) {
        vt_ov_lane_close(engine, lane);
        return status;
    }
    *ret_lane = lane;
    return VT_OK;
}

enum vt_status vt_ov_submit(void *context, void *lane_context, const struct vt_request *requests,
                            uint32_t n, struct vt_error *err)
{
    const struct vt_ov_engine *engine = context;
    struct lane *lane = lane_context;
    release_outputs(lane);
    return vt_turn_submit(&lane->turn, requests, n, engine->signatures, engine->n_graphs, err);
}

static void stop(void *context)
{
    const struct lane *lane = context;
    (void)vt_ov_check(lane->engine,
                      lane->engine->api.cancel(lane->requests[lane->turn.request.graph]),
                      "cancelling", NULL);
}

void vt_ov_cancel(void *engine, void *lane_context, uint64_t id)
{
    struct lane *lane = lane_context;
    (void)engine;
    vt_turn_cancel(&lane->turn, id, stop, lane);
}

/* --- one request --------------------------------------------------------------------------------
 */

/* The library would read on with any shape; what does not fit the signature ends here. */
static enum vt_status check_input(const struct vt_port *port, const struct vt_tensor *tensor,
                                  struct vt_error *err)
{
    char given[96], wanted[96];
    bool fits = tensor->dtype == port->dtype && tensor->memory != VT_MEMORY_DEVICE &&
                tensor->rank == port->rank;
    for (uint32_t d = 0; fits && d < port->rank; d++) {
        fits = port->dim[d] < 0 || port->dim[d] == tensor->dim[d];
    }
    if (fits) {
        return VT_OK;
    }
    return vt_error_set(err, VT_ERR_USAGE, "input %s is %s %s%s, the model takes %s %s",
                        vt_quote(port->name).text, vt_dtype_name(tensor->dtype),
                        vt_shape_text(tensor->dim, tensor->rank, NULL, given, sizeof(given)),
                        tensor->memory == VT_MEMORY_DEVICE ? " in device memory" : "",
                        vt_dtype_name(port->dtype),
                        vt_shape_text(port->dim, port->rank, port->symbol, wanted, sizeof(wanted)));
}

static enum vt_status set_input(struct lane *lane, struct ov_infer_request *request, uint32_t index,
                                const struct vt_port *port, const struct vt_tensor *tensor)
{
    static uint64_t nothing; /* a tensor without elements still wants an address */
    struct vt_ov_engine *engine = lane->engine;
    struct ov_tensor *handle = NULL;
    struct vt_tensor copy = *tensor;
    enum vt_status status = check_input(port, tensor, &lane->turn.failure);
    if (status == VT_OK) {
        status = vt_ov_check(engine,
                             engine->api.tensor_of(engine->type_of[tensor->dtype],
                                                   (struct ov_shape){tensor->rank, copy.dim},
                                                   tensor->data != NULL ? tensor->data : &nothing,
                                                   &handle),
                             port->name, &lane->turn.failure);
    }
    if (status == VT_OK) {
        status = vt_ov_check(engine, engine->api.set_input(request, index, handle), port->name,
                             &lane->turn.failure);
        engine->api.tensor_free(handle);
    }
    return status;
}

/* The extents of an output. Of a scalar the C interface gives none: it calls the empty shape a
 * wrong argument; then the tensor holds one element. */
static enum vt_status read_extents(struct lane *lane, const struct ov_tensor *handle,
                                   const struct vt_port *port, enum vt_dtype dtype,
                                   uint32_t *ret_rank, int64_t *ret_dim)
{
    const struct ov_api *api = &lane->engine->api;
    struct vt_error *failure = &lane->turn.failure;
    struct ov_shape shape = {0, NULL};
    size_t bytes = 0;
    int result = api->tensor_get_shape(handle, &shape);
    if (result == OV_INVALID_C_PARAM && api->tensor_get_byte_size(handle, &bytes) == 0 &&
        bytes == vt_dtype_bytes(dtype)) {
        *ret_rank = 0;
        return VT_OK;
    }
    enum vt_status status = vt_ov_check(lane->engine, result, port->name, failure);
    if (status != VT_OK) {
        return status;
    }
    if (shape.rank < 0 || shape.rank > VT_RANK_MAX) {
        status = vt_error_set(failure, VT_ERR_LIMIT,
                              "output %s has %lld dimensions, at most %d are possible",
                              vt_quote(port->name).text, (long long)shape.rank, VT_RANK_MAX);
    } else {
        *ret_rank = (uint32_t)shape.rank;
        memcpy(ret_dim, shape.dims, (size_t)shape.rank * sizeof(*ret_dim));
    }
    (void)api->shape_free(&shape);
    return status;
}

static enum vt_status view_output(struct lane *lane, struct ov_infer_request *request,
                                  uint32_t index, const struct vt_port *port)
{
    struct vt_ov_engine *engine = lane->engine;
    const struct ov_api *api = &engine->api;
    struct vt_error *failure = &lane->turn.failure;
    struct ov_tensor *handle = NULL;
    int64_t dim[VT_RANK_MAX];
    enum vt_dtype dtype = VT_UNDEFINED;
    uint32_t rank = 0;
    void *data = NULL;
    int type = -1;
    enum vt_status status =
        vt_ov_check(engine, api->get_output(request, index, &handle), port->name, failure);
    if (status != VT_OK) {
        return status;
    }
    lane->handles[lane->n_handles++] = handle;
    status = vt_ov_check(engine, api->tensor_get_element_type(handle, &type), port->name, failure);
    if (status == VT_OK) {
        dtype = type >= 0 && type < VT_OV_TYPES ? engine->dtype_of[type] : VT_UNDEFINED;
        status = vt_ov_check(engine, api->tensor_data(handle, &data), port->name, failure);
    }
    if (status == VT_OK) {
        status = read_extents(lane, handle, port, dtype, &rank, dim);
    }
    return status == VT_OK ? vt_tensor_init(&lane->outputs[index], dtype, rank, dim, data, failure)
                           : status;
}

static enum vt_status infer(struct lane *lane, struct ov_infer_request *request)
{
    struct vt_ov_engine *engine = lane->engine;
    struct vt_error *failure = &lane->turn.failure;
    if (!vt_turn_begin(&lane->turn)) {
        return vt_error_set(failure, VT_ERR_INTERRUPTED, "the request was cancelled");
    }
    int result = engine->api.infer(request);
    bool cancelled = vt_turn_end(&lane->turn);
    /* A result that came before the cancellation is a result. */
    if (result != 0 && cancelled) {
        return vt_error_set(failure, VT_ERR_INTERRUPTED, "the request was cancelled");
    }
    return vt_ov_check(engine, result, "running", failure);
}

static enum vt_status compute(struct lane *lane, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    const struct vt_request *request = &lane->turn.request;
    const struct vt_ports *ports = &lane->engine->graphs[request->graph].ports;
    struct ov_infer_request *infer_request = lane->requests[request->graph];
    enum vt_status status = VT_OK;

    lane->turn.failure.status = VT_OK;
    for (uint32_t i = 0; i < ports->n_inputs && status == VT_OK; i++) {
        status = set_input(lane, infer_request, i, &ports->inputs[i], &request->inputs[i]);
    }
    *ret_start_ns = vt_now_ns();
    if (status == VT_OK) {
        status = infer(lane, infer_request);
    }
    *ret_end_ns = vt_now_ns();
    for (uint32_t i = 0; i < ports->n_outputs && status == VT_OK; i++) {
        status = view_output(lane, infer_request, i, &ports->outputs[i]);
    }
    return status;
}

enum vt_status vt_ov_wait(void *context, void *lane_context, uint32_t min, uint32_t max,
                          int64_t deadline_ns, struct vt_error *err, struct vt_event *ret_events,
                          uint32_t *ret_n)
{
    struct lane *lane = lane_context;
    int64_t start_ns = 0, end_ns = 0;
    (void)context;
    (void)err;
    release_outputs(lane);
    *ret_n = 0;
    if (vt_turn_is_due(&lane->turn, min, max, deadline_ns)) {
        enum vt_status status = compute(lane, &start_ns, &end_ns);
        *ret_events =
            vt_turn_event(&lane->turn, status, lane->outputs, lane->n_handles, start_ns, end_ns);
        *ret_n = 1;
    }
    return VT_OK;
}
