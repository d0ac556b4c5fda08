/* SPDX-License-Identifier: Apache-2.0 */
#include "power/cap/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "power/sysfs.h"

#define ATTEMPTS      3
#define ATTEMPT_NS    (200 * VT_NS_PER_MS)
#define LOCK_WAIT_NS  (10 * VT_NS_PER_S)
#define LOCK_PAUSE_NS (20 * VT_NS_PER_MS)

/* --- opened kinds -------------------------------------------------------------------------- */

enum vt_status vt_cap_desk_open(struct vt_cap_desk *desk, const struct vt_cap_ops *kind,
                                struct vt_error *err, void **ret_cap)
{
    size_t n = 0, i = 0;
    const struct vt_cap_ops *const *table = vt_cap_table(&n);

    while (i < n && table[i] != kind) {
        i++;
    }
    if (i >= n || i >= VT_CAP_KINDS_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "%s: no kind of caps", kind->name);
    }
    if (desk->caps[i] == NULL) {
        enum vt_status status = kind->open(kind, desk->places, err, &desk->caps[i]);
        if (status != VT_OK) {
            desk->caps[i] = NULL;
            vt_error_prefix(err, "%s", kind->name);
            return status;
        }
    }
    *ret_cap = desk->caps[i];
    return VT_OK;
}

void vt_cap_desk_release(struct vt_cap_desk *desk)
{
    size_t n = 0;
    const struct vt_cap_ops *const *table = vt_cap_table(&n);

    for (size_t i = 0; i < n && i < VT_CAP_KINDS_MAX; i++) {
        if (desk->caps[i] != NULL) {
            table[i]->close(desk->caps[i]);
            desk->caps[i] = NULL;
        }
    }
}

/* --- the replay ---------------------------------------------------------------------------- */

/* By what stays: the identity, not the name. */
static enum vt_status find_domain(const struct vt_cap_ops *kind, const void *cap,
                                  const struct vt_cap_record_item *item, struct vt_error *err,
                                  uint32_t *ret)
{
    uint32_t n = 0;
    const struct vt_cap_domain *domains = kind->domains(cap, &n);

    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(domains[i].id, item->id) == 0) {
            *ret = i;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_NOT_FOUND, "%s: %s (%s) is not here any more", kind->name,
                        item->domain, item->id);
}

static enum vt_status put_back(struct vt_cap_desk *desk, const struct vt_cap_record_item *item,
                               struct vt_error *err)
{
    const struct vt_cap_ops *kind = NULL;
    void *cap = NULL;
    uint32_t domain = 0;

    enum vt_status status = vt_cap_find(item->kind, err, &kind);
    if (status == VT_OK) {
        status = vt_cap_desk_open(desk, kind, err, &cap);
    }
    if (status == VT_OK) {
        status = find_domain(kind, cap, item, err, &domain);
    }
    if (status == VT_OK) {
        status = kind->restore(cap, domain, &item->raw, err);
        vt_error_prefix(err, "%s %s", kind->name, item->domain);
    }
    return status;
}

enum vt_status vt_cap_replay(struct vt_cap_desk *desk, const struct vt_cap_record *record,
                             struct vt_error *err, bool *ret_restored)
{
    enum vt_status worst = VT_OK;

    for (uint32_t left = record->n; left > 0; left--) {
        const uint32_t i = left - 1;
        struct vt_error own = VT_ERROR_INIT;
        enum vt_status status = put_back(desk, &record->items[i], &own);
        for (int attempt = 1; attempt < ATTEMPTS && status != VT_OK && status != VT_ERR_FORMAT &&
                              status != VT_ERR_NOT_FOUND && status != VT_ERR_USAGE;
             attempt++) {
            vt_sleep_until_ns(vt_now_ns() + ATTEMPT_NS, 0);
            own = (struct vt_error)VT_ERROR_INIT;
            status = put_back(desk, &record->items[i], &own);
        }
        if (ret_restored != NULL) {
            ret_restored[i] = status == VT_OK;
        }
        if (status != VT_OK && worst == VT_OK) {
            worst = vt_error_set(err, status, "%s", own.text);
        }
    }
    return worst;
}

/* --- the folder and its lock --------------------------------------------------------------- */

