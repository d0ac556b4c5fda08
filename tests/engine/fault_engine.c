/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module whose engine misbehaves on demand, for tests of whoever drives an engine. It takes any
 * model and answers like the null engine, except where its settings say otherwise:
 *
 *   fault     none; lose: a request is never answered; twice: it is answered twice; error: it ends
 *             with an error event; stranger: its event bears an id that nobody issued; wait-fails:
 *             the lane breaks; submit-fails: nothing is taken; hang: wait() sleeps to its deadline;
 *             tokens: no fault, a partial event comes before each answer, of 5 tokens a sample
 *   every     the fault befalls every N-th request (default 1: all)
 *   delay-us  how long wait() sleeps before it gives results
 *   cache     yes: not for a request with the same inputs as the one before
 *   wrong-if  a path: while something is there, answers are others
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/null/null.h"

/* Nobody waits longer than this for an engine that hangs. */
#define HANG_NS (60 * VT_NS_PER_S)

/* Samples of a request that can be told their tokens. */
#define TOKEN_SAMPLES 64

enum fault { NONE, LOSE, TWICE, ERROR, STRANGER, WAIT_FAILS, SUBMIT_FAILS, HANG, TOKENS, FAULTS };

static const char *const fault_names[FAULTS] = {
    "none", "lose", "twice", "error", "stranger", "wait-fails", "submit-fails", "hang", "tokens"};

struct fault_engine {
    void *null;
    enum fault fault;
    uint64_t every;
    int64_t delay_ns;
    bool cache;
    char *wrong_if;
};

#define OUTPUTS_MOST 8

struct fault_lane {
    void *null;
    uint64_t requests; /* answered by the null engine so far */
    bool again;        /* `repeated` waits to be given a second time */
    struct vt_event repeated;
    int64_t tokens[TOKEN_SAMPLES];
    uint64_t inputs; /* of the last request: a hash */
    bool known;      /* and of the one before */
    struct vt_tensor wrong[OUTPUTS_MOST];
    unsigned char *wrong_data;
    size_t wrong_bytes;
};

static enum vt_status read_setting(struct fault_engine *engine, const struct vt_setting *setting,
                                   struct vt_error *err)
{
    if (strcmp(setting->key, "fault") == 0) {
        for (int i = 0; i < FAULTS; i++) {
            if (strcmp(setting->value, fault_names[i]) == 0) {
                engine->fault = (enum fault)i;
                return VT_OK;
            }
        }
    } else if (strcmp(setting->key, "every") == 0) {
        engine->every = strtoull(setting->value, NULL, 10);
        return engine->every > 0 ? VT_OK : vt_error_set(err, VT_ERR_USAGE, "every is 0");
    } else if (strcmp(setting->key, "delay-us") == 0) {
        engine->delay_ns = strtoll(setting->value, NULL, 10) * VT_NS_PER_US;
        return VT_OK;
    } else if (strcmp(setting->key, "cache") == 0) {
        engine->cache = strcmp(setting->value, "yes") == 0;
        return VT_OK;
    } else if (strcmp(setting->key, "wrong-if") == 0) {
        free(engine->wrong_if);
        engine->wrong_if = strdup(setting->value);
        return VT_OK;
    }
    return vt_error_set(err, VT_ERR_USAGE, "engine fault cannot use setting '%s' = '%s'",
                        setting->key, setting->value);
}

static void fault_close(void *context)
{
    struct fault_engine *engine = context;
    if (engine != NULL) {
        vt_null_engine.close(engine->null);
        free(engine->wrong_if);
        free(engine);
    }
}

static enum vt_status fault_open(const struct vt_bundle *bundle,
                                 const struct vt_engine_config *config, struct vt_error *err,
                                 void **ret_engine)
{
    struct fault_engine *engine = calloc(1, sizeof(*engine));
    if (engine == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for the fault engine");
    }
    engine->every = 1;
    enum vt_status status = VT_OK;
    for (uint32_t i = 0; i < config->n_settings && status == VT_OK; i++) {
        status = read_setting(engine, &config->settings[i], err);
    }
    if (status == VT_OK) {
        struct vt_engine_config plain = *config;
        plain.n_settings = 0;
        status = vt_null_engine.open(bundle, &plain, err, &engine->null);
    }
    if (status != VT_OK) {
        fault_close(engine);
        return status;
    }
    *ret_engine = engine;
    return VT_OK;
}

