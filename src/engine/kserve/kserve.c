/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kserve/kserve.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/quote.h"
#include "base/version.h"
#include "engine/settings.h"
#include "engine/turn.h"

/* Names and ports; a model that needs more than this is none. */
#define ARENA_LIMIT ((size_t)64 << 20)

static const char *const setting_keys[] = {"url",       "timeout", "connect-timeout",
                                           "in-flight", "header",  "library"};
#define N_KEYS (sizeof(setting_keys) / sizeof(setting_keys[0]))

static enum vt_status kserve_probe(struct vt_error *err)
{
    struct vt_curl curl = {.library = {.handle = NULL}};
    struct vt_error why = VT_ERROR_INIT;
    if (vt_curl_load(&curl, NULL, &why) != VT_OK) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE, "%s", why.text);
    }
    vt_curl_unload(&curl);
    return VT_OK;
}

static void kserve_close(void *context)
{
    struct vt_kserve_engine *engine = context;
    if (engine == NULL) {
        return;
    }
    if (engine->headers != NULL) {
        engine->curl.slist_free_all(engine->headers);
    }
    vt_arena_release(&engine->arena);
    vt_curl_unload(&engine->curl);
    vt_free(engine);
}

/* --- settings -----------------------------------------------------------------------------------
 */

static bool is_url(const char *text)
{
    return text != NULL && (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0);
}

static enum vt_status read_url(struct vt_kserve_engine *engine, const struct vt_bundle *bundle,
                               const struct vt_engine_config *config, struct vt_error *err)
{
    const char *named = bundle->n_graphs > 0 ? bundle->graphs[0].name : NULL;
    const char *url = vt_engine_setting_text(config, "url", is_url(named) ? named : NULL);
    if (bundle->n_graphs > 1) {
        return vt_error_set(err, VT_ERR_UNSUPPORTED,
                            "engine kserve runs one model of a server, the bundle has %u",
                            bundle->n_graphs);
    }
    if (!is_url(url) || strstr(url, "/v2/models/") == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "engine kserve: the server's model is needed, --engine-option "
                            "url=http://HOST:PORT/v2/models/NAME; %s%s",
                            url != NULL ? "this is no such URL: " : "no URL is given",
                            url != NULL ? vt_plain(url).text : "");
    }
    const char *authority = strstr(url, "//") + 2;
    if (memchr(authority, '@', strcspn(authority, "/")) != NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "engine kserve: the URL holds a name or password, which would stand "
                            "in results; give them as header=Authorization: …");
    }
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/') {
        length--;
    }
    engine->url = vt_arena_strndup(&engine->arena, url, length);
    engine->infer_url =
        engine->url != NULL ? vt_arena_printf(&engine->arena, "%s/infer", engine->url) : NULL;
    engine->user_agent = vt_arena_printf(&engine->arena, "vatio/%s", vt_version());
    if (engine->infer_url == NULL || engine->user_agent == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the engine");
    }
    return VT_OK;
}

static enum vt_status read_duration(const struct vt_engine_config *config, const char *key,
                                    const char *fallback, int64_t most_ns, struct vt_error *err,
                                    long *ret_ms)
{
    const char *text = vt_engine_setting_text(config, key, fallback);
    char most[32];
    int64_t ns = 0;
    if (vt_parse_duration(text, &ns, NULL) != VT_OK || ns < VT_NS_PER_MS || ns > most_ns) {
        vt_format_duration(most_ns, most, sizeof(most));
        return vt_error_set(err, VT_ERR_USAGE, "setting '%s' is %s, allowed are 1ms to %s", key,
                            vt_quote(text).text, most);
    }
    *ret_ms = (long)(ns / VT_NS_PER_MS);
    return VT_OK;
}

static enum vt_status read_headers(struct vt_kserve_engine *engine,
                                   const struct vt_engine_config *config, struct vt_error *err)
{
    for (uint32_t i = 0; i < config->n_settings; i++) {
        const char *line = config->settings[i].value;
        if (strcmp(config->settings[i].key, "header") != 0) {
            continue;
        }
        if (strchr(line, ':') == NULL || line[0] == ':' || strpbrk(line, "\r\n") != NULL) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "setting 'header' is %s, it must be one line NAME: VALUE",
                                vt_quote(line).text);
        }
        struct curl_slist *longer = engine->curl.slist_append(engine->headers, line);
        if (longer == NULL) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a header");
        }
        engine->headers = longer;
    }
    return VT_OK;
}

