/* SPDX-License-Identifier: Apache-2.0 */
#include "doubles.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

#define BATCH_MAX 64

static const struct vt_port input = {.name = "x", .dtype = VT_F32, .rank = 2, .dim = {-1, 4}};
static const struct vt_port output = {.name = "y", .dtype = VT_F32, .rank = 2, .dim = {-1, 1}};
const struct vt_signature fake_signature = {&input, &output, 1, 1};

struct fake_lane {
    struct vt_request request;
    uint32_t answers; /* still to be given for the request */
    uint32_t partial; /* of them, so many are partial */
    int64_t tokens[BATCH_MAX];
    float sums[BATCH_MAX + 1];
    struct vt_tensor output;
};

static enum vt_status lane_open(void *engine, uint32_t index, struct vt_error *err, void **ret_lane)
{
    (void)engine;
    (void)index;
    *ret_lane = vt_calloc(1, sizeof(struct fake_lane));
    return *ret_lane != NULL ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
}

static void lane_close(void *engine, void *lane)
{
    (void)engine;
    vt_free(lane);
}

static enum vt_status buffer_alloc(void *engine, size_t bytes, struct vt_error *err,
                                   void **ret_buffer, enum vt_memory *ret_memory)
{
    (void)engine;
    *ret_buffer = vt_alloc(bytes);
    *ret_memory = VT_MEMORY_HOST;
    return *ret_buffer != NULL ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
}

static void buffer_free(void *engine, void *buffer)
{
    (void)engine;
    vt_free(buffer);
}

static enum vt_status submit(void *engine, void *lane, const struct vt_request *requests,
                             uint32_t n, struct vt_error *err)
{
    struct fake_engine *self = engine;
    struct fake_lane *to = lane;

    (void)n;
    if (self->fault == FAULT_SUBMIT_FAILS) {
        return vt_error_set(err, VT_ERR_ENGINE, "the fake engine takes nothing");
    }
    to->request = requests[0];
    to->partial = self->fault == FAULT_TOKENS ? 2 : 0;
    to->answers = self->fault == FAULT_TWICE ? 2 : self->fault == FAULT_SILENT ? 0 : 1;
    to->answers += to->partial;
    if (requests[0].samples > self->largest_request) {
        self->largest_request = requests[0].samples;
    }
    return VT_OK;
}

static void compute(struct fake_engine *self, struct fake_lane *lane)
{
    const struct vt_tensor *x = &lane->request.inputs[0];
    int64_t rows = x->dim[0];

    if (self->compute_ns > 0) {
        vt_sleep_until_ns(vt_now_ns() + self->compute_ns, 0);
    }
    for (int64_t i = 0; i < rows && i < BATCH_MAX; i++) {
        const float *row = (const float *)x->data + 4 * i;
        lane->sums[i] = row[0] + row[1] + row[2] + row[3];
    }
    int64_t shown = rows + (self->fault == FAULT_WRONG_ROWS ? 1 : 0);
    lane->output = (struct vt_tensor){.dtype = VT_F32,
                                      .rank = 2,
                                      .dim = {shown, 1},
                                      .data = lane->sums,
                                      .bytes = (size_t)shown * sizeof(float)};
}

static enum vt_status wait(void *engine, void *lane, uint32_t min, uint32_t max,
                           int64_t deadline_ns, struct vt_error *err, struct vt_event *ret_events,
                           uint32_t *ret_n)
{
    struct fake_engine *self = engine;
    struct fake_lane *from = lane;

    (void)max;
    *ret_n = 0;
    if (self->fault == FAULT_WAIT_FAILS) {
        return vt_error_set(err, VT_ERR_ENGINE, "the fake lane broke");
    }
    if (from->answers == 0) {
        if (min > 0) {
            vt_sleep_until_ns(deadline_ns, 0);
        }
        return VT_OK;
    }
    struct vt_event event = {.id = from->request.id, .start_ns = vt_now_ns()};
    compute(self, from);
    event.end_ns = vt_now_ns();
    from->answers--;
    for (uint32_t i = 0; i < BATCH_MAX; i++) {
        from->tokens[i] = 3 + (int64_t)i;
    }
    if (from->partial > 0) {
        from->partial--;
        event.kind = VT_EVENT_PARTIAL;
    } else if (self->fault == FAULT_TOKENS) {
        event.n_tokens = from->tokens;
    }
    if (self->fault == FAULT_ERROR_EVENT) {
        event.kind = VT_EVENT_ERROR;
        event.status = VT_ERR_ENGINE;
        event.text = "the fake engine dislikes this";
    } else {
        event.outputs = &from->output;
        event.n_outputs = self->fault == FAULT_WRONG_OUTPUTS ? 0 : 1;
    }
    ret_events[0] = event;
    *ret_n = 1;
    return VT_OK;
}

const struct vt_engine_ops fake_engine_ops = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "fake",
    .buffer_alloc = buffer_alloc,
    .buffer_free = buffer_free,
    .lane_open = lane_open,
    .lane_close = lane_close,
    .submit = submit,
    .wait = wait,
};

#define SAMPLES 1000
static float samples[SAMPLES][4];

static enum vt_status load(void *workload, const uint64_t *indices, size_t n, struct vt_error *err)
{
    (void)workload;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const float row[4] = {(float)indices[i], 1, 2, 3};
        memcpy(samples[indices[i]], row, sizeof row);
    }
    return VT_OK;
}

static void sample(void *workload, uint64_t index, struct vt_tensor *ret_inputs)
{
    /* A workload of this name has one sample that is wider than the others. */
    bool uneven = workload != NULL && strcmp(workload, "uneven") == 0 && index == 13;
    ret_inputs[0] = (struct vt_tensor){.dtype = VT_F32,
                                       .rank = 2,
                                       .dim = {1, uneven ? 2 : 4},
                                       .data = samples[index],
                                       .bytes = uneven ? 8 : 16};
}

static enum vt_status finish(void *workload, uint64_t index, const struct vt_tensor *outputs,
                             uint32_t n_outputs, void *ret_response, size_t *ret_bytes,
                             struct vt_error *err)
{
    (void)workload;
    (void)index;
    (void)n_outputs;
    (void)err;
    memcpy(ret_response, outputs[0].data, sizeof(float));
    *ret_bytes = sizeof(float);
    return VT_OK;
}

const struct vt_workload_ops fake_workload_ops = {
    .name = "fake", .load = load, .sample = sample, .finish = finish};
