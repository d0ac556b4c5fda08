/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/tensor_inputs.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/topology.h"
#include "workload/tensor_random.h"

#define NAMES_MAX 64

static char *port_text(const struct vt_port *port, char *text, size_t size)
{
    return vt_shape_text(port->dim, port->rank, port->symbol, text, size);
}

static enum vt_status unknown_name(const char *option, const char *text, size_t length,
                                   const struct vt_port *ports, uint32_t n, struct vt_error *err)
{
    const char *names[NAMES_MAX];
    char name[128];
    uint32_t n_names = n < NAMES_MAX ? n : NAMES_MAX;

    (void)snprintf(name, sizeof name, "%.*s", (int)(length < 100 ? length : 100), text);
    for (uint32_t i = 0; i < n_names; i++) {
        names[i] = ports[i].name;
    }
    const char *near = vt_nearest_name(name, names, n_names);
    near = near == NULL && n_names > 0 ? names[0] : near;
    return vt_error_set(
        err, VT_ERR_USAGE, "%s %.200s: the model has no such %s '%s' (it has %u%s%s%s)", option,
        text, strcmp(option, "--input") == 0 ? "input" : "output", name, n,
        near != NULL ? ", one is '" : "", near != NULL ? near : "", near != NULL ? "'" : "");
}

enum vt_status vt_name_file_split(const char *option, const char *text, const struct vt_port *ports,
                                  uint32_t n, struct vt_error *err, uint32_t *ret_port,
                                  const char **ret_file)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text || equals[1] == '\0') {
        return vt_error_set(err, VT_ERR_USAGE, "%s '%.200s': NAME=FILE is needed%s%s", option, text,
                            n > 0 ? ", for instance with the name " : "",
                            n > 0 ? ports[0].name : "");
    }
    /* A name may hold '=' itself: the longest one that fits counts. */
    uint32_t found = n;
    size_t longest = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t length = strlen(ports[i].name);
        if (strncmp(text, ports[i].name, length) == 0 && text[length] == '=' && length >= longest) {
            found = i;
            longest = length;
        }
    }
    if (found == n) {
        return unknown_name(option, text, (size_t)(equals - text), ports, n, err);
    }
    *ret_port = found;
    *ret_file = text + longest + 1;
    return VT_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum vt_status misfit(const char *text, const struct vt_tensor *tensor,
                             const struct vt_port *port, struct vt_error *err)
{
    char there[96], wanted[96];

    return vt_error_set(err, VT_ERR_USAGE,
                        "--input %.200s: the file holds %s, which does not fit the input, %s", text,
                        vt_shape_text(tensor->dim, tensor->rank, NULL, there, sizeof there),
                        port_text(port, wanted, sizeof wanted));
}

/* The extents of one sample in the file; dimension 0 counts samples when `stacked`. */
static enum vt_status take_shape(struct vt_tensor_input *input, const char *text, bool stacked,
                                 struct vt_error *err)
{
    const struct vt_tensor *tensor = &input->file.tensor;
    const struct vt_port *port = input->port;
    int64_t dim[VT_RANK_MAX];

    if (tensor->dtype != port->dtype) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "--input %.200s: the file holds %s, the input is %s: convert it, with "
                            "NumPy's astype for instance",
                            text, vt_dtype_name(tensor->dtype), vt_dtype_name(port->dtype));
    }
    if (tensor->rank != port->rank) {
        return misfit(text, tensor, port, err);
    }
    for (uint32_t d = 0; d < port->rank; d++) {
        dim[d] = stacked && d == 0 ? 1 : tensor->dim[d];
        if (port->dim[d] >= 0 && port->dim[d] != dim[d]) {
            return misfit(text, tensor, port, err);
        }
    }
    if (stacked && tensor->dim[0] < 1) {
        return misfit(text, tensor, port, err);
    }
    return vt_tensor_init(&input->view, port->dtype, port->rank, dim, NULL, err);
}

