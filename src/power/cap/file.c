/* SPDX-License-Identifier: Apache-2.0 */
#include "power/cap/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* No limit of power or clocks has more microwatts or kilohertz; doubles hold it exactly. */
#define NUMBER_MAX INT64_C(1000000000000000)

const char *vt_cap_sysfs(const struct vt_cap_places *places)
{
    return places != NULL && places->sysfs != NULL ? places->sysfs : "/sys";
}

/* --- files --------------------------------------------------------------------------------- */

int vt_cap_file_read(const char *path, int64_t *ret)
{
    char text[VT_SYSFS_TEXT_MAX], *end = text;
    const int code = vt_sysfs_text(path, text);

    if (code != 0) {
        return code;
    }
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || (*end != '\0' && *end != ' ') || errno != 0 || number < 0 ||
        number > NUMBER_MAX) {
        return EINVAL;
    }
    *ret = number;
    return 0;
}

static int put(const char *path, int64_t number)
{
    char text[32];
    const int length = snprintf(text, sizeof text, "%lld\n", (long long)number);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0) {
        return errno;
    }
    const ssize_t n = write(fd, text, (size_t)length);
    int code = n == length ? 0 : n < 0 ? errno : EIO;
    /* The kernel's files know no end. Where others stand in for them it is cut afterwards only, so
     * that a number stands there at any moment. */
    (void)!ftruncate(fd, length);
    if (close(fd) != 0 && code == 0) {
        code = errno;
    }
    return code;
}

double vt_cap_file_value(const char *path, double scale)
{
    int64_t number;

    return vt_cap_file_read(path, &number) == 0 ? (double)number * scale : (double)NAN;
}

static enum vt_status not_readable(const char *path, int code, struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_READ, "%s: %s", path,
                        code == EINVAL ? "holds no number" : strerror(code));
}

static enum vt_status not_written(const struct vt_cap_files *files, const char *path, int code,
                                  struct vt_error *err)
{
    const char *remedy = NULL;

    if (code == EROFS) {
        remedy = "in a container, start it with --privileged";
    } else if (code == EACCES || code == EPERM) {
        remedy = geteuid() == 0 ? "the firmware or the container forbids it" : files->remedy;
    }
    return vt_error_set(err, VT_ERR_WRITE, "%s: cannot be set: %s%s%s", path, strerror(code),
                        remedy != NULL ? "; " : "", remedy != NULL ? remedy : "");
}

/* --- the list ------------------------------------------------------------------------------ */

struct vt_cap_files *vt_cap_files_new(const char *remedy)
{
    struct vt_cap_files *files = vt_calloc(1, sizeof *files);

    if (files != NULL) {
        files->remedy = remedy;
    }
    return files;
}

static bool grow(struct vt_cap_files *files)
{
    const uint32_t room = files->room > 0 ? 2 * files->room : 8;
    void *domains = vt_regrow(files->domains, files->room * sizeof *files->domains,
                              room * sizeof *files->domains);

    if (domains == NULL) {
        return false;
    }
    files->domains = domains;
    void *list =
        vt_regrow(files->files, files->room * sizeof *files->files, room * sizeof *files->files);
    if (list == NULL) {
        return false;
    }
    files->files = list;
    files->room = room;
    return true;
}

bool vt_cap_files_add(struct vt_cap_files *files, const struct vt_cap_domain *domain,
                      const struct vt_cap_file *file)
{
    for (uint32_t i = 0; i < files->n; i++) {
        if (strcmp(files->domains[i].name, domain->name) == 0) {
            return true;
        }
    }
    if (files->n == VT_CAP_DOMAINS_MAX) {
        return true;
    }
    if (files->n == files->room && !grow(files)) {
        return false;
    }
    files->domains[files->n] = *domain;
    files->files[files->n++] = *file;
    return true;
}

/* --- the seam ------------------------------------------------------------------------------ */

const struct vt_cap_domain *vt_cap_files_domains(const void *cap, uint32_t *ret_n)
{
    const struct vt_cap_files *files = cap;

    *ret_n = files->n;
    return files->domains;
}

enum vt_status vt_cap_files_enforced(void *cap, uint32_t domain, struct vt_error *err,
                                     double *ret_value)
{
    const struct vt_cap_files *files = cap;
    const struct vt_cap_file *file = &files->files[domain];
    int64_t number, on = 1;

    int code = vt_cap_file_read(file->path, &number);
    if (code != 0) {
        return not_readable(file->path, code, err);
    }
    if (file->enabled[0] != '\0') {
        code = vt_cap_file_read(file->enabled, &on);
        if (code != 0) {
            return not_readable(file->enabled, code, err);
        }
    }
    /* A limit that is switched off limits nothing. */
    *ret_value = on != 0 ? (double)number * file->scale : (double)INFINITY;
    return VT_OK;
}

