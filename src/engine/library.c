/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "engine/settings.h"

/* --- loading one file ---------------------------------------------------------------------------
 */

static char *path_of(void *handle, const char *asked)
{
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL && map->l_name[0] != '\0') {
        return vt_strdup(map->l_name);
    }
    return vt_strdup(asked);
}

/* What is loaded stays loaded (RTLD_NODELETE). */
static void *load(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static enum vt_status accept(const struct vt_library_kind *kind, const char *path, void *handle,
                             struct vt_error *err, struct vt_library *ret)
{
    struct vt_library library = {.kind = kind, .handle = handle};
    if (dlsym(handle, kind->symbol) == NULL) {
        dlclose(handle);
        return vt_error_set(err, VT_ERR_FORMAT, "%s is not %s: it does not export '%s'", path,
                            kind->what, kind->symbol);
    }
    library.path = path_of(handle, path);
    if (library.path == NULL) {
        dlclose(handle);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %s", kind->what);
    }
    vt_log(VT_LOG_DEBUG, "%s: %s", kind->what, library.path);
    *ret = library;
    return VT_OK;
}

static enum vt_status open_file(const struct vt_library_kind *kind, const char *path,
                                struct vt_error *err, struct vt_library *ret)
{
    void *handle = load(path);
    if (handle == NULL) {
        char why[300];
        const char *said = dlerror();
        return vt_error_set(err, VT_ERR_FORMAT, "%s cannot be loaded: %s", kind->what,
                            vt_engine_one_line(said != NULL ? said : path, why, sizeof(why)));
    }
    return accept(kind, path, handle, err, ret);
}

/* --- searching ----------------------------------------------------------------------------------
 */

/* `folder` as glob() wants what is not a pattern. NULL when out of memory. */
static char *escaped(const char *folder)
{
    size_t length = strlen(folder), n = 0;
    char *text = vt_alloc(2 * length + 1);
    for (size_t i = 0; text != NULL && i < length; i++) {
        if (strchr("*?[]\\{}~", folder[i]) != NULL) {
            text[n++] = '\\';
        }
        text[n++] = folder[i];
    }
    if (text != NULL) {
        text[n] = '\0';
    }
    return text;
}

/* The newest file that matches, in fresh memory; NULL: none. */
static char *newest(const char *pattern)
{
    glob_t found;
    char *best = NULL;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
        return NULL;
    }
    const char *chosen = NULL;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (chosen == NULL || strverscmp(found.gl_pathv[i], chosen) > 0) {
            chosen = found.gl_pathv[i];
        }
    }
    if (chosen != NULL) {
        best = vt_strdup(chosen);
    }
    globfree(&found);
    return best;
}

/* As newest, of "folder" + tail/file*; the tail is a pattern. */
static char *newest_in(const char *folder, const char *tail, const char *file)
{
    char *plain = escaped(folder);
    char *pattern = plain != NULL ? vt_asprintf("%s%s/%s*", plain, tail, file) : NULL;
    char *found = pattern != NULL ? newest(pattern) : NULL;
    vt_free(plain);
    vt_free(pattern);
    return found;
}

/* Where a Python with this prefix keeps the wheel. */
static char *in_prefix(const struct vt_library_kind *kind, const char *prefix)
{
    static const char *const homes[] = {
        "/lib/python3*/site-packages/", "/lib/python3*/dist-packages/",
        "/lib/python3/dist-packages/", "/versions/*/lib/python3*/site-packages/"};
    char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof(homes) / sizeof(homes[0]); i++) {
        char *tail = vt_asprintf("%s%s", homes[i], kind->wheel);
        found = tail != NULL ? newest_in(prefix, tail, kind->file) : NULL;
        vt_free(tail);
    }
    return found;
}

/* The prefix of the python3 that a shell would start: its folder's parent. NULL: none. */
static char *python_prefix(void)
{
    const char *path = getenv("PATH");
    for (const char *at = path; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ":");
        char *program = length > 0 ? vt_asprintf("%.*s/python3", (int)length, at) : NULL;
        bool there = program != NULL && access(program, X_OK) == 0;
        vt_free(program);
        if (there) {
            return vt_asprintf("%.*s/..", (int)length, at);
        }
        at += length + (at[length] == ':' ? 1 : 0);
    }
    return NULL;
}

