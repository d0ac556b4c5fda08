/* SPDX-License-Identifier: Apache-2.0 */
#include "sut/lane.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

enum vt_status vt_lane_init(struct vt_lane *lane, const struct vt_lane_context *context,
                            uint32_t index, struct vt_error *err)
{
    const struct vt_signature *signature = context->signature;

    memset(lane, 0, sizeof *lane);
    lane->context = context;
    lane->index = index;
    lane->buffers = vt_calloc(signature->n_inputs, sizeof lane->buffers[0]);
    lane->buffer_bytes = vt_calloc(signature->n_inputs, sizeof lane->buffer_bytes[0]);
    lane->inputs = vt_calloc(signature->n_inputs, sizeof lane->inputs[0]);
    lane->views = vt_calloc(signature->n_inputs, sizeof lane->views[0]);
    lane->outputs = vt_calloc(signature->n_outputs, sizeof lane->outputs[0]);
    lane->completions = vt_calloc(context->batch, sizeof lane->completions[0]);
    lane->responses = vt_calloc(context->batch, VT_RESPONSE_MAX);
    if (lane->buffers == NULL || lane->buffer_bytes == NULL || lane->inputs == NULL ||
        lane->views == NULL || lane->outputs == NULL || lane->completions == NULL ||
        lane->responses == NULL) {
        vt_lane_release(lane);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u of batch %u", index,
                            context->batch);
    }
    enum vt_status status = context->ops->lane_open(context->engine, index, err, &lane->handle);
    if (status != VT_OK) {
        lane->handle = NULL;
        vt_lane_release(lane);
    }
    return status;
}

void vt_lane_release(struct vt_lane *lane)
{
    if (lane->context == NULL) {
        return;
    }
    const struct vt_lane_context *context = lane->context;
    if (lane->handle != NULL) {
        context->ops->lane_close(context->engine, lane->handle);
    }
    for (uint32_t i = 0; lane->buffers != NULL && i < context->signature->n_inputs; i++) {
        if (lane->buffers[i] != NULL) {
            context->ops->buffer_free(context->engine, lane->buffers[i]);
        }
    }
    vt_free(lane->buffers);
    vt_free(lane->buffer_bytes);
    vt_free(lane->inputs);
    vt_free(lane->views);
    vt_free(lane->outputs);
    vt_free(lane->completions);
    vt_free(lane->responses);
    memset(lane, 0, sizeof *lane);
}

/* A buffer of input `i` for the largest request, made when the first sample shows its size. */
static enum vt_status ensure_buffer(struct vt_lane *lane, uint32_t i, size_t sample_bytes,
                                    struct vt_error *err)
{
    const struct vt_lane_context *context = lane->context;
    size_t bytes;

    if (__builtin_mul_overflow(sample_bytes, (size_t)context->batch, &bytes)) {
        return vt_error_set(err, VT_ERR_LIMIT, "a batch of %u samples is beyond any memory",
                            context->batch);
    }
    if (bytes <= lane->buffer_bytes[i]) {
        return VT_OK;
    }
    void *buffer;
    enum vt_memory memory;
    enum vt_status status =
        context->ops->buffer_alloc(context->engine, bytes, err, &buffer, &memory);
    if (status != VT_OK) {
        return status;
    }
    if (memory == VT_MEMORY_DEVICE) {
        context->ops->buffer_free(context->engine, buffer);
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "engine %s wants inputs in device memory, which is not supported",
                            context->ops->name);
    }
    if (lane->buffers[i] != NULL) {
        context->ops->buffer_free(context->engine, lane->buffers[i]);
    }
    lane->buffers[i] = buffer;
    lane->buffer_bytes[i] = bytes;
    return VT_OK;
}

/* Whether `view` may stand behind `first` in a batch: the same beyond dimension 0. */
static bool collates_with(const struct vt_tensor *first, const struct vt_tensor *view)
{
    return first->dtype == view->dtype && first->rank == view->rank && first->rank > 0 &&
           first->bytes == view->bytes &&
           memcmp(first->dim, view->dim, first->rank * sizeof first->dim[0]) == 0;
}

/*
 * Inputs of the request. One sample goes as it lies in the workload's memory; several are copied
 * one behind another into the engine's buffers.
 */
static enum vt_status collate(struct vt_lane *lane, const struct vt_query_sample *samples, size_t n,
                              struct vt_error *err)
{
    const struct vt_lane_context *context = lane->context;
    uint32_t n_inputs = context->signature->n_inputs;

