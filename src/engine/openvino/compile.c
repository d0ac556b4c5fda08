/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a model to a compiled one: properties as the settings ask, the signature, shapes that are
 * fixed before compiling.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "engine/openvino/openvino.h"
#include "engine/settings.h"
#include "graph/graph.h"

/* --- properties ---------------------------------------------------------------------------------
 */

static const char *const setting_keys[] = {"library", "device",  "precision",
                                           "hint",    "streams", "pinning"};
#define N_KEYS (sizeof(setting_keys) / sizeof(setting_keys[0]))

/* The library's own names are in capitals. */
static bool is_property(const char *key)
{
    for (const char *at = key; *at != '\0'; at++) {
        if (!isupper((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '_') {
            return false;
        }
    }
    return key[0] != '\0';
}

static enum vt_status set_property(struct vt_ov_engine *engine, const char *key, const char *value,
                                   struct vt_error *err)
{
    return vt_ov_check(
        engine, engine->api.core_set_property(engine->core, engine->device, key, value), key, err);
}

static enum vt_status set_number(struct vt_ov_engine *engine, const char *key, int64_t value,
                                 struct vt_error *err)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)value);
    return set_property(engine, key, text, err);
}

static enum vt_status set_hints(struct vt_ov_engine *engine, const struct vt_engine_config *config,
                                struct vt_error *err)
{
    static const char *const hints[] = {"latency", "throughput", "none"};
    static const char *const hint_values[] = {"LATENCY", "THROUGHPUT"};
    static const char *const precisions[] = {"f32", "bf16", "f16"};
    static const char *const precision_names[] = {"fp32", "bf16", "fp16"};
    size_t hint = 0, precision = 0;
    enum vt_status status =
        vt_engine_setting_choice(config, "hint", hints, 3, config->lanes > 1 ? 1 : 0, err, &hint);
    if (status == VT_OK) {
        status = vt_engine_setting_choice(config, "precision", precisions, 3, 0, err, &precision);
    }
    if (status == VT_OK && hint < 2) {
        status = set_property(engine, "PERFORMANCE_HINT", hint_values[hint], err);
    }
    if (status == VT_OK) {
        status = set_property(engine, "INFERENCE_PRECISION_HINT", precisions[precision], err);
        engine->precision = precision_names[precision];
    }
    return status;
}

static enum vt_status set_threads(struct vt_ov_engine *engine,
                                  const struct vt_engine_config *config, struct vt_error *err)
{
    const char *pinning = vt_engine_setting_text(config, "pinning", NULL);
    bool on_cpu = strcmp(engine->device, "CPU") == 0, pinned = false;
    int64_t streams = 0;
    enum vt_status status = vt_engine_setting_int(
        config, "streams", config->lanes > 0 ? config->lanes : 1, 1, 1024, err, &streams);
    if (status == VT_OK) {
        status = set_number(engine, "NUM_STREAMS", streams, err);
    }
    if (status == VT_OK && on_cpu) {
        status = set_number(engine, "INFERENCE_NUM_THREADS", engine->threads, err);
    }
    if (status == VT_OK && pinning != NULL) {
        status = vt_engine_setting_switch(config, "pinning", false, err, &pinned);
        if (status == VT_OK) {
            status = set_property(engine, "ENABLE_CPU_PINNING", pinned ? "YES" : "NO", err);
        }
    }
    return status;
}

static enum vt_status set_properties(struct vt_ov_engine *engine,
                                     const struct vt_engine_config *config, struct vt_error *err)
{
    const char *device = vt_engine_setting_text(config, "device", "CPU");
    for (uint32_t i = 0; i < config->n_settings; i++) {
        const struct vt_engine_config one = {.settings = &config->settings[i], .n_settings = 1};
        if (!is_property(config->settings[i].key)) {
            enum vt_status status =
                vt_engine_check_settings(&one, "openvino", setting_keys, N_KEYS, err);
            if (status != VT_OK) {
                return status;
            }
        }
    }
    engine->device = vt_arena_strndup(&engine->arena, device, strlen(device));
    if (engine->device == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the engine");
    }
    enum vt_status status = set_hints(engine, config, err);
    if (status == VT_OK) {
        status = set_threads(engine, config, err);
    }
    for (uint32_t i = 0; i < config->n_settings && status == VT_OK; i++) {
        if (is_property(config->settings[i].key)) {
            status = set_property(engine, config->settings[i].key, config->settings[i].value, err);
        }
    }
    return status;
}

/* --- signatures ---------------------------------------------------------------------------------
 */

