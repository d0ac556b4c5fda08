/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: many exchanges with the server at once, driven by the thread that submits and waits. Each
 * exchange has a handle of its own; the connections belong to the lane and stay open.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "engine/kserve/kserve.h"

/* Looks again at the clock and at cancellations after so long at the latest. */
#define POLL_MS 500

enum stage {
    IDLE,
    IN_FLIGHT,
    DONE, /* to be given to the caller */
    SHOWN /* the caller looks at its outputs until the lane's next call */
};

struct exchange {
    enum stage stage;
    CURL *easy;
    struct curl_slist *headers;
    char detail[CURL_ERROR_SIZE];
    struct vt_kserve_answer answer;
    /* What is sent: the JSON, then every input. */
    char *json;
    size_t json_bytes;
    struct vt_request request;
    size_t sent; /* in all */
    size_t bytes;
    /* What came: outputs, moved to where they are aligned. */
    struct vt_tensor *outputs;
    uint8_t *memory;
    size_t memory_bytes;
    int64_t start_ns, end_ns;
    enum vt_status status;
    struct vt_error failure;
    _Atomic uint64_t id, cancelled; /* of the request in flight; who cancels writes its id here */
};

struct lane {
    struct vt_kserve_engine *engine;
    CURLM *multi;
    struct exchange *exchanges; /* engine->in_flight */
    uint32_t n_in_flight, n_done;
    uint32_t next; /* where to look for one that is done: the oldest comes first, about */
};

/* --- opening ------------------------------------------------------------------------------------
 */

static void release_exchange(struct lane *lane, struct exchange *exchange)
{
    const struct vt_curl *curl = &lane->engine->curl;
    if (exchange->easy != NULL) {
        if (exchange->stage == IN_FLIGHT) {
            (void)curl->multi_remove_handle(lane->multi, exchange->easy);
        }
        curl->easy_cleanup(exchange->easy);
    }
    if (exchange->headers != NULL) {
        curl->slist_free_all(exchange->headers);
    }
    vt_kserve_answer_release(&exchange->answer);
    vt_free(exchange->json);
    vt_free(exchange->outputs);
    vt_free(exchange->memory);
}

void vt_kserve_lane_close(void *engine_context, void *context)
{
    struct vt_kserve_engine *engine = engine_context;
    struct lane *lane = context;
    if (lane == NULL) {
        return;
    }
    for (uint32_t i = 0; lane->exchanges != NULL && i < engine->in_flight; i++) {
        release_exchange(lane, &lane->exchanges[i]);
    }
    if (lane->multi != NULL) {
        (void)engine->curl.multi_cleanup(lane->multi);
    }
    vt_free(lane->exchanges);
    vt_free(lane);
}

enum vt_status vt_kserve_lane_open(void *context, uint32_t index, struct vt_error *err,
                                   void **ret_lane)
{
    struct vt_kserve_engine *engine = context;
    struct lane *lane = vt_calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    lane->engine = engine;
    lane->exchanges = vt_calloc(engine->in_flight, sizeof(*lane->exchanges));
    lane->multi = engine->curl.multi_init();
    if (lane->exchanges == NULL || lane->multi == NULL) {
        vt_kserve_lane_close(engine, lane);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    /* None is closed for want of room. */
    (void)engine->curl.multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, (long)engine->in_flight);
    *ret_lane = lane;
    return VT_OK;
}

/* --- sending ------------------------------------------------------------------------------------
 */

/* The part of what is sent that begins at `offset`. */
static const uint8_t *part_at(const struct exchange *exchange, size_t offset, size_t *ret_n)
{
    if (offset < exchange->json_bytes) {
        *ret_n = exchange->json_bytes - offset;
        return (const uint8_t *)exchange->json + offset;
    }
    offset -= exchange->json_bytes;
    for (uint32_t i = 0; i < exchange->request.n_inputs; i++) {
        const struct vt_tensor *input = &exchange->request.inputs[i];
        if (offset < input->bytes) {
            *ret_n = input->bytes - offset;
            return (const uint8_t *)input->data + offset;
        }
        offset -= input->bytes;
    }
    *ret_n = 0;
    return NULL;
}

