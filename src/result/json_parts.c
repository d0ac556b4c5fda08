/* SPDX-License-Identifier: Apache-2.0 */
#include "result/json_parts.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/topology.h"
#include "base/version.h"
#include "result/text.h"

struct vt_json_object vt_json_object_begin(void)
{
    json_t *json = json_object();
    return (struct vt_json_object){json, json == NULL};
}

void vt_json_put(struct vt_json_object *object, const char *key, json_t *value)
{
    if (object->failed || value == NULL ||
        json_object_set_new_nocheck(object->json, key, value) != 0) {
        if (object->failed) {
            json_decref(value);
        }
        object->failed = true;
    }
}

json_t *vt_json_object_end(struct vt_json_object *object)
{
    if (object->failed) {
        json_decref(object->json);
        return NULL;
    }
    return object->json;
}

json_t *vt_json_array_with(json_t *array, json_t *value)
{
    if (array == NULL || value == NULL || json_array_append_new(array, value) != 0) {
        if (array == NULL) {
            json_decref(value);
        }
        json_decref(array);
        return NULL;
    }
    return array;
}

json_t *vt_json_text(const char *text)
{
    if (text == NULL) {
        return json_null();
    }
    size_t size = vt_text_clean_size(text);
    char *clean = vt_alloc(size);
    if (clean == NULL) {
        return NULL;
    }
    json_t *json = json_string_nocheck(vt_text_clean(text, 0, clean, size));
    vt_free(clean);
    return json;
}

json_t *vt_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *vt_json_count(uint64_t value)
{
    return json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX);
}

json_t *vt_json_tool(void)
{
    struct vt_json_object tool = vt_json_object_begin();
    vt_json_put(&tool, "name", vt_json_text("vatio"));
    vt_json_put(&tool, "version", vt_json_text(vt_version()));
    vt_json_put(&tool, "build", vt_json_text(vt_version_commit()));
    return vt_json_object_end(&tool);
}

json_t *vt_json_machine(void)
{
    const struct vt_topology *topology = vt_topology();
    struct vt_json_object machine = vt_json_object_begin();

    vt_json_put(&machine, "cpu", vt_json_text(topology->cpu_model));
    vt_json_put(&machine, "os", vt_json_text(topology->os));
    vt_json_put(&machine, "isa", vt_json_text(vt_topology_isa()));
    vt_json_put(&machine, "cores", vt_json_count(topology->cores));
    vt_json_put(&machine, "cpus", vt_json_count(topology->cpus));
    vt_json_put(&machine, "usable_cpus", vt_json_count(topology->usable_cpus));
    vt_json_put(&machine, "numa_nodes", vt_json_count(topology->numa_nodes));
    vt_json_put(&machine, "memory_bytes", vt_json_count(topology->memory_bytes));
    vt_json_put(&machine, "l2_bytes",
                topology->l2_bytes != 0 ? vt_json_count(topology->l2_bytes) : json_null());
    return vt_json_object_end(&machine);
}

static json_t *option_value(const struct vt_option *option, const void *values)
{
    const void *at = (const char *)values + option->offset;

    switch (option->type) {
    case VT_OPTION_FLAG:
        return json_boolean(*(const bool *)at);
    case VT_OPTION_INT:
    case VT_OPTION_DURATION:
    case VT_OPTION_SIZE:
        return json_integer(*(const int64_t *)at);
    case VT_OPTION_REAL:
        return vt_json_real(*(const double *)at);
    case VT_OPTION_TEXT:
        return vt_json_text(*(const char *const *)at);
    case VT_OPTION_CHOICE:
        return vt_json_text(option->choices[*(const int *)at]);
    case VT_OPTION_LIST: {
        const struct vt_text_list *list = at;
        json_t *array = json_array();
        for (size_t i = 0; i < list->count; i++) {
            char *shown = vt_option_shown(option, list->items[i]);
            array = vt_json_array_with(array, shown != NULL ? vt_json_text(shown) : NULL);
            vt_free(shown);
        }
        return array;
    }
    }
    return json_null();
}

json_t *vt_json_job(const struct vt_options *options)
{
    if (options == NULL || options->table == NULL) {
        return json_null();
    }
    struct vt_json_object job = vt_json_object_begin();
    for (size_t i = 0; i < options->table->n_options; i++) {
        const struct vt_option *option = &options->table->options[i];
        struct vt_json_object entry = vt_json_object_begin();
        char key[64];
        snprintf(key, sizeof key, "%s", option->name);
        for (char *c = key; *c != '\0'; c++) {
            *c = *c == '-' ? '_' : *c;
        }
        vt_json_put(&entry, "value", option_value(option, options->values));
        if (option->type == VT_OPTION_DURATION || option->type == VT_OPTION_SIZE) {
            vt_json_put(&entry, "unit",
                        vt_json_text(option->type == VT_OPTION_SIZE ? "bytes" : "ns"));
        }
        vt_json_put(&entry, "given", json_boolean(options->given != NULL && options->given[i]));
        vt_json_put(&job, key, vt_json_object_end(&entry));
    }
    return vt_json_object_end(&job);
}

struct text_buffer {
    char *text;
    size_t used, size;
};

void vt_json_put_layer(struct vt_json_object *object, const struct vt_profile_layer *layer)
{
    vt_json_put(object, "node", vt_json_text(layer->node));
    vt_json_put(object, "op", vt_json_text(layer->op));
    vt_json_put(object, "kernel",
                layer->kernel[0] != '\0' ? vt_json_text(layer->kernel) : json_null());
    vt_json_put(object, "tuned", json_boolean(layer->tuned));
    vt_json_put(object, "output_shape", vt_json_text(layer->shape));
}

/* json_dump_callback_t: appends, always leaving room for the newline and the NUL. */
static int append(const char *bytes, size_t n, void *ctx)
{
    struct text_buffer *buffer = ctx;

    if (n + 2 > buffer->size - buffer->used) {
        size_t size = 2 * buffer->size + n + 4096;
        char *grown = vt_regrow(buffer->text, buffer->used, size);
        if (grown == NULL) {
            return -1;
        }
        buffer->text = grown;
        buffer->size = size;
    }
    memcpy(buffer->text + buffer->used, bytes, n);
    buffer->used += n;
    return 0;
}

enum vt_status vt_json_dump(json_t *root, struct vt_error *err, char **ret_text)
{
    struct text_buffer buffer = {NULL, 0, 0};

    if (root == NULL || append("", 0, &buffer) != 0 ||
        json_dump_callback(root, append, &buffer, JSON_INDENT(2)) != 0) {
        json_decref(root);
        vt_free(buffer.text);
        return vt_error_set(err, VT_ERR_MEMORY, "result.json: out of memory");
    }
    json_decref(root);
    buffer.text[buffer.used++] = '\n';
    buffer.text[buffer.used] = '\0';
    *ret_text = buffer.text;
    return VT_OK;
}

enum vt_status vt_json_save_as(const char *text, const char *folder, const char *name,
                               struct vt_error *err)
{
    struct vt_file_writer writer = {NULL, NULL, NULL};
    enum vt_status status;

    char *path = vt_path_join(folder, name);
    if (path == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s/%s: out of memory", folder, name);
    }
    status = vt_file_writer_open(&writer, path, err);
    if (status == VT_OK) {
        (void)fputs(text, writer.stream); /* an error surfaces at commit */
        status = vt_file_writer_commit(&writer, err);
    }
    vt_free(path);
    return status;
}

enum vt_status vt_json_save(const char *text, const char *folder, struct vt_error *err)
{
    return vt_json_save_as(text, folder, "result.json", err);
}
