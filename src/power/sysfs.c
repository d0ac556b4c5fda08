/* SPDX-License-Identifier: Apache-2.0 */
#include "power/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/quote.h"

/* A folder of sysfs with more than so many entries of a kind is none that we know. */
#define NAMES_MAX 4096

const char *vt_sysfs_root(const struct vt_meter_options *options)
{
    return options != NULL && options->sysfs != NULL ? options->sysfs : "/sys";
}

bool vt_sysfs_path(char path[VT_SYSFS_PATH_MAX], const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(path, VT_SYSFS_PATH_MAX, fmt, args);
    va_end(args);
    return n > 0 && n < VT_SYSFS_PATH_MAX;
}

int vt_sysfs_text(const char *path, char ret_text[VT_SYSFS_TEXT_MAX])
{
    char text[VT_SYSFS_TEXT_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return errno;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    const int code = n < 0 ? errno : 0;
    (void)close(fd);
    if (code != 0) {
        return code;
    }
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    memcpy(ret_text, vt_tame(text), sizeof text);
    return 0;
}

static int parse(const char *text, double *ret_value)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || !isfinite(value)) {
        return EINVAL;
    }
    *ret_value = value;
    return 0;
}

int vt_sysfs_number(const char *path, double *ret_value)
{
    char text[VT_SYSFS_TEXT_MAX];
    const int code = vt_sysfs_text(path, text);

    return code != 0 ? code : parse(text, ret_value);
}

void vt_sysfs_file_close(struct vt_sysfs_file *file)
{
    if (file->kept > 0) {
        (void)close(file->kept - 1);
    }
    file->kept = 0;
}

int vt_sysfs_file_number(struct vt_sysfs_file *file, const char *path, double *ret_value)
{
    char text[VT_SYSFS_TEXT_MAX];
    struct stat about;

    if (file->kept == 0) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) {
            return errno;
        }
        file->kept = fd + 1;
    }
    const ssize_t n = pread(file->kept - 1, text, sizeof text - 1, 0);
    int code = n < 0 ? errno : 0;
    /* What was taken away can still be read where it is no file of the kernel. */
    if (code == 0 && (fstat(file->kept - 1, &about) != 0 || about.st_nlink == 0)) {
        code = ENOENT;
    }
    if (code != 0) {
        vt_sysfs_file_close(file);
        return code;
    }
    text[n] = '\0';
    return parse(text, ret_value);
}

static int by_number(const void *a, const void *b)
{
    return strverscmp(a, b);
}

bool vt_sysfs_list(const char *folder, const char *prefix, struct vt_sysfs_names *ret_names)
{
    struct vt_sysfs_names list = {0};
    size_t room = 0;
    bool fits = true;
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir != NULL && fits && list.n < NAMES_MAX &&
                               (entry = readdir(dir)) != NULL;) { /* NOLINT: one thread a stream */
        const size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || length >= sizeof list.names[0] ||
            entry->d_name[0] == '.') {
            continue;
        }
        if (list.n == room) {
            const size_t more = room > 0 ? 2 * room : 16;
            void *grown =
                vt_regrow(list.names, room * sizeof list.names[0], more * sizeof list.names[0]);
            fits = grown != NULL;
            list.names = fits ? grown : list.names;
            room = fits ? more : room;
        }
        if (fits) {
            memcpy(list.names[list.n++], entry->d_name, length + 1);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    if (!fits) {
        vt_free(list.names);
        return false;
    }
    if (list.n > 1) {
        qsort(list.names, list.n, sizeof list.names[0], by_number);
    }
    *ret_names = list;
    return true;
}

void vt_sysfs_names_release(struct vt_sysfs_names *names)
{
    vt_free(names->names);
    *names = (struct vt_sysfs_names){0};
}
