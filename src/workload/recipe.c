/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/recipe.h"

#include <string.h>

#include "base/file.h"
#include "base/options.h"

#define FILE_BYTES_MAX ((size_t)64 << 10)

static const char *const keys[] = {
#define VT_RECIPE_KEY(name, member, key) key,
    VT_RECIPE_MAP(VT_RECIPE_KEY)
#undef VT_RECIPE_KEY
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the blanks off both ends. */
static void trim(const char **at, size_t *length)
{
    while (*length > 0 && is_blank((*at)[0])) {
        (*at)++;
        (*length)--;
    }
    while (*length > 0 && is_blank((*at)[*length - 1])) {
        (*length)--;
    }
}

static enum vt_status set_key(struct vt_recipe *recipe, const char *name, unsigned line,
                              const char *key, const char *value, struct vt_error *err)
{
    for (size_t i = 0; i < VT_RECIPE_KEYS; i++) {
        if (strcmp(keys[i], key) != 0) {
            continue;
        }
        if (recipe->entry[i].value != NULL) {
            return vt_error_set(err, VT_ERR_FORMAT, "%s:%u: '%s' stands twice", name, line, key);
        }
        recipe->entry[i].value = value;
        recipe->entry[i].from = vt_arena_printf(&recipe->arena, "%s:%u: %s", name, line, key);
        return recipe->entry[i].from != NULL
                   ? VT_OK
                   : vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", name);
    }
    const char *near = vt_nearest_name(key, keys, VT_RECIPE_KEYS);
    return vt_error_set(err, VT_ERR_FORMAT, "%s:%u: unknown key '%s'%s%s%s", name, line, key,
                        near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                        near != NULL ? "'?" : "");
}

static enum vt_status parse_line(struct vt_recipe *recipe, const char *name, unsigned line,
                                 const char *text, size_t length, struct vt_error *err)
{
    trim(&text, &length);
    if (length == 0 || text[0] == '#' || text[0] == ';') {
        return VT_OK;
    }
    const char *equals = memchr(text, '=', length);
    if (equals == NULL || memchr(text, '\0', length) != NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s:%u: '%.*s' is not \"key = value\"", name, line,
                            (int)(length < 60 ? length : 60), text);
    }
    const char *value = equals + 1;
    size_t value_length = length - (size_t)(value - text);
    size_t key_length = (size_t)(equals - text);
    trim(&value, &value_length);
    trim(&text, &key_length);
    char *key = vt_arena_strndup(&recipe->arena, text, key_length);
    char *copy = vt_arena_strndup(&recipe->arena, value, value_length);
    if (key == NULL || copy == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", name);
    }
    return set_key(recipe, name, line, key, copy, err);
}

enum vt_status vt_recipe_parse(struct vt_recipe *recipe, const char *name, const char *text,
                               size_t size, struct vt_error *err)
{
    const char *at = text, *end = text + size;
    enum vt_status status = VT_OK;

    for (unsigned line = 1; at < end && status == VT_OK; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        status = parse_line(recipe, name, line, at, (size_t)(stop - at), err);
        at = stop + 1;
    }
    return status;
}

/* The file's path if there is one, else an empty string. */
static enum vt_status find_file(struct vt_recipe *recipe, const char *model, struct vt_error *err,
                                const char **ret_path)
{
    const char *base = vt_path_base(model);
    const char *dot = strrchr(base, '.');
    int stem = (int)(dot != NULL ? (size_t)(dot - model) : strlen(model));
    char *short_path = vt_arena_printf(&recipe->arena, "%.*s.vatio", stem, model);
    char *long_path = vt_arena_printf(&recipe->arena, "%s.vatio", model);

    if (short_path == NULL || long_path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", model);
    }
    *ret_path = vt_path_exists(short_path)  ? short_path
                : vt_path_exists(long_path) ? long_path
                                            : "";
    return VT_OK;
}

static enum vt_status read_file(struct vt_recipe *recipe, const char *model, struct vt_error *err)
{
    const char *path = NULL;
    char *text = NULL;
    size_t size = 0;
    enum vt_status status = find_file(recipe, model, err, &path);

    if (status == VT_OK && path[0] != '\0') {
        status = vt_file_read(path, FILE_BYTES_MAX, err, &text, &size);
    }
    if (status == VT_OK && text != NULL) {
        status = vt_recipe_parse(recipe, path, text, size, err);
    }
    vt_free(text);
    return status;
}

enum vt_status vt_recipe_open(const struct vt_workload_config *config, struct vt_error *err,
                              struct vt_recipe *ret)
{
    struct vt_recipe recipe = {0};
    enum vt_status status = VT_OK;

    vt_arena_init(&recipe.arena, 0);
    if (config->model_path != NULL) {
        status = read_file(&recipe, config->model_path, err);
    }
    if (status != VT_OK) {
        vt_arena_release(&recipe.arena);
        return status;
    }
#define VT_RECIPE_TAKE(name, member, key)                                                          \
    if (config->member != NULL) {                                                                  \
        recipe.entry[VT_RECIPE_##name].value = config->member;                                     \
        recipe.entry[VT_RECIPE_##name].from = "--" key;                                            \
    }
    VT_RECIPE_MAP(VT_RECIPE_TAKE)
#undef VT_RECIPE_TAKE
    *ret = recipe;
    return VT_OK;
}

void vt_recipe_release(struct vt_recipe *recipe)
{
    vt_arena_release(&recipe->arena);
}