static enum vt_status read_shape(struct vt_ov_engine *engine, const struct ov_port *from,
                                 struct vt_port *port, struct vt_error *err)
{
    struct ov_partial_shape shape = {{0, 0}, NULL};
    enum vt_status status =
        vt_ov_check(engine, engine->api.port_get_shape(from, &shape), port->name, err);
    if (status != VT_OK) {
        return status;
    }
    memset(port->dim, 0, sizeof(port->dim));
    if (shape.rank.min != shape.rank.max) {
        port->rank = VT_RANK_UNKNOWN;
    } else if (shape.rank.max < 0 || shape.rank.max > VT_RANK_MAX) {
        status = vt_error_set(err, VT_ERR_LIMIT, "%s has %lld dimensions, at most %d are possible",
                              vt_quote(port->name).text, (long long)shape.rank.max, VT_RANK_MAX);
    } else {
        port->rank = (uint32_t)shape.rank.max;
        for (uint32_t d = 0; d < port->rank; d++) {
            bool fixed = shape.dims[d].min == shape.dims[d].max && shape.dims[d].max >= 0;
            port->dim[d] = fixed ? shape.dims[d].max : -1;
        }
    }
    engine->api.partial_shape_free(&shape);
    return status;
}

static enum vt_status read_port(struct vt_ov_engine *engine, const struct ov_port *from,
                                struct vt_port *port, struct vt_error *err)
{
    char *name = NULL;
    int type = -1;
    /* A port may have no name at all. */
    bool named = engine->api.port_get_name(from, &name) == 0 && name != NULL;
    port->name = vt_arena_strndup(&engine->arena, named ? name : "", named ? strlen(name) : 0);
    if (named) {
        engine->api.free(name);
    }
    if (port->name == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the signature");
    }
    enum vt_status status =
        vt_ov_check(engine, engine->api.port_get_element_type(from, &type), port->name, err);
    if (status != VT_OK) {
        return status;
    }
    port->dtype = type >= 0 && type < VT_OV_TYPES ? engine->dtype_of[type] : VT_UNDEFINED;
    if (port->dtype == VT_UNDEFINED) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s has elements of a type (OpenVINO's number %d) that vatio does not "
                            "feed or read, text for instance",
                            vt_quote(port->name).text, type);
    }
    return read_shape(engine, from, port, err);
}

static enum vt_status read_side(struct vt_ov_engine *engine, const struct ov_model *model,
                                bool inputs, struct vt_port **ret_ports, uint32_t *ret_n,
                                struct vt_error *err)
{
    const struct ov_api *api = &engine->api;
    size_t n = 0;
    enum vt_status status = vt_ov_check(
        engine, inputs ? api->model_inputs_size(model, &n) : api->model_outputs_size(model, &n),
        inputs ? "inputs" : "outputs", err);
    if (status != VT_OK) {
        return status;
    }
    struct vt_port *ports = vt_arena_calloc(&engine->arena, n + 1, sizeof(*ports));
    if (ports == NULL || n > UINT32_MAX) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %zu inputs or outputs", n);
    }
    for (size_t i = 0; i < n && status == VT_OK; i++) {
        struct ov_port *from = NULL;
        status = vt_ov_check(
            engine, inputs ? api->model_input(model, i, &from) : api->model_output(model, i, &from),
            inputs ? "inputs" : "outputs", err);
        if (status == VT_OK) {
            status = read_port(engine, from, &ports[i], err);
            api->port_free(from);
        }
    }
    if (status == VT_OK) {
        *ret_ports = ports;
        *ret_n = (uint32_t)n;
    }
    return status;
}

/* Whether the library knows the input or output by this name too. */
static bool has_name(const struct vt_ov_engine *engine, const struct ov_model *model, bool input,
                     const char *name)
{
    struct ov_port *port = NULL;
    int result = input ? engine->api.model_input_by_name(model, name, &port)
                       : engine->api.model_output_by_name(model, name, &port);
    if (result != 0) {
        return false;
    }
    engine->api.port_free(port);
    return true;
}

/*
 * A tensor has several names where an Identity was taken away, and extents have none at all. What
 * the file says is taken where both tell of the same number of ports in the same order.
 */
