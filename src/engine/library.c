/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
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

/* A search for one file; the functions below go on only while nothing is found. */
struct search {
    const struct vt_library_kind *kind;
    char *found; /* in fresh memory */
    bool out_of_memory;
};

static char *noted(struct search *search, char *text)
{
    search->out_of_memory = search->out_of_memory || text == NULL;
    return text;
}

/* `folder` as glob() wants what is not a pattern. */
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

/* Takes the newest file that matches, if there is one. */
static void take_newest(struct search *search, const char *pattern)
{
    glob_t matches;
    const char *newest = NULL;
    int code = glob(pattern, GLOB_NOSORT, NULL, &matches);
    search->out_of_memory = search->out_of_memory || code == GLOB_NOSPACE;
    if (code != 0) {
        return;
    }
    for (size_t i = 0; i < matches.gl_pathc; i++) {
        if (newest == NULL || strverscmp(matches.gl_pathv[i], newest) > 0) {
            newest = matches.gl_pathv[i];
        }
    }
    if (newest != NULL) {
        search->found = noted(search, vt_strdup(newest));
    }
    globfree(&matches);
}

/* Looks into folder/tail/more, each of which may be empty; the tail is a pattern. */
static void look_into(struct search *search, const char *folder, const char *tail, const char *more)
{
    if (search->found != NULL) {
        return;
    }
    char *plain = noted(search, escaped(folder));
    char *pattern = NULL;
    if (plain != NULL) {
        pattern =
            noted(search, vt_asprintf("%s%s%s%s%s/%s*", plain, tail[0] != '\0' ? "/" : "", tail,
                                      more[0] != '\0' ? "/" : "", more, search->kind->file));
    }
    if (pattern != NULL) {
        take_newest(search, pattern);
    }
    vt_free(plain);
    vt_free(pattern);
}

/* Where a Python with this prefix keeps the wheel. */
static void look_into_prefix(struct search *search, const char *prefix)
{
    static const char *const homes[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                        "lib/python3/dist-packages",
                                        "versions/*/lib/python3*/site-packages"};
    for (size_t i = 0; prefix != NULL && prefix[0] != '\0' && i < sizeof(homes) / sizeof(homes[0]);
         i++) {
        look_into(search, prefix, homes[i], search->kind->wheel);
    }
}

/* The prefix of the python3 that a shell would start: its folder's parent. */
static void look_beside_python(struct search *search)
{
    const char *path = getenv("PATH");
    for (const char *at = path; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ":");
        char *program = noted(search, vt_asprintf("%.*s/python3", (int)length, at));
        bool there = program != NULL && length > 0 && access(program, X_OK) == 0;
        vt_free(program);
        if (there) {
            char *prefix = noted(search, vt_asprintf("%.*s/..", (int)length, at));
            look_into_prefix(search, prefix);
            vt_free(prefix);
            return;
        }
        at += length + (at[length] == ':' ? 1 : 0);
    }
}

static void look_below_home(struct search *search, const char *folder)
{
    const char *home = getenv("HOME");
    if (home != NULL && home[0] != '\0') {
        char *prefix = noted(search, vt_asprintf("%s/%s", home, folder));
        look_into_prefix(search, prefix);
        vt_free(prefix);
    }
}

static void look_everywhere(struct search *search)
{
    static const char *const folders[] = {"usr/local/lib", "usr/local/lib/*-linux-gnu",
                                          "usr/lib/*-linux-gnu", "usr/lib64", "usr/lib"};
    if (search->kind->wheel != NULL) {
        look_into_prefix(search, getenv("VIRTUAL_ENV"));
        look_into_prefix(search, getenv("CONDA_PREFIX"));
        look_beside_python(search);
        look_into_prefix(search, getenv("PYENV_ROOT"));
        look_below_home(search, ".local");
        look_below_home(search, ".pyenv");
        look_into_prefix(search, "/usr/local");
        look_into_prefix(search, "/usr");
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        look_into(search, "", folders[i], "");
    }
}

static enum vt_status open_found(struct search *search, const char *what, struct vt_error *err,
                                 struct vt_library *ret)
{
    enum vt_status status;
    if (search->found != NULL) {
        status = open_file(search->kind, search->found, err, ret);
    } else if (search->out_of_memory) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory looking for %s", what);
    } else {
        status = VT_ERR_NOT_FOUND;
    }
    vt_free(search->found);
    return status;
}

/* A path that somebody named: the file itself, a folder with it, or one with the wheel. */
static enum vt_status open_named(const struct vt_library_kind *kind, const char *by,
                                 const char *named, struct vt_error *err, struct vt_library *ret)
{
    struct search search = {.kind = kind};
    if (!vt_path_exists(named)) {
        return vt_error_set(err, VT_ERR_NOT_FOUND, "%s=%s: there is no such file or folder", by,
                            named);
    }
    if (!vt_path_is_folder(named)) {
        /* With a slash, or the loader would look elsewhere. */
        search.found = noted(&search, strchr(named, '/') != NULL ? vt_strdup(named)
                                                                 : vt_path_join(".", named));
    } else {
        look_into(&search, named, "", "");
        if (kind->wheel != NULL) {
            look_into(&search, named, "", kind->wheel);
            look_into_prefix(&search, named);
        }
    }
    enum vt_status status = open_found(&search, kind->what, err, ret);
    if (status == VT_ERR_NOT_FOUND) {
        status = vt_error_set(err, status, "%s=%s: the folder holds no %s", by, named, kind->file);
    }
    return status;
}

enum vt_status vt_library_open(const struct vt_library_kind *kind, const char *named,
                               struct vt_error *err, struct vt_library *ret)
{
    const char *variable = getenv(kind->variable);
    struct search search = {.kind = kind};
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
    look_everywhere(&search);
    enum vt_status status = open_found(&search, kind->what, err, ret);
    if (status == VT_ERR_NOT_FOUND) {
        status = vt_error_set(err, VT_ERR_UNAVAILABLE,
                              "%s was not found: %s, or name the library with --engine-option "
                              "library=PATH or %s",
                              kind->file, kind->remedy, kind->variable);
    }
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
