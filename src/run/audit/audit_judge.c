/* SPDX-License-Identifier: Apache-2.0 */
#include "run/audit/audit_judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define TOLERANCE      0.10
#define TOLERANCE_FAST 0.20
/* Reference scores up to these are fast streams; ns in TEST01, queries/s in TEST04. */
#define FAST_SINGLE 200000.0
#define FAST_MULTI  1600000.0

static bool is_stream(enum vt_scenario scenario)
{
    return scenario == VT_SINGLESTREAM || scenario == VT_MULTISTREAM;
}

/* As the official logs have it; 0: none. */
static double score_of(const struct vt_load_report *report, bool as_rate)
{
    if (!is_stream(report->settings.scenario)) {
        return report->metric.name != NULL ? report->metric.value : 0;
    }
    double ns = (double)report->early_stopping_estimate_ns;
    return as_rate && ns > 0 ? 1e9 / ns : ns;
}

static double tolerance_of(enum vt_scenario scenario, double reference)
{
    bool fast = (scenario == VT_SINGLESTREAM && reference <= FAST_SINGLE) ||
                (scenario == VT_MULTISTREAM && reference <= FAST_MULTI);
    return fast ? TOLERANCE_FAST : TOLERANCE;
}

/* Why there is nothing to compare; NULL: there is. */
static const char *obstacle(const struct vt_load_report *reference, bool reference_valid,
                            const struct vt_load_report *report,
                            const struct vt_audit_performance *scores)
{
    if (!reference_valid) {
        return "the reference run is not valid";
    }
    if (!report->valid) {
        return "the test's run is not valid";
    }
    if (reference->settings.scenario != report->settings.scenario) {
        return "the runs are of different scenarios";
    }
    if (reference->settings.scenario == VT_SERVER &&
        reference->settings.server_target_latency_ns != report->settings.server_target_latency_ns) {
        return "the runs have different latency limits";
    }
    return !(scores->reference > 0) || !(scores->test > 0) ? "a run has no score" : NULL;
}

void vt_audit_judge_performance(enum vt_audit_test test, const struct vt_load_report *reference,
                                bool reference_valid, const struct vt_load_report *report,
                                struct vt_audit_performance *ret)
{
    enum vt_scenario scenario = reference->settings.scenario;
    bool as_rate = test == VT_TEST04;
    struct vt_audit_performance p = {
        .judged = true,
        .verdict = VT_AUDIT_FAIL,
        .reference = score_of(reference, as_rate),
        .test = score_of(report, as_rate),
        .both_sides = test == VT_TEST01,
        .unit = scenario == VT_OFFLINE            ? "samples/s"
                : is_stream(scenario) && !as_rate ? "ns"
                                                  : "queries/s",
    };
    p.tolerance = tolerance_of(scenario, p.reference);
    const char *why = obstacle(reference, reference_valid, report, &p);
    if (why != NULL) {
        const struct vt_reasons *reasons = report->valid ? &reference->reasons : &report->reasons;
        snprintf(p.text, sizeof p.text, "%s%s%.300s", why, reasons->n > 0 ? ": " : "",
                 reasons->n > 0 ? reasons->text[0] : "");
        *ret = p;
        return;
    }
    double most = p.reference * (1 + p.tolerance), least = p.reference * (1 - p.tolerance);
    bool good = p.both_sides ? p.test >= least && p.test <= most : p.test < most;
    p.verdict = good ? VT_AUDIT_PASS : VT_AUDIT_FAIL;
    snprintf(p.text, sizeof p.text, "%.6g %s, reference %.6g: %+.1f %% (allowed: %s%g %%)", p.test,
             p.unit, p.reference, (p.test / p.reference - 1) * 100,
             p.both_sides ? "\xc2\xb1" : "less than +", p.tolerance * 100);
    *ret = p;
}

