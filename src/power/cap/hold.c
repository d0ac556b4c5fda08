/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hold. The order is what makes the promise: what was there is written to the record file and
 * told to the guardian, both have it for sure, and only then is anything set.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "power/cap/cap.h"
#include "power/cap/guardian.h"
#include "power/cap/replay.h"

/* Hardware takes a limit up within milliseconds; GPUs answer with the new one a little later. */
#define SETTLE_NS (VT_NS_PER_S)
#define PAUSE_NS  (10 * VT_NS_PER_MS)

struct vt_cap_hold {
    struct vt_cap_desk desk;
    struct vt_cap_record record;
    struct vt_cap_guardian guardian;
    int lock;
    char *folder, *path;
    struct vt_cap_held *rows;
    uint32_t n, room;
    char note[512];
    bool released;
};

/* --- beginning ----------------------------------------------------------------------------- */

/* Puts back what was left, so that what is saved now is not a cap of a dead process. */
static enum vt_status clear_away(struct vt_cap_hold *hold, struct vt_error *err)
{
    struct vt_cap_leftovers left = {0};
    enum vt_status status =
        vt_cap_leftovers_locked(hold->desk.places, hold->folder, true, err, &left);

    for (uint32_t i = 0; status == VT_OK && i < left.n; i++) {
        const struct vt_cap_leftover *item = &left.items[i];
        const size_t at = strlen(hold->note);
        if (item->state == VT_CAP_LEFTOVER_HELD) {
            status = vt_error_set(err, VT_ERR_UNAVAILABLE,
                                  "process %" PRId64 " holds the caps of this machine: wait until "
                                  "it has ended",
                                  item->owner);
        } else if (item->state == VT_CAP_LEFTOVER_FAILED) {
            status = vt_error_set(err, VT_ERR_UNAVAILABLE,
                                  "an earlier process left caps that cannot be put back: %s; mend "
                                  "it and run `vatio caps restore`, or delete %s",
                                  item->text, item->file);
        } else if (item->state == VT_CAP_LEFTOVER_RESTORED) {
            (void)snprintf(hold->note + at, sizeof hold->note - at,
                           "%sput back what process %" PRId64 " left behind: %s",
                           at > 0 ? "; " : "", item->owner, item->text);
        }
    }
    vt_cap_leftovers_release(&left);
    return status;
}

enum vt_status vt_cap_hold_new(const struct vt_cap_places *places, struct vt_error *err,
                               struct vt_cap_hold **ret_hold)
{
    struct vt_cap_hold *hold = vt_calloc(1, sizeof *hold);

    if (hold == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a hold of caps");
    }
    hold->lock = hold->guardian.fd = -1;
    hold->desk.places = places;
    vt_cap_record_init(&hold->record, places);
    enum vt_status status = vt_cap_folder(places, true, err, &hold->folder);
    if (status == VT_OK) {
        status = vt_cap_lock(hold->folder, err, &hold->lock);
    }
    if (status == VT_OK) {
        hold->path = vt_asprintf("%s/caps-%" PRId64 "-%" PRIu64, hold->folder, hold->record.owner,
                                 hold->record.owner_start);
        status = hold->path != NULL ? clear_away(hold, err)
                                    : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
        vt_cap_desk_release(&hold->desk);
    }
    if (status == VT_OK) {
        status = vt_cap_guardian_start(places, hold->folder, hold->path, hold->lock, err,
                                       &hold->guardian);
    }
    if (status != VT_OK) {
        vt_cap_hold_free(hold);
        return status;
    }
    *ret_hold = hold;
    return VT_OK;
}

const char *vt_cap_hold_note(const struct vt_cap_hold *hold)
{
    return hold->note;
}

const struct vt_cap_held *vt_cap_hold_list(const struct vt_cap_hold *hold, uint32_t *ret_n)
{
    *ret_n = hold->n;
    return hold->rows;
}

/* --- setting ------------------------------------------------------------------------------- */

/* Of one kind: where a set goes. */
struct target {
    const struct vt_cap_ops *kind;
    void *cap;
    const struct vt_cap_domain *domains;
    uint32_t first, end; /* [first, end) */
};

