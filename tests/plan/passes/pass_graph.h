/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small graphs written as text, and what passes make of them. One statement a line:
 *
 *     x : 2x3x4                        an input, float32; extents of 0 to 8 axes
 *     w = random 3x4                   a constant, within -1 and 1
 *     k = fill 1x1 0.5                 a constant of one number throughout; "fill - 2" is a scalar
 *     i = ints 1,2                     a constant list of int64
 *     y = Op(a, b; axes=[-1], mode=tanh, p=2, q=0.5)
 *     y, z = Op(a, _)                  several outputs; an omitted input
 *     -> y, z                          the outputs, float32
 *
 * Every function ends the test when something fails.
 */
#ifndef PASS_GRAPH_H
#define PASS_GRAPH_H

#include "../plan_fixture.h"

#define PASS_OPSET 17

/* Opens the graph as a model; input values are made from `seed`. */
void pass_open(struct fixture *f, int64_t opset, const char *text);

struct pass_result {
    char steps[512];  /* operators that are left to run: "MatMul+Bias Softmax" */
    uint32_t changes; /* of the last pass that was applied */
    uint32_t n_steps; /* after it, views included */
    double worst;     /* difference from the outputs without any pass, relative to 1 + |wanted| */
};
/* Plans with some passes ("gelu+softmax" as in vt_plan_passes_read) and runs. */
void pass_apply(const struct fixture *f, const char *passes, struct pass_result *ret);

/* The graph, in opset PASS_OPSET, becomes these steps by that pass; outputs agree with those
 * without passes, also with all of them. */
void pass_becomes(const char *text, const char *passes, const char *steps);
void pass_becomes_at(int64_t opset, const char *text, const char *passes, const char *steps);
/* The pass changes nothing. */
void pass_leaves(const char *text, const char *pass);

#endif
