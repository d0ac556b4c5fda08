/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Post-training quantisation: from a float32 model to one that says, by QuantizeLinear and
 * DequantizeLinear around its operators, how it is carried out in int8.
 *
 *     new → watched values → (the caller runs samples and finds their ranges) → write
 *
 * What is quantised: the layers, which are Conv, MatMul and Gemm by constant weights; sums of
 * what layers make; and operators in between that only move numbers, which keep their input's
 * scale. Weights are int8, symmetric, with a scale an output channel; activations are uint8 or int8
 * with one scale and zero point; a bias is int32 in the scale of the sums. A BatchNormalization
 * behind a layer goes into its weights first.
 *
 * Ownership: a quantizer borrows the model. Threading: used by one thread at a time.
 */
#ifndef VT_QUANTIZE_QUANTIZE_H
#define VT_QUANTIZE_QUANTIZE_H

#include "graph/graph.h"
#include "graph/write.h"
#include "quantize/range.h"

struct vt_quantizer;

/* A layer that can be quantised, in the order of the graph. */
struct vt_quantize_layer {
    const char *name; /* of the node, else of what it makes; borrowed */
    const char *op;
    int64_t weights; /* how many */
    bool folded_norm;
};

/* VT_ERR_UNSUPPORTED: control flow, operators of other domains, opsets below 7, types that cannot
 * be written. Errors name the node. */
enum vt_status vt_quantizer_new(const struct vt_model *model, struct vt_error *err,
                                struct vt_quantizer **ret_quantizer) VT_NODISCARD;
void vt_quantizer_free(struct vt_quantizer *quantizer); /* accepts NULL */

const struct vt_quantize_layer *vt_quantizer_layers(const struct vt_quantizer *quantizer,
                                                    uint32_t *ret_n);
/* The values of the model whose ranges it needs, all float32. */
const uint32_t *vt_quantizer_watched(const struct vt_quantizer *quantizer, uint32_t *ret_n);

struct vt_quantize_choice {
    const bool *layers;            /* which ones, as many as there are */
    const struct vt_range *ranges; /* of the watched values */
    bool is_signed;                /* activations are int8, else uint8 */
    const char *remark;            /* kept with the model; NULL: none */
};
/* The model as a writer, to be saved or read again. The same for the same choice. */
enum vt_status vt_quantizer_write(struct vt_quantizer *quantizer,
                                  const struct vt_quantize_choice *choice, struct vt_error *err,
                                  struct vt_model_writer **ret_writer) VT_NODISCARD;

#endif
