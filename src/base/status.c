/* SPDX-License-Identifier: Apache-2.0 */
#include "vatio/status.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"

const char *vt_status_name(enum vt_status status)
{
    switch (status) {
#define CASE(name, value, exit_code, text)                                                         \
    case VT_##name:                                                                                \
        return "VT_" #name;
        VT_STATUS_MAP(CASE)
#undef CASE
    }
    return "VT_ERR_?";
}

const char *vt_status_text(enum vt_status status)
{
    switch (status) {
#define CASE(name, value, exit_code, text)                                                         \
    case VT_##name:                                                                                \
        return text;
        VT_STATUS_MAP(CASE)
#undef CASE
    }
    return "unknown status";
}

int vt_status_exit_code(enum vt_status status)
{
    switch (status) {
#define CASE(name, value, exit_code, text)                                                         \
    case VT_##name:                                                                                \
        return exit_code;
        VT_STATUS_MAP(CASE)
#undef CASE
    }
    return 4;
}

enum vt_status vt_error_vset(struct vt_error *err, enum vt_status status, const char *fmt,
                             va_list args)
{
    if (err == NULL || err->status != VT_OK || status == VT_OK) {
        return status;
    }
    err->status = status;
    if (vsnprintf(err->text, sizeof err->text, fmt, args) < 0) {
        err->text[0] = '\0';
    }
    vt_tame(err->text); /* names come from files, and the end may have been cut */
    return status;
}

enum vt_status(vt_error_set)(struct vt_error *err, enum vt_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vt_error_vset(err, status, fmt, args);
    va_end(args);
    return status;
}

void vt_error_prefix(struct vt_error *err, const char *fmt, ...)
{
    char prefix[VT_ERROR_TEXT_MAX];
    va_list args;

    if (err == NULL || err->status == VT_OK) {
        return;
    }
    va_start(args, fmt);
    int length = vsnprintf(prefix, sizeof prefix - 2, fmt, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    size_t n = strlen(prefix);
    memcpy(prefix + n, ": ", 3);
    n += 2;
    /* What no longer fits is cut from the end of the old text. */
    size_t kept = strlen(err->text);
    if (kept > sizeof err->text - 1 - n) {
        kept = sizeof err->text - 1 - n;
    }
    memmove(err->text + n, err->text, kept);
    memcpy(err->text, prefix, n);
    err->text[n + kept] = '\0';
    vt_tame(err->text);
}
