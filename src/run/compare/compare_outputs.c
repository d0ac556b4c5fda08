/* SPDX-License-Identifier: Apache-2.0 */
#include "run/compare/compare_outputs.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "graph/feeders.h"
#include "run/compare/agreement.h"
#include "run/engine_probe.h"

/* More tensors than this are no explanation any more. */
#define FEEDERS_MOST 256

/* All engines on the same samples, and some of their outputs held against the first's. */
struct pass {
    struct vt_comparison *comparison;
    struct vt_session *const *sessions;
    struct vt_engine_probe probes[VT_COMPARE_ENGINES_MAX];
    const char *const *names; /* of the outputs that are compared */
    uint32_t n;
    uint32_t *at[VT_COMPARE_ENGINES_MAX];                           /* their places, by engine */
    struct vt_output_agreement *agreements[VT_COMPARE_ENGINES_MAX]; /* owned by the comparison */
    struct vt_agreement_sums *sums[VT_COMPARE_ENGINES_MAX];
    uint64_t samples;
};

static void pass_close(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->comparison->n_engines; i++) {
        vt_engine_probe_close(&pass->probes[i]);
        vt_free(pass->at[i]);
        vt_free(pass->sums[i]);
    }
}

/* Where the outputs are that are compared. By place only where names say nothing. */
static enum vt_status place_outputs(struct pass *pass, uint32_t index, bool by_place,
                                    struct vt_error *err)
{
    const struct vt_signature *signature = &pass->probes[index].signature;

    pass->at[index] = vt_calloc((size_t)pass->n + 1, sizeof pass->at[index][0]);
    pass->sums[index] = vt_calloc((size_t)pass->n + 1, sizeof pass->sums[index][0]);
    if (pass->at[index] == NULL || pass->sums[index] == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    for (uint32_t k = 0; k < pass->n; k++) {
        if (!vt_find_port(signature->outputs, signature->n_outputs, pass->names[k],
                          by_place ? k : UINT32_MAX, &pass->at[index][k])) {
            return vt_error_set(err, VT_ERR_ENGINE, "engine %s has no output %s",
                                pass->sessions[index]->engine_ref.ops.name, pass->names[k]);
        }
    }
    return VT_OK;
}

static enum vt_status pass_open(struct pass *pass, const struct vt_bundle *bundle,
                                struct vt_error *err)
{
    enum vt_status status = VT_OK;

    for (uint32_t i = 0; i < pass->comparison->n_engines && status == VT_OK; i++) {
        status = vt_engine_probe_open(&pass->probes[i], pass->sessions[i], bundle, err);
        if (status == VT_OK) {
            status = place_outputs(pass, i, bundle == NULL, err);
        }
        if (status != VT_OK || i == 0) {
            continue;
        }
        pass->agreements[i] = vt_calloc((size_t)pass->n + 1, sizeof pass->agreements[i][0]);
        if (pass->agreements[i] == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u outputs", pass->n);
        }
        for (uint32_t k = 0; k < pass->n; k++) {
            struct vt_output_agreement *agreement = &pass->agreements[i][k];
            (void)snprintf(agreement->name, sizeof agreement->name, "%s", pass->names[k]);
            agreement->dtype = pass->probes[0].signature.outputs[pass->at[0][k]].dtype;
            agreement->agrees = true;
        }
    }
    return status;
}

/* All engines answer, then the outputs are compared: no lane runs again before that. */
static enum vt_status pass_sample(struct pass *pass, uint64_t sample, struct vt_error *err)
{
    struct vt_comparison *comparison = pass->comparison;