static enum vt_status fault_signature(void *context, uint32_t graph, struct vt_error *err,
                                      struct vt_signature *ret_signature)
{
    struct fault_engine *engine = context;
    return vt_null_engine.signature(engine->null, graph, err, ret_signature);
}

static enum vt_status fault_caps(void *context, struct vt_error *err,
                                 struct vt_engine_caps *ret_caps)
{
    struct fault_engine *engine = context;
    return vt_null_engine.caps(engine->null, err, ret_caps);
}

static void fault_lane_close(void *context, void *lane_context)
{
    struct fault_engine *engine = context;
    struct fault_lane *lane = lane_context;
    if (lane != NULL) {
        vt_null_engine.lane_close(engine->null, lane->null);
        free(lane->wrong_data);
        free(lane);
    }
}

static enum vt_status fault_lane_open(void *context, uint32_t index, struct vt_error *err,
                                      void **ret_lane)
{
    struct fault_engine *engine = context;
    struct fault_lane *lane = calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for lane %u", index);
    }
    enum vt_status status = vt_null_engine.lane_open(engine->null, index, err, &lane->null);
    if (status != VT_OK) {
        free(lane);
        return status;
    }
    *ret_lane = lane;
    return VT_OK;
}

/* FNV-1a. */
static uint64_t hash_inputs(const struct vt_request *request)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (uint32_t i = 0; i < request->n_inputs; i++) {
        const unsigned char *data = request->inputs[i].data;
        for (size_t k = 0; k < request->inputs[i].bytes; k++) {
            hash = (hash ^ data[k]) * UINT64_C(1099511628211);
        }
    }
    return hash;
}

static enum vt_status fault_submit(void *context, void *lane_context,
                                   const struct vt_request *requests, uint32_t n,
                                   struct vt_error *err)
{
    struct fault_engine *engine = context;
    struct fault_lane *lane = lane_context;
    if (engine->fault == SUBMIT_FAILS) {
        return vt_error_set(err, VT_ERR_ENGINE, "submit fails, as asked for");
    }
    for (uint32_t i = 0; engine->cache && i < n; i++) {
        uint64_t inputs = hash_inputs(&requests[i]);
        lane->known = inputs == lane->inputs;
        lane->inputs = inputs;
    }
    return vt_null_engine.submit(engine->null, lane->null, requests, n, err);
}

/* All zeros but for the second element of floats, in the place of zeros. */
static void answer_wrongly(struct fault_lane *lane, struct vt_event *event)
{
    const float one = 1;
    uint32_t n = event->n_outputs < OUTPUTS_MOST ? event->n_outputs : OUTPUTS_MOST;
    size_t most = 2 * sizeof one;
    for (uint32_t i = 0; i < n; i++) {
        most = event->outputs[i].bytes > most ? event->outputs[i].bytes : most;
    }
    if (most > lane->wrong_bytes) {
        free(lane->wrong_data);
        lane->wrong_data = calloc(1, most);
        lane->wrong_bytes = lane->wrong_data != NULL ? most : 0;
        if (lane->wrong_data == NULL) {
            return;
        }
        memcpy(lane->wrong_data + sizeof one, &one, sizeof one);
    }
    for (uint32_t i = 0; i < n; i++) {
        lane->wrong[i] = event->outputs[i];
        lane->wrong[i].data = lane->wrong_data;
    }
    event->outputs = lane->wrong;
    event->n_outputs = n;
}