/* The files' numbers of samples must agree; a file with one sample serves all. */
static enum vt_status count_samples(struct vt_tensor_inputs *inputs, bool stacked,
                                    struct vt_error *err)
{
    const struct vt_tensor_input *first = NULL;

    inputs->file_samples = 1;
    for (uint32_t i = 0; i < inputs->n && stacked; i++) {
        struct vt_tensor_input *input = &inputs->items[i];
        const struct vt_tensor *tensor = &input->file.tensor;
        if (tensor->data == NULL || tensor->dim[0] == 1) {
            continue;
        }
        input->stride = input->view.bytes;
        if (first != NULL && tensor->dim[0] != (int64_t)inputs->file_samples) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "--input: the file of '%s' holds %lld samples, that of '%s' %lld",
                                input->port->name, (long long)tensor->dim[0], first->port->name,
                                (long long)inputs->file_samples);
        }
        first = input;
        inputs->file_samples = (uint64_t)tensor->dim[0];
    }
    return VT_OK;
}

/* Whether files may hold several samples. */
static bool is_stacked(const struct vt_signature *signature)
{
    bool all_one = signature->n_inputs > 0;

    for (uint32_t i = 0; i < signature->n_inputs; i++) {
        all_one = all_one && signature->inputs[i].rank > 0 && signature->inputs[i].dim[0] == 1;
    }
    return all_one || vt_signature_has_batch(signature);
}

static enum vt_status read_files(struct vt_tensor_inputs *inputs,
                                 const struct vt_workload_config *config,
                                 const struct vt_signature *signature, struct vt_error *err)
{
    bool stacked = is_stacked(signature);

    for (size_t i = 0; i < config->n_inputs; i++) {
        const char *text = config->inputs[i];
        const char *path = NULL;
        uint32_t number = 0;
        enum vt_status status = vt_name_file_split("--input", text, signature->inputs,
                                                   signature->n_inputs, err, &number, &path);
        if (status != VT_OK) {
            return status;
        }
        struct vt_tensor_input *input = &inputs->items[number];
        if (input->file.tensor.data != NULL) {
            return vt_error_set(err, VT_ERR_USAGE, "--input %.200s: '%s' is given twice", text,
                                input->port->name);
        }
        status = vt_tensor_file_open(path, err, &input->file);
        if (status == VT_OK) {
            inputs->n_files++;
            status = take_shape(input, text, stacked, err);
        }
        if (status != VT_OK) {
            return status;
        }
    }
    return count_samples(inputs, stacked, err);
}

/* ---- shapes of the rest ---------------------------------------------------------------------- */

/* The extent bound to a symbol, -1 when there is none. */
static int64_t bound(const struct vt_bindings *bindings, const char *symbol)
{
    for (uint32_t i = 0; i < bindings->n && symbol != NULL; i++) {
        if (bindings->items[i].rank == 1 && strcmp(bindings->items[i].name, symbol) == 0) {
            return bindings->items[i].dim[0];
        }
    }
    return -1;
}

static enum vt_status open_extent(const struct vt_port *port, uint32_t d, struct vt_error *err)
{
    const char *symbol = port->symbol[d];
    char shape[96], dims[96];
    int64_t example[VT_RANK_MAX];

    (void)port_text(port, shape, sizeof shape);
    if (symbol != NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "the model leaves '%s' open, in input '%s' (%s): give its size with "
                            "--shape %s=NUMBER, or the contents with --input %s=FILE",
                            symbol, port->name, shape, symbol, port->name);
    }
    for (uint32_t i = 0; i < port->rank; i++) {
        example[i] = port->dim[i] >= 0 ? port->dim[i] : i == 0 ? 1 : 64;
    }
    return vt_error_set(err, VT_ERR_USAGE,
                        "the model leaves dimension %u of input '%s' (%s) open: give its shape "
                        "with --shape %s=DIMS, for instance %s",
                        d, port->name, shape, port->name,
                        vt_shape_text(example, port->rank, NULL, dims, sizeof dims));
}

