/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of a network that is being written.
 *
 * Each value carries the power (mean square of an element) that is expected of it, and a layer
 * draws its weights so that what it gives has the power asked for (1 unless said otherwise). That
 * keeps activations in a sane range through any number of layers. Batch normalisations have the
 * statistics that such weights give.
 *
 * A node's first output has the node's name. Failures are remembered as in graph/write.h.
 */
#ifndef VT_ZOO_NET_H
#define VT_ZOO_NET_H

#include "base/alloc.h"
#include "graph/write.h"
#include "zoo/zoo.h"

struct vt_net {
    struct vt_model_writer *writer;
    const struct vt_zoo_spec *spec;
    struct vt_arena arena; /* names, and what weights are made of */
    bool failed;
};

struct vt_net_value {
    const char *name;
    double power;
};

enum vt_status vt_net_init(struct vt_net *net, const struct vt_zoo_spec *spec, const char *name,
                           struct vt_error *err) VT_NODISCARD;
void vt_net_release(struct vt_net *net); /* accepts a zeroed one */

/* A name that lives as long as the network. */
const char *vt_net_name(struct vt_net *net, const char *fmt, ...) VT_PRINTF(2, 3);

/* An extent of -1 is open: the batch, "N", in dimension 0. Extents end with 0. */
#define VT_NET_DIMS(...)   ((const int64_t[]){__VA_ARGS__, 0})
#define VT_NET_INPUTS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct vt_net_value vt_net_input(struct vt_net *net, const char *name, enum vt_dtype dtype,
                                 const int64_t *dims, double power);
/* `symbol` names dimension 0 where it is open. */
void vt_net_output(struct vt_net *net, const char *name, enum vt_dtype dtype, const int64_t *dims,
                   const char *symbol);

/* A node, open for further outputs and attributes until vt_net_end. */
void vt_net_begin(struct vt_net *net, const char *op, const char *name, const char *const *inputs);
void vt_net_end(struct vt_net *net);
/* A whole node without attributes; returns `name`. */
const char *vt_net_node(struct vt_net *net, const char *op, const char *name,
                        const char *const *inputs);

/* Constants; each returns its name. */
const char *vt_net_ints(struct vt_net *net, const char *name, size_t n, const int64_t *values);
const char *vt_net_scalar(struct vt_net *net, const char *name, float value);
const char *vt_net_floats(struct vt_net *net, const char *name, const int64_t *dims,
                          const float *values);
/* Random float32 weights. */
const char *vt_net_normal(struct vt_net *net, const char *name, const int64_t *dims, double mean,
                          double deviation);
const char *vt_net_uniform(struct vt_net *net, const char *name, const int64_t *dims, double low,
                           double high);

struct vt_net_conv {
    uint32_t space; /* 2 or 3 dimensions */
    int64_t in, out;
    int64_t kernel;
    int64_t stride; /* 0: 1 */
    int64_t groups; /* 0: 1 */
    bool bias;
    double power; /* 0: 1 */
};
/* "Same" padding of (kernel - 1) / 2. */
struct vt_net_value vt_net_conv(struct vt_net *net, struct vt_net_value x, const char *name,
                                const struct vt_net_conv *conv);
/* Kernel and stride 2: doubles every extent. */
struct vt_net_value vt_net_conv_up(struct vt_net *net, struct vt_net_value x, const char *name,
                                   const struct vt_net_conv *conv);
/* `gain`: the deviation of what it gives. */
struct vt_net_value vt_net_batch_norm(struct vt_net *net, struct vt_net_value x, const char *name,
                                      int64_t channels, double gain);
struct vt_net_value vt_net_instance_norm(struct vt_net *net, struct vt_net_value x,
                                         const char *name, int64_t channels);
struct vt_net_value vt_net_relu(struct vt_net *net, struct vt_net_value x, const char *name);
struct vt_net_value vt_net_add(struct vt_net *net, struct vt_net_value a, struct vt_net_value b,
                               const char *name);
struct vt_net_value vt_net_reshape(struct vt_net *net, struct vt_net_value x, const char *name,
                                   size_t rank, const int64_t *dims);
struct vt_net_value vt_net_transpose(struct vt_net *net, struct vt_net_value x, const char *name,
                                     size_t rank, const int64_t *perm);
struct vt_net_value vt_net_concat(struct vt_net *net, const char *name, int64_t axis, double power,
                                  const char *const *inputs);
struct vt_net_value vt_net_gather(struct vt_net *net, const char *table, const char *indices,
                                  const char *name, int64_t axis, double power);
/* Gemm: rows of `in` to rows of `out`, with bias. */
struct vt_net_value vt_net_gemm(struct vt_net *net, struct vt_net_value x, const char *name,
                                int64_t in, int64_t out, double power);
/* The same for any number of dimensions in front: MatMul and Add. */
struct vt_net_value vt_net_linear(struct vt_net *net, struct vt_net_value x, const char *name,
                                  int64_t in, int64_t out, double power);

/* x of the extents [T, N, in]; returns [T, N, hidden]. With `h` and `c` ([1, N, hidden]) it goes on
 * from there, and ret_h and ret_c are the names of the new ones. */
struct vt_net_lstm {
    int64_t in, hidden;
    const char *h, *c;
};
struct vt_net_value vt_net_lstm(struct vt_net *net, struct vt_net_value x, const char *name,
                                const struct vt_net_lstm *lstm, const char **ret_h,
                                const char **ret_c);

#endif
