/* SPDX-License-Identifier: Apache-2.0 */
#include "run/meters.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "power/sampler.h"
#include "run/energy/meter_choice.h"

#define FIELD(name) offsetof(struct vt_meters_job, name)

/* Readings before the window, and at most so long for the last step of a counter after it. */
#define LEAD_NS   (250 * VT_NS_PER_MS)
#define SETTLE_NS (2 * VT_NS_PER_S)

static const struct vt_option options[] = {
    {"for", 0, VT_OPTION_DURATION, FIELD(for_ns), "Options", "T", 1e8, 3.6e12, NULL, "1s",
     "how long each meter is read"},
    VT_METER_PLACE_OPTIONS(FIELD(places), "Options"),
    {"json", 0, VT_OPTION_FLAG, FIELD(json), "Options", NULL, 0, 0, NULL, NULL,
     "print a JSON document on standard output and nothing else there"},
};

const struct vt_option_table *vt_meters_options(void)
{
    static const struct vt_option_table table = {options, sizeof options / sizeof options[0],
                                                 sizeof(struct vt_meters_job)};
    return &table;
}

void vt_meters_report_release(struct vt_meters_report *report)
{
    for (uint32_t i = 0; report->entries != NULL && i < report->n_entries; i++) {
        vt_free(report->entries[i].rows);
    }
    vt_free(report->entries);
    *report = (struct vt_meters_report){0};
}

static enum vt_status choose(const char *const *names, size_t n_names, struct vt_error *err,
                             struct vt_meter_choice *choice)
{
    enum vt_status status = VT_OK;

    if (n_names == 0) {
        vt_meter_choice_add_all(choice);
    }
    for (size_t i = 0; i < n_names && status == VT_OK; i++) {
        status = vt_meter_choice_add(choice, names[i], err);
    }
    return status;
}

static void fill_row(struct vt_sampler *sampler, uint32_t index,
                     const struct vt_power_window *window, struct vt_meter_row *row)
{
    const struct vt_sampler_domain at = vt_sampler_domain(sampler, index);
    struct vt_error err = VT_ERROR_INIT;
    struct vt_update_period update;
    struct vt_energy energy;

    (void)snprintf(row->domain, sizeof row->domain, "%s", at.domain->name);
    (void)snprintf(row->device, sizeof row->device, "%s", at.domain->device);
    (void)snprintf(row->note, sizeof row->note, "%s", at.domain->note);
    if (at.domain->inside >= 0) {
        const uint32_t holder = at.first + (uint32_t)at.domain->inside;
        (void)snprintf(row->inside, sizeof row->inside, "%s",
                       vt_sampler_domain(sampler, holder).domain->name);
    }
    row->scope = vt_meter_scope_text(at.domain->scope);
    row->counter = at.domain->kind == VT_METER_ENERGY;
    row->measured = vt_sampler_energy(sampler, index, window, &err, &energy) == VT_OK;
    if (row->measured) {
        row->watts = energy.mean_w;
        row->uncertainty_w = energy.uncertainty_j / ((double)energy.window_ns / 1e9);
    } else {
        const size_t name = strlen(row->domain); /* "DOMAIN: …": it stands before it already */
        const bool named = strncmp(err.text, row->domain, name) == 0 && err.text[name] == ':';
        (void)snprintf(row->why, sizeof row->why, "%.*s", (int)sizeof row->why - 1,
                       named ? err.text + name + 2 : err.text);
    }
    const struct vt_power_track track = vt_sampler_track(sampler, index, NULL);
    vt_power_update_period(&track, &update);
    row->update_ns = update.ns;
    row->update_at_most = update.at_most;
}

static enum vt_status fill(struct vt_sampler *sampler, const struct vt_meter_choice *choice,
                           const struct vt_power_window *window, struct vt_error *err,
                           struct vt_meters_report *report)
{
    const uint32_t n = vt_sampler_domains(sampler);

