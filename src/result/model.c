/* SPDX-License-Identifier: Apache-2.0 */
#include "result/result.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "load/load.h"

void vt_result_init(struct vt_result *result)
{
    time_t now = time(NULL);
    struct tm utc;

    memset(result, 0, sizeof *result);
    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(result->started_utc, sizeof result->started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
}

void vt_result_release(struct vt_result *result)
{
    for (uint32_t i = 0; i < VT_RESULTS_MAX; i++) {
        vt_load_report_free(result->entries[i].report);
        result->entries[i].report = NULL;
        vt_result_energy_free(result->entries[i].energy);
        result->entries[i].energy = NULL;
    }
    for (uint32_t i = 0; i < VT_AUDITS_MAX; i++) {
        vt_load_report_free(result->audits[i].report);
        result->audits[i].report = NULL;
    }
    vt_free(result->caps);
    result->caps = NULL;
    result->n_caps = 0;
    result->n_entries = 0;
    result->n_audits = 0;
    vt_free(result->layers);
    result->layers = NULL;
    result->n_layers = 0;
}

/* Nothing was tested where no test applied. */
static bool audits_pass(const struct vt_result *result)
{
    uint32_t passed = 0;

    for (uint32_t i = 0; i < result->n_audits; i++) {
        if (result->audits[i].verdict == VT_AUDIT_FAIL) {
            return false;
        }
        passed += result->audits[i].verdict == VT_AUDIT_PASS;
    }
    return passed > 0 || result->n_audits == 0;
}

bool vt_result_valid(const struct vt_result *result)
{
    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        if (entry->report == NULL || !entry->valid ||
            (entry->has_quality && !entry->quality.pass)) {
            return false;
        }
    }
    return result->n_entries > 0 && audits_pass(result);
}

int vt_result_exit_code(const struct vt_result *result)
{
    if (result->partial) {
        return vt_status_exit_code(VT_ERR_INTERRUPTED);
    }
    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        if (entry->failure.status != VT_OK) {
            int code = vt_status_exit_code(entry->failure.status);
            return code > 1 ? code : vt_status_exit_code(VT_ERR_ENGINE);
        }
    }
    return vt_result_valid(result) ? 0 : 1;
}

double vt_result_token_rate(const struct vt_load_report *report)
{
    int64_t span_ns = report->settings.scenario == VT_OFFLINE ? report->latency.max_ns
                                                              : report->last_query_done_ns;
    return span_ns > 0 ? (double)report->token.tokens / ((double)span_ns / 1e9) : 0;
}

char *vt_result_entry_folder(const struct vt_result_entry *entry, char *text, size_t size)
{
    const char *scenario = vt_scenario_key(entry->scenario);

    if (entry->test_mode == VT_FIND_PEAK) {
        snprintf(text, size, "%s/%s", scenario, vt_mode_key(VT_FIND_PEAK));
    } else if (entry->test_mode == VT_SUBMISSION) {
        snprintf(text, size, "%s/%s/%s", scenario, vt_mode_key(VT_SUBMISSION),
                 vt_mode_key(entry->mode));
    } else {
        snprintf(text, size, "%s/%s%s", scenario, vt_mode_key(entry->mode),
                 entry->mode == VT_PERFORMANCE ? "/run_1" : "");
    }
    return text;
}
