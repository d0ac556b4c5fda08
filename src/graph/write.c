/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is laid out as
 *
 *   ModelProto: versions, opset, metadata, a doc string whose length aligns what follows
 *     graph (the last field): nodes, inputs, outputs, then the weights, each with a doc string that
 *     aligns its contents, which come last in it
 *
 * so that every length is known before the first byte is written.
 */
#include "graph/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "graph/write_internal.h"

#define ALIGNMENT      64u
#define PAGE           4096u /* alignment in the file of external data, so that it can be mapped */
#define EXTERNAL_LEAST 1024u
#define CHUNK_BYTES    ((size_t)1 << 16)
#define PROTO_MAX      ((uint64_t)INT32_MAX)

/* --- what is in the graph ----------------------------------------------------------------------
 */

/* The IR version that the release of ONNX with this opset brought. */
static int64_t ir_version(int64_t opset)
{
    static const struct {
        int64_t opset, ir;
    } table[] = {{8, 3}, {9, 4}, {10, 5}, {11, 6}, {14, 7}, {18, 8}, {20, 9}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (opset <= table[i].opset) {
            return table[i].ir;
        }
    }
    return 10;
}

enum vt_status vt_model_writer_new(const char *producer, const char *graph_name, int64_t opset,
                                   struct vt_error *err, struct vt_model_writer **ret_writer)
{
    struct vt_model_writer *writer = vt_calloc(1, sizeof *writer);
    struct vt_proto import = {0};

