/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load: the load generator as a C library, and the seams between it, the system under test and the
 * sample library.
 *
 * A sample is one input of the data set, known by its index. A query is one or more samples that
 * are issued together. Every issued sample has an id of its own, unique in the process's life; its
 * completion names that id.
 *
 * The caller fills a `struct vt_sut` (what takes queries) and a `struct vt_qsl` (what brings
 * samples into memory); load calls them and hands the sut a `struct vt_completion_sink` to report
 * to. A `struct vt_load_test` holds the settings of a test and runs it; a `struct vt_load_result`
 * says what came of it:
 *
 *     vt_load_test_new → _use_round, _read_conf, _set, _set_logs → _run → vt_load_result_… → _free
 *
 * docs/api.md is the guide, examples/load.c a complete program.
 *
 * Failures are statuses (vatio/status.h); a `struct vt_error *` may be NULL everywhere. Functions
 * named _free accept NULL. Nothing here prints, except the log files that a caller wants copied to
 * standard output.
 *
 * Times are the monotonic clock (CLOCK_MONOTONIC) in signed 64-bit nanoseconds.
 */
#ifndef VATIO_LOAD_H
#define VATIO_LOAD_H

#include <stdbool.h>
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

/* --- a test ------------------------------------------------------------------------------------
 *
 * Threading: a test is used by one thread at a time, except vt_load_test_abort and
 * vt_load_test_progress: any thread, also while a run is on. While it is, whatever would change the
 * test is refused with VT_ERR_USAGE. Different tests may be run at once from different threads if
 * each has a sut of its own.
 */

struct vt_load_test;
struct vt_load_result;

/* Settings at MLPerf LoadGen's defaults, no log files. VT_ERR_MEMORY. */
VT_API enum vt_status vt_load_test_new(struct vt_error *err,
                                       struct vt_load_test **ret_test) VT_NODISCARD;
/* Not while a run is on. Results live on without their test. */
VT_API void vt_load_test_free(struct vt_load_test *test);

/*
 * The settings: the fields of MLPerf's TestSettings under their own names, with their units
 * ("min_duration_ms", "server_target_qps"), and what is vatio's own ("completion_timeout").
 * Index i counts from 0; NULL beyond the last. Static storage.
 */
VT_API const char *vt_load_setting_name(size_t i);
/* Half a line that says what a setting does; NULL when there is none of the name. */
VT_API const char *vt_load_setting_help(const char *name);

/*
 * Sets one from text, as MLPerf's files write it: numbers, true and false, "Server",
 * "PerformanceOnly"; vatio's own times and sizes have a unit, "10s", "1GiB". `value` is copied.
 * VT_ERR_USAGE names the setting, the value and the allowed range, for an unknown name the nearest
 * one. The scenario is set first: afterwards, when a round or a file was applied by it,
 * VT_ERR_USAGE.
 */
VT_API enum vt_status vt_load_test_set(struct vt_load_test *test, const char *name,
                                       const char *value, struct vt_error *err) VT_NODISCARD;
/* The value as text that could be set, cut at room - 1 bytes. VT_ERR_USAGE for an unknown name. */
VT_API enum vt_status vt_load_test_get(const struct vt_load_test *test, const char *name,
                                       struct vt_error *err, char *ret_text,
                                       size_t room) VT_NODISCARD;
/*
 * Server at recorded times instead of Poisson arrivals, outside the rules: `n` times in ns, from 0,
 * ascending, copied; the run ends with them. n = 0: Poisson again. VT_ERR_USAGE for times out of
 * order, VT_ERR_MEMORY.
 */
VT_API enum vt_status vt_load_test_set_arrivals(struct vt_load_test *test, const int64_t *times_ns,
                                                size_t n, struct vt_error *err) VT_NODISCARD;
/* Pins issuing thread i to cpus[i % n], copied; n = 0: not pinned. VT_ERR_USAGE below 0,
 * VT_ERR_MEMORY. */
VT_API enum vt_status vt_load_test_set_cpus(struct vt_load_test *test, const int32_t *cpus,
                                            size_t n, struct vt_error *err) VT_NODISCARD;