    context->workload_ops->sample(context->workload, samples[0].index, lane->inputs);
    if (n == 1) {
        return VT_OK;
    }
    for (uint32_t i = 0; i < n_inputs; i++) {
        enum vt_status status = ensure_buffer(lane, i, lane->inputs[i].bytes, err);
        if (status != VT_OK) {
            return status;
        }
    }
    for (size_t k = 0; k < n; k++) {
        context->workload_ops->sample(context->workload, samples[k].index, lane->views);
        for (uint32_t i = 0; i < n_inputs; i++) {
            const struct vt_tensor *view = &lane->views[i];
            if (!collates_with(&lane->inputs[i], view)) {
                return vt_error_set(err, VT_ERR_UNSUPPORTED,
                                    "input %s: samples %llu and %llu differ in shape and cannot "
                                    "share a batch; use --batch 1",
                                    context->signature->inputs[i].name,
                                    (unsigned long long)samples[0].index,
                                    (unsigned long long)samples[k].index);
            }
            memcpy((char *)lane->buffers[i] + k * view->bytes, view->data, view->bytes);
        }
    }
    for (uint32_t i = 0; i < n_inputs; i++) {
        lane->inputs[i].data = lane->buffers[i];
        lane->inputs[i].dim[0] *= (int64_t)n;
        lane->inputs[i].bytes *= n;
    }
    return VT_OK;
}

/* The part of an output that belongs to sample k of n. */
static bool split(const struct vt_tensor *whole, size_t k, size_t n, struct vt_tensor *ret)
{
    *ret = *whole;
    if (n == 1) {
        return true;
    }
    if (whole->rank == 0 || whole->dim[0] % (int64_t)n != 0) {
        return false;
    }
    ret->dim[0] = whole->dim[0] / (int64_t)n;
    ret->bytes = whole->bytes / n;
    ret->data = (char *)whole->data + k * ret->bytes;
    return true;
}

/* Outputs of the event to responses, one a sample. */
static enum vt_status finish(struct vt_lane *lane, const struct vt_query_sample *samples, size_t n,
                             const struct vt_event *event, struct vt_error *err)
{
    const struct vt_lane_context *context = lane->context;
    uint32_t n_outputs = context->signature->n_outputs;

    if (event->n_outputs != n_outputs) {
        return vt_error_set(err, VT_ERR_ENGINE, "engine %s gave %u outputs, the model has %u",
                            context->ops->name, event->n_outputs, n_outputs);
    }
    for (size_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < n_outputs; i++) {
            if (!split(&event->outputs[i], k, n, &lane->outputs[i])) {
                char text[128];
                const struct vt_tensor *whole = &event->outputs[i];
                return vt_error_set(
                    err, VT_ERR_ENGINE,
                    "output %s is %s for a batch of %zu samples and cannot be divided among "
                    "them; use --batch 1",
                    context->signature->outputs[i].name,
                    vt_shape_text(whole->dim, whole->rank, NULL, text, sizeof text), n);
            }
        }
        struct vt_completion *completion = &lane->completions[k];
        unsigned char *response = lane->responses + k * VT_RESPONSE_MAX;
        size_t bytes = 0;
        enum vt_status status = context->workload_ops->finish(
            context->workload, samples[k].index, lane->outputs, n_outputs, response, &bytes, err);
        if (status != VT_OK) {
            return status;
        }
        *completion = (struct vt_completion){
            .id = samples[k].id,
            .response = response,
            .response_bytes = bytes,
            .n_tokens = event->n_tokens != NULL ? event->n_tokens[k] : 0,
        };
    }
    return VT_OK;
}

/*
 * Tells the sink that every sample of the request has its first token: what the first output holds
 * for it, as it lies there. The completions are filled in anew when the request ends.
 */
static void forward_first(struct vt_lane *lane, const struct vt_query_sample *samples, size_t n,
                          const struct vt_event *event, const struct vt_completion_sink *sink)
{
    for (size_t k = 0; k < n; k++) {
        struct vt_tensor token = {0};
        bool has = event->n_outputs > 0 && split(&event->outputs[0], k, n, &token);
        lane->completions[k] = (struct vt_completion){
            .id = samples[k].id,
            .response = has ? token.data : NULL,
            .response_bytes = has ? token.bytes : 0,
        };
    }
    sink->first_token(sink->ctx, lane->completions, n);
}

