/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenVINO as an engine: libopenvino_c.so, opened while the program runs.
 *
 * A graph of the bundle is one compiled model with as many streams as there are lanes; a lane has
 * one infer request a graph. Unless told otherwise it computes in fp32, so that its outputs can be
 * compared with those of other engines: OpenVINO's own default is bf16 where the processor has it.
 * Shapes that are bound (--shape) and a batch of one (--batch 1) are fixed before the model is
 * compiled; else the model is compiled with the open extents that it has.
 *
 * Names of open extents, which the library does not tell, come from vatio's own reading of the
 * model where that succeeds.
 *
 * Settings (--engine-option KEY=VALUE):
 *   library    the shared library, or a folder that holds it or its wheel
 *   device     CPU (default), GPU, NPU, AUTO…: as the library names its devices
 *   precision  f32 (default), bf16 or f16: what it computes in
 *   hint       latency, throughput, or none (default: latency with one lane, else throughput)
 *   streams    1 to 1024 (default: the lanes)
 *   pinning    on or off: threads are bound to cores (default: the library's)
 *   NAME       in capitals: a property under the library's own name, ENABLE_HYPER_THREADING=NO
 */
#ifndef VT_ENGINE_OPENVINO_OPENVINO_H
#define VT_ENGINE_OPENVINO_OPENVINO_H

#include "base/alloc.h"
#include "core/ports.h"
#include "engine/library.h"
#include "engine/openvino/ov_api.h"
#include "engine/turn.h"
#include "vatio/engine.h"

/* Numbers of element types are looked for up to here. */
#define VT_OV_TYPES 64

struct vt_ov_graph {
    struct ov_model *model; /* NULL once it is compiled */
    struct ov_compiled_model *compiled;
    struct vt_ports ports;
    struct vt_signature signature;
};

struct vt_ov_engine {
    struct vt_library library;
    struct ov_api api;
    char version[32];
    enum vt_dtype dtype_of[VT_OV_TYPES]; /* by the library's number; VT_UNDEFINED: none of ours */
    int type_of[VT_BF16 + 1];            /* the reverse; -1 */
    struct ov_core *core;
    struct vt_arena arena; /* names, ports */
    struct vt_ov_graph *graphs;
    const struct vt_signature **signatures;
    uint32_t n_graphs;
    uint32_t threads, max_batch;
    bool batch_untried;
    const char *device;    /* in the arena */
    const char *precision; /* "fp32" */
};

/* api.c */
extern const struct vt_library_kind vt_ov_library;
enum vt_status vt_ov_load(struct vt_ov_engine *engine, const char *named,
                          struct vt_error *err) VT_NODISCARD;
void vt_ov_unload(struct vt_ov_engine *engine);
/* VT_OK for 0; else says `what` was being done and what the library says of it. */
enum vt_status vt_ov_check(const struct vt_ov_engine *engine, int result, const char *what,
                           struct vt_error *err);

/* compile.c: all graphs of the bundle with their signatures, as the settings ask. */
enum vt_status vt_ov_graphs_open(struct vt_ov_engine *engine, const struct vt_bundle *bundle,
                                 const struct vt_engine_config *config,
                                 struct vt_error *err) VT_NODISCARD;

/* lane.c */
enum vt_status vt_ov_lane_open(void *engine, uint32_t index, struct vt_error *err, void **ret_lane);
void vt_ov_lane_close(void *engine, void *lane);
enum vt_status vt_ov_submit(void *engine, void *lane, const struct vt_request *requests, uint32_t n,
                            struct vt_error *err);
enum vt_status vt_ov_wait(void *engine, void *lane, uint32_t min, uint32_t max, int64_t deadline_ns,
                          struct vt_error *err, struct vt_event *ret_events, uint32_t *ret_n);
void vt_ov_cancel(void *engine, void *lane, uint64_t id);

extern const struct vt_engine_ops vt_openvino_engine;

#endif
