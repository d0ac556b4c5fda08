/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: options as the settings ask, one session a graph, and its signature as the library
 * understands the model.
 */
#include <stdint.h>
#include <string.h>

#include "base/options.h"
#include "base/quote.h"
#include "engine/onnxruntime/onnxruntime.h"
#include "engine/settings.h"

/* --- options ------------------------------------------------------------------------------------
 */

static const char *const setting_keys[] = {"library",     "provider",       "device",
                                           "graph-level", "execution-mode", "inter-op",
                                           "spinning",    "arena",          "profile"};
#define N_KEYS (sizeof(setting_keys) / sizeof(setting_keys[0]))

struct wishes {
    int64_t inter_op, device;
    size_t graph_level, mode;
    bool spinning, arena;
    const char *profile;
};

/* Those with a dot are the library's own. */
static enum vt_status check_keys(const struct vt_engine_config *config, struct vt_error *err)
{
    for (uint32_t i = 0; i < config->n_settings; i++) {
        const struct vt_engine_config one = {.settings = &config->settings[i], .n_settings = 1};
        if (strchr(config->settings[i].key, '.') == NULL) {
            enum vt_status status =
                vt_engine_check_settings(&one, "onnxruntime", setting_keys, N_KEYS, err);
            if (status != VT_OK) {
                return status;
            }
        }
    }
    return VT_OK;
}

static enum vt_status read_wishes(struct vt_ort_engine *engine,
                                  const struct vt_engine_config *config, struct vt_error *err,
                                  struct wishes *wishes)
{
    static const char *const levels[] = {"0", "1", "2", "99"};
    static const char *const modes[] = {"sequential", "parallel"};
    static const char *const providers[] = {"cpu", "cuda"};
    size_t provider = 0;
    enum vt_status status = check_keys(config, err);
    if (status == VT_OK) {
        status = vt_engine_setting_choice(config, "provider", providers, 2, 0, err, &provider);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_int(config, "device", 0, 0, 255, err, &wishes->device);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_choice(config, "graph-level", levels, 4, 3, err,
                                          &wishes->graph_level);
    }
    if (status == VT_OK) {
        status =
            vt_engine_setting_choice(config, "execution-mode", modes, 2, 0, err, &wishes->mode);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_int(config, "inter-op", engine->threads, 1, 1024, err,
                                       &wishes->inter_op);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_switch(config, "spinning", true, err, &wishes->spinning);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_switch(config, "arena", true, err, &wishes->arena);
    }
    wishes->profile = vt_engine_setting_text(config, "profile", "off");
    engine->cuda = provider == 1;
    return status;
}

static enum vt_status add_cuda(struct vt_ort_engine *engine, struct ort_session_options *options,
                               int device, struct vt_error *err)
{
    const struct ort_cuda_options cuda = {
        .device_id = device, .gpu_mem_limit = SIZE_MAX, .do_copy_in_default_stream = 1};
    struct vt_error why = VT_ERROR_INIT;
    if (vt_ort_check(engine, engine->api->append_execution_provider_cuda(options, &cuda),
                     "provider=cuda", &why) != VT_OK) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "%s; it is the wheel onnxruntime-gpu that computes on NVIDIA's GPUs",
                            why.text);
    }
    return VT_OK;
}

