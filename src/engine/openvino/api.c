/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "engine/openvino/openvino.h"
#include "engine/settings.h"

const struct vt_library_kind vt_ov_library = {
    .what = "OpenVINO",
    .file = "libopenvino_c.so",
    .wheel = "openvino/libs",
    .variable = "VATIO_OPENVINO",
    .symbol = "ov_get_openvino_version",
    /* Older wheels do not hold the library as a file of its own. */
    .remedy = "pip install 'openvino>=2024.6'",
};

static enum vt_status find_functions(struct vt_ov_engine *engine, struct vt_error *err)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
#define VT_OV_FIND(member, name, result, arguments) {name, &engine->api.member},
        VT_OV_FUNCTIONS(VT_OV_FIND)
#undef VT_OV_FIND
    };
    enum vt_status status = VT_OK;
    for (size_t i = 0; status == VT_OK && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        status = vt_library_function(&engine->library, wanted[i].name, err, wanted[i].function);
    }
    if (status == VT_OK && vt_library_function(&engine->library, "ov_get_last_err_msg", NULL,
                                               &engine->api.get_last_error) != VT_OK) {
        engine->api.get_last_error = NULL; /* then its texts are general */
    }
    return status;
}

static enum vt_status read_version(struct vt_ov_engine *engine, struct vt_error *err)
{
    struct ov_version version = {NULL, NULL};
    enum vt_status status =
        vt_ov_check(engine, engine->api.get_version(&version), "asking for the version", err);
    if (status != VT_OK) {
        return status;
    }
    const char *build = version.build_number != NULL ? version.build_number : "";
    /* "2026.4.1-22982-…": what stands before the dash. */
    snprintf(engine->version, sizeof(engine->version), "%.*s", (int)strcspn(build, "-"), build);
    engine->api.version_free(&version);
    return VT_OK;
}

/* --- element types ------------------------------------------------------------------------------
 */

/* The bits of an element of the library's type number; 0 when it makes no such tensor. */
static size_t bits_of(const struct vt_ov_engine *engine, int type)
{
    int64_t eight = 8;
    size_t bytes = 0;
    struct ov_tensor *tensor = NULL;
    if (engine->api.tensor_create(type, (struct ov_shape){1, &eight}, &tensor) != 0) {
        return 0;
    }
    if (engine->api.tensor_get_byte_size(tensor, &bytes) != 0) {
        bytes = 0;
    }
    engine->api.tensor_free(tensor);
    return bytes; /* of eight elements */
}

struct element {
    size_t bits;
    enum vt_dtype dtype;
};

/* Names the types from the first place at or behind `from` where the sizes are those of the n
 * elements. Returns the place behind them, 0 when there is none. */
static int name_types(struct vt_ov_engine *engine, const size_t *bits, int from,
                      const struct element *elements, int n)
{
    for (int at = from; at + n <= VT_OV_TYPES; at++) {
        int same = 0;
        while (same < n && bits[at + same] == elements[same].bits) {
            same++;
        }
        for (int i = 0; same == n && i < n; i++) {
            engine->dtype_of[at + i] = elements[i].dtype;
        }
        if (same == n) {
            return at + n;
        }
    }
    return 0;
}

/*
 * The library's enumeration keeps its order, but types came and went between versions, and so the
 * numbers moved. Sizes find them again: bool to i64 stand together, with i4 among them; u8 to u64
 * stand together further on, behind types of less than a byte.
 */
static enum vt_status find_types(struct vt_ov_engine *engine, struct vt_error *err)
{
    static const struct element first[] = {
        {8, VT_BOOL},      {16, VT_BF16}, {16, VT_F16}, {32, VT_F32}, {64, VT_F64},
        {4, VT_UNDEFINED}, {8, VT_I8},    {16, VT_I16}, {32, VT_I32}, {64, VT_I64}};
    static const struct element second[] = {{8, VT_U8}, {16, VT_U16}, {32, VT_U32}, {64, VT_U64}};
    size_t bits[VT_OV_TYPES];
    for (int i = 0; i < VT_OV_TYPES; i++) {
        bits[i] = bits_of(engine, i);
        engine->dtype_of[i] = VT_UNDEFINED;
    }
    int behind = name_types(engine, bits, 0, first, sizeof(first) / sizeof(first[0]));
    if (behind == 0 ||
        name_types(engine, bits, behind, second, sizeof(second) / sizeof(second[0])) == 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "%s: OpenVINO %s numbers its element types in a way that vatio does "
                            "not know",
                            engine->library.path, engine->version);
    }
    for (int d = 0; d <= VT_BF16; d++) {
        engine->type_of[d] = -1;
    }
    for (int i = 0; i < VT_OV_TYPES; i++) {
        if (engine->dtype_of[i] != VT_UNDEFINED) {
            engine->type_of[engine->dtype_of[i]] = i;
        }
    }
    return VT_OK;
}

enum vt_status vt_ov_load(struct vt_ov_engine *engine, const char *named, struct vt_error *err)
{
    enum vt_status status = vt_library_open(&vt_ov_library, named, err, &engine->library);
    if (status == VT_OK) {
        status = find_functions(engine, err);
    }
    if (status == VT_OK) {
        status = read_version(engine, err);
    }
    if (status == VT_OK) {
        status = find_types(engine, err);
    }
    if (status == VT_OK) {
        status =
            vt_ov_check(engine, engine->api.core_create(&engine->core), "starting OpenVINO", err);
    }
    if (status != VT_OK) {
        vt_ov_unload(engine);
    }
    return status;
}

void vt_ov_unload(struct vt_ov_engine *engine)
{
    if (engine->core != NULL) {
        engine->api.core_free(engine->core);
        engine->core = NULL;
    }
    vt_library_close(&engine->library);
}

/* The library says where its failures passed through before it says what failed; the innermost of
 * these is the one for a person. */
static const char *innermost(const char *text)
{
    static const char mark[] = "Exception from ";
    for (const char *next = strstr(text, mark); next != NULL; next = strstr(text, mark)) {
        const char *end = strchr(next, '\n');
        if (end == NULL || end[1] == '\0') {
            break;
        }
        text = end + 1;
    }
    return text;
}

enum vt_status vt_ov_check(const struct vt_ov_engine *engine, int result, const char *what,
                           struct vt_error *err)
{
    char why[320];
    if (result == 0) {
        return VT_OK;
    }
    /* The last text is of an older failure where the C interface itself refuses. */
    const char *last = engine->api.get_last_error != NULL && result > OV_INVALID_C_PARAM
                           ? engine->api.get_last_error()
                           : NULL;
    const char *said = last != NULL ? last : engine->api.get_error_info(result);
    vt_engine_one_line(said != NULL ? innermost(said) : "no reason is given", why, sizeof(why));
    if (last != NULL) {
        engine->api.free(last);
    }
    enum vt_status status = result == OV_NOT_IMPLEMENTED      ? VT_ERR_UNSUPPORTED
                            : result == OV_PARAMETER_MISMATCH ? VT_ERR_USAGE
                                                              : VT_ERR_ENGINE;
    return vt_error_set(err, status, "%s: %s", what, why);
}
