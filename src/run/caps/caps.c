/* SPDX-License-Identifier: Apache-2.0 */
#include "run/caps/caps.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct vt_cap_places vt_run_cap_places(const struct vt_meter_places *places, bool allow_reboot)
{
    return (struct vt_cap_places){
        .sysfs = places->sysfs, .nvml_library = places->nvml, .allow_reboot = allow_reboot};
}

/* Once for many domains alike. */
static void tell_notes(const struct vt_cap_hold *hold, void (*warn)(void *ctx, const char *text),
                       void *ctx)
{
    uint32_t n = 0;
    const struct vt_cap_held *rows = vt_cap_hold_list(hold, &n);

    for (uint32_t i = 0; i < n; i++) {
        char text[400];
        if (rows[i].note[0] == '\0' || (i > 0 && strcmp(rows[i].note, rows[i - 1].note) == 0)) {
            continue;
        }
        (void)snprintf(text, sizeof text, "%s %s: %.6g %s %s", rows[i].kind->name, rows[i].domain,
                       rows[i].enforced, rows[i].kind->unit, rows[i].note);
        warn(ctx, text);
    }
}

enum vt_status vt_run_caps_begin(struct vt_run_caps *caps, const struct vt_job *job,
                                 void (*warn)(void *ctx, const char *text), void *ctx,
                                 struct vt_error *err)
{
    *caps = (struct vt_run_caps){.places = vt_run_cap_places(&job->places, job->allow_reboot)};
    if (job->caps.count == 0) {
        return VT_OK;
    }
    enum vt_status status = vt_cap_hold_new(&caps->places, err, &caps->hold);
    if (status == VT_OK && warn != NULL && vt_cap_hold_note(caps->hold)[0] != '\0') {
        warn(ctx, vt_cap_hold_note(caps->hold));
    }
    for (size_t i = 0; status == VT_OK && i < job->caps.count; i++) {
        status = vt_cap_hold_ask(caps->hold, job->caps.items[i], err, NULL);
        if (status != VT_OK) {
            vt_error_prefix(err, "--cap %.60s", job->caps.items[i]);
        }
    }
    if (status == VT_OK && warn != NULL) {
        tell_notes(caps->hold, warn, ctx);
    }
    return status;
}

static void fill(const struct vt_cap_hold *hold, struct vt_result *result)
{
    uint32_t n = 0;
    const struct vt_cap_held *rows = vt_cap_hold_list(hold, &n);
    struct vt_result_cap *list = n > 0 ? vt_calloc(n, sizeof *list) : NULL;

    for (uint32_t i = 0; list != NULL && i < n; i++) {
        struct vt_result_cap *cap = &list[i];
        cap->kind = rows[i].kind->name;
        cap->unit = rows[i].kind->unit;
        (void)snprintf(cap->domain, sizeof cap->domain, "%s", rows[i].domain);
        (void)snprintf(cap->device, sizeof cap->device, "%s", rows[i].device);
        cap->asked = rows[i].asked;
        cap->enforced = rows[i].enforced;
        cap->previous = rows[i].previous;
        cap->restored = rows[i].restored;
        (void)snprintf(cap->note, sizeof cap->note, "%s", rows[i].note);
    }
    vt_free(result->caps);
    result->caps = list;
    result->n_caps = list != NULL ? n : 0;
}

enum vt_status vt_run_caps_end(struct vt_run_caps *caps, struct vt_result *result,
                               struct vt_error *err)
{
    if (caps->hold == NULL) {
        return VT_OK;
    }
    enum vt_status status = vt_cap_hold_release(caps->hold, err);
    if (result != NULL) {
        fill(caps->hold, result);
    }
    vt_cap_hold_free(caps->hold);
    caps->hold = NULL;
    return status;
}
