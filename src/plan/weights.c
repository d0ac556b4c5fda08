/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is derived from a model's constants once and shared by all its plans: weights in the order
 * that a kernel likes, and constants that the planner folded.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/internal.h"
#include "plan/plan_file.h"

#define BUCKETS 512u

struct packed {
    struct packed *next;
    const void *source;
    const char *kind;
    uint64_t variant;
    size_t bytes;
    void *memory;
    bool mapped; /* memory of the plan file */
};

struct kept {
    struct kept *next;
    uint32_t value;
    struct vt_tensor tensor;
};

/* A constant of the model. */
struct source {
    const void *data;
    uint32_t value;
};

struct vt_weights {
    pthread_mutex_t lock;
    const struct vt_plan_file *file; /* NULL: none */
    struct source *sources;          /* by address, then value */
    uint32_t n_sources;
    struct vt_weights_stats stats;
    struct packed *packed[BUCKETS];
    struct kept *kept[BUCKETS];
};

static int compare_sources(const void *a, const void *b)
{
    const struct source *x = a, *y = b;
    if (x->data != y->data) {
        return (uintptr_t)x->data < (uintptr_t)y->data ? -1 : 1;
    }
    return x->value < y->value ? -1 : x->value > y->value;
}

static enum vt_status list_sources(struct vt_weights *weights, const struct vt_model *model,
                                   struct vt_error *err)
{
    const uint32_t n = model != NULL ? vt_model_value_count(model) : 0;
    uint32_t n_constants = 0;
    for (uint32_t i = 0; i < n; i++) {
        n_constants += vt_model_values(model)[i].constant != NULL;
    }
    weights->sources = vt_calloc((size_t)n_constants + 1, sizeof(*weights->sources));
    if (weights->sources == NULL) {
        return vt_out_of_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vt_tensor *constant = vt_model_values(model)[i].constant;
        if (constant != NULL) {
            weights->sources[weights->n_sources++] = (struct source){constant->data, i};
        }
    }
    qsort(weights->sources, weights->n_sources, sizeof(*weights->sources), compare_sources);
    return VT_OK;
}

enum vt_status vt_weights_new(const struct vt_model *model, struct vt_error *err,
                              struct vt_weights **ret_weights)
{
    struct vt_weights *weights = vt_calloc(1, sizeof(*weights));
    if (weights == NULL) {
        return vt_out_of_memory(err);
    }
    enum vt_status status = list_sources(weights, model, err);
    if (status == VT_OK && pthread_mutex_init(&weights->lock, NULL) != 0) {
        status = vt_error_set(err, VT_ERR_SYSTEM, "a mutex could not be made");
    }
    if (status != VT_OK) {
        vt_free(weights->sources);
        vt_free(weights);
        return status;
    }
    *ret_weights = weights;
    return VT_OK;
}

void vt_weights_use(struct vt_weights *weights, const struct vt_plan_file *file)
{
    weights->file = file;
}

void vt_weights_stats(struct vt_weights *weights, struct vt_weights_stats *ret_stats)
{
    pthread_mutex_lock(&weights->lock);
    *ret_stats = weights->stats;
    pthread_mutex_unlock(&weights->lock);
}

static void packed_free(struct packed *entry)
{
    if (!entry->mapped) {
        vt_free(entry->memory);
    }
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
    vt_free(weights->sources);
    vt_free(weights);
}

/* As below, of memory that is itself a packed form: half precision made float. */
static const void *packed_from(const struct vt_weights *weights, const void *memory)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct packed *p = weights->packed[i]; p != NULL; p = p->next) {
            if (p->memory == memory) {
                return p->source;
            }
        }
    }
    return NULL;
}

/* The value that a constant's memory belongs to, the first one where several share it. Under the
 * lock. VT_NO_VALUE: a constant of one plan alone. */
