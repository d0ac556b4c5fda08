/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RNN-T (Graves, 2012) as used for LibriSpeech: 45.3 M parameters in three graphs. Greedy decoding
 * runs the encoder once over the utterance, and prediction and joint once a step; the loop lies
 * outside the graphs.
 *
 *   encoder     features [N, frames, 240] → encoded [N, frames / 2, 1024]: two LSTMs, two
 *               neighbours stacked, three LSTMs
 *   prediction  label [N], hidden and cell [N, 2, 320] → predicted [N, 320] and the new states
 *   joint       encoded [N, 1024], predicted [N, 320] → logits [N, 29]
 *
 * The batch stands first everywhere, states included.
 */
#include "zoo/networks.h"

enum { FRAMES, FEATURES, HIDDEN, BEFORE, BEHIND, PREDICTION, JOINT, LABELS };

static const struct vt_zoo_parameter parameters[] = {
    [FRAMES] = {"frames", 500, 20, 0, 100000,
                "of an utterance, 30 ms each: 500 are the longest one, 15 s; 0 leaves it open"},
    [FEATURES] = {"features", 240, 24, 1, 4096, "of a frame: 80 mel bands, 3 neighbours"},
    [HIDDEN] = {"hidden", 1024, 48, 1, 8192, "size of an encoder LSTM"},
    [BEFORE] = {"before", 2, 1, 1, 16, "encoder LSTMs before two frames become one"},
    [BEHIND] = {"behind", 3, 1, 1, 16, "encoder LSTMs behind that"},
    [PREDICTION] = {"prediction", 320, 32, 1, 8192, "size of the two prediction LSTMs"},
    [JOINT] = {"joint", 512, 40, 1, 8192, "size of the joint network"},
    [LABELS] = {"labels", 29, 29, 2, 100000, "characters and the blank"},
};

#define PREDICTION_LAYERS 2

static struct vt_net_value encoder_layers(struct vt_net *net, struct vt_net_value x, int64_t first,
                                          int64_t n, int64_t in)
{
    for (int64_t i = first; i < first + n; i++) {
        const struct vt_net_lstm lstm = {.in = i == first ? in : net->spec->values[HIDDEN],
                                         .hidden = net->spec->values[HIDDEN]};
        const char *h, *c;
        x = vt_net_lstm(net, x, vt_net_name(net, "lstm%lld", (long long)i), &lstm, &h, &c);
    }
    return x;
}

static enum vt_status build_encoder(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;
    const int64_t frames = v[FRAMES] > 0 ? v[FRAMES] : -1;
    const int64_t time_first[] = {1, 0, 2};

    if (v[FRAMES] % 2 != 0) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "rnnt: frames=%lld, an even number is needed: two frames become one",
                            (long long)v[FRAMES]);
    }
    struct vt_net_value x =
        vt_net_input(net, "features", VT_F32, VT_NET_DIMS(-1, frames, v[FEATURES]), 1);
    x = vt_net_transpose(net, x, "time_first", 3, time_first);
    x = encoder_layers(net, x, 0, v[BEFORE], v[FEATURES]);
    x = vt_net_transpose(net, x, "batch_first", 3, time_first);
    x = vt_net_reshape(net, x, "stack", 3, (int64_t[]){0, -1, 2 * v[HIDDEN]});
    x = vt_net_transpose(net, x, "stack_time_first", 3, time_first);
    x = encoder_layers(net, x, v[BEFORE], v[BEHIND], 2 * v[HIDDEN]);
    vt_net_transpose(net, x, "encoded", 3, time_first);
    vt_net_output(net, "encoded", VT_F32, VT_NET_DIMS(-1, frames > 0 ? frames / 2 : -1, v[HIDDEN]),
                  "N");
    return VT_OK;
}

/* Layer `i` of a state [N, layers, size] as [1, N, size]. */
static const char *layer_state(struct vt_net *net, const char *state, int i)
{
    const char *row = vt_net_gather(net, state, i == 0 ? "layer0" : "layer1",
                                    vt_net_name(net, "%s.layer%d", state, i), 1, 1)
                          .name;
    return vt_net_transpose(net, (struct vt_net_value){row, 1},
                            vt_net_name(net, "%s.state%d", state, i), 3, (int64_t[]){1, 0, 2})
        .name;
}

