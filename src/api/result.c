/* SPDX-License-Identifier: Apache-2.0 */
#include "api/result.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quote.h"

/* What the caller's pointer really points to. */
struct owned_result {
    struct vt_load_result whole; /* first */
    struct vt_load_result performance, accuracy;
    struct vt_test_result test;
};

enum vt_status vt_load_result_new(struct vt_error *err, struct vt_load_result **ret_result)
{
    struct owned_result *owned = vt_calloc(1, sizeof *owned);

    if (owned == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a result");
    }
    *ret_result = &owned->whole;
    return VT_OK;
}

void vt_load_result_adopt(struct vt_load_result *result, struct vt_test_result *test)
{
    struct owned_result *owned = (struct owned_result *)(void *)result;

    owned->test = *test;
    memset(test, 0, sizeof *test);
    const struct vt_load_report *performance = owned->test.performance;
    const struct vt_load_report *accuracy = owned->test.accuracy;
    owned->performance = (struct vt_load_result){performance, NULL, &owned->test};
    owned->accuracy = (struct vt_load_result){accuracy, NULL, &owned->test};
    owned->whole = (struct vt_load_result){performance != NULL ? performance : accuracy,
                                           performance != NULL ? accuracy : NULL, &owned->test};
}

void vt_load_result_free(struct vt_load_result *result)
{
    if (result == NULL) {
        return;
    }
    struct owned_result *owned = (struct owned_result *)(void *)result;
    vt_test_result_release(&owned->test);
    vt_free(owned);
}

const struct vt_load_result *vt_load_result_phase(const struct vt_load_result *result,
                                                  enum vt_mode phase)
{
    if (result == NULL || result->test == NULL) {
        return NULL;
    }
    const struct owned_result *owned =
        (const void *)((const char *)result->test - offsetof(struct owned_result, test));
    if (phase == VT_PERFORMANCE) {
        return owned->performance.report != NULL ? &owned->performance : NULL;
    }
    if (phase == VT_ACCURACY) {
        return owned->accuracy.report != NULL ? &owned->accuracy : NULL;
    }
    return NULL;
}

bool vt_load_result_valid(const struct vt_load_result *result)
{
    return result != NULL && result->report != NULL && result->report->valid &&
           (result->second == NULL || result->second->valid);
}

const char *vt_load_result_reason(const struct vt_load_result *result, size_t i)
{
    if (result == NULL) {
        return NULL;
    }
    if (result->report == NULL) {
        return i == 0 ? "nothing was measured" : NULL;
    }
    if (i < result->report->reasons.n) {
        return result->report->reasons.text[i];
    }
    i -= result->report->reasons.n;
    return result->second != NULL && i < result->second->reasons.n ? result->second->reasons.text[i]
                                                                   : NULL;
}

const char *vt_load_result_failure(const struct vt_load_result *result)
{
    if (result == NULL || result->report == NULL) {
        return NULL;
    }
    if (result->report->first_failure[0] != '\0') {
        return result->report->first_failure;
    }
    return result->second != NULL && result->second->first_failure[0] != '\0'
               ? result->second->first_failure
               : NULL;
}

const char *vt_load_result_metric(const struct vt_load_result *result, double *ret_value,
                                  const char **ret_unit)
{
    if (result == NULL || result->report == NULL || result->report->metric.name == NULL) {
        return NULL;
    }
    if (ret_value != NULL) {
        *ret_value = result->report->metric.value;
    }
    if (ret_unit != NULL) {
        *ret_unit = result->report->metric.unit;
    }
    return result->report->metric.name;
}

const char *vt_load_result_key(size_t i)
{
    return vt_api_number_name(i);
}

enum vt_status vt_load_result_number(const struct vt_load_result *result, const char *key,
                                     struct vt_error *err, double *ret_value)
{
    if (result == NULL || key == NULL || ret_value == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "vt_load_result_number: result, key and ret_value are needed");
    }
    if (vt_api_number(result, key, ret_value)) {
        return VT_OK;
    }
    const char *near = vt_api_number_nearest(key);
    return vt_error_set(err, VT_ERR_USAGE,
                        "a result has no number '%s'%s%s%s (vt_load_result_key counts them up)",
                        vt_plain(key).text, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

const char *vt_load_result_note(const struct vt_load_result *result, size_t i, bool *ret_is_error,
                                int64_t *ret_at_ns)
{
    if (result == NULL || result->report == NULL || i >= result->report->n_notes) {
        return NULL;
    }
    const struct vt_load_note *note = &result->report->notes[i];
    if (ret_is_error != NULL) {
        *ret_is_error = note->is_error;
    }
    if (ret_at_ns != NULL) {
        *ret_at_ns = note->at_ns;
    }
    return note->text;
}

uint64_t vt_load_result_records(const struct vt_load_result *result)
{
    return result != NULL && result->report != NULL ? result->report->n_records : 0;
}

enum vt_status vt_load_result_copy(const struct vt_load_result *result, uint64_t first, size_t n,
                                   struct vt_error *err, struct vt_load_record *ret_records)
{
    uint64_t count = vt_load_result_records(result);

    if (first > count || n > count - first || (n > 0 && ret_records == NULL)) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "vt_load_result_copy: records %" PRIu64 " to %" PRIu64 " of %" PRIu64
                            "%s",
                            first, first + n, count, ret_records == NULL ? " to nowhere" : "");
    }
    for (size_t i = 0; i < n; i++) {
        const struct vt_sample_record *from = &result->report->records[first + i];
        const struct vt_token_record *token =
            result->report->tokens != NULL ? &result->report->tokens[first + i] : NULL;
        ret_records[i] = (struct vt_load_record){
            .query = from->query,
            .index = from->index,
            .scheduled_ns = from->scheduled_ns,
            .issued_ns = from->issued_ns,
            .done_ns = from->done_ns,
            .first_token_ns = token != NULL ? token->first_ns : VT_LOAD_NEVER,
            .n_tokens = token != NULL ? token->n_tokens : 0,
        };
    }
    return VT_OK;
}

uint64_t vt_load_result_answers(const struct vt_load_result *result)
{
    return result != NULL && result->report != NULL ? result->report->n_responses : 0;
}

enum vt_status vt_load_result_answer(const struct vt_load_result *result, uint64_t i,
                                     struct vt_error *err, struct vt_load_answer *ret_answer)
{
    uint64_t count = vt_load_result_answers(result);

    if (i >= count || ret_answer == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "vt_load_result_answer: answer %" PRIu64 " of %" PRIu64, i, count);
    }
    const struct vt_load_response *from = &result->report->responses[i];
    *ret_answer = (struct vt_load_answer){from->sequence, from->index, from->data, from->bytes};
    return VT_OK;
}
