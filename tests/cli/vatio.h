/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program as a user does and keeps what it said. */
#ifndef VT_TEST_CLI_VATIO_H
#define VT_TEST_CLI_VATIO_H

#include <jansson.h>

struct outcome {
    int code; /* exit code; -1 when a signal or the time-out ended it */
    char *out;
    char *err;
};

/* A folder of this test's own, removed by remove_work_folder(). */
extern char work_folder[64];
int make_work_folder(void **state);
int remove_work_folder(void **state);
/* "<work_folder>/name" in static storage. */
const char *work_path(const char *name);
void write_work_file(const char *name, const void *bytes, size_t size);

/* The arguments end with NULL. The program gets 60 s and the work folder as its current one. */
struct outcome vatio(const char *first, ...);
/* The same, bound by file permissions also where the test runs as root. */
struct outcome vatio_unprivileged(const char *first, ...);
/* With standard output on `path`, a device such as /dev/full. */
struct outcome vatio_to(const char *path, const char *first, ...);
/* Sends SIGINT after `after_ms`. */
struct outcome vatio_interrupted(int after_ms, const char *first, ...);
/* Every file ends at so many bytes, as on a full disk. */
struct outcome vatio_on_full_disk(unsigned bytes, const char *first, ...);
void outcome_free(struct outcome *outcome);

/* One clear line on standard error that holds `text`, and this exit code. */
void assert_one_error(struct outcome outcome, int code, const char *text);

/* The JSON document of a run with --json; the caller decrefs it. */
json_t *run_json(struct outcome *outcome);
/* results[] entry of that scenario and mode; borrowed. */
json_t *result_of(json_t *root, const char *scenario, const char *mode);

#endif
