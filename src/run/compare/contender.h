/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One engine of a comparison, and its turns.
 *
 * What an engine gets by chance (the cores its threads settle on, the pages its memory lies on)
 * stays with it as long as it is open, and would be taken for a property of the engine. So each
 * turn begins with a fresh instance of it where opening one is quick against the turn, with fresh
 * lanes where only that is, and with the old ones where neither is.
 *
 * Threading: one thread.
 */
#ifndef VT_RUN_CONTENDER_H
#define VT_RUN_CONTENDER_H

#include "load/load.h"
#include "result/comparison.h"
#include "run/compare/compare_job.h"
#include "run/session.h"

struct vt_contender {
    struct vt_compare_entry entry;
    struct vt_session session;         /* its job is the entry's */
    struct vt_compared_engine *engine; /* what is found out about it; borrowed */
    struct vt_qsl qsl;
    const uint64_t *indices; /* of the loaded samples, 0 to n_loaded - 1; borrowed */
    uint64_t n_loaded;       /* 0: not loaded */
    void *first_engine;      /* whose signature workload and sut refer to; NULL: session.engine */
    double rate;             /* Offline: samples/s of the turn before */
    int64_t single_ns;       /* SingleStream: median of the turn before */
};

enum vt_compared_turn {
    VT_TURN_OFFLINE,
    VT_TURN_SINGLE_STREAM,
};

/* `text` is what --engine says. Finds engine and model. The contender stays where it is. Whatever
 * comes back, vt_contender_close cleans up. */
enum vt_status vt_contender_open(struct vt_contender *contender, const struct vt_job *job,
                                 const char *text, const char *model,
                                 struct vt_compared_engine *engine,
                                 struct vt_error *err) VT_NODISCARD;
/* Opens the engine and the workload. */
enum vt_status vt_contender_start(struct vt_contender *contender,
                                  struct vt_error *err) VT_NODISCARD;
enum vt_status vt_contender_load(struct vt_contender *contender, const uint64_t *indices,
                                 uint64_t n, struct vt_error *err) VT_NODISCARD;
/* Makes it ready for turns of so long: chooses the batch, sees what of it can be renewed. The
 * caller may lower engine->renewal behind it. */
enum vt_status vt_contender_prepare(struct vt_contender *contender, int64_t turn_ns,
                                    struct vt_error *err) VT_NODISCARD;

/* What is drawn anew before a turn. */
enum vt_status vt_contender_renew(struct vt_contender *contender, enum vt_compared_turn turn,
                                  struct vt_error *err) VT_NODISCARD;
/*
 * One turn. *ret_value is samples/s in Offline, the median latency in ns in SingleStream, *ret_p90
 * that percentile in SingleStream, else 0. VT_ERR_ENGINE when a sample failed, VT_ERR_INTERRUPTED.
 */
enum vt_status vt_contender_turn(struct vt_contender *contender, enum vt_compared_turn turn,
                                 int64_t turn_ns, struct vt_load_control *control,
                                 struct vt_error *err, double *ret_value,
                                 double *ret_p90) VT_NODISCARD;
void vt_contender_close(struct vt_contender *contender); /* accepts a zeroed one */

#endif
