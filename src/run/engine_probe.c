/* SPDX-License-Identifier: Apache-2.0 */
#include "run/engine_probe.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

void vt_engine_probe_close(struct vt_engine_probe *probe)
{
    if (probe->session == NULL) {
        return;
    }
    const struct vt_engine_ops *ops = &probe->session->engine_ref.ops;
    if (probe->lane != NULL) {
        ops->lane_close(probe->engine, probe->lane);
    }
    if (probe->owned && probe->engine != NULL) {
        ops->close(probe->engine);
    }
    vt_free(probe->inputs);
    memset(probe, 0, sizeof *probe);
}

enum vt_status vt_engine_probe_open(struct vt_engine_probe *probe, struct vt_session *session,
                                    const struct vt_bundle *bundle, struct vt_error *err)
{
    const struct vt_engine_ops *ops = &session->engine_ref.ops;
    enum vt_status status = VT_OK;

    *probe = (struct vt_engine_probe){.session = session, .engine = session->engine};
    if (bundle != NULL) {
        probe->owned = true;
        status = vt_session_open_bundle(session, bundle, err, &probe->engine);
        if (status != VT_OK) {
            probe->engine = NULL;
            return status;
        }
    }
    status = ops->signature(probe->engine, 0, err, &probe->signature);
    if (status == VT_OK && probe->signature.n_inputs != session->signature.n_inputs) {
        status = vt_error_set(err, VT_ERR_ENGINE, "engine %s sees %u inputs in place of %u",
                              ops->name, probe->signature.n_inputs, session->signature.n_inputs);
    }
    if (status != VT_OK) {
        return status;
    }
    probe->inputs = vt_calloc((size_t)probe->signature.n_inputs + 1, sizeof probe->inputs[0]);
    if (probe->inputs == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    status = ops->lane_open(probe->engine, 0, err, &probe->lane);
    if (status != VT_OK) {
        probe->lane = NULL;
    }
    return status;
}

enum vt_status vt_engine_probe_run(struct vt_engine_probe *probe, uint64_t sample,
                                   struct vt_error *err)
{
    const struct vt_session *session = probe->session;
    const struct vt_engine_ops *ops = &session->engine_ref.ops;
    struct vt_request request = {.id = ++probe->requests,
                                 .samples = 1,
                                 .inputs = probe->inputs,
                                 .n_inputs = probe->signature.n_inputs};
    int64_t deadline = vt_now_ns() + session->job->timeout_ns;
    struct vt_event event = {0};
    uint32_t n = 0;

    session->workload_ops->sample(session->workload, sample, probe->inputs);
    enum vt_status status = ops->submit(probe->engine, probe->lane, &request, 1, err);
    while (status == VT_OK && (n == 0 || event.kind == VT_EVENT_PARTIAL)) {
        status = ops->wait(probe->engine, probe->lane, 1, 1, deadline, err, &event, &n);
        if (status == VT_OK && n == 0 && vt_now_ns() >= deadline) {
            status = vt_error_set(err, VT_ERR_TIMEOUT, "engine %s gave no answer within %.3g s",
                                  ops->name, (double)session->job->timeout_ns / 1e9);
        }
    }
    if (status == VT_OK && event.kind == VT_EVENT_ERROR) {
        status = vt_error_set(err, event.status, "engine %s: %s", ops->name,
                              event.text != NULL ? event.text : vt_status_text(event.status));
    }
    if (status == VT_OK && event.n_outputs != probe->signature.n_outputs) {
        status = vt_error_set(err, VT_ERR_ENGINE, "engine %s gave %u outputs, the model has %u",
                              ops->name, event.n_outputs, probe->signature.n_outputs);
    }
    probe->outputs = event.outputs;
    return status;
}

bool vt_find_port(const struct vt_port *ports, uint32_t n, const char *name, uint32_t at,
                  uint32_t *ret_at)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(ports[i].name, name) == 0) {
            *ret_at = i;
            return true;
        }
    }
    *ret_at = at;
    return at < n;
}

enum vt_status vt_engine_probe_same_inputs(const struct vt_engine_probe *first,
                                           const struct vt_engine_probe *other, uint64_t sample,
                                           struct vt_error *err)
{
    for (uint32_t i = 0; i < first->signature.n_inputs; i++) {
        const char *name = first->signature.inputs[i].name;
        uint32_t at = 0;
        bool same = vt_find_port(other->signature.inputs, other->signature.n_inputs, name, i, &at);
        if (same) {
            const struct vt_tensor *a = &first->inputs[i], *b = &other->inputs[at];
            same = vt_tensor_same_shape(a, b) && a->bytes == b->bytes &&
                   (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
        }
        if (!same) {
            return vt_error_set(err, VT_ERR_ENGINE,
                                "engines %s and %s get different data for input %s of sample %llu: "
                                "their signatures differ; give the inputs with --input NAME=FILE",
                                first->session->engine_ref.ops.name,
                                other->session->engine_ref.ops.name, name,
                                (unsigned long long)sample);
        }
    }
    return VT_OK;
}