static uint32_t value_of(const struct vt_weights *weights, const void *source)
{
    uint32_t low = 0, high = weights->n_sources;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)weights->sources[middle].data < (uintptr_t)source) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < weights->n_sources && weights->sources[low].data == source) {
        return weights->sources[low].value;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct kept *entry = weights->kept[i]; entry != NULL; entry = entry->next) {
            if (entry->tensor.data == source) {
                return entry->value;
            }
        }
    }
    const void *origin = packed_from(weights, source);
    return origin != NULL ? value_of(weights, origin) : VT_NO_VALUE;
}

uint64_t vt_weights_name(struct vt_weights *weights, const void *source)
{
    if (weights == NULL || source == NULL) {
        return 0;
    }
    pthread_mutex_lock(&weights->lock);
    const uint32_t value = value_of(weights, source);
    pthread_mutex_unlock(&weights->lock);
    /* What has no number is not kept in files either: its address tells it from others. */
    return value != VT_NO_VALUE ? (uint64_t)value + 1
                                : (uint64_t)(uintptr_t)source | UINT64_C(1) << 63;
}

void vt_weights_each(struct vt_weights *weights, vt_packed_visit_func visit, void *ctx)
{
    pthread_mutex_lock(&weights->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct packed *p = weights->packed[i]; p != NULL; p = p->next) {
            const uint32_t value = value_of(weights, p->source);
            if (value != VT_NO_VALUE) {
                visit(ctx, value, p->kind, p->variant, p->bytes, p->memory);
            }
        }
    }
    pthread_mutex_unlock(&weights->lock);
}

/* From the plan file; NULL when it is not there. Under the lock. */
static const void *find_mapped(const struct vt_weights *weights, const void *source,
                               const char *kind, uint64_t variant, size_t bytes)
{
    const uint32_t value = weights->file != NULL ? value_of(weights, source) : VT_NO_VALUE;
    return value != VT_NO_VALUE ? vt_plan_file_weights(weights->file, value, kind, variant, bytes)
                                : NULL;
}

/* Only the source is hashed, so that everything packed from it is found in one bucket. */
static size_t bucket_of(const void *source)
{
    return (size_t)(((uint64_t)(uintptr_t)source >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32) %
           BUCKETS;
}

/* Mapped where the plan file has it, else packed. Under the lock. NULL when out of memory. */
static struct packed *packed_new(struct vt_weights *weights, const struct packed *wanted,
                                 vt_pack_func pack, void *ctx)
{
    const void *mapped =
        find_mapped(weights, wanted->source, wanted->kind, wanted->variant, wanted->bytes);
    struct packed *entry = vt_calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }
    *entry = *wanted;
    entry->mapped = mapped != NULL;
    entry->memory = mapped != NULL ? (void *)(uintptr_t)mapped : vt_alloc(wanted->bytes);
    if (entry->memory == NULL) {
        vt_free(entry);
        return NULL;
    }
    if (mapped != NULL) {
        weights->stats.mapped++;
        weights->stats.mapped_bytes += wanted->bytes;
    } else {
        pack(ctx, entry->memory);
        weights->stats.packed++;
        weights->stats.packed_bytes += wanted->bytes;
    }
    return entry;
}

/*
 * The lock is held while packing: who asks for the same weights at that moment needs to wait
 * anyway. `pack` must not come back here.
 */
const void *vt_weights_pack(struct vt_weights *weights, const void *source, const char *kind,
                            uint64_t variant, size_t bytes, vt_pack_func pack, void *ctx)
{
    static const char nothing[VT_ALIGNMENT] __attribute__((aligned(VT_ALIGNMENT)));
    if (weights == NULL) {
        return nothing;
    }
    const struct packed wanted = {
        .source = source, .kind = kind, .variant = variant, .bytes = bytes};
    size_t bucket = bucket_of(source);
    pthread_mutex_lock(&weights->lock);
    struct packed *entry = weights->packed[bucket];
    while (entry != NULL && (entry->source != source || entry->variant != variant ||
                             entry->bytes != bytes || strcmp(entry->kind, kind) != 0)) {
        entry = entry->next;
    }
    if (entry == NULL) {
        entry = packed_new(weights, &wanted, pack, ctx);
        if (entry != NULL) {
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
