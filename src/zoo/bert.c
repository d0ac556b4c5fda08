/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BERT-large (Devlin et al., 2018) with the two outputs of SQuAD: 334 M parameters, 247 GFLOP a
 * question of 384 tokens. Layer normalisation and GELU are made of plain operators, as exports of
 * the time have them.
 */
#include <math.h>

#include "zoo/networks.h"

enum { TOKENS, LAYERS, HIDDEN, HEADS, INNER, VOCABULARY, POSITIONS };

static const struct vt_zoo_parameter parameters[] = {
    [TOKENS] = {"tokens", 384, 32, 1, 8192, "of a question with its text"},
    [LAYERS] = {"layers", 24, 2, 1, 200, "of the encoder"},
    [HIDDEN] = {"hidden", 1024, 64, 8, 16384, "size of a token"},
    [HEADS] = {"heads", 16, 4, 1, 256, "of attention"},
    [INNER] = {"inner", 4096, 256, 8, 65536, "size between the two dense layers"},
    [VOCABULARY] = {"vocabulary", 30522, 1000, 2, 1000000, "word pieces"},
    [POSITIONS] = {"positions", 512, 64, 1, 8192, "in the table of positions"},
};

/* What the published weights are drawn with. */
#define EMBEDDING_DEVIATION 0.02
#define MASKED              (-10000.0F)
/*
 * Attention averages over the tokens: what they share passes whole, what tells them apart hardly.
 * Where the branches are as strong as the residual, all tokens are the same after a few layers;
 * with these powers they keep apart through 24.
 */
#define VALUE_POWER     0.5
#define ATTENTION_POWER 0.05
#define DENSE_POWER     0.15

static struct vt_net_value layer_norm(struct vt_net *net, struct vt_net_value x, const char *name)
{
    const int64_t *dims = VT_NET_DIMS(net->spec->values[HIDDEN]);
    const char *scale = vt_net_uniform(net, vt_net_name(net, "%s.weight", name), dims, 0.75, 1.25);
    const char *bias = vt_net_normal(net, vt_net_name(net, "%s.bias", name), dims, 0, 0.05);
    const char *mean = vt_net_name(net, "%s.mean", name);
    const char *variance = vt_net_name(net, "%s.variance", name);

    vt_net_begin(net, "ReduceMean", mean, VT_NET_INPUTS(x.name));
    vt_write_attr_ints(net->writer, "axes", (int64_t[]){-1}, 1);
    vt_net_end(net);
    const char *centred =
        vt_net_node(net, "Sub", vt_net_name(net, "%s.centred", name), VT_NET_INPUTS(x.name, mean));
    const char *square =
        vt_net_node(net, "Pow", vt_net_name(net, "%s.square", name), VT_NET_INPUTS(centred, "two"));
    vt_net_begin(net, "ReduceMean", variance, VT_NET_INPUTS(square));
    vt_write_attr_ints(net->writer, "axes", (int64_t[]){-1}, 1);
    vt_net_end(net);
    const char *sum = vt_net_node(net, "Add", vt_net_name(net, "%s.sum", name),
                                  VT_NET_INPUTS(variance, "epsilon"));
    const char *root =
        vt_net_node(net, "Sqrt", vt_net_name(net, "%s.root", name), VT_NET_INPUTS(sum));
    const char *normal =
        vt_net_node(net, "Div", vt_net_name(net, "%s.normal", name), VT_NET_INPUTS(centred, root));
    const char *scaled =
        vt_net_node(net, "Mul", vt_net_name(net, "%s.scaled", name), VT_NET_INPUTS(normal, scale));
    vt_net_node(net, "Add", name, VT_NET_INPUTS(scaled, bias));
    return (struct vt_net_value){name, 1};
}

/* x / 2 (1 + erf(x / sqrt 2)) */
static struct vt_net_value gelu(struct vt_net *net, struct vt_net_value x, const char *name)
{
    const char *part = vt_net_node(net, "Div", vt_net_name(net, "%s.part", name),
                                   VT_NET_INPUTS(x.name, "root_two"));
    const char *erf =
        vt_net_node(net, "Erf", vt_net_name(net, "%s.erf", name), VT_NET_INPUTS(part));
    const char *sum =
        vt_net_node(net, "Add", vt_net_name(net, "%s.sum", name), VT_NET_INPUTS(erf, "one"));
    const char *product =
        vt_net_node(net, "Mul", vt_net_name(net, "%s.product", name), VT_NET_INPUTS(x.name, sum));
    vt_net_node(net, "Mul", name, VT_NET_INPUTS(product, "half"));
    return (struct vt_net_value){name, 0.35 * x.power};
}

