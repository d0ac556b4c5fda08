/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that must be refused; BAD says what is wrong with this one. */
#include <stddef.h>

#include "vatio/engine.h"

#define NO_SYMBOL 1
#define REFUSES   2
#define VERSION   3
#define SLOTS     4
#define TWO       5
#define HALF_PAIR 6
#define NO_SIZE   7

static enum vt_status open_it(const struct vt_bundle *bundle, const struct vt_engine_config *config,
                              struct vt_error *err, void **ret_engine)
{
    (void)bundle;
    (void)config;
    (void)err;
    *ret_engine = NULL;
    return VT_OK;
}

static void close_it(void *engine)
{
    (void)engine;
}

static enum vt_status signature_of(void *engine, uint32_t graph, struct vt_error *err,
                                   struct vt_signature *ret_signature)
{
    (void)engine;
    (void)graph;
    (void)err;
    *ret_signature = (struct vt_signature){NULL, NULL, 0, 0};
    return VT_OK;
}

static enum vt_status caps_of(void *engine, struct vt_error *err, struct vt_engine_caps *ret_caps)
{
    (void)engine;
    (void)err;
    (void)ret_caps;
    return VT_OK;
}

static enum vt_status lane_open_it(void *engine, uint32_t index, struct vt_error *err,
                                   void **ret_lane)
{
    (void)engine;
    (void)index;
    (void)err;
    *ret_lane = NULL;
    return VT_OK;
}

static void lane_close_it(void *engine, void *lane)
{
    (void)engine;
    (void)lane;
}

static enum vt_status submit_it(void *engine, void *lane, const struct vt_request *requests,
                                uint32_t n, struct vt_error *err)
{
    (void)engine;
    (void)lane;
    (void)requests;
    (void)n;
    (void)err;
    return VT_OK;
}

static enum vt_status wait_it(void *engine, void *lane, uint32_t min, uint32_t max,
                              int64_t deadline_ns, struct vt_error *err,
                              struct vt_event *ret_events, uint32_t *ret_n)
{
    (void)engine;
    (void)lane;
    (void)min;
    (void)max;
    (void)deadline_ns;
    (void)err;
    (void)ret_events;
    *ret_n = 0;
    return VT_OK;
}

#define OPS(its_name, its_wait)                                                                    \
    {                                                                                              \
        .api_version = BAD == VERSION ? 77 : VT_ENGINE_API_VERSION,                                \
        .struct_size = BAD == NO_SIZE ? 0 : sizeof(struct vt_engine_ops), .name = its_name,        \
        .summary = "a bad one", .open = open_it, .close = close_it, .signature = signature_of,     \
        .caps = caps_of, .buffer_free = BAD == HALF_PAIR ? lane_close_it : NULL,                   \
        .lane_open = lane_open_it, .lane_close = lane_close_it, .submit = submit_it,               \
        .wait = its_wait,                                                                          \
    }

static const struct vt_engine_ops one = OPS("one", BAD == SLOTS ? NULL : wait_it);
static const struct vt_engine_ops two = OPS("two", wait_it);
static const struct vt_engine_ops *const engines[] = {&one, &two};

static const struct vt_module module = {.api_version = VT_ENGINE_API_VERSION,
                                        .struct_size = sizeof(struct vt_module),
                                        .name = "bad",
                                        .engines = engines,
                                        .n_engines = BAD == TWO ? 2 : 1};

#if BAD == NO_SYMBOL
#define vatio_module another_name
#endif
VT_API const struct vt_module *vatio_module(const struct vt_host *host);

const struct vt_module *vatio_module(const struct vt_host *host)
{
    (void)host;
    return BAD == REFUSES ? NULL : &module;
}
