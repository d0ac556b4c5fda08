/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What discrete outputs are made of.
 *
 * An operator that decides (the largest class, the boxes that survive, a threshold) turns a
 * difference in the last digit into another answer. Two engines that are equally right can then
 * give different outputs. What can be compared are the floating-point values that went into the
 * decisions: the feeders of an output.
 *
 * A feeder is a value of the main graph that varies with the inputs, depends on no decision itself,
 * and is read by a node on the way to the output that decides or depends on a decision.
 */
#ifndef VT_GRAPH_FEEDERS_H
#define VT_GRAPH_FEEDERS_H

#include "graph/graph.h"

/*
 * The feeders of an output of the main graph, ascending; none when it depends on no decision. Those
 * that are inputs of the model are left out: everybody knows them. On success the caller frees
 * *ret_values (vt_free). VT_ERR_MEMORY.
 */
enum vt_status vt_model_feeders(const struct vt_model *model, uint32_t output, struct vt_error *err,
                                uint32_t **ret_values, uint32_t *ret_n) VT_NODISCARD;

/*
 * The bytes of an ONNX file with further outputs of the main graph, by name and without a type: it
 * follows from the graph. On success the caller frees *ret_bytes (vt_free). VT_ERR_FORMAT when the
 * file is malformed or has no graph, VT_ERR_LIMIT beyond 2 GiB, VT_ERR_MEMORY.
 */
enum vt_status vt_model_bytes_with_outputs(const void *bytes, size_t size, const char *const *names,
                                           uint32_t n, struct vt_error *err, uint8_t **ret_bytes,
                                           size_t *ret_size) VT_NODISCARD;

#endif