/* Rows as heads: [N, tokens, hidden] to [N, heads, tokens, size], or transposed for keys. */
static const char *heads_of(struct vt_net *net, struct vt_net_value x, const char *prefix,
                            const char *which, double power, bool transposed)
{
    const int64_t *v = net->spec->values;
    const char *name = vt_net_name(net, "%s.%s", prefix, which);
    const int64_t plain[] = {0, 2, 1, 3}, turned[] = {0, 2, 3, 1};

    x = vt_net_linear(net, x, name, v[HIDDEN], v[HIDDEN], power);
    x = vt_net_reshape(net, x, vt_net_name(net, "%s.heads", name), 4,
                       (int64_t[]){0, v[TOKENS], v[HEADS], v[HIDDEN] / v[HEADS]});
    return vt_net_transpose(net, x, vt_net_name(net, "%s.permute", name), 4,
                            transposed ? turned : plain)
        .name;
}

static struct vt_net_value attention(struct vt_net *net, struct vt_net_value x, const char *prefix)
{
    const int64_t *v = net->spec->values;
    const char *query = heads_of(net, x, prefix, "query", 1, false);
    const char *key = heads_of(net, x, prefix, "key", 1, true);
    const char *value = heads_of(net, x, prefix, "value", VALUE_POWER, false);
    const char *probability = vt_net_name(net, "%s.softmax", prefix);

    const char *score =
        vt_net_node(net, "MatMul", vt_net_name(net, "%s.score", prefix), VT_NET_INPUTS(query, key));
    score = vt_net_node(net, "Div", vt_net_name(net, "%s.scaled", prefix),
                        VT_NET_INPUTS(score, "root_head"));
    score = vt_net_node(net, "Add", vt_net_name(net, "%s.masked", prefix),
                        VT_NET_INPUTS(score, "mask.bias"));
    vt_net_begin(net, "Softmax", probability, VT_NET_INPUTS(score));
    vt_write_attr_int(net->writer, "axis", -1);
    vt_net_end(net);
    const char *context = vt_net_node(net, "MatMul", vt_net_name(net, "%s.context", prefix),
                                      VT_NET_INPUTS(probability, value));
    struct vt_net_value y = {context, VALUE_POWER};
    y = vt_net_transpose(net, y, vt_net_name(net, "%s.rows", prefix), 4, (int64_t[]){0, 2, 1, 3});
    y = vt_net_reshape(net, y, vt_net_name(net, "%s.joined", prefix), 3,
                       (int64_t[]){0, v[TOKENS], v[HIDDEN]});
    return vt_net_linear(net, y, vt_net_name(net, "%s.output", prefix), v[HIDDEN], v[HIDDEN],
                         ATTENTION_POWER);
}

static struct vt_net_value encoder_layer(struct vt_net *net, struct vt_net_value x, int64_t layer)
{
    const int64_t *v = net->spec->values;
    const char *prefix = vt_net_name(net, "layer%lld", (long long)layer);

    struct vt_net_value y = attention(net, x, vt_net_name(net, "%s.attention", prefix));
    y = vt_net_add(net, y, x, vt_net_name(net, "%s.attention.residual", prefix));
    x = layer_norm(net, y, vt_net_name(net, "%s.attention.norm", prefix));
    y = vt_net_linear(net, x, vt_net_name(net, "%s.inner", prefix), v[HIDDEN], v[INNER], 0.5);
    y = gelu(net, y, vt_net_name(net, "%s.gelu", prefix));
    y = vt_net_linear(net, y, vt_net_name(net, "%s.outer", prefix), v[INNER], v[HIDDEN],
                      DENSE_POWER);
    y = vt_net_add(net, y, x, vt_net_name(net, "%s.residual", prefix));
    return layer_norm(net, y, vt_net_name(net, "%s.norm", prefix));
}

static struct vt_net_value embed(struct vt_net *net)
{
    const int64_t *v = net->spec->values;
    const int64_t *ids = VT_NET_DIMS(-1, v[TOKENS]);
    const double power = EMBEDDING_DEVIATION * EMBEDDING_DEVIATION;
    const char *words = vt_net_normal(net, "embeddings.word", VT_NET_DIMS(v[VOCABULARY], v[HIDDEN]),
                                      0, EMBEDDING_DEVIATION);
    const char *places = vt_net_normal(
        net, "embeddings.position", VT_NET_DIMS(v[POSITIONS], v[HIDDEN]), 0, EMBEDDING_DEVIATION);
    const char *kinds =
        vt_net_normal(net, "embeddings.segment", VT_NET_DIMS(2, v[HIDDEN]), 0, EMBEDDING_DEVIATION);

