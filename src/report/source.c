/* SPDX-License-Identifier: Apache-2.0 */
#include "report/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "result/result.h"

/* Entries of a folder of folders that are looked at. */
#define ENTRIES_MAX 4096

static const char *const file_names[] = {"sweep.json", "result.json"};

void vt_sources_release(struct vt_sources *sources)
{
    for (size_t i = 0; i < sources->n; i++) {
        vt_free(sources->items[i].folder);
        vt_free(sources->items[i].name);
        json_decref(sources->items[i].root);
    }
    *sources = (struct vt_sources){0};
}

static enum vt_status out_of_memory(struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a report");
}

static enum vt_status kind_of(const json_t *root, const char *name, struct vt_error *err,
                              enum vt_source_kind *ret_kind)
{
    static const char *const words[VT_SOURCE_KINDS] = {"run", "comparison", "profile", "sweep"};
    const json_t *version = json_object_get(root, "schema_version");
    const json_t *kind = json_object_get(root, "kind");

    if (!json_is_integer(version)) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: has no schema_version: not a file of vatio's",
                            name);
    }
    if (json_integer_value(version) != VT_RESULT_SCHEMA_VERSION) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s: schema_version %lld, this vatio reads %d: use the vatio that made "
                            "it or a newer one",
                            name, (long long)json_integer_value(version), VT_RESULT_SCHEMA_VERSION);
    }
    if (kind == NULL) {
        *ret_kind = VT_SOURCE_RUN;
        return VT_OK;
    }
    for (int i = 0; i < VT_SOURCE_KINDS; i++) {
        if (json_is_string(kind) && strcmp(json_string_value(kind), words[i]) == 0) {
            *ret_kind = (enum vt_source_kind)i;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_UNSUPPORTED,
                        "%s: kind %s: a report can be made of runs, comparisons, profiles and "
                        "sweeps",
                        name, json_is_string(kind) ? vt_quote(json_string_value(kind)).text : "?");
}

enum vt_status vt_source_parse(const char *text, size_t size, const char *name,
                               struct vt_error *err, enum vt_source_kind *ret_kind,
                               json_t **ret_root)
{
    json_error_t error;

    if (size > VT_SOURCE_FILE_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes, at most %zu are read", name, size,
                            VT_SOURCE_FILE_MAX);
    }
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s:%d: %s", name, error.line,
                            vt_plain(error.text).text);
    }
    enum vt_status status = VT_OK;
    if (!json_is_object(root)) {
        status = vt_error_set(err, VT_ERR_FORMAT, "%s: not an object", name);
    }
    if (status == VT_OK) {
        status = kind_of(root, name, err, ret_kind);
    }
    if (status != VT_OK) {
        json_decref(root);
        return status;
    }
    *ret_root = root;
    return VT_OK;
}

/* "a/b/" → "a/b", in fresh memory. */
static char *without_slashes(const char *folder)
{
    size_t n = strlen(folder);

    while (n > 1 && folder[n - 1] == '/') {
        n--;
    }
    return vt_strndup(folder, n);
}

/* Reads the source that a folder holds; *ret_found is false where it holds none. */
static enum vt_status add_folder(struct vt_sources *sources, const char *folder,
                                 struct vt_error *err, bool *ret_found)
{
    enum vt_status status = VT_OK;
    char *text = NULL;
    size_t size = 0;

    *ret_found = false;
    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        char *path = vt_path_join(folder, file_names[i]);
        if (path == NULL) {
            return out_of_memory(err);
        }
        if (!vt_path_exists(path)) {
            vt_free(path);
            continue;
        }
        struct vt_source source = {.folder = without_slashes(folder)};
        *ret_found = true;
        if (sources->n == VT_SOURCES_MAX) {
            status = vt_error_set(err, VT_ERR_LIMIT,
                                  "%s: a report holds %d results at most: name fewer folders",
                                  folder, VT_SOURCES_MAX);
        } else if (source.folder == NULL) {
            status = out_of_memory(err);
        } else {
            status = vt_file_read(path, VT_SOURCE_FILE_MAX, err, &text, &size);
        }
        if (status == VT_OK) {
            status = vt_source_parse(text, size, path, err, &source.kind, &source.root);
        }
        if (status == VT_OK) {
            sources->items[sources->n++] = source;
        } else {
            vt_free(source.folder);
        }
        vt_free(text);
        vt_free(path);
        return status;
    }
    return VT_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The folders in a folder, in order of their names; what begins with a dot is hidden. */
