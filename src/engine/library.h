/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody else's shared library, opened while the program runs, so that neither vatio nor its
 * users need it. Searched in this order: the path that the user names, the one that an environment
 * variable names, the loader's own path, the folders where pip puts wheels (the active environment
 * first), the folders of distributions.
 *
 * A library stays loaded until the process ends, also when it is closed: threads and thread-local
 * data of its own may outlive its last user.
 */
#ifndef VT_ENGINE_LIBRARY_H
#define VT_ENGINE_LIBRARY_H

#include "vatio/status.h"

/* What is looked for. Static storage. */
struct vt_library_kind {
    const char *what;     /* "ONNX Runtime", for messages */
    const char *file;     /* "libonnxruntime.so"; a version may stand behind it */
    const char *wheel;    /* its folder below site-packages, "onnxruntime/capi"; NULL: none */
    const char *variable; /* of the environment: a file or a folder */
    const char *symbol;   /* a function that only this library has */
    const char *remedy;   /* how to get it: "pip install onnxruntime" */
};

struct vt_library {
    const struct vt_library_kind *kind;
    void *handle;
    char *path; /* where it was found */
};

/*
 * `named` is what the user named (a file, a folder that holds it, or NULL). Errors:
 * VT_ERR_UNAVAILABLE when it is nowhere, VT_ERR_NOT_FOUND when a named path is not there,
 * VT_ERR_FORMAT when it cannot be loaded or is another library.
 */
enum vt_status vt_library_open(const struct vt_library_kind *kind, const char *named,
                               struct vt_error *err, struct vt_library *ret) VT_NODISCARD;
void vt_library_close(struct vt_library *library); /* accepts a zeroed one */

/* A function of the library: fills the function pointer at `ret_function`. VT_ERR_UNAVAILABLE when
 * this version of the library lacks it. */
enum vt_status vt_library_function(const struct vt_library *library, const char *name,
                                   struct vt_error *err, void *ret_function) VT_NODISCARD;

#endif