/*
 * The values that mlperf.conf of a round ("v6.1"; NULL: the latest) has for a model ("resnet50";
 * NULL or "": those for all models) and the scenario that is set. VT_ERR_USAGE lists the rounds,
 * or says that the round has no such model.
 */
VT_API enum vt_status vt_load_test_use_round(struct vt_load_test *test, const char *round,
                                             const char *model, struct vt_error *err) VT_NODISCARD;

/* MLPerf's configuration files: who may set what (docs/api.md). */
enum vt_load_conf {
    VT_LOAD_CONF_MLPERF, /* mlperf.conf */
    VT_LOAD_CONF_USER,   /* user.conf */
    VT_LOAD_CONF_AUDIT,  /* audit.config of a compliance test */
};
/*
 * Applies a file for the model ("", "*" or NULL: none) and the scenario that is set. Later calls
 * win. Lines without effect become warnings. VT_ERR_NOT_FOUND, VT_ERR_READ, VT_ERR_FORMAT with
 * file:line and the reason; then nothing of the file is applied.
 */
VT_API enum vt_status vt_load_test_read_conf(struct vt_load_test *test, enum vt_load_conf kind,
                                             const char *path, const char *model,
                                             struct vt_error *err) VT_NODISCARD;
/* Warning i of all files read so far, "user.conf:3: …"; NULL beyond the last. Borrowed until the
 * next read_conf or free. */
VT_API const char *vt_load_test_warning(const struct vt_load_test *test, size_t i);

/* MLPerf's log files. The texts are copied. */
struct vt_load_logs {
    uint32_t api_version; /* VT_LOAD_API_VERSION */
    uint32_t struct_size; /* sizeof(struct vt_load_logs) */
    const char *folder;   /* exists; NULL: the current one */
    const char *prefix;   /* NULL: "mlperf_log_" */
    const char *suffix;   /* before the extension; NULL: none */
    bool prefix_with_datetime;
    bool copy_summary_to_stdout;
    bool copy_detail_to_stdout;
    bool trace; /* also mlperf_log_trace.json: Chrome trace events of every sample */
};
/* NULL: no files. VT_ERR_USAGE for a wrong version or size, VT_ERR_MEMORY. */
VT_API enum vt_status vt_load_test_set_logs(struct vt_load_test *test,
                                            const struct vt_load_logs *logs,
                                            struct vt_error *err) VT_NODISCARD;

/*
 * Runs the test: the phases of its mode, then the log files. Blocks. VT_OK means that there is a
 * result, valid or not: lost, doubled or invented samples, a reached limit and an abort are in it.
 * The result is the caller's: vt_load_result_free. A test may be run again.
 *
 * `sut` and `qsl` are borrowed for the call. VT_ERR_USAGE for what they lack, for settings that
 * contradict each other or the library, and while this test runs already; VT_ERR_MEMORY;
 * VT_ERR_WRITE when a log file cannot be written: one that cannot be opened is noticed before
 * anything is measured; later *ret_result is set all the same, so start from NULL; and whatever
 * qsl->load, sut->start or sut->issue returned.
 */
VT_API enum vt_status vt_load_test_run(struct vt_load_test *test, const struct vt_sut *sut,
                                       const struct vt_qsl *qsl, struct vt_error *err,
                                       struct vt_load_result **ret_result) VT_NODISCARD;
/*
 * Ends the run early: no further query is issued, what is outstanding is not waited for, sut->abort
 * is called, and vt_load_test_run returns a result that is marked interrupted. It takes effect
 * within some 100 ms; making the result of a Server test that had millions of queries to come may
 * take up to some seconds more. A call into the sut that never returns cannot be ended. Without a
 * run, the next one ends at once. Any thread, also a signal handler; accepts NULL.
 */
VT_API void vt_load_test_abort(struct vt_load_test *test);
/*
 * How far the run is, for a display: samples issued and completed in the phase that is on, and
 * ns since its first issue (0 before). Each may be NULL. Keeps the last phase's counts afterwards.
 */
