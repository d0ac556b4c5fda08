/* SPDX-License-Identifier: Apache-2.0 */
#include "run/caps/machine_caps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "power/cap/cap.h"
#include "run/caps/caps.h"

#define FIELD(name) offsetof(struct vt_caps_job, name)

static const struct vt_option options[] = {
    VT_CAP_PLACE_OPTIONS(FIELD(places), "Options"),
    {"allow-reboot", 0, VT_OPTION_FLAG, FIELD(allow_reboot), "Options", NULL, 0, 0, NULL, NULL,
     "restore: a power mode of a Jetson that needs a restart of the board may restart it"},
    {"json", 0, VT_OPTION_FLAG, FIELD(json), "Options", NULL, 0, 0, NULL, NULL,
     "print JSON on standard output and nothing else there"},
};

const struct vt_option_table *vt_caps_options(void)
{
    static const struct vt_option_table table = {options, sizeof options / sizeof options[0],
                                                 sizeof(struct vt_caps_job)};
    return &table;
}

void vt_caps_report_release(struct vt_caps_report *report)
{
    for (uint32_t i = 0; report->entries != NULL && i < report->n_entries; i++) {
        vt_free(report->entries[i].rows);
    }
    vt_free(report->entries);
    vt_free(report->records);
    *report = (struct vt_caps_report){0};
}

bool vt_caps_report_failed(const struct vt_caps_report *report)
{
    for (uint32_t i = 0; i < report->n_records; i++) {
        if (report->records[i].failed) {
            return true;
        }
    }
    return false;
}

/* --- kinds --------------------------------------------------------------------------------- */

static void fill_row(const struct vt_cap_ops *kind, void *cap, uint32_t i, struct vt_caps_row *row)
{
    uint32_t n = 0;
    const struct vt_cap_domain *domain = &kind->domains(cap, &n)[i];
    struct vt_cap_value value = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    struct vt_error err = VT_ERROR_INIT;

    (void)snprintf(row->domain, sizeof row->domain, "%s", domain->name);
    (void)snprintf(row->device, sizeof row->device, "%s", domain->device);
    (void)snprintf(row->note, sizeof row->note, "%s", domain->note);
    if (kind->get(cap, i, &err, &value) != VT_OK) {
        (void)snprintf(row->why, sizeof row->why, "%.255s", err.text);
    }
    row->value = value.value;
    row->minimum = value.minimum;
    row->maximum = value.maximum;
    row->standard = value.standard;
}

static enum vt_status fill_entry(const struct vt_cap_ops *kind, const struct vt_cap_places *places,
                                 struct vt_error *err, struct vt_caps_entry *entry)
{
    struct vt_error why = VT_ERROR_INIT, locked = VT_ERROR_INIT;
    void *cap = NULL;
    uint32_t n = 0;

    *entry =
        (struct vt_caps_entry){.name = kind->name, .summary = kind->summary, .unit = kind->unit};
    if (kind->open(kind, places, &why, &cap) != VT_OK) {
        (void)snprintf(entry->why, sizeof entry->why, "%s", why.text);
        return VT_OK;
    }
    entry->available = true;
    if (kind->may_set(cap, &locked) != VT_OK) {
        (void)snprintf(entry->locked, sizeof entry->locked, "%s", locked.text);
    }
    (void)kind->domains(cap, &n);
    entry->rows = vt_calloc(n + 1, sizeof *entry->rows);
    for (uint32_t i = 0; entry->rows != NULL && i < n; i++) {
        fill_row(kind, cap, i, &entry->rows[i]);
    }
    entry->n_rows = entry->rows != NULL ? n : 0;
    kind->close(cap);
    return entry->rows != NULL ? VT_OK
                               : vt_error_set(err, VT_ERR_MEMORY,
                                              "out of memory for a list of "
                                              "caps");
}

static enum vt_status fill_kinds(const struct vt_cap_places *places, struct vt_error *err,
                                 struct vt_caps_report *report)
{
    size_t n = 0;
    const struct vt_cap_ops *const *table = vt_cap_table(&n);
    enum vt_status status = VT_OK;

    report->entries = vt_calloc(n, sizeof *report->entries);
    if (report->entries == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a list of caps");
    }
    for (size_t i = 0; status == VT_OK && i < n; i++) {
        status = fill_entry(table[i], places, err, &report->entries[report->n_entries++]);
    }
    return status;
}

/* --- records ------------------------------------------------------------------------------- */

static const char *state_text(enum vt_cap_leftover_state state)
{
    switch (state) {
    case VT_CAP_LEFTOVER_HELD:
        return "held";
    case VT_CAP_LEFTOVER_WAITS:
        return "left";
    case VT_CAP_LEFTOVER_RESTORED:
        return "restored";
    case VT_CAP_LEFTOVER_GONE:
        return "reset by a restart";
    case VT_CAP_LEFTOVER_FAILED:
        break;
    }
    return "failed";
}

static enum vt_status fill_records(const struct vt_cap_places *places, bool restore,
                                   struct vt_error *err, struct vt_caps_report *report)
{
    struct vt_cap_leftovers left = {0};

    enum vt_status status = vt_cap_leftovers(places, restore, err, &left);
    if (status != VT_OK) {
        return status;
    }
    report->records = vt_calloc(left.n + 1, sizeof *report->records);
    for (uint32_t i = 0; report->records != NULL && i < left.n; i++) {
        const struct vt_cap_leftover *item = &left.items[i];
        struct vt_caps_record *record = &report->records[report->n_records++];
        (void)snprintf(record->file, sizeof record->file, "%s", item->file);
        record->owner = item->owner;
        record->state = state_text(item->state);
        record->failed = item->state == VT_CAP_LEFTOVER_FAILED;
        (void)snprintf(
            record->text, sizeof record->text, "%.400s%s", item->text,
            item->state == VT_CAP_LEFTOVER_WAITS ? "; its process is dead: run `vatio caps restore`"
            : item->state == VT_CAP_LEFTOVER_HELD ? "; its process lives and puts it back itself"
                                                  : "");
    }
    vt_cap_leftovers_release(&left);
    report->replayed = restore;
    return report->records != NULL
               ? VT_OK
               : vt_error_set(err, VT_ERR_MEMORY, "out of memory for the records of caps");
}

static enum vt_status report_on(const struct vt_caps_job *job, bool restore, struct vt_error *err,
                                struct vt_caps_report *ret_report)
{
    const struct vt_cap_places places = vt_run_cap_places(&job->places, job->allow_reboot);
    struct vt_caps_report report = {0};
    enum vt_status status = restore ? VT_OK : fill_kinds(&places, err, &report);

    if (status == VT_OK) {
        status = fill_records(&places, restore, err, &report);
    }
    if (status != VT_OK) {
        vt_caps_report_release(&report);
        return status;
    }
    *ret_report = report;
    return VT_OK;
}

enum vt_status vt_caps_look(const struct vt_caps_job *job, struct vt_error *err,
                            struct vt_caps_report *ret_report)
{
    return report_on(job, false, err, ret_report);
}

enum vt_status vt_caps_restore(const struct vt_caps_job *job, struct vt_error *err,
                               struct vt_caps_report *ret_report)
{
    return report_on(job, true, err, ret_report);
}