    if (writer == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    vt_proto_int(&writer->model, MODEL_IR_VERSION, ir_version(opset));
    vt_proto_text(&writer->model, MODEL_PRODUCER_NAME, producer);
    vt_proto_text(&import, OPSET_DOMAIN, "");
    vt_proto_int(&import, OPSET_VERSION, opset);
    vt_proto_message(&writer->model, MODEL_OPSET_IMPORT, &import);
    vt_proto_text(&writer->graph, GRAPH_NAME, graph_name);
    *ret_writer = writer;
    return VT_OK;
}

void vt_model_writer_free(struct vt_model_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (size_t i = 0; i < writer->n_weights; i++) {
        vt_proto_release(&writer->weights[i].head);
        vt_free(writer->weights[i].contents);
    }
    vt_free(writer->weights);
    vt_proto_release(&writer->model);
    vt_proto_release(&writer->graph);
    vt_proto_release(&writer->node);
    vt_free(writer);
}

void vt_write_metadata(struct vt_model_writer *writer, const char *key, const char *value)
{
    struct vt_proto entry = {0};

    vt_proto_text(&entry, ENTRY_KEY, key);
    vt_proto_text(&entry, ENTRY_VALUE, value);
    vt_proto_message(&writer->model, MODEL_METADATA, &entry);
}

static void write_port(struct vt_model_writer *writer, uint32_t field, const struct vt_port *port)
{
    struct vt_proto value = {0}, type = {0}, tensor = {0}, shape = {0};

    for (uint32_t d = 0; port->rank != VT_RANK_UNKNOWN && d < port->rank; d++) {
        struct vt_proto extent = {0};
        if (port->dim[d] >= 0) {
            vt_proto_int(&extent, DIM_VALUE, port->dim[d]);
        } else if (port->symbol[d] != NULL) {
            vt_proto_text(&extent, DIM_PARAM, port->symbol[d]);
        }
        vt_proto_message(&shape, SHAPE_DIM, &extent);
    }
    vt_proto_int(&tensor, TENSOR_TYPE_ELEMENT, (int64_t)port->dtype);
    if (port->rank != VT_RANK_UNKNOWN) {
        vt_proto_message(&tensor, TENSOR_TYPE_SHAPE, &shape);
    }
    vt_proto_message(&type, TYPE_TENSOR, &tensor);
    vt_proto_text(&value, VALUE_NAME, port->name);
    vt_proto_message(&value, VALUE_TYPE, &type);
    vt_proto_message(&writer->graph, field, &value);
}

void vt_write_input(struct vt_model_writer *writer, const struct vt_port *port)
{
    write_port(writer, GRAPH_INPUT, port);
}

void vt_write_output(struct vt_model_writer *writer, const struct vt_port *port)
{
    write_port(writer, GRAPH_OUTPUT, port);
}

/* A slot for another weight, or NULL. */
static struct weight *add_weight(struct vt_model_writer *writer)
{
    if (writer->n_weights == writer->capacity) {
        size_t more = writer->capacity > 0 ? 2 * writer->capacity : 64;
        void *grown = vt_regrow(writer->weights, writer->capacity * sizeof(struct weight),
                                more * sizeof(struct weight));
        if (grown == NULL) {
            writer->failed = true;
            return NULL;
        }
        writer->weights = grown;
        writer->capacity = more;
    }
    struct weight *weight = &writer->weights[writer->n_weights++];
    memset(weight, 0, sizeof *weight);
    return weight;
}

void vt_write_weight(struct vt_model_writer *writer, const char *name, enum vt_dtype dtype,
                     uint32_t rank, const int64_t *dim, vt_weight_fill fill, const void *ctx)
{
    size_t bytes;

    if (!vt_shape_bytes(dtype, dim, rank, &bytes)) {
        writer->failed = true;
        return;
    }
    struct weight *weight = add_weight(writer);
    if (weight == NULL) {
        return;
    }
    weight->bytes = bytes;
    weight->element_bytes = vt_dtype_bytes(dtype);
    weight->elements = bytes / weight->element_bytes;
    weight->fill = fill;
    weight->ctx = ctx;
    for (uint32_t d = 0; d < rank; d++) {
        vt_proto_int(&weight->head, TENSOR_DIMS, dim[d]);
    }
    vt_proto_int(&weight->head, TENSOR_DATA_TYPE, (int64_t)dtype);
    vt_proto_text(&weight->head, TENSOR_NAME, name);
    writer->weight_bytes += bytes;
}

void vt_write_constant(struct vt_model_writer *writer, const char *name,
                       const struct vt_tensor *contents)
{
    const size_t before = writer->n_weights;

    vt_write_weight(writer, name, contents->dtype, contents->rank, contents->dim, NULL, NULL);
    if (writer->n_weights == before) {
        return;
    }
    struct weight *weight = &writer->weights[before];
    weight->contents = vt_alloc(contents->bytes);
    if (weight->contents == NULL || weight->bytes != contents->bytes) {
        writer->failed = true;
        return;
    }
    memcpy(weight->contents, contents->data, contents->bytes);
}

uint64_t vt_model_writer_weight_bytes(const struct vt_model_writer *writer)
{
    return writer->weight_bytes;
}

/* --- the layout of a file ----------------------------------------------------------------------
 */

/* Bytes of a field of `n` bytes, tag and length included. The tags here take one byte. */
static uint64_t field_bytes(uint64_t n)
{
    return 1 + vt_proto_varint_bytes(n) + n;
}

/* The longest doc string field whose length takes one byte. */
#define PADDING_MAX 129u

/* The length of a doc string field that moves `at` to a multiple of ALIGNMENT: 0, or at least the
 * two bytes of an empty one. */
static uint32_t padding_for(uint64_t at)
{
    uint32_t padding = (uint32_t)(-at & (ALIGNMENT - 1));
    return padding == 1 ? padding + ALIGNMENT : padding;
}

/*
 * The padding of a weight's message at `at` that has `bare` bytes without it. The length of the
 * message is written before it and grows with the padding: just below a power of 128 it takes
 * another line of it until both agree.
 */
static uint32_t weight_padding(uint64_t at, uint64_t bare, uint64_t contents)
{
    for (uint32_t more = 0; more <= 2 * ALIGNMENT; more += ALIGNMENT) {
        for (uint64_t width = 1; width <= 10; width++) {
            uint32_t padding = padding_for(at + 1 + width + bare - contents) + more;
            if (padding <= PADDING_MAX && vt_proto_varint_bytes(bare + padding) == width) {
                return padding;
            }
        }
    }
    return 0; /* is not reached; the file would be right, its contents only unaligned */
}

static void entry_text(struct vt_proto *tensor, const char *key, const char *value)
{
    struct vt_proto entry = {0};

    vt_proto_text(&entry, ENTRY_KEY, key);
    vt_proto_text(&entry, ENTRY_VALUE, value);
    vt_proto_message(tensor, TENSOR_EXTERNAL_DATA, &entry);
}

/* What stands in the model about a weight whose contents lie in another file. */
static void external_fields(const struct weight *weight, const char *location,
                            struct vt_proto *ret_fields)
{
    char number[32];