/* What the accuracy run answered for a sample. */
struct answer {
    uint64_t index;
    const struct vt_load_response *whole;  /* of the accuracy run */
    const struct vt_load_response *latest; /* for the official comparison: the last one logged */
};

static int by_index(const void *a, const void *b)
{
    const struct answer *x = a, *y = b;
    if (x->index != y->index) {
        return x->index < y->index ? -1 : 1;
    }
    return x->whole < y->whole ? -1 : x->whole > y->whole; /* the order of the log */
}

static bool same(const struct vt_load_response *a, const struct vt_load_response *b)
{
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

static bool same_first(const struct vt_load_response *a, const struct vt_load_response *b)
{
    if (a->bytes == 0 || b->bytes == 0) {
        return a->bytes == b->bytes;
    }
    return *(const unsigned char *)a->data == *(const unsigned char *)b->data;
}

/* Sorted by index, the first answer of each. Returns how many are left. */
static size_t collect(const struct vt_load_report *reference, struct answer *answers,
                      struct vt_audit_accuracy *a)
{
    size_t n = reference->n_responses, kept = 0;

    for (size_t i = 0; i < n; i++) {
        const struct vt_load_response *response = &reference->responses[i];
        answers[i] = (struct answer){response->index, response, response};
    }
    qsort(answers, n, sizeof answers[0], by_index);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && answers[kept - 1].index == answers[i].index) {
            a->duplicates++;
            a->duplicate_mismatches += !same(answers[kept - 1].whole, answers[i].whole);
        } else {
            answers[kept++] = answers[i];
        }
    }
    return kept;
}

static struct answer *find(struct answer *answers, size_t n, uint64_t index)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;
        if (answers[low + half].index < index) {
            low += half + 1;
            n -= half + 1;
        } else if (answers[low + half].index > index) {
            n = half;
        } else {
            return &answers[low + half];
        }
    }
    return NULL;
}

static void say_accuracy(struct vt_audit_accuracy *a)
{
    const char *official = a->first_mismatches == 0 && a->matched > 0 ? "pass" : "fail";

    if (a->entries == 0) {
        snprintf(a->text, sizeof a->text, "no response was logged in performance mode");
    } else if (a->matched == 0) {
        snprintf(a->text, sizeof a->text, "none of the %llu logged samples was in the accuracy run",
                 (unsigned long long)a->entries);
    } else if (a->mismatches == 0) {
        snprintf(a->text, sizeof a->text,
                 "%llu of %llu logged responses equal those of the accuracy run%s",
                 (unsigned long long)a->matched, (unsigned long long)a->entries,
                 a->missing > 0 ? ", the others' samples are not in it" : "");
    } else {
        snprintf(
            a->text, sizeof a->text,
            "%llu of %llu logged responses differ from the accuracy run's (first: sample %llu); "
            "%llu in the first byte, which is all that the official script compares: %s",
            (unsigned long long)a->mismatches, (unsigned long long)a->entries,
            (unsigned long long)a->first_mismatch_index, (unsigned long long)a->first_mismatches,
            official);
    }
}

enum vt_status vt_audit_judge_accuracy(const struct vt_load_report *reference,
                                       const struct vt_load_report *report, struct vt_error *err,
                                       struct vt_audit_accuracy *ret)
{
    struct vt_audit_accuracy a = {.judged = true,
                                  .reference_entries = reference->n_responses,
                                  .entries = report->n_responses};
    struct answer *answers = NULL;

