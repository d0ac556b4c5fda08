/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and error details.
 *
 * Every function of libvatio that can fail returns an `enum vt_status` and, where it takes a
 * `struct vt_error *`, fills it with one sentence for a person: what was wrong, where, the value
 * found, the allowed range, and what to do. The library never exits, aborts or prints.
 *
 * Invariants
 *  - VT_OK is 0, every failure is negative.
 *  - In a `struct vt_error` the first failure wins: later ones do not overwrite it.
 *  - Output arguments (named `ret_…`) are written only when VT_OK is returned.
 *
 * Threading: the functions are thread-safe; a `struct vt_error` belongs to one thread at a time.
 */
#ifndef VATIO_STATUS_H
#define VATIO_STATUS_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VT_API               __attribute__((visibility("default")))
#define VT_NODISCARD         __attribute__((warn_unused_result))
#define VT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define VT_API
#define VT_NODISCARD
#define VT_PRINTF(fmt, args)
#endif

/* X(name, value, exit code of the program, text). The one list: enum, names, texts, exit codes. */
#define VT_STATUS_MAP(X)                                                                           \
    X(OK, 0, 0, "success")                                                                         \
    X(ERR_MISMATCH, -1, 1, "outputs differ from what was expected")                                \
    X(ERR_USAGE, -2, 2, "wrong argument or option")                                                \
    X(ERR_NOT_FOUND, -3, 3, "not found")                                                           \
    X(ERR_READ, -4, 3, "cannot be read")                                                           \
    X(ERR_FORMAT, -5, 3, "malformed input")                                                        \
    X(ERR_UNSUPPORTED, -6, 3, "not supported")                                                     \
    X(ERR_LIMIT, -7, 3, "beyond a limit")                                                          \
    X(ERR_MEMORY, -8, 4, "out of memory")                                                          \
    X(ERR_ENGINE, -9, 4, "the engine failed")                                                      \
    X(ERR_UNAVAILABLE, -10, 4, "not available on this machine")                                    \
    X(ERR_TIMEOUT, -11, 4, "timed out")                                                            \
    X(ERR_SYSTEM, -12, 4, "the operating system refused")                                          \
    X(ERR_WRITE, -13, 5, "cannot be written")                                                      \
    X(ERR_INTERRUPTED, -14, 130, "interrupted")

enum vt_status {
#define VT_STATUS_ENUM(name, value, exit_code, text) VT_##name = (value),
    VT_STATUS_MAP(VT_STATUS_ENUM)
#undef VT_STATUS_ENUM
};

#define VT_ERROR_TEXT_MAX 512

struct vt_error {
    enum vt_status status; /* VT_OK while nothing went wrong */
    char text[VT_ERROR_TEXT_MAX];
};

#define VT_ERROR_INIT                                                                              \
    {                                                                                              \
        VT_OK,                                                                                     \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* The symbolic name, "VT_ERR_READ"; "VT_ERR_?" for a value outside the list. Static storage. */
VT_API const char *vt_status_name(enum vt_status status);
/* The text of the list, "cannot be read". Static storage. */
VT_API const char *vt_status_text(enum vt_status status);
/* The exit code with which the program answers this status (0..5, 130). */
VT_API int vt_status_exit_code(enum vt_status status);

/*
 * Records `status` and the formatted text in *err unless it holds a failure already; a text that
 * is too long is cut at VT_ERROR_TEXT_MAX - 1 bytes. `err` may be NULL. Returns `status`, so that
 * `return vt_error_set(err, VT_ERR_READ, …)` reads well.
 */
VT_API enum vt_status vt_error_set(struct vt_error *err, enum vt_status status, const char *fmt,
                                   ...) VT_PRINTF(3, 4);
/* Returns what it was given, where a compiler and a checker can see it: they then know that a
 * failure is none of VT_OK. `status` is evaluated twice. */
#define vt_error_set(err, status, ...)                                                             \
    vt_status_given(vt_error_set((err), (status), __VA_ARGS__), (status))
static inline enum vt_status vt_status_given(enum vt_status recorded, enum vt_status given)
{
    (void)recorded;
    return given;
}
VT_API enum vt_status vt_error_vset(struct vt_error *err, enum vt_status status, const char *fmt,
                                    va_list args) VT_PRINTF(3, 0);
/*
 * Puts "prefix: " before the text that is there, for a caller that knows where (a file, an
 * option). Does nothing on NULL or while nothing went wrong.
 */
VT_API void vt_error_prefix(struct vt_error *err, const char *fmt, ...) VT_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