    for (uint32_t i = 0; i < comparison->n_engines; i++) {
        struct vt_compared_engine *engine = &comparison->engines[i];
        int64_t start = vt_now_ns();
        enum vt_status status = vt_engine_probe_run(&pass->probes[i], sample, err);
        if (status == VT_OK && i > 0) {
            status = vt_engine_probe_same_inputs(&pass->probes[0], &pass->probes[i], sample, err);
        }
        if (status != VT_OK) {
            return status;
        }
        engine->first_ns = engine->first_ns > 0 ? engine->first_ns : vt_now_ns() - start;
    }
    for (uint32_t i = 1; i < comparison->n_engines; i++) {
        for (uint32_t k = 0; k < pass->n; k++) {
            vt_agreement_add(&pass->agreements[i][k], &pass->sums[i][k], sample,
                             &pass->probes[i].outputs[pass->at[i][k]],
                             &pass->probes[0].outputs[pass->at[0][k]], comparison->rtol,
                             comparison->atol);
        }
    }
    pass->samples++;
    return VT_OK;
}

static enum vt_status pass_run(struct pass *pass, uint64_t n_samples, int64_t budget_ns,
                               const _Atomic bool *stop, struct vt_error *err)
{
    int64_t until = vt_now_ns() + budget_ns;
    enum vt_status status = VT_OK;

    for (uint64_t i = 0; i < n_samples && status == VT_OK; i++) {
        if (i > 0 && vt_now_ns() >= until) {
            break;
        }
        status = atomic_load(stop) ? vt_error_set(err, VT_ERR_INTERRUPTED,
                                                  "interrupted before anything was measured")
                                   : pass_sample(pass, i, err);
    }
    return status;
}

/* --- decisions ------------------------------------------------------------------------------- */

/* The tensors that feed the outputs that differ. */
struct explanation {
    const char *names[FEEDERS_MOST];
    uint32_t n;
    bool *feeds; /* [output][FEEDERS_MOST] */
};

static uint32_t index_of(struct explanation *explanation, const char *name)
{
    for (uint32_t i = 0; i < explanation->n; i++) {
        if (strcmp(explanation->names[i], name) == 0) {
            return i;
        }
    }
    if (explanation->n == FEEDERS_MOST) {
        return FEEDERS_MOST;
    }
    explanation->names[explanation->n] = name;
    return explanation->n++;
}

static bool differs(const struct vt_comparison *comparison, uint32_t output)
{
    for (uint32_t i = 1; i < comparison->n_engines; i++) {
        const struct vt_compared_engine *engine = &comparison->engines[i];
        if (!engine->other_precision && !engine->outputs[output].agrees) {
            return true;
        }
    }
    return false;
}

static enum vt_status find_feeders(const struct vt_comparison *comparison,
                                   const struct vt_model *model, struct explanation *explanation,
                                   struct vt_error *err)
{
    const struct vt_graph *graph = vt_model_graph(model);

    for (uint32_t k = 0; k < comparison->engines[1].n_outputs && k < graph->n_outputs; k++) {
        uint32_t *values = NULL, n = 0;
        if (!differs(comparison, k)) {
            continue;
        }
        enum vt_status status = vt_model_feeders(model, graph->outputs[k], err, &values, &n);
        if (status != VT_OK) {
            return status;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = index_of(explanation, vt_model_values(model)[values[i]].name);
            if (at < FEEDERS_MOST) {
                explanation->feeds[(size_t)k * FEEDERS_MOST + at] = true;
            }
        }
        bool all = explanation->n < FEEDERS_MOST;
        if (!all) {
            memset(&explanation->feeds[(size_t)k * FEEDERS_MOST], 0, FEEDERS_MOST);
        }
        vt_free(values);
    }
    return VT_OK;
}

/* An output counts as equal when everything that feeds it does. */
static void settle_outputs(struct vt_compared_engine *engine, const struct explanation *explanation)
{
    for (uint32_t k = 0; engine->feeders != NULL && k < engine->n_outputs; k++) {
        struct vt_output_agreement *output = &engine->outputs[k];
        uint32_t feeding = 0, agreeing = 0;
        if (output->agrees) {
            continue;
        }
        for (uint32_t i = 0; i < explanation->n; i++) {
            bool feeds = explanation->feeds[(size_t)k * FEEDERS_MOST + i];
            feeding += feeds ? 1 : 0;
            agreeing += feeds && engine->feeders[i].agrees ? 1 : 0;
        }
        output->feeders = feeding;
        output->agrees = feeding > 0 && agreeing == feeding;
    }
}

static void note_failure(struct vt_comparison *comparison, const struct vt_error *failure)
{
    for (uint32_t i = 1; i < comparison->n_engines; i++) {
        for (uint32_t k = 0; k < comparison->engines[i].n_outputs; k++) {
            struct vt_output_agreement *output = &comparison->engines[i].outputs[k];
            size_t used = strlen(output->note);
            if (!output->agrees) {
                (void)snprintf(output->note + used, sizeof output->note - used,
                               "; what feeds it could not be looked at: %s", failure->text);
            }
        }
    }
}

/* The model once more, with the feeders as outputs. */
static enum vt_status compare_feeders(struct pass *pass, const struct explanation *explanation,
                                      uint64_t n_samples, const _Atomic bool *stop,
                                      struct vt_error *err)
{
    const struct vt_graph_source *source = &pass->sessions[0]->source.graph;
    struct vt_file_map map = {source->bytes, source->n_bytes};
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    enum vt_status status = VT_OK;

