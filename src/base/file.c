/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/* Opens a regular file for reading. */
static enum vt_status open_regular(const char *path, struct vt_error *err, int *ret_fd,
                                   size_t *ret_size)
{
    struct stat info;
    /* O_NONBLOCK: a pipe without a writer must not hang us; it is refused below. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        return vt_error_set(err, missing ? VT_ERR_NOT_FOUND : VT_ERR_READ, "%s: %s", path,
                            missing ? "no such file" : strerror(errno));
    }
    if (fstat(fd, &info) != 0) {
        int code = errno;
        close(fd);
        return vt_error_set(err, VT_ERR_READ, "%s: %s", path, strerror(code));
    }
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return vt_error_set(err, VT_ERR_READ, "%s: %s, a regular file is needed", path,
                            S_ISDIR(info.st_mode) ? "is a folder" : "is not a file");
    }
    *ret_fd = fd;
    *ret_size = (size_t)info.st_size;
    return VT_OK;
}

enum vt_status vt_file_map_open(const char *path, struct vt_error *err, struct vt_file_map *ret)
{
    int fd = -1;
    size_t size = 0;
    void *bytes = NULL;

    enum vt_status status = open_regular(path, err, &fd, &size);
    if (status != VT_OK) {
        return status;
    }
    if (size > 0) {
        bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    int code = errno;
    close(fd);
    if (bytes == MAP_FAILED) {
        return vt_error_set(err, VT_ERR_READ, "%s: cannot be mapped: %s", path, strerror(code));
    }
    *ret = (struct vt_file_map){bytes, size};
    return VT_OK;
}

void vt_file_map_release(struct vt_file_map *map)
{
    if (map->bytes != NULL) {
        munmap((void *)(uintptr_t)map->bytes, map->size);
    }
    *map = (struct vt_file_map){NULL, 0};
}

/* Reads up to `size` bytes, fewer only at the end of the file. -1 on error. */
static ssize_t read_fully(int fd, char *text, size_t size)
{
    size_t have = 0;
    while (have < size) {
        ssize_t n = read(fd, text + have, size - have);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        have += (size_t)n;
    }
    return (ssize_t)have;
}

enum vt_status vt_file_read(const char *path, size_t limit, struct vt_error *err, char **ret_text,
                            size_t *ret_size)
{
    int fd = -1;
    size_t size = 0;

    enum vt_status status = open_regular(path, err, &fd, &size);
    if (status != VT_OK) {
        return status;
    }
    if (size > limit) {
        close(fd);
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes, at most %zu are allowed", path, size,
                            limit);
    }
    char *text = vt_alloc(size + 1);
    if (text == NULL) {
        close(fd);
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for %zu bytes", path, size);
    }
    ssize_t n = read_fully(fd, text, size);
    int code = errno;
    close(fd);
    if (n < 0) {
        vt_free(text);
        return vt_error_set(err, VT_ERR_READ, "%s: %s", path, strerror(code));
    }
    text[n] = '\0';
    *ret_text = text;
    *ret_size = (size_t)n;
    return VT_OK;
}

enum vt_status vt_file_writer_open(struct vt_file_writer *writer, const char *path,
                                   struct vt_error *err)
{
    *writer = (struct vt_file_writer){NULL, NULL, NULL};
    writer->path = vt_strdup(path);
    writer->temporary = vt_asprintf("%s.part", path);
    if (writer->path == NULL || writer->temporary == NULL) {
        vt_file_writer_release(writer);
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", path);
    }
    writer->stream = fopen(writer->temporary, "we");
    if (writer->stream == NULL) {
        int code = errno;
        vt_free(writer->temporary);
        writer->temporary = NULL;
        vt_file_writer_release(writer);
        return vt_error_set(err, VT_ERR_WRITE, "%s: cannot be written: %s", path, strerror(code));
    }
    return VT_OK;
}

enum vt_status vt_file_writer_commit(struct vt_file_writer *writer, struct vt_error *err)
{
    int code = 0;

    errno = 0;
    if (ferror(writer->stream) != 0) {
        code = EIO;
    }
    if (fflush(writer->stream) != 0 && errno != 0) {
        code = errno;
    }
    if (fclose(writer->stream) != 0 && code == 0) {
        code = errno;
    }
    writer->stream = NULL;
    if (code == 0 && rename(writer->temporary, writer->path) != 0) {
        code = errno;
    }
    if (code != 0) {
        vt_error_set(err, VT_ERR_WRITE, "%s: cannot be written: %s", writer->path, strerror(code));
    } else {
        vt_free(writer->temporary);
        writer->temporary = NULL;
    }
    vt_file_writer_release(writer);
    return code == 0 ? VT_OK : VT_ERR_WRITE;
}

void vt_file_writer_release(struct vt_file_writer *writer)
{
    if (writer->stream != NULL) {
        (void)fclose(writer->stream);
    }
    if (writer->temporary != NULL) {
        (void)unlink(writer->temporary);
    }
    vt_free(writer->temporary);
    vt_free(writer->path);
    *writer = (struct vt_file_writer){NULL, NULL, NULL};
}

enum vt_status vt_make_folders(const char *path, struct vt_error *err)
{
    char *work = vt_strdup(path);
    if (work == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", path);
    }
    enum vt_status status = VT_OK;
    for (char *at = work;; at++) {
        bool end = *at == '\0';
        if ((*at == '/' || end) && at != work && at[-1] != '/') {
            *at = '\0';
            if (mkdir(work, 0777) != 0 && !(errno == EEXIST && vt_path_is_folder(work))) {
                status = vt_error_set(err, VT_ERR_WRITE, "%s: the folder cannot be made: %s", work,
                                      strerror(errno));
                break;
            }
            if (!end) {
                *at = '/';
            }
        }
        if (end) {
            break;
        }
    }
    vt_free(work);
    return status;
}

enum vt_status vt_cache_folder(const char *name, struct vt_error *err, char **ret_folder)
{
    /* The base directory specification: a relative path is to be ignored. */
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool given = base != NULL && base[0] == '/';

    if (!given && (home == NULL || home[0] != '/')) {
        return vt_error_set(err, VT_ERR_WRITE, "no folder for a cache: set XDG_CACHE_HOME to one");
    }
    char *folder =
        given ? vt_asprintf("%s/%s", base, name) : vt_asprintf("%s/.cache/%s", home, name);
    if (folder == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    *ret_folder = folder;
    return VT_OK;
}

char *vt_path_join(const char *folder, const char *name)
{
    size_t n = strlen(folder);
    bool slash = n > 0 && folder[n - 1] != '/';
    return vt_asprintf("%s%s%s", folder, slash ? "/" : "", name);
}

bool vt_path_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool vt_path_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

const char *vt_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}
