/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outermost message of an ONNX file, and the entry points of the importer.
 */
#include "graph/import.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Defaults of struct vt_import_limits. The deepest subgraph takes three messages a level. */
#define DEFAULT_DEPTH    64u
#define DEFAULT_NODES    (1u << 20)
#define DEFAULT_VALUES   (1u << 20)
#define DEFAULT_METADATA ((size_t)256 << 20)
/* What a small file may take of that: functions that call each other grow without bound. */
#define METADATA_FLOOR  ((size_t)32 << 20)
#define METADATA_A_BYTE 256u
/* Imported domains that a model may name. */
#define OPSETS_MAX 64u

/* Fields of ModelProto, OperatorSetIdProto. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER_NAME = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET_IMPORT = 8,
    MODEL_FUNCTIONS = 25,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
};

enum vt_status vt_import_fail(struct vt_import *import, enum vt_status status, const char *fmt, ...)
{
    char text[VT_ERROR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return vt_error_set(import->err, status, "%s: %s", import->model->name, text);
}

enum vt_status vt_import_malformed(struct vt_import *import, const struct vt_wire *wire)
{
    return vt_import_fail(import, VT_ERR_FORMAT, "not a sound ONNX file: byte %zu: %s",
                          wire->problem_offset, wire->problem);
}

void *vt_import_calloc(struct vt_import *import, struct vt_arena *arena, size_t n, size_t bytes)
{
    void *memory = vt_arena_calloc(arena, n, bytes);
    size_t total;

    if (memory != NULL) {
        return memory;
    }
    if (__builtin_mul_overflow(n, bytes, &total) ||
        (arena->limit_bytes != 0 && total > arena->limit_bytes - arena->used_bytes)) {
        (void)vt_import_fail(import, VT_ERR_LIMIT, "its graph takes more than %zu MiB of memory",
                             arena->limit_bytes >> 20);
    } else {
        (void)vt_import_fail(import, VT_ERR_MEMORY, "out of memory for %zu bytes", total);
    }
    return NULL;
}

enum vt_status vt_import_text(struct vt_import *import, struct vt_wire *wire,
                              const struct vt_wire_field *field, const char **ret_text)
{
    if (field->type != VT_WIRE_BYTES) {
        vt_wire_fail(wire, "a number stands where a text belongs");
        return vt_import_malformed(import, wire);
    }
    if (memchr(field->bytes, 0, field->size) != NULL) {
        vt_wire_fail(wire, "a name holds a zero byte");
        return vt_import_malformed(import, wire);
    }
    char *text = vt_import_calloc(import, &import->model->arena, field->size + 1, 1);
    if (text == NULL) {
        return import->err->status;
    }
    memcpy(text, field->bytes, field->size);
    *ret_text = text;
    return VT_OK;
}

enum vt_status vt_import_opset(struct vt_import *import, struct vt_wire *wire,
                               struct vt_opset *ret_opset)
{
    struct vt_opset opset = {"", 0};
    struct vt_wire_field field;

    while (vt_wire_next(wire, &field)) {
        if (field.number == OPSET_DOMAIN) {
            enum vt_status status = vt_import_text(import, wire, &field, &opset.domain);
            if (status != VT_OK) {
                return status;
            }
        } else if (field.number == OPSET_VERSION) {
            opset.version = (int64_t)field.value;
        }
    }
    if (wire->problem != NULL) {
        return vt_import_malformed(import, wire);
    }
    if (strcmp(opset.domain, "ai.onnx") == 0) {
        opset.domain = "";
    }
    *ret_opset = opset;
    return VT_OK;
}

static enum vt_status read_opset(struct vt_import *import, struct vt_wire *wire)
{
    struct vt_opset opset;

    enum vt_status status = vt_import_opset(import, wire, &opset);
    if (status != VT_OK) {
        return status;
    }
    if (import->n_opsets == OPSETS_MAX) {
        return vt_import_fail(import, VT_ERR_LIMIT, "imports more than %u operator sets",
                              OPSETS_MAX);
    }
    for (uint32_t i = 0; i < import->n_opsets; i++) {
        if (strcmp(import->opsets[i].domain, opset.domain) == 0) {
            return vt_import_fail(import, VT_ERR_FORMAT, "imports the operator set %s twice",
                                  vt_quote(opset.domain).text);
        }
    }
    import->opsets[import->n_opsets++] = opset;
    if (opset.domain[0] == '\0') {
        import->model->opset = opset.version;
    }
    return VT_OK;
}

/* The outermost message without its graph, which is handed back. */
static enum vt_status read_model(struct vt_import *import, struct vt_wire *wire,
                                 struct vt_wire *ret_graph)
{
    struct vt_model *model = import->model;
    struct vt_wire_field field;
    struct vt_wire inner;
    const char *producer = "", *version = "";
    bool has_graph = false;
    enum vt_status status = VT_OK;

