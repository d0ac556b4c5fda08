/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compare_outputs.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "workload/element.h"
#include "workload/tensor_compare.h"

/* One engine's lane while outputs are looked at. */
struct probe {
    struct vt_session *session;
    void *lane;
    struct vt_tensor *inputs;
    const struct vt_tensor *outputs; /* of the last request; the engine's memory */
    uint64_t requests;
    uint32_t *order; /* of its outputs, in the order of the first engine's */
};

struct check {
    struct vt_comparison *comparison;
    struct probe probes[VT_COMPARE_ENGINES_MAX];
    struct vt_agreement_sums *sums[VT_COMPARE_ENGINES_MAX]; /* by output */
    uint32_t n_outputs;
};

/* --- one output ------------------------------------------------------------------------------ */

/* Says once what is worst about it; the first thing that cannot be compared stays. */
static void note_shapes(struct vt_output_agreement *agreement, uint64_t sample,
                        const struct vt_tensor *a, const struct vt_tensor *b)
{
    char found[96], expected[96];

    if (agreement->agrees || agreement->note[0] == '\0') {
        (void)snprintf(
            agreement->note, sizeof agreement->note, "sample %llu gives %s %s in place of %s %s",
            (unsigned long long)sample, vt_dtype_name(a->dtype),
            vt_shape_text(a->dim, a->rank, NULL, found, sizeof found), vt_dtype_name(b->dtype),
            vt_shape_text(b->dim, b->rank, NULL, expected, sizeof expected));
    }
    agreement->agrees = false;
}

static bool comparable(const struct vt_tensor *a, const struct vt_tensor *b)
{
    int64_t n;
    return vt_tensor_same_shape(a, b) && vt_element_is_real(a->dtype) &&
           vt_shape_elements(a->dim, a->rank, &n);
}

/* Errors of all elements; what is no number is left to the tolerance, which counts it. */
static void add_errors(struct vt_output_agreement *agreement, struct vt_agreement_sums *sums,
                       const struct vt_tensor *a, const struct vt_tensor *b, size_t n, double floor)
{
    for (size_t i = 0; i < n; i++) {
        double found = vt_element_get(a->dtype, a->data, i);
        double expected = vt_element_get(b->dtype, b->data, i);
        double difference = fabs(found - expected);
        if (!isfinite(difference)) {
            continue;
        }
        sums->errors += difference * difference;
        sums->squares += expected * expected;
        agreement->max_absolute = fmax(agreement->max_absolute, difference);
        double scale = fmax(fabs(expected), floor);
        if (difference > 0 && scale > 0) {
            agreement->max_relative = fmax(agreement->max_relative, difference / scale);
        }
    }
}

void vt_agreement_add(struct vt_output_agreement *agreement, struct vt_agreement_sums *sums,
                      uint64_t sample, const struct vt_tensor *a, const struct vt_tensor *b,
                      double rtol, double atol)
{
    bool whole = vt_element_is_integer(a->dtype) || a->dtype == VT_BOOL;
    struct vt_tolerance tolerance = {whole ? 0 : rtol, whole ? 0 : atol};
    struct vt_difference difference = {0};
    int64_t n = 0;

    if (!comparable(a, b) || !vt_shape_elements(a->dim, a->rank, &n)) {
        note_shapes(agreement, sample, a, b);
        return;
    }
    if (n == 0) {
        return;
    }
    vt_tensor_compare(a->dtype, a->data, b->dtype, b->data, (size_t)n, &tolerance, &difference);
    add_errors(agreement, sums, a, b, (size_t)n, whole || rtol <= 0 ? 0 : atol / rtol);
    agreement->elements += (uint64_t)n;
    agreement->beyond += difference.beyond;
    agreement->rms_relative = sums->errors > 0 ? sqrt(sums->errors / sums->squares) : 0;
    if (difference.beyond > 0 && difference.ratio > sums->worst_ratio) {
        sums->worst_ratio = difference.ratio;
        (void)snprintf(agreement->note, sizeof agreement->note,
                       "element %llu of sample %llu is %.6g in place of %.6g",
                       (unsigned long long)difference.worst, (unsigned long long)sample,
                       difference.found, difference.expected);
    }
    agreement->agrees = agreement->agrees && difference.beyond == 0;
}

