/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "result/result.h"

/* Less than so much of a run is left to result.json. */
#define THROTTLE_SHOWN_PERCENT 5

/* "3.21 mJ/sample, 311 samples/s/W; 28.1 J ± 0.4 J, 9.36 W, at most 12.1 W (rapl, informative)" */
static void measured_text(const struct vt_result_energy *energy, char *text, size_t size)
{
    const struct vt_energy_meter *headline = &energy->meters[energy->headline];
    const struct vt_energy_figures *total = &headline->total;
    char each[48], rate[48], sum[48], off[48], mean[48], peak[48], more[96] = "";

    if (isfinite(energy->mj_per_query)) {
        (void)snprintf(more, sizeof more, "%s/query, ",
                       vt_joules_text(energy->mj_per_query / 1e3, each, sizeof each));
    }
    if (isfinite(energy->joules_per_token)) {
        const size_t length = strlen(more);
        (void)snprintf(more + length, sizeof more - length, "%s/token, ",
                       vt_joules_text(energy->joules_per_token, each, sizeof each));
    }
    size_t length =
        (size_t)snprintf(text, size, "%s%s/sample, %s samples/s/W; %s \xc2\xb1 %s, %s W", more,
                         vt_joules_text(energy->joules_per_sample, each, sizeof each),
                         vt_number_text(energy->samples_per_joule, rate, sizeof rate),
                         vt_joules_text(total->joules, sum, sizeof sum),
                         vt_joules_text(total->uncertainty_j, off, sizeof off),
                         vt_number_text(total->mean_w, mean, sizeof mean));
    if (isfinite(total->peak_w) && length < size) {
        length += (size_t)snprintf(text + length, size - length, ", at most %s W",
                                   vt_number_text(total->peak_w, peak, sizeof peak));
    }
    if (isfinite(total->above_idle_j) && length < size) {
        length +=
            (size_t)snprintf(text + length, size - length, "; %s \xc2\xb1 %s above idle",
                             vt_joules_text(total->above_idle_j, sum, sizeof sum),
                             vt_joules_text(total->above_idle_uncertainty_j, off, sizeof off));
    }
    for (uint32_t i = 0; i < energy->n_throttles && length < size; i++) {
        const struct vt_energy_throttle *throttle = &energy->throttles[i];
        if (throttle->share_percent >= THROTTLE_SHOWN_PERCENT) {
            length +=
                (size_t)snprintf(text + length, size - length, "; %s slowed by %s for %.0f %%",
                                 throttle->device, throttle->reason, throttle->share_percent);
        }
    }
    if (length < size) {
        (void)snprintf(text + length, size - length, " (%s, %s)", headline->name, energy->tier);
    }
}

/* Why there is nothing to tell of an entry; "" where there is. */
static const char *reason_of(const struct vt_result_entry *entry)
{
    return entry->energy == NULL || entry->energy->measured ? "" : entry->energy->reason;
}

static uint32_t count_saying(const struct vt_result *result, const char *reason)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        n += result->entries[i].energy != NULL &&
             strcmp(reason_of(&result->entries[i]), reason) == 0;
    }
    return n;
}

void vt_result_print_energy(const struct vt_result *result, FILE *out, int columns)
{
    char text[VT_ERROR_TEXT_MAX + 64];
    uint32_t metered = 0, shown = 0;

    for (uint32_t i = 0; i < result->n_entries; i++) {
        metered += result->entries[i].energy != NULL;
    }
    for (uint32_t i = 0; i < result->n_entries; i++) {
        const struct vt_result_entry *entry = &result->entries[i];
        const char *reason = reason_of(entry);
        char line[VT_ERROR_TEXT_MAX + 96];
        if (entry->energy == NULL) {
            continue;
        }
        if (entry->energy->measured) {
            measured_text(entry->energy, text, sizeof text);
        } else {
            (void)snprintf(text, sizeof text, "unmeasured: %s", reason);
        }
        const bool common = reason[0] != '\0' && count_saying(result, reason) == metered;
        (void)snprintf(line, sizeof line, "%s%s%s", common ? "" : vt_scenario_name(entry->scenario),
                       common ? "" : ": ", text);
        vt_result_print_item(out, shown++ == 0 ? "energy" : "", line, columns);
        if (common) {
            return;
        }
    }
    if (shown == 0) {
        (void)snprintf(text, sizeof text, "unmeasured: %s", vt_result_energy_reason(result));
        vt_result_print_item(out, "energy", text, columns);
    }
}
