/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vatio uses of ONNX Runtime's C interface.
 *
 * The library exports one function, OrtGetApiBase; everything else stands in a table of functions
 * that grows at its end from version to version and never changes before it. So a program may use
 * the table's beginning with every library that is new enough. Slots that vatio does not call are
 * counted, not described. The numbers of the slots are asserted below and exercised one by one
 * against the real library in tests/engine/test_onnxruntime_abi.c.
 *
 * A function that returns a status returns NULL when all went well; a status must be released.
 */
#ifndef VT_ENGINE_ONNXRUNTIME_ORT_API_H
#define VT_ENGINE_ONNXRUNTIME_ORT_API_H

#include <stddef.h>
#include <stdint.h>

/* The oldest version of the interface that has all slots used: ONNX Runtime 1.12 of 2022. Older
 * ones have them too, but read fewer models than the tests compare. */
#define VT_ORT_API_VERSION 12u

struct ort_status;
struct ort_env;
struct ort_session;
struct ort_session_options;
struct ort_run_options;
struct ort_value;
struct ort_memory_info;
struct ort_type_info;
struct ort_tensor_info; /* element type and shape */
struct ort_allocator;

enum ort_error_code {
    ORT_FAIL = 1,
    ORT_INVALID_ARGUMENT = 2,
    ORT_NO_SUCH_FILE = 3,
    ORT_NO_MODEL = 4,
    ORT_INVALID_PROTOBUF = 7,
    ORT_NOT_IMPLEMENTED = 9,
    ORT_INVALID_GRAPH = 10,
};

enum { ORT_LOG_VERBOSE = 0, ORT_LOG_WARNING = 2, ORT_LOG_ERROR = 3 };
enum { ORT_TYPE_TENSOR = 1 };
enum { ORT_ARENA_ALLOCATOR = 1 };
enum { ORT_MEMORY_DEFAULT = 0 };
enum { ORT_SEQUENTIAL = 0, ORT_PARALLEL = 1 };

typedef void (*ort_log_func)(void *context, int severity, const char *category, const char *id,
                             const char *code_location, const char *message);

/* What the CUDA provider is told; the library's own defaults are written out in session.c. */
struct ort_cuda_options {
    int device_id;
    int cudnn_conv_algo_search;
    size_t gpu_mem_limit;
    int arena_extend_strategy;
    int do_copy_in_default_stream;
    int has_user_compute_stream;
    void *user_compute_stream;
    void *default_memory_arena_cfg;
};

typedef struct ort_status *ort_result;

