/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol's JSON. All of it comes from a server and is read as such: every field is looked
 * for, every number has a range, every size is held against what was received.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "engine/kserve/kserve.h"
#include "engine/settings.h"

#define PORTS_MAX 4096U

static const struct {
    const char *name;
    enum vt_dtype dtype;
} datatypes[] = {{"BOOL", VT_BOOL},  {"UINT8", VT_U8}, {"UINT16", VT_U16}, {"UINT32", VT_U32},
                 {"UINT64", VT_U64}, {"INT8", VT_I8},  {"INT16", VT_I16},  {"INT32", VT_I32},
                 {"INT64", VT_I64},  {"FP16", VT_F16}, {"FP32", VT_F32},   {"FP64", VT_F64},
                 {"BF16", VT_BF16}};
#define N_DATATYPES (sizeof(datatypes) / sizeof(datatypes[0]))

static enum vt_dtype dtype_of(const char *name)
{
    for (size_t i = 0; i < N_DATATYPES; i++) {
        if (strcmp(datatypes[i].name, name) == 0) {
            return datatypes[i].dtype;
        }
    }
    return VT_UNDEFINED;
}

static const char *datatype_of(enum vt_dtype dtype)
{
    for (size_t i = 0; i < N_DATATYPES; i++) {
        if (datatypes[i].dtype == dtype) {
            return datatypes[i].name;
        }
    }
    return "";
}

static json_t *load(const char *json, size_t n, const char *what, struct vt_error *err)
{
    json_error_t problem;
    json_t *root =
        n <= VT_KSERVE_JSON_MAX ? json_loadb(json, n, JSON_REJECT_DUPLICATES, &problem) : NULL;
    if (root != NULL && json_is_object(root)) {
        return root;
    }
    bool is_json = root != NULL;
    json_decref(root);
    if (n > VT_KSERVE_JSON_MAX) {
        (void)vt_error_set(err, VT_ERR_LIMIT, "%s: %zu bytes of JSON, at most %zu are read", what,
                           n, VT_KSERVE_JSON_MAX);
    } else {
        char why[160];
        (void)vt_error_set(err, VT_ERR_FORMAT, "%s: the answer is no JSON object%s%s", what,
                           is_json ? "" : ": ",
                           is_json ? "" : vt_engine_one_line(problem.text, why, sizeof(why)));
    }
    return NULL;
}

/* name, datatype and shape of an input or output. The name is the JSON's. */
static enum vt_status read_port(const json_t *json, const char *what, struct vt_error *err,
                                struct vt_port *port)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *datatype = json_string_value(json_object_get(json, "datatype"));
    const json_t *shape = json_object_get(json, "shape");
    if (name == NULL || datatype == NULL || !json_is_array(shape)) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: an input or output lacks its name, datatype or shape", what);
    }
    port->name = name;
    port->dtype = dtype_of(datatype);
    if (port->dtype == VT_UNDEFINED) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s: %s is of datatype %s, which vatio does not feed or read", what,
                            vt_quote(name).text, vt_plain(datatype).text);
    }
    if (json_array_size(shape) > VT_RANK_MAX) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: %s has %zu dimensions, at most %d are possible",
                            what, vt_quote(name).text, json_array_size(shape), VT_RANK_MAX);
    }
    port->rank = (uint32_t)json_array_size(shape);
    for (uint32_t d = 0; d < port->rank; d++) {
        const json_t *extent = json_array_get(shape, d);
        if (!json_is_integer(extent) || json_integer_value(extent) < -1) {
            return vt_error_set(err, VT_ERR_FORMAT,
                                "%s: extent %u of %s is no number from -1 upward", what, d,
                                vt_quote(name).text);
        }
        port->dim[d] = json_integer_value(extent);
    }
    return VT_OK;
}

/* --- metadata -----------------------------------------------------------------------------------
 */

static enum vt_status read_ports(struct vt_kserve_engine *engine, const json_t *list,
                                 const char *side, struct vt_error *err, struct vt_port **ret_ports,
                                 uint32_t *ret_n)
{
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n == 0 || n > PORTS_MAX) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: the metadata list %zu %s, from 1 to %u are possible", engine->url,
                            n, side, PORTS_MAX);
    }
    struct vt_port *ports = vt_arena_calloc(&engine->arena, n, sizeof(*ports));
    enum vt_status status = ports != NULL ? VT_OK : VT_ERR_MEMORY;
    for (size_t i = 0; i < n && status == VT_OK; i++) {
        status = read_port(json_array_get(list, i), engine->url, err, &ports[i]);
        if (status == VT_OK) {
            ports[i].name = vt_arena_strndup(&engine->arena, ports[i].name, strlen(ports[i].name));
            status = ports[i].name != NULL ? VT_OK : VT_ERR_MEMORY;
        }
    }
    if (status != VT_OK) {
        return vt_error_set(err, status, "out of memory for the signature");
    }
    *ret_ports = ports;
    *ret_n = (uint32_t)n;
    return VT_OK;
}