/* --- engines --------------------------------------------------------------------------------- */

static void probe_close(struct probe *probe)
{
    if (probe->session == NULL) {
        return;
    }
    if (probe->lane != NULL) {
        probe->session->engine_ref.ops.lane_close(probe->session->engine, probe->lane);
    }
    vt_free(probe->inputs);
    vt_free(probe->order);
    memset(probe, 0, sizeof *probe);
}

/* The port of that name, else the one at that place. */
static uint32_t find_port(const struct vt_port *ports, uint32_t n, const char *name, uint32_t at)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(ports[i].name, name) == 0) {
            return i;
        }
    }
    return at < n ? at : n - 1;
}

static enum vt_status probe_open(struct probe *probe, struct vt_session *session,
                                 const struct vt_session *first, struct vt_error *err)
{
    const struct vt_signature *signature = &session->signature;
    const struct vt_signature *model = &first->signature;

    probe->session = session;
    if (signature->n_inputs != model->n_inputs || signature->n_outputs != model->n_outputs) {
        return vt_error_set(err, VT_ERR_ENGINE,
                            "engine %s sees %u inputs and %u outputs where engine %s sees %u and "
                            "%u: they do not run the same model",
                            session->engine_ref.ops.name, signature->n_inputs, signature->n_outputs,
                            first->engine_ref.ops.name, model->n_inputs, model->n_outputs);
    }
    probe->inputs = vt_calloc((size_t)signature->n_inputs + 1, sizeof probe->inputs[0]);
    probe->order = vt_calloc((size_t)signature->n_outputs + 1, sizeof probe->order[0]);
    if (probe->inputs == NULL || probe->order == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < signature->n_outputs; i++) {
        probe->order[i] =
            find_port(signature->outputs, signature->n_outputs, model->outputs[i].name, i);
    }
    enum vt_status status =
        session->engine_ref.ops.lane_open(session->engine, 0, err, &probe->lane);
    if (status != VT_OK) {
        probe->lane = NULL;
    }
    return status;
}

/* Runs one sample; probe->outputs are valid until the next. */
static enum vt_status probe_run(struct probe *probe, uint64_t sample, struct vt_error *err)
{
    struct vt_session *session = probe->session;
    const struct vt_engine_ops *ops = &session->engine_ref.ops;
    struct vt_request request = {.id = ++probe->requests,
                                 .samples = 1,
                                 .inputs = probe->inputs,
                                 .n_inputs = session->signature.n_inputs};
    int64_t deadline = vt_now_ns() + session->job->timeout_ns;
    struct vt_event event = {0};
    uint32_t n = 0;

    session->workload_ops->sample(session->workload, sample, probe->inputs);
    enum vt_status status = ops->submit(session->engine, probe->lane, &request, 1, err);
    while (status == VT_OK && (n == 0 || event.kind == VT_EVENT_PARTIAL)) {
        status = ops->wait(session->engine, probe->lane, 1, 1, deadline, err, &event, &n);
        if (status == VT_OK && n == 0 && vt_now_ns() >= deadline) {
            status = vt_error_set(err, VT_ERR_TIMEOUT, "engine %s gave no answer within %.3g s",
                                  ops->name, (double)session->job->timeout_ns / 1e9);
        }
    }
    if (status == VT_OK && event.kind == VT_EVENT_ERROR) {
        status = vt_error_set(err, event.status, "engine %s: %s", ops->name,
                              event.text != NULL ? event.text : vt_status_text(event.status));
    }
    if (status == VT_OK && event.n_outputs != session->signature.n_outputs) {
        status = vt_error_set(err, VT_ERR_ENGINE, "engine %s gave %u outputs, the model has %u",
                              ops->name, event.n_outputs, session->signature.n_outputs);
    }
    probe->outputs = event.outputs;
    return status;
}

