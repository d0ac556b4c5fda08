/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes in an order in which every value is produced before it is used. Files that keep to the
 * standard are in one already and keep theirs; otherwise what a node needs is put before it.
 */
#include <stdio.h>
#include <string.h>

#include "graph/import.h"

/* Nodes of a cycle that a message names. */
#define CYCLE_NAMED 4

enum state {
    UNSEEN,
    OPEN, /* on the path that is being followed */
    DONE,
};

struct order {
    struct vt_import *import;
    const struct vt_scope *scope;
    const struct vt_raw_node *raw;
    uint32_t n_raw;
    uint32_t *first; /* n_raw + 1: where a node's needs begin */
    uint32_t *needs; /* positions of producers */
    uint32_t n_needs;
    bool counting;
};

/* Notes that the node being looked at uses `value`. */
static void add_value(struct order *order, uint32_t value)
{
    if (value == VT_NO_VALUE) {
        return;
    }
    const struct vt_value_origin *origin = &order->import->origins[value];
    if (origin->scope != order->scope->number || origin->producer == VT_NO_VALUE ||
        order->raw[origin->producer].is_constant) {
        return;
    }
    if (!order->counting) {
        order->needs[order->n_needs] = origin->producer;
    }
    order->n_needs++;
}

/* What a node uses itself and through its subgraphs; as deep as messages may be nested. */
static void add_node(struct order *order, const struct vt_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        add_value(order, node->inputs[i]);
    }
    for (uint32_t a = 0; a < node->n_attrs; a++) {
        if (node->attrs[a].type != VT_ATTR_GRAPH) {
            continue;
        }
        const struct vt_graph *body = node->attrs[a].graph;
        for (uint32_t i = 0; i < body->n_nodes; i++) {
            add_node(order, &body->nodes[i]);
        }
        for (uint32_t i = 0; i < body->n_outputs; i++) {
            add_value(order, body->outputs[i]);
        }
    }
}

static enum vt_status collect_needs(struct order *order)
{
    struct vt_arena *scratch = &order->import->scratch;

    order->first =
        vt_import_calloc(order->import, scratch, (size_t)order->n_raw + 1, sizeof(uint32_t));
    if (order->first == NULL) {
        return order->import->err->status;
    }
    for (int pass = 0; pass < 2; pass++) {
        order->counting = pass == 0;
        order->n_needs = 0;
        for (uint32_t i = 0; i < order->n_raw; i++) {
            order->first[i] = order->n_needs;
            if (!order->raw[i].is_constant) {
                add_node(order, &order->raw[i].node);
                for (uint32_t k = 0; k < order->raw[i].n_before; k++) {
                    add_node(order, &order->raw[i].before[k]);
                }
            }
        }
        order->first[order->n_raw] = order->n_needs;
        if (pass == 0) {
            order->needs =
                vt_import_calloc(order->import, scratch, order->n_needs, sizeof(uint32_t));
            if (order->needs == NULL) {
                return order->import->err->status;
            }
        }
    }
    return VT_OK;
}

/* The path from `from` to its end is a cycle. */
static enum vt_status report_cycle(const struct order *order, const uint32_t *path, uint32_t n,
                                   uint32_t from)
{
    char text[VT_ERROR_TEXT_MAX] = "";
    size_t used = 0;
    uint32_t start = 0;

    while (start < n && path[start] != from) {
        start++;
    }
    /* The path goes from user to producer: told backwards it follows the data. */
    for (uint32_t i = n; i > start && n - i < CYCLE_NAMED && used < sizeof(text); i--) {
        const struct vt_node *node = &order->raw[path[i - 1]].node;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s (%s) -> ",
                                 vt_node_label(node, path[i - 1]).text, node->op);
    }
    bool cut = n - start > CYCLE_NAMED;
    uint32_t last = cut ? from : path[n - 1];
    return vt_import_fail(order->import, VT_ERR_FORMAT, "the graph has a cycle of %u nodes: %s%s%s",
                          n - start, text, cut ? "... -> " : "",
                          vt_node_label(&order->raw[last].node, last).text);
}

static void put_out(const struct vt_raw_node *raw, struct vt_node *ret_nodes, uint32_t *n_done)
{
    for (uint32_t i = 0; i < raw->n_before; i++) {
        ret_nodes[(*n_done)++] = raw->before[i];
    }
    ret_nodes[(*n_done)++] = raw->node;
    for (uint32_t i = 0; i < raw->n_after; i++) {
        ret_nodes[(*n_done)++] = raw->after[i];
    }
}

/* Follows the needs of one node, without recursion, and puts out what is ready. */
static enum vt_status visit(struct order *order, uint32_t root, uint8_t *state, uint32_t *path,
                            uint32_t *next, struct vt_node *ret_nodes, uint32_t *n_done)
{
    uint32_t depth = 0;

    if (state[root] != UNSEEN) {
        return VT_OK;
    }
    path[depth] = root;
    next[depth++] = order->first[root];
    state[root] = OPEN;
    while (depth > 0) {
        uint32_t at = path[depth - 1];
        if (next[depth - 1] == order->first[at + 1]) {
            state[at] = DONE;
            put_out(&order->raw[at], ret_nodes, n_done);
            depth--;
            continue;
        }
        uint32_t need = order->needs[next[depth - 1]++];
        if (state[need] == OPEN) {
            return report_cycle(order, path, depth, need);
        }
        if (state[need] == UNSEEN) {
            state[need] = OPEN;
            path[depth] = need;
            next[depth++] = order->first[need];
        }
    }
    return VT_OK;
}

enum vt_status vt_order_nodes(struct vt_import *import, const struct vt_scope *scope,
                              const struct vt_raw_node *raw, uint32_t n_raw,
                              struct vt_node *ret_nodes)
{
    struct order order = {.import = import, .scope = scope, .raw = raw, .n_raw = n_raw};
    uint32_t n_done = 0;

    enum vt_status status = collect_needs(&order);
    if (status != VT_OK) {
        return status;
    }
    uint8_t *state = vt_import_calloc(import, &import->scratch, n_raw, sizeof(*state));
    uint32_t *path = vt_import_calloc(import, &import->scratch, n_raw, sizeof(*path));
    uint32_t *next = vt_import_calloc(import, &import->scratch, n_raw, sizeof(*next));
    if (state == NULL || path == NULL || next == NULL) {
        return import->err->status;
    }
    for (uint32_t i = 0; status == VT_OK && i < n_raw; i++) {
        if (!raw[i].is_constant) {
            status = visit(&order, i, state, path, next, ret_nodes, &n_done);
        }
    }
    return status;
}