static enum vt_status aim(struct vt_cap_hold *hold, const struct vt_cap_ops *kind,
                          const char *domain, struct vt_error *err, struct target *ret)
{
    struct target target = {.kind = kind};
    uint32_t n = 0;

    enum vt_status status = vt_cap_desk_open(&hold->desk, kind, err, &target.cap);
    if (status != VT_OK) {
        return status;
    }
    target.domains = kind->domains(target.cap, &n);
    target.end = n;
    if (domain == NULL || domain[0] == '\0') {
        *ret = target;
        return VT_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(target.domains[i].name, domain) == 0) {
            target.first = i;
            target.end = i + 1;
            *ret = target;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_USAGE, "%s has no domain %s: it has %.40s%s", kind->name,
                        vt_quote(domain).text, n > 0 ? target.domains[0].name : "none",
                        n > 1 ? " and others (`vatio caps` lists them)" : "");
}

/* All values lie within bounds before any is set. */
static enum vt_status check_bounds(const struct target *target, double value, struct vt_error *err)
{
    for (uint32_t i = target->first; i < target->end; i++) {
        struct vt_cap_value now;
        char least[32] = "-", most[32] = "-";
        enum vt_status status = target->kind->get(target->cap, i, err, &now);
        if (status != VT_OK) {
            return status;
        }
        if (isfinite(value) && value >= 0 && !(value < now.minimum) && !(value > now.maximum)) {
            continue;
        }
        if (!isnan(now.minimum)) {
            (void)snprintf(least, sizeof least, "%.10g", now.minimum);
        }
        if (!isnan(now.maximum)) {
            (void)snprintf(most, sizeof most, "%.10g", now.maximum);
        }
        return vt_error_set(err, VT_ERR_USAGE, "%s %s: %.10g %s is outside %s..%s %s",
                            target->kind->name, target->domains[i].name, value, target->kind->unit,
                            least, most, target->kind->unit);
    }
    return VT_OK;
}

/* What the domains have goes on record unless it is there: not what a set before has made. */
static enum vt_status put_on_record(struct vt_cap_hold *hold, const struct target *target,
                                    struct vt_error *err)
{
    const uint32_t before = hold->record.n;
    enum vt_status status = VT_OK;

    for (uint32_t i = target->first; status == VT_OK && i < target->end; i++) {
        struct vt_cap_record_item item = {.kind = ""};
        const struct vt_cap_domain *domain = &target->domains[i];
        if (vt_cap_record_find(&hold->record, target->kind->name, domain->name) != NULL) {
            continue;
        }
        (void)snprintf(item.kind, sizeof item.kind, "%s", target->kind->name);
        (void)snprintf(item.domain, sizeof item.domain, "%s", domain->name);
        (void)snprintf(item.id, sizeof item.id, "%s", domain->id);
        status = target->kind->save(target->cap, i, err, &item.raw);
        if (status == VT_OK && !vt_cap_record_add(&hold->record, &item)) {
            status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for a record of caps");
        }
    }
    if (status == VT_OK && hold->record.n > before) {
        char *text = vt_cap_record_text(&hold->record);
        status = text != NULL ? vt_cap_record_save(text, hold->path, err)
                              : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
        if (status == VT_OK) {
            status = vt_cap_guardian_tell(&hold->guardian, text, err);
        }
        vt_free(text);
    }
    if (status != VT_OK) {
        hold->record.n = before; /* nothing of it is set */
    }
    return status;
}

static struct vt_cap_held *row_of(struct vt_cap_hold *hold, const struct vt_cap_ops *kind,
                                  const struct vt_cap_domain *domain)
{
    for (uint32_t i = 0; i < hold->n; i++) {
        if (hold->rows[i].kind == kind && strcmp(hold->rows[i].domain, domain->name) == 0) {
            return &hold->rows[i];
        }
    }
    if (hold->n == hold->room) {
        const uint32_t room = hold->room > 0 ? 2 * hold->room : 8;
        void *grown =
            vt_regrow(hold->rows, hold->room * sizeof *hold->rows, room * sizeof *hold->rows);
        if (grown == NULL) {
            return NULL;
        }
        hold->rows = grown;
        hold->room = room;
    }
    struct vt_cap_held *row = &hold->rows[hold->n++];
    *row = (struct vt_cap_held){
        .kind = kind, .asked = (double)NAN, .enforced = (double)NAN, .previous = (double)NAN};
    (void)snprintf(row->domain, sizeof row->domain, "%s", domain->name);
    (void)snprintf(row->device, sizeof row->device, "%s", domain->device);
    return row;
}

static bool sticks(const struct vt_cap_ops *kind, double asked, double enforced)
{
    return fabs(enforced - asked) <= kind->tolerance * asked;
}