/* Engines that order or name their inputs differently could be fed differently. */
static enum vt_status same_inputs(const struct probe *first, const struct probe *other,
                                  uint64_t sample, struct vt_error *err)
{
    const struct vt_signature *model = &first->session->signature;
    const struct vt_signature *signature = &other->session->signature;

    for (uint32_t i = 0; i < model->n_inputs; i++) {
        uint32_t at = find_port(signature->inputs, signature->n_inputs, model->inputs[i].name, i);
        const struct vt_tensor *a = &first->inputs[i], *b = &other->inputs[at];
        bool same = vt_tensor_same_shape(a, b) && a->bytes == b->bytes &&
                    (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
        if (!same) {
            return vt_error_set(err, VT_ERR_ENGINE,
                                "engines %s and %s get different data for input %s of sample %llu: "
                                "their signatures differ; give the inputs with --input NAME=FILE",
                                first->session->engine_ref.ops.name,
                                other->session->engine_ref.ops.name, model->inputs[i].name,
                                (unsigned long long)sample);
        }
    }
    return VT_OK;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void check_release(struct check *check)
{
    for (uint32_t i = 0; i < check->comparison->n_engines; i++) {
        probe_close(&check->probes[i]);
        vt_free(check->sums[i]);
    }
}

static enum vt_status check_init(struct check *check, struct vt_session *const *sessions,
                                 struct vt_error *err)
{
    struct vt_comparison *comparison = check->comparison;
    enum vt_status status = VT_OK;

    check->n_outputs = sessions[0]->signature.n_outputs;
    for (uint32_t i = 0; i < comparison->n_engines && status == VT_OK; i++) {
        status = probe_open(&check->probes[i], sessions[i], sessions[0], err);
    }
    for (uint32_t i = 1; i < comparison->n_engines && status == VT_OK; i++) {
        struct vt_compared_engine *engine = &comparison->engines[i];
        check->sums[i] = vt_calloc((size_t)check->n_outputs + 1, sizeof check->sums[i][0]);
        engine->outputs = vt_calloc((size_t)check->n_outputs + 1, sizeof engine->outputs[0]);
        if (check->sums[i] == NULL || engine->outputs == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u outputs",
                                check->n_outputs);
        }
        engine->n_outputs = check->n_outputs;
        for (uint32_t k = 0; k < check->n_outputs; k++) {
            const struct vt_port *port = &sessions[0]->signature.outputs[k];
            (void)snprintf(engine->outputs[k].name, sizeof engine->outputs[k].name, "%s",
                           port->name);
            engine->outputs[k].dtype = port->dtype;
            engine->outputs[k].agrees = true;
        }
    }
    return status;
}

/* All engines answer the sample, then the others' outputs are held against the first's: no lane
 * runs again before that. */
static enum vt_status check_sample(struct check *check, uint64_t sample, struct vt_error *err)
{
    struct vt_comparison *comparison = check->comparison;

    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        struct vt_compared_engine *engine = &comparison->engines[i];
        int64_t start = vt_now_ns();
        enum vt_status status = probe_run(&check->probes[i], sample, err);
        if (status == VT_OK && i > 0) {
            status = same_inputs(&check->probes[0], &check->probes[i], sample, err);
        }
        if (status != VT_OK) {
            return status;
        }
        engine->first_ns = engine->first_ns > 0 ? engine->first_ns : vt_now_ns() - start;
    }
    for (uint32_t i = 1; i < comparison->n_engines; i++) {
        const struct probe *probe = &check->probes[i];
        for (uint32_t k = 0; k < check->n_outputs; k++) {
            vt_agreement_add(&comparison->engines[i].outputs[k], &check->sums[i][k], sample,
                             &probe->outputs[probe->order[k]], &check->probes[0].outputs[k],
                             comparison->rtol, comparison->atol);
        }
    }
    comparison->samples_checked++;
    return VT_OK;
}

enum vt_status vt_compare_outputs(struct vt_comparison *comparison,
                                  struct vt_session *const *sessions, uint64_t n_samples,
                                  int64_t budget_ns, const _Atomic bool *stop, struct vt_error *err)
{
    struct check check = {.comparison = comparison};
    int64_t until = vt_now_ns() + budget_ns;

    enum vt_status status = check_init(&check, sessions, err);
    for (uint64_t i = 0; i < n_samples && status == VT_OK; i++) {
        if (i > 0 && vt_now_ns() >= until) {
            break;
        }
        status = atomic_load(stop) ? vt_error_set(err, VT_ERR_INTERRUPTED,
                                                  "interrupted before anything was measured")
                                   : check_sample(&check, i, err);
    }
    check_release(&check);
    return status;
}