    for (size_t m = 0, e = 0; m < choice->n; m++) {
        while (report->entries[e].name != choice->meters[m]->name) {
            e++;
        }
        struct vt_meter_entry *entry = &report->entries[e];
        uint32_t first = n, last = 0, count = 0;
        for (uint32_t i = 0; i < n; i++) {
            const struct vt_sampler_domain at = vt_sampler_domain(sampler, i);
            const bool own = at.meter == choice->meters[m] && at.domain->kind != VT_METER_OTHER;
            first = own && i < first ? i : first;
            last = own ? i : last;
            count += own;
        }
        entry->rows = vt_calloc((size_t)count + 1, sizeof entry->rows[0]);
        if (entry->rows == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a table of meters");
        }
        for (uint32_t i = first; i < n && i <= last; i++) {
            if (vt_sampler_domain(sampler, i).domain->kind != VT_METER_OTHER) {
                fill_row(sampler, i, window, &entry->rows[entry->n_rows++]);
            }
        }
    }
    return VT_OK;
}

static void pass_until(int64_t ns)
{
    while (vt_now_ns() < ns) {
        vt_sleep_until_ns(ns, 0);
    }
}

static enum vt_status measure(const struct vt_meters_job *job, const struct vt_meter_choice *choice,
                              const struct vt_meter_options *places, struct vt_error *err,
                              struct vt_meters_report *report)
{
    const struct vt_sampler_options wanted = {choice->meters, choice->n, places, 0, -1};
    struct vt_sampler *sampler = NULL;

    enum vt_status status = vt_sampler_new(&wanted, err, &sampler);
    if (status != VT_OK) {
        return status;
    }
    struct vt_power_window window = {.begin_ns = vt_now_ns() + LEAD_NS};
    window.end_ns = window.begin_ns + job->for_ns;
    pass_until(window.begin_ns);
    vt_sampler_mark(sampler);
    pass_until(window.end_ns);
    vt_sampler_mark(sampler);
    (void)vt_sampler_settle(sampler, window.end_ns, window.end_ns + SETTLE_NS);
    vt_sampler_stop(sampler);
    status = fill(sampler, choice, &window, err, report);
    const struct vt_sampler_cost cost = vt_sampler_cost(sampler);
    report->for_ns = job->for_ns;
    report->cpu_share = cost.wall_ns > 0 ? (double)cost.cpu_ns / (double)cost.wall_ns : 0;
    vt_sampler_free(sampler);
    return status;
}

enum vt_status vt_meters_run(const struct vt_meters_job *job, const char *const *names,
                             size_t n_names, struct vt_error *err,
                             struct vt_meters_report *ret_report)
{
    const struct vt_meter_options places = vt_meter_places_options(&job->places);
    struct vt_meters_report report = {0};
    struct vt_meter_choice asked = {0}, available = {0};

    enum vt_status status = choose(names, n_names, err, &asked);
    if (status != VT_OK) {
        return status;
    }
    report.entries = vt_calloc(asked.n + 1, sizeof report.entries[0]);
    if (report.entries == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a table of meters");
    }
    for (size_t i = 0; i < asked.n; i++) {
        struct vt_meter_entry *entry = &report.entries[report.n_entries++];
        struct vt_error why = VT_ERROR_INIT;
        entry->name = asked.meters[i]->name;
        entry->summary = asked.meters[i]->summary;
        entry->available = vt_meter_probe(asked.meters[i], &places, &why) == VT_OK;
        (void)snprintf(entry->why, sizeof entry->why, "%s", why.text);
        if (entry->available) {
            available.meters[available.n++] = asked.meters[i];
        }
    }
    status = available.n > 0 ? measure(job, &available, &places, err, &report) : VT_OK;
    if (status != VT_OK) {
        vt_meters_report_release(&report);
        return status;
    }
    *ret_report = report;
    return VT_OK;
}
