/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in files beside the model.
 *
 * A model names such a file itself, so the name is not trusted: it must be relative, hold no "..",
 * and the file that was opened in the end, symbolic links followed, must lie in the model's own
 * folder or below it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/import.h"

void vt_external_free(struct vt_external *externals)
{
    while (externals != NULL) {
        struct vt_external *next = externals->next;
        vt_file_map_release(&externals->map);
        vt_free(externals->location);
        vt_free(externals);
        externals = next;
    }
}

/* Relative and without a component "..". */
static bool location_is_tame(const char *location)
{
    if (location[0] == '\0' || location[0] == '/') {
        return false;
    }
    for (const char *part = location; part != NULL;) {
        size_t n = strcspn(part, "/");
        if (n == 2 && part[0] == '.' && part[1] == '.') {
            return false;
        }
        part = part[n] == '/' ? part + n + 1 : NULL;
    }
    return true;
}

/* Whether the open file lies in the folder: asked of the file itself, so that nothing can be
 * exchanged between the question and the use. */
static bool lies_in_folder(int fd, const char *folder)
{
    char link[64];
    char file[PATH_MAX];
    char *real = realpath(folder, NULL);
    if (real == NULL) {
        return false;
    }
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, file, sizeof(file) - 1);
    size_t length = strlen(real);
    bool inside = false;
    if (n > 0) {
        file[n] = '\0';
        bool root = length == 1; /* "/" */
        inside = strncmp(file, real, length) == 0 && (root || file[length] == '/');
    }
    free(real);
    return inside;
}

/* Opens and maps the file, whose location is tame. */
static enum vt_status map_file(struct vt_import *import, const char *tensor, const char *location,
                               struct vt_file_map *ret)
{
    struct stat info;
    int folder = open(import->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = folder >= 0 ? openat(folder, location, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    int code = errno;

    if (folder >= 0) {
        close(folder);
    }
    if (fd < 0) {
        bool missing = code == ENOENT || code == ENOTDIR;
        return vt_import_fail(import, missing ? VT_ERR_NOT_FOUND : VT_ERR_READ,
                              "tensor %s: external data %s: %s", vt_quote(tensor).text,
                              vt_quote(location).text,
                              missing ? "no such file in the model's folder" : strerror(code));
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !lies_in_folder(fd, import->folder)) {
        close(fd);
        return vt_import_fail(import, VT_ERR_FORMAT,
                              "tensor %s: external data %s is no file inside the model's folder",
                              vt_quote(tensor).text, vt_quote(location).text);
    }
    size_t size = (size_t)info.st_size;
    void *bytes = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    code = errno;
    close(fd);
    if (bytes == MAP_FAILED) {
        return vt_import_fail(import, VT_ERR_READ, "external data %s cannot be mapped: %s",
                              vt_quote(location).text, strerror(code));
    }
    *ret = (struct vt_file_map){bytes, size};
    return VT_OK;
}

enum vt_status vt_external_map(struct vt_import *import, const char *tensor, const char *location,
                               const uint8_t **ret_bytes, size_t *ret_size)
{
    struct vt_model *model = import->model;

    for (struct vt_external *e = model->externals; e != NULL; e = e->next) {
        if (strcmp(e->location, location) == 0) {
            *ret_bytes = e->map.bytes;
            *ret_size = e->map.size;
            return VT_OK;
        }
    }
    if (import->folder == NULL) {
        return vt_import_fail(import, VT_ERR_UNSUPPORTED,
                              "tensor %s has external data, which a model in memory cannot have",
                              vt_quote(tensor).text);
    }
    if (!location_is_tame(location)) {
        return vt_import_fail(import, VT_ERR_FORMAT,
                              "tensor %s: external data %s must be a file in the model's folder",
                              vt_quote(tensor).text, vt_quote(location).text);
    }
    struct vt_external *external = vt_calloc(1, sizeof(*external));
    char *copy = vt_strdup(location);
    if (external == NULL || copy == NULL) {
        vt_free(external);
        vt_free(copy);
        return vt_import_fail(import, VT_ERR_MEMORY, "out of memory");
    }
    external->location = copy;
    enum vt_status status = map_file(import, tensor, location, &external->map);
    if (status != VT_OK) {
        vt_external_free(external);
        return status;
    }
    external->next = model->externals;
    model->externals = external;
    *ret_bytes = external->map.bytes;
    *ret_size = external->map.size;
    return VT_OK;
}