static enum vt_status resolve(struct vt_tensor_input *input, const struct vt_bindings *bindings,
                              bool batch, struct vt_error *err)
{
    const struct vt_port *port = input->port;
    int64_t dim[VT_RANK_MAX];

    for (uint32_t d = 0; d < port->rank; d++) {
        dim[d] = port->dim[d];
        if (dim[d] < 0) {
            dim[d] = d == 0 && batch ? 1 : bound(bindings, port->symbol[d]);
        }
        if (dim[d] < 0) {
            return open_extent(port, d, err);
        }
    }
    if (!vt_tensor_random_possible(port->dtype)) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "the input '%s' is of type %s, for which nothing can be generated",
                            port->name, vt_dtype_name(port->dtype));
    }
    return vt_tensor_init(&input->view, port->dtype, port->rank, dim, NULL, err);
}

/* Places the generated inputs of a sample one behind the other. */
static enum vt_status lay_out(struct vt_tensor_inputs *inputs, struct vt_error *err)
{
    uint64_t memory = vt_topology()->memory_bytes;
    size_t used = 0;

    for (uint32_t i = 0; i < inputs->n; i++) {
        struct vt_tensor_input *input = &inputs->items[i];
        if (input->file.tensor.data != NULL) {
            continue;
        }
        input->offset = used;
        size_t room = input->view.bytes + (VT_ALIGNMENT - 1);
        if (__builtin_add_overflow(used, room - room % VT_ALIGNMENT, &used) ||
            (memory > 0 && used > memory)) {
            return vt_error_set(err, VT_ERR_LIMIT,
                                "one sample of the inputs takes %zu bytes or more, this machine "
                                "has %llu",
                                input->view.bytes, (unsigned long long)memory);
        }
    }
    inputs->generated_bytes = used;
    return VT_OK;
}

static enum vt_status open_all(struct vt_tensor_inputs *inputs,
                               const struct vt_workload_config *config,
                               const struct vt_signature *signature, struct vt_bindings *bindings,
                               struct vt_error *err)
{
    bool batch = vt_signature_has_batch(signature);
    enum vt_status status = read_files(inputs, config, signature, err);

    for (uint32_t i = 0; i < inputs->n && status == VT_OK; i++) {
        struct vt_tensor_input *input = &inputs->items[i];
        if (input->file.tensor.data != NULL) {
            status = vt_bindings_add(bindings, input->port, input->view.dim, batch, err);
        }
    }
    for (uint32_t i = 0; i < inputs->n && status == VT_OK; i++) {
        if (inputs->items[i].file.tensor.data == NULL) {
            status = resolve(&inputs->items[i], bindings, batch, err);
        }
    }
    return status == VT_OK ? lay_out(inputs, err) : status;
}

enum vt_status vt_tensor_inputs_open(const struct vt_workload_config *config,
                                     const struct vt_signature *signature,
                                     struct vt_bindings *bindings, struct vt_error *err,
                                     struct vt_tensor_inputs *ret)
{
    struct vt_tensor_inputs inputs = {.n = signature->n_inputs, .file_samples = 1};

    inputs.items = vt_calloc(inputs.n > 0 ? inputs.n : 1, sizeof inputs.items[0]);
    if (inputs.items == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the model's inputs");
    }
    for (uint32_t i = 0; i < inputs.n; i++) {
        inputs.items[i].port = &signature->inputs[i];
    }
    enum vt_status status = open_all(&inputs, config, signature, bindings, err);
    if (status != VT_OK) {
        vt_tensor_inputs_release(&inputs);
        return status;
    }
    *ret = inputs;
    return VT_OK;
}

void vt_tensor_inputs_release(struct vt_tensor_inputs *inputs)
{
    for (uint32_t i = 0; i < inputs->n && inputs->items != NULL; i++) {
        vt_tensor_file_release(&inputs->items[i].file);
    }
    vt_free(inputs->items);
    memset(inputs, 0, sizeof *inputs);
}
