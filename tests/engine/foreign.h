/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines that open somebody else's library, for tests. VT_TEST_ENGINE is the engine's name,
 * VT_TEST_ENGINES the virtual environment that tools/engines_venv.sh makes.
 */
#ifndef FOREIGN_H
#define FOREIGN_H

#include <math.h>

#include "engine_fixture.h"

#include "base/file.h"

/* Ends the program as skipped where the engine's library is not to be had. Call it first. */
static inline void foreign_or_skip(void)
{
    struct vt_engine_ref ref;
    struct vt_error err = VT_ERROR_INIT;
    if (vt_path_is_folder(VT_TEST_ENGINES)) { /* VATIO_ONNXRUNTIME and the like come before it */
        setenv("VIRTUAL_ENV", VT_TEST_ENGINES, 1);
    }
#ifdef __SANITIZE_ADDRESS__
    if (strcmp(VT_TEST_ENGINE, "openvino") == 0) {
        printf("skipped: OpenVINO's threads load a library in a way that the address sanitizer "
               "ends the program for (RTLD_DEEPBIND)\n");
        exit(VT_TEST_SKIPPED);
    }
#endif
    if (vt_engine_find(VT_TEST_ENGINE, &err, &ref) != VT_OK) {
        printf("%s\n", err.text);
        exit(1);
    }
    if (ref.ops.probe(&err) != VT_OK) {
        printf("skipped: %s\n", err.text);
        exit(VT_TEST_SKIPPED);
    }
    vt_engine_ref_release(&ref);
}

/* Opens and expects failure: the status and a part of the text. */
static inline void foreign_refuses(const struct vt_bundle *bundle,
                                   const struct vt_engine_config *config, enum vt_status status,
                                   const char *says)
{
    struct vt_engine_ref ref;
    struct vt_error err = VT_ERROR_INIT;
    void *engine = NULL;
    assert_int_equal(vt_engine_find(VT_TEST_ENGINE, &err, &ref), VT_OK);
    enum vt_status got = ref.ops.open(bundle, config, &err, &engine);
    if (got != status || strstr(err.text, says) == NULL) {
        fail_msg("%s, not %s: '%s' must say '%s'", vt_status_name(got), vt_status_name(status),
                 err.text, says);
    }
    assert_null(engine);
    assert_null(strchr(err.text, '\n'));
    vt_engine_ref_release(&ref);
}

/* |a - b| <= 1e-4 + 1e-3 |b|, shapes and types equal. Returns the largest difference. */
static inline double foreign_close(const struct vt_tensor *got, const struct vt_tensor *wanted)
{
    double worst = 0;
    char a[96], b[96];
    if (!vt_tensor_same_shape(got, wanted)) {
        fail_msg("%s %s, not %s %s", vt_dtype_name(got->dtype),
                 vt_shape_text(got->dim, got->rank, NULL, a, sizeof(a)),
                 vt_dtype_name(wanted->dtype),
                 vt_shape_text(wanted->dim, wanted->rank, NULL, b, sizeof(b)));
    }
    if (wanted->dtype != VT_F32) {
        assert_memory_equal(got->data, wanted->data, wanted->bytes);
        return 0;
    }
    const float *x = got->data, *y = wanted->data;
    for (size_t i = 0; i < wanted->bytes / sizeof(float); i++) {
        double difference = fabs((double)x[i] - (double)y[i]);
        if (!(difference <= 1e-4 + 1e-3 * fabs((double)y[i]))) {
            fail_msg("element %zu is %.9g, not %.9g", i, (double)x[i], (double)y[i]);
        }
        worst = difference > worst ? difference : worst;
    }
    return worst;
}

/* A copy of a tensor with its data; vt_free(ret.data). */
static inline struct vt_tensor foreign_copy(const struct vt_tensor *tensor)
{
    struct vt_tensor copy = *tensor;
    copy.data = vt_alloc(tensor->bytes + 1);
    assert_non_null(copy.data);
    if (tensor->bytes > 0) {
        memcpy(copy.data, tensor->data, tensor->bytes);
    }
    return copy;
}

/* Third parties keep some memory for ever. */
VT_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libonnxruntime\nleak:libopenvino\nleak:libtbb\nleak:libhwloc\n";
}

#endif
