/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any model, without a data set: generated inputs or inputs from files, and outputs compared with
 * files (--expect).
 *
 * A comparison happens in finish(), since responses are short: the response is what was found out
 * (struct verdict). Without --expect it is the first bytes of the first output.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "workload/element.h"
#include "workload/room.h"
#include "workload/tensor_compare.h"
#include "workload/tensor_file.h"
#include "workload/tensor_inputs.h"
#include "workload/tensor_random.h"

/* How many samples are generated when the user does not say. */
#define SAMPLES_DEFAULT 1024
#define BYTES_DEFAULT   ((size_t)256 << 20)
#define BINDINGS_MAX    64

struct expect {
    const struct vt_port *port;
    const char *path;
    uint32_t output;
    struct vt_tensor_file file;
    struct vt_tensor view; /* type and shape of one sample's part of the file */
    size_t stride;
};

struct tensors {
    struct vt_tensor_inputs inputs;
    struct expect *expects;
    size_t n_expects;
    struct vt_tolerance tolerance;
    uint64_t seed;
    uint64_t count;
    uint64_t performance_count;
    uint8_t **generated; /* a block a sample; NULL: not loaded */
};

/* The response where something is expected. */
struct verdict {
    struct vt_difference difference; /* of the worst output; the counts are of all */
    uint32_t expect;                 /* which one is the worst */
    uint32_t reserved;
};
_Static_assert(sizeof(struct verdict) <= VT_RESPONSE_MAX, "a response is short");

/* ---- what is expected ------------------------------------------------------------------------ */

static enum vt_status expect_misfit(const struct expect *expect, uint64_t samples,
                                    struct vt_error *err)
{
    char there[96], wanted[96];
    const struct vt_tensor *tensor = &expect->file.tensor;

    return vt_error_set(
        err, VT_ERR_USAGE,
        "--expect %s=%.200s: the file holds %s, which does not fit the output, %s, for %llu "
        "sample%s",
        expect->port->name, expect->path,
        vt_shape_text(tensor->dim, tensor->rank, NULL, there, sizeof there),
        vt_shape_text(expect->port->dim, expect->port->rank, expect->port->symbol, wanted,
                      sizeof wanted),
        (unsigned long long)samples, samples == 1 ? "" : "s");
}

/* Divides the file among the samples. */
static enum vt_status divide(struct expect *expect, uint64_t samples, struct vt_error *err)
{
    const struct vt_tensor *tensor = &expect->file.tensor;
    const struct vt_port *port = expect->port;
    int64_t dim[VT_RANK_MAX];

    if (!vt_element_is_real(port->dtype) || !vt_element_is_real(tensor->dtype)) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "--expect %s: %s cannot be compared with %s from %.200s", port->name,
                            vt_dtype_name(port->dtype), vt_dtype_name(tensor->dtype), expect->path);
    }
    memcpy(dim, tensor->dim, sizeof dim);
    if (samples > 1 && (tensor->rank == 0 || dim[0] % (int64_t)samples != 0)) {
        return expect_misfit(expect, samples, err);
    }
    if (samples > 1) {
        dim[0] /= (int64_t)samples;
    }
    bool fit = tensor->rank == port->rank;
    for (uint32_t d = 0; d < port->rank && fit; d++) {
        fit = port->dim[d] < 0 || port->dim[d] == dim[d];
    }
    if (!fit) {
        return expect_misfit(expect, samples, err);
    }
    enum vt_status status =
        vt_tensor_init(&expect->view, tensor->dtype, tensor->rank, dim, NULL, err);
    expect->stride = samples > 1 ? expect->view.bytes : 0;
    return status;
}