/* Until the hardware keeps to it, a moment at most. */
static enum vt_status verify(const struct target *target, uint32_t i, double value,
                             struct vt_error *err, double *ret_enforced)
{
    const int64_t deadline = vt_now_ns() + SETTLE_NS;
    double enforced = (double)NAN;

    for (;;) {
        enum vt_status status = target->kind->enforced(target->cap, i, err, &enforced);
        if (status != VT_OK) {
            return status;
        }
        if (sticks(target->kind, value, enforced) || vt_now_ns() >= deadline) {
            break;
        }
        vt_sleep_until_ns(vt_now_ns() + PAUSE_NS, 0);
    }
    *ret_enforced = enforced;
    return VT_OK;
}

static enum vt_status set_one(struct vt_cap_hold *hold, const struct target *target, uint32_t i,
                              double value, struct vt_error *err, double *ret_enforced)
{
    const struct vt_cap_ops *kind = target->kind;
    const struct vt_cap_domain *domain = &target->domains[i];
    struct vt_cap_value before;
    double enforced = (double)NAN;

    enum vt_status status = kind->get(target->cap, i, err, &before);
    if (status != VT_OK) {
        return status;
    }
    vt_cap_guardian_share(&hold->guardian, true);
    status = kind->set(target->cap, i, value, err);
    vt_cap_guardian_share(&hold->guardian, false);
    if (status == VT_OK) {
        status = verify(target, i, value, err, &enforced);
    }
    if (status != VT_OK) {
        return status;
    }
    struct vt_cap_held *row = row_of(hold, kind, domain);
    if (row == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a hold of caps");
    }
    row->previous = isnan(row->asked) ? before.value : row->previous;
    row->asked = value;
    row->enforced = enforced;
    row->note[0] = '\0';
    *ret_enforced = enforced;
    return sticks(kind, value, enforced)
               ? VT_OK
               : vt_error_set(err, VT_ERR_ENGINE,
                              "%s %s: %.10g %s were asked for and %.10g %s are enforced: the limit "
                              "does not stick (firmware, a second limit or another program holds "
                              "it)",
                              kind->name, domain->name, value, kind->unit, enforced, kind->unit);
}

/* The kind that stands in where a domain has no such limit. */
static enum vt_status set_instead(struct vt_cap_hold *hold, const struct target *target, uint32_t i,
                                  double value, const struct vt_error *why, struct vt_error *err)
{
    const struct vt_cap_ops *kind = target->kind, *other = kind->fallback;
    const struct vt_cap_domain *domain = &target->domains[i];
    const double stand_in =
        other != NULL ? kind->fallback_value(target->cap, i, value) : (double)NAN;
    struct target instead;
    double enforced;

    if (other == NULL || isnan(stand_in)) {
        return vt_error_set(err, why->status, "%s", why->text);
    }
    enum vt_status status = aim(hold, other, domain->name, err, &instead);
    if (status == VT_OK) {
        status = put_on_record(hold, &instead, err);
    }
    if (status == VT_OK) {
        status = set_one(hold, &instead, instead.first, stand_in, err, &enforced);
    }
    if (status != VT_OK) {
        vt_error_prefix(err, "%.150s; %s in its place", why->text, other->name);
        return status;
    }
    struct vt_cap_held *row = row_of(hold, other, &instead.domains[instead.first]);
    if (row != NULL) {
        (void)snprintf(row->note, sizeof row->note,
                       "in place of %.6g %s, which are refused (%.100s): this bounds clocks, not "
                       "%s",
                       value, kind->unit, why->text, kind->unit);
    }
    return VT_OK;
}

static enum vt_status set_kind(struct vt_cap_hold *hold, const struct vt_cap_ops *kind,
                               const char *domain, double value, struct vt_error *err,
                               double *ret_enforced)
{
    struct target target = {.kind = kind};
    double least = (double)NAN;

    if (hold->released) {
        return vt_error_set(err, VT_ERR_USAGE, "this hold of caps is released");
    }
    enum vt_status status = aim(hold, kind, domain, err, &target);
    if (status == VT_OK) {
        status = check_bounds(&target, value, err);
    }
    if (status == VT_OK) {
        status = put_on_record(hold, &target, err);
    }
    for (uint32_t i = target.first; status == VT_OK && i < target.end; i++) {
        struct vt_error own = VT_ERROR_INIT;
        double enforced = (double)NAN;
        status = set_one(hold, &target, i, value, &own, &enforced);
        if (status == VT_ERR_UNSUPPORTED) {
            status = set_instead(hold, &target, i, value, &own, err);
        } else if (status != VT_OK) {
            status = vt_error_set(err, status, "%s", own.text);
        }
        least = fmin(least, enforced);
    }
    if (status == VT_OK && ret_enforced != NULL) {
        *ret_enforced = least;
    }
    return status;
}

