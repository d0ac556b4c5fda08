/* SPDX-License-Identifier: Apache-2.0 */
#include "run/layers.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/native/native.h"

void vt_layer_describe(const struct vt_model *model, const struct vt_step_profile *step,
                       struct vt_profile_layer *layer)
{
    const struct vt_node *node = step->node;
    const char *name = node->name;

    for (uint32_t i = 0; name[0] == '\0' && i < node->n_outputs; i++) {
        name = node->outputs[i] != VT_NO_VALUE ? vt_model_values(model)[node->outputs[i]].name : "";
    }
    /* What a pass put in, a reordering of memory, has no place in the model. */
    (void)snprintf(layer->node, sizeof layer->node, "%s", name[0] != '\0' ? name : node->op);
    (void)snprintf(layer->op, sizeof layer->op, "%.32s%s%s%s%s%s", node->op,
                   step->bias ? "+Bias" : "", step->affine ? "+Norm" : "",
                   step->residual ? "+Add" : "", step->activation != NULL ? "+" : "",
                   step->activation != NULL ? step->activation : "");
    (void)snprintf(layer->kernel, sizeof layer->kernel, "%s", step->kernel);
    layer->tuned = step->tuned;
    (void)snprintf(layer->shape, sizeof layer->shape, "%s", step->shape);
}

struct reading {
    struct vt_profile_layer *layers;
    uint32_t n, capacity;
};

static void count_layer(void *ctx, const struct vt_model *model, const struct vt_step_profile *step)
{
    struct reading *reading = ctx;
    (void)model;
    (void)step;
    reading->capacity++;
}

static void add_layer(void *ctx, const struct vt_model *model, const struct vt_step_profile *step)
{
    struct reading *reading = ctx;
    if (reading->n < reading->capacity) {
        struct vt_profile_layer *layer = &reading->layers[reading->n];
        vt_layer_describe(model, step, layer);
        layer->position = reading->n++;
    }
}

enum vt_status vt_layers_read(const struct vt_session *session, struct vt_error *err,
                              struct vt_profile_layer **ret_layers, uint32_t *ret_n)
{
    struct reading reading = {NULL, 0, 0};

    /* A module may call itself native, too. */
    const bool tells = session->engine_ref.ops.open == vt_native_engine.open;
    if (tells && vt_native_each_step(session->engine, count_layer, &reading)) {
        reading.layers = vt_calloc((size_t)reading.capacity + 1, sizeof reading.layers[0]);
        if (reading.layers == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u layers",
                                reading.capacity);
        }
        (void)vt_native_each_step(session->engine, add_layer, &reading);
    }
    *ret_layers = reading.layers;
    *ret_n = reading.n;
    return VT_OK;
}
