/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime as an engine: libonnxruntime.so, opened while the program runs.
 *
 * A graph of the bundle is one session, which all lanes use; a lane runs one request at a time, in
 * the thread that waits for it. Threads: the session's pool has so many workers that together with
 * the lanes' own threads config.threads compute. Input data are used where they lie, outputs are
 * shown where the library put them.
 *
 * Settings (--engine-option KEY=VALUE):
 *   library         the shared library, or a folder that holds it or its wheel
 *   provider        cpu (default) or cuda
 *   device          number of the GPU, 0 to 255 (default 0)
 *   graph-level     optimisations of the graph: 0 none, 1 basic, 2 extended, 99 all (default)
 *   execution-mode  sequential (default) or parallel: independent nodes at once
 *   inter-op        threads for parallel nodes, 1 to 1024 (default: config.threads)
 *   spinning        on (default) or off: idle workers spin
 *   arena           on (default) or off: memory of the CPU is kept for later runs
 *   profile         off (default), or how the names of the library's own profiles begin
 *   NAME.NAME       a session configuration entry under the library's own name, one with a dot
 */
#ifndef VT_ENGINE_ONNXRUNTIME_ONNXRUNTIME_H
#define VT_ENGINE_ONNXRUNTIME_ONNXRUNTIME_H

#include "base/alloc.h"
#include "core/ports.h"
#include "engine/library.h"
#include "engine/onnxruntime/ort_api.h"
#include "engine/turn.h"
#include "vatio/engine.h"

struct vt_ort_graph {
    struct ort_session *session;
    struct vt_ports ports;
    struct vt_signature signature;
    const char **input_names, **output_names;
};

struct vt_ort_engine {
    struct vt_library library;
    const struct ort_api *api;
    const char *version; /* the library's */
    struct ort_env *env;
    struct ort_memory_info *memory; /* of the host */
    struct vt_arena arena;          /* names, ports */
    struct vt_ort_graph *graphs;
    const struct vt_signature **signatures; /* of the graphs */
    uint32_t n_graphs;
    uint32_t threads, max_batch;
    bool batch_untried;
    bool cuda;
};

/* api.c: the library, and what it says. */
extern const struct vt_library_kind vt_ort_library;
/* Fills engine->library, ->api, ->version, ->env and ->memory. */
enum vt_status vt_ort_load(struct vt_ort_engine *engine, const char *named,
                           struct vt_error *err) VT_NODISCARD;
void vt_ort_unload(struct vt_ort_engine *engine);
/* VT_OK for NULL; else takes the library's failure over into *err, says `what` was being done, and
 * releases it. */
enum vt_status vt_ort_check(const struct vt_ort_engine *engine, ort_result result, const char *what,
                            struct vt_error *err);

/* session.c: all sessions of the bundle with their signatures, as the settings ask. */
enum vt_status vt_ort_sessions_open(struct vt_ort_engine *engine, const struct vt_bundle *bundle,
                                    const struct vt_engine_config *config,
                                    struct vt_error *err) VT_NODISCARD;

/* lane.c */
enum vt_status vt_ort_lane_open(void *engine, uint32_t index, struct vt_error *err,
                                void **ret_lane);
void vt_ort_lane_close(void *engine, void *lane);
enum vt_status vt_ort_submit(void *engine, void *lane, const struct vt_request *requests,
                             uint32_t n, struct vt_error *err);
enum vt_status vt_ort_wait(void *engine, void *lane, uint32_t min, uint32_t max,
                           int64_t deadline_ns, struct vt_error *err, struct vt_event *ret_events,
                           uint32_t *ret_n);
void vt_ort_cancel(void *engine, void *lane, uint64_t id);

extern const struct vt_engine_ops vt_onnxruntime_engine;

#endif
