/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, opened while the program runs: its headers are there when vatio is built, the library
 * only where somebody measures a server. With OpenSSL or with GnuTLS behind it makes no difference.
 */
#ifndef VT_ENGINE_KSERVE_CURL_API_H
#define VT_ENGINE_KSERVE_CURL_API_H

#include <curl/curl.h>

#include "engine/library.h"

/* Members are called as the functions without "curl_". */
#define VT_CURL_FUNCTIONS(X)                                                                       \
    X(global_init)                                                                                 \
    X(version)                                                                                     \
    X(easy_init)                                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_perform)                                                                                \
    X(easy_strerror)                                                                               \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(multi_init)                                                                                  \
    X(multi_cleanup)                                                                               \
    X(multi_setopt)                                                                                \
    X(multi_add_handle)                                                                            \
    X(multi_remove_handle)                                                                         \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_wakeup)                                                                                \
    X(multi_info_read)                                                                             \
    X(multi_strerror)

struct vt_curl {
    struct vt_library library;
#define VT_CURL_MEMBER(name) __typeof__(curl_##name) *name;
    VT_CURL_FUNCTIONS(VT_CURL_MEMBER)
#undef VT_CURL_MEMBER
};

/* `named` is the path that the user named, or NULL. */
enum vt_status vt_curl_load(struct vt_curl *curl, const char *named,
                            struct vt_error *err) VT_NODISCARD;
void vt_curl_unload(struct vt_curl *curl); /* accepts a zeroed one */

#endif
