/* SPDX-License-Identifier: Apache-2.0 */
#include "run/precision/trial.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "run/engine_probe.h"
#include "workload/element.h"

/* Samples that are scored, or compared: fewer where one takes long. */
#define SCORED_SAMPLES   256
#define COMPARED_SAMPLES 16
#define SLOW_NS          (20 * VT_NS_PER_MS)
#define SLOW_PARTS       4
#define SLOWER_NS        (200 * VT_NS_PER_MS)
#define SLOWER_PARTS     16
/* Runs of each that are timed at least, and at most for their own sake. */
#define TIMED_RUNS 12
#define TIMED_NS   (2 * VT_NS_PER_S)
/* What a less exact one must save, of the time. */
#define WORTH 0.03

struct candidate {
    struct vt_engine_probe probe;
    struct vt_response *responses;
    uint8_t *texts;
    double errors, squares;      /* of all real outputs, beside the first candidate's */
    uint64_t whole, whole_wrong; /* whole numbers, and those that differ */
};

struct vt_precision_trial {
    struct vt_session *session;
    struct vt_precision_choice choice;
    struct candidate parts[VT_PRECISIONS_MAX];
    uint64_t n_samples;
    bool scored;
};

static enum vt_status out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
}

enum vt_status vt_precision_trial_new(struct vt_session *session, struct vt_error *err,
                                      struct vt_precision_trial **ret_trial)
{
    struct vt_precision_trial *trial = vt_calloc(1, sizeof *trial);
    if (trial == NULL) {
        return out_of_memory(err);
    }
    trial->session = session;
    trial->choice.loss_allowed_percent = session->job->quality_loss;
    trial->scored = session->info.has_quality && session->workload_ops->score != NULL;
    *ret_trial = trial;
    return VT_OK;
}

void vt_precision_trial_free(struct vt_precision_trial *trial)
{
    if (trial == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VT_PRECISIONS_MAX; i++) {
        vt_engine_probe_close(&trial->parts[i].probe);
        vt_free(trial->parts[i].responses);
        vt_free(trial->parts[i].texts);
    }
    vt_free(trial);
}

enum vt_status vt_precision_trial_add(struct vt_precision_trial *trial, const char *precision,
                                      const struct vt_bundle *bundle, struct vt_error *err)
{
    struct vt_session *session = trial->session;
    const uint32_t at = trial->choice.n_candidates++;
    struct vt_precision_candidate *candidate = &trial->choice.candidates[at];
    const char *before = session->settings[session->precision_at].value;
    (void)snprintf(candidate->precision, sizeof candidate->precision, "%s", precision);
    candidate->tried = true;
    candidate->time_ns = (double)INFINITY;
    /* int8 is the model's own way. */
    session->settings[session->precision_at].value =
        strcmp(precision, "int8") == 0 ? "fp32" : precision;
    enum vt_status status = vt_engine_probe_open(&trial->parts[at].probe, session, bundle, err);
    session->settings[session->precision_at].value = before;
    return status;
}

void vt_precision_trial_skip(struct vt_precision_trial *trial, const char *precision,
                             const char *why)
{
    struct vt_precision_candidate *candidate =
        &trial->choice.candidates[trial->choice.n_candidates++];
    (void)snprintf(candidate->precision, sizeof candidate->precision, "%s", precision);
    (void)snprintf(candidate->why, sizeof candidate->why, "%s", why);
}

/* --- samples --------------------------------------------------------------------------------- */

static enum vt_status run_timed(struct vt_precision_trial *trial, uint32_t i, uint64_t sample,
                                struct vt_error *err)
{
    struct vt_precision_candidate *candidate = &trial->choice.candidates[i];
    const int64_t start = vt_now_ns();
    enum vt_status status = vt_engine_probe_run(&trial->parts[i].probe, sample, err);
    candidate->time_ns = fmin(candidate->time_ns, (double)(vt_now_ns() - start));
    return status;
}

