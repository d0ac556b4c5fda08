/* SPDX-License-Identifier: Apache-2.0 */
/* The networks, one file each. Private to the room. */
#ifndef VT_ZOO_NETWORKS_H
#define VT_ZOO_NETWORKS_H

#include "zoo/net.h"

extern const struct vt_zoo_network vt_zoo_resnet50;
extern const struct vt_zoo_network vt_zoo_retinanet;
extern const struct vt_zoo_network vt_zoo_unet3d;
extern const struct vt_zoo_network vt_zoo_rnnt;
extern const struct vt_zoo_network vt_zoo_bert_large;
extern const struct vt_zoo_network vt_zoo_dlrm;

#define VT_ZOO_N_PARAMETERS(table) (sizeof(table) / sizeof((table)[0]))

#endif