static size_t give_body(char *to, size_t size, size_t n, void *context)
{
    struct exchange *exchange = context;
    size_t room = size * n, given = 0;
    while (given < room) {
        size_t more = 0;
        const uint8_t *part = part_at(exchange, exchange->sent, &more);
        if (part == NULL) {
            break;
        }
        more = more < room - given ? more : room - given;
        memcpy(to + given, part, more);
        given += more;
        exchange->sent += more;
    }
    return given;
}

/* A connection that was closed while it idled: the request is sent again on another. */
static int seek_body(void *context, curl_off_t offset, int origin)
{
    struct exchange *exchange = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > exchange->bytes) {
        return CURL_SEEKFUNC_FAIL;
    }
    exchange->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* The user's lines and those that say what is in the body. */
static enum vt_status make_headers(const struct vt_kserve_engine *engine, struct exchange *exchange,
                                   struct vt_error *err)
{
    const struct vt_curl *curl = &engine->curl;
    char length[64];
    struct curl_slist *list = NULL;
    snprintf(length, sizeof(length), "Inference-Header-Content-Length: %zu", exchange->json_bytes);
    const char *const own[] = {"Content-Type: application/octet-stream", length,
                               "Expect:"}; /* no round trip for leave to send */
    bool complete = true;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && complete; i++) {
        struct curl_slist *longer = curl->slist_append(list, own[i]);
        complete = longer != NULL;
        list = complete ? longer : list;
    }
    for (const struct curl_slist *at = engine->headers; at != NULL && complete; at = at->next) {
        struct curl_slist *longer = curl->slist_append(list, at->data);
        complete = longer != NULL;
        list = complete ? longer : list;
    }
    if (exchange->headers != NULL) {
        curl->slist_free_all(exchange->headers);
    }
    exchange->headers = list;
    return complete ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory for a request");
}

static enum vt_status check_inputs(const struct vt_kserve_engine *engine,
                                   const struct vt_request *request, size_t *ret_bytes,
                                   struct vt_error *err)
{
    size_t bytes = 0;
    if (request->graph != 0 || request->n_inputs != engine->ports.n_inputs) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "a request is for graph %u with %u inputs; the server's model is one "
                            "graph with %u",
                            request->graph, request->n_inputs, engine->ports.n_inputs);
    }
    for (uint32_t i = 0; i < request->n_inputs; i++) {
        const struct vt_tensor *input = &request->inputs[i];
        if (input->dtype != engine->ports.inputs[i].dtype || input->memory == VT_MEMORY_DEVICE) {
            return vt_error_set(err, VT_ERR_USAGE, "input %s is %s%s, the model takes %s",
                                vt_quote(engine->ports.inputs[i].name).text,
                                vt_dtype_name(input->dtype),
                                input->memory == VT_MEMORY_DEVICE ? " in device memory" : "",
                                vt_dtype_name(engine->ports.inputs[i].dtype));
        }
        if (__builtin_add_overflow(bytes, input->bytes, &bytes) || bytes > VT_KSERVE_ANSWER_MAX) {
            return vt_error_set(err, VT_ERR_LIMIT, "a request of more than %zu bytes",
                                VT_KSERVE_ANSWER_MAX);
        }
    }
    *ret_bytes = bytes;
    return VT_OK;
}