/* Outputs beside those of the first candidate, which are there still. */
static void compare_outputs(struct vt_precision_trial *trial, uint32_t i)
{
    const struct vt_engine_probe *first = &trial->parts[0].probe;
    struct candidate *c = &trial->parts[i];
    for (uint32_t o = 0; o < first->signature.n_outputs; o++) {
        const struct vt_tensor *want = &first->outputs[o], *got = &c->probe.outputs[o];
        int64_t n = 0;
        if (!vt_tensor_same_shape(want, got) || !vt_shape_elements(want->dim, want->rank, &n)) {
            c->whole++;
            c->whole_wrong++;
            continue;
        }
        const bool real = vt_element_is_real(want->dtype) && !vt_element_is_integer(want->dtype);
        if (!real) {
            c->whole++;
            c->whole_wrong += want->bytes > 0 && memcmp(want->data, got->data, want->bytes) != 0;
            continue;
        }
        for (size_t k = 0; k < (size_t)n; k++) {
            const double x = vt_element_get(want->dtype, want->data, k);
            const double e = vt_element_get(got->dtype, got->data, k) - x;
            if (isfinite(x)) {
                c->squares += x * x;
                c->errors += isfinite(e) ? e * e : (double)INFINITY;
            }
        }
    }
}

static enum vt_status finish_sample(struct vt_precision_trial *trial, uint32_t i, uint64_t sample,
                                    uint64_t at, struct vt_error *err)
{
    const struct vt_session *session = trial->session;
    struct candidate *c = &trial->parts[i];
    uint8_t *text = c->texts + at * VT_RESPONSE_MAX;
    size_t bytes = 0;
    enum vt_status status =
        session->workload_ops->finish(session->workload, sample, c->probe.outputs,
                                      c->probe.signature.n_outputs, text, &bytes, err);
    c->responses[at] = (struct vt_response){sample, text, bytes};
    return status;
}

/* All candidates on one sample, in turns. */
static enum vt_status run_sample(struct vt_precision_trial *trial, uint64_t sample, uint64_t at,
                                 uint32_t rounds, struct vt_error *err)
{
    const struct vt_session *session = trial->session;
    enum vt_status status = session->workload_ops->load(session->workload, &sample, 1, err);
    if (status != VT_OK) {
        return status;
    }
    const uint32_t n = trial->choice.n_candidates;
    for (uint32_t round = 0; round < rounds && status == VT_OK; round++) {
        for (uint32_t k = 0; k < n && status == VT_OK; k++) {
            /* None is always the one behind the loading of a sample. */
            const uint32_t i = (uint32_t)((at + round + k) % n);
            if (trial->choice.candidates[i].tried) {
                status = run_timed(trial, i, sample, err);
            }
        }
    }
    for (uint32_t i = 0; i < n && status == VT_OK; i++) {
        if (trial->choice.candidates[i].tried && trial->scored) {
            status = finish_sample(trial, i, sample, at, err);
        }
        if (trial->choice.candidates[i].tried) {
            compare_outputs(trial, i);
        }
    }
    session->workload_ops->unload(session->workload, &sample, 1);
    return status;
}

static uint64_t samples_for(const struct vt_precision_trial *trial)
{
    const uint64_t total = trial->session->info.total_count;
    const double ns = trial->choice.candidates[0].time_ns;
    uint64_t n = trial->scored ? SCORED_SAMPLES : COMPARED_SAMPLES;
    n = ns > (double)SLOWER_NS ? n / SLOWER_PARTS : ns > (double)SLOW_NS ? n / SLOW_PARTS : n;
    return n < total ? n : total;
}

static enum vt_status allocate(struct vt_precision_trial *trial, struct vt_error *err)
{
    for (uint32_t i = 0; i < trial->choice.n_candidates && trial->scored; i++) {
        struct candidate *c = &trial->parts[i];
        c->responses = vt_calloc(trial->n_samples, sizeof *c->responses);
        c->texts = vt_calloc(trial->n_samples, VT_RESPONSE_MAX);
        if (c->responses == NULL || c->texts == NULL) {
            return out_of_memory(err);
        }
    }
    return VT_OK;
}

static enum vt_status run_all(struct vt_precision_trial *trial, struct vt_error *err)
{
    /* The first run of each makes its plan. */
    const bool scored = trial->scored;
    trial->scored = false;
    enum vt_status status = run_sample(trial, 0, 0, 2, err);
    trial->scored = scored;
    trial->n_samples = samples_for(trial);
    for (uint32_t i = 0; i < VT_PRECISIONS_MAX; i++) {
        trial->parts[i].errors = trial->parts[i].squares = 0;
        trial->parts[i].whole = trial->parts[i].whole_wrong = 0;
    }
    if (status == VT_OK) {
        status = allocate(trial, err);
    }
    const uint64_t n = trial->n_samples, total = trial->session->info.total_count;
    const uint32_t rounds = n >= TIMED_RUNS ? 1 : (uint32_t)((TIMED_RUNS + n - 1) / n);
    const int64_t start = vt_now_ns();
    for (uint64_t i = 0; i < n && status == VT_OK; i++) {
        const bool late = vt_now_ns() - start > TIMED_NS;
        const uint64_t sample = (uint64_t)((double)i * (double)total / (double)n);
        status = run_sample(trial, sample, i, late ? 1 : rounds, err);
    }
    trial->choice.samples = n;
    return status;
}