static enum vt_status read_settings(struct vt_kserve_engine *engine, const struct vt_bundle *bundle,
                                    const struct vt_engine_config *config, struct vt_error *err)
{
    int64_t in_flight = 0;
    enum vt_status status = vt_engine_check_settings(config, "kserve", setting_keys, N_KEYS, err);
    if (status == VT_OK) {
        status = read_url(engine, bundle, config, err);
    }
    if (status == VT_OK) {
        status =
            read_duration(config, "timeout", "60s", 86400 * VT_NS_PER_S, err, &engine->timeout_ms);
    }
    if (status == VT_OK) {
        status = read_duration(config, "connect-timeout", "5s", 3600 * VT_NS_PER_S, err,
                               &engine->connect_timeout_ms);
    }
    if (status == VT_OK) {
        status = vt_engine_setting_int(config, "in-flight", 64, 1, 1024, err, &in_flight);
    }
    engine->in_flight = (uint32_t)in_flight;
    return status == VT_OK ? read_headers(engine, config, err) : status;
}

/* --- the server's model -------------------------------------------------------------------------
 */

static enum vt_status ask_metadata(struct vt_kserve_engine *engine, struct vt_error *err)
{
    struct vt_kserve_answer answer = {.limit = VT_KSERVE_JSON_MAX};
    char detail[CURL_ERROR_SIZE] = "";
    CURL *easy = engine->curl.easy_init();
    if (easy == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a request");
    }
    enum vt_status status = vt_kserve_prepare(engine, easy, engine->url, &answer, err);
    if (status == VT_OK) {
        (void)engine->curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
        CURLcode code = engine->curl.easy_perform(easy);
        status = vt_kserve_check(engine, easy, code, detail, &answer, err);
    }
    if (status == VT_OK) {
        status = vt_kserve_read_metadata(engine, (const char *)answer.bytes, answer.n, err);
    }
    engine->curl.easy_cleanup(easy);
    vt_kserve_answer_release(&answer);
    return status;
}

static enum vt_status find_model(struct vt_kserve_engine *engine,
                                 const struct vt_engine_config *config, struct vt_error *err)
{
    enum vt_status status = ask_metadata(engine, err);
    if (status == VT_OK) {
        status = vt_ports_bind(&engine->ports, config->shapes, config->n_shapes, err);
    }
    if (status != VT_OK) {
        return status;
    }
    engine->signature = (struct vt_signature){engine->ports.inputs, engine->ports.outputs,
                                              engine->ports.n_inputs, engine->ports.n_outputs};
    engine->max_batch = vt_ports_any_batch(&engine->ports) ? VT_ANY_BATCH : 1;
    engine->batch_untried = engine->max_batch > 1 && config->max_batch > 1;
    return VT_OK;
}

/* --- the seam -----------------------------------------------------------------------------------
 */

static enum vt_status kserve_open(const struct vt_bundle *bundle,
                                  const struct vt_engine_config *config, struct vt_error *err,
                                  void **ret_engine)
{
    struct vt_kserve_engine *engine = vt_calloc(1, sizeof(*engine));
    if (engine == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the engine");
    }
    vt_arena_init(&engine->arena, ARENA_LIMIT);
    enum vt_status status =
        vt_curl_load(&engine->curl, vt_engine_setting_text(config, "library", NULL), err);
    if (status == VT_OK) {
        status = read_settings(engine, bundle, config, err);
    }
    if (status == VT_OK) {
        status = find_model(engine, config, err);
    }
    if (status != VT_OK) {
        kserve_close(engine);
        return status;
    }
    *ret_engine = engine;
    return VT_OK;
}

static enum vt_status kserve_signature(void *context, uint32_t graph, struct vt_error *err,
                                       struct vt_signature *ret_signature)
{
    const struct vt_kserve_engine *engine = context;
    if (graph > 0) {
        return vt_error_set(err, VT_ERR_USAGE, "graph %u is asked for, a server's model is one",
                            graph);
    }
    *ret_signature = engine->signature;
    return VT_OK;
}

static enum vt_status kserve_caps(void *context, struct vt_error *err,
                                  struct vt_engine_caps *ret_caps)
{
    const struct vt_kserve_engine *engine = context;
    (void)err;
    ret_caps->max_batch = engine->max_batch;
    ret_caps->batch_untried = engine->batch_untried;
    ret_caps->best_batch = 0;
    ret_caps->best_lanes = 0;
    ret_caps->max_in_flight = engine->in_flight;
    ret_caps->uses_cpu = false;
    /* The protocol does not tell what the server computes in. */
    snprintf(ret_caps->precision, sizeof(ret_caps->precision), "unknown");
    snprintf(ret_caps->description, sizeof(ret_caps->description), "server %.80s", engine->url);
    return VT_OK;
}

const struct vt_engine_ops vt_kserve_engine = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "kserve",
    .summary = "a server of the Open Inference Protocol v2, over HTTP",
    .probe = kserve_probe,
    .open = kserve_open,
    .close = kserve_close,
    .signature = kserve_signature,
    .caps = kserve_caps,
    .lane_open = vt_kserve_lane_open,
    .lane_close = vt_kserve_lane_close,
    .submit = vt_kserve_submit,
    .wait = vt_kserve_wait,
    .cancel = vt_kserve_cancel,
};
