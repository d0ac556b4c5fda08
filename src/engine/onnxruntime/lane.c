/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: one request, computed by the thread that waits for it. Outputs are the library's own
 * values and are released when the lane is called next.
 */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "engine/onnxruntime/onnxruntime.h"

struct lane {
    struct vt_ort_engine *engine;
    struct ort_run_options *run_options;
    struct vt_request request;
    bool pending;
    struct ort_value **inputs, **outputs; /* as many as the largest graph has */
    struct vt_tensor *tensors;            /* of the outputs */
    uint32_t n_outputs;                   /* values in `outputs` that are there */
    struct vt_error failure;
    /* cancel() comes from another thread and must find this request, not the next one. */
    pthread_mutex_t mutex;
    bool has_mutex;
    bool running, cancelled;
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
    if (lane->has_mutex) {
        (void)pthread_mutex_destroy(&lane->mutex);
    }
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
    lane->has_mutex = pthread_mutex_init(&lane->mutex, NULL) == 0;
    enum vt_status status = VT_OK;
    if (lane->inputs == NULL || lane->outputs == NULL || lane->tensors == NULL ||
        !lane->has_mutex) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    } else {
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
    if (n > (lane->pending ? 0U : 1U)) {
        return vt_error_set(err, VT_ERR_LIMIT, "%u requests on top of %d in flight exceed 1", n,
                            lane->pending ? 1 : 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (requests[i].graph >= engine->n_graphs) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "a request names graph %u, but the bundle has %u",
                                requests[i].graph, engine->n_graphs);
        }
        const struct vt_ports *ports = &engine->graphs[requests[i].graph].ports;
        if (requests[i].n_inputs != ports->n_inputs) {
            return vt_error_set(err, VT_ERR_USAGE, "a request has %u inputs, the model %u",
                                requests[i].n_inputs, ports->n_inputs);
        }
        release_outputs(lane);
        pthread_mutex_lock(&lane->mutex);
        lane->request = requests[i];
        lane->pending = true;
        lane->cancelled = false;
        pthread_mutex_unlock(&lane->mutex);
    }
    return VT_OK;
}

void vt_ort_cancel(void *context, void *lane_context, uint64_t id)
{
    struct vt_ort_engine *engine = context;
    struct lane *lane = lane_context;
    pthread_mutex_lock(&lane->mutex);
    if (lane->pending && lane->request.id == id) {
        lane->cancelled = true;
        if (lane->running) {
            (void)vt_ort_check(engine, engine->api->run_options_set_terminate(lane->run_options),
                               "cancelling", NULL);
        }
    }
    pthread_mutex_unlock(&lane->mutex);
}

/* --- one request --------------------------------------------------------------------------------
 */

static enum vt_status make_input(struct lane *lane, const struct vt_port *port,
                                 const struct vt_tensor *tensor, struct ort_value **ret)
{
    static uint64_t nothing; /* a tensor without elements still wants an address */
    struct vt_ort_engine *engine = lane->engine;
    if (tensor->dtype != port->dtype || tensor->memory == VT_MEMORY_DEVICE) {
        return vt_error_set(&lane->failure, VT_ERR_USAGE, "input %s is %s%s, the model takes %s",
                            vt_quote(port->name).text, vt_dtype_name(tensor->dtype),
                            tensor->memory == VT_MEMORY_DEVICE ? " in device memory" : "",
                            vt_dtype_name(port->dtype));
    }
    return vt_ort_check(engine,
                        engine->api->create_tensor_with_data(
                            engine->memory, tensor->data != NULL ? tensor->data : &nothing,
                            tensor->bytes, tensor->dim, tensor->rank, (int)tensor->dtype, ret),
                        port->name, &lane->failure);
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
        vt_ort_check(engine, api->is_tensor(value, &is_tensor), port->name, &lane->failure);
    if (status == VT_OK && is_tensor == 0) {
        status = vt_error_set(&lane->failure, VT_ERR_UNSUPPORTED, "output %s is no tensor",
                              vt_quote(port->name).text);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_tensor_type_and_shape(value, &info), port->name,
                              &lane->failure);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_tensor_element_type(info, &element_type), port->name,
                              &lane->failure);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_dimensions_count(info, &rank), port->name,
                              &lane->failure);
    }
    if (status == VT_OK && rank > VT_RANK_MAX) {
        status = vt_error_set(&lane->failure, VT_ERR_LIMIT,
                              "output %s has %zu dimensions, at most %d are possible",
                              vt_quote(port->name).text, rank, VT_RANK_MAX);
    }
    if (status == VT_OK) {
        status =
            vt_ort_check(engine, api->get_dimensions(info, dim, rank), port->name, &lane->failure);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_tensor_mutable_data(value, &data), port->name,
                              &lane->failure);
    }
    if (info != NULL) {
        api->release_tensor_type_and_shape_info(info);
    }
    return status != VT_OK ? status
                           : vt_tensor_init(ret, (enum vt_dtype)element_type, (uint32_t)rank, dim,
                                            data, &lane->failure);
}

