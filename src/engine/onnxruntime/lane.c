/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: one request, computed by the thread that waits for it. Outputs are the library's own
 * values and are released when the lane is called next.
 */
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "engine/onnxruntime/onnxruntime.h"

struct lane {
    struct vt_ort_engine *engine;
    struct ort_run_options *run_options;
    struct vt_turn turn;
    struct ort_value **inputs, **outputs; /* as many as the largest graph has */
    struct vt_tensor *tensors;            /* of the outputs */
    uint32_t n_outputs;                   /* values in `outputs` that are there */
};

static void release_outputs(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->n_outputs; i++) {
        if (lane->outputs[i] != NULL) {
            lane->engine->api->release_value(lane->outputs[i]);
            lane->outputs[i] = NULL;
        }
    }
    lane->n_outputs = 0;
}

void vt_ort_lane_close(void *engine, void *context)
{
    struct lane *lane = context;
    (void)engine;
    if (lane == NULL) {
        return;
    }
    if (lane->outputs != NULL) {
        release_outputs(lane);
    }
    if (lane->run_options != NULL) {
        lane->engine->api->release_run_options(lane->run_options);
    }
    vt_turn_release(&lane->turn);
    vt_free(lane->inputs);
    vt_free(lane->outputs);
    vt_free(lane->tensors);
    vt_free(lane);
}

enum vt_status vt_ort_lane_open(void *context, uint32_t index, struct vt_error *err,
                                void **ret_lane)
{
    struct vt_ort_engine *engine = context;
    size_t n_inputs = 0, n_outputs = 0;
    for (uint32_t g = 0; g < engine->n_graphs; g++) {
        const struct vt_ports *ports = &engine->graphs[g].ports;
        n_inputs = ports->n_inputs > n_inputs ? ports->n_inputs : n_inputs;
        n_outputs = ports->n_outputs > n_outputs ? ports->n_outputs : n_outputs;
    }
    struct lane *lane = vt_calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    lane->engine = engine;
    lane->inputs = vt_calloc(n_inputs + 1, sizeof(struct ort_value *));
    lane->outputs = vt_calloc(n_outputs + 1, sizeof(struct ort_value *));
    lane->tensors = vt_calloc(n_outputs + 1, sizeof(*lane->tensors));
    enum vt_status status = vt_turn_init(&lane->turn, err);
    if (lane->inputs == NULL || lane->outputs == NULL || lane->tensors == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, engine->api->create_run_options(&lane->run_options),
                              "opening a lane", err);
    }
    if (status != VT_OK) {
        vt_ort_lane_close(engine, lane);
        return status;
    }
    *ret_lane = lane;
    return VT_OK;
}

enum vt_status vt_ort_submit(void *context, void *lane_context, const struct vt_request *requests,
                             uint32_t n, struct vt_error *err)
{
    const struct vt_ort_engine *engine = context;
    struct lane *lane = lane_context;
    release_outputs(lane);
    return vt_turn_submit(&lane->turn, requests, n, engine->signatures, engine->n_graphs, err);
}

static void stop(void *context)
{
    const struct lane *lane = context;
    const struct vt_ort_engine *engine = lane->engine;
    (void)vt_ort_check(engine, engine->api->run_options_set_terminate(lane->run_options),
                       "cancelling", NULL);
}

void vt_ort_cancel(void *engine, void *lane_context, uint64_t id)
{
    struct lane *lane = lane_context;
    (void)engine;
    vt_turn_cancel(&lane->turn, id, stop, lane);
}

/* --- one request --------------------------------------------------------------------------------
 */

static enum vt_status make_input(struct lane *lane, const struct vt_port *port,
                                 const struct vt_tensor *tensor, struct ort_value **ret)
{
    static uint64_t nothing; /* a tensor without elements still wants an address */
    struct vt_ort_engine *engine = lane->engine;
    if (tensor->dtype != port->dtype || tensor->memory == VT_MEMORY_DEVICE) {
        return vt_error_set(&lane->turn.failure, VT_ERR_USAGE,
                            "input %s is %s%s, the model takes %s", vt_quote(port->name).text,
                            vt_dtype_name(tensor->dtype),
                            tensor->memory == VT_MEMORY_DEVICE ? " in device memory" : "",
                            vt_dtype_name(port->dtype));
    }
    return vt_ort_check(engine,
                        engine->api->create_tensor_with_data(
                            engine->memory, tensor->data != NULL ? tensor->data : &nothing,
                            tensor->bytes, tensor->dim, tensor->rank, (int)tensor->dtype, ret),
                        port->name, &lane->turn.failure);
}

