/* SPDX-License-Identifier: Apache-2.0 */
#include "zoo/net.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "zoo/random.h"

#define OPSET 13 /* everything the networks need, and every engine has it */

enum vt_status vt_net_init(struct vt_net *net, const struct vt_zoo_spec *spec, const char *name,
                           struct vt_error *err)
{
    char seed[32];

    memset(net, 0, sizeof *net);
    net->spec = spec;
    vt_arena_init(&net->arena, 0);
    enum vt_status status = vt_model_writer_new("vatio zoo", name, OPSET, err, &net->writer);
    if (status == VT_OK) {
        (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)spec->seed);
        vt_write_metadata(net->writer, "weights", "random");
        vt_write_metadata(net->writer, "seed", seed);
        vt_write_metadata(net->writer, "scale", spec->small ? "small" : "full");
    }
    return status;
}

void vt_net_release(struct vt_net *net)
{
    vt_model_writer_free(net->writer);
    vt_arena_release(&net->arena);
    memset(net, 0, sizeof *net);
}

const char *vt_net_name(struct vt_net *net, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *name = n > 0 ? vt_arena_strndup(&net->arena, text, strlen(text)) : NULL;
    if (name == NULL) {
        net->failed = true;
        return "";
    }
    return name;
}

/* --- values, nodes, weights --------------------------------------------------------------------
 */

static uint32_t rank_of(const int64_t *dims)
{
    uint32_t rank = 0;

    while (dims[rank] != 0 && rank < VT_RANK_MAX) {
        rank++;
    }
    return rank;
}

static struct vt_port port_of(const char *name, enum vt_dtype dtype, const int64_t *dims,
                              const char *symbol)
{
    struct vt_port port = {.name = name, .dtype = dtype, .rank = rank_of(dims)};

    memcpy(port.dim, dims, port.rank * sizeof dims[0]);
    if (port.rank > 0 && port.dim[0] < 0) {
        port.symbol[0] = symbol;
    }
    return port;
}

struct vt_net_value vt_net_input(struct vt_net *net, const char *name, enum vt_dtype dtype,
                                 const int64_t *dims, double power)
{
    struct vt_port port = port_of(name, dtype, dims, "N");

    vt_write_input(net->writer, &port);
    return (struct vt_net_value){name, power};
}

void vt_net_output(struct vt_net *net, const char *name, enum vt_dtype dtype, const int64_t *dims,
                   const char *symbol)
{
    struct vt_port port = port_of(name, dtype, dims, symbol);

    vt_write_output(net->writer, &port);
}

void vt_net_begin(struct vt_net *net, const char *op, const char *name, const char *const *inputs)
{
    vt_write_node_begin(net->writer, op, name);
    for (; *inputs != NULL; inputs++) {
        vt_write_node_input(net->writer, *inputs);
    }
    vt_write_node_output(net->writer, name);
}

void vt_net_end(struct vt_net *net)
{
    vt_write_node_end(net->writer);
}

const char *vt_net_node(struct vt_net *net, const char *op, const char *name,
                        const char *const *inputs)
{
    vt_net_begin(net, op, name, inputs);
    vt_net_end(net);
    return name;
}

static void constant(struct vt_net *net, const char *name, enum vt_dtype dtype, const int64_t *dims,
                     const void *values)
{
    struct vt_tensor tensor = {
        .dtype = dtype, .rank = rank_of(dims), .data = (void *)(uintptr_t)values};

    memcpy(tensor.dim, dims, tensor.rank * sizeof dims[0]);
    if (!vt_shape_bytes(dtype, tensor.dim, tensor.rank, &tensor.bytes)) {
        net->failed = true;
        return;
    }
    vt_write_constant(net->writer, name, &tensor);
}

const char *vt_net_ints(struct vt_net *net, const char *name, size_t n, const int64_t *values)
{
    constant(net, name, VT_I64, VT_NET_DIMS((int64_t)n), values);
    return name;
}

const char *vt_net_scalar(struct vt_net *net, const char *name, float value)
{
    constant(net, name, VT_F32, (const int64_t[]){0}, &value);
    return name;
}