static enum vt_status run(struct lane *lane, const struct vt_ort_graph *graph)
{
    struct vt_ort_engine *engine = lane->engine;
    const struct ort_api *api = engine->api;

    pthread_mutex_lock(&lane->mutex);
    bool cancelled = lane->cancelled;
    lane->running = !cancelled;
    ort_result unset = cancelled ? NULL : api->run_options_unset_terminate(lane->run_options);
    pthread_mutex_unlock(&lane->mutex);
    enum vt_status status = vt_ort_check(engine, unset, "running", &lane->failure);
    if (status == VT_OK && !cancelled) {
        lane->n_outputs = graph->ports.n_outputs;
        ort_result result =
            api->run(graph->session, lane->run_options, graph->input_names,
                     (const struct ort_value *const *)lane->inputs, graph->ports.n_inputs,
                     graph->output_names, graph->ports.n_outputs, lane->outputs);
        pthread_mutex_lock(&lane->mutex);
        cancelled = lane->cancelled;
        pthread_mutex_unlock(&lane->mutex);
        /* What is cancelled in time says so; a result that came first is a result. */
        status = vt_ort_check(engine, result, "running", cancelled ? NULL : &lane->failure);
        cancelled = cancelled && status != VT_OK;
    }
    pthread_mutex_lock(&lane->mutex);
    lane->running = false;
    lane->pending = false;
    pthread_mutex_unlock(&lane->mutex);
    return cancelled ? vt_error_set(&lane->failure, VT_ERR_INTERRUPTED, "the request was cancelled")
                     : status;
}

static enum vt_status compute(struct lane *lane, struct vt_event *event)
{
    const struct vt_ort_graph *graph = &lane->engine->graphs[lane->request.graph];
    const struct vt_ports *ports = &graph->ports;
    enum vt_status status = VT_OK;
    uint32_t made = 0;

    lane->failure.status = VT_OK;
    while (made < ports->n_inputs && status == VT_OK) {
        lane->inputs[made] = NULL;
        status = make_input(lane, &ports->inputs[made], &lane->request.inputs[made],
                            &lane->inputs[made]);
        made += status == VT_OK ? 1 : 0;
    }
    event->start_ns = vt_now_ns();
    if (status == VT_OK) {
        status = run(lane, graph);
    }
    event->end_ns = vt_now_ns();
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
    release_outputs(lane);
    *ret_n = 0;
    if (max == 0 || !lane->pending ||
        (min > 0 && deadline_ns != VT_NEVER && vt_now_ns() >= deadline_ns)) {
        return VT_OK;
    }
    struct vt_event event = {.id = lane->request.id, .kind = VT_EVENT_FINAL, .status = VT_OK};
    enum vt_status status = compute(lane, &event);
    pthread_mutex_lock(&lane->mutex);
    lane->pending = false;
    pthread_mutex_unlock(&lane->mutex);
    if (status == VT_OK) {
        event.outputs = lane->tensors;
        event.n_outputs = lane->n_outputs;
    } else {
        event.kind = VT_EVENT_ERROR;
        event.status = status;
        event.text = lane->failure.text;
    }
    *ret_events = event;
    *ret_n = 1;
    return VT_OK;
}
