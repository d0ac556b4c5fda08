/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job opens: the model, the engine that runs it, the workload that feeds it, and the system
 * under test made of them. Opened in steps, so that a caller can speak before the slow ones.
 */
#ifndef VT_RUN_SESSION_H
#define VT_RUN_SESSION_H

#include "core/workload.h"
#include "engine/registry.h"
#include "graph/graph.h"
#include "plan/windows.h"
#include "result/precision.h"
#include "run/job.h"
#include "run/load_plan.h"
#include "run/model_source.h"
#include "sut/sut.h"
#include "workload/registry.h"

#define VT_SETTINGS_MAX 64

struct vt_session {
    const struct vt_job *job;
    const struct vt_load_plan *plan; /* borrowed; set behind vt_session_open */
    struct vt_model_source source;
    struct vt_bundle bundle;
    struct vt_model *model;              /* the importer's view; NULL when it cannot read the model
                                            and another engine can */
    struct vt_windows windows;           /* that the engine was asked for; of no axes: none */
    struct vt_signature model_signature; /* with the shapes applied */
    bool has_model_signature;
    struct vt_engine_ref engine_ref;
    bool has_engine;
    void *engine;
    int64_t open_ns; /* what opening the engine took */
    struct vt_engine_caps caps;
    struct vt_signature signature; /* the engine's; borrowed from it */
    const struct vt_workload_ops *workload_ops;
    struct vt_workload_config workload_config;
    struct vt_index_bound *bounds; /* one an input of model_signature; NULL without */
    void *workload;
    struct vt_workload_info info;
    struct vt_batching_sut *sut;
    uint32_t lanes;
    struct vt_shape_list shapes; /* the user's, then those that the data ask for */
    struct vt_setting settings[VT_SETTINGS_MAX];
    char *keys[VT_SETTINGS_MAX]; /* of the settings, cut out of the options */
    uint32_t n_settings;
    /* run/precision: what was asked for, its place in the settings (where it is not fp32), what
     * auto chose; a model that was quantised for it. */
    enum vt_precision_wish wish;
    uint32_t precision_at;
    struct vt_precision_choice precision;
    void *int8_bytes;
    struct vt_graph_source int8;
};

/* Finds model, engine and workload without reading data. Fast. On failure nothing stays open. */
enum vt_status vt_session_open(struct vt_session *session, const struct vt_job *job,
                               const char *model, struct vt_error *err) VT_NODISCARD;
/* Opens the engine, the workload's index and the lanes. May take long. */
enum vt_status vt_session_start(struct vt_session *session, struct vt_error *err) VT_NODISCARD;
/* The two halves of it, for a caller who wants the engine's lanes to himself for a while: engine
 * and workload, then the system under test. */
enum vt_status vt_session_start_engine(struct vt_session *session,
                                       struct vt_error *err) VT_NODISCARD;
/* For run/precision: engine and workload as settings and bundle say now, and closed again. */
enum vt_status vt_session_open_parts(struct vt_session *session, struct vt_error *err) VT_NODISCARD;
void vt_session_close_parts(struct vt_session *session);
/* Makes caps.max_batch certain; vt_session_start_sut does it too. The engine's lanes are closed. */
enum vt_status vt_session_try_batch(struct vt_session *session, struct vt_error *err) VT_NODISCARD;
enum vt_status vt_session_start_sut(struct vt_session *session, struct vt_error *err) VT_NODISCARD;
/* Opens another bundle by the session's engine and options. The caller closes *ret_engine. */
enum vt_status vt_session_open_bundle(const struct vt_session *session,
                                      const struct vt_bundle *bundle, struct vt_error *err,
                                      void **ret_engine) VT_NODISCARD;
/* Asks the engine again what it is: its description may say what it has met by now. */
void vt_session_refresh_caps(struct vt_session *session);
void vt_session_close(struct vt_session *session); /* accepts a zeroed one */

#endif