static void fail_all(struct vt_lane *lane, const struct vt_query_sample *samples, size_t n,
                     const struct vt_error *failure)
{
    for (size_t k = 0; k < n; k++) {
        lane->completions[k] = (struct vt_completion){
            .id = samples[k].id, .status = failure->status, .text = failure->text};
    }
}

/*
 * The final event of request `id`; of those that come before it the first goes to the sink, where
 * there is one. Answers that nobody waits for are passed over.
 */
static enum vt_status await(struct vt_lane *lane, uint64_t id,
                            const struct vt_query_sample *samples, size_t n_samples,
                            const struct vt_completion_sink *sink, struct vt_event *ret_event,
                            struct vt_error *err)
{
    const struct vt_lane_context *context = lane->context;
    int64_t timeout = context->request_timeout_ns;
    int64_t deadline = timeout == VT_NEVER ? VT_NEVER : vt_now_ns() + timeout;
    bool told = sink == NULL || sink->first_token == NULL;

    for (;;) {
        uint32_t n = 0;
        enum vt_status status =
            context->ops->wait(context->engine, lane->handle, 1, 1, deadline, err, ret_event, &n);
        if (status != VT_OK) {
            return status;
        }
        if (n > 0 && ret_event->id == id) {
            if (ret_event->kind != VT_EVENT_PARTIAL) {
                return VT_OK;
            }
            if (!told) {
                told = true;
                forward_first(lane, samples, n_samples, ret_event, sink);
            }
            /* An engine that shows progress has not lost the request. */
            deadline = timeout == VT_NEVER ? VT_NEVER : vt_now_ns() + timeout;
        }
        if (n == 0 && vt_now_ns() >= deadline) {
            return vt_error_set(err, VT_ERR_TIMEOUT,
                                "engine %s gave no answer within %.3g s on lane %u",
                                context->ops->name, (double)timeout / 1e9, lane->index);
        }
    }
}

/* Looks, without waiting, whether the engine answered request `id` a second time. */
static bool answered_again(struct vt_lane *lane, uint64_t id)
{
    const struct vt_lane_context *context = lane->context;
    struct vt_error ignored = VT_ERROR_INIT;
    struct vt_event event;
    uint32_t n = 0;

    enum vt_status status =
        context->ops->wait(context->engine, lane->handle, 0, 1, 0, &ignored, &event, &n);
    return status == VT_OK && n > 0 && event.id == id && event.kind == VT_EVENT_FINAL;
}

int64_t vt_lane_run(struct vt_lane *lane, const struct vt_query_sample *samples, size_t n,
                    const struct vt_completion_sink *sink)
{
    const struct vt_lane_context *context = lane->context;
    struct vt_event event = {0};

    lane->start_ns = lane->end_ns = 0;
    if (lane->broken) {
        fail_all(lane, samples, n, &lane->failure);
        return 0;
    }
    struct vt_error *failure = &lane->failure;
    failure->status = VT_OK;
    enum vt_status status = collate(lane, samples, n, failure);
    struct vt_request request = {.id = ++lane->next_request,
                                 .samples = (uint32_t)n,
                                 .inputs = lane->inputs,
                                 .n_inputs = context->signature->n_inputs};
    if (status == VT_OK) {
        status = context->ops->submit(context->engine, lane->handle, &request, 1, failure);
        if (status == VT_OK) {
            status = await(lane, request.id, samples, n, sink, &event, failure);
        }
        lane->broken = status != VT_OK;
    }
    if (status == VT_OK && event.kind == VT_EVENT_ERROR) {
        status = vt_error_set(failure, event.status, "%s",
                              event.text != NULL ? event.text : vt_status_text(event.status));
    }
    if (status == VT_OK) {
        status = finish(lane, samples, n, &event, failure);
    }
    if (status != VT_OK) {
        vt_error_set(failure, status, "engine %s: %s", context->ops->name, vt_status_text(status));
        fail_all(lane, samples, n, failure);
        return 0;
    }
    int64_t computed = event.end_ns - event.start_ns;
    lane->start_ns = event.start_ns;
    lane->end_ns = event.end_ns;
    if (answered_again(lane, request.id) && sink != NULL) {
        sink->complete(sink->ctx, lane->completions, n);
    }
    return computed > 0 ? computed : 0;
}
