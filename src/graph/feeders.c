/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/feeders.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/wire.h"

/* --- decisions ------------------------------------------------------------------------------- */

enum {
    VARIES = 1 << 0,  /* with the contents of the inputs */
    ROUNDED = 1 << 1, /* and holds digits that engines may round differently */
    DECIDED = 1 << 2, /* depends on a decision over such */
    WANTED = 1 << 3,  /* the output depends on it */
    FEEDER = 1 << 4,
};

struct feeders {
    const struct vt_model *model;
    const struct vt_value *values;
    uint8_t *flags; /* by value */
};

static bool is_among(const struct vt_node *node, const char *const *names)
{
    if (node->domain[0] != '\0') {
        return false;
    }
    while (*names != NULL && strcmp(*names, node->op) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Operators whose result is a choice; control flow is one as well. */
static bool decides(const struct vt_node *node)
{
    static const char *const names[] = {"ArgMax",
                                        "ArgMin",
                                        "Bernoulli",
                                        "Ceil",
                                        "Compress",
                                        "Equal",
                                        "Floor",
                                        "Greater",
                                        "GreaterOrEqual",
                                        "If",
                                        "IsInf",
                                        "Less",
                                        "Loop",
                                        "Mod",
                                        "Multinomial",
                                        "NonZero",
                                        "NonMaxSuppression",
                                        "LessOrEqual",
                                        "Round",
                                        "Scan",
                                        "Sign",
                                        "TopK",
                                        "Unique",
                                        NULL};
    return is_among(node, names);
}

/* Operators that look at extents, not at contents. */
static bool looks_at_shape(const struct vt_node *node)
{
    static const char *const names[] = {"Shape", "Size", "ConstantOfShape", NULL};
    return is_among(node, names);
}

static bool is_floating(enum vt_dtype dtype)
{
    return dtype == VT_F32 || dtype == VT_F16 || dtype == VT_F64 || dtype == VT_BF16;
}

/* Calls `visit` for everything that the node reads, in its bodies too. */
static void each_input(const struct vt_node *node, void (*visit)(void *ctx, uint32_t value),
                       void *ctx)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != VT_NO_VALUE) {
            visit(ctx, node->inputs[i]);
        }
    }
    for (uint32_t a = 0; a < node->n_attrs; a++) {
        if (node->attrs[a].type != VT_ATTR_GRAPH) {
            continue;
        }
        /* The importer bounds how deep bodies lie in each other. */
        const struct vt_graph *body = node->attrs[a].graph;
        for (uint32_t k = 0; k < body->n_nodes; k++) {
            each_input(&body->nodes[k], visit, ctx);
        }
        for (uint32_t k = 0; k < body->n_outputs; k++) {
            visit(ctx, body->outputs[k]);
        }
    }
}

struct gathering {
    const struct feeders *feeders;
    uint8_t flags;
    bool constant_floats;
};

static void gather_flags(void *ctx, uint32_t value)
{
    struct gathering *gathering = ctx;
    const struct vt_value *known = &gathering->feeders->values[value];
    gathering->flags |= gathering->feeders->flags[value];
    gathering->constant_floats |= known->kind == VT_VALUE_CONSTANT && is_floating(known->dtype);
}

/* Forwards: what varies, what rounds, what was decided. */
static void mark_forwards(struct feeders *f, const struct vt_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        uint32_t value = graph->inputs[i];
        f->flags[value] |= VARIES | (is_floating(f->values[value].dtype) ? ROUNDED : 0);
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct vt_node *node = &graph->nodes[i];
        struct gathering seen = {.feeders = f};
        each_input(node, gather_flags, &seen);
        uint8_t flags = seen.flags & (VARIES | ROUNDED | DECIDED);
        if ((flags & VARIES) != 0 && seen.constant_floats) {
            flags |= ROUNDED;
        }
        if (looks_at_shape(node)) {
            flags &= DECIDED; /* the extents of what was chosen were chosen too */
        } else if ((flags & ROUNDED) != 0 && decides(node)) {
            flags |= DECIDED;
        }
        for (uint32_t o = 0; o < node->n_outputs; o++) {
            if (node->outputs[o] != VT_NO_VALUE) {
                f->flags[node->outputs[o]] |= flags;
            }
        }
    }
}

static void want(void *ctx, uint32_t value)
{
    const struct feeders *f = ctx;
    uint8_t flags = f->flags[value];
    if ((flags & DECIDED) != 0) {
        f->flags[value] |= WANTED;
    } else if ((flags & ROUNDED) != 0 && f->values[value].kind == VT_VALUE_NODE) {
        f->flags[value] |= FEEDER;
    }
}

/* Backwards from the output, through what was decided, to what was not. */
static void mark_backwards(struct feeders *f, const struct vt_graph *graph, uint32_t output)
{
    want(f, output);
    f->flags[output] &= (uint8_t)~FEEDER;
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        const struct vt_node *node = &graph->nodes[i];
        bool wanted = false;
        for (uint32_t o = 0; o < node->n_outputs; o++) {
            wanted = wanted || (node->outputs[o] != VT_NO_VALUE &&
                                (f->flags[node->outputs[o]] & WANTED) != 0);
        }
        if (wanted) {
            each_input(node, want, f);
        }
    }
}