/* Gives events[0 .. n) the faults that are due. Returns how many are left. */
static uint32_t spoil(const struct fault_engine *engine, struct fault_lane *lane,
                      struct vt_event *events, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct vt_event event = events[i];
        if (++lane->requests % engine->every == 0) {
            switch (engine->fault) {
            case LOSE:
                continue;
            case TWICE:
                lane->again = true;
                lane->repeated = event;
                break;
            case ERROR:
                event.kind = VT_EVENT_ERROR;
                event.status = VT_ERR_ENGINE;
                event.text = "the request failed, as asked for";
                event.outputs = NULL;
                event.n_outputs = 0;
                break;
            case TOKENS:
                lane->again = true;
                lane->repeated = event;
                for (int k = 0; k < TOKEN_SAMPLES; k++) {
                    lane->tokens[k] = 5;
                }
                lane->repeated.n_tokens = lane->tokens;
                event.kind = VT_EVENT_PARTIAL;
                break;
            case STRANGER:
                event.id ^= UINT64_C(1) << 63;
                break;
            default:
                break;
            }
        }
        events[kept++] = event;
    }
    return kept;
}

static void sleep_to(int64_t deadline_ns)
{
    int64_t latest = vt_now_ns() + HANG_NS;
    vt_sleep_until_ns(deadline_ns < latest ? deadline_ns : latest, 0);
}

static enum vt_status fault_wait(void *context, void *lane_context, uint32_t min, uint32_t max,
                                 int64_t deadline_ns, struct vt_error *err,
                                 struct vt_event *ret_events, uint32_t *ret_n)
{
    struct fault_engine *engine = context;
    struct fault_lane *lane = lane_context;
    uint32_t n = 0;
    if (engine->fault == WAIT_FAILS) {
        return vt_error_set(err, VT_ERR_ENGINE, "the lane is broken, as asked for");
    }
    if (engine->fault == HANG) {
        if (min > 0) {
            sleep_to(deadline_ns);
        }
        *ret_n = 0;
        return VT_OK;
    }
    if (engine->delay_ns > 0 && !lane->known) {
        int64_t until = vt_now_ns() + engine->delay_ns;
        vt_sleep_until_ns(until < deadline_ns ? until : deadline_ns, 0);
    }
    if (lane->again && max > 0) {
        ret_events[n++] = lane->repeated;
        lane->again = false;
    }
    /* One at a time: an event that is to come twice keeps its outputs until the next call. */
    uint32_t fresh = 0;
    bool singly = engine->fault == TWICE || engine->fault == TOKENS;
    uint32_t room = singly && max - n > 1 ? 1 : max - n;
    enum vt_status status = vt_null_engine.wait(engine->null, lane->null, 0, room, deadline_ns, err,
                                                ret_events + n, &fresh);
    if (status != VT_OK) {
        return status;
    }
    if (engine->wrong_if != NULL && access(engine->wrong_if, F_OK) == 0) {
        for (uint32_t i = 0; i < fresh; i++) {
            answer_wrongly(lane, &ret_events[n + i]);
        }
    }
    n += spoil(engine, lane, ret_events + n, fresh);
    if (n < min && n == 0) {
        sleep_to(deadline_ns);
    }
    *ret_n = n;
    return VT_OK;
}

static const struct vt_engine_ops fault_ops = {
    .api_version = VT_ENGINE_API_VERSION,
    .struct_size = sizeof(struct vt_engine_ops),
    .name = "fault",
    .summary = "misbehaves on demand, for tests",
    .open = fault_open,
    .close = fault_close,
    .signature = fault_signature,
    .caps = fault_caps,
    .lane_open = fault_lane_open,
    .lane_close = fault_lane_close,
    .submit = fault_submit,
    .wait = fault_wait,
};

static const struct vt_engine_ops *const engines[] = {&fault_ops};

static const struct vt_module module = {.api_version = VT_ENGINE_API_VERSION,
                                        .struct_size = sizeof(struct vt_module),
                                        .name = "fault",
                                        .engines = engines,
                                        .n_engines = 1};

VT_API const struct vt_module *vatio_module(const struct vt_host *host);

const struct vt_module *vatio_module(const struct vt_host *host)
{
    (void)host;
    return &module;
}
