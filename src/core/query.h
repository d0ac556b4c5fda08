/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nouns of load: samples, queries, completions, and the two seams that load sees: the system
 * under test (sut), which takes queries, and the sample library (qsl), which brings samples into
 * memory.
 *
 * A sample is one input of the data set, known by its index. A query is one or more samples that
 * are issued together. Every issued sample has an id of its own, unique in the process's life;
 * its completion names that id.
 */
#ifndef VT_CORE_QUERY_H
#define VT_CORE_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

enum vt_scenario {
    VT_OFFLINE,
    VT_SERVER,
    VT_SINGLESTREAM,
    VT_MULTISTREAM,
    VT_SCENARIO_COUNT,
};

enum vt_mode {
    VT_PERFORMANCE,
    VT_ACCURACY,
    VT_MODE_COUNT,
};

/* "Offline", as MLPerf and people write it; static storage. */
const char *vt_scenario_name(enum vt_scenario scenario);
/* "offline", as options and folders spell it. */
const char *vt_scenario_key(enum vt_scenario scenario);
/* "performance", "accuracy". */
const char *vt_mode_key(enum vt_mode mode);

struct vt_query_sample {
    uint64_t id;    /* comes back in the completion */
    uint64_t index; /* in the data set */
};

struct vt_completion {
    uint64_t id;
    const void *response; /* borrowed for the call; NULL when empty */
    size_t response_bytes;
    enum vt_status status; /* VT_OK, or why the sample has no result */
    const char *text;      /* with a failure, what happened; borrowed for the call; may be NULL */
};

/* Where a sut reports results. Provided by load. */
struct vt_completion_sink {
    /*
     * Any thread, several at once, also from inside issue(). Never blocks for long, copies what it
     * keeps. The completion time is taken at entry, once for all n.
     */
    void (*complete)(void *ctx, const struct vt_completion *completions, size_t n);
    void *ctx;
};

/* The system under test, as load sees it. All slots are required. */
struct vt_sut {
    /* For logs: owned by the sut, constant. */
    const char *(*name)(void *ctx);
    /*
     * Called before a run, and after it with sink = NULL (then no further completion may be
     * reported). `scenario` lets the sut choose how it works. Load's main thread.
     */
    enum vt_status (*start)(void *ctx, const struct vt_completion_sink *sink,
                            enum vt_scenario scenario, struct vt_error *err);
    /*
     * Takes a query. The array is borrowed for the call. One Offline query may come as many
     * calls. Called from the issuing threads; in SingleStream and MultiStream it may compute in
     * place, in Server and Offline it must not wait for results. A failure ends the run.
     */
    enum vt_status (*issue)(void *ctx, const struct vt_query_sample *samples, size_t n,
                            struct vt_error *err);
    /* No more queries come: work on what is waiting for company in a batch. Issuing thread. */
    void (*flush)(void *ctx);
    /* Drop what is queued; what is running may still complete. Any thread; must not block. */
    void (*abort)(void *ctx);
    void *ctx;
};

/* The sample library, as load sees it. All slots are required. */
struct vt_qsl {
    const char *(*name)(void *ctx);
    uint64_t total_count;       /* samples in the data set; at least 1 */
    uint64_t performance_count; /* samples that fit into memory; 1..total_count */
    /* Brings samples into memory, untimed. Load's main thread; may block. */
    enum vt_status (*load)(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err);
    void (*unload)(void *ctx, const uint64_t *indices, size_t n);
    void *ctx;
};

#endif