    vt_net_input(net, "input_ids", VT_I64, ids, 1);
    vt_net_input(net, "input_mask", VT_I64, ids, 1);
    vt_net_input(net, "segment_ids", VT_I64, ids, 1);
    struct vt_net_value x = vt_net_gather(net, words, "input_ids", "embeddings.words", 0, power);
    struct vt_net_value kind =
        vt_net_gather(net, kinds, "segment_ids", "embeddings.segments", 0, power);
    vt_net_ints(net, "zero", 1, (int64_t[]){0});
    vt_net_ints(net, "tokens", 1, &v[TOKENS]);
    vt_net_node(net, "Slice", "embeddings.positions",
                VT_NET_INPUTS(places, "zero", "tokens", "zero"));
    x = vt_net_add(net, x, kind, "embeddings.sum0");
    x = vt_net_add(net, x, (struct vt_net_value){"embeddings.positions", power}, "embeddings.sum1");
    return layer_norm(net, x, "embeddings.norm");
}

/* 0 where a token counts, a large negative number where it does not: [N, 1, 1, tokens]. */
static void write_mask(struct vt_net *net)
{
    vt_net_ints(net, "mask.axes", 2, (int64_t[]){1, 2});
    vt_net_scalar(net, "mask.weight", MASKED);
    vt_net_node(net, "Unsqueeze", "mask.rows", VT_NET_INPUTS("input_mask", "mask.axes"));
    vt_net_begin(net, "Cast", "mask.float", VT_NET_INPUTS("mask.rows"));
    vt_write_attr_int(net->writer, "to", VT_F32);
    vt_net_end(net);
    vt_net_node(net, "Sub", "mask.inverse", VT_NET_INPUTS("one", "mask.float"));
    vt_net_node(net, "Mul", "mask.bias", VT_NET_INPUTS("mask.inverse", "mask.weight"));
}

/* [N, tokens, 2] as two outputs. */
static void write_outputs(struct vt_net *net, struct vt_net_value x)
{
    const int64_t *v = net->spec->values;

    x = vt_net_linear(net, x, "answer", v[HIDDEN], 2, 1);
    vt_net_ints(net, "answer.sizes", 2, (int64_t[]){1, 1});
    vt_net_ints(net, "answer.axis", 1, (int64_t[]){-1});
    vt_net_begin(net, "Split", "answer.start", VT_NET_INPUTS(x.name, "answer.sizes"));
    vt_write_node_output(net->writer, "answer.end");
    vt_write_attr_int(net->writer, "axis", -1);
    vt_net_end(net);
    vt_net_node(net, "Squeeze", "output_start_logits",
                VT_NET_INPUTS("answer.start", "answer.axis"));
    vt_net_node(net, "Squeeze", "output_end_logits", VT_NET_INPUTS("answer.end", "answer.axis"));
    vt_net_output(net, "output_start_logits", VT_F32, VT_NET_DIMS(-1, v[TOKENS]), "N");
    vt_net_output(net, "output_end_logits", VT_F32, VT_NET_DIMS(-1, v[TOKENS]), "N");
}

static enum vt_status build(struct vt_net *net, struct vt_error *err)
{
    const int64_t *v = net->spec->values;

    if (v[HIDDEN] % v[HEADS] != 0 || v[TOKENS] > v[POSITIONS]) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "bert-large: %s (hidden=%lld, heads=%lld, tokens=%lld, positions=%lld)",
                            v[HIDDEN] % v[HEADS] != 0
                                ? "the heads do not divide the size of a token"
                                : "there are more tokens than positions",
                            (long long)v[HIDDEN], (long long)v[HEADS], (long long)v[TOKENS],
                            (long long)v[POSITIONS]);
    }
    const int64_t head = v[HIDDEN] / v[HEADS];
    vt_net_scalar(net, "one", 1);
    vt_net_scalar(net, "two", 2);
    vt_net_scalar(net, "half", 0.5F);
    vt_net_scalar(net, "root_two", (float)sqrt(2));
    vt_net_scalar(net, "root_head", (float)sqrt((double)head));
    vt_net_scalar(net, "epsilon", 1e-12F);
    struct vt_net_value x = embed(net);
    write_mask(net);
    for (int64_t i = 0; i < v[LAYERS]; i++) {
        x = encoder_layer(net, x, i);
    }
    write_outputs(net, x);
    return VT_OK;
}

const struct vt_zoo_network vt_zoo_bert_large = {
    .name = "bert-large",
    .benchmark = "bert",
    .summary = "BERT-large for SQuAD: 384 tokens; 334 M parameters, 1.3 GB",
    .parameters = parameters,
    .n_parameters = VT_ZOO_N_PARAMETERS(parameters),
    .graphs = {{"", build}},
    .n_graphs = 1,
};