/* The feeders that nodes of the main graph make: only those can be outputs. */
static uint32_t collect(const struct feeders *f, const struct vt_graph *graph, uint32_t *ret_values)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        for (uint32_t o = 0; o < graph->nodes[i].n_outputs; o++) {
            uint32_t value = graph->nodes[i].outputs[o];
            if (value != VT_NO_VALUE && (f->flags[value] & FEEDER) != 0) {
                if (ret_values != NULL) {
                    ret_values[n] = value;
                }
                n++;
            }
        }
    }
    return n;
}

enum vt_status vt_model_feeders(const struct vt_model *model, uint32_t output, struct vt_error *err,
                                uint32_t **ret_values, uint32_t *ret_n)
{
    const struct vt_graph *graph = vt_model_graph(model);
    struct feeders f = {.model = model, .values = vt_model_values(model)};
    uint32_t *found = NULL;
    uint32_t n = 0;

    f.flags = vt_calloc((size_t)vt_model_value_count(model) + 1, sizeof f.flags[0]);
    if (f.flags != NULL) {
        mark_forwards(&f, graph);
        mark_backwards(&f, graph, output);
        n = collect(&f, graph, NULL);
        found = vt_calloc((size_t)n + 1, sizeof found[0]);
    }
    if (found == NULL) {
        vt_free(f.flags);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    (void)collect(&f, graph, found);
    vt_free(f.flags);
    *ret_values = found;
    *ret_n = n;
    return VT_OK;
}

/* --- another file ---------------------------------------------------------------------------- */

/* Of onnx.proto. */
#define MODEL_GRAPH  7
#define GRAPH_OUTPUT 12
#define VALUE_NAME   1
#define VARINT_MOST  10
#define BYTES_MOST   ((size_t)INT32_MAX)

static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t n = 0;
    while (value >= 0x80) {
        at[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    at[n++] = (uint8_t)value;
    return n;
}

/* A length-delimited field's head: its number and the length of what follows. */
static size_t put_head(uint8_t *at, uint32_t number, size_t length)
{
    size_t n = put_varint(at, (uint64_t)number << 3 | VT_WIRE_BYTES);
    return n + put_varint(at + n, length);
}

/* One `output` field with a ValueInfoProto that has a name only. */
static size_t put_output(uint8_t *at, const char *name)
{
    uint8_t head[2 * VARINT_MOST];
    size_t length = strlen(name);
    size_t inner = put_head(head, VALUE_NAME, length);
    size_t n = put_head(at, GRAPH_OUTPUT, inner + length);
    memcpy(at + n, head, inner);
    memcpy(at + n + inner, name, length);
    return n + inner + length;
}

/* Where the payload of the graph lies. False when there is none or the bytes are malformed. */
static bool find_graph(const void *bytes, size_t size, struct vt_wire_field *ret_graph,
                       size_t *ret_field_start)
{
    struct vt_wire wire;
    struct vt_wire_field field;
    bool found = false;

    vt_wire_init(&wire, bytes, size, 1);
    for (;;) {
        const uint8_t *start = wire.at;
        if (!vt_wire_next(&wire, &field)) {
            break;
        }
        if (field.number == MODEL_GRAPH && field.type == VT_WIRE_BYTES) {
            *ret_graph = field;
            *ret_field_start = (size_t)(start - (const uint8_t *)bytes);
            found = true;
        }
    }
    return found && wire.problem == NULL;
}

enum vt_status vt_model_bytes_with_outputs(const void *bytes, size_t size, const char *const *names,
                                           uint32_t n, struct vt_error *err, uint8_t **ret_bytes,
                                           size_t *ret_size)
{
    struct vt_wire_field graph = {0};
    size_t start = 0, extra = 0;

    if (!find_graph(bytes, size, &graph, &start)) {
        return vt_error_set(err, VT_ERR_FORMAT, "the file is no ONNX model with a graph");
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t most = strlen(names[i]) + 4 * (size_t)VARINT_MOST;
        extra = most <= SIZE_MAX - extra ? extra + most : SIZE_MAX;
    }
    if (size > BYTES_MOST || extra > BYTES_MOST - size) {
        return vt_error_set(err, VT_ERR_LIMIT, "a model of %zu bytes cannot be held in memory",
                            size);
    }
    uint8_t *outputs = vt_alloc(extra + 1);
    uint8_t *whole = vt_alloc(size + extra + 4 * (size_t)VARINT_MOST);
    if (outputs == NULL || whole == NULL) {
        vt_free(outputs);
        vt_free(whole);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a model of %zu bytes", size);
    }
    size_t added = 0;
    for (uint32_t i = 0; i < n; i++) {
        added += put_output(outputs + added, names[i]);
    }
    const uint8_t *behind = graph.bytes + graph.size;
    size_t rest = size - (size_t)(behind - (const uint8_t *)bytes);
    memcpy(whole, bytes, start);
    size_t at = start + put_head(whole + start, MODEL_GRAPH, graph.size + added);
    memcpy(whole + at, graph.bytes, graph.size);
    at += graph.size;
    memcpy(whole + at, outputs, added);
    at += added;
    memcpy(whole + at, behind, rest);
    vt_free(outputs);
    *ret_bytes = whole;
    *ret_size = at + rest;
    return VT_OK;
}
