/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/turn.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/settings.h"

enum vt_status vt_turn_init(struct vt_turn *turn, struct vt_error *err)
{
    int code = pthread_mutex_init(&turn->mutex, NULL);
    if (code != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "a lane's lock cannot be made: %s", strerror(code));
    }
    turn->has_mutex = true;
    return VT_OK;
}

void vt_turn_release(struct vt_turn *turn)
{
    if (turn->has_mutex) {
        (void)pthread_mutex_destroy(&turn->mutex);
        turn->has_mutex = false;
    }
}

enum vt_status vt_turn_submit(struct vt_turn *turn, const struct vt_request *requests, uint32_t n,
                              const struct vt_signature *const *signatures, uint32_t n_graphs,
                              struct vt_error *err)
{
    if (n == 0) {
        return VT_OK;
    }
    if (n > 1 || turn->pending) {
        return vt_error_set(err, VT_ERR_LIMIT, "%u requests on top of %d in flight exceed 1", n,
                            turn->pending ? 1 : 0);
    }
    if (requests->graph >= n_graphs) {
        return vt_error_set(err, VT_ERR_USAGE, "a request names graph %u, but the bundle has %u",
                            requests->graph, n_graphs);
    }
    if (requests->n_inputs != signatures[requests->graph]->n_inputs) {
        return vt_error_set(err, VT_ERR_USAGE, "a request has %u inputs, the model has %u",
                            requests->n_inputs, signatures[requests->graph]->n_inputs);
    }
    pthread_mutex_lock(&turn->mutex);
    turn->request = *requests;
    turn->pending = true;
    turn->cancelled = false;
    pthread_mutex_unlock(&turn->mutex);
    return VT_OK;
}

bool vt_turn_is_due(const struct vt_turn *turn, uint32_t min, uint32_t max, int64_t deadline_ns)
{
    bool late = min > 0 && deadline_ns != VT_NEVER && vt_now_ns() >= deadline_ns;
    return max > 0 && turn->pending && !late;
}

bool vt_turn_begin(struct vt_turn *turn)
{
    pthread_mutex_lock(&turn->mutex);
    turn->running = !turn->cancelled;
    bool run = turn->running;
    pthread_mutex_unlock(&turn->mutex);
    return run;
}

bool vt_turn_end(struct vt_turn *turn)
{
    pthread_mutex_lock(&turn->mutex);
    turn->running = false;
    bool cancelled = turn->cancelled;
    pthread_mutex_unlock(&turn->mutex);
    return cancelled;
}

void vt_turn_cancel(struct vt_turn *turn, uint64_t id, void (*stop)(void *context), void *context)
{
    pthread_mutex_lock(&turn->mutex);
    if (turn->pending && turn->request.id == id) {
        turn->cancelled = true;
        if (turn->running) {
            stop(context);
        }
    }
    pthread_mutex_unlock(&turn->mutex);
}

struct vt_event vt_turn_event(struct vt_turn *turn, enum vt_status status,
                              const struct vt_tensor *outputs, uint32_t n_outputs, int64_t start_ns,
                              int64_t end_ns)
{
    struct vt_event event = {
        .id = turn->request.id, .status = status, .start_ns = start_ns, .end_ns = end_ns};
    if (status == VT_OK) {
        event.kind = VT_EVENT_FINAL;
        event.outputs = outputs;
        event.n_outputs = n_outputs;
    } else {
        event.kind = VT_EVENT_ERROR;
        event.text = turn->failure.text;
    }
    pthread_mutex_lock(&turn->mutex);
    turn->pending = false;
    pthread_mutex_unlock(&turn->mutex);
    return event;
}

/* --- does it take batches? ----------------------------------------------------------------------
 */

static bool runs_two(const struct vt_engine_ops *ops, void *engine, uint32_t graph,
                     const struct vt_tensor *inputs, uint32_t n_inputs)
{
    const struct vt_request request = {
        .graph = graph, .samples = 2, .inputs = inputs, .n_inputs = n_inputs};
    struct vt_event event = {.kind = VT_EVENT_ERROR};
    void *lane = NULL;
    uint32_t n = 0;
    bool two = ops->lane_open(engine, 0, NULL, &lane) == VT_OK &&
               ops->submit(engine, lane, &request, 1, NULL) == VT_OK &&
               ops->wait(engine, lane, 1, 1, VT_NEVER, NULL, &event, &n) == VT_OK && n == 1 &&
               event.kind == VT_EVENT_FINAL;
    for (uint32_t i = 0; two && i < event.n_outputs; i++) {
        int64_t extent = event.outputs[i].rank > 0 ? event.outputs[i].dim[0] : 0;
        two = extent > 0 && extent % 2 == 0; /* none at all tells nothing: found objects, say */
    }
    ops->lane_close(engine, lane);
    return two;
}

enum vt_status vt_engine_takes_two(const struct vt_engine_ops *ops, void *engine, uint32_t graph,
                                   const struct vt_signature *signature, struct vt_error *err,
                                   bool *ret_two)
{
    struct vt_tensor *inputs = vt_calloc((size_t)signature->n_inputs + 1, sizeof(*inputs));
    bool out_of_memory = inputs == NULL, two = true;
    if (inputs != NULL && vt_engine_batch_of(signature, 2, inputs)) {
        for (uint32_t i = 0; i < signature->n_inputs && !out_of_memory; i++) {
            inputs[i].data = vt_calloc(1, inputs[i].bytes + 1);
            out_of_memory = inputs[i].data == NULL;
        }
        two = !out_of_memory && runs_two(ops, engine, graph, inputs, signature->n_inputs);
    }
    for (uint32_t i = 0; inputs != NULL && i < signature->n_inputs; i++) {
        vt_free(inputs[i].data);
    }
    vt_free(inputs);
    if (out_of_memory) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for opening the model");
    }
    *ret_two = two;
    return VT_OK;
}

enum vt_status vt_engine_try_batch(const struct vt_engine_ops *ops, void *engine,
                                   const struct vt_signature *signature,
                                   struct vt_engine_caps *caps, struct vt_error *err)
{
    bool two = true;
    if (!caps->batch_untried) {
        return VT_OK;
    }
    enum vt_status status = vt_engine_takes_two(ops, engine, 0, signature, err, &two);
    if (status == VT_OK) {
        caps->batch_untried = false;
        caps->max_batch = two ? caps->max_batch : 1;
    }
    return status;
}
