/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/models.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/settings.h"

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

static bool model_knows(void *context, uint32_t graph, const char *name)
{
    const struct vt_engine_models *models = context;
    return knows_name(models->items[graph].model, name);
}

static enum vt_status bind_model(void *context, uint32_t graph,
                                 const struct vt_shape_binding *shapes, uint32_t n,
                                 struct vt_error *err)
{
    struct vt_engine_models *models = context;
    struct vt_engine_model *item = &models->items[graph];
    enum vt_status status =
        models->windows != NULL
            ? vt_windows_signature(models->windows, item->model, shapes, n, err, &item->signature)
            : vt_model_signature(item->model, shapes, n, err, &item->signature);
    if (status == VT_OK) {
        const struct vt_ports ports = ports_of(&item->signature);
        item->any_batch = vt_ports_any_batch(&ports);
    }
    return status;
}

enum vt_status vt_engine_models_open(struct vt_engine_models *models,
                                     const struct vt_bundle *bundle,
                                     const struct vt_engine_config *config,
                                     const struct vt_windows *windows, struct vt_error *err)
{
    struct vt_engine_models opened = {.windows = windows};
    if (bundle->n_graphs == 0) {
        return vt_error_set(err, VT_ERR_USAGE, "the bundle holds no model");
    }
    if (windows != NULL && bundle->n_graphs > 1) {
        return vt_error_set(err, VT_ERR_USAGE, "windows are for one model, not for %u",
                            bundle->n_graphs);
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
        const struct vt_shape_taker taker = {&opened, opened.n, model_knows, bind_model};
        status = vt_engine_deal_shapes(config, &taker, err);
    }
    if (status != VT_OK) {
        vt_engine_models_release(&opened);
        return status;
    }
    opened.windows = NULL;
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
