/* SPDX-License-Identifier: Apache-2.0 */
#include "run/model_source.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

#define NAMES_MAX 32

/* Every name that is no path: the built-in models and the networks of the zoo. */
static const char *nearest_model(const char *argument)
{
    size_t n_models, n_networks, n = 0;
    const struct vt_builtin_model *models = vt_builtin_models(&n_models);
    const struct vt_zoo_network *const *networks = vt_zoo_networks(&n_networks);
    const char *names[NAMES_MAX];

    for (size_t i = 0; i < n_models && n < NAMES_MAX; i++) {
        names[n++] = models[i].name;
    }
    for (size_t i = 0; i < n_networks && n < NAMES_MAX; i++) {
        names[n++] = networks[i]->name;
    }
    return vt_nearest_name(argument, names, n);
}

static enum vt_status find_file(const char *path, struct vt_error *err)
{
    if (vt_path_exists(path)) {
        return VT_OK;
    }
    const char *near = nearest_model(path);
    return vt_error_set(err, VT_ERR_NOT_FOUND,
                        "%s: no such file and no built-in model%s%s%s (vatio list names "
                        "the built-in ones)",
                        path, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                        near != NULL ? "'?" : "");
}

/* A model that a server has. */
static bool is_url(const char *argument)
{
    return strncmp(argument, "http://", 7) == 0 || strncmp(argument, "https://", 8) == 0;
}

/* Anything but a plan. */
static enum vt_status find_model(const char *argument, const char *weights, struct vt_error *err,
                                 struct vt_model_source *ret_source)
{
    const struct vt_builtin_model *builtin = vt_builtin_model_find(argument);
    struct vt_model_source source = {.argument = argument, .builtin = builtin};
    enum vt_status status = VT_OK;

    if (builtin == NULL && !vt_zoo_choose(argument, &source.zoo)) {
        source.zoo.network = NULL;
    }
    if (weights != NULL && source.zoo.network == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--weights: %s is no network of the zoo (vatio zoo lists them); a file "
                            "with its own weights is named as the model",
                            argument);
    }
    if (builtin != NULL) {
        source.graph = (struct vt_graph_source){
            .name = builtin->name, .bytes = builtin->onnx, .n_bytes = builtin->onnx_bytes};
    } else if (weights != NULL) {
        source.graph = (struct vt_graph_source){.name = argument, .path = weights};
        if (!vt_path_exists(weights)) {
            return vt_error_set(err, VT_ERR_NOT_FOUND, "--weights %s: no such file", weights);
        }
    } else if (source.zoo.network != NULL) {
        status = vt_zoo_cache(&source.zoo, err, &source.path);
        source.random_weights = true;
        source.graph = (struct vt_graph_source){.name = argument, .path = source.path};
    } else if (is_url(argument)) {
        source.graph = (struct vt_graph_source){.name = argument};
    } else {
        source.graph = (struct vt_graph_source){.name = argument, .path = argument};
        status = find_file(argument, err);
    }
    if (status == VT_OK) {
        *ret_source = source;
    }
    return status;
}

/* "folder of the plan/base name of the model" where that file is there; else NULL. vt_free it. */
static char *beside_plan(const char *plan, const char *model)
{
    char *path = vt_asprintf("%.*s%s", (int)(vt_path_base(plan) - plan), plan, vt_path_base(model));
    if (path != NULL && !vt_path_exists(path)) {
        vt_free(path);
        path = NULL;
    }
    return path;
}

static enum vt_status find_planned(const char *plan, struct vt_error *err,
                                   struct vt_model_source *ret_source)
{
    struct vt_plan_file *file = NULL;
    struct vt_plan_file_info info;
    enum vt_status status = vt_plan_file_open(plan, err, &file);
    if (status != VT_OK) {
        return status;
    }
    vt_plan_file_info(file, &info);
    const bool moved = info.model[0] == '/' && !vt_path_exists(info.model);
    char *path = moved ? beside_plan(plan, info.model) : NULL;
    struct vt_model_source source = {.argument = info.model};
    status = find_model(path != NULL ? path : info.model, NULL, err, &source);
    if (status != VT_OK) {
        vt_free(path);
        vt_plan_file_free(file);
        vt_error_prefix(err, "%s: the planned model", plan);
        return status;
    }
    if (path != NULL) { /* a file: nothing else is owned */
        source.path = path;
    }
    source.plan = plan;
    source.plan_file = file;
    *ret_source = source;
    return VT_OK;
}