struct ort_api {
    void *slot_0;
    int (*get_error_code)(const struct ort_status *status);
    const char *(*get_error_message)(const struct ort_status *status);
    void *slot_3;
    ort_result (*create_env_with_custom_logger)(ort_log_func log, void *context, int severity,
                                                const char *id, struct ort_env **ret);
    void *slots_5_6[2];
    ort_result (*create_session)(const struct ort_env *env, const char *path,
                                 const struct ort_session_options *options,
                                 struct ort_session **ret);
    ort_result (*create_session_from_array)(const struct ort_env *env, const void *bytes,
                                            size_t n_bytes,
                                            const struct ort_session_options *options,
                                            struct ort_session **ret);
    ort_result (*run)(struct ort_session *session, const struct ort_run_options *options,
                      const char *const *input_names, const struct ort_value *const *inputs,
                      size_t n_inputs, const char *const *output_names, size_t n_outputs,
                      struct ort_value **ret_outputs);
    ort_result (*create_session_options)(struct ort_session_options **ret);
    void *slots_11_12[2];
    ort_result (*set_session_execution_mode)(struct ort_session_options *options, int mode);
    ort_result (*enable_profiling)(struct ort_session_options *options, const char *prefix);
    void *slots_15_17[3];
    ort_result (*enable_cpu_mem_arena)(struct ort_session_options *options);
    ort_result (*disable_cpu_mem_arena)(struct ort_session_options *options);
    void *slots_20_22[3];
    ort_result (*set_session_graph_optimization_level)(struct ort_session_options *options,
                                                       int level);
    ort_result (*set_intra_op_num_threads)(struct ort_session_options *options, int threads);
    ort_result (*set_inter_op_num_threads)(struct ort_session_options *options, int threads);
    void *slots_26_29[4];
    ort_result (*session_get_input_count)(const struct ort_session *session, size_t *ret);
    ort_result (*session_get_output_count)(const struct ort_session *session, size_t *ret);
    void *slot_32;
    ort_result (*session_get_input_type_info)(const struct ort_session *session, size_t index,
                                              struct ort_type_info **ret);
    ort_result (*session_get_output_type_info)(const struct ort_session *session, size_t index,
                                               struct ort_type_info **ret);
    void *slot_35;
    ort_result (*session_get_input_name)(const struct ort_session *session, size_t index,
                                         struct ort_allocator *allocator, char **ret);
    ort_result (*session_get_output_name)(const struct ort_session *session, size_t index,
                                          struct ort_allocator *allocator, char **ret);
    void *slot_38;
    ort_result (*create_run_options)(struct ort_run_options **ret);
    void *slots_40_45[6];
    ort_result (*run_options_set_terminate)(struct ort_run_options *options);
    ort_result (*run_options_unset_terminate)(struct ort_run_options *options);
    void *slot_48;
    ort_result (*create_tensor_with_data)(const struct ort_memory_info *memory, void *data,
                                          size_t n_bytes, const int64_t *dim, size_t rank,
                                          int element_type, struct ort_value **ret);
    ort_result (*is_tensor)(const struct ort_value *value, int *ret);
    ort_result (*get_tensor_mutable_data)(struct ort_value *value, void **ret);
    void *slots_52_54[3];
    ort_result (*cast_type_info_to_tensor_info)(const struct ort_type_info *type,
                                                const struct ort_tensor_info **ret);
    ort_result (*get_onnx_type_from_type_info)(const struct ort_type_info *type, int *ret);
    void *slots_57_59[3];
    ort_result (*get_tensor_element_type)(const struct ort_tensor_info *info, int *ret);
    ort_result (*get_dimensions_count)(const struct ort_tensor_info *info, size_t *ret);
    ort_result (*get_dimensions)(const struct ort_tensor_info *info, int64_t *ret, size_t n);
    ort_result (*get_symbolic_dimensions)(const struct ort_tensor_info *info, const char **ret,
                                          size_t n);
    void *slot_64;
    ort_result (*get_tensor_type_and_shape)(const struct ort_value *value,
                                            struct ort_tensor_info **ret);
    void *slots_66_68[3];
    ort_result (*create_cpu_memory_info)(int allocator_type, int memory_type,
                                         struct ort_memory_info **ret);
    void *slots_70_75[6];
    ort_result (*allocator_free)(struct ort_allocator *allocator, void *memory);
    void *slot_77;
    ort_result (*get_allocator_with_default_options)(struct ort_allocator **ret);
    void *slots_79_91[13];
    void (*release_env)(struct ort_env *env);
    void (*release_status)(struct ort_status *status);
    void (*release_memory_info)(struct ort_memory_info *info);
    void (*release_session)(struct ort_session *session);
    void (*release_value)(struct ort_value *value);
    void (*release_run_options)(struct ort_run_options *options);
    void (*release_type_info)(struct ort_type_info *type);
    void (*release_tensor_type_and_shape_info)(struct ort_tensor_info *info);
    void (*release_session_options)(struct ort_session_options *options);
    void *slots_101_124[24];
    ort_result (*get_available_providers)(char ***ret_names, int *ret_n);
    ort_result (*release_available_providers)(char **names, int n);
    void *slots_127_129[3];
    ort_result (*add_session_config_entry)(struct ort_session_options *options, const char *key,
                                           const char *value);
    void *slots_131_151[21];
    ort_result (*append_execution_provider_cuda)(struct ort_session_options *options,
                                                 const struct ort_cuda_options *cuda);
    /* more follow */
};

struct ort_api_base {
    /* NULL when the library is too old, and then it writes a line to standard error. */
    const struct ort_api *(*get_api)(uint32_t version);
    const char *(*get_version_string)(void); /* "1.30.0" */
};

typedef const struct ort_api_base *(*ort_get_api_base_func)(void);

#define VT_ORT_SLOT(name, number)                                                                  \
    _Static_assert(offsetof(struct ort_api, name) == (number) * sizeof(void *), #name)
VT_ORT_SLOT(get_error_code, 1);
VT_ORT_SLOT(create_env_with_custom_logger, 4);
VT_ORT_SLOT(create_session, 7);
VT_ORT_SLOT(run, 9);
VT_ORT_SLOT(set_session_execution_mode, 13);
VT_ORT_SLOT(disable_cpu_mem_arena, 19);
VT_ORT_SLOT(set_session_graph_optimization_level, 23);
VT_ORT_SLOT(session_get_input_count, 30);
VT_ORT_SLOT(session_get_input_type_info, 33);
VT_ORT_SLOT(session_get_output_name, 37);
VT_ORT_SLOT(create_run_options, 39);
VT_ORT_SLOT(run_options_unset_terminate, 47);
VT_ORT_SLOT(get_tensor_mutable_data, 51);
VT_ORT_SLOT(get_onnx_type_from_type_info, 56);
VT_ORT_SLOT(get_symbolic_dimensions, 63);
VT_ORT_SLOT(get_tensor_type_and_shape, 65);
VT_ORT_SLOT(create_cpu_memory_info, 69);
VT_ORT_SLOT(allocator_free, 76);
VT_ORT_SLOT(get_allocator_with_default_options, 78);
VT_ORT_SLOT(release_env, 92);
VT_ORT_SLOT(release_session_options, 100);
VT_ORT_SLOT(get_available_providers, 125);
VT_ORT_SLOT(add_session_config_entry, 130);
VT_ORT_SLOT(append_execution_provider_cuda, 152);

#endif
