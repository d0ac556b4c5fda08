/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "engine/kserve/kserve.h"
#include "engine/module.h"
#include "engine/native/native.h"
#include "engine/null/null.h"
#include "engine/onnxruntime/onnxruntime.h"
#include "engine/openvino/openvino.h"

static const struct vt_engine_ops *const table[] = {
    &vt_native_engine, &vt_onnxruntime_engine, &vt_openvino_engine,
    &vt_kserve_engine, &vt_null_engine,
};
#define TABLE_SIZE (sizeof(table) / sizeof(table[0]))

const struct vt_engine_ops *const *vt_engine_table(size_t *ret_n)
{
    *ret_n = TABLE_SIZE;
    return table;
}

/* --- what an engine may leave out
 * ------------------------------------------------------------------ */

static enum vt_status always_available(struct vt_error *err)
{
    (void)err;
    return VT_OK;
}

static enum vt_status host_alloc(void *engine, size_t bytes, struct vt_error *err,
                                 void **ret_buffer, enum vt_memory *ret_memory)
{
    (void)engine;
    void *buffer = vt_alloc(bytes);
    if (buffer == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for an input of %zu bytes", bytes);
    }
    *ret_buffer = buffer;
    *ret_memory = VT_MEMORY_HOST;
    return VT_OK;
}

static void host_free(void *engine, void *buffer)
{
    (void)engine;
    vt_free(buffer);
}

static void cancel_nothing(void *engine, void *lane, uint64_t id)
{
    (void)engine;
    (void)lane;
    (void)id;
}

/* --- checking
 * -------------------------------------------------------------------------------------- */

static const char *missing_slot(const struct vt_engine_ops *ops)
{
    const struct {
        bool there;
        const char *slot;
    } required[] = {
        {ops->name != NULL, "name"},
        {ops->summary != NULL, "summary"},
        {ops->open != NULL, "open"},
        {ops->close != NULL, "close"},
        {ops->signature != NULL, "signature"},
        {ops->caps != NULL, "caps"},
        {ops->lane_open != NULL, "lane_open"},
        {ops->lane_close != NULL, "lane_close"},
        {ops->submit != NULL, "submit"},
        {ops->wait != NULL, "wait"},
        {(ops->buffer_alloc == NULL) == (ops->buffer_free == NULL),
         ops->buffer_alloc == NULL ? "buffer_alloc (buffer_free is there)"
                                   : "buffer_free (buffer_alloc is there)"},
    };
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (!required[i].there) {
            return required[i].slot;
        }
    }
    return NULL;
}

/* A complete copy of the engine's slots. An engine built against shorter headers of the same
 * version has none of the slots that came later. */
static enum vt_status complete(const char *where, const struct vt_engine_ops *ops,
                               struct vt_error *err, struct vt_engine_ops *ret)
{
    struct vt_engine_ops copy;
    if (ops->api_version != VT_ENGINE_API_VERSION) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "engine %s was built for version %u of the engine interface, this is "
                            "version %d: build it again with these headers",
                            where, ops->api_version, VT_ENGINE_API_VERSION);
    }
    if (ops->struct_size <= offsetof(struct vt_engine_ops, summary)) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "engine %s gives %u as the size of its slots; set struct_size to "
                            "sizeof(struct vt_engine_ops), here %zu",
                            where, ops->struct_size, sizeof(copy));
    }
    memset(&copy, 0, sizeof(copy));
    memcpy(&copy, ops, ops->struct_size < sizeof(copy) ? ops->struct_size : sizeof(copy));
    const char *missing = missing_slot(&copy);
    if (missing != NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "engine %s lacks the required slot %s", where,
                            missing);
    }
    copy.struct_size = sizeof(copy);
    if (copy.probe == NULL) {
        copy.probe = always_available;
    }
    if (copy.buffer_alloc == NULL) {
        copy.buffer_alloc = host_alloc;
        copy.buffer_free = host_free;
    }
    if (copy.cancel == NULL) {
        copy.cancel = cancel_nothing;
    }
    *ret = copy;
    return VT_OK;
}

/* --- finding
 * --------------------------------------------------------------------------------------- */

static enum vt_status unknown_engine(const char *name, struct vt_error *err)
{
    const char *names[TABLE_SIZE];
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        names[i] = table[i]->name;
    }
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".so") == 0) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "no engine '%s'; a module is named by a path with a slash: './%s'",
                            name, name);
    }
    const char *nearest = vt_nearest_name(name, names, TABLE_SIZE);
    return vt_error_set(err, VT_ERR_USAGE,
                        "no engine '%s'%s%s%s; `vatio list` names them, a module is named by its "
                        "path",
                        name, nearest != NULL ? "; did you mean '" : "",
                        nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

enum vt_status vt_engine_find(const char *name, struct vt_error *err, struct vt_engine_ref *ret)
{
    struct vt_engine_ref ref = {.module = NULL};
    if (strchr(name, '/') != NULL) {
        const struct vt_engine_ops *ops = NULL;
        enum vt_status status = vt_module_open(name, err, &ops, &ref.module);
        if (status != VT_OK) {
            return status;
        }
        status = complete(name, ops, err, &ref.ops);
        if (status != VT_OK) {
            vt_module_close(ref.module);
            return status;
        }
        *ret = ref;
        return VT_OK;
    }
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        if (strcmp(table[i]->name, name) == 0) {
            enum vt_status status = complete(name, table[i], err, &ref.ops);
            if (status == VT_OK) {
                *ret = ref;
            }
            return status;
        }
    }
    return unknown_engine(name, err);
}

void vt_engine_ref_release(struct vt_engine_ref *ref)
{
    if (ref != NULL) {
        vt_module_close(ref->module);
        memset(ref, 0, sizeof(*ref));
    }
}
