/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine seam: what a thing that runs models must offer.
 *
 * An engine is a `const struct vt_engine_ops`. Those that are built in stand in an explicit table
 * (src/engine/registry.c); one from outside is a module: a shared object that exports
 *
 *     const struct vt_module *vatio_module(const struct vt_host *host);
 *
 * and is named on the command line, `--engine ./mine.so`. src/engine/skeleton is a commented
 * engine to start from, src/engine/null the smallest one: its cost is the tool's own overhead.
 *
 * Life:  open → signature, caps → lane_open … lane_close → close.
 *
 * A lane is one independent stream of execution: a slot of CPU threads, a CUDA stream, a
 * connection. Different lanes are used from different threads at once; one lane is used by one
 * thread at a time. A request carries one or more samples, collated along dimension 0.
 *
 *     submit(lane, requests, n)            hands over; does not wait for results
 *     wait(lane, min, max, deadline)       gives back events, the results
 *
 * Times are the monotonic clock (CLOCK_MONOTONIC) in signed 64-bit nanoseconds.
 */
#ifndef VATIO_ENGINE_H
#define VATIO_ENGINE_H

#include "status.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VT_ENGINE_API_VERSION 2

/* A model file. A bundle may hold several graphs (encoder, prediction, joint); graph 0 is the
 * model where there is only one. All of it is borrowed for the duration of open(). */
struct vt_graph_source {
    const char *name;  /* for messages; never NULL */
    const char *path;  /* NULL when the model is in memory */
    const void *bytes; /* NULL when it is a file; else borrowed until close() */
    size_t n_bytes;
};

struct vt_bundle {
    const struct vt_graph_source *graphs;
    uint32_t n_graphs;
};

/* "--shape NAME=DIMS": the extents of an input, or of one symbol (rank 1). */
struct vt_shape_binding {
    const char *name;
    uint32_t rank;
    int64_t dim[VT_RANK_MAX];
};

struct vt_setting {
    const char *key;
    const char *value;
};

/* How an engine is opened. Everything is borrowed for the duration of open(). */
struct vt_engine_config {
    uint32_t struct_size;
    uint32_t threads;   /* CPU threads for the whole engine; 0: the engine decides */
    uint32_t lanes;     /* lanes that will be opened at most; at least 1 */
    uint32_t max_batch; /* samples in one request at most; at least 1 */
    const struct vt_shape_binding *shapes;
    uint32_t n_shapes;
    const struct vt_setting *settings; /* --engine-option KEY=VALUE; an unknown key is an error */
    uint32_t n_settings;
};

/* What an opened engine can do. */
struct vt_engine_caps {
    uint32_t struct_size;
    uint32_t max_batch;     /* samples a request may carry; 1 when the batch is fixed */
    uint32_t best_batch;    /* for throughput, when the user names none; 0: no opinion */
    uint32_t best_lanes;    /* likewise; 0: no opinion */
    uint32_t max_in_flight; /* requests a lane takes before wait() must be called; at least 1 */
    bool uses_cpu;          /* computes on this machine's cores: spinning would rob it */
    char precision[16];     /* "fp32" */
    char description[96];   /* what it runs on: "native fp32, AVX2, 2 threads" */
    bool batch_untried; /* max_batch is what the signature allows: whether the model's nodes take
                           two samples at once shows when it is tried */
};

struct vt_request {
    uint64_t id;      /* comes back in the event */
    uint32_t graph;   /* which graph of the bundle */
    uint32_t samples; /* how many are collated in the inputs */
    /* One view an input, in the order of the signature. Both the array and the data are borrowed
     * until the request's final event. */
    const struct vt_tensor *inputs;
    uint32_t n_inputs;
};

enum vt_event_kind {
    VT_EVENT_FINAL = 0,   /* the last event of a request, with its outputs */
    VT_EVENT_PARTIAL = 1, /* a token or a first result of every sample; more follow */
    VT_EVENT_ERROR = 2,   /* the last event of a request that failed: `status` and `text` say why */
};

struct vt_event {
    uint64_t id;
    enum vt_event_kind kind;
    enum vt_status status;
    const char *text; /* only with VT_EVENT_ERROR; borrowed until the lane's next call */
    /* In the order of the signature, with their actual shapes. Borrowed: array and data are valid
     * until the next submit or wait on the same lane. */
    const struct vt_tensor *outputs;
    uint32_t n_outputs;
    int64_t start_ns; /* when computing began */
    int64_t end_ns;   /* when the outputs were ready */
    /* With VT_EVENT_FINAL: how many tokens each sample of the request got, borrowed as the outputs
     * are. NULL where the model makes none. */
    const int64_t *n_tokens;
};