    if (source->bytes == NULL) {
        status = vt_file_map_open(source->path, err, &map);
    }
    if (status == VT_OK) {
        status = vt_model_bytes_with_outputs(map.bytes, map.size, explanation->names,
                                             explanation->n, err, &bytes, &n_bytes);
    }
    if (source->bytes == NULL) {
        vt_file_map_release(&map);
    }
    if (status == VT_OK) {
        struct vt_graph_source variant = {source->name, NULL, bytes, n_bytes};
        struct vt_bundle bundle = {&variant, 1};
        pass->names = explanation->names;
        pass->n = explanation->n;
        status = pass_open(pass, &bundle, err);
        if (status == VT_OK) {
            status = pass_run(pass, n_samples, INT64_MAX / 4, stop, err);
        }
        pass_close(pass);
    }
    vt_free(bytes);
    return status;
}

static enum vt_status explain(struct vt_comparison *comparison, struct vt_session *const *sessions,
                              const _Atomic bool *stop, struct vt_error *err)
{
    struct explanation *explanation = vt_calloc(1, sizeof *explanation);
    struct vt_error failure = VT_ERROR_INIT;
    struct pass pass = {.comparison = comparison, .sessions = sessions};
    size_t cells = (size_t)comparison->engines[1].n_outputs * FEEDERS_MOST;

    if (explanation != NULL) {
        explanation->feeds = vt_calloc(cells, sizeof explanation->feeds[0]);
    }
    if (explanation == NULL || explanation->feeds == NULL) {
        vt_free(explanation);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    enum vt_status status = find_feeders(comparison, sessions[0]->model, explanation, err);
    if (status == VT_OK && explanation->n > 0) {
        status = compare_feeders(&pass, explanation, comparison->samples_checked, stop, &failure);
        for (uint32_t i = 1; i < comparison->n_engines; i++) {
            comparison->engines[i].feeders = pass.agreements[i];
            comparison->engines[i].n_feeders = pass.agreements[i] != NULL ? pass.n : 0;
            if (status == VT_OK && !comparison->engines[i].other_precision) {
                settle_outputs(&comparison->engines[i], explanation);
            }
        }
        if (status == VT_ERR_INTERRUPTED || status == VT_ERR_MEMORY) {
            status = vt_error_set(err, status, "%s", failure.text);
        } else if (status != VT_OK) {
            note_failure(comparison, &failure);
            status = VT_OK;
        }
    }
    vt_free(explanation->feeds);
    vt_free(explanation);
    return status;
}

/* --- all of it ------------------------------------------------------------------------------- */

static enum vt_status same_ports(const struct vt_comparison *comparison,
                                 struct vt_session *const *sessions, struct vt_error *err)
{
    const struct vt_signature *first = &sessions[0]->signature;

    for (uint32_t i = 1; i < comparison->n_engines; i++) {
        const struct vt_signature *other = &sessions[i]->signature;
        if (other->n_inputs != first->n_inputs || other->n_outputs != first->n_outputs) {
            return vt_error_set(err, VT_ERR_ENGINE,
                                "engine %s sees %u inputs and %u outputs where engine %s sees %u "
                                "and %u: they do not run the same model",
                                sessions[i]->engine_ref.ops.name, other->n_inputs, other->n_outputs,
                                sessions[0]->engine_ref.ops.name, first->n_inputs,
                                first->n_outputs);
        }
    }
    return VT_OK;
}

enum vt_status vt_compare_outputs(struct vt_comparison *comparison,
                                  struct vt_session *const *sessions, uint64_t n_samples,
                                  int64_t budget_ns, const _Atomic bool *stop, struct vt_error *err)
{
    const struct vt_signature *first = &sessions[0]->signature;
    struct pass pass = {.comparison = comparison, .sessions = sessions, .n = first->n_outputs};

    enum vt_status status = same_ports(comparison, sessions, err);
    const char **names = vt_calloc((size_t)pass.n + 1, sizeof names[0]);
    if (names == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u outputs", pass.n);
    }
    for (uint32_t k = 0; k < pass.n; k++) {
        names[k] = first->outputs[k].name;
    }
    pass.names = names;
    if (status == VT_OK) {
        status = pass_open(&pass, NULL, err);
        for (uint32_t i = 1; i < comparison->n_engines; i++) {
            comparison->engines[i].outputs = pass.agreements[i];
            comparison->engines[i].n_outputs = pass.agreements[i] != NULL ? pass.n : 0;
        }
        if (status == VT_OK) {
            status = pass_run(&pass, n_samples, budget_ns, stop, err);
        }
        pass_close(&pass);
    }
    comparison->samples_checked = pass.samples;
    vt_free(names);
    if (status == VT_OK && !vt_comparison_agrees(comparison) && sessions[0]->model != NULL) {
        status = explain(comparison, sessions, stop, err);
    }
    return status;
}
