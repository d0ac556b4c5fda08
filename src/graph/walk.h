/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference over the main graph, node by node. Private to the room.
 */
#ifndef VT_GRAPH_WALK_H
#define VT_GRAPH_WALK_H

#include "graph/graph.h"

/* Arrays for the inputs and outputs of the node being looked at, as large as any needs. */
struct vt_walk {
    const struct vt_shape_info **inputs;
    struct vt_shape_info *outputs;
};
bool vt_walk_init(struct vt_walk *walk, const struct vt_model *model); /* false: out of memory */
void vt_walk_release(struct vt_walk *walk);                            /* accepts a zeroed one */
/* Points the arrays at what is known of the node. Whether all its extents are. */
bool vt_walk_node(struct vt_walk *walk, const struct vt_node *node,
                  const struct vt_shape_info *infos);

#endif
