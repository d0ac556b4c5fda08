/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a model for the tensor workload: from files, else generated, and the shapes that
 * follow from both.
 *
 * Where the model takes batches, or has a fixed 1 as dimension 0 of every input, a file with N in
 * dimension 0 holds N samples; files with 1 serve all samples. Else a file is one sample.
 */
#ifndef VT_WORKLOAD_TENSOR_INPUTS_H
#define VT_WORKLOAD_TENSOR_INPUTS_H

#include "core/workload.h"
#include "workload/room.h"
#include "workload/tensor_file.h"

struct vt_tensor_input {
    const struct vt_port *port;
    struct vt_tensor view;      /* type and shape of one sample; no data */
    struct vt_tensor_file file; /* without data when the input is generated */
    size_t stride;              /* from sample to sample in the file; 0: all share one */
    size_t offset;              /* in the generated block of a sample */
    int64_t bound;              /* of generated integers; 0: not known */
};

struct vt_tensor_inputs {
    struct vt_tensor_input *items;
    uint32_t n;
    uint32_t n_files;
    uint64_t file_samples;  /* samples in the files; 1 without files */
    size_t generated_bytes; /* of one sample */
};

/* "NAME=FILE" against the names of n ports: which one, and the file. `option` stands in messages.
 * VT_ERR_USAGE. */
enum vt_status vt_name_file_split(const char *option, const char *text, const struct vt_port *ports,
                                  uint32_t n, struct vt_error *err, uint32_t *ret_port,
                                  const char **ret_file) VT_NODISCARD;

/*
 * Reads the files and works out all shapes; the extents that the files decide are bound in
 * `bindings`. An extent that stays open is VT_ERR_USAGE, naming input, symbol and --shape.
 */
enum vt_status vt_tensor_inputs_open(const struct vt_workload_config *config,
                                     const struct vt_signature *signature,
                                     struct vt_bindings *bindings, struct vt_error *err,
                                     struct vt_tensor_inputs *ret) VT_NODISCARD;
void vt_tensor_inputs_release(struct vt_tensor_inputs *inputs); /* accepts a zeroed one */

#endif
