/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vatio uses of OpenVINO's C interface (libopenvino_c.so). Every function is exported under
 * its name, so that an old or new library either has it or is refused. Structs below are passed by
 * value or filled in by the library. The numbers of element types differ between versions and are
 * found out when the library is opened (vt_ov_load).
 *
 * A function returns 0 when all went well, else a negative number.
 */
#ifndef VT_ENGINE_OPENVINO_OV_API_H
#define VT_ENGINE_OPENVINO_OV_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ov_core;
struct ov_model;
struct ov_compiled_model;
struct ov_infer_request;
struct ov_tensor;
struct ov_port; /* of a model, constant */

enum {
    OV_NOT_IMPLEMENTED = -2,
    OV_PARAMETER_MISMATCH = -4,
    OV_INVALID_C_PARAM = -14, /* this and what is below comes from the C interface itself */
};

struct ov_version {
    const char *build_number; /* "2026.4.1-22982-…" */
    const char *description;
};

struct ov_shape {
    int64_t rank;
    int64_t *dims;
};

/* max = -1: without bound; min = max: fixed. Ranks are dimensions too. */
struct ov_dimension {
    int64_t min, max;
};

struct ov_partial_shape {
    struct ov_dimension rank;
    struct ov_dimension *dims;
};

/* X(member, "the library's name", result, (arguments)) */
#define VT_OV_FUNCTIONS(X)                                                                         \
    X(get_version, "ov_get_openvino_version", int, (struct ov_version * ret))                      \
    X(version_free, "ov_version_free", void, (struct ov_version * version))                        \
    X(get_error_info, "ov_get_error_info", const char *, (int status))                             \
    X(free, "ov_free", void, (const char *text))                                                   \
    X(core_create, "ov_core_create", int, (struct ov_core * *ret))                                 \
    X(core_free, "ov_core_free", void, (struct ov_core * core))                                    \
    X(core_set_property, "ov_core_set_property", int,                                              \
      (const struct ov_core *core, const char *device, ...))                                       \
    X(core_read_model, "ov_core_read_model", int,                                                  \
      (const struct ov_core *core, const char *path, const char *weights, struct ov_model **ret))  \
    X(core_read_model_from_memory, "ov_core_read_model_from_memory_buffer", int,                   \
      (const struct ov_core *core, const char *bytes, size_t n, const struct ov_tensor *weights,   \
       struct ov_model **ret))                                                                     \
    X(core_compile_model, "ov_core_compile_model", int,                                            \
      (const struct ov_core *core, const struct ov_model *model, const char *device,               \
       size_t n_properties, struct ov_compiled_model **ret, ...))                                  \
    X(model_free, "ov_model_free", void, (struct ov_model * model))                                \
    X(model_inputs_size, "ov_model_inputs_size", int, (const struct ov_model *model, size_t *ret)) \
    X(model_outputs_size, "ov_model_outputs_size", int,                                            \
      (const struct ov_model *model, size_t *ret))                                                 \
    X(model_input, "ov_model_const_input_by_index", int,                                           \
      (const struct ov_model *model, size_t index, struct ov_port **ret))                          \
    X(model_output, "ov_model_const_output_by_index", int,                                         \
      (const struct ov_model *model, size_t index, struct ov_port **ret))                          \
    X(model_input_by_name, "ov_model_const_input_by_name", int,                                    \
      (const struct ov_model *model, const char *name, struct ov_port **ret))                      \
    X(model_output_by_name, "ov_model_const_output_by_name", int,                                  \
      (const struct ov_model *model, const char *name, struct ov_port **ret))                      \
    X(model_reshape, "ov_model_reshape_by_port_indexes", int,                                      \
      (const struct ov_model *model, const size_t *indexes, const struct ov_partial_shape *shapes, \
       size_t n))                                                                                  \
    X(port_free, "ov_output_const_port_free", void, (struct ov_port * port))                       \
    X(port_get_name, "ov_port_get_any_name", int, (const struct ov_port *port, char **ret))        \
    X(port_get_shape, "ov_port_get_partial_shape", int,                                            \
      (const struct ov_port *port, struct ov_partial_shape *ret))                                  \
    X(port_get_element_type, "ov_port_get_element_type", int,                                      \
      (const struct ov_port *port, int *ret))                                                      \
    X(partial_shape_free, "ov_partial_shape_free", void, (struct ov_partial_shape * shape))        \
    X(shape_free, "ov_shape_free", int, (struct ov_shape * shape))                                 \
    X(compiled_model_free, "ov_compiled_model_free", void, (struct ov_compiled_model * model))     \
    X(create_infer_request, "ov_compiled_model_create_infer_request", int,                         \
      (const struct ov_compiled_model *model, struct ov_infer_request **ret))                      \
    X(infer_request_free, "ov_infer_request_free", void, (struct ov_infer_request * request))      \
    X(set_input, "ov_infer_request_set_input_tensor_by_index", int,                                \
      (struct ov_infer_request * request, size_t index, const struct ov_tensor *tensor))           \
    X(get_output, "ov_infer_request_get_output_tensor_by_index", int,                              \
      (const struct ov_infer_request *request, size_t index, struct ov_tensor **ret))              \
    X(infer, "ov_infer_request_infer", int, (struct ov_infer_request * request))                   \
    X(cancel, "ov_infer_request_cancel", int, (struct ov_infer_request * request))                 \
    X(tensor_create, "ov_tensor_create", int,                                                      \
      (int element_type, struct ov_shape shape, struct ov_tensor **ret))                           \
    X(tensor_of, "ov_tensor_create_from_host_ptr", int,                                            \
      (int element_type, struct ov_shape shape, void *data, struct ov_tensor **ret))               \
    X(tensor_free, "ov_tensor_free", void, (struct ov_tensor * tensor))                            \
    X(tensor_get_shape, "ov_tensor_get_shape", int,                                                \
      (const struct ov_tensor *tensor, struct ov_shape *ret))                                      \
    X(tensor_get_element_type, "ov_tensor_get_element_type", int,                                  \
      (const struct ov_tensor *tensor, int *ret))                                                  \
    X(tensor_get_byte_size, "ov_tensor_get_byte_size", int,                                        \
      (const struct ov_tensor *tensor, size_t *ret))                                               \
    X(tensor_data, "ov_tensor_data", int, (const struct ov_tensor *tensor, void **ret))

struct ov_api {
#define VT_OV_MEMBER(member, name, result, arguments) result(*member) arguments;
    VT_OV_FUNCTIONS(VT_OV_MEMBER)
#undef VT_OV_MEMBER
    /* Text of the last failure in any thread, given back to free(); NULL in old versions. */
    const char *(*get_last_error)(void);
};

#endif