static enum vt_status take_names(struct vt_ov_engine *engine, const struct ov_model *model,
                                 struct vt_port *ports, uint32_t n, bool input,
                                 const struct vt_value *values, const uint32_t *numbers,
                                 struct vt_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *name = values[numbers[i]].name;
        if (strcmp(name, ports[i].name) != 0 && !has_name(engine, model, input, name)) {
            return VT_OK;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vt_value *value = &values[numbers[i]];
        struct vt_port *port = &ports[i];
        port->name = vt_arena_strndup(&engine->arena, value->name, strlen(value->name));
        bool complete = port->name != NULL;
        for (uint32_t d = 0; port->rank == value->rank && d < port->rank && complete; d++) {
            const char *symbol = value->symbol[d];
            if (port->dim[d] < 0 && symbol != NULL) {
                port->symbol[d] = vt_arena_strndup(&engine->arena, symbol, strlen(symbol));
                complete = port->symbol[d] != NULL;
            }
        }
        if (!complete) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the signature");
        }
    }
    return VT_OK;
}

static enum vt_status name_ports(struct vt_ov_engine *engine, const struct vt_graph_source *source,
                                 struct vt_ov_graph *graph, struct vt_error *err)
{
    struct vt_error ignored = VT_ERROR_INIT;
    struct vt_model *model = NULL;
    enum vt_status status = source->path != NULL
                                ? vt_model_import(source->path, NULL, &ignored, &model)
                                : vt_model_import_memory(source->name, source->bytes,
                                                         source->n_bytes, NULL, &ignored, &model);
    if (status != VT_OK) {
        return VT_OK; /* the library reads more than vatio does */
    }
    const struct vt_graph *main_graph = vt_model_graph(model);
    const struct vt_value *values = vt_model_values(model);
    struct vt_ports *ports = &graph->ports;
    if (main_graph->n_inputs == ports->n_inputs) {
        status = take_names(engine, graph->model, ports->inputs, ports->n_inputs, true, values,
                            main_graph->inputs, err);
    }
    if (status == VT_OK && main_graph->n_outputs == ports->n_outputs) {
        status = take_names(engine, graph->model, ports->outputs, ports->n_outputs, false, values,
                            main_graph->outputs, err);
    }
    vt_model_free(model);
    return status;
}

/* --- shapes -------------------------------------------------------------------------------------
 */

/* Gives the library the shapes of the inputs as they are now, and reads those of the outputs. */
static enum vt_status reshape(struct vt_ov_engine *engine, struct vt_ov_graph *graph,
                              struct vt_error *err)
{
    struct vt_ports *ports = &graph->ports;
    struct vt_arena *arena = &engine->arena;
    struct ov_partial_shape *shapes = vt_arena_calloc(arena, ports->n_inputs, sizeof(*shapes));
    size_t *indexes = vt_arena_calloc(arena, ports->n_inputs, sizeof(*indexes));
    struct ov_dimension *dims =
        vt_arena_calloc(arena, ports->n_inputs, VT_RANK_MAX * sizeof(*dims));
    if (shapes == NULL || indexes == NULL || dims == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for shapes");
    }
    for (uint32_t i = 0; i < ports->n_inputs; i++) {
        const struct vt_port *port = &ports->inputs[i];
        indexes[i] = i;
        shapes[i] =
            (struct ov_partial_shape){{port->rank, port->rank}, dims + (size_t)i * VT_RANK_MAX};
        for (uint32_t d = 0; d < port->rank; d++) {
            shapes[i].dims[d] = port->dim[d] >= 0
                                    ? (struct ov_dimension){port->dim[d], port->dim[d]}
                                    : (struct ov_dimension){0, -1};
        }
    }
    enum vt_status status = vt_ov_check(
        engine, engine->api.model_reshape(graph->model, indexes, shapes, ports->n_inputs),
        "fixing the shapes", err);
    for (uint32_t i = 0; i < ports->n_outputs && status == VT_OK; i++) {
        struct ov_port *from = NULL;
        status =
            vt_ov_check(engine, engine->api.model_output(graph->model, i, &from), "outputs", err);
        if (status == VT_OK) {
            status = read_shape(engine, from, &ports->outputs[i], err);
            engine->api.port_free(from);
        }
    }
    return status;
}

struct binder {
    struct vt_ov_engine *engine;
    bool one_sample;
};

static bool knows(void *context, uint32_t graph, const char *name)
{
    const struct binder *binder = context;
    return vt_ports_know(&binder->engine->graphs[graph].ports, name);
}

