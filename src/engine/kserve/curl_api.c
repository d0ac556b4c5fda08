/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kserve/curl_api.h"

#include <pthread.h>
#include <string.h>

static const struct vt_library_kind kinds[] = {
    {.what = "libcurl",
     .file = "libcurl.so.4",
     .variable = "VATIO_LIBCURL",
     .symbol = "curl_multi_poll", /* since 7.66 of 2019 */
     .remedy = "apt-get install libcurl4"},
    {.what = "libcurl",
     .file = "libcurl-gnutls.so.4",
     .variable = "VATIO_LIBCURL",
     .symbol = "curl_multi_poll",
     .remedy = "apt-get install libcurl4"},
};

static enum vt_status find_functions(struct vt_curl *curl, struct vt_error *err)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
#define VT_CURL_FIND(name) {"curl_" #name, &curl->name},
        VT_CURL_FUNCTIONS(VT_CURL_FIND)
#undef VT_CURL_FIND
    };
    enum vt_status status = VT_OK;
    for (size_t i = 0; status == VT_OK && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        status = vt_library_function(&curl->library, wanted[i].name, err, wanted[i].function);
    }
    return status;
}

enum vt_status vt_curl_load(struct vt_curl *curl, const char *named, struct vt_error *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct vt_error quiet = VT_ERROR_INIT;
    enum vt_status status = vt_library_open(&kinds[0], named, &quiet, &curl->library);
    if (status == VT_ERR_UNAVAILABLE) {
        struct vt_error ignored = VT_ERROR_INIT;
        status = vt_library_open(&kinds[1], named, &ignored, &curl->library);
    }
    if (status != VT_OK) {
        return vt_error_set(err, status, "%s", quiet.text);
    }
    status = find_functions(curl, err);
    if (status == VT_OK) {
        /* Counted by the library, and before 7.84 not safe in several threads at once. It stays
         * initialised, as it stays loaded. */
        pthread_mutex_lock(&mutex);
        CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
        pthread_mutex_unlock(&mutex);
        if (code != CURLE_OK) {
            status = vt_error_set(err, VT_ERR_ENGINE, "libcurl cannot start: %s",
                                  curl->easy_strerror(code));
        }
    }
    if (status != VT_OK) {
        vt_curl_unload(curl);
    }
    return status;
}

void vt_curl_unload(struct vt_curl *curl)
{
    vt_library_close(&curl->library);
}