    if (reference->n_responses > 0) {
        answers = vt_calloc(reference->n_responses, sizeof answers[0]);
        if (answers == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory to compare %llu responses",
                                (unsigned long long)reference->n_responses);
        }
    }
    size_t n = answers != NULL ? collect(reference, answers, &a) : 0;
    for (uint64_t i = 0; i < report->n_responses; i++) {
        const struct vt_load_response *response = &report->responses[i];
        struct answer *answer = find(answers, n, response->index);
        if (answer == NULL) {
            a.missing++;
            continue;
        }
        a.matched++;
        if (!same(answer->whole, response)) {
            if (a.mismatches++ == 0) {
                a.first_mismatch_index = response->index;
            }
        }
        a.first_mismatches += !same_first(answer->latest, response);
        answer->latest = response;
    }
    vt_free(answers);
    a.verdict = a.mismatches == 0 && a.matched > 0 ? VT_AUDIT_PASS : VT_AUDIT_FAIL;
    say_accuracy(&a);
    *ret = a;
    return VT_OK;
}

void vt_audit_judge_quality(struct vt_audit_accuracy *accuracy, const char *metric,
                            const char *unit, double reference, double quality, double delta)
{
    char before[sizeof accuracy->text];

    memcpy(before, accuracy->text, sizeof before);
    accuracy->by_quality = true;
    accuracy->reference_quality = reference;
    accuracy->quality = quality;
    accuracy->delta = delta;
    snprintf(accuracy->metric, sizeof accuracy->metric, "%s", metric);
    snprintf(accuracy->unit, sizeof accuracy->unit, "%s", unit);
    bool near = fabs(quality - reference) <= delta * fabs(reference);
    accuracy->verdict = near ? VT_AUDIT_PASS : VT_AUDIT_FAIL;
    snprintf(accuracy->text, sizeof accuracy->text,
             "%.240s; by quality: %s %.5g %s, %.5g %s in the accuracy run (allowed: \xc2\xb1%g %%)",
             before, metric, quality, unit, reference, unit, delta * 100);
}

static int32_t token_at(const void *data, size_t i)
{
    int32_t token;
    memcpy(&token, (const unsigned char *)data + i * sizeof token, sizeof token);
    return token;
}

/* At most one end-of-sequence token ends the response; its first token may be one too. */
static bool ends_well(const struct vt_load_response *r, int32_t eos)
{
    size_t n = r->bytes / sizeof(int32_t), ends = 0;

    while (n > 1 && token_at(r->data, n - 1) == eos) {
        n--;
        ends++;
    }
    return ends < 2;
}

static bool begins_well(const struct vt_load_response *r)
{
    size_t n = r->bytes < r->first_token_bytes ? r->bytes : r->first_token_bytes;
    n -= n % sizeof(int32_t);
    return n == 0 || memcmp(r->data, r->first_token, n) == 0;
}

void vt_audit_judge_tokens(const struct vt_load_report *report, int32_t eos,
                           struct vt_audit_tokens *ret)
{
    struct vt_audit_tokens t = {
        .judged = true,
        .entries = report->n_responses,
        .first_token = true,
        .first_token_skipped = report->settings.scenario == VT_OFFLINE,
        .end_of_sequence = true,
        .length = true,
    };

    for (uint64_t i = 0; i < report->n_responses; i++) {
        const struct vt_load_response *r = &report->responses[i];
        t.first_token = t.first_token && (t.first_token_skipped || begins_well(r));
        t.end_of_sequence = t.end_of_sequence && ends_well(r, eos);
        t.length =
            t.length && r->n_tokens >= 0 && (uint64_t)r->n_tokens == r->bytes / sizeof(int32_t);
    }
    bool good = t.entries > 0 && t.first_token && t.end_of_sequence && t.length;
    t.verdict = good ? VT_AUDIT_PASS : VT_AUDIT_FAIL;
    if (t.entries == 0) {
        snprintf(t.text, sizeof t.text, "no response was logged");
    } else {
        snprintf(t.text, sizeof t.text,
                 "%llu responses: first token %s, end of sequence %s, number of tokens %s",
                 (unsigned long long)t.entries,
                 t.first_token_skipped ? "not compared in Offline"
                 : t.first_token       ? "right"
                                       : "wrong",
                 t.end_of_sequence ? "right" : "wrong", t.length ? "right" : "wrong");
    }
    *ret = t;
}