const char *vt_net_floats(struct vt_net *net, const char *name, const int64_t *dims,
                          const float *values)
{
    constant(net, name, VT_F32, dims, values);
    return name;
}

static const char *random_weight(struct vt_net *net, const char *name, const int64_t *dims,
                                 struct vt_zoo_random recipe)
{
    struct vt_zoo_random *random = vt_arena_calloc(&net->arena, 1, sizeof *random);

    if (random == NULL) {
        net->failed = true;
        return name;
    }
    *random = recipe;
    random->key = vt_zoo_key(net->spec->seed, name);
    vt_write_weight(net->writer, name, VT_F32, rank_of(dims), dims, vt_zoo_random_fill, random);
    return name;
}

const char *vt_net_normal(struct vt_net *net, const char *name, const int64_t *dims, double mean,
                          double deviation)
{
    return random_weight(net, name, dims,
                         (struct vt_zoo_random){.kind = VT_ZOO_NORMAL, .a = mean, .b = deviation});
}

const char *vt_net_uniform(struct vt_net *net, const char *name, const int64_t *dims, double low,
                           double high)
{
    return random_weight(net, name, dims,
                         (struct vt_zoo_random){.kind = VT_ZOO_UNIFORM, .a = low, .b = high});
}

/* --- layers ------------------------------------------------------------------------------------
 */

/* The deviation of weights of which `fan_in` meet in an element, for an output of that power. */
static double deviation_for(double power, int64_t fan_in, double input_power)
{
    return sqrt((power > 0 ? power : 1) / ((double)fan_in * input_power));
}

static void repeat_attr(struct vt_net *net, const char *name, uint32_t n, int64_t value)
{
    int64_t values[2 * VT_RANK_MAX];

    for (uint32_t i = 0; i < n; i++) {
        values[i] = value;
    }
    vt_write_attr_ints(net->writer, name, values, n);
}

/* The weight [first, second, kernel…] of a convolution, and its bias where it has one. */
static const char *conv_weights(struct vt_net *net, const char *name, int64_t first, int64_t second,
                                const struct vt_net_conv *conv, double deviation,
                                const char **ret_bias)
{
    const int64_t k = conv->kernel;
    const int64_t dims[] = {first, second, k, k, conv->space == 3 ? k : 0, 0};

    *ret_bias = NULL;
    if (conv->bias) {
        *ret_bias = vt_net_normal(net, vt_net_name(net, "%s.bias", name), VT_NET_DIMS(conv->out), 0,
                                  0.02 * sqrt(conv->power > 0 ? conv->power : 1));
    }
    return vt_net_normal(net, vt_net_name(net, "%s.weight", name), dims, 0, deviation);
}

struct vt_net_value vt_net_conv(struct vt_net *net, struct vt_net_value x, const char *name,
                                const struct vt_net_conv *conv)
{
    const int64_t groups = conv->groups > 0 ? conv->groups : 1;
    const double power = conv->power > 0 ? conv->power : 1;
    int64_t fan_in = conv->in / groups;
    const char *bias;

    for (uint32_t i = 0; i < conv->space; i++) {
        fan_in *= conv->kernel;
    }
    const char *weight = conv_weights(net, name, conv->out, conv->in / groups, conv,
                                      deviation_for(power, fan_in, x.power), &bias);
    vt_net_begin(net, "Conv", name, VT_NET_INPUTS(x.name, weight, bias));
    repeat_attr(net, "kernel_shape", conv->space, conv->kernel);
    repeat_attr(net, "strides", conv->space, conv->stride > 0 ? conv->stride : 1);
    repeat_attr(net, "pads", 2 * conv->space, (conv->kernel - 1) / 2);
    vt_write_attr_int(net->writer, "group", groups);
    vt_net_end(net);
    return (struct vt_net_value){name, power};
}

