/* SPDX-License-Identifier: Apache-2.0 */
/* Which integers an input may bring, where the model looks things up by them. */
#ifndef VT_GRAPH_INDEX_BOUNDS_H
#define VT_GRAPH_INDEX_BOUNDS_H

#include "graph/graph.h"

/* No bound is larger. */
#define VT_INDEX_BOUND_MOST ((int64_t)1 << 31)

/*
 * For each input of the main graph, ret_bounds[i]: every number from 0 to below it is a place in
 * each of the tables that the input is used with (Gather over a constant), directly or behind
 * operators that only move numbers. Where a remainder by constants makes any number right, the
 * bound is the largest of them: every place of every table is met, and no number is larger than
 * that needs, since there are engines whose remainders of large ones are wrong. 0 where the input
 * is used in any other way, or not known to be.
 */
enum vt_status vt_model_index_bounds(const struct vt_model *model, struct vt_error *err,
                                     int64_t *ret_bounds) VT_NODISCARD;

#endif