static char *in_wheels(const struct vt_library_kind *kind)
{
    const char *home = getenv("HOME");
    char *python = python_prefix();
    char *local = home != NULL ? vt_asprintf("%s/.local", home) : NULL;
    char *pyenv = home != NULL ? vt_asprintf("%s/.pyenv", home) : NULL;
    const char *const prefixes[] = {getenv("VIRTUAL_ENV"),
                                    getenv("CONDA_PREFIX"),
                                    python,
                                    getenv("PYENV_ROOT"),
                                    local,
                                    pyenv,
                                    "/usr/local",
                                    "/usr"};
    char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (prefixes[i] != NULL && prefixes[i][0] != '\0') {
            found = in_prefix(kind, prefixes[i]);
        }
    }
    vt_free(python);
    vt_free(local);
    vt_free(pyenv);
    return found;
}

static char *in_distribution(const struct vt_library_kind *kind)
{
    static const char *const folders[] = {"/usr/local/lib", "/usr/local/lib/*-linux-gnu",
                                          "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib"};
    char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof(folders) / sizeof(folders[0]); i++) {
        found = newest_in("", folders[i], kind->file);
    }
    return found;
}

/* A path that somebody named: the file itself, a folder with it, or one with the wheel. */
static enum vt_status open_named(const struct vt_library_kind *kind, const char *by,
                                 const char *named, struct vt_error *err, struct vt_library *ret)
{
    char *found = NULL;
    if (!vt_path_exists(named)) {
        return vt_error_set(err, VT_ERR_NOT_FOUND, "%s=%s: there is no such file or folder", by,
                            named);
    }
    if (!vt_path_is_folder(named)) {
        /* With a slash, or the loader would look elsewhere. */
        found = strchr(named, '/') != NULL ? vt_strdup(named) : vt_path_join(".", named);
    } else {
        char *tail = kind->wheel != NULL ? vt_asprintf("/%s", kind->wheel) : NULL;
        found = newest_in(named, "", kind->file);
        if (found == NULL && tail != NULL) {
            found = newest_in(named, tail, kind->file);
        }
        if (found == NULL && kind->wheel != NULL) {
            found = in_prefix(kind, named);
        }
        vt_free(tail);
    }
    if (found == NULL) {
        return vt_error_set(err, VT_ERR_NOT_FOUND, "%s=%s: the folder holds no %s", by, named,
                            kind->file);
    }
    enum vt_status status = open_file(kind, found, err, ret);
    vt_free(found);
    return status;
}

enum vt_status vt_library_open(const struct vt_library_kind *kind, const char *named,
                               struct vt_error *err, struct vt_library *ret)
{
    const char *variable = getenv(kind->variable);
    if (named != NULL) {
        return open_named(kind, "library", named, err, ret);
    }
    if (variable != NULL && variable[0] != '\0') {
        return open_named(kind, kind->variable, variable, err, ret);
    }
    void *handle = load(kind->file);
    if (handle != NULL) {
        return accept(kind, kind->file, handle, err, ret);
    }
    char *found = kind->wheel != NULL ? in_wheels(kind) : NULL;
    if (found == NULL) {
        found = in_distribution(kind);
    }
    if (found == NULL) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "%s was not found: %s, or name the library with --engine-option "
                            "library=PATH or %s",
                            kind->file, kind->remedy, kind->variable);
    }
    enum vt_status status = open_file(kind, found, err, ret);
    vt_free(found);
    return status;
}

void vt_library_close(struct vt_library *library)
{
    if (library->handle != NULL) {
        dlclose(library->handle);
    }
    vt_free(library->path);
    memset(library, 0, sizeof(*library));
}

enum vt_status vt_library_function(const struct vt_library *library, const char *name,
                                   struct vt_error *err, void *ret_function)
{
    void *symbol = dlsym(library->handle, name);
    if (symbol == NULL) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE, "%s lacks '%s': %s of another age is needed",
                            library->path, name, library->kind->what);
    }
    memcpy(ret_function, &symbol, sizeof(symbol)); /* ISO C has no cast to a function pointer */
    return VT_OK;
}