enum vt_status vt_cap_files_get(void *cap, uint32_t domain, struct vt_error *err,
                                struct vt_cap_value *ret_value)
{
    const struct vt_cap_files *files = cap;
    const struct vt_cap_file *file = &files->files[domain];
    int64_t number;

    const int code = vt_cap_file_read(file->path, &number);
    if (code != 0) {
        return not_readable(file->path, code, err);
    }
    *ret_value = (struct vt_cap_value){(double)number * file->scale, file->minimum, file->maximum,
                                       file->standard};
    return VT_OK;
}

enum vt_status vt_cap_files_may_set(void *cap, struct vt_error *err)
{
    const struct vt_cap_files *files = cap;

    if (files->n == 0 || access(files->files[0].path, W_OK) == 0) {
        return VT_OK;
    }
    return not_written(files, files->files[0].path, errno, err);
}

enum vt_status vt_cap_files_save(void *cap, uint32_t domain, struct vt_error *err,
                                 struct vt_cap_raw *ret_raw)
{
    const struct vt_cap_files *files = cap;
    const struct vt_cap_file *file = &files->files[domain];
    struct vt_cap_raw raw = {{0, -1}};

    int code = vt_cap_file_read(file->path, &raw.number[0]);
    if (code != 0) {
        return not_readable(file->path, code, err);
    }
    if (file->enabled[0] != '\0') {
        code = vt_cap_file_read(file->enabled, &raw.number[1]);
        if (code != 0) {
            return not_readable(file->enabled, code, err);
        }
    }
    *ret_raw = raw;
    return VT_OK;
}

/* Writes both; the limit first, so that none but the wanted one ever counts. */
static enum vt_status put_both(const struct vt_cap_files *files, uint32_t domain,
                               const struct vt_cap_raw *raw, struct vt_error *err)
{
    const struct vt_cap_file *file = &files->files[domain];
    int64_t on;
    int code = put(file->path, raw->number[0]);

    if (code != 0) {
        return not_written(files, file->path, code, err);
    }
    if (file->enabled[0] == '\0' || raw->number[1] < 0 ||
        (vt_cap_file_read(file->enabled, &on) == 0 && on == raw->number[1])) {
        return VT_OK;
    }
    code = put(file->enabled, raw->number[1]);
    return code == 0 ? VT_OK : not_written(files, file->enabled, code, err);
}

enum vt_status vt_cap_files_set(void *cap, uint32_t domain, double value, struct vt_error *err)
{
    const struct vt_cap_files *files = cap;
    const struct vt_cap_file *file = &files->files[domain];
    const struct vt_cap_raw raw = {{llround(value / file->scale), 1}};

    return put_both(files, domain, &raw, err);
}

enum vt_status vt_cap_files_restore(void *cap, uint32_t domain, const struct vt_cap_raw *raw,
                                    struct vt_error *err)
{
    const struct vt_cap_files *files = cap;
    struct vt_cap_raw now;

    if (raw->number[0] < 0 || raw->number[0] > NUMBER_MAX || raw->number[1] < -1 ||
        raw->number[1] > 1) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: %lld with switch %lld was never there",
                            files->domains[domain].name, (long long)raw->number[0],
                            (long long)raw->number[1]);
    }
    /* Nothing is written where nothing differs: rights may be missing, and then need not be. */
    if (vt_cap_files_save(cap, domain, NULL, &now) == VT_OK && memcmp(&now, raw, sizeof now) == 0) {
        return VT_OK;
    }
    enum vt_status status = put_both(files, domain, raw, err);
    if (status == VT_OK) {
        status = vt_cap_files_save(cap, domain, err, &now);
    }
    if (status == VT_OK && memcmp(&now, raw, sizeof now) != 0) {
        const struct vt_cap_file *file = &files->files[domain];
        const int which = now.number[0] == raw->number[0] ? 1 : 0;
        status = vt_error_set(err, VT_ERR_ENGINE, "%s: %lld was put back and %lld stands there",
                              which == 0 ? file->path : file->enabled,
                              (long long)raw->number[which], (long long)now.number[which]);
    }
    return status;
}

void vt_cap_files_close(void *cap)
{
    struct vt_cap_files *files = cap;

    if (files != NULL) {
        vt_free(files->domains);
        vt_free(files->files);
        vt_free(files);
    }
}