/*
 * Every slot is required unless its comment says otherwise. "may block": whether the calling
 * thread may be held up for longer than some microseconds.
 */
struct vt_engine_ops {
    uint32_t api_version; /* VT_ENGINE_API_VERSION */
    uint32_t struct_size; /* sizeof(struct vt_engine_ops) */
    const char *name;     /* as on the command line; lower case */
    const char *summary;  /* one line for `vatio list` */

    /*
     * Optional (default: always available). Whether the engine can work here. On failure returns
     * VT_ERR_UNAVAILABLE and says in *err why and what to install. Any thread; may block.
     */
    enum vt_status (*probe)(struct vt_error *err);

    /* Loads the bundle. Any thread; may block. On success *ret_engine belongs to the caller,
     * who gives it back to close(). */
    enum vt_status (*open)(const struct vt_bundle *bundle, const struct vt_engine_config *config,
                           struct vt_error *err, void **ret_engine);
    /* Accepts NULL. All lanes are closed before. May block. */
    void (*close)(void *engine);

    /* The signature of one graph; owned by the engine. Any thread; must not block. */
    enum vt_status (*signature)(void *engine, uint32_t graph, struct vt_error *err,
                                struct vt_signature *ret_signature);
    /* Any thread; must not block. The caller sets ret_caps->struct_size. */
    enum vt_status (*caps)(void *engine, struct vt_error *err, struct vt_engine_caps *ret_caps);

    /*
     * Optional pair (default: aligned host memory). Buffers for inputs, of the memory the engine
     * likes best. Any thread; may block.
     */
    enum vt_status (*buffer_alloc)(void *engine, size_t bytes, struct vt_error *err,
                                   void **ret_buffer, enum vt_memory *ret_memory);
    void (*buffer_free)(void *engine, void *buffer);

    /* May block. `index` counts from 0 to config.lanes - 1. */
    enum vt_status (*lane_open)(void *engine, uint32_t index, struct vt_error *err,
                                void **ret_lane);
    /* Accepts NULL. Requests still in flight are abandoned. May block. */
    void (*lane_close)(void *engine, void *lane);

    /*
     * Takes n requests, at most caps.max_in_flight together with those in flight. All or none:
     * on failure none was taken. The lane's thread; may block only for admission.
     */
    enum vt_status (*submit)(void *engine, void *lane, const struct vt_request *requests,
                             uint32_t n, struct vt_error *err);
    /*
     * Returns when at least `min` events are there or the deadline has passed (then with as many
     * as there are, perhaps none, and VT_OK), never more than `max`. min = 0 polls. A request
     * that fails is an event; a status other than VT_OK means that the whole lane is unusable.
     * The lane's thread; may block until the deadline.
     */
    enum vt_status (*wait)(void *engine, void *lane, uint32_t min, uint32_t max,
                           int64_t deadline_ns, struct vt_error *err, struct vt_event *ret_events,
                           uint32_t *ret_n);
    /* Optional (default: nothing happens). Gives up on a request; its final event may be an error
     * or its result. Any thread; must not block. */
    void (*cancel)(void *engine, void *lane, uint64_t id);
};

/* What the host offers to a module. Everything is valid as long as the module is loaded. */
struct vt_host {
    uint32_t api_version; /* VT_ENGINE_API_VERSION */
    uint32_t struct_size;
    const char *version;                            /* of vatio, "0.1.0" */
    void *(*alloc)(size_t bytes, size_t alignment); /* NULL when out of memory */
    void (*free)(void *memory);                     /* accepts NULL */
    int64_t (*now_ns)(void);
    void (*log_debug)(const char *text);
};

struct vt_module {
    uint32_t api_version;
    uint32_t struct_size;
    const char *name;
    const struct vt_engine_ops *const *engines;
    uint32_t n_engines;
};

/* The one symbol of a module. Returns NULL when it cannot work with this host. */
typedef const struct vt_module *(*vt_module_entry_func)(const struct vt_host *host);
#define VT_MODULE_ENTRY "vatio_module"

#ifdef __cplusplus
}
#endif
#endif
