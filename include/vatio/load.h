/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load: the seams between the load generator, the system under test and the sample library.
 *
 * A sample is one input of the data set, known by its index. A query is one or more samples that
 * are issued together. Every issued sample has an id of its own, unique in the process's life; its
 * completion names that id.
 *
 * The caller fills a `struct vt_sut` (what takes queries) and a `struct vt_qsl` (what brings
 * samples into memory); load calls them and hands the sut a `struct vt_completion_sink` to report
 * to.
 *
 * Times are the monotonic clock (CLOCK_MONOTONIC) in signed 64-bit nanoseconds.
 */
#ifndef VATIO_LOAD_H
#define VATIO_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VT_LOAD_API_VERSION 1

enum vt_scenario {
    VT_OFFLINE,
    VT_SERVER,
    VT_SINGLESTREAM,
    VT_MULTISTREAM,
    VT_SCENARIO_COUNT,
};

/* LoadGen's test modes. The first two are also the phases of which the others are made. */
enum vt_mode {
    VT_PERFORMANCE, /* PerformanceOnly */
    VT_ACCURACY,    /* AccuracyOnly */
    VT_SUBMISSION,  /* SubmissionRun: accuracy, then performance, in one test */
    VT_FIND_PEAK,   /* FindPeakPerformance: Server at rising rates, then bisected */
    VT_MODE_COUNT,
};

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
    int64_t n_tokens;      /* in the response, where the run counts tokens; else ignored */
};

/* Where a sut reports results. Provided by load; valid from start() to start(NULL). */
struct vt_completion_sink {
    /*
     * Any thread, several at once, also from inside issue(). Never blocks for long, copies what it
     * keeps. The completion time is taken at entry, once for all n.
     */
    void (*complete)(void *ctx, const struct vt_completion *completions, size_t n);
    /*
     * The first token of samples that are still running, before their completion; `response` is
     * that token. Ignored where the run does not count tokens. Threads and time as above.
     */
    void (*first_token)(void *ctx, const struct vt_completion *firsts, size_t n);
    void *ctx;
};

/* The system under test, as load sees it. All slots are required. */
struct vt_sut {
    uint32_t api_version; /* VT_LOAD_API_VERSION */
    uint32_t struct_size; /* sizeof(struct vt_sut) */
    /* For logs: owned by the sut, constant. */
    const char *(*name)(void *ctx);
    /*
     * Called before a run, and after it with sink = NULL (then no further completion may be
     * reported). `scenario` lets the sut choose how it works. The thread that runs the load.
     */
    enum vt_status (*start)(void *ctx, const struct vt_completion_sink *sink,
                            enum vt_scenario scenario, struct vt_error *err);
    /*
     * Takes samples: one query, a part of an Offline query, or several Server queries that were
     * due together (coalesced). The array is borrowed for the call. Called from the issuing
     * threads, from several at once where the run has several; in SingleStream and MultiStream it
     * may compute in place, in Server and Offline it must not wait for results. A failure ends the
     * run.
     */
    enum vt_status (*issue)(void *ctx, const struct vt_query_sample *samples, size_t n,
                            struct vt_error *err);
    /* No more queries come: work on what is waiting for company in a batch. Once a phase, when all
     * issuing threads are done. */
    void (*flush)(void *ctx);
    /* Drop what is queued; what is running may still complete. Any thread; must not block. */
    void (*abort)(void *ctx);
    void *ctx;
};

/* The sample library, as load sees it. All slots are required. */
struct vt_qsl {
    uint32_t api_version;       /* VT_LOAD_API_VERSION */
    uint32_t struct_size;       /* sizeof(struct vt_qsl) */
    uint64_t total_count;       /* samples in the data set; at least 1 */
    uint64_t performance_count; /* samples that fit into memory; 1..total_count */
    const char *(*name)(void *ctx);
    /* Brings samples into memory, untimed. The thread that runs the load; may block. */
    enum vt_status (*load)(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err);
    void (*unload)(void *ctx, const uint64_t *indices, size_t n);
    void *ctx;
};

#ifdef __cplusplus
}
#endif
#endif
