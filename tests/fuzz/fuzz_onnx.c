/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an ONNX model: import, everything that can be asked of a model without running it,
 * then a plan and two runs, with zeroes and with wild numbers, where the model is small. The limits
 * keep an input from being slow rather than wrong.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/inspect.h"
#include "plan/plan.h"

#define ALLOCATION_MOST ((size_t)4 << 20)
#define LIVE_MOST       ((size_t)64 << 20)
/* What is planned and run. */
#define NODES_MOST   64
#define FLOPS_MOST   2e7
#define INPUTS_MOST  32
#define OUTPUTS_MOST 32
#define INPUT_BYTES  ((size_t)32 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- memory: there is little of it, so that nothing is large -----------------------------------
 */

static size_t live;

static void *bounded_alloc(void *ctx, size_t bytes, size_t alignment)
{
    void *block = NULL;
    (void)ctx;
    if (bytes > ALLOCATION_MOST || live > LIVE_MOST - bytes ||
        posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) !=
            0) {
        return NULL;
    }
    live += malloc_usable_size(block);
    return block;
}

static void bounded_free(void *ctx, void *block)
{
    (void)ctx;
    live -= malloc_usable_size(block);
    free(block);
}

/* --- running -----------------------------------------------------------------------------------
 */

/* A loop may ask for as many rounds as it likes: that is no fault of the engine's. */
static bool loops(const struct vt_model_summary *summary)
{
    for (uint32_t i = 0; i < summary->n_operators; i++) {
        if (strcmp(summary->operators[i].name, "Loop") == 0) {
            return true;
        }
    }
    return false;
}

static bool asks_for_little(const struct vt_model_summary *summary)
{
    const struct vt_signature *signature = &summary->signature;
    return summary->n_nodes <= NODES_MOST && summary->flops <= FLOPS_MOST && !loops(summary) &&
           signature->n_inputs <= INPUTS_MOST && signature->n_outputs <= OUTPUTS_MOST;
}

/* The input with every open extent taken as 1, filled with zeroes. */
static bool make_input(const struct vt_port *port, struct vt_tensor *ret_tensor)
{
    int64_t dim[VT_RANK_MAX];

    if (port->rank > VT_RANK_MAX) {
        return false;
    }
    for (uint32_t d = 0; d < port->rank; d++) {
        dim[d] = port->dim[d] < 0 ? 1 : port->dim[d];
    }
    if (vt_tensor_init(ret_tensor, port->dtype, port->rank, dim, NULL, NULL) != VT_OK ||
        ret_tensor->bytes > INPUT_BYTES) {
        return false;
    }
    ret_tensor->data = vt_calloc(1, ret_tensor->bytes + 1);
    return ret_tensor->data != NULL;
}

/* Indices out of range, lengths below 0, infinities. */
static void make_wild(struct vt_tensor *tensor)
{
    uint8_t *bytes = tensor->data;
    uint32_t seed = 1;

    for (size_t i = 0; i < tensor->bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(tensor->dtype == VT_BOOL ? seed >> 31 : seed >> 24);
    }
}

/* Looks at every byte of an output: what is not there is found by the sanitizer. */
static unsigned look_at(const struct vt_tensor *outputs, uint32_t n)
{
    unsigned sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < outputs[i].bytes; k++) {
            sum += ((const uint8_t *)outputs[i].data)[k];
        }
    }
    return sum;
}

static void run(const struct vt_model *model, struct vt_tensor *inputs, uint32_t n_inputs,
                uint32_t n_outputs)
{
    struct vt_tensor outputs[OUTPUTS_MOST];
    struct vt_error err = VT_ERROR_INIT;
    struct vt_weights *weights = NULL;
    struct vt_plan *plan = NULL;
    volatile unsigned seen = 0;

    if (vt_weights_new(model, &err, &weights) != VT_OK) {
        return;
    }
    if (vt_plan_new(model, weights, NULL, inputs, n_inputs, NULL, &err, &plan) == VT_OK) {
        for (int round = 0; round < 2; round++) {
            err = (struct vt_error)VT_ERROR_INIT;
            if (vt_plan_run(plan, inputs, n_inputs, &err, outputs, n_outputs) == VT_OK) {
                seen += look_at(outputs, n_outputs);
            }
            for (uint32_t i = 0; i < n_inputs; i++) {
                make_wild(&inputs[i]);
            }
        }
        vt_plan_free(plan);
    }
    vt_weights_free(weights);
    (void)seen;
}

static void plan_and_run(const struct vt_model *model, const struct vt_signature *signature)
{
    struct vt_tensor inputs[INPUTS_MOST] = {{0}};
    uint32_t made = 0;

    while (made < signature->n_inputs && make_input(&signature->inputs[made], &inputs[made])) {
        made++;
    }
    if (made == signature->n_inputs) {
        run(model, inputs, made, signature->n_outputs);
    }
    for (uint32_t i = 0; i <= made && i < INPUTS_MOST; i++) {
        vt_free(inputs[i].data);
    }
}

/* --- all of it ---------------------------------------------------------------------------------
 */

static void look_and_run(const uint8_t *data, size_t size)
{
    const struct vt_import_limits limits = {
        .max_nodes = 4096,
        .max_values = 8192,
        .max_metadata_bytes = (size_t)64 << 20,
    };
    const struct vt_shape_binding binding = {"N", 1, {3}};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_summary summary;
    struct vt_model *model = NULL;

    if (vt_model_import_memory("fuzz", data, size, &limits, &err, &model) != VT_OK) {
        return;
    }
    if (vt_model_inspect(model, &binding, 1, &err, &summary) == VT_OK) {
        vt_model_summary_release(&summary);
    }
    err = (struct vt_error)VT_ERROR_INIT;
    if (vt_model_inspect(model, NULL, 0, &err, &summary) == VT_OK) {
        if (asks_for_little(&summary)) {
            plan_and_run(model, &summary.signature);
        }
        vt_model_summary_release(&summary);
    }
    vt_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct vt_allocator bounded = {bounded_alloc, bounded_free, NULL};
    struct vt_allocator before = vt_allocator_set(&bounded);

    live = 0;
    look_and_run(data, size);
    (void)vt_allocator_set(&before);
    if (live != 0) {
        abort(); /* memory is not given back */
    }
    return 0;
}