static enum vt_status bind(void *context, uint32_t g, const struct vt_shape_binding *shapes,
                           uint32_t n, struct vt_error *err)
{
    struct binder *binder = context;
    struct vt_ov_graph *graph = &binder->engine->graphs[g];
    struct vt_ports *ports = &graph->ports;
    enum vt_status status = vt_ports_bind(ports, shapes, n, err);
    bool changed = n > 0;
    for (uint32_t i = 0; status == VT_OK && i < ports->n_inputs; i++) {
        if (ports->inputs[i].rank == VT_RANK_UNKNOWN) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "input %s has no declared shape: give one (--shape %s=DIMS)",
                                vt_quote(ports->inputs[i].name).text, ports->inputs[i].name);
        }
    }
    if (status == VT_OK && binder->one_sample && vt_ports_any_batch(ports)) {
        for (uint32_t i = 0; i < ports->n_inputs; i++) {
            ports->inputs[i].dim[0] = 1;
        }
        changed = true;
    }
    if (status == VT_OK && changed) {
        status = reshape(binder->engine, graph, err);
    }
    for (uint32_t i = 0; status == VT_OK && i < ports->n_outputs; i++) {
        struct vt_port *port = &ports->outputs[i];
        if (port->rank == VT_RANK_UNKNOWN) {
            port->rank = 1;
            port->dim[0] = -1;
            port->symbol[0] = "...";
        }
    }
    return status;
}

/* --- opening ------------------------------------------------------------------------------------
 */

static enum vt_status read_model(struct vt_ov_engine *engine, const struct vt_graph_source *source,
                                 struct vt_ov_graph *graph, struct vt_error *err)
{
    if (source->path == NULL && source->bytes == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s is no model file; what a server has, engine kserve runs",
                            source->name);
    }
    struct vt_error failure = VT_ERROR_INIT;
    int result = source->path != NULL
                     ? engine->api.core_read_model(engine->core, source->path, NULL, &graph->model)
                     : engine->api.core_read_model_from_memory(
                           engine->core, source->bytes, source->n_bytes, NULL, &graph->model);
    enum vt_status status = vt_ov_check(engine, result, source->name, &failure);
    if (status != VT_OK) {
        graph->model = NULL;
        /* A model that it does not take is an input that is not understood, not a failed engine. */
        return vt_error_set(err, status == VT_ERR_ENGINE ? VT_ERR_FORMAT : status, "%s",
                            failure.text);
    }
    status =
        read_side(engine, graph->model, true, &graph->ports.inputs, &graph->ports.n_inputs, err);
    if (status == VT_OK) {
        status = read_side(engine, graph->model, false, &graph->ports.outputs,
                           &graph->ports.n_outputs, err);
    }
    if (status == VT_OK) {
        status = name_ports(engine, source, graph, err);
    }
    if (status != VT_OK) {
        vt_error_prefix(err, "%s", source->name);
    }
    return status;
}

static enum vt_status compile(struct vt_ov_engine *engine, const struct vt_graph_source *source,
                              struct vt_ov_graph *graph, struct vt_error *err)
{
    struct vt_error failure = VT_ERROR_INIT;
    enum vt_status status =
        vt_ov_check(engine,
                    engine->api.core_compile_model(engine->core, graph->model, engine->device, 0,
                                                   &graph->compiled),
                    source->name, &failure);
    engine->api.model_free(graph->model);
    graph->model = NULL;
    if (status != VT_OK) {
        graph->compiled = NULL;
        return vt_error_set(err, status, "%s", failure.text);
    }
    graph->signature = (struct vt_signature){graph->ports.inputs, graph->ports.outputs,
                                             graph->ports.n_inputs, graph->ports.n_outputs};
    return VT_OK;
}

enum vt_status vt_ov_graphs_open(struct vt_ov_engine *engine, const struct vt_bundle *bundle,
                                 const struct vt_engine_config *config, struct vt_error *err)
{
    struct binder binder = {engine, config->max_batch == 1};
    if (bundle->n_graphs == 0) {
        return vt_error_set(err, VT_ERR_USAGE, "the bundle holds no model");
    }
    enum vt_status status = set_properties(engine, config, err);
    engine->graphs = vt_arena_calloc(&engine->arena, bundle->n_graphs, sizeof(*engine->graphs));
    engine->signatures = vt_arena_calloc(&engine->arena, bundle->n_graphs, sizeof(void *));
    if (status == VT_OK && (engine->graphs == NULL || engine->signatures == NULL)) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u models", bundle->n_graphs);
    }
    for (uint32_t g = 0; g < bundle->n_graphs && status == VT_OK; g++) {
        engine->n_graphs = g + 1;
        engine->signatures[g] = &engine->graphs[g].signature;
        status = read_model(engine, &bundle->graphs[g], &engine->graphs[g], err);
    }
    if (status == VT_OK) {
        const struct vt_shape_taker taker = {&binder, engine->n_graphs, knows, bind};
        status = vt_engine_deal_shapes(config, &taker, err);
    }
    for (uint32_t g = 0; g < bundle->n_graphs && status == VT_OK; g++) {
        status = compile(engine, &bundle->graphs[g], &engine->graphs[g], err);
    }
    return status;
}
