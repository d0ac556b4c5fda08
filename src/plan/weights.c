/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is derived from a model's constants once and shared by all its plans: weights in the order
 * that a kernel likes, and constants that the planner folded.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/internal.h"

#define BUCKETS 512u

struct packed {
    struct packed *next;
    const void *source;
    const char *kind;
    uint64_t variant;
    size_t bytes;
    void *memory;
};

struct kept {
    struct kept *next;
    uint32_t value;
    struct vt_tensor tensor;
};

struct vt_weights {
    pthread_mutex_t lock;
    struct packed *packed[BUCKETS];
    struct kept *kept[BUCKETS];
};

enum vt_status vt_weights_new(const struct vt_model *model, struct vt_error *err,
                              struct vt_weights **ret_weights)
{
    (void)model; /* keys are addresses and value numbers of this one model */
    struct vt_weights *weights = vt_calloc(1, sizeof(*weights));
    if (weights == NULL) {
        return vt_out_of_memory(err);
    }
    if (pthread_mutex_init(&weights->lock, NULL) != 0) {
        vt_free(weights);
        return vt_error_set(err, VT_ERR_SYSTEM, "a mutex could not be made");
    }
    *ret_weights = weights;
    return VT_OK;
}

static void packed_free(struct packed *entry)
{
    vt_free(entry->memory);
    vt_free(entry);
}

void vt_weights_free(struct vt_weights *weights)
{
    if (weights == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        while (weights->packed[i] != NULL) {
            struct packed *entry = weights->packed[i];
            weights->packed[i] = entry->next;
            packed_free(entry);
        }
        while (weights->kept[i] != NULL) {
            struct kept *entry = weights->kept[i];
            weights->kept[i] = entry->next;
            vt_free(entry->tensor.data);
            vt_free(entry);
        }
    }
    pthread_mutex_destroy(&weights->lock);
    vt_free(weights);
}

static struct packed *packed_new(const void *source, const char *kind, uint64_t variant,
                                 size_t bytes)
{
    struct packed *entry = vt_calloc(1, sizeof(*entry));
    void *memory = entry != NULL ? vt_alloc(bytes) : NULL;
    if (memory == NULL) {
        vt_free(entry);
        return NULL;
    }
    *entry = (struct packed){NULL, source, kind, variant, bytes, memory};
    return entry;
}

/* Only the source is hashed, so that everything packed from it is found in one bucket. */
static size_t bucket_of(const void *source)
{
    return (size_t)(((uint64_t)(uintptr_t)source >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32) %
           BUCKETS;
}

/*
 * The lock is held while packing: who asks for the same weights at that moment needs to wait
 * anyway. `pack` must not come back here.
 */
const void *vt_weights_pack(struct vt_weights *weights, const void *source, const char *kind,
                            uint64_t variant, size_t bytes, vt_pack_func pack, void *ctx)
{
    size_t bucket = bucket_of(source);
    pthread_mutex_lock(&weights->lock);
    struct packed *entry = weights->packed[bucket];
    while (entry != NULL && (entry->source != source || entry->variant != variant ||
                             entry->bytes != bytes || strcmp(entry->kind, kind) != 0)) {
        entry = entry->next;
    }
    if (entry == NULL) {
        entry = packed_new(source, kind, variant, bytes);
        if (entry != NULL) {
            pack(ctx, entry->memory);
            entry->next = weights->packed[bucket];
            weights->packed[bucket] = entry;
        }
    }
    const void *memory = entry != NULL ? entry->memory : NULL;
    pthread_mutex_unlock(&weights->lock);
    return memory;
}

void vt_weights_forget(struct vt_weights *weights, const void *source, size_t bytes)
{
    uintptr_t begin = (uintptr_t)source;
    pthread_mutex_lock(&weights->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        struct packed **at = &weights->packed[i];
        while (*at != NULL) {
            struct packed *entry = *at;
            uintptr_t address = (uintptr_t)entry->source;
            if (address >= begin && address - begin < bytes) {
                *at = entry->next;
                packed_free(entry);
            } else {
                at = &entry->next;
            }
        }
    }
    pthread_mutex_unlock(&weights->lock);
}

static const struct vt_tensor *find_kept(struct vt_weights *weights, uint32_t value)
{
    struct kept *entry = weights->kept[value % BUCKETS];
    while (entry != NULL && entry->value != value) {
        entry = entry->next;
    }
    return entry != NULL ? &entry->tensor : NULL;
}

const struct vt_tensor *vt_weights_constant(struct vt_weights *weights, uint32_t value)
{
    pthread_mutex_lock(&weights->lock);
    const struct vt_tensor *tensor = find_kept(weights, value);
    pthread_mutex_unlock(&weights->lock);
    return tensor;
}

const struct vt_tensor *vt_weights_keep(struct vt_weights *weights, uint32_t value,
                                        const struct vt_tensor *tensor)
{
    struct kept *fresh = vt_calloc(1, sizeof(*fresh));
    if (fresh == NULL) {
        return NULL;
    }
    fresh->value = value;
    fresh->tensor = *tensor;
    pthread_mutex_lock(&weights->lock);
    const struct vt_tensor *kept = find_kept(weights, value);
    if (kept == NULL) {
        fresh->next = weights->kept[value % BUCKETS];
        weights->kept[value % BUCKETS] = fresh;
        kept = &fresh->tensor;
        fresh = NULL;
    }
    pthread_mutex_unlock(&weights->lock);
    if (fresh != NULL) {
        vt_free(fresh->tensor.data);
        vt_free(fresh);
    }
    return kept;
}
