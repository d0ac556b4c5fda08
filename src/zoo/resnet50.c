/* SPDX-License-Identifier: Apache-2.0 */
/* ResNet-50 v1.5: 25.56 M parameters, 8.2 GFLOP an image of 224x224. */
#include "zoo/networks.h"
#include "zoo/resnet.h"

enum { IMAGE, CHANNELS, CLASSES, BLOCKS1, BLOCKS2, BLOCKS3, BLOCKS4 };

static const struct vt_zoo_parameter parameters[] = {
    [IMAGE] = {"image", 224, 64, 32, 4096, "height and width of an image"},
    [CHANNELS] = {"channels", 64, 16, 4, 512, "of the first convolution; later ones follow"},
    [CLASSES] = {"classes", 1000, 40, 2, 100000, "of the last layer"},
    [BLOCKS1] = {"blocks1", 3, 1, 1, 64, "bottlenecks in the first stage"},
    [BLOCKS2] = {"blocks2", 4, 1, 1, 64, "in the second"},
    [BLOCKS3] = {"blocks3", 6, 2, 1, 64, "in the third"},
    [BLOCKS4] = {"blocks4", 3, 1, 1, 64, "in the fourth"},
};

static enum vt_status build(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;
    const struct vt_resnet resnet = {
        v[CHANNELS], 1, 1, {v[BLOCKS1], v[BLOCKS2], v[BLOCKS3], v[BLOCKS4]}};
    const int64_t features = vt_resnet_channels(&resnet, VT_RESNET_STAGES - 1);
    struct vt_net_value stages[VT_RESNET_STAGES];

    (void)err;
    struct vt_net_value x =
        vt_net_input(net, "input", VT_F32, VT_NET_DIMS(-1, 3, v[IMAGE], v[IMAGE]), 0.5);
    vt_resnet_build(net, x, &resnet, stages);
    x = stages[VT_RESNET_STAGES - 1];
    vt_net_node(net, "GlobalAveragePool", "avgpool", VT_NET_INPUTS(x.name));
    vt_net_begin(net, "Flatten", "flatten", VT_NET_INPUTS("avgpool"));
    vt_write_attr_int(net->writer, "axis", 1);
    vt_net_end(net);
    /* Half of a rectified channel's power is its mean, which is what an average leaves. */
    x = (struct vt_net_value){"flatten", 0.5 * x.power};
    vt_net_gemm(net, x, "logits", features, v[CLASSES], 4);
    vt_net_output(net, "logits", VT_F32, VT_NET_DIMS(-1, v[CLASSES]), "N");
    return VT_OK;
}

const struct vt_zoo_network vt_zoo_resnet50 = {
    .name = "resnet50",
    .benchmark = "resnet50",
    .summary = "ResNet-50 v1.5: images 3x224x224, 1,000 classes; 25.6 M parameters",
    .parameters = parameters,
    .n_parameters = VT_ZOO_N_PARAMETERS(parameters),
    .graphs = {{"", build}},
    .n_graphs = 1,
};