static enum vt_status list_folder(const char *folder, struct vt_error *err, char **names,
                                  size_t *ret_n)
{
    DIR *dir = opendir(folder);
    enum vt_status status = VT_OK;
    size_t n = 0;

    if (dir == NULL) {
        const bool missing = errno == ENOENT;
        return vt_error_set(err, missing ? VT_ERR_NOT_FOUND : VT_ERR_READ, "%s: %s", folder,
                            missing ? "no such folder" : strerror(errno));
    }
    for (struct dirent *entry = readdir(dir); entry != NULL && status == VT_OK;
         entry = readdir(dir)) {
        char *path = entry->d_name[0] != '.' ? vt_path_join(folder, entry->d_name) : NULL;
        if (path == NULL || !vt_path_is_folder(path)) {
            vt_free(path);
        } else if (n == ENTRIES_MAX) {
            vt_free(path);
            status = vt_error_set(err, VT_ERR_LIMIT,
                                  "%s: more than %d folders in it: name those "
                                  "that are wanted",
                                  folder, ENTRIES_MAX);
        } else {
            names[n++] = path;
        }
    }
    (void)closedir(dir);
    qsort(names, n, sizeof names[0], compare_names);
    *ret_n = n;
    return status;
}

static enum vt_status add_below(struct vt_sources *sources, const char *folder,
                                struct vt_error *err)
{
    char **names = vt_calloc(ENTRIES_MAX, sizeof names[0]);
    const size_t before = sources->n;
    size_t n = 0;

    if (names == NULL) {
        return out_of_memory(err);
    }
    enum vt_status status = list_folder(folder, err, names, &n);
    for (size_t i = 0; i < n; i++) {
        bool found;
        if (status == VT_OK) {
            status = add_folder(sources, names[i], err, &found);
        }
        vt_free(names[i]);
    }
    vt_free(names);
    if (status == VT_OK && sources->n == before) {
        status = vt_error_set(err, VT_ERR_NOT_FOUND,
                              "%s: no result.json or sweep.json in it or in a folder of it: give "
                              "the folder that a run was saved in",
                              folder);
    }
    return status;
}

/* The folder's own name where that tells it from all others, else the path. */
static enum vt_status name_sources(struct vt_sources *sources, struct vt_error *err)
{
    for (size_t i = 0; i < sources->n; i++) {
        const char *base = vt_path_base(sources->items[i].folder);
        bool unique = base[0] != '\0' && strcmp(base, ".") != 0 && strcmp(base, "..") != 0;
        for (size_t k = 0; k < sources->n; k++) {
            unique =
                unique && (k == i || strcmp(vt_path_base(sources->items[k].folder), base) != 0);
        }
        sources->items[i].name = vt_strdup(unique ? base : sources->items[i].folder);
        if (sources->items[i].name == NULL) {
            return out_of_memory(err);
        }
    }
    return VT_OK;
}

enum vt_status vt_sources_read(const char *const *folders, size_t n, struct vt_error *err,
                               struct vt_sources *ret)
{
    struct vt_sources sources = {0};
    enum vt_status status = VT_OK;

    for (size_t i = 0; i < n && status == VT_OK; i++) {
        bool found = false;
        status = add_folder(&sources, folders[i], err, &found);
        if (status == VT_OK && !found) {
            status = add_below(&sources, folders[i], err);
        }
    }
    if (status == VT_OK) {
        status = name_sources(&sources, err);
    }
    if (status != VT_OK) {
        vt_sources_release(&sources);
        return status;
    }
    *ret = sources;
    return VT_OK;
}