    while (status == VT_OK && vt_wire_next(wire, &field)) {
        switch (field.number) {
        case MODEL_IR_VERSION:
            model->ir_version = (int64_t)field.value;
            break;
        case MODEL_PRODUCER_NAME:
            status = vt_import_text(import, wire, &field, &producer);
            break;
        case MODEL_PRODUCER_VERSION:
            status = vt_import_text(import, wire, &field, &version);
            break;
        case MODEL_OPSET_IMPORT:
            if (vt_wire_enter(wire, &field, &inner)) {
                status = read_opset(import, &inner);
            }
            break;
        case MODEL_FUNCTIONS:
            if (vt_wire_enter(wire, &field, &inner)) {
                status = vt_import_function(import, &inner);
            }
            break;
        case MODEL_GRAPH:
            if (has_graph) {
                vt_wire_fail(wire, "a second main graph");
            } else if (vt_wire_enter(wire, &field, ret_graph)) {
                has_graph = true;
            }
            break;
        default:
            break;
        }
    }
    if (status != VT_OK) {
        return status;
    }
    if (wire->problem != NULL) {
        return vt_import_malformed(import, wire);
    }
    if (!has_graph) {
        return vt_import_fail(import, VT_ERR_FORMAT, "holds no graph: not an ONNX model");
    }
    model->producer =
        vt_arena_printf(&model->arena, "%s%s%s", producer,
                        producer[0] != '\0' && version[0] != '\0' ? " " : "", version);
    if (model->producer == NULL) {
        return vt_import_fail(import, VT_ERR_MEMORY, "out of memory");
    }
    return VT_OK;
}

static enum vt_status check_versions(struct vt_import *import)
{
    int64_t opset = import->model->opset, ir = import->model->ir_version;

    /* 0: the file does not say; nothing depends on it. */
    if (ir < 0 || ir > VT_IR_MAX) {
        return vt_import_fail(
            import, VT_ERR_UNSUPPORTED,
            "uses IR version %lld; 1 to %d are supported (export it again with an "
            "older version of onnx)",
            (long long)ir, VT_IR_MAX);
    }
    if (opset == 0) {
        return vt_import_fail(import, VT_ERR_UNSUPPORTED,
                              "names no version of the ONNX operator set; %d to %d are supported",
                              VT_OPSET_MIN, VT_OPSET_MAX);
    }
    if (opset < VT_OPSET_MIN || opset > VT_OPSET_MAX) {
        return vt_import_fail(
            import, VT_ERR_UNSUPPORTED,
            "uses ONNX opset %lld; %d to %d are supported (export it again at one of these)",
            (long long)opset, VT_OPSET_MIN, VT_OPSET_MAX);
    }
    return VT_OK;
}

static enum vt_status import_bytes(struct vt_import *import, const void *bytes, size_t size)
{
    struct vt_wire wire, graph;

