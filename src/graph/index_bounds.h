/* SPDX-License-Identifier: Apache-2.0 */
/* Which integers an input may bring, where the model looks things up by them. */
#ifndef VT_GRAPH_INDEX_BOUNDS_H
#define VT_GRAPH_INDEX_BOUNDS_H

#include "graph/graph.h"

/* Where a remainder by a constant makes any number right. */
#define VT_INDEX_BOUND_ANY ((int64_t)1 << 31)

/*
 * For each input of the main graph, ret_bounds[i]: every number from 0 to below it is a place in
 * each of the tables that the input is used with (Gather over a constant), directly or behind
 * operators that only move numbers; 0 where the input is used in any other way, or not known to be.
 */
enum vt_status vt_model_index_bounds(const struct vt_model *model, struct vt_error *err,
                                     int64_t *ret_bounds) VT_NODISCARD;

#endif
