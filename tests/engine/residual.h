/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/plan/data/residual.onnx: y = relu(bn(conv(x)) + x) over x [N,2,2,2], computed here by its
 * formula. Each of the 64 samples in residual_x has 8 numbers.
 */
#ifndef RESIDUAL_H
#define RESIDUAL_H

#include <math.h>
#include <pthread.h>

#include "engine_fixture.h"
#include "vt_torture.h"

#define RESIDUAL_SAMPLES 64

static const char *const residual = VT_TEST_MODELS "/residual.onnx";
static float residual_x[RESIDUAL_SAMPLES * 8];

static inline void residual_begin(void)
{
    for (size_t i = 0; i < sizeof(residual_x) / sizeof(residual_x[0]); i++) {
        residual_x[i] = (float)((int)(i * 37 % 101) - 50) / 16.0f;
    }
}

static inline float residual_at(const float *sample, int channel, int pixel)
{
    static const float w[2][2] = {{1, 2}, {3, 4}}, b[2] = {0.5f, -0.5f}, gamma[2] = {2, 3},
                       beta[2] = {0.25f, 0.75f}, mean[2] = {1, -1}, var[2] = {4, 9};
    float conv = w[channel][0] * sample[pixel] + w[channel][1] * sample[4 + pixel] + b[channel];
    float y = (conv - mean[channel]) / sqrtf(var[channel]) * gamma[channel] + beta[channel] +
              sample[channel * 4 + pixel];
    return y > 0 ? y : 0;
}

/* Samples [first, first + n) as one input. */
static inline struct vt_tensor batch_of(uint32_t n, uint32_t first)
{
    const int64_t dim[4] = {n, 2, 2, 2};
    assert_true(first + n <= RESIDUAL_SAMPLES);
    return floats(residual_x + (size_t)first * 8, 4, dim);
}

/* Whether the event is the answer to batch_of(n, first). */
static inline bool is_right(const struct vt_event *event, uint32_t n, uint32_t first)
{
    if (event->kind != VT_EVENT_FINAL || event->status != VT_OK || event->n_outputs != 1 ||
        event->outputs[0].dim[0] != n || event->outputs[0].bytes != n * 8 * sizeof(float)) {
        return false;
    }
    const float *y = event->outputs[0].data;
    for (uint32_t s = 0; s < n; s++) {
        for (int i = 0; i < 8; i++) {
            float wanted = residual_at(residual_x + (size_t)(first + s) * 8, i / 4, i % 4);
            if (!(fabsf(y[s * 8 + (uint32_t)i] - wanted) <= 1e-4f + 1e-3f * fabsf(wanted))) {
                return false;
            }
        }
    }
    return event->end_ns >= event->start_ns && event->start_ns > 0;
}

/* --- lanes side by side: the test opens two
 * ------------------------------------------------------------------- */

struct residual_worker {
    struct engine_fixture *f;
    uint32_t lane;
    bool right;
};

static inline void *residual_work(void *context)
{
    struct residual_worker *worker = context;
    struct engine_fixture *f = worker->f;
    worker->right = true;
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t n = f->caps.max_batch > 1 ? 1 + (i + worker->lane) % 5 : 1, at = i % 16;
        struct vt_tensor input = batch_of(n, at);
        struct vt_request request = {.id = i, .samples = n, .inputs = &input, .n_inputs = 1};
        struct vt_event event;
        struct vt_error err = VT_ERROR_INIT;
        uint32_t got = 0;
        worker->right =
            worker->right &&
            f->ops->submit(f->engine, f->lanes[worker->lane], &request, 1, &err) == VT_OK &&
            f->ops->wait(f->engine, f->lanes[worker->lane], 1, 1, VT_NEVER, &err, &event, &got) ==
                VT_OK &&
            got == 1 && is_right(&event, n, at);
        f->ops->cancel(f->engine, f->lanes[1 - worker->lane], UINT64_MAX);
    }
    return NULL;
}

static inline void residual_lanes_side_by_side(struct engine_fixture *f)
{
    struct residual_worker workers[2] = {{f, 0, false}, {f, 1, false}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, residual_work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(workers[i].right);
    }
}

/* Out of memory at every allocation in turn: opening, one request, closing. */
static inline void residual_out_of_memory(const char *engine_name, const struct vt_bundle *bundle,
                                          const struct vt_engine_config *config)
{
    struct vt_engine_ref ref;
    struct vt_tensor input = batch_of(1, 0);
    struct vt_request request = {.id = 1, .samples = 1, .inputs = &input, .n_inputs = 1};
    bool done = false;
    assert_int_equal(vt_engine_find(engine_name, NULL, &ref), VT_OK);
    for (int allowed = 0; !done && allowed < 1000; allowed++) {
        struct vt_torture torture;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_event event = {.kind = VT_EVENT_ERROR, .status = VT_ERR_MEMORY};
        void *engine = NULL, *lane = NULL;
        uint32_t n = 0;
        vt_torture_begin(&torture, allowed);
        enum vt_status status = ref.ops.open(bundle, config, &err, &engine);
        if (status == VT_OK) {
            status = ref.ops.lane_open(engine, 0, &err, &lane);
        }
        if (status == VT_OK) {
            status = ref.ops.submit(engine, lane, &request, 1, &err);
        }
        if (status == VT_OK) {
            status = ref.ops.wait(engine, lane, 1, 1, VT_NEVER, &err, &event, &n);
            status = status == VT_OK ? event.status : status;
            done = status == VT_OK && n == 1 && is_right(&event, 1, 0);
        }
        if (engine != NULL) {
            ref.ops.lane_close(engine, lane);
        }
        ref.ops.close(engine);
        assert_int_equal(vt_torture_end(&torture), 0);
        if (!done && status != VT_ERR_MEMORY) {
            fail_msg("after %d blocks: %s", allowed, err.text);
        }
    }
    assert_true(done);
}

#endif
