/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vatio engine with its data as a system under test, for any load generator.
 *
 * vatio's own load generator takes it as it is, through vt_system_sut and vt_system_qsl
 * (vatio/load.h). A foreign one, MLPerf's LoadGen among them, is joined by the plain functions:
 *
 *     vt_system_open → vt_system_load → vt_system_start → vt_system_issue …, vt_system_flush
 *                    → vt_system_stop → vt_system_unload → vt_system_close
 *
 * examples/official_loadgen.py does that from Python.
 *
 * Ids are the generator's: any 64-bit number, unique among the samples that are outstanding. A
 * sample is completed once, with a response as short as its task's: an int32 class for
 * image-classification.
 *
 * Threading: open, close, load, unload, start, stop and score by one thread at a time. issue,
 * flush and abort from any thread between start and stop, several at once. Completions come from
 * the threads of the system, several at once; in SingleStream and MultiStream on one lane from the
 * issuing thread, inside vt_system_issue.
 */
#ifndef VATIO_SYSTEM_H
#define VATIO_SYSTEM_H

#include "load.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vt_system;

/* An option as `vatio run` has it, without the dashes: {"batch", "8"}. */
struct vt_system_option {
    const char *name;
    const char *value; /* "true" or "false" for a flag */
};

/*
 * Opens model, engine and data set, and warms every lane up, which chooses the batch where none is
 * given. "model" is needed: a built-in name or a path. The other options are those of `vatio run`
 * that concern model, engine and data, and "timeout"; one that may be given again ("shape",
 * "engine-option") stands there again. Copied. May take long.
 *
 * VT_ERR_USAGE for an option that is unknown, wrong, or without use for a system; otherwise what
 * model, engine or data say: VT_ERR_NOT_FOUND, VT_ERR_FORMAT, VT_ERR_UNSUPPORTED, VT_ERR_MEMORY …
 */
VT_API enum vt_status vt_system_open(const struct vt_system_option *options, size_t n_options,
                                     struct vt_error *err,
                                     struct vt_system **ret_system) VT_NODISCARD;
/* Accepts NULL; stops first if need be. */
VT_API void vt_system_close(struct vt_system *system);

/* "vatio native"; owned by the system, constant. */
VT_API const char *vt_system_name(const struct vt_system *system);
/* One line on what it runs on and what data it has, for a log: engine, precision, threads, batch,
 * data set. Likewise. */
VT_API const char *vt_system_description(const struct vt_system *system);
/* Samples in the data set, and how many of them fit into memory at once. */
VT_API uint64_t vt_system_total_count(const struct vt_system *system);
VT_API uint64_t vt_system_performance_count(const struct vt_system *system);

/*
 * Brings samples into memory, ready to be run; unload drops them. May block. An index may be loaded
 * several times and is dropped when it was unloaded as often. VT_ERR_USAGE for an index that does
 * not exist, VT_ERR_READ and the like for data that cannot be had.
 */
VT_API enum vt_status vt_system_load(struct vt_system *system, const uint64_t *indices, size_t n,
                                     struct vt_error *err) VT_NODISCARD;
/* Ignores what is not loaded. */
VT_API void vt_system_unload(struct vt_system *system, const uint64_t *indices, size_t n);

/*
 * Takes samples from now on, and works as the scenario asks for: Offline fills batches, Server
 * weighs waiting against them. `sink` is copied; its complete gets results, n of them at once,
 * borrowed for the call, and must neither block for long nor call start, stop or close. first_token
 * may be NULL: then first tokens are dropped. VT_ERR_USAGE when it is started already.
 */
VT_API enum vt_status vt_system_start(struct vt_system *system, enum vt_scenario scenario,
                                      const struct vt_completion_sink *sink,
                                      struct vt_error *err) VT_NODISCARD;
/* Drops what waits, waits for what runs; when it returns, no completion can come. */
VT_API enum vt_status vt_system_stop(struct vt_system *system, struct vt_error *err) VT_NODISCARD;

/*
 * Hands over n samples: sample i is indices[i], to be completed as ids[i]. The arrays are borrowed
 * for the call. Returns at once in Offline and Server; see above for the others. VT_ERR_USAGE,
 * and nothing is taken, before start and for a sample that is not loaded; VT_ERR_MEMORY.
 */
VT_API enum vt_status vt_system_issue(struct vt_system *system, const uint64_t *ids,
                                      const uint64_t *indices, size_t n,
                                      struct vt_error *err) VT_NODISCARD;
/* No more samples come for now: work on what is waiting for company in a batch. */
VT_API void vt_system_flush(struct vt_system *system);
/* Drop what waits: those samples are never completed. What runs may still complete. */
VT_API void vt_system_abort(struct vt_system *system);

/* The same system as the two seams of vatio's load generator; owned by the system. Not between
 * vt_system_start and vt_system_stop. */
VT_API const struct vt_sut *vt_system_sut(struct vt_system *system);
VT_API const struct vt_qsl *vt_system_qsl(struct vt_system *system);

/* What the task says of responses: "top-1", "%", 98.3. */
struct vt_system_quality {
    uint32_t struct_size; /* sizeof(struct vt_system_quality), set by the caller */
    bool has_target;
    bool pass; /* true without a target */
    char metric[32];
    char unit[16];
    double value;
    double target;
    uint64_t count;   /* samples scored */
    char detail[400]; /* "on 360 held-out images", or why it does not pass */
};
/*
 * Scores the responses of an accuracy run, one an index. VT_ERR_UNSUPPORTED when the data have
 * nothing to compare with; VT_ERR_USAGE, VT_ERR_FORMAT.
 */
VT_API enum vt_status vt_system_score(struct vt_system *system,
                                      const struct vt_load_answer *answers, size_t n,
                                      struct vt_error *err,
                                      struct vt_system_quality *ret_quality) VT_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