    entry_text(ret_fields, "location", location);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)weight->offset);
    entry_text(ret_fields, "offset", number);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)weight->bytes);
    entry_text(ret_fields, "length", number);
    vt_proto_int(ret_fields, TENSOR_DATA_LOCATION, DATA_LOCATION_EXTERNAL);
}

/* Places every weight; the graph begins at a multiple of ALIGNMENT. Returns its length. */
static uint64_t lay_out(struct vt_model_writer *writer, uint64_t inline_max, const char *location,
                        bool *ret_external)
{
    const bool split = writer->weight_bytes > inline_max;
    uint64_t at = writer->graph.size, outside = 0;

    *ret_external = false;
    for (size_t i = 0; i < writer->n_weights; i++) {
        struct weight *weight = &writer->weights[i];
        weight->external = split && weight->bytes >= EXTERNAL_LEAST;
        weight->padding = 0;
        if (weight->external) {
            struct vt_proto fields = {0};
            weight->offset = outside;
            external_fields(weight, location, &fields);
            weight->message_bytes = weight->head.size + fields.size;
            writer->failed |= fields.failed;
            vt_proto_release(&fields);
            outside += (weight->bytes + PAGE - 1) / PAGE * PAGE;
            *ret_external = true;
        } else {
            uint64_t bare = weight->head.size + field_bytes(weight->bytes);
            weight->padding = weight_padding(at, bare, weight->bytes);
            weight->message_bytes = bare + weight->padding;
        }
        at += field_bytes(weight->message_bytes);
    }
    return at;
}

/* --- writing -----------------------------------------------------------------------------------
 */

static void put(FILE *stream, const void *bytes, size_t n)
{
    /* Errors stay with the stream until it is committed. */
    if (n > 0) {
        (void)fwrite(bytes, 1, n, stream);
    }
}

static void put_proto(FILE *stream, const struct vt_proto *proto)
{
    put(stream, proto->bytes, proto->size);
}

static void put_tag(FILE *stream, uint32_t field, uint64_t length)
{
    uint8_t text[16];
    put(stream, text, vt_proto_tag_text(field, length, text));
}

/* A doc string field of so many bytes in all. */
static void put_padding(FILE *stream, uint32_t field, uint32_t bytes)
{
    char text[PADDING_MAX];

    if (bytes > 0) {
        memset(text, ' ', sizeof text);
        put_tag(stream, field, bytes - 2);
        put(stream, text, bytes - 2);
    }
}

static void put_contents(FILE *stream, const struct weight *weight, void *chunk)
{
    const size_t most = CHUNK_BYTES / weight->element_bytes;

    if (weight->fill == NULL) {
        put(stream, weight->contents, weight->bytes);
        return;
    }
    for (uint64_t first = 0; first < weight->elements && ferror(stream) == 0;) {
        size_t n = weight->elements - first < most ? (size_t)(weight->elements - first) : most;
        weight->fill(weight->ctx, first, n, chunk);
        put(stream, chunk, n * weight->element_bytes);
        first += n;
    }
}

static enum vt_status save_external(const struct vt_model_writer *writer, const char *path,
                                    void *chunk, struct vt_error *err)
{
    struct vt_file_writer file;
    static const char zeros[PAGE];
    uint64_t at = 0;

    enum vt_status status = vt_file_writer_open(&file, path, err);
    if (status != VT_OK) {
        return status;
    }
    for (size_t i = 0; i < writer->n_weights; i++) {
        const struct weight *weight = &writer->weights[i];
        if (weight->external) {
            put(file.stream, zeros, (size_t)(weight->offset - at));
            put_contents(file.stream, weight, chunk);
            at = weight->offset + weight->bytes;
        }
    }
    return vt_file_writer_commit(&file, err);
}

