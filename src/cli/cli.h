/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: one file a verb, which parses its arguments and prints. A verb returns the
 * exit code of the program.
 */
#ifndef VT_CLI_CLI_H
#define VT_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/options.h"
#include "vatio/status.h"

struct vt_verb {
    const char *name;
    const char *usage;   /* "MODEL [options]" */
    const char *summary; /* one sentence */
    const char *text;    /* more, for --help and the manual; may be NULL */
    const struct vt_option_table *(*options)(void); /* NULL: none */
    /* argv[0] is the verb. */
    int (*run)(int argc, const char *const *argv);
};

/* The table of verbs. Static storage. */
const struct vt_verb *vt_verbs(size_t *ret_n);
const struct vt_verb *vt_verb_find(const char *name);

int vt_verb_run(int argc, const char *const *argv);
int vt_verb_audit(int argc, const char *const *argv);
int vt_verb_compare(int argc, const char *const *argv);
int vt_verb_sweep(int argc, const char *const *argv);
int vt_verb_quantize(int argc, const char *const *argv);
int vt_verb_profile(int argc, const char *const *argv);
int vt_verb_report(int argc, const char *const *argv);
int vt_verb_job(int argc, const char *const *argv);
int vt_verb_list(int argc, const char *const *argv);
int vt_verb_caps(int argc, const char *const *argv);
int vt_verb_meters(int argc, const char *const *argv);
int vt_verb_inspect(int argc, const char *const *argv);
int vt_verb_zoo(int argc, const char *const *argv);
int vt_verb_plan(int argc, const char *const *argv);
int vt_verb_dump(int argc, const char *const *argv);
int vt_verb_manual(int argc, const char *const *argv);
int vt_verb_completion(int argc, const char *const *argv);

const struct vt_option_table *vt_inspect_options(void);
const struct vt_option_table *vt_zoo_options(void);

/* Prints "vatio: text" on standard error and returns the exit code of the error. */
int vt_cli_fail(const struct vt_error *err);
/* A usage error in printf's words; returns 2. */
int vt_cli_usage(const char *fmt, ...) VT_PRINTF(1, 2);
/*
 * A verb about one model: parses the arguments by the table into `job`, and calls `run` with the
 * model. `usage` says what is missing where there is not exactly one. Returns the exit code.
 */
int vt_cli_on_model(const struct vt_option_table *table, void *job, int argc,
                    const char *const *argv, const char *usage,
                    int (*run)(const struct vt_options *options, const char *model));
/* The width of the terminal behind `stream`, else of COLUMNS, else 100. */
int vt_cli_columns(FILE *stream);
void vt_cli_print_verb_help(const struct vt_verb *verb, FILE *out);
/* Whether --help or -h stands among the arguments, before any "--". */
bool vt_cli_wants_help(int argc, const char *const *argv);

#endif
