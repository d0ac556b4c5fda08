/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A remote server as an engine: the Open Inference Protocol, version 2, over HTTP, with the binary
 * tensor extension (KServe, Triton, OpenVINO Model Server and others speak it). libcurl is opened
 * while the program runs.
 *
 * The model is the server's: its metadata are the signature, and no model file is needed. A lane
 * has connections of its own, which stay open, and any number of requests in flight up to the
 * setting. Inputs are sent from where they lie. What is measured is the round trip.
 *
 * Settings (--engine-option KEY=VALUE):
 *   url              http://HOST:PORT/v2/models/NAME[/versions/N]; not needed where the model is
 *                    named by such a URL
 *   timeout          of a request, 1ms to 24h (default 60s)
 *   connect-timeout  of a connection, 1ms to 1h (default 5s)
 *   in-flight        requests a lane takes at once, 1 to 1024 (default 64)
 *   header           a line of the request, as in "header=Authorization: Bearer …"; repeatable
 *   library          libcurl, or a folder that holds it
 */
#ifndef VT_ENGINE_KSERVE_KSERVE_H
#define VT_ENGINE_KSERVE_KSERVE_H

#include "base/alloc.h"
#include "core/ports.h"
#include "engine/kserve/curl_api.h"
#include "vatio/engine.h"

/* The header of an answer and the metadata of a model are at most so long. */
#define VT_KSERVE_JSON_MAX ((size_t)16 << 20)
/* An answer is at most so long. */
#define VT_KSERVE_ANSWER_MAX ((size_t)4 << 30)

struct vt_kserve_engine {
    struct vt_curl curl;
    struct vt_arena arena; /* names, ports */
    const char *url;       /* of the model, without a slash at its end */
    const char *infer_url;
    const char *user_agent;
    struct curl_slist *headers; /* the user's */
    long timeout_ms, connect_timeout_ms;
    uint32_t in_flight;
    uint32_t max_batch;
    bool batch_untried;
    struct vt_ports ports;
    struct vt_signature signature;
};

/* An answer as it comes in. */
struct vt_kserve_answer {
    uint8_t *bytes;
    size_t n, capacity;
    size_t limit;      /* bytes that are taken at most */
    bool too_long;     /* there were more */
    bool no_memory;    /* there was no room for more */
    int64_t json_size; /* of Inference-Header-Content-Length; -1: not said */
};

/* http.c: what every request has, and what its answer says. */

/* Sets up a handle for this engine and lets its answer go into *answer. */
enum vt_status vt_kserve_prepare(const struct vt_kserve_engine *engine, CURL *easy, const char *url,
                                 struct vt_kserve_answer *answer,
                                 struct vt_error *err) VT_NODISCARD;
/* Whether the exchange went well and was answered with 200; else says what is wrong. `detail` is
 * what curl wrote of it, or "". */
enum vt_status vt_kserve_check(const struct vt_kserve_engine *engine, CURL *easy, CURLcode code,
                               const char *detail, const struct vt_kserve_answer *answer,
                               struct vt_error *err) VT_NODISCARD;
void vt_kserve_answer_clear(struct vt_kserve_answer *answer); /* keeps the memory */
void vt_kserve_answer_release(struct vt_kserve_answer *answer);

/* wire.c: JSON to tensors and back. */

/* Asks nothing: reads the metadata of a model into engine->ports and ->signature. */
enum vt_status vt_kserve_read_metadata(struct vt_kserve_engine *engine, const char *json, size_t n,
                                       struct vt_error *err) VT_NODISCARD;
/* The JSON that goes before the tensors of a request; vt_free(*ret_json). */
enum vt_status vt_kserve_write_request(const struct vt_kserve_engine *engine,
                                       const struct vt_request *request, struct vt_error *err,
                                       char **ret_json, size_t *ret_n) VT_NODISCARD;
/*
 * The outputs of an answer in the order of the signature, as views of its bytes, which need not be
 * aligned. VT_ERR_FORMAT says what is wrong with it.
 */
enum vt_status vt_kserve_read_answer(const struct vt_kserve_engine *engine,
                                     const struct vt_kserve_answer *answer, uint64_t id,
                                     struct vt_error *err,
                                     struct vt_tensor *ret_outputs) VT_NODISCARD;
/* The sentence of {"error": "…"}; false when there is none. */
bool vt_kserve_read_error(const char *json, size_t n, char *text, size_t size);

/* lane.c */
enum vt_status vt_kserve_lane_open(void *engine, uint32_t index, struct vt_error *err,
                                   void **ret_lane);
void vt_kserve_lane_close(void *engine, void *lane);
enum vt_status vt_kserve_submit(void *engine, void *lane, const struct vt_request *requests,
                                uint32_t n, struct vt_error *err);
enum vt_status vt_kserve_wait(void *engine, void *lane, uint32_t min, uint32_t max,
                              int64_t deadline_ns, struct vt_error *err,
                              struct vt_event *ret_events, uint32_t *ret_n);
void vt_kserve_cancel(void *engine, void *lane, uint64_t id);

extern const struct vt_engine_ops vt_kserve_engine;

#endif