static enum vt_status open_expects(struct tensors *tensors, const struct vt_workload_config *config,
                                   const struct vt_signature *signature, struct vt_error *err)
{
    enum vt_status status = VT_OK;

    if (!(config->rtol >= 0) || !(config->atol >= 0)) {
        return vt_error_set(err, VT_ERR_USAGE, "--rtol %g, --atol %g: 0 or more is needed",
                            config->rtol, config->atol);
    }
    tensors->tolerance = (struct vt_tolerance){config->rtol, config->atol};
    tensors->expects = vt_calloc(config->n_expects + 1, sizeof tensors->expects[0]);
    if (tensors->expects == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for what is expected");
    }
    for (size_t i = 0; i < config->n_expects && status == VT_OK; i++) {
        struct expect *expect = &tensors->expects[i];
        status = vt_name_file_split("--expect", config->expects[i], signature->outputs,
                                    signature->n_outputs, err, &expect->output, &expect->path);
        if (status == VT_OK) {
            expect->port = &signature->outputs[expect->output];
            tensors->n_expects = i + 1;
            status = vt_tensor_file_open(expect->path, err, &expect->file);
        }
        if (status == VT_OK) {
            status = divide(expect, tensors->inputs.file_samples, err);
        }
    }
    return status;
}

/* ---- open ------------------------------------------------------------------------------------ */

static void tensors_close(void *workload)
{
    struct tensors *tensors = workload;

    if (tensors == NULL) {
        return;
    }
    for (uint64_t i = 0; i < tensors->count && tensors->generated != NULL; i++) {
        vt_free(tensors->generated[i]);
    }
    vt_free((void *)tensors->generated);
    for (size_t i = 0; i < tensors->n_expects; i++) {
        vt_tensor_file_release(&tensors->expects[i].file);
    }
    vt_free(tensors->expects);
    vt_tensor_inputs_release(&tensors->inputs);
    vt_free(tensors);
}

/* How many samples there are. */
static enum vt_status count_samples(struct tensors *tensors,
                                    const struct vt_workload_config *config, struct vt_error *err)
{
    const struct vt_tensor_inputs *inputs = &tensors->inputs;
    uint64_t wanted = config->sample_count;
    uint64_t count;

    if (inputs->file_samples > 1) {
        count = wanted > 0 && wanted < inputs->file_samples ? wanted : inputs->file_samples;
    } else if (inputs->generated_bytes == 0 || tensors->n_expects > 0) {
        /* All samples would be the same, or what is expected is for one. */
        count = 1;
    } else if (wanted > 0) {
        count = wanted;
    } else {
        size_t fit = BYTES_DEFAULT / inputs->generated_bytes;
        count = fit < 1 ? 1 : fit < SAMPLES_DEFAULT ? fit : SAMPLES_DEFAULT;
    }
    tensors->count = count;
    tensors->performance_count =
        vt_workload_performance_count(count, config->performance_count, inputs->generated_bytes);
    tensors->generated = (uint8_t **)vt_calloc(count, sizeof tensors->generated[0]);
    if (tensors->generated == NULL) {
        tensors->count = 0;
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %llu samples",
                            (unsigned long long)count);
    }
    return VT_OK;
}

/* Integers that are places in a table are drawn from the whole of it. */
static void take_bounds(struct tensors *tensors, const struct vt_workload_config *config)
{
    for (uint32_t i = 0; i < tensors->inputs.n; i++) {
        struct vt_tensor_input *input = &tensors->inputs.items[i];
        for (size_t k = 0; k < config->n_bounds; k++) {
            if (strcmp(config->bounds[k].input, input->port->name) == 0) {
                input->bound = config->bounds[k].bound;
            }
        }
    }
}

static enum vt_status tensors_open(const struct vt_workload_config *config,
                                   const struct vt_signature *signature, struct vt_error *err,
                                   void **ret_workload)
{
    struct vt_shape_binding room[BINDINGS_MAX];
    struct vt_bindings bindings = {.items = room, .capacity = BINDINGS_MAX};

    if (config->dataset != NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "no workload here can use the data set '%.200s' with this model: "
                            "image-classification takes a folder of JPEG or PNG files and a model "
                            "with one image input, tensor takes --input NAME=FILE",
                            config->dataset);
    }
    struct tensors *tensors = vt_calloc(1, sizeof *tensors);
    if (tensors == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the tensor workload");
    }
    tensors->seed = config->seed;
    enum vt_status status =
        vt_tensor_inputs_open(config, signature, &bindings, err, &tensors->inputs);
    if (status == VT_OK) {
        take_bounds(tensors, config);
        status = open_expects(tensors, config, signature, err);
    }
    if (status == VT_OK) {
        status = count_samples(tensors, config, err);
    }
    if (status != VT_OK) {
        tensors_close(tensors);
        return status;
    }
    *ret_workload = tensors;
    return VT_OK;
}

