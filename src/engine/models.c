/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/models.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"

/* --- models --------------------------------------------------------------------------------------
 */

/* A signature's ports, to be read only. */
static struct vt_ports ports_of(const struct vt_signature *signature)
{
    return (struct vt_ports){(struct vt_port *)(uintptr_t)signature->inputs,
                             (struct vt_port *)(uintptr_t)signature->outputs, signature->n_inputs,
                             signature->n_outputs};
}

/* Whether an input, or a symbol of one, has this name. */
static bool knows_name(const struct vt_model *model, const char *name)
{
    const struct vt_graph *graph = vt_model_graph(model);
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        const struct vt_value *value = &vt_model_values(model)[graph->inputs[i]];
        if (strcmp(value->name, name) == 0) {
            return true;
        }
        for (uint32_t d = 0; value->rank != VT_RANK_UNKNOWN && d < value->rank; d++) {
            if (value->symbol[d] != NULL && strcmp(value->symbol[d], name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* In a bundle of several graphs a binding is for those that know its name. */
static enum vt_status bind_shapes(struct vt_engine_models *models,
                                  const struct vt_engine_config *config, struct vt_error *err)
{
    struct vt_shape_binding *chosen = vt_calloc((size_t)config->n_shapes + 1, sizeof(*chosen));
    bool *used = vt_calloc((size_t)config->n_shapes + 1, sizeof(*used));
    enum vt_status status = VT_OK;
    if (chosen == NULL || used == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for shape bindings");
    }
    for (uint32_t g = 0; g < models->n && status == VT_OK; g++) {
        struct vt_engine_model *item = &models->items[g];
        uint32_t n = 0;
        for (uint32_t i = 0; i < config->n_shapes; i++) {
            if (models->n == 1 || knows_name(item->model, config->shapes[i].name)) {
                chosen[n++] = config->shapes[i];
                used[i] = true;
            }
        }
        status = vt_model_signature(item->model, chosen, n, err, &item->signature);
        if (status == VT_OK) {
            const struct vt_ports ports = ports_of(&item->signature);
            item->any_batch = vt_ports_any_batch(&ports);
        }
    }
    for (uint32_t i = 0; i < config->n_shapes && status == VT_OK; i++) {
        if (!used[i]) {
            status = vt_error_set(err, VT_ERR_USAGE,
                                  "shape of '%s': none of the %u graphs has an input or a symbol "
                                  "of that name",
                                  config->shapes[i].name, models->n);
        }
    }
    vt_free(chosen);
    vt_free(used);
    return status;
}

enum vt_status vt_engine_models_open(struct vt_engine_models *models,
                                     const struct vt_bundle *bundle,
                                     const struct vt_engine_config *config, struct vt_error *err)
{
    struct vt_engine_models opened = {NULL, 0};
    if (bundle->n_graphs == 0) {
        return vt_error_set(err, VT_ERR_USAGE, "the bundle holds no model");
    }
    opened.items = vt_calloc(bundle->n_graphs, sizeof(*opened.items));
    if (opened.items == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u models", bundle->n_graphs);
    }
    enum vt_status status = VT_OK;
    for (uint32_t g = 0; g < bundle->n_graphs && status == VT_OK; g++) {
        const struct vt_graph_source *source = &bundle->graphs[g];
        opened.n = g + 1;
        status = source->path != NULL
                     ? vt_model_import(source->path, NULL, err, &opened.items[g].model)
                     : vt_model_import_memory(source->name, source->bytes, source->n_bytes, NULL,
                                              err, &opened.items[g].model);
    }
    if (status == VT_OK) {
        status = bind_shapes(&opened, config, err);
    }
    if (status != VT_OK) {
        vt_engine_models_release(&opened);
        return status;
    }
    *models = opened;
    return VT_OK;
}

void vt_engine_models_release(struct vt_engine_models *models)
{
    for (uint32_t g = 0; g < models->n; g++) {
        vt_signature_release(&models->items[g].signature);
        vt_model_free(models->items[g].model);
    }
    vt_free(models->items);
    models->items = NULL;
    models->n = 0;
}

enum vt_status vt_engine_models_signature(const struct vt_engine_models *models, uint32_t graph,
                                          struct vt_error *err, struct vt_signature *ret)
{
    if (graph >= models->n) {
        return vt_error_set(err, VT_ERR_USAGE, "graph %u is asked for, but the bundle has %u",
                            graph, models->n);
    }
    *ret = models->items[graph].signature;
    return VT_OK;
}

/* --- settings
 * -------------------------------------------------------------------------------------- */

enum vt_status vt_engine_check_settings(const struct vt_engine_config *config, const char *engine,
                                        const char *const *keys, size_t n, struct vt_error *err)
{
    for (uint32_t i = 0; i < config->n_settings; i++) {
        const char *key = config->settings[i].key;
        size_t k = 0;
        while (k < n && strcmp(keys[k], key) != 0) {
            k++;
        }
        if (k < n) {
            continue;
        }
        const char *nearest = vt_nearest_name(key, keys, n);
        if (nearest == NULL && n > 0) {
            nearest = keys[0];
        }
        return vt_error_set(err, VT_ERR_USAGE, "engine %s has no setting '%s'; %s%s%s", engine, key,
                            nearest != NULL ? "did you mean '" : "it has none",
                            nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    return VT_OK;
}

enum vt_status vt_engine_setting_int(const struct vt_engine_config *config, const char *key,
                                     int64_t fallback, int64_t minimum, int64_t maximum,
                                     struct vt_error *err, int64_t *ret)
{
    int64_t value = fallback;
    for (uint32_t i = 0; i < config->n_settings; i++) {
        if (strcmp(config->settings[i].key, key) != 0) {
            continue;
        }
        const char *text = config->settings[i].value;
        if (vt_parse_int(text, &value, NULL) != VT_OK || value < minimum || value > maximum) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "setting '%s' is '%s', but must be a whole number from %lld to "
                                "%lld",
                                key, text, (long long)minimum, (long long)maximum);
        }
    }
    *ret = value;
    return VT_OK;
}