/* Entries under the library's own names, and the one for spinning. */
static enum vt_status add_entries(struct vt_ort_engine *engine,
                                  const struct vt_engine_config *config, bool spinning,
                                  struct ort_session_options *options, struct vt_error *err)
{
    static const char *const pools[] = {"session.intra_op.allow_spinning",
                                        "session.inter_op.allow_spinning"};
    for (size_t i = 0; i < 2; i++) {
        enum vt_status status = vt_ort_check(
            engine, engine->api->add_session_config_entry(options, pools[i], spinning ? "1" : "0"),
            "setting 'spinning'", err);
        if (status != VT_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < config->n_settings; i++) {
        const struct vt_setting *setting = &config->settings[i];
        if (strchr(setting->key, '.') == NULL) {
            continue;
        }
        enum vt_status status = vt_ort_check(
            engine, engine->api->add_session_config_entry(options, setting->key, setting->value),
            setting->key, err);
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

/* Lanes compute too: the pool has the threads that are left besides theirs, and counts the caller
 * as one of its own. */
static int pool_threads(uint32_t threads, uint32_t lanes)
{
    return threads > lanes ? (int)(threads - lanes + 1) : 1;
}

static enum vt_status set_options(struct vt_ort_engine *engine,
                                  const struct vt_engine_config *config,
                                  const struct wishes *wishes, struct ort_session_options *options,
                                  struct vt_error *err)
{
    static const int levels[] = {0, 1, 2, 99};
    const struct ort_api *api = engine->api;
    uint32_t lanes = config->lanes > 0 ? config->lanes : 1;
    enum vt_status status = vt_ort_check(
        engine, api->set_session_graph_optimization_level(options, levels[wishes->graph_level]),
        "setting 'graph-level'", err);
    if (status == VT_OK) {
        status = vt_ort_check(
            engine, api->set_intra_op_num_threads(options, pool_threads(engine->threads, lanes)),
            "threads", err);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine,
                              api->set_session_execution_mode(
                                  options, wishes->mode == 1 ? ORT_PARALLEL : ORT_SEQUENTIAL),
                              "setting 'execution-mode'", err);
    }
    if (status == VT_OK && wishes->mode == 1) {
        status = vt_ort_check(engine, api->set_inter_op_num_threads(options, (int)wishes->inter_op),
                              "setting 'inter-op'", err);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine,
                              wishes->arena ? api->enable_cpu_mem_arena(options)
                                            : api->disable_cpu_mem_arena(options),
                              "setting 'arena'", err);
    }
    if (status == VT_OK && strcmp(wishes->profile, "off") != 0) {
        status = vt_ort_check(engine, api->enable_profiling(options, wishes->profile),
                              "setting 'profile'", err);
    }
    if (status == VT_OK && engine->cuda) {
        status = add_cuda(engine, options, (int)wishes->device, err);
    }
    return status == VT_OK ? add_entries(engine, config, wishes->spinning, options, err) : status;
}

/* --- signatures ---------------------------------------------------------------------------------
 */

static enum vt_status read_shape(struct vt_ort_engine *engine, const struct ort_tensor_info *info,
                                 struct vt_port *port, struct vt_error *err)
{
    const struct ort_api *api = engine->api;
    const char *symbols[VT_RANK_MAX] = {NULL};
    int element_type = 0;
    size_t rank = 0;
    enum vt_status status =
        vt_ort_check(engine, api->get_tensor_element_type(info, &element_type), port->name, err);
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_dimensions_count(info, &rank), port->name, err);
    }
    if (status != VT_OK) {
        return status;
    }
    /* The library numbers element types as ONNX does, and so does vatio. */
    if (element_type < 0 || vt_dtype_bytes((enum vt_dtype)element_type) == 0) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s has elements of type %s (%d), which vatio does not feed or read",
                            vt_quote(port->name).text, vt_dtype_name((enum vt_dtype)element_type),
                            element_type);
    }
    if (rank > VT_RANK_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s has %zu dimensions, at most %d are possible",
                            vt_quote(port->name).text, rank, VT_RANK_MAX);
    }
    port->dtype = (enum vt_dtype)element_type;
    port->rank = (uint32_t)rank;
    status = vt_ort_check(engine, api->get_dimensions(info, port->dim, rank), port->name, err);
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->get_symbolic_dimensions(info, symbols, rank), port->name,
                              err);
    }
    for (size_t d = 0; status == VT_OK && d < rank; d++) {
        if (port->dim[d] >= 0) {
            continue;
        }
        port->dim[d] = -1;
        if (symbols[d] != NULL && symbols[d][0] != '\0') {
            port->symbol[d] = vt_arena_strndup(&engine->arena, symbols[d], strlen(symbols[d]));
            if (port->symbol[d] == NULL) {
                status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for the signature");
            }
        }
    }
    return status;
}