VT_API void vt_load_test_progress(const struct vt_load_test *test, uint64_t *ret_issued,
                                  uint64_t *ret_completed, int64_t *ret_elapsed_ns);

/* --- a result ----------------------------------------------------------------------------------
 *
 * Constant once made: any thread, several at once. What is borrowed lives as long as the result.
 * A result of SubmissionRun has two phases. The functions below speak of the performance phase
 * where there is one, else of the accuracy phase; vt_load_result_phase gives either.
 */

VT_API void vt_load_result_free(struct vt_load_result *result); /* not one that _phase gave */
/* One phase, VT_PERFORMANCE or VT_ACCURACY, as a result; NULL when the test had none. Borrowed. */
VT_API const struct vt_load_result *vt_load_result_phase(const struct vt_load_result *result,
                                                         enum vt_mode phase);
/* The verdict, of all phases, and why not: one sentence each, NULL beyond the last. */
VT_API bool vt_load_result_valid(const struct vt_load_result *result);
VT_API const char *vt_load_result_reason(const struct vt_load_result *result, size_t i);
/* The first failed, lost, doubled or invented sample, with its id; NULL when there was none. */
VT_API const char *vt_load_result_failure(const struct vt_load_result *result);
/*
 * The scenario's headline: "samples_per_second" in "samples/s", … Returns its name; NULL, and
 * writes nothing, when the run has none. The outputs may be NULL.
 */
VT_API const char *vt_load_result_metric(const struct vt_load_result *result, double *ret_value,
                                         const char **ret_unit);
/*
 * Everything else that is a number, by name with its unit: "latency_p99_ns", "samples_lost",
 * "early_stopping_met" (0 or 1); docs/api.md lists them, and vt_load_result_key counts them up
 * (NULL beyond the last). Whole numbers are exact below 2^53. VT_ERR_USAGE for an unknown key.
 */
VT_API const char *vt_load_result_key(size_t i);
VT_API enum vt_status vt_load_result_number(const struct vt_load_result *result, const char *key,
                                            struct vt_error *err, double *ret_value) VT_NODISCARD;
/* An error or a warning that the run met on its way, in order; NULL beyond the last. `ret_is_error`
 * and `ret_at_ns`, since the start, may be NULL. */
VT_API const char *vt_load_result_note(const struct vt_load_result *result, size_t i,
                                       bool *ret_is_error, int64_t *ret_at_ns);

/* A sample that was never completed, or whose first token was never reported. */
#define VT_LOAD_NEVER INT64_MIN

struct vt_load_record {
    uint64_t query;       /* queries count from 0 */
    uint64_t index;       /* in the data set */
    int64_t scheduled_ns; /* these four since the start of the phase */
    int64_t issued_ns;
    int64_t done_ns;        /* VT_LOAD_NEVER */
    int64_t first_token_ns; /* VT_LOAD_NEVER also where the run counts no tokens */
    int64_t n_tokens;
};
/* How many records there are: one a sample, in order of issue. */
VT_API uint64_t vt_load_result_records(const struct vt_load_result *result);
/* Copies records first … first + n - 1. VT_ERR_USAGE when they do not all exist. */
VT_API enum vt_status vt_load_result_copy(const struct vt_load_result *result, uint64_t first,
                                          size_t n, struct vt_error *err,
                                          struct vt_load_record *ret_records) VT_NODISCARD;

/* A response that was kept: in an accuracy phase all, else those that accuracy_log_… sampled. */
struct vt_load_answer {
    uint64_t sequence; /* of the sample in the test, from 0 */
    uint64_t index;    /* in the data set */
    const void *data;  /* borrowed from the result */
    size_t bytes;
};
VT_API uint64_t vt_load_result_answers(const struct vt_load_result *result);
/* Answer i in order of completion. VT_ERR_USAGE when there is none. */
VT_API enum vt_status vt_load_result_answer(const struct vt_load_result *result, uint64_t i,
                                            struct vt_error *err,
                                            struct vt_load_answer *ret_answer) VT_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