    if (size == 0) {
        return vt_import_fail(import, VT_ERR_FORMAT, "is empty");
    }
    import->opsets =
        vt_import_calloc(import, &import->model->arena, OPSETS_MAX, sizeof(*import->opsets));
    if (import->opsets == NULL) {
        return import->err->status;
    }
    vt_wire_init(&wire, bytes, size, import->limits.max_depth);
    enum vt_status status = read_model(import, &wire, &graph);
    if (status == VT_OK) {
        status = check_versions(import);
    }
    if (status == VT_OK) {
        status = vt_import_graph(import, &graph, NULL, NULL, &import->model->graph);
    }
    return status;
}

static struct vt_import_limits with_defaults(const struct vt_import_limits *given, size_t size)
{
    struct vt_import_limits limits = given != NULL ? *given : (struct vt_import_limits){0};

    limits.max_depth = limits.max_depth != 0 ? limits.max_depth : DEFAULT_DEPTH;
    limits.max_nodes = limits.max_nodes != 0 ? limits.max_nodes : DEFAULT_NODES;
    limits.max_values = limits.max_values != 0 ? limits.max_values : DEFAULT_VALUES;
    if (limits.max_metadata_bytes == 0) {
        limits.max_metadata_bytes = size < (DEFAULT_METADATA - METADATA_FLOOR) / METADATA_A_BYTE
                                        ? METADATA_FLOOR + size * METADATA_A_BYTE
                                        : DEFAULT_METADATA;
    }
    return limits;
}

/* An empty model of that name. */
static struct vt_model *model_new(const char *name, const struct vt_import_limits *limits)
{
    struct vt_model *model = vt_calloc(1, sizeof(*model));
    if (model == NULL) {
        return NULL;
    }
    vt_arena_init(&model->arena, limits->max_metadata_bytes);
    vt_arena_init(&model->weights, 0);
    model->name = vt_arena_strndup(&model->arena, name, strlen(name));
    if (model->name == NULL) {
        vt_model_free(model);
        return NULL;
    }
    return model;
}

/* Imports `bytes`, or the mapped file when they are NULL. Takes the model over. */
static enum vt_status import_model(struct vt_model *model, const struct vt_import_limits *limits,
                                   const void *bytes, size_t size, const char *folder,
                                   struct vt_error *err, struct vt_model **ret_model)
{
    struct vt_error local = VT_ERROR_INIT;
    struct vt_import import = {
        .model = model,
        .limits = *limits,
        .err = &local,
        .folder = folder,
        .seed = (uint64_t)(uintptr_t)model ^ (uint64_t)vt_now_ns() << 20,
    };
    vt_arena_init(&import.scratch, limits->max_metadata_bytes);
    model->bytes = bytes;
    model->size = size;

    enum vt_status status = import_bytes(&import, bytes, size);
    vt_arena_release(&import.scratch);
    vt_free(import.slots);
    vt_free(import.origins);
    if (status != VT_OK) {
        vt_model_free(model);
        return vt_error_set(err, status, "%s", local.text);
    }
    *ret_model = model;
    return VT_OK;
}

enum vt_status vt_model_import(const char *path, const struct vt_import_limits *limits,
                               struct vt_error *err, struct vt_model **ret_model)
{
    struct vt_file_map map;

    enum vt_status status = vt_file_map_open(path, err, &map);
    if (status != VT_OK) {
        return status;
    }
    struct vt_import_limits used = with_defaults(limits, map.size);
    struct vt_model *model = model_new(path, &used);
    char *copy = vt_strdup(path);
    if (model == NULL || copy == NULL) {
        vt_free(copy);
        vt_model_free(model);
        vt_file_map_release(&map);
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", path);
    }
    model->map = map;
    status = import_model(model, &used, map.bytes, map.size, dirname(copy), err, ret_model);
    vt_free(copy);
    return status;
}

enum vt_status vt_model_import_memory(const char *name, const void *bytes, size_t size,
                                      const struct vt_import_limits *limits, struct vt_error *err,
                                      struct vt_model **ret_model)
{
    struct vt_import_limits used = with_defaults(limits, size);
    struct vt_model *model = model_new(name, &used);

    if (model == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", name);
    }
    return import_model(model, &used, bytes, size, NULL, err, ret_model);
}
