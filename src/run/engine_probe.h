/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine asked for the outputs of single samples, past any system under test: one lane, one
 * request at a time.
 *
 * Threading: one thread.
 */
#ifndef VT_RUN_ENGINE_PROBE_H
#define VT_RUN_ENGINE_PROBE_H

#include "run/session.h"

struct vt_engine_probe {
    struct vt_session *session; /* its workload gives the inputs */
    void *engine;
    bool owned; /* opened for this probe */
    struct vt_signature signature;
    void *lane;
    struct vt_tensor *inputs;
    const struct vt_tensor *outputs; /* of the last request; the engine's memory */
    uint64_t requests;
};

/*
 * Opens lane 0 of the session's engine, which nobody else uses meanwhile; with a bundle, of another
 * engine for that bundle. Whatever comes back, vt_engine_probe_close cleans up.
 */
enum vt_status vt_engine_probe_open(struct vt_engine_probe *probe, struct vt_session *session,
                                    const struct vt_bundle *bundle,
                                    struct vt_error *err) VT_NODISCARD;
void vt_engine_probe_close(struct vt_engine_probe *probe); /* accepts a zeroed one */

/* Runs a loaded sample; probe->outputs are valid until the next. */
enum vt_status vt_engine_probe_run(struct vt_engine_probe *probe, uint64_t sample,
                                   struct vt_error *err) VT_NODISCARD;

/* The port of that name, else the one at that place. False when there is neither. */
bool vt_find_port(const struct vt_port *ports, uint32_t n, const char *name, uint32_t at,
                  uint32_t *ret_at);
/* Engines that order or name their inputs differently could be fed differently: VT_ERR_ENGINE. */
enum vt_status vt_engine_probe_same_inputs(const struct vt_engine_probe *first,
                                           const struct vt_engine_probe *other, uint64_t sample,
                                           struct vt_error *err) VT_NODISCARD;

#endif