static enum vt_status read_name(struct vt_ort_engine *engine, struct ort_session *session,
                                size_t index, bool input, struct vt_error *err,
                                const char **ret_name)
{
    const struct ort_api *api = engine->api;
    struct ort_allocator *allocator = NULL;
    char *name = NULL;
    enum vt_status status =
        vt_ort_check(engine, api->get_allocator_with_default_options(&allocator), "names", err);
    if (status == VT_OK) {
        status =
            vt_ort_check(engine,
                         input ? api->session_get_input_name(session, index, allocator, &name)
                               : api->session_get_output_name(session, index, allocator, &name),
                         "names", err);
    }
    if (status != VT_OK) {
        return status;
    }
    *ret_name = vt_arena_strndup(&engine->arena, name, strlen(name));
    (void)vt_ort_check(engine, api->allocator_free(allocator, name), "names", NULL);
    return *ret_name != NULL ? VT_OK
                             : vt_error_set(err, VT_ERR_MEMORY, "out of memory for the signature");
}

static enum vt_status read_port(struct vt_ort_engine *engine, struct ort_session *session,
                                size_t index, bool input, struct vt_port *port,
                                struct vt_error *err)
{
    const struct ort_api *api = engine->api;
    struct ort_type_info *type = NULL;
    const struct ort_tensor_info *info = NULL;
    int kind = 0;
    enum vt_status status = read_name(engine, session, index, input, err, &port->name);
    if (status == VT_OK) {
        status = vt_ort_check(engine,
                              input ? api->session_get_input_type_info(session, index, &type)
                                    : api->session_get_output_type_info(session, index, &type),
                              port->name, err);
    }
    if (status == VT_OK) {
        status =
            vt_ort_check(engine, api->get_onnx_type_from_type_info(type, &kind), port->name, err);
    }
    if (status == VT_OK && kind != ORT_TYPE_TENSOR) {
        status = vt_error_set(err, VT_ERR_UNSUPPORTED,
                              "%s is no tensor but a sequence, map or optional, which vatio does "
                              "not feed or read",
                              vt_quote(port->name).text);
    }
    if (status == VT_OK) {
        status =
            vt_ort_check(engine, api->cast_type_info_to_tensor_info(type, &info), port->name, err);
    }
    if (status == VT_OK) {
        status = read_shape(engine, info, port, err);
    }
    if (type != NULL) {
        api->release_type_info(type);
    }
    return status;
}

static enum vt_status read_ports(struct vt_ort_engine *engine, struct vt_ort_graph *graph,
                                 struct vt_error *err)
{
    const struct ort_api *api = engine->api;
    size_t n_inputs = 0, n_outputs = 0;
    enum vt_status status = vt_ort_check(
        engine, api->session_get_input_count(graph->session, &n_inputs), "inputs", err);
    if (status == VT_OK) {
        status = vt_ort_check(engine, api->session_get_output_count(graph->session, &n_outputs),
                              "outputs", err);
    }
    if (status != VT_OK) {
        return status;
    }
    if (n_inputs > UINT32_MAX || n_outputs > UINT32_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "the model has %zu inputs and %zu outputs", n_inputs,
                            n_outputs);
    }
    struct vt_arena *arena = &engine->arena;
    graph->ports = (struct vt_ports){vt_arena_calloc(arena, n_inputs + 1, sizeof(struct vt_port)),
                                     vt_arena_calloc(arena, n_outputs + 1, sizeof(struct vt_port)),
                                     (uint32_t)n_inputs, (uint32_t)n_outputs};
    graph->input_names = vt_arena_calloc(arena, n_inputs + 1, sizeof(char *));
    graph->output_names = vt_arena_calloc(arena, n_outputs + 1, sizeof(char *));
    if (graph->ports.inputs == NULL || graph->ports.outputs == NULL || graph->input_names == NULL ||
        graph->output_names == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the signature");
    }
    for (size_t i = 0; i < n_inputs && status == VT_OK; i++) {
        status = read_port(engine, graph->session, i, true, &graph->ports.inputs[i], err);
        graph->input_names[i] = graph->ports.inputs[i].name;
    }
    for (size_t i = 0; i < n_outputs && status == VT_OK; i++) {
        status = read_port(engine, graph->session, i, false, &graph->ports.outputs[i], err);
        graph->output_names[i] = graph->ports.outputs[i].name;
    }
    graph->signature = (struct vt_signature){graph->ports.inputs, graph->ports.outputs,
                                             graph->ports.n_inputs, graph->ports.n_outputs};
    return status;
}

