/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every slot of the table of src/engine/onnxruntime/ort_api.h, called against the real library: it
 * does what its name says, with an effect that its neighbours in the table would not have.
 */
#include "foreign.h"

#include <glob.h>
#include <unistd.h>

#include "engine/onnxruntime/onnxruntime.h"

static const char *const residual = VT_TEST_MODELS "/residual.onnx";
static struct vt_library library;
static const struct ort_api *api;
static struct ort_env *env;
static unsigned n_logged;

static void count_log(void *context, int severity, const char *category, const char *id,
                      const char *code_location, const char *message)
{
    unsigned *n = context;
    assert_true(severity >= ORT_LOG_VERBOSE && severity <= 4);
    assert_non_null(category);
    assert_non_null(id);
    assert_non_null(code_location);
    assert_true(strlen(message) > 0);
    (*n)++;
}

/* Ends the test unless the call succeeded. */
static void good(ort_result result)
{
    if (result != NULL) {
        fail_msg("%d: %s", api->get_error_code(result), api->get_error_message(result));
    }
}

/* Expects a failure with this code whose text says so. */
static void bad(ort_result result, int code, const char *says)
{
    assert_non_null(result);
    if (api->get_error_code(result) != code ||
        strstr(api->get_error_message(result), says) == NULL) {
        fail_msg("%d: '%s', not %d: '%s'", api->get_error_code(result),
                 api->get_error_message(result), code, says);
    }
    api->release_status(result);
}

static struct ort_session *open_session(const struct ort_session_options *options)
{
    struct ort_session *session = NULL;
    good(api->create_session(env, residual, options, &session));
    assert_non_null(session);
    return session;
}

static void test_environment(void **state)
{
    char **names = NULL;
    int n = 0;
    bool cpu = false;
    (void)state;
    good(api->get_available_providers(&names, &n));
    for (int i = 0; i < n; i++) {
        cpu = cpu || strcmp(names[i], "CPUExecutionProvider") == 0;
    }
    assert_true(n > 0 && cpu);
    good(api->release_available_providers(names, n));
}

static void test_errors(void **state)
{
    struct ort_session_options *options = NULL;
    struct ort_session *session = NULL;
    (void)state;
    good(api->create_session_options(&options));
    bad(api->create_session(env, "/no/such/model", options, &session), ORT_NO_SUCH_FILE,
        "/no/such/model");
    bad(api->create_session_from_array(env, "nonsense", 8, options, &session), ORT_INVALID_PROTOBUF,
        "protobuf");
    api->release_session_options(options);
}