struct vt_net_value vt_net_conv_up(struct vt_net *net, struct vt_net_value x, const char *name,
                                   const struct vt_net_conv *conv)
{
    const double power = conv->power > 0 ? conv->power : 1;
    const char *bias;
    /* Where stride and kernel are equal, one tap of every input channel meets in an output. */
    const char *weight = conv_weights(net, name, conv->in, conv->out, conv,
                                      deviation_for(power, conv->in, x.power), &bias);

    vt_net_begin(net, "ConvTranspose", name, VT_NET_INPUTS(x.name, weight, bias));
    repeat_attr(net, "kernel_shape", conv->space, conv->kernel);
    repeat_attr(net, "strides", conv->space, conv->stride);
    vt_net_end(net);
    return (struct vt_net_value){name, power};
}

struct vt_net_value vt_net_batch_norm(struct vt_net *net, struct vt_net_value x, const char *name,
                                      int64_t channels, double gain)
{
    const int64_t *dims = VT_NET_DIMS(channels);
    const char *scale =
        vt_net_uniform(net, vt_net_name(net, "%s.weight", name), dims, 0.75 * gain, 1.25 * gain);
    const char *bias = vt_net_normal(net, vt_net_name(net, "%s.bias", name), dims, 0, 0.1 * gain);
    const char *mean =
        vt_net_normal(net, vt_net_name(net, "%s.running_mean", name), dims, 0, 0.1 * sqrt(x.power));
    const char *var = vt_net_uniform(net, vt_net_name(net, "%s.running_var", name), dims,
                                     0.75 * x.power, 1.25 * x.power);

    vt_net_node(net, "BatchNormalization", name, VT_NET_INPUTS(x.name, scale, bias, mean, var));
    /* What the spread of these four adds. */
    return (struct vt_net_value){name, 1.065 * gain * gain};
}

struct vt_net_value vt_net_instance_norm(struct vt_net *net, struct vt_net_value x,
                                         const char *name, int64_t channels)
{
    const int64_t *dims = VT_NET_DIMS(channels);
    const char *scale = vt_net_uniform(net, vt_net_name(net, "%s.weight", name), dims, 0.75, 1.25);
    const char *bias = vt_net_normal(net, vt_net_name(net, "%s.bias", name), dims, 0, 0.1);

    vt_net_begin(net, "InstanceNormalization", name, VT_NET_INPUTS(x.name, scale, bias));
    vt_write_attr_float(net->writer, "epsilon", 1e-5F);
    vt_net_end(net);
    return (struct vt_net_value){name, 1};
}

struct vt_net_value vt_net_relu(struct vt_net *net, struct vt_net_value x, const char *name)
{
    vt_net_node(net, "Relu", name, VT_NET_INPUTS(x.name));
    return (struct vt_net_value){name, 0.5 * x.power};
}

struct vt_net_value vt_net_add(struct vt_net *net, struct vt_net_value a, struct vt_net_value b,
                               const char *name)
{
    vt_net_node(net, "Add", name, VT_NET_INPUTS(a.name, b.name));
    return (struct vt_net_value){name, a.power + b.power};
}

struct vt_net_value vt_net_reshape(struct vt_net *net, struct vt_net_value x, const char *name,
                                   size_t rank, const int64_t *dims)
{
    const char *shape = vt_net_ints(net, vt_net_name(net, "%s.shape", name), rank, dims);

    vt_net_node(net, "Reshape", name, VT_NET_INPUTS(x.name, shape));
    return (struct vt_net_value){name, x.power};
}

struct vt_net_value vt_net_transpose(struct vt_net *net, struct vt_net_value x, const char *name,
                                     size_t rank, const int64_t *perm)
{
    vt_net_begin(net, "Transpose", name, VT_NET_INPUTS(x.name));
    vt_write_attr_ints(net->writer, "perm", perm, rank);
    vt_net_end(net);
    return (struct vt_net_value){name, x.power};
}

struct vt_net_value vt_net_concat(struct vt_net *net, const char *name, int64_t axis, double power,
                                  const char *const *inputs)
{
    vt_net_begin(net, "Concat", name, inputs);
    vt_write_attr_int(net->writer, "axis", axis);
    vt_net_end(net);
    return (struct vt_net_value){name, power};
}