enum vt_status vt_cap_hold_set(struct vt_cap_hold *hold, const char *kind, const char *domain,
                               double value, struct vt_error *err, double *ret_enforced)
{
    const struct vt_cap_ops *ops = NULL;
    enum vt_status status = vt_cap_find(kind, err, &ops);

    return status == VT_OK ? set_kind(hold, ops, domain, value, err, ret_enforced) : status;
}

/* What limits watts here. */
static enum vt_status choose(struct vt_cap_hold *hold, struct vt_error *err,
                             const struct vt_cap_ops **ret)
{
    static const char *const names[] = {"nvml", "rapl"};
    struct vt_error why[2] = {VT_ERROR_INIT, VT_ERROR_INIT};

    for (size_t i = 0; i < 2; i++) {
        const struct vt_cap_ops *kind = NULL;
        void *cap = NULL;
        if (vt_cap_find(names[i], &why[i], &kind) == VT_OK &&
            vt_cap_desk_open(&hold->desk, kind, &why[i], &cap) == VT_OK) {
            *ret = kind;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_UNAVAILABLE, "nothing here limits watts: %.200s; %.200s",
                        why[0].text, why[1].text);
}

enum vt_status vt_cap_hold_ask(struct vt_cap_hold *hold, const char *wish, struct vt_error *err,
                               double *ret_enforced)
{
    struct vt_cap_wish parsed;
    void *cap = NULL;

    enum vt_status status = vt_cap_wish_parse(wish, err, &parsed);
    if (status == VT_OK && parsed.kind == NULL) {
        status = choose(hold, err, &parsed.kind);
    }
    /* A name before a number: a mode may be called 15W. */
    if (status == VT_OK && parsed.kind->named != NULL) {
        status = vt_cap_desk_open(&hold->desk, parsed.kind, err, &cap);
        if (status == VT_OK && !parsed.kind->named(cap, parsed.text, &parsed.value) &&
            isnan(parsed.value)) {
            status = vt_error_set(err, VT_ERR_USAGE, "%s has no %s %s: `vatio caps` lists them",
                                  parsed.kind->name, parsed.kind->unit, vt_quote(parsed.text).text);
        }
    }
    return status == VT_OK
               ? set_kind(hold, parsed.kind, parsed.domain, parsed.value, err, ret_enforced)
               : status;
}

/* --- ending -------------------------------------------------------------------------------- */

enum vt_status vt_cap_hold_release(struct vt_cap_hold *hold, struct vt_error *err)
{
    enum vt_status status = VT_OK;
    bool *restored;

    if (hold->released) {
        return VT_OK;
    }
    hold->released = true;
    restored = vt_calloc(hold->record.n + 1, sizeof *restored);
    status = vt_cap_replay(&hold->desk, &hold->record, err, restored);
    for (uint32_t i = 0; restored != NULL && i < hold->n; i++) {
        const struct vt_cap_record_item *item =
            vt_cap_record_find(&hold->record, hold->rows[i].kind->name, hold->rows[i].domain);
        hold->rows[i].restored = item != NULL && restored[item - hold->record.items];
    }
    vt_free(restored);
    if (status == VT_OK && hold->path != NULL && hold->lock >= 0) {
        vt_cap_record_drop(hold->path);
    } else if (status != VT_OK) {
        vt_error_prefix(err, "caps are not all put back (`vatio caps restore` tries again)");
    }
    vt_cap_guardian_dismiss(&hold->guardian);
    if (hold->lock >= 0) {
        vt_cap_lock_drop(hold->folder);
        (void)close(hold->lock);
        hold->lock = -1;
    }
    return status;
}

void vt_cap_hold_free(struct vt_cap_hold *hold)
{
    if (hold == NULL) {
        return;
    }
    (void)!vt_cap_hold_release(hold, NULL);
    vt_cap_desk_release(&hold->desk);
    vt_cap_record_release(&hold->record);
    vt_free(hold->rows);
    vt_free(hold->folder);
    vt_free(hold->path);
    vt_free(hold);
}
