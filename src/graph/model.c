/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An imported model: what it owns, and the look-up of what it says.
 */
#include <string.h>

#include "graph/import.h"

void vt_model_free(struct vt_model *model)
{
    if (model == NULL) {
        return;
    }
    vt_external_free(model->externals);
    vt_free(model->values);
    vt_arena_release(&model->weights);
    vt_arena_release(&model->arena);
    vt_file_map_release(&model->map);
    vt_free(model);
}

const struct vt_graph *vt_model_graph(const struct vt_model *model)
{
    return model->graph;
}

const struct vt_value *vt_model_values(const struct vt_model *model)
{
    return model->values;
}

uint32_t vt_model_value_count(const struct vt_model *model)
{
    return model->n_values;
}

const char *vt_model_name(const struct vt_model *model)
{
    return model->name;
}

const char *vt_model_producer(const struct vt_model *model)
{
    return model->producer;
}

int64_t vt_model_opset(const struct vt_model *model)
{
    return model->opset;
}

int64_t vt_model_ir_version(const struct vt_model *model)
{
    return model->ir_version;
}

bool vt_model_part(const struct vt_model *model, uint32_t index, struct vt_model_part *ret_part)
{
    const struct vt_external *external = model->externals;
    if (index == 0) {
        *ret_part = (struct vt_model_part){NULL, model->bytes, model->size};
        return true;
    }
    while (external != NULL && --index > 0) {
        external = external->next;
    }
    if (external == NULL) {
        return false;
    }
    *ret_part = (struct vt_model_part){external->location, external->map.bytes, external->map.size};
    return true;
}

const struct vt_attr *vt_node_attr(const struct vt_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i].name, name) == 0) {
            return &node->attrs[i];
        }
    }
    return NULL;
}

int64_t vt_node_int(const struct vt_node *node, const char *name, int64_t fallback)
{
    const struct vt_attr *attr = vt_node_attr(node, name);
    return attr != NULL && attr->type == VT_ATTR_INT ? attr->i : fallback;
}

float vt_node_float(const struct vt_node *node, const char *name, float fallback)
{
    const struct vt_attr *attr = vt_node_attr(node, name);
    return attr != NULL && attr->type == VT_ATTR_FLOAT ? attr->f : fallback;
}

const char *vt_node_string(const struct vt_node *node, const char *name, const char *fallback)
{
    const struct vt_attr *attr = vt_node_attr(node, name);
    return attr != NULL && attr->type == VT_ATTR_STRING ? attr->s : fallback;
}

const int64_t *vt_node_ints(const struct vt_node *node, const char *name, size_t *ret_n)
{
    const struct vt_attr *attr = vt_node_attr(node, name);
    if (attr == NULL || attr->type != VT_ATTR_INTS) {
        *ret_n = 0;
        return NULL;
    }
    *ret_n = attr->n;
    return attr->ints;
}
