/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs to go wrong: the pieces that the kinds of malformed graphs are made of. */
#ifndef VT_TEST_MALFORMED_GRAPHS_H
#define VT_TEST_MALFORMED_GRAPHS_H

#include "malformed.h"

static inline struct pb empty(void)
{
    return (struct pb){NULL, 0, 0};
}

static inline void add(struct pb *graph, uint32_t field, struct pb message)
{
    pb_message(graph, field, &message);
}

static inline struct pb named(const char *name, struct pb node)
{
    pb_text(&node, 3, name);
    return node;
}

/* x of 4 floats, c of one truth value, n of one whole number. */
static inline struct pb with_inputs(void)
{
    struct pb graph = empty();
    add(&graph, OX_INPUT, ox_value("x", VT_F32, 1, (int64_t[]){4}));
    add(&graph, OX_INPUT, ox_value("c", VT_BOOL, 0, NULL));
    add(&graph, OX_INPUT, ox_value("n", VT_I64, 0, NULL));
    return graph;
}

static inline struct pb closed(struct pb graph, const char *output)
{
    add(&graph, OX_OUTPUT, ox_value(output, VT_F32, -1, NULL));
    return ox_model(17, &graph);
}

static inline struct pb one(struct pb node)
{
    struct pb graph = with_inputs();
    add(&graph, OX_NODE, named("bad_node", node));
    return closed(graph, "y");
}

static inline struct pb two(struct pb node, struct pb other)
{
    struct pb graph = with_inputs();
    add(&graph, OX_NODE, named("bad_node", node));
    add(&graph, OX_NODE, named("other_node", other));
    return closed(graph, "y");
}

#endif
