/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manual page and the shell completion of a program with verbs, written from the same tables
 * that parse its command line.
 */
#ifndef VT_BASE_MANUAL_H
#define VT_BASE_MANUAL_H

#include "base/options.h"

struct vt_manual_verb {
    const char *name;                    /* "run" */
    const char *usage;                   /* "MODEL [options]"; may be empty */
    const char *summary;                 /* one sentence without a full stop */
    const char *text;                    /* more; NULL: nothing */
    const struct vt_option_table *table; /* NULL: no options */
};

/* A term and what it means: an exit code, a file, a variable of the environment. */
struct vt_manual_entry {
    const char *term;
    const char *text;
};

struct vt_manual {
    const char *program; /* "vatio" */
    const char *version;
    const char *summary;     /* behind the dash of NAME */
    const char *description; /* paragraphs with an empty line between */
    const struct vt_manual_verb *verbs;
    size_t n_verbs;
    const struct vt_manual_entry *exit_codes;
    size_t n_exit_codes;
    const struct vt_manual_entry *environment;
    size_t n_environment;
};

/* The whole page as roff (man macros), section 1. */
VT_API void vt_manual_print(const struct vt_manual *manual, FILE *out);
/* Completion for bash: verbs, options, choices, files elsewhere. */
VT_API void vt_manual_print_completion(const struct vt_manual *manual, FILE *out);

#endif