enum vt_status vt_kserve_read_metadata(struct vt_kserve_engine *engine, const char *json, size_t n,
                                       struct vt_error *err)
{
    json_t *root = load(json, n, engine->url, err);
    if (root == NULL) {
        return n > VT_KSERVE_JSON_MAX ? VT_ERR_LIMIT : VT_ERR_FORMAT;
    }
    struct vt_ports *ports = &engine->ports;
    enum vt_status status = read_ports(engine, json_object_get(root, "inputs"), "inputs", err,
                                       &ports->inputs, &ports->n_inputs);
    if (status == VT_OK) {
        status = read_ports(engine, json_object_get(root, "outputs"), "outputs", err,
                            &ports->outputs, &ports->n_outputs);
    }
    json_decref(root);
    return status;
}

bool vt_kserve_read_error(const char *json, size_t n, char *text, size_t size)
{
    if (n == 0 || n > VT_KSERVE_JSON_MAX) {
        return false;
    }
    json_t *root = json_loadb(json, n, 0, NULL);
    const char *error = json_string_value(json_object_get(root, "error"));
    bool there = error != NULL && error[0] != '\0';
    if (there) {
        vt_engine_one_line(error, text, size);
    }
    json_decref(root);
    return there;
}

/* --- requests -----------------------------------------------------------------------------------
 */

/* Takes `value` over; passes a failure on. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0; /* also of NULL */
}

static json_t *input_json(const struct vt_port *port, const struct vt_tensor *tensor)
{
    json_t *input = json_object(), *shape = json_array();
    bool good = input != NULL && shape != NULL;
    for (uint32_t d = 0; good && d < tensor->rank; d++) {
        good = json_array_append_new(shape, json_integer((json_int_t)tensor->dim[d])) == 0;
    }
    good = good && put(input, "name", json_string(port->name));
    good = good && put(input, "datatype", json_string(datatype_of(tensor->dtype)));
    good = good && put(input, "shape", json_incref(shape));
    good = good && put(input, "parameters",
                       json_pack("{s:I}", "binary_data_size", (json_int_t)tensor->bytes));
    json_decref(shape);
    if (!good) {
        json_decref(input);
        return NULL;
    }
    return input;
}

static json_t *request_json(const struct vt_kserve_engine *engine, const struct vt_request *request)
{
    char id[24];
    snprintf(id, sizeof(id), "%llu", (unsigned long long)request->id);
    json_t *root = json_object(), *inputs = json_array(), *outputs = json_array();
    bool good = root != NULL && inputs != NULL && outputs != NULL;
    for (uint32_t i = 0; good && i < engine->ports.n_inputs; i++) {
        good = json_array_append_new(
                   inputs, input_json(&engine->ports.inputs[i], &request->inputs[i])) == 0;
    }
    for (uint32_t i = 0; good && i < engine->ports.n_outputs; i++) {
        good = json_array_append_new(outputs, json_pack("{s:s, s:{s:b}}", "name",
                                                        engine->ports.outputs[i].name, "parameters",
                                                        "binary_data", 1)) == 0;
    }
    good = good && put(root, "id", json_string(id));
    good = good && put(root, "inputs", json_incref(inputs));
    good = good && put(root, "outputs", json_incref(outputs));
    json_decref(inputs);
    json_decref(outputs);
    if (!good) {
        json_decref(root);
        return NULL;
    }
    return root;
}

enum vt_status vt_kserve_write_request(const struct vt_kserve_engine *engine,
                                       const struct vt_request *request, struct vt_error *err,
                                       char **ret_json, size_t *ret_n)
{
    json_t *root = request_json(engine, request);
    size_t n = root != NULL ? json_dumpb(root, NULL, 0, JSON_COMPACT) : 0;
    char *text = n > 0 ? vt_alloc(n) : NULL;
    if (text != NULL) {
        n = json_dumpb(root, text, n, JSON_COMPACT);
    }
    json_decref(root);
    if (text == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a request");
    }
    *ret_json = text;
    *ret_n = n;
    return VT_OK;
}

/* --- answers ------------------------------------------------------------------------------------
 */