struct vt_net_value vt_net_gather(struct vt_net *net, const char *table, const char *indices,
                                  const char *name, int64_t axis, double power)
{
    vt_net_begin(net, "Gather", name, VT_NET_INPUTS(table, indices));
    vt_write_attr_int(net->writer, "axis", axis);
    vt_net_end(net);
    return (struct vt_net_value){name, power};
}

struct vt_net_value vt_net_gemm(struct vt_net *net, struct vt_net_value x, const char *name,
                                int64_t in, int64_t out, double power)
{
    const char *weight = vt_net_normal(net, vt_net_name(net, "%s.weight", name),
                                       VT_NET_DIMS(out, in), 0, deviation_for(power, in, x.power));
    const char *bias =
        vt_net_normal(net, vt_net_name(net, "%s.bias", name), VT_NET_DIMS(out), 0, 0.02);

    vt_net_begin(net, "Gemm", name, VT_NET_INPUTS(x.name, weight, bias));
    vt_write_attr_int(net->writer, "transB", 1);
    vt_net_end(net);
    return (struct vt_net_value){name, power};
}

struct vt_net_value vt_net_linear(struct vt_net *net, struct vt_net_value x, const char *name,
                                  int64_t in, int64_t out, double power)
{
    const char *weight = vt_net_normal(net, vt_net_name(net, "%s.weight", name),
                                       VT_NET_DIMS(in, out), 0, deviation_for(power, in, x.power));
    const char *bias =
        vt_net_normal(net, vt_net_name(net, "%s.bias", name), VT_NET_DIMS(out), 0, 0.02);
    const char *product = vt_net_node(net, "MatMul", vt_net_name(net, "%s.matmul", name),
                                      VT_NET_INPUTS(x.name, weight));

    vt_net_node(net, "Add", name, VT_NET_INPUTS(product, bias));
    return (struct vt_net_value){name, power};
}

struct vt_net_value vt_net_lstm(struct vt_net *net, struct vt_net_value x, const char *name,
                                const struct vt_net_lstm *lstm, const char **ret_h,
                                const char **ret_c)
{
    const int64_t gates = 4 * lstm->hidden;
    const double recurrent = sqrt(1.0 / (double)lstm->hidden);
    const char *w =
        vt_net_normal(net, vt_net_name(net, "%s.weight_ih", name), VT_NET_DIMS(1, gates, lstm->in),
                      0, deviation_for(1, lstm->in, x.power));
    const char *r = vt_net_normal(net, vt_net_name(net, "%s.weight_hh", name),
                                  VT_NET_DIMS(1, gates, lstm->hidden), 0, recurrent);
    const char *b = vt_net_uniform(net, vt_net_name(net, "%s.bias", name),
                                   VT_NET_DIMS(1, 2 * gates), -recurrent, recurrent);
    const char *sequence = vt_net_name(net, "%s.directions", name);

    vt_net_begin(net, "LSTM", sequence,
                 lstm->h != NULL ? VT_NET_INPUTS(x.name, w, r, b, "", lstm->h, lstm->c)
                                 : VT_NET_INPUTS(x.name, w, r, b));
    *ret_h = vt_net_name(net, "%s.h", name);
    *ret_c = vt_net_name(net, "%s.c", name);
    if (lstm->h != NULL) {
        vt_write_node_output(net->writer, *ret_h);
        vt_write_node_output(net->writer, *ret_c);
    }
    vt_write_attr_int(net->writer, "hidden_size", lstm->hidden);
    vt_net_end(net);
    /* [T, directions, N, hidden] without the one direction. */
    const char *axis = vt_net_ints(net, vt_net_name(net, "%s.axis", name), 1, (int64_t[]){1});
    vt_net_node(net, "Squeeze", name, VT_NET_INPUTS(sequence, axis));
    /* A gate's half times the tanh of a cell of about that size: what such a network gives. */
    return (struct vt_net_value){name, 0.1};
}