/* --- opening ------------------------------------------------------------------------------------
 */

static bool knows(void *context, uint32_t graph, const char *name)
{
    const struct vt_ort_engine *engine = context;
    return vt_ports_know(&engine->graphs[graph].ports, name);
}

/* The library shows a shape of unknown rank as one of rank 0. */
static enum vt_status bind(void *context, uint32_t graph, const struct vt_shape_binding *shapes,
                           uint32_t n, struct vt_error *err)
{
    struct vt_ort_engine *engine = context;
    struct vt_ports *ports = &engine->graphs[graph].ports;
    for (uint32_t i = 0; i < ports->n_inputs; i++) {
        for (uint32_t k = 0; k < n; k++) {
            if (ports->inputs[i].rank == 0 && shapes[k].rank > 0 &&
                strcmp(ports->inputs[i].name, shapes[k].name) == 0) {
                ports->inputs[i].rank = VT_RANK_UNKNOWN;
            }
        }
    }
    return vt_ports_bind(ports, shapes, n, err);
}

static enum vt_status open_session(struct vt_ort_engine *engine,
                                   const struct vt_graph_source *source,
                                   const struct ort_session_options *options,
                                   struct vt_ort_graph *graph, struct vt_error *err)
{
    if (source->path == NULL && source->bytes == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s is no model file; what a server has, engine kserve runs",
                            source->name);
    }
    ort_result result =
        source->path != NULL
            ? engine->api->create_session(engine->env, source->path, options, &graph->session)
            : engine->api->create_session_from_array(engine->env, source->bytes, source->n_bytes,
                                                     options, &graph->session);
    struct vt_error failure = VT_ERROR_INIT;
    enum vt_status status = vt_ort_check(engine, result, source->name, &failure);
    if (status != VT_OK) {
        graph->session = NULL;
        /* A model that it does not take is an input that is not understood, not a failed engine. */
        bool model = status == VT_ERR_ENGINE || status == VT_ERR_USAGE;
        return vt_error_set(err, model && !engine->cuda ? VT_ERR_FORMAT : status, "%s",
                            failure.text);
    }
    status = read_ports(engine, graph, err);
    if (status != VT_OK) {
        vt_error_prefix(err, "%s", source->name);
    }
    return status;
}

enum vt_status vt_ort_sessions_open(struct vt_ort_engine *engine, const struct vt_bundle *bundle,
                                    const struct vt_engine_config *config, struct vt_error *err)
{
    struct ort_session_options *options = NULL;
    struct wishes wishes = {0};
    if (bundle->n_graphs == 0) {
        return vt_error_set(err, VT_ERR_USAGE, "the bundle holds no model");
    }
    enum vt_status status = read_wishes(engine, config, err, &wishes);
    engine->graphs = vt_arena_calloc(&engine->arena, bundle->n_graphs, sizeof(*engine->graphs));
    engine->signatures = vt_arena_calloc(&engine->arena, bundle->n_graphs, sizeof(void *));
    if (status == VT_OK && (engine->graphs == NULL || engine->signatures == NULL)) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u models", bundle->n_graphs);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine, engine->api->create_session_options(&options),
                              "session options", err);
    }
    if (status == VT_OK) {
        status = set_options(engine, config, &wishes, options, err);
    }
    for (uint32_t g = 0; g < bundle->n_graphs && status == VT_OK; g++) {
        engine->n_graphs = g + 1;
        engine->signatures[g] = &engine->graphs[g].signature;
        status = open_session(engine, &bundle->graphs[g], options, &engine->graphs[g], err);
    }
    if (options != NULL) {
        engine->api->release_session_options(options);
    }
    if (status == VT_OK) {
        const struct vt_shape_taker taker = {engine, engine->n_graphs, knows, bind};
        status = vt_engine_deal_shapes(config, &taker, err);
    }
    return status;
}