enum vt_status vt_model_source_find_weights(const char *argument, const char *weights,
                                            struct vt_error *err,
                                            struct vt_model_source *ret_source)
{
    if (weights == NULL && vt_builtin_model_find(argument) == NULL && vt_plan_file_is(argument)) {
        return find_planned(argument, err, ret_source);
    }
    return find_model(argument, weights, err, ret_source);
}

enum vt_status vt_model_source_find(const char *argument, struct vt_error *err,
                                    struct vt_model_source *ret_source)
{
    return vt_model_source_find_weights(argument, NULL, err, ret_source);
}

void vt_model_source_release(struct vt_model_source *source)
{
    vt_free(source->path);
    vt_plan_file_free(source->plan_file);
    memset(source, 0, sizeof *source);
}

enum vt_status vt_model_source_import(const struct vt_model_source *source, struct vt_error *err,
                                      struct vt_model **ret_model)
{
    const struct vt_graph_source *graph = &source->graph;

    if (graph->path == NULL && graph->bytes == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s is a server's model: engine kserve runs it (--engine kserve)",
                            graph->name);
    }
    if (graph->path != NULL) {
        return vt_model_import(graph->path, NULL, err, ret_model);
    }
    return vt_model_import_memory(graph->name, graph->bytes, graph->n_bytes, NULL, err, ret_model);
}

const char *vt_model_source_name(const struct vt_model_source *source)
{
    return source->builtin != NULL ? source->builtin->name : vt_path_base(source->argument);
}

const char *vt_model_source_benchmark(const struct vt_model_source *source)
{
    const struct vt_zoo_choice *zoo = &source->zoo;

    /* A small network is none, and neither is a part of one. */
    return zoo->network != NULL && !zoo->small && zoo->network->benchmark != NULL
               ? zoo->network->benchmark
               : vt_model_source_name(source);
}

/* The extents "1x3x224" behind the equals sign of `text`. */
static enum vt_status parse_extents(const char *text, const char *extents, struct vt_error *err,
                                    struct vt_shape_binding *binding)
{
    for (const char *at = extents;;) {
        char digits[24];
        size_t length = strcspn(at, "x,");
        int64_t extent = 0;
        if (binding->rank == VT_RANK_MAX) {
            return vt_error_set(err, VT_ERR_USAGE, "--shape %s: at most %d dimensions are allowed",
                                text, VT_RANK_MAX);
        }
        if (length > 0 && length < sizeof digits) {
            struct vt_error ignored = VT_ERROR_INIT;
            memcpy(digits, at, length);
            digits[length] = '\0';
            if (vt_parse_int(digits, &extent, &ignored) != VT_OK) {
                extent = 0;
            }
        }
        if (extent < 1 || extent > INT32_MAX) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "--shape %s: '%.*s' is no extent, allowed are 1..%d", text,
                                (int)(length < 32 ? length : 32), at, INT32_MAX);
        }
        binding->dim[binding->rank++] = extent;
        if (at[length] == '\0') {
            return VT_OK;
        }
        at += length + 1;
    }
}

static enum vt_status add_shape(struct vt_shape_list *list, const char *text, struct vt_error *err)
{
    struct vt_shape_binding binding = {0};
    /* The last one: a name may hold an equals sign, extents do not. */
    const char *equals = strrchr(text, '=');

    if (equals == NULL || equals == text || equals[1] == '\0') {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--shape %s: NAME=DIMS is needed, as in input=1x3x224x224 or N=8",
                            text);
    }
    if (list->n == VT_SHAPES_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "--shape: at most %d are allowed", VT_SHAPES_MAX);
    }
    enum vt_status status = parse_extents(text, equals + 1, err, &binding);
    if (status != VT_OK) {
        return status;
    }
    binding.name = vt_strndup(text, (size_t)(equals - text));
    if (binding.name == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    list->items[list->n++] = binding;
    list->n_owned = list->n;
    return VT_OK;
}

enum vt_status vt_shape_list_init(struct vt_shape_list *list, const struct vt_text_list *texts,
                                  struct vt_error *err)
{
    memset(list, 0, sizeof *list);
    for (size_t i = 0; i < texts->count; i++) {
        enum vt_status status = add_shape(list, texts->items[i], err);
        if (status != VT_OK) {
            vt_shape_list_release(list);
            return status;
        }
    }
    return VT_OK;
}

void vt_shape_list_release(struct vt_shape_list *list)
{
    for (uint32_t i = 0; i < list->n_owned; i++) {
        vt_free((char *)(uintptr_t)list->items[i].name);
    }
    memset(list, 0, sizeof *list);
}