/* One output; *offset goes forward in the binary part. */
static enum vt_status read_output(const struct vt_kserve_engine *engine, const json_t *json,
                                  const uint8_t *binary, size_t n, size_t *offset,
                                  struct vt_error *err, struct vt_tensor *outputs)
{
    struct vt_port port = {.name = NULL};
    enum vt_status status = read_port(json, engine->url, err, &port);
    if (status != VT_OK) {
        return status;
    }
    uint32_t index = 0;
    while (index < engine->ports.n_outputs &&
           strcmp(engine->ports.outputs[index].name, port.name) != 0) {
        index++;
    }
    if (index == engine->ports.n_outputs || outputs[index].dtype != VT_UNDEFINED) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: the answer has an output %s %s", engine->url,
                            vt_quote(port.name).text,
                            index == engine->ports.n_outputs ? "that the model has not" : "twice");
    }
    const json_t *size = json_object_get(json_object_get(json, "parameters"), "binary_data_size");
    if (!json_is_integer(size)) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "%s: output %s comes as JSON: the server lacks the binary tensor "
                            "extension",
                            engine->url, vt_quote(port.name).text);
    }
    struct vt_tensor output = {.dtype = port.dtype, .rank = port.rank};
    memcpy(output.dim, port.dim, sizeof(output.dim));
    char shape[96];
    if (port.dtype != engine->ports.outputs[index].dtype ||
        !vt_shape_bytes(port.dtype, port.dim, port.rank, &output.bytes) ||
        json_integer_value(size) < 0 || (uint64_t)json_integer_value(size) != output.bytes ||
        output.bytes > n - *offset) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: output %s is said to be %s %s in %lld bytes, of which %zu came; "
                            "the model gives %s",
                            engine->url, vt_quote(port.name).text, vt_dtype_name(port.dtype),
                            vt_shape_text(port.dim, port.rank, NULL, shape, sizeof(shape)),
                            (long long)json_integer_value(size), n - *offset,
                            vt_dtype_name(engine->ports.outputs[index].dtype));
    }
    output.data = (void *)(uintptr_t)(binary + *offset);
    *offset += output.bytes;
    outputs[index] = output;
    return VT_OK;
}

static enum vt_status check_id(const struct vt_kserve_engine *engine, const json_t *root,
                               uint64_t id, struct vt_error *err)
{
    char wanted[24];
    const char *got = json_string_value(json_object_get(root, "id"));
    snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)id);
    if (got != NULL && got[0] != '\0' && strcmp(got, wanted) != 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: the answer is for request %s, not %s",
                            engine->url, vt_quote(got).text, wanted);
    }
    return VT_OK;
}

enum vt_status vt_kserve_read_answer(const struct vt_kserve_engine *engine,
                                     const struct vt_kserve_answer *answer, uint64_t id,
                                     struct vt_error *err, struct vt_tensor *ret_outputs)
{
    size_t json_size = answer->json_size >= 0 ? (size_t)answer->json_size : answer->n;
    size_t offset = 0;
    if (json_size > answer->n) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: the answer has %zu bytes, its JSON alone is said to have %zu",
                            engine->url, answer->n, json_size);
    }
    json_t *root = load((const char *)answer->bytes, json_size, engine->url, err);
    if (root == NULL) {
        return json_size > VT_KSERVE_JSON_MAX ? VT_ERR_LIMIT : VT_ERR_FORMAT;
    }
    const json_t *outputs = json_object_get(root, "outputs");
    const uint8_t *binary = answer->bytes + json_size;
    size_t n = answer->n - json_size;
    enum vt_status status = check_id(engine, root, id, err);
    for (uint32_t i = 0; i < engine->ports.n_outputs; i++) {
        ret_outputs[i] = (struct vt_tensor){.dtype = VT_UNDEFINED};
    }
    if (status == VT_OK && json_array_size(outputs) != engine->ports.n_outputs) {
        status = vt_error_set(err, VT_ERR_FORMAT, "%s: the answer has %zu outputs, the model %u",
                              engine->url, json_array_size(outputs), engine->ports.n_outputs);
    }
    for (size_t i = 0; i < json_array_size(outputs) && status == VT_OK; i++) {
        status =
            read_output(engine, json_array_get(outputs, i), binary, n, &offset, err, ret_outputs);
    }
    if (status == VT_OK && offset != n) {
        status = vt_error_set(err, VT_ERR_FORMAT, "%s: the answer has %zu bytes behind its outputs",
                              engine->url, n - offset);
    }
    json_decref(root);
    return status;
}
