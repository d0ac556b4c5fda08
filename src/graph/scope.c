/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to values: one open-addressing table for all scopes, keyed by scope and name.
 */
#include <string.h>

#include "graph/import.h"

#define SLOTS_FIRST 64u

static uint32_t hash_name(const struct vt_import *import, uint32_t scope, const uint8_t *name,
                          size_t length)
{
    uint64_t hash = import->seed ^ ((uint64_t)scope << 32 | (uint32_t)length);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ name[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

/* The slot that holds the name, or the empty one where it would go. */
static struct vt_scope_slot *find_slot(const struct vt_import *import, uint32_t scope,
                                       const uint8_t *name, size_t length, uint32_t hash)
{
    uint32_t mask = import->n_slots - 1;

    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        struct vt_scope_slot *slot = &import->slots[i];
        if (slot->value == VT_NO_VALUE) {
            return slot;
        }
        const struct vt_value_origin *origin = &import->origins[slot->value];
        if (slot->hash == hash && origin->scope == scope && origin->name_length == length &&
            memcmp(import->model->values[slot->value].name, name, length) == 0) {
            return slot;
        }
    }
}

/* Keeps the table at most half full. */
static bool grow_slots(struct vt_import *import)
{
    uint32_t n = import->n_slots == 0 ? SLOTS_FIRST : import->n_slots;

    while (n / 2 < import->model->n_values + 1) {
        n *= 2;
    }
    if (n == import->n_slots) {
        return true;
    }
    struct vt_scope_slot *slots = vt_alloc((size_t)n * sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0xff, (size_t)n * sizeof(*slots));
    for (uint32_t i = 0; i < import->n_slots; i++) {
        if (import->slots[i].value == VT_NO_VALUE) {
            continue;
        }
        uint32_t at = import->slots[i].hash & (n - 1);
        while (slots[at].value != VT_NO_VALUE) {
            at = (at + 1) & (n - 1);
        }
        slots[at] = import->slots[i];
    }
    vt_free(import->slots);
    import->slots = slots;
    import->n_slots = n;
    return true;
}

/* Room for one more value. */
static bool grow_values(struct vt_import *import)
{
    struct vt_model *model = import->model;

    if (model->n_values == model->value_capacity) {
        uint32_t capacity = model->value_capacity == 0 ? 64 : model->value_capacity * 2;
        void *values = vt_regrow(model->values, model->n_values * sizeof(*model->values),
                                 capacity * sizeof(*model->values));
        if (values == NULL) {
            return false;
        }
        model->values = values;
        model->value_capacity = capacity;
    }
    if (model->n_values == import->origin_capacity) {
        uint32_t capacity = import->origin_capacity == 0 ? 64 : import->origin_capacity * 2;
        void *origins = vt_regrow(import->origins, model->n_values * sizeof(*import->origins),
                                  capacity * sizeof(*import->origins));
        if (origins == NULL) {
            return false;
        }
        import->origins = origins;
        import->origin_capacity = capacity;
    }
    return true;
}

enum vt_status vt_scope_declare(struct vt_import *import, const struct vt_scope *scope,
                                const char *name, enum vt_value_kind kind, uint32_t *ret_value)
{
    struct vt_model *model = import->model;
    size_t length = strlen(name);

    if (model->n_values >= import->limits.max_values) {
        return vt_import_fail(import, VT_ERR_LIMIT, "more than %u values",
                              import->limits.max_values);
    }
    if (!grow_slots(import) || !grow_values(import)) {
        return vt_import_fail(import, VT_ERR_MEMORY, "out of memory for %u values",
                              model->n_values + 1);
    }
    uint32_t hash = hash_name(import, scope->number, (const uint8_t *)name, length);
    struct vt_scope_slot *slot =
        find_slot(import, scope->number, (const uint8_t *)name, length, hash);
    if (slot->value != VT_NO_VALUE) {
        return vt_import_fail(import, VT_ERR_FORMAT, "two values of one graph are named %s",
                              vt_quote(name).text);
    }
    uint32_t number = model->n_values++;
    model->values[number] = (struct vt_value){
        .name = name,
        .kind = kind,
        .dtype = VT_UNDEFINED,
        .rank = VT_RANK_UNKNOWN,
    };
    import->origins[number] = (struct vt_value_origin){
        .scope = scope->number,
        .producer = VT_NO_VALUE,
        .name_length = (uint32_t)length,
    };
    *slot = (struct vt_scope_slot){.value = number, .hash = hash};
    *ret_value = number;
    return VT_OK;
}

enum vt_status vt_scope_nameless(struct vt_import *import, uint32_t scope, enum vt_value_kind kind,
                                 uint32_t *ret_value)
{
    struct vt_model *model = import->model;

    if (model->n_values >= import->limits.max_values) {
        return vt_import_fail(import, VT_ERR_LIMIT, "more than %u values",
                              import->limits.max_values);
    }
    if (!grow_values(import)) {
        return vt_import_fail(import, VT_ERR_MEMORY, "out of memory for %u values",
                              model->n_values + 1);
    }
    *ret_value = model->n_values++;
    model->values[*ret_value] =
        (struct vt_value){.name = "", .kind = kind, .dtype = VT_UNDEFINED, .rank = VT_RANK_UNKNOWN};
    import->origins[*ret_value] = (struct vt_value_origin){.scope = scope, .producer = VT_NO_VALUE};
    return VT_OK;
}

uint32_t vt_scope_find_here(const struct vt_import *import, const struct vt_scope *scope,
                            const uint8_t *name, size_t length)
{
    if (import->n_slots == 0) {
        return VT_NO_VALUE;
    }
    uint32_t hash = hash_name(import, scope->number, name, length);
    return find_slot(import, scope->number, name, length, hash)->value;
}

uint32_t vt_scope_find(const struct vt_import *import, const struct vt_scope *scope,
                       const uint8_t *name, size_t length)
{
    for (; scope != NULL; scope = scope->parent) {
        uint32_t value = vt_scope_find_here(import, scope, name, length);
        if (value != VT_NO_VALUE) {
            return value;
        }
    }
    return VT_NO_VALUE;
}
