/* SPDX-License-Identifier: Apache-2.0 */
/* What every exchange with the server has in common: limits, the answer as it comes in, errors. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/kserve/kserve.h"
#include "engine/settings.h"

/* --- the answer comes in ------------------------------------------------------------------------
 */

static bool grow(struct vt_kserve_answer *answer, size_t needed)
{
    size_t capacity = answer->capacity > 0 ? answer->capacity : 4096;
    while (capacity < needed) {
        capacity *= 2; /* the limit is far below the largest number */
    }
    uint8_t *bytes = vt_regrow(answer->bytes, answer->n, capacity);
    if (bytes == NULL) {
        return false;
    }
    answer->bytes = bytes;
    answer->capacity = capacity;
    return true;
}

/* Anything but the number of bytes taken ends the transfer. */
static size_t take_body(char *data, size_t size, size_t n, void *context)
{
    struct vt_kserve_answer *answer = context;
    size_t more = size * n;
    if (more > answer->limit - answer->n) {
        answer->too_long = true;
        return 0;
    }
    /* One byte more, so that text can be ended. */
    if (answer->n + more + 1 > answer->capacity && !grow(answer, answer->n + more + 1)) {
        answer->no_memory = true;
        return 0;
    }
    memcpy(answer->bytes + answer->n, data, more);
    answer->n += more;
    return more;
}

static size_t take_header(char *data, size_t size, size_t n, void *context)
{
    static const char name[] = "inference-header-content-length:";
    struct vt_kserve_answer *answer = context;
    size_t length = size * n;
    char digits[24];
    if (length > sizeof(name) - 1 && strncasecmp(data, name, sizeof(name) - 1) == 0) {
        size_t rest = length - (sizeof(name) - 1);
        rest = rest < sizeof(digits) - 1 ? rest : sizeof(digits) - 1;
        memcpy(digits, data + sizeof(name) - 1, rest);
        digits[rest] = '\0';
        /* What is no number is 0, and then the answer's JSON is empty. */
        answer->json_size = strtoll(digits, NULL, 10);
        answer->json_size = answer->json_size < 0 ? 0 : answer->json_size;
    }
    return length;
}

void vt_kserve_answer_clear(struct vt_kserve_answer *answer)
{
    answer->n = 0;
    answer->too_long = false;
    answer->no_memory = false;
    answer->json_size = -1;
}

void vt_kserve_answer_release(struct vt_kserve_answer *answer)
{
    vt_free(answer->bytes);
    memset(answer, 0, sizeof(*answer));
}

/* --- requests -----------------------------------------------------------------------------------
 */

enum vt_status vt_kserve_prepare(const struct vt_kserve_engine *engine, CURL *easy, const char *url,
                                 struct vt_kserve_answer *answer, struct vt_error *err)
{
    const struct vt_curl *curl = &engine->curl;
    CURLcode code = CURLE_OK;
    vt_kserve_answer_clear(answer);
#define VT_SET(option, value)                                                                      \
    code = code == CURLE_OK ? curl->easy_setopt(easy, option, value) : code
    VT_SET(CURLOPT_URL, url);
    VT_SET(CURLOPT_NOSIGNAL, 1L); /* signals are for programs, not for libraries */
    VT_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    VT_SET(CURLOPT_FOLLOWLOCATION, 0L);
    VT_SET(CURLOPT_TCP_NODELAY, 1L);
    VT_SET(CURLOPT_TIMEOUT_MS, engine->timeout_ms);
    VT_SET(CURLOPT_CONNECTTIMEOUT_MS, engine->connect_timeout_ms);
    VT_SET(CURLOPT_USERAGENT, engine->user_agent);
    VT_SET(CURLOPT_HTTPHEADER, engine->headers);
    VT_SET(CURLOPT_WRITEFUNCTION, take_body);
    VT_SET(CURLOPT_WRITEDATA, (void *)answer);
    VT_SET(CURLOPT_HEADERFUNCTION, take_header);
    VT_SET(CURLOPT_HEADERDATA, (void *)answer);
#undef VT_SET
    if (code != CURLE_OK) {
        return vt_error_set(err, VT_ERR_ENGINE, "%s: libcurl refuses a setting: %s", url,
                            curl->easy_strerror(code));
    }
    return VT_OK;
}

static enum vt_status failed_transfer(const struct vt_kserve_engine *engine, CURLcode code,
                                      const char *detail, const struct vt_kserve_answer *answer,
                                      struct vt_error *err)
{
    char why[200];
    if (answer->too_long) {
        return vt_error_set(err, VT_ERR_LIMIT, "%s: the answer is longer than %zu bytes",
                            engine->url, answer->limit);
    }
    if (answer->no_memory || code == CURLE_OUT_OF_MEMORY) {
        return vt_error_set(err, VT_ERR_MEMORY, "%s: out of memory for an answer of %zu bytes",
                            engine->url, answer->n);
    }
    enum vt_status status = code == CURLE_OPERATION_TIMEDOUT ? VT_ERR_TIMEOUT : VT_ERR_ENGINE;
    return vt_error_set(
        err, status, "%s: %s", engine->url,
        vt_engine_one_line(detail[0] != '\0' ? detail : engine->curl.easy_strerror(code), why,
                           sizeof(why)));
}

enum vt_status vt_kserve_check(const struct vt_kserve_engine *engine, CURL *easy, CURLcode code,
                               const char *detail, const struct vt_kserve_answer *answer,
                               struct vt_error *err)
{
    long http = 0;
    char why[240];
    if (code != CURLE_OK) {
        return failed_transfer(engine, code, detail, answer, err);
    }
    if (engine->curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http) != CURLE_OK) {
        http = 0;
    }
    if (http == 200) {
        return VT_OK;
    }
    if (!vt_kserve_read_error((const char *)answer->bytes, answer->n, why, sizeof(why))) {
        why[0] = '\0';
    }
    enum vt_status status = http == 404                  ? VT_ERR_NOT_FOUND
                            : http == 408 || http == 504 ? VT_ERR_TIMEOUT
                            : http >= 400 && http < 500  ? VT_ERR_USAGE
                                                         : VT_ERR_ENGINE;
    return vt_error_set(err, status, "%s: the server answers %ld%s%s", engine->url, http,
                        why[0] != '\0' ? ": " : "", why);
}