/* --- judging --------------------------------------------------------------------------------- */

static enum vt_status score_all(struct vt_precision_trial *trial, struct vt_error *err)
{
    const struct vt_session *session = trial->session;
    struct vt_precision_choice *choice = &trial->choice;
    struct vt_quality first = {0};
    for (uint32_t i = 0; i < choice->n_candidates; i++) {
        struct vt_precision_candidate *c = &choice->candidates[i];
        struct vt_quality quality = {0};
        if (!c->tried) {
            continue;
        }
        enum vt_status status = session->workload_ops->score(
            session->workload, trial->parts[i].responses, trial->n_samples, err, &quality);
        if (status != VT_OK) {
            return status;
        }
        first = i == 0 ? quality : first;
        c->has_quality = true;
        c->quality = quality.value;
        const double lost = (first.value - quality.value) * (first.smaller_is_better ? -1 : 1);
        const double size = fabs(first.value);
        c->loss_percent = lost <= 0 ? 0 : size > 0 ? 100 * lost / size : 100;
        c->holds = c->loss_percent <= choice->loss_allowed_percent && (quality.pass || !first.pass);
    }
    (void)snprintf(choice->metric, sizeof choice->metric, "%s", first.metric);
    (void)snprintf(choice->unit, sizeof choice->unit, "%s", first.unit);
    (void)snprintf(choice->rule, sizeof choice->rule,
                   "%s on labelled samples at most %.6g %% below fp32's%s", first.metric,
                   choice->loss_allowed_percent,
                   first.has_target ? ", and the target reached" : "");
    return VT_OK;
}

static void compare_all(struct vt_precision_trial *trial)
{
    struct vt_precision_choice *choice = &trial->choice;
    for (uint32_t i = 0; i < choice->n_candidates; i++) {
        struct vt_precision_candidate *c = &choice->candidates[i];
        c->holds = c->tried && c->rms * 100 <= choice->loss_allowed_percent &&
                   trial->parts[i].whole_wrong == 0;
        c->loss_percent = c->rms * 100;
    }
    (void)snprintf(choice->rule, sizeof choice->rule,
                   "without labels: RMS error of the outputs beside fp32 at most %.6g %%, whole "
                   "numbers the same",
                   choice->loss_allowed_percent);
}

static void choose(struct vt_precision_choice *choice)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < choice->n_candidates; i++) {
        struct vt_precision_candidate *c = &choice->candidates[i];
        if (!c->tried || c->why[0] != '\0') {
            continue;
        }
        if (!c->holds) {
            (void)snprintf(c->why, sizeof c->why, "loses %.3g %%, allowed are %.3g %%",
                           c->loss_percent, choice->loss_allowed_percent);
        } else if (c->time_ns < choice->candidates[best].time_ns * (1 - WORTH)) {
            best = i;
        } else {
            char other[sizeof choice->chosen];
            memcpy(other, choice->candidates[best].precision, sizeof other);
            (void)snprintf(c->why, sizeof c->why, "not faster than %s by %g %%", other,
                           WORTH * 100);
        }
    }
    choice->made = true;
    memcpy(choice->chosen, choice->candidates[best].precision, sizeof choice->chosen);
    (void)snprintf(choice->why, sizeof choice->why, "%s",
                   best == 0 ? "none of the others is faster and holds"
                             : "the fastest whose quality holds");
}

enum vt_status vt_precision_trial_run(struct vt_precision_trial *trial, struct vt_error *err,
                                      struct vt_precision_choice *ret_choice)
{
    enum vt_status status = run_all(trial, err);
    for (uint32_t i = 0; i < trial->choice.n_candidates && status == VT_OK; i++) {
        const struct candidate *part = &trial->parts[i];
        struct vt_precision_candidate *c = &trial->choice.candidates[i];
        c->has_rms = c->tried;
        c->rms = part->errors == 0   ? 0
                 : part->squares > 0 ? fmin(1e9, sqrt(part->errors / part->squares))
                                     : 1e9;
    }
    if (status == VT_OK && trial->scored) {
        status = score_all(trial, err);
    } else if (status == VT_OK) {
        compare_all(trial);
    }
    if (status == VT_OK) {
        choose(&trial->choice);
        *ret_choice = trial->choice;
    }
    return status;
}