/* [1, N, size] of the layers as [N, layers, size]. */
static void join_states(struct vt_net *net, const char *name, const char *const *states)
{
    struct vt_net_value x = vt_net_concat(net, vt_net_name(net, "%s.layers", name), 0, 1, states);
    vt_net_transpose(net, x, name, 3, (int64_t[]){1, 0, 2});
}

static enum vt_status build_prediction(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;
    const int64_t size = v[PREDICTION];
    const char *h[PREDICTION_LAYERS + 1] = {NULL}, *c[PREDICTION_LAYERS + 1] = {NULL};

    (void)err;
    vt_net_ints(net, "layer0", 1, (int64_t[]){0});
    vt_net_ints(net, "layer1", 1, (int64_t[]){1});
    vt_net_input(net, "label", VT_I64, VT_NET_DIMS(-1), 1);
    vt_net_input(net, "hidden", VT_F32, VT_NET_DIMS(-1, PREDICTION_LAYERS, size), 0.1);
    vt_net_input(net, "cell", VT_F32, VT_NET_DIMS(-1, PREDICTION_LAYERS, size), 0.1);
    const char *table = vt_net_normal(net, "embedding", VT_NET_DIMS(v[LABELS] - 1, size), 0, 1);
    struct vt_net_value x = vt_net_gather(net, table, "label", "embedded", 0, 1);
    vt_net_node(net, "Unsqueeze", "step", VT_NET_INPUTS(x.name, "layer0"));
    x.name = "step";
    for (int i = 0; i < PREDICTION_LAYERS; i++) {
        const struct vt_net_lstm lstm = {.in = size,
                                         .hidden = size,
                                         .h = layer_state(net, "hidden", i),
                                         .c = layer_state(net, "cell", i)};
        x = vt_net_lstm(net, x, vt_net_name(net, "lstm%d", i), &lstm, &h[i], &c[i]);
    }
    vt_net_node(net, "Squeeze", "predicted", VT_NET_INPUTS(x.name, "layer0"));
    join_states(net, "hidden_out", h);
    join_states(net, "cell_out", c);
    vt_net_output(net, "predicted", VT_F32, VT_NET_DIMS(-1, size), "N");
    vt_net_output(net, "hidden_out", VT_F32, VT_NET_DIMS(-1, PREDICTION_LAYERS, size), "N");
    vt_net_output(net, "cell_out", VT_F32, VT_NET_DIMS(-1, PREDICTION_LAYERS, size), "N");
    return VT_OK;
}

static enum vt_status build_joint(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;

    (void)err;
    struct vt_net_value encoded =
        vt_net_input(net, "encoded", VT_F32, VT_NET_DIMS(-1, v[HIDDEN]), 0.1);
    struct vt_net_value predicted =
        vt_net_input(net, "predicted", VT_F32, VT_NET_DIMS(-1, v[PREDICTION]), 0.1);
    struct vt_net_value x =
        vt_net_concat(net, "both", 1, 0.1, VT_NET_INPUTS(encoded.name, predicted.name));
    x = vt_net_gemm(net, x, "dense", v[HIDDEN] + v[PREDICTION], v[JOINT], 1);
    x = vt_net_relu(net, x, "relu");
    vt_net_gemm(net, x, "logits", v[JOINT], v[LABELS], 1);
    vt_net_output(net, "logits", VT_F32, VT_NET_DIMS(-1, v[LABELS]), "N");
    return VT_OK;
}

const struct vt_zoo_network vt_zoo_rnnt = {
    .name = "rnnt",
    .summary = "RNN-T: encoder, prediction and joint, utterances up to 15 s; 45.3 M parameters",
    .parameters = parameters,
    .n_parameters = VT_ZOO_N_PARAMETERS(parameters),
    .graphs = {{"encoder", build_encoder},
               {"prediction", build_prediction},
               {"joint", build_joint}},
    .n_graphs = 3,
};