static enum vt_status set_post(const struct vt_kserve_engine *engine, struct exchange *exchange,
                               struct vt_error *err)
{
    const struct vt_curl *curl = &engine->curl;
    CURL *easy = exchange->easy;
    CURLcode code = CURLE_OK;
    exchange->detail[0] = '\0';
#define VT_SET(option, value)                                                                      \
    code = code == CURLE_OK ? curl->easy_setopt(easy, option, value) : code
    VT_SET(CURLOPT_POST, 1L);
    VT_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->bytes);
    VT_SET(CURLOPT_READFUNCTION, give_body);
    VT_SET(CURLOPT_READDATA, (void *)exchange);
    VT_SET(CURLOPT_SEEKFUNCTION, seek_body);
    VT_SET(CURLOPT_SEEKDATA, (void *)exchange);
    VT_SET(CURLOPT_HTTPHEADER, exchange->headers);
    VT_SET(CURLOPT_ERRORBUFFER, exchange->detail);
    VT_SET(CURLOPT_PRIVATE, (void *)exchange);
#undef VT_SET
    if (code != CURLE_OK) {
        return vt_error_set(err, VT_ERR_ENGINE, "%s: libcurl refuses a setting: %s", engine->url,
                            curl->easy_strerror(code));
    }
    return VT_OK;
}

static enum vt_status begin(struct lane *lane, struct exchange *exchange,
                            const struct vt_request *request, struct vt_error *err)
{
    struct vt_kserve_engine *engine = lane->engine;
    size_t bytes = 0;
    char *json = NULL;
    enum vt_status status = check_inputs(engine, request, &bytes, err);
    if (status == VT_OK && exchange->easy == NULL) {
        exchange->easy = engine->curl.easy_init();
        exchange->outputs = vt_calloc(engine->ports.n_outputs, sizeof(*exchange->outputs));
        if (exchange->easy == NULL || exchange->outputs == NULL) {
            status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for a request");
        }
    }
    if (status == VT_OK && exchange->outputs == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory for a request");
    }
    if (status == VT_OK) {
        status = vt_kserve_write_request(engine, request, err, &json, &exchange->json_bytes);
    }
    if (status != VT_OK) {
        return status;
    }
    vt_free(exchange->json);
    exchange->json = json;
    exchange->request = *request;
    exchange->sent = 0;
    exchange->bytes = exchange->json_bytes + bytes;
    exchange->answer.limit = VT_KSERVE_ANSWER_MAX;
    engine->curl.easy_reset(exchange->easy);
    status = make_headers(engine, exchange, err);
    if (status == VT_OK) {
        status =
            vt_kserve_prepare(engine, exchange->easy, engine->infer_url, &exchange->answer, err);
    }
    if (status == VT_OK) {
        status = set_post(engine, exchange, err);
    }
    if (status != VT_OK) {
        return status;
    }
    atomic_store(&exchange->cancelled, ~request->id);
    atomic_store(&exchange->id, request->id);
    exchange->start_ns = vt_now_ns();
    CURLMcode code = engine->curl.multi_add_handle(lane->multi, exchange->easy);
    if (code != CURLM_OK) {
        return vt_error_set(err, VT_ERR_ENGINE, "%s: %s", engine->url,
                            engine->curl.multi_strerror(code));
    }
    exchange->stage = IN_FLIGHT;
    lane->n_in_flight++;
    return VT_OK;
}

/* What the caller was shown, it has seen. */
static void forget_shown(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->engine->in_flight; i++) {
        if (lane->exchanges[i].stage == SHOWN) {
            lane->exchanges[i].stage = IDLE;
        }
    }
}

static void withdraw(struct lane *lane, struct exchange *exchange)
{
    (void)lane->engine->curl.multi_remove_handle(lane->multi, exchange->easy);
    exchange->stage = IDLE;
    lane->n_in_flight--;
}

