/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bookkeeping of a lane that holds one request and computes it in the thread that waits, for
 * engines whose library runs synchronously: what is pending, and a cancellation from another
 * thread that finds this request and never the next one.
 */
#ifndef VT_ENGINE_TURN_H
#define VT_ENGINE_TURN_H

#include <pthread.h>

#include "vatio/engine.h"

struct vt_turn {
    struct vt_request request;
    bool pending;
    /* Under the mutex. */
    bool running, cancelled;
    pthread_mutex_t mutex;
    bool has_mutex;
    struct vt_error failure; /* of the request; what the event's text points to */
};

enum vt_status vt_turn_init(struct vt_turn *turn, struct vt_error *err) VT_NODISCARD;
void vt_turn_release(struct vt_turn *turn); /* accepts a zeroed one */

/* submit(): takes n <= 1 requests for one of these signatures. VT_ERR_LIMIT while one is pending,
 * VT_ERR_USAGE on another graph or number of inputs. */
enum vt_status vt_turn_submit(struct vt_turn *turn, const struct vt_request *requests, uint32_t n,
                              const struct vt_signature *const *signatures, uint32_t n_graphs,
                              struct vt_error *err) VT_NODISCARD;
/* Whether wait() with these arguments is to compute now. */
bool vt_turn_is_due(const struct vt_turn *turn, uint32_t min, uint32_t max, int64_t deadline_ns);

/* Around the library's call. begin returns false when the request was cancelled before: then it is
 * not to be run. end returns whether it was cancelled meanwhile. */
bool vt_turn_begin(struct vt_turn *turn);
bool vt_turn_end(struct vt_turn *turn);
/* cancel(): calls stop(context) if the request is running. Any thread. */
void vt_turn_cancel(struct vt_turn *turn, uint64_t id, void (*stop)(void *context), void *context);

/* The event of the request that was computed with `status`; nothing is pending any more. */
struct vt_event vt_turn_event(struct vt_turn *turn, enum vt_status status,
                              const struct vt_tensor *outputs, uint32_t n_outputs, int64_t start_ns,
                              int64_t end_ns);

/* Whether the engine runs two samples of zeros as one request and gives two of every output. True
 * as well when the signature leaves more than the batch open: the first request will tell. A model
 * whose batch is open by its signature may have it fixed by its nodes. */
enum vt_status vt_engine_takes_two(const struct vt_engine_ops *ops, void *engine, uint32_t graph,
                                   const struct vt_signature *signature, struct vt_error *err,
                                   bool *ret_two) VT_NODISCARD;
/* Tries that on the first graph where the engine says that nobody has, and writes into `caps` what
 * came of it. No lane may be open. */
enum vt_status vt_engine_try_batch(const struct vt_engine_ops *ops, void *engine,
                                   const struct vt_signature *signature,
                                   struct vt_engine_caps *caps, struct vt_error *err) VT_NODISCARD;

#endif