static enum vt_status tensors_shapes(const struct vt_workload_config *config,
                                     const struct vt_signature *signature, struct vt_error *err,
                                     struct vt_shape_binding *ret_shapes, uint32_t capacity,
                                     uint32_t *ret_n)
{
    struct vt_bindings bindings = {.items = ret_shapes, .capacity = capacity};
    struct vt_tensor_inputs inputs;
    enum vt_status status = vt_tensor_inputs_open(config, signature, &bindings, err, &inputs);

    if (status != VT_OK) {
        return status;
    }
    vt_tensor_inputs_release(&inputs);
    *ret_n = bindings.n;
    return VT_OK;
}

static void tensors_info(void *workload, struct vt_workload_info *ret_info)
{
    const struct tensors *tensors = workload;
    const struct vt_tensor_inputs *inputs = &tensors->inputs;
    struct vt_workload_info info = {.name = vt_workload_tensor.name,
                                    .total_count = tensors->count,
                                    .performance_count = tensors->performance_count,
                                    .has_quality = tensors->n_expects > 0};
    char source[64] = "no inputs", expects[48] = "";

    if (inputs->n_files == inputs->n && inputs->n > 0) {
        (void)snprintf(source, sizeof source, "inputs from files");
    } else if (inputs->n > 0) {
        (void)snprintf(source, sizeof source, "random inputs%s, seed %llu",
                       inputs->n_files > 0 ? " beside those from files" : "",
                       (unsigned long long)tensors->seed);
    }
    if (tensors->n_expects > 0) {
        (void)snprintf(expects, sizeof expects, ", %zu output%s compared", tensors->n_expects,
                       tensors->n_expects == 1 ? "" : "s");
    }
    (void)snprintf(info.description, sizeof info.description, "%llu sample%s, %s%s",
                   (unsigned long long)tensors->count, tensors->count == 1 ? "" : "s", source,
                   expects);
    *ret_info = info;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void tensors_unload(void *workload, const uint64_t *indices, size_t n)
{
    struct tensors *tensors = workload;

    for (size_t i = 0; i < n; i++) {
        if (indices[i] < tensors->count) {
            vt_free(tensors->generated[indices[i]]);
            tensors->generated[indices[i]] = NULL;
        }
    }
}

static void generate(struct tensors *tensors, uint64_t index, uint8_t *block)
{
    for (uint32_t i = 0; i < tensors->inputs.n; i++) {
        const struct vt_tensor_input *input = &tensors->inputs.items[i];
        if (input->file.tensor.data == NULL) {
            struct vt_tensor tensor = input->view;
            tensor.data = block + input->offset;
            vt_tensor_random_fill_below(&tensor, vt_tensor_random_seed(tensors->seed, index, i),
                                        input->bound);
        }
    }
}

static enum vt_status tensors_load(void *workload, const uint64_t *indices, size_t n,
                                   struct vt_error *err)
{
    struct tensors *tensors = workload;

    for (size_t i = 0; i < n; i++) {
        uint64_t index = indices[i];
        if (index >= tensors->count) {
            tensors_unload(tensors, indices, i);
            return vt_error_set(err, VT_ERR_USAGE, "sample %llu of %llu", (unsigned long long)index,
                                (unsigned long long)tensors->count);
        }
        if (tensors->inputs.generated_bytes == 0 || tensors->generated[index] != NULL) {
            continue;
        }
        tensors->generated[index] = vt_alloc(tensors->inputs.generated_bytes);
        if (tensors->generated[index] == NULL) {
            tensors_unload(tensors, indices, i);
            return vt_error_set(err, VT_ERR_MEMORY,
                                "out of memory for %zu samples of %zu bytes: lower "
                                "--performance-sample-count",
                                n, tensors->inputs.generated_bytes);
        }
        generate(tensors, index, tensors->generated[index]);
    }
    return VT_OK;
}

static void tensors_sample(void *workload, uint64_t index, struct vt_tensor *ret_inputs)
{
    const struct tensors *tensors = workload;

    for (uint32_t i = 0; i < tensors->inputs.n; i++) {
        const struct vt_tensor_input *input = &tensors->inputs.items[i];
        uint8_t *file = input->file.tensor.data;
        ret_inputs[i] = input->view;
        ret_inputs[i].data =
            file != NULL ? file + index * input->stride : tensors->generated[index] + input->offset;
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* The shapes must be the same but for the type. */
static enum vt_status check_output(const struct expect *expect, uint64_t index,
                                   const struct vt_tensor *output, struct vt_error *err)
{
    struct vt_tensor typed = *output;
    char there[96], wanted[96];

    typed.dtype = expect->view.dtype;
    if (vt_tensor_same_shape(&typed, &expect->view) && vt_element_is_real(output->dtype) &&
        output->bytes / vt_dtype_bytes(output->dtype) ==
            expect->view.bytes / vt_dtype_bytes(expect->view.dtype)) {
        return VT_OK;
    }
    return vt_error_set(
        err, VT_ERR_MISMATCH, "output '%s' of sample %llu is %s %s, but %.200s holds %s for it",
        expect->port->name, (unsigned long long)index, vt_dtype_name(output->dtype),
        vt_shape_text(output->dim, output->rank, NULL, there, sizeof there), expect->path,
        vt_shape_text(expect->view.dim, expect->view.rank, NULL, wanted, sizeof wanted));
}

static enum vt_status judge(const struct tensors *tensors, uint64_t index,
                            const struct vt_tensor *outputs, uint32_t n_outputs,
                            struct vt_error *err, struct verdict *ret)
{
    struct verdict verdict = {.difference = {.ratio = -1}};
    uint64_t elements = 0, beyond = 0;

    for (size_t i = 0; i < tensors->n_expects; i++) {
        const struct expect *expect = &tensors->expects[i];
        struct vt_difference difference;
        if (expect->output >= n_outputs) {
            return vt_error_set(err, VT_ERR_ENGINE, "the engine gave %u outputs, not '%s'",
                                n_outputs, expect->port->name);
        }
        const struct vt_tensor *output = &outputs[expect->output];
        enum vt_status status = check_output(expect, index, output, err);
        if (status != VT_OK) {
            return status;
        }
        const uint8_t *expected = expect->file.tensor.data;
        vt_tensor_compare(
            output->dtype, output->data, expect->view.dtype, expected + index * expect->stride,
            output->bytes / vt_dtype_bytes(output->dtype), &tensors->tolerance, &difference);
        elements += difference.elements;
        beyond += difference.beyond;
        if (difference.ratio > verdict.difference.ratio) {
            verdict.difference = difference;
            verdict.expect = (uint32_t)i;
        }
    }
    verdict.difference.elements = elements;
    verdict.difference.beyond = beyond;
    *ret = verdict;
    return VT_OK;
}

static enum vt_status tensors_finish(void *workload, uint64_t index,
                                     const struct vt_tensor *outputs, uint32_t n_outputs,
                                     void *ret_response, size_t *ret_bytes, struct vt_error *err)
{
    const struct tensors *tensors = workload;
    struct verdict verdict;

    if (tensors->n_expects == 0) {
        size_t bytes = n_outputs > 0 && outputs[0].data != NULL ? outputs[0].bytes : 0;
        bytes = bytes < VT_RESPONSE_MAX ? bytes : VT_RESPONSE_MAX;
        if (bytes > 0) {
            memcpy(ret_response, outputs[0].data, bytes);
        }
        *ret_bytes = bytes;
        return VT_OK;
    }
    enum vt_status status = judge(tensors, index, outputs, n_outputs, err, &verdict);
    if (status == VT_OK) {
        memcpy(ret_response, &verdict, sizeof verdict);
        *ret_bytes = sizeof verdict;
    }
    return status;
}

/* ---- score ----------------------------------------------------------------------------------- */

/* "0,4,17": an element's place in the shape. */
static char *place_text(const struct vt_tensor *view, uint64_t element, char *text, size_t size)
{
    int64_t at[VT_RANK_MAX] = {0};
    size_t used = 0;

    for (uint32_t d = view->rank; d-- > 0;) {
        uint64_t extent = view->dim[d] > 0 ? (uint64_t)view->dim[d] : 1;
        at[d] = (int64_t)(element % extent);
        element /= extent;
    }
    text[0] = '\0';
    for (uint32_t d = 0; d < view->rank && used < size; d++) {
        int n = snprintf(text + used, size - used, "%s%lld", d > 0 ? "," : "", (long long)at[d]);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

/* The worst element of all, what it should have been, and how many are like it. */
static void describe_mismatch(const struct tensors *tensors, uint64_t index,
                              const struct verdict *worst, uint64_t beyond, uint64_t elements,
                              struct vt_quality *quality)
{
    const struct expect *expect = &tensors->expects[worst->expect];
    const struct vt_difference *difference = &worst->difference;
    char place[128];

    (void)snprintf(
        quality->failure, sizeof quality->failure,
        "output '%.60s' of sample %llu, element [%.60s]: %.9g, but %.80s has %.9g, and %.3g is "
        "allowed between them; %llu of %llu elements are out of tolerance (--rtol %g --atol %g)",
        expect->port->name, (unsigned long long)index,
        place_text(&expect->view, difference->worst, place, sizeof place), difference->found,
        expect->path, difference->expected,
        vt_tolerance_allowed(&tensors->tolerance, difference->expected), (unsigned long long)beyond,
        (unsigned long long)elements, tensors->tolerance.relative, tensors->tolerance.absolute);
}

static enum vt_status tensors_score(void *workload, const struct vt_response *responses, size_t n,
                                    struct vt_error *err, struct vt_quality *ret_quality)
{
    const struct tensors *tensors = workload;
    struct verdict worst = {.difference = {.ratio = -1}};
    uint64_t worst_index = 0, beyond = 0, elements = 0;

    if (tensors->n_expects == 0 || n == 0) {
        return vt_error_set(err, VT_ERR_USAGE, "nothing to compare: %s",
                            n == 0 ? "no sample was completed" : "no --expect was given");
    }
    for (size_t i = 0; i < n; i++) {
        struct verdict verdict;
        if (responses[i].bytes != sizeof verdict) {
            return vt_error_set(err, VT_ERR_ENGINE,
                                "sample %llu gave no outputs to compare with what is expected",
                                (unsigned long long)responses[i].index);
        }
        memcpy(&verdict, responses[i].data, sizeof verdict);
        beyond += verdict.difference.beyond;
        elements += verdict.difference.elements;
        if (verdict.difference.ratio > worst.difference.ratio) {
            worst = verdict;
            worst_index = responses[i].index;
        }
    }
    struct vt_quality quality = {.metric = "matching elements",
                                 .unit = "%",
                                 .value = 100.0 * (double)(elements - beyond) / (double)elements,
                                 .has_target = true,
                                 .target = 100,
                                 .pass = beyond == 0,
                                 .count = n};
    (void)snprintf(quality.detail, sizeof quality.detail,
                   "among %llu of %zu output%s, the worst at %.2g of the allowed difference",
                   (unsigned long long)elements, tensors->n_expects,
                   tensors->n_expects == 1 ? "" : "s", worst.difference.ratio);
    if (beyond > 0) {
        describe_mismatch(tensors, worst_index, &worst, beyond, elements, &quality);
    }
    *ret_quality = quality;
    return VT_OK;
}

const struct vt_workload_ops vt_workload_tensor = {
    .api_version = VT_WORKLOAD_API_VERSION,
    .struct_size = sizeof(struct vt_workload_ops),
    .name = "tensor",
    .summary = "any model: random inputs, or --input NAME=FILE, checked with --expect NAME=FILE",
    .open = tensors_open,
    .close = tensors_close,
    .info = tensors_info,
    .shapes = tensors_shapes,
    .load = tensors_load,
    .unload = tensors_unload,
    .sample = tensors_sample,
    .finish = tensors_finish,
    .score = tensors_score,
};