enum vt_status vt_kserve_submit(void *context, void *lane_context,
                                const struct vt_request *requests, uint32_t n, struct vt_error *err)
{
    struct vt_kserve_engine *engine = context;
    struct lane *lane = lane_context;
    uint32_t taken = 0;
    int running = 0;
    enum vt_status status = VT_OK;
    forget_shown(lane);
    uint32_t held = lane->n_in_flight + lane->n_done;
    if (n > engine->in_flight - held) {
        return vt_error_set(err, VT_ERR_LIMIT, "%u requests on top of %u in flight exceed %u", n,
                            held, engine->in_flight);
    }
    uint32_t *places = vt_calloc((size_t)n + 1, sizeof(*places));
    if (places == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %u requests", n);
    }
    for (uint32_t i = 0; i < engine->in_flight && taken < n && status == VT_OK; i++) {
        if (lane->exchanges[i].stage == IDLE) {
            status = begin(lane, &lane->exchanges[i], &requests[taken], err);
            places[taken] = i;
            taken += status == VT_OK ? 1 : 0;
        }
    }
    /* All or none. */
    for (uint32_t i = 0; status != VT_OK && i < taken; i++) {
        withdraw(lane, &lane->exchanges[places[i]]);
    }
    vt_free(places);
    if (status == VT_OK) {
        (void)engine->curl.multi_perform(lane->multi, &running); /* wait() sees what is wrong */
    }
    return status;
}

void vt_kserve_cancel(void *context, void *lane_context, uint64_t id)
{
    struct vt_kserve_engine *engine = context;
    struct lane *lane = lane_context;
    for (uint32_t i = 0; i < engine->in_flight; i++) {
        if (atomic_load(&lane->exchanges[i].id) == id) {
            atomic_store(&lane->exchanges[i].cancelled, id);
        }
    }
    (void)engine->curl.multi_wakeup(lane->multi); /* the one call that any thread may make */
}

/* --- receiving ----------------------------------------------------------------------------------
 */

/* Moves the outputs to where they are aligned. */
static enum vt_status align_outputs(struct lane *lane, struct exchange *exchange)
{
    uint32_t n = lane->engine->ports.n_outputs;
    size_t bytes = 0; /* at most what was received, and some for each */
    for (uint32_t i = 0; i < n; i++) {
        bytes += (exchange->outputs[i].bytes + VT_ALIGNMENT - 1) / VT_ALIGNMENT * VT_ALIGNMENT;
    }
    if (bytes > exchange->memory_bytes) {
        uint8_t *memory = vt_alloc(bytes);
        if (memory == NULL) {
            return vt_error_set(&exchange->failure, VT_ERR_MEMORY,
                                "out of memory for %zu bytes of outputs", bytes);
        }
        vt_free(exchange->memory);
        exchange->memory = memory;
        exchange->memory_bytes = bytes;
    }
    uint8_t *at = exchange->memory;
    for (uint32_t i = 0; i < n; i++) {
        struct vt_tensor *output = &exchange->outputs[i];
        if (output->bytes > 0) {
            memcpy(at, output->data, output->bytes);
        }
        output->data = at;
        at += (output->bytes + VT_ALIGNMENT - 1) / VT_ALIGNMENT * VT_ALIGNMENT;
    }
    return VT_OK;
}

static void finish(struct lane *lane, struct exchange *exchange, CURLcode code)
{
    const struct vt_kserve_engine *engine = lane->engine;
    exchange->end_ns = vt_now_ns();
    exchange->failure.status = VT_OK;
    exchange->status = vt_kserve_check(engine, exchange->easy, code, exchange->detail,
                                       &exchange->answer, &exchange->failure);
    if (exchange->status == VT_OK) {
        exchange->status = vt_kserve_read_answer(engine, &exchange->answer, exchange->request.id,
                                                 &exchange->failure, exchange->outputs);
    }
    if (exchange->status == VT_OK) {
        exchange->status = align_outputs(lane, exchange);
    }
    withdraw(lane, exchange);
    exchange->stage = DONE;
    lane->n_done++;
}