/* Wrong values are refused by name where a slot takes one; the others show in what they leave. */
static void test_options(void **state)
{
    struct ort_session_options *options = NULL;
    char pattern[] = "/tmp/vatio-abi-XXXXXX", prefix[64], files[80], longest[4000];
    const struct ort_cuda_options cuda = {.gpu_mem_limit = SIZE_MAX,
                                          .do_copy_in_default_stream = 1};
    glob_t found;
    (void)state;
    good(api->create_session_options(&options));
    bad(api->set_session_graph_optimization_level(options, 57), ORT_INVALID_ARGUMENT,
        "optimization");
    good(api->set_session_graph_optimization_level(options, 2));
    bad(api->set_session_execution_mode(options, 57), ORT_INVALID_ARGUMENT, "execution_mode");
    good(api->set_session_execution_mode(options, ORT_PARALLEL));
    good(api->set_intra_op_num_threads(options, 2));
    good(api->set_inter_op_num_threads(options, 2));
    good(api->enable_cpu_mem_arena(options));
    good(api->disable_cpu_mem_arena(options));
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    bad(api->add_session_config_entry(options, longest, "1"), ORT_INVALID_ARGUMENT, "key");
    good(api->add_session_config_entry(options, "session.intra_op.allow_spinning", "0"));
    ort_result gpu = api->append_execution_provider_cuda(options, &cuda);
    if (gpu != NULL) { /* a library for CPUs only */
        print_message("without CUDA: %s\n", api->get_error_message(gpu));
        assert_non_null(strcasestr(api->get_error_message(gpu), "cuda"));
        api->release_status(gpu);
    }
    /* A profile appears where it was asked for. */
    assert_non_null(mkdtemp(pattern));
    snprintf(prefix, sizeof(prefix), "%s/profile", pattern);
    snprintf(files, sizeof(files), "%s*", prefix);
    good(api->enable_profiling(options, prefix));
    api->release_session(open_session(options));
    assert_int_equal(glob(files, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    assert_int_equal(unlink(found.gl_pathv[0]), 0);
    globfree(&found);
    assert_int_equal(rmdir(pattern), 0);
    api->release_session_options(options);
}

static void check_type(struct ort_type_info *type)
{
    const struct ort_tensor_info *info = NULL;
    const char *symbols[4] = {NULL};
    int64_t dim[4];
    int kind = 0, element_type = 0;
    size_t rank = 0;
    good(api->get_onnx_type_from_type_info(type, &kind));
    assert_int_equal(kind, ORT_TYPE_TENSOR);
    good(api->cast_type_info_to_tensor_info(type, &info));
    good(api->get_tensor_element_type(info, &element_type));
    assert_int_equal(element_type, VT_F32);
    good(api->get_dimensions_count(info, &rank));
    assert_int_equal(rank, 4);
    good(api->get_dimensions(info, dim, rank));
    assert_memory_equal(dim, ((int64_t[]){-1, 2, 2, 2}), sizeof(dim));
    good(api->get_symbolic_dimensions(info, symbols, rank));
    assert_string_equal(symbols[0], "N");
    assert_string_equal(symbols[1], "");
    api->release_type_info(type);
}

static void test_signature(void **state)
{
    struct ort_session_options *options = NULL;
    struct ort_allocator *allocator = NULL;
    struct ort_type_info *type = NULL;
    size_t n = 0;
    char *name = NULL;
    (void)state;
    good(api->create_session_options(&options));
    struct ort_session *session = open_session(options);
    api->release_session_options(options);
    good(api->session_get_input_count(session, &n));
    assert_int_equal(n, 1);
    good(api->session_get_output_count(session, &n));
    assert_int_equal(n, 1);
    good(api->get_allocator_with_default_options(&allocator));
    good(api->session_get_input_name(session, 0, allocator, &name));
    assert_string_equal(name, "x");
    good(api->allocator_free(allocator, name));
    good(api->session_get_output_name(session, 0, allocator, &name));
    assert_string_equal(name, "y");
    good(api->allocator_free(allocator, name));
    bad(api->session_get_input_name(session, 1, allocator, &name), ORT_FAIL, "");
    good(api->session_get_input_type_info(session, 0, &type));
    check_type(type);
    good(api->session_get_output_type_info(session, 0, &type));
    check_type(type);
    api->release_session(session);
}

/* A value around memory of ours, and what the library says of it. */
static struct ort_value *make_value(float *data, size_t n_bytes)
{
    const int64_t dim[4] = {1, 2, 2, 2};
    struct ort_memory_info *memory = NULL;
    struct ort_value *value = NULL;
    good(api->create_cpu_memory_info(ORT_ARENA_ALLOCATOR, ORT_MEMORY_DEFAULT, &memory));
    bad(api->create_tensor_with_data(memory, data, n_bytes - 4, dim, 4, VT_F32, &value),
        ORT_INVALID_ARGUMENT, "");
    good(api->create_tensor_with_data(memory, data, n_bytes, dim, 4, VT_F32, &value));
    api->release_memory_info(memory);
    return value;
}

static void check_value(struct ort_value *value, const float *expected_data)
{
    struct ort_tensor_info *info = NULL;
    void *data = NULL;
    int is_tensor = 0, element_type = 0;
    size_t rank = 0;
    int64_t dim[4];
    good(api->is_tensor(value, &is_tensor));
    assert_int_equal(is_tensor, 1);
    good(api->get_tensor_type_and_shape(value, &info));
    good(api->get_tensor_element_type(info, &element_type));
    assert_int_equal(element_type, VT_F32);
    good(api->get_dimensions_count(info, &rank));
    assert_int_equal(rank, 4);
    good(api->get_dimensions(info, dim, rank));
    assert_memory_equal(dim, ((int64_t[]){1, 2, 2, 2}), sizeof(dim));
    api->release_tensor_type_and_shape_info(info);
    good(api->get_tensor_mutable_data(value, &data));
    if (expected_data != NULL) {
        assert_ptr_equal(data, expected_data);
    }
}

static void test_run(void **state)
{
    static float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const char *const inputs[1] = {"x"}, *const outputs[1] = {"y"}, *const wrong[1] = {"q"};
    struct ort_session_options *options = NULL;
    struct ort_run_options *run = NULL;
    (void)state;
    good(api->create_session_options(&options));
    struct ort_session *session = open_session(options);
    api->release_session_options(options);
    struct ort_value *value = make_value(data, sizeof(data)), *result = NULL;
    const struct ort_value *const values[1] = {value};
    check_value(value, data);
    good(api->create_run_options(&run));
    bad(api->run(session, run, wrong, values, 1, outputs, 1, &result), ORT_INVALID_ARGUMENT, "q");
    good(api->run(session, run, inputs, values, 1, outputs, 1, &result));
    check_value(result, NULL);
    api->release_value(result);
    result = NULL;
    good(api->run_options_set_terminate(run));
    bad(api->run(session, run, inputs, values, 1, outputs, 1, &result), ORT_FAIL, "terminate");
    good(api->run_options_unset_terminate(run));
    good(api->run(session, run, inputs, values, 1, outputs, 1, &result));
    api->release_value(result);
    api->release_value(value);
    api->release_run_options(run);
    api->release_session(session);
}

static int open_library(void **state)
{
    ort_get_api_base_func get_base = NULL;
    struct vt_error err = VT_ERROR_INIT;
    (void)state;
    if (vt_library_open(&vt_ort_library, NULL, &err, &library) != VT_OK ||
        vt_library_function(&library, "OrtGetApiBase", &err, &get_base) != VT_OK) {
        fail_msg("%s", err.text);
    }
    const struct ort_api_base *base = get_base();
    print_message("%s: ONNX Runtime %s\n", library.path, base->get_version_string());
    assert_int_equal(strncmp(base->get_version_string(), "1.", 2), 0);
    api = base->get_api(VT_ORT_API_VERSION);
    assert_non_null(api);
    good(api->create_env_with_custom_logger(count_log, &n_logged, ORT_LOG_VERBOSE, "abi", &env));
    return 0;
}

static int close_library(void **state)
{
    (void)state;
    assert_true(n_logged > 0);
    api->release_env(env);
    vt_library_close(&library);
    return 0;
}

int main(void)
{
    foreign_or_skip();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_options),     cmocka_unit_test(test_signature),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
