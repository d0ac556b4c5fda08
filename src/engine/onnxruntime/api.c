/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/onnxruntime/onnxruntime.h"
#include "engine/settings.h"

const struct vt_library_kind vt_ort_library = {
    .what = "ONNX Runtime",
    .file = "libonnxruntime.so",
    .wheel = "onnxruntime/capi",
    .variable = "VATIO_ONNXRUNTIME",
    .symbol = "OrtGetApiBase",
    /* Older wheels do not hold the library as a file of its own. */
    .remedy = "pip install 'onnxruntime>=1.20'",
};

/* The library's log is for those who ask for ours. */
static void take_log(void *context, int severity, const char *category, const char *id,
                     const char *code_location, const char *message)
{
    char line[400];
    (void)context;
    (void)id;
    vt_log(severity >= ORT_LOG_WARNING ? VT_LOG_DEBUG : VT_LOG_TRACE, "onnxruntime %s (%s): %s",
           category != NULL ? category : "", code_location != NULL ? code_location : "",
           vt_engine_one_line(message != NULL ? message : "", line, sizeof(line)));
}

/* "1.30.0" is version 30 of the interface. 0 when it does not read so. */
static unsigned long interface_version(const char *version)
{
    if (version == NULL || strncmp(version, "1.", 2) != 0) {
        return 0;
    }
    return strtoul(version + 2, NULL, 10);
}

static enum vt_status find_api(struct vt_ort_engine *engine, struct vt_error *err)
{
    ort_get_api_base_func get_base = NULL;
    enum vt_status status =
        vt_library_function(&engine->library, vt_ort_library.symbol, err, &get_base);
    if (status != VT_OK) {
        return status;
    }
    const struct ort_api_base *base = get_base();
    engine->version = base != NULL ? base->get_version_string() : NULL;
    /* Looked at first, since get_api would write to standard error. */
    if (interface_version(engine->version) >= VT_ORT_API_VERSION) {
        engine->api = base->get_api(VT_ORT_API_VERSION);
    }
    if (engine->api == NULL) {
        return vt_error_set(
            err, VT_ERR_UNAVAILABLE, "%s is ONNX Runtime %s, 1.%u or newer is needed: %s",
            engine->library.path, engine->version != NULL ? engine->version : "of no version",
            VT_ORT_API_VERSION, vt_ort_library.remedy);
    }
    return VT_OK;
}

enum vt_status vt_ort_load(struct vt_ort_engine *engine, const char *named, struct vt_error *err)
{
    enum vt_status status = vt_library_open(&vt_ort_library, named, err, &engine->library);
    if (status == VT_OK) {
        status = find_api(engine, err);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine,
                              engine->api->create_env_with_custom_logger(
                                  take_log, NULL, ORT_LOG_WARNING, "vatio", &engine->env),
                              "starting ONNX Runtime", err);
    }
    if (status == VT_OK) {
        status = vt_ort_check(engine,
                              engine->api->create_cpu_memory_info(
                                  ORT_ARENA_ALLOCATOR, ORT_MEMORY_DEFAULT, &engine->memory),
                              "starting ONNX Runtime", err);
    }
    if (status != VT_OK) {
        vt_ort_unload(engine);
    }
    return status;
}

void vt_ort_unload(struct vt_ort_engine *engine)
{
    if (engine->memory != NULL) {
        engine->api->release_memory_info(engine->memory);
    }
    if (engine->env != NULL) {
        engine->api->release_env(engine->env);
    }
    vt_library_close(&engine->library);
    engine->memory = NULL;
    engine->env = NULL;
    engine->api = NULL;
}

static enum vt_status status_of(int code)
{
    switch (code) {
    case ORT_NO_SUCH_FILE:
        return VT_ERR_NOT_FOUND;
    case ORT_NO_MODEL:
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH:
        return VT_ERR_FORMAT;
    case ORT_NOT_IMPLEMENTED:
        return VT_ERR_UNSUPPORTED;
    case ORT_INVALID_ARGUMENT:
        return VT_ERR_USAGE;
    default:
        return VT_ERR_ENGINE;
    }
}

enum vt_status vt_ort_check(const struct vt_ort_engine *engine, ort_result result, const char *what,
                            struct vt_error *err)
{
    char why[320];
    if (result == NULL) {
        return VT_OK;
    }
    enum vt_status status = status_of(engine->api->get_error_code(result));
    vt_engine_one_line(engine->api->get_error_message(result), why, sizeof(why));
    engine->api->release_status(result);
    return vt_error_set(err, status, "%s: %s", what, why);
}