static enum vt_status view_output(struct lane *lane, const struct vt_port *port,
                                  struct ort_value *value, struct vt_tensor *ret)
{
    struct vt_ort_engine *engine = lane->engine;
    const struct ort_api *api = engine->api;
    struct ort_tensor_info *info = NULL;
    int is_tensor = 0, element_type = 0;
    size_t rank = 0;
    int64_t dim[VT_RANK_MAX];
    void *data = NULL;
    enum vt_status status =
        vt_ort_check(engine, api->is_tensor(value, &is_tensor), port->name, &lane->turn.failure);
    if (status == VT_OK && is_tensor == 0) {
        status = vt_error_set(&lane->turn.failure, VT_ERR_UNSUPPORTED, "output %s is no tensor",
                              vt_quote(port->name).text);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_tensor_type_and_shape(value, &info), port->name,
                              &lane->turn.failure);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_tensor_element_type(info, &element_type), port->name,
                              &lane->turn.failure);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_dimensions_count(info, &rank), port->name,
                              &lane->turn.failure);
    }
    if (status == VT_OK && rank > VT_RANK_MAX) {
        status = vt_error_set(&lane->turn.failure, VT_ERR_LIMIT,
                              "output %s has %zu dimensions, at most %d are possible",
                              vt_quote(port->name).text, rank, VT_RANK_MAX);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_dimensions(info, dim, rank), port->name,
                              &lane->turn.failure);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_tensor_mutable_data(value, &data), port->name,
                              &lane->turn.failure);
    }
    if (info != NULL) {
        api->release_tensor_type_and_shape_info(info);
    }
    return status != VT_OK ? status
                           : vt_tensor_init(ret, (enum vt_dtype)element_type, (uint32_t)rank, dim,
                                            data, &lane->turn.failure);
}

static enum vt_status run(struct lane *lane, const struct vt_ort_graph *graph)
{
    struct vt_ort_engine *engine = lane->engine;
    const struct ort_api *api = engine->api;
    struct vt_error *failure = &lane->turn.failure;
    enum vt_status status = vt_ort_check(
        engine, api->run_options_unset_terminate(lane->run_options), "running", failure);
    if (status != VT_OK) {
        return status;
    }
    if (!vt_turn_begin(&lane->turn)) {
        return vt_error_set(failure, VT_ERR_INTERRUPTED, "the request was cancelled");
    }
    lane->n_outputs = graph->ports.n_outputs;
    ort_result result =
        api->run(graph->session, lane->run_options, graph->input_names,
                 (const struct ort_value *const *)lane->inputs, graph->ports.n_inputs,
                 graph->output_names, graph->ports.n_outputs, lane->outputs);
    bool cancelled = vt_turn_end(&lane->turn);
    /* A result that came before the cancellation is a result. */
    if (result != NULL && cancelled) {
        (void)vt_ort_check(engine, result, "running", NULL);
        return vt_error_set(failure, VT_ERR_INTERRUPTED, "the request was cancelled");
    }
    return vt_ort_check(engine, result, "running", failure);
}

static enum vt_status compute(struct lane *lane, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    const struct vt_request *request = &lane->turn.request;
    const struct vt_ort_graph *graph = &lane->engine->graphs[request->graph];
    const struct vt_ports *ports = &graph->ports;
    enum vt_status status = VT_OK;
    uint32_t made = 0;

    lane->turn.failure.status = VT_OK;
    while (made < ports->n_inputs && status == VT_OK) {
        lane->inputs[made] = NULL;
        status =
            make_input(lane, &ports->inputs[made], &request->inputs[made], &lane->inputs[made]);
        made += status == VT_OK ? 1 : 0;
    }
    *ret_start_ns = vt_now_ns();
    if (status == VT_OK) {
        status = run(lane, graph);
    }
    *ret_end_ns = vt_now_ns();
    for (uint32_t i = 0; i < made; i++) {
        lane->engine->api->release_value(lane->inputs[i]);
    }
    for (uint32_t i = 0; i < ports->n_outputs && status == VT_OK; i++) {
        status = view_output(lane, &ports->outputs[i], lane->outputs[i], &lane->tensors[i]);
    }
    return status;
}

enum vt_status vt_ort_wait(void *context, void *lane_context, uint32_t min, uint32_t max,
                           int64_t deadline_ns, struct vt_error *err, struct vt_event *ret_events,
                           uint32_t *ret_n)
{
    struct lane *lane = lane_context;
    (void)context;
    (void)err;
    int64_t start_ns = 0, end_ns = 0;
    release_outputs(lane);
    *ret_n = 0;
    if (vt_turn_is_due(&lane->turn, min, max, deadline_ns)) {
        enum vt_status status = compute(lane, &start_ns, &end_ns);
        *ret_events =
            vt_turn_event(&lane->turn, status, lane->tensors, lane->n_outputs, start_ns, end_ns);
        *ret_n = 1;
    }
    return VT_OK;
}
