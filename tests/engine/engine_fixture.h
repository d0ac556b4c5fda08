/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with a model and lanes, for tests. Every function ends the test when it fails. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include "vt_test.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/registry.h"
#include "engine/turn.h"

#define FIXTURE_LANES 2u

struct engine_fixture {
    struct vt_engine_ref ref;
    const struct vt_engine_ops *ops;
    void *engine;
    void *lanes[FIXTURE_LANES];
    struct vt_signature signature;
    struct vt_engine_caps caps;
    struct vt_error err;
};

static inline struct vt_engine_config fixture_config(void)
{
    return (struct vt_engine_config){
        .struct_size = sizeof(struct vt_engine_config), .threads = 2, .lanes = 1, .max_batch = 8};
}

static inline void fixture_open_bundle(struct engine_fixture *f, const char *engine,
                                       const struct vt_bundle *bundle,
                                       const struct vt_engine_config *config)
{
    memset(f, 0, sizeof(*f));
    if (vt_engine_find(engine, &f->err, &f->ref) != VT_OK || f->ref.ops.probe(&f->err) != VT_OK ||
        f->ref.ops.open(bundle, config, &f->err, &f->engine) != VT_OK) {
        fail_msg("%s", f->err.text);
    }
    f->ops = &f->ref.ops;
    f->caps.struct_size = sizeof(f->caps);
    assert_int_equal(f->ops->signature(f->engine, 0, &f->err, &f->signature), VT_OK);
    assert_int_equal(f->ops->caps(f->engine, &f->err, &f->caps), VT_OK);
    assert_int_equal(vt_engine_try_batch(f->ops, f->engine, &f->signature, &f->caps, &f->err),
                     VT_OK);
    assert_true(config->lanes <= FIXTURE_LANES);
    for (uint32_t i = 0; i < config->lanes; i++) {
        assert_int_equal(f->ops->lane_open(f->engine, i, &f->err, &f->lanes[i]), VT_OK);
    }
}

static inline void fixture_open(struct engine_fixture *f, const char *engine, const char *path,
                                const struct vt_engine_config *config)
{
    const struct vt_graph_source source = {.name = path, .path = path};
    const struct vt_bundle bundle = {&source, 1};
    fixture_open_bundle(f, engine, &bundle, config);
}

static inline void fixture_close(struct engine_fixture *f)
{
    for (uint32_t i = 0; i < FIXTURE_LANES; i++) {
        f->ops->lane_close(f->engine, f->lanes[i]);
    }
    f->ops->close(f->engine);
    vt_engine_ref_release(&f->ref);
}

static inline struct vt_tensor floats(const float *data, uint32_t rank, const int64_t *dim)
{
    struct vt_tensor tensor;
    assert_int_equal(vt_tensor_init(&tensor, VT_F32, rank, dim, (void *)(uintptr_t)data, NULL),
                     VT_OK);
    return tensor;
}

/* Submits one request and waits for its one event. */
static inline struct vt_event fixture_run(struct engine_fixture *f, uint32_t lane, uint64_t id,
                                          uint32_t samples, const struct vt_tensor *inputs,
                                          uint32_t n_inputs)
{
    struct vt_request request = {
        .id = id, .samples = samples, .inputs = inputs, .n_inputs = n_inputs};
    struct vt_event event = {.id = 0};
    uint32_t n = 0;
    if (f->ops->submit(f->engine, f->lanes[lane], &request, 1, &f->err) != VT_OK ||
        f->ops->wait(f->engine, f->lanes[lane], 1, 1, VT_NEVER, &f->err, &event, &n) != VT_OK) {
        fail_msg("%s", f->err.text);
    }
    assert_int_equal(n, 1);
    assert_int_equal(event.id, id);
    return event;
}

#endif
