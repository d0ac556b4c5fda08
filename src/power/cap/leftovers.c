/* SPDX-License-Identifier: Apache-2.0 */
/* Records whose process died together with its guardian. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "power/cap/replay.h"
#include "power/sysfs.h"

/* "rapl package-0, rapl package-1 and 3 more" */
static void name_caps(const struct vt_cap_record *record, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < record->n; i++) {
        if (i == 4) {
            (void)snprintf(text + at, size - at, " and %" PRIu32 " more", record->n - i);
            break;
        }
        const int n = snprintf(text + at, size - at, "%s%s %s", i > 0 ? ", " : "",
                               record->items[i].kind, record->items[i].domain);
        at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
    }
}

/* After a restart of the machine only some kinds still have what was set. */
static void keep_surviving(struct vt_cap_record *record)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < record->n; i++) {
        const struct vt_cap_ops *kind = NULL;
        const bool known = vt_cap_find(record->items[i].kind, NULL, &kind) == VT_OK;
        if (!known || kind->survives_restart) {
            record->items[kept++] = record->items[i];
        }
    }
    record->n = kept;
}

static bool is_ours(const struct vt_cap_record *record)
{
    return record->owner == getpid() && record->owner_start == vt_process_start(getpid());
}

static void replay(const struct vt_cap_places *places, const struct vt_cap_record *record,
                   struct vt_cap_leftover *item)
{
    struct vt_cap_desk desk = {.places = places};
    struct vt_error err = VT_ERROR_INIT;

    if (vt_cap_replay(&desk, record, &err, NULL) == VT_OK) {
        item->state = VT_CAP_LEFTOVER_RESTORED;
        vt_cap_record_drop(item->file);
    } else {
        item->state = VT_CAP_LEFTOVER_FAILED;
        (void)snprintf(item->text, sizeof item->text, "%s", err.text);
    }
    vt_cap_desk_release(&desk);
}

/* False when it is none of these places'. */
static bool look_at(const struct vt_cap_places *places, bool locked, bool restore,
                    struct vt_cap_leftover *item)
{
    struct vt_cap_record record = {.n = 0};
    struct vt_error err = VT_ERROR_INIT;

    enum vt_status status = vt_cap_record_load(item->file, &err, &record);
    if (status == VT_ERR_NOT_FOUND) {
        return false; /* its hold has just ended */
    }
    if (status != VT_OK) {
        item->state = VT_CAP_LEFTOVER_FAILED;
        (void)snprintf(item->text, sizeof item->text, "%s", err.text);
        return true;
    }
    if (!vt_cap_record_fits(&record, places)) {
        vt_cap_record_release(&record);
        return false;
    }
    item->owner = record.owner;
    item->n_caps = record.n;
    name_caps(&record, item->text, sizeof item->text);
    if (!vt_cap_record_of_this_boot(&record)) {
        keep_surviving(&record);
    }
    if (vt_cap_record_owned(&record) && !(locked && is_ours(&record))) {
        item->state = VT_CAP_LEFTOVER_HELD;
    } else if (record.n == 0) {
        item->state = VT_CAP_LEFTOVER_GONE;
        if (restore) {
            vt_cap_record_drop(item->file);
        }
    } else if (restore) {
        replay(places, &record, item);
    } else {
        item->state = VT_CAP_LEFTOVER_WAITS;
    }
    vt_cap_record_release(&record);
    return true;
}

static bool is_part(const char *name)
{
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".part") == 0;
}

static enum vt_status scan(const struct vt_cap_places *places, const char *folder, bool locked,
                           bool restore, struct vt_error *err, struct vt_cap_leftovers *ret)
{
    struct vt_sysfs_names list = {0};

    if (!vt_sysfs_list(folder, "caps-", &list)) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the records of caps");
    }
    struct vt_cap_leftovers left = {.items = vt_calloc(list.n + 1, sizeof *left.items)};
    if (left.items == NULL) {
        vt_sysfs_names_release(&list);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the records of caps");
    }
    for (size_t i = 0; i < list.n; i++) {
        struct vt_cap_leftover *item = &left.items[left.n];
        *item = (struct vt_cap_leftover){.owner = 0};
        if (snprintf(item->file, sizeof item->file, "%s/%s", folder, list.names[i]) >=
            (int)sizeof item->file) {
            continue;
        }
        if (is_part(list.names[i])) {
            /* Died while it was written: nothing was set by then. */
            (void)(locked && restore ? unlink(item->file) : 0);
        } else if (look_at(places, locked, restore, item)) {
            left.n++;
        }
    }
    vt_sysfs_names_release(&list);
    *ret = left;
    return VT_OK;
}

enum vt_status vt_cap_leftovers_locked(const struct vt_cap_places *places, const char *folder,
                                       bool restore, struct vt_error *err,
                                       struct vt_cap_leftovers *ret)
{
    return scan(places, folder, true, restore, err, ret);
}

enum vt_status vt_cap_leftovers(const struct vt_cap_places *places, bool restore,
                                struct vt_error *err, struct vt_cap_leftovers *ret)
{
    struct vt_error busy = VT_ERROR_INIT;
    char *folder = NULL;
    int lock = -1;

    enum vt_status status = vt_cap_folder(places, restore, err, &folder);
    /* Who holds the lock is seen in his record; there is nothing else to put back then. */
    if (status == VT_OK && restore && vt_cap_lock(folder, &busy, &lock) != VT_OK &&
        busy.status != VT_ERR_UNAVAILABLE) {
        status = vt_error_set(err, busy.status, "%s", busy.text);
    }
    if (status == VT_OK) {
        status = scan(places, folder, lock >= 0, restore && lock >= 0, err, ret);
    }
    if (lock >= 0) {
        vt_cap_lock_drop(folder);
        (void)close(lock);
    }
    vt_free(folder);
    return status;
}

void vt_cap_leftovers_release(struct vt_cap_leftovers *leftovers)
{
    vt_free(leftovers->items);
    *leftovers = (struct vt_cap_leftovers){0};
}