/* False when out of memory; other failures stay with the stream. */
static bool put_model(FILE *stream, const struct vt_model_writer *writer, uint64_t graph_bytes,
                      const char *location, void *chunk)
{
    bool failed = false;

    put_proto(stream, &writer->model);
    put_padding(stream, MODEL_DOC_STRING,
                padding_for(writer->model.size + field_bytes(graph_bytes) - graph_bytes));
    put_tag(stream, MODEL_GRAPH, graph_bytes);
    put_proto(stream, &writer->graph);
    for (size_t i = 0; i < writer->n_weights; i++) {
        const struct weight *weight = &writer->weights[i];
        put_tag(stream, GRAPH_INITIALIZER, weight->message_bytes);
        put_proto(stream, &weight->head);
        if (weight->external) {
            struct vt_proto fields = {0};
            external_fields(weight, location, &fields);
            failed |= fields.failed;
            put_proto(stream, &fields);
            vt_proto_release(&fields);
        } else {
            put_padding(stream, TENSOR_DOC_STRING, weight->padding);
            put_tag(stream, TENSOR_RAW_DATA, weight->bytes);
            put_contents(stream, weight, chunk);
        }
    }
    return !failed;
}

static enum vt_status save_model(const struct vt_model_writer *writer, const char *path,
                                 uint64_t graph_bytes, const char *location, void *chunk,
                                 struct vt_error *err)
{
    struct vt_file_writer file;

    enum vt_status status = vt_file_writer_open(&file, path, err);
    if (status != VT_OK) {
        return status;
    }
    if (!put_model(file.stream, writer, graph_bytes, location, chunk)) {
        vt_file_writer_release(&file);
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", path);
    }
    return vt_file_writer_commit(&file, err);
}

static bool is_sound(const struct vt_model_writer *writer)
{
    bool failed =
        writer->failed || writer->model.failed || writer->graph.failed || writer->node.failed;

    for (size_t i = 0; i < writer->n_weights; i++) {
        failed = failed || writer->weights[i].head.failed;
    }
    return !failed;
}

enum vt_status vt_model_writer_save(struct vt_model_writer *writer, const char *path,
                                    uint64_t inline_max, struct vt_error *err)
{
    bool external = false;
    char *data = vt_asprintf("%s.data", path);
    void *chunk = vt_alloc(CHUNK_BYTES);
    enum vt_status status = VT_OK;

    if (inline_max > VT_WRITE_INLINE_MAX) {
        inline_max = VT_WRITE_INLINE_MAX;
    }
    uint64_t graph_bytes = 0;
    if (data != NULL && chunk != NULL && is_sound(writer)) {
        graph_bytes = lay_out(writer, inline_max, vt_path_base(data), &external);
    }
    if (data == NULL || chunk == NULL || !is_sound(writer)) {
        status = vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory", path);
    } else if (graph_bytes > PROTO_MAX - writer->model.size - (uint64_t)2 * ALIGNMENT) {
        status = vt_error_set(err, VT_ERR_LIMIT,
                              "%s: %llu bytes of graph and small weights, an ONNX file holds at "
                              "most 2 GiB of them",
                              path, (unsigned long long)graph_bytes);
    }
    if (status == VT_OK && external) {
        status = save_external(writer, data, chunk, err);
    }
    if (status == VT_OK) {
        status = save_model(writer, path, graph_bytes, vt_path_base(data), chunk, err);
    }
    vt_free(chunk);
    vt_free(data);
    return status;
}

enum vt_status vt_model_writer_to_memory(struct vt_model_writer *writer, struct vt_error *err,
                                         void **ret_bytes, size_t *ret_size)
{
    void *chunk = vt_alloc(CHUNK_BYTES);
    bool external = false, good = chunk != NULL && is_sound(writer);
    char *text = NULL;
    size_t size = 0;

    if (good && writer->weight_bytes > VT_WRITE_INLINE_MAX) {
        vt_free(chunk);
        return vt_error_set(err, VT_ERR_LIMIT, "%llu bytes of weights, an ONNX file holds 2 GiB",
                            (unsigned long long)writer->weight_bytes);
    }
    FILE *stream = good ? open_memstream(&text, &size) : NULL;
    if (stream != NULL) {
        uint64_t graph_bytes = lay_out(writer, VT_WRITE_INLINE_MAX, "", &external);
        good = put_model(stream, writer, graph_bytes, "", chunk) && ferror(stream) == 0;
        good = fclose(stream) == 0 && good;
    }
    vt_free(chunk);
    void *bytes = stream != NULL && good ? vt_alloc(size + 1) : NULL;
    if (bytes != NULL) {
        memcpy(bytes, text, size);
    }
    free(text);
    if (bytes == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a model of %llu bytes",
                            (unsigned long long)writer->weight_bytes);
    }
    *ret_bytes = bytes;
    *ret_size = size;
    return VT_OK;
}