static void finish_cancelled(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->engine->in_flight; i++) {
        struct exchange *exchange = &lane->exchanges[i];
        if (exchange->stage == IN_FLIGHT &&
            atomic_load(&exchange->cancelled) == exchange->request.id) {
            exchange->end_ns = vt_now_ns();
            exchange->failure.status = VT_OK;
            exchange->status =
                vt_error_set(&exchange->failure, VT_ERR_INTERRUPTED, "the request was cancelled");
            withdraw(lane, exchange);
            exchange->stage = DONE;
            lane->n_done++;
        }
    }
}

static enum vt_status make_progress(struct lane *lane, struct vt_error *err)
{
    const struct vt_curl *curl = &lane->engine->curl;
    int running = 0, queued = 0;
    CURLMcode code = curl->multi_perform(lane->multi, &running);
    if (code != CURLM_OK) {
        return vt_error_set(err, VT_ERR_ENGINE, "%s: %s", lane->engine->url,
                            curl->multi_strerror(code));
    }
    for (CURLMsg *message = curl->multi_info_read(lane->multi, &queued); message != NULL;
         message = curl->multi_info_read(lane->multi, &queued)) {
        char *exchange = NULL;
        CURLcode result = message->data.result; /* the message goes with its handle */
        if (message->msg == CURLMSG_DONE &&
            curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange) == CURLE_OK) {
            finish(lane, (struct exchange *)(void *)exchange, result);
        }
    }
    finish_cancelled(lane);
    return VT_OK;
}

static void show(struct lane *lane, struct exchange *exchange, struct vt_event *ret_event)
{
    struct vt_event event = {.id = exchange->request.id,
                             .status = exchange->status,
                             .start_ns = exchange->start_ns,
                             .end_ns = exchange->end_ns};
    if (exchange->status == VT_OK) {
        event.kind = VT_EVENT_FINAL;
        event.outputs = exchange->outputs;
        event.n_outputs = lane->engine->ports.n_outputs;
    } else {
        event.kind = VT_EVENT_ERROR;
        event.text = exchange->failure.text;
    }
    *ret_event = event;
    exchange->stage = SHOWN;
    lane->n_done--;
}

static uint32_t show_done(struct lane *lane, uint32_t max, struct vt_event *ret_events)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < lane->engine->in_flight && n < max && lane->n_done > 0; i++) {
        struct exchange *exchange = &lane->exchanges[lane->next];
        if (exchange->stage == DONE) {
            show(lane, exchange, &ret_events[n++]);
        }
        lane->next = (lane->next + 1) % lane->engine->in_flight;
    }
    return n;
}

/* Milliseconds for poll, rounded up. */
static int until(int64_t deadline_ns)
{
    int64_t left = deadline_ns == VT_NEVER ? INT64_MAX : deadline_ns - vt_now_ns();
    if (left <= 0) {
        return 0;
    }
    return left / VT_NS_PER_MS >= POLL_MS ? POLL_MS : (int)(left / VT_NS_PER_MS) + 1;
}

enum vt_status vt_kserve_wait(void *context, void *lane_context, uint32_t min, uint32_t max,
                              int64_t deadline_ns, struct vt_error *err,
                              struct vt_event *ret_events, uint32_t *ret_n)
{
    struct vt_kserve_engine *engine = context;
    struct lane *lane = lane_context;
    uint32_t wanted = min < max ? min : max;
    forget_shown(lane);
    enum vt_status status = make_progress(lane, err);
    while (status == VT_OK && lane->n_done < wanted && lane->n_in_flight > 0) {
        int left_ms = until(deadline_ns);
        if (left_ms == 0) {
            break;
        }
        CURLMcode code = engine->curl.multi_poll(lane->multi, NULL, 0, left_ms, NULL);
        if (code != CURLM_OK) {
            return vt_error_set(err, VT_ERR_ENGINE, "%s: %s", engine->url,
                                engine->curl.multi_strerror(code));
        }
        status = make_progress(lane, err);
    }
    if (status == VT_OK) {
        *ret_n = show_done(lane, max, ret_events);
    }
    return status;
}