static char *folder_name(const struct vt_cap_places *places)
{
    const char *named = getenv("VATIO_CAP_RECORDS"), *runtime = getenv("XDG_RUNTIME_DIR");

    if (places != NULL && places->records != NULL) {
        return vt_strdup(places->records);
    }
    if (named != NULL && named[0] == '/') {
        return vt_strdup(named);
    }
    /* sudo and a login of root's have different XDG_RUNTIME_DIR; root's records are in one place.
     */
    if (geteuid() == 0 && access("/run", W_OK) == 0) {
        return vt_strdup("/run/vatio");
    }
    if (geteuid() != 0 && runtime != NULL && runtime[0] == '/') {
        return vt_asprintf("%s/vatio", runtime);
    }
    return vt_asprintf("/tmp/vatio-%u", (unsigned)geteuid());
}

enum vt_status vt_cap_folder(const struct vt_cap_places *places, bool make, struct vt_error *err,
                             char **ret_folder)
{
    struct stat info;
    char *folder = folder_name(places);
    enum vt_status status = VT_OK;

    if (folder == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (!make && access(folder, F_OK) != 0) {
        *ret_folder = folder; /* so there are no records in it */
        return VT_OK;
    }
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        status = vt_error_set(err, VT_ERR_WRITE,
                              "%s: the folder for records of caps cannot be made: %s "
                              "(VATIO_CAP_RECORDS names another)",
                              folder, strerror(errno));
    } else if (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
               (info.st_mode & 022) != 0) {
        status = vt_error_set(err, VT_ERR_READ,
                              "%s: not a folder that only this user can write in: records of caps "
                              "there are not trusted (VATIO_CAP_RECORDS names another)",
                              folder);
    }
    if (status != VT_OK) {
        vt_free(folder);
        return status;
    }
    *ret_folder = folder;
    return VT_OK;
}

static bool lock_path(const char *folder, char path[VT_SYSFS_PATH_MAX])
{
    return vt_sysfs_path(path, "%s/lock", folder);
}

/* Who has it: writes and reads "PID START". */
static void sign_lock(int fd)
{
    char text[64];
    const int n =
        snprintf(text, sizeof text, "%d %" PRIu64 "\n", (int)getpid(), vt_process_start(getpid()));

    if (ftruncate(fd, 0) == 0) {
        (void)!pwrite(fd, text, (size_t)n, 0);
    }
}

static int64_t living_owner(int fd)
{
    char text[64];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    char *rest = text;

    text[n > 0 ? n : 0] = '\0';
    const int64_t pid = strtoll(text, &rest, 10);
    const uint64_t start = strtoull(rest, NULL, 10);
    return start != 0 && vt_process_start(pid) == start ? pid : 0;
}

static bool is_named(int fd, const char *path)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

enum vt_status vt_cap_lock(const char *folder, struct vt_error *err, int *ret_fd)
{
    const int64_t deadline = vt_now_ns() + LOCK_WAIT_NS;
    char path[VT_SYSFS_PATH_MAX];

    if (!lock_path(folder, path)) {
        return vt_error_set(err, VT_ERR_USAGE, "%s: the name of the folder is too long", folder);
    }
    for (;;) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
            return vt_error_set(err, VT_ERR_WRITE, "%s: %s", path, strerror(errno));
        }
        const bool got = flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (got && is_named(fd, path)) {
            sign_lock(fd);
            *ret_fd = fd;
            return VT_OK;
        }
        const int64_t owner = got ? 0 : living_owner(fd);
        (void)close(fd);
        if (owner != 0) {
            return vt_error_set(err, VT_ERR_UNAVAILABLE,
                                "process %" PRId64 " holds the caps of this machine: wait until "
                                "it has ended",
                                owner);
        }
        if (vt_now_ns() > deadline) {
            return vt_error_set(err, VT_ERR_UNAVAILABLE,
                                "the guardian of a process that has ended is still putting caps "
                                "back (%s is locked): try again later",
                                path);
        }
        vt_sleep_until_ns(vt_now_ns() + LOCK_PAUSE_NS, 0);
    }
}

void vt_cap_lock_drop(const char *folder)
{
    char path[VT_SYSFS_PATH_MAX];

    if (lock_path(folder, path)) {
        (void)unlink(path);
    }
}
