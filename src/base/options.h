/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of options, many uses.
 *
 * A `struct vt_option` says everything about an option once: command line, --help, job file, JSON
 * echo, manual page and shell completion are all generated from it. Values land in a plain
 * struct of the caller's, at `offset`.
 *
 *   type       C type at `offset`       accepted
 *   FLAG       bool                     --name, --no-name; in a file yes/no/true/false/1/0
 *   INT        int64_t                  decimal, with `minimum` and `maximum`
 *   REAL       double                   finite, likewise; or one of `choices`, words that stand for
 * 0 DURATION   int64_t (ns)             500ms, 10s, 2m, 1h, 10us, 5ns; bare numbers are seconds
 *   SIZE       int64_t (bytes)          4096, 4KiB, 4MiB, 1GiB, 4k (1024 each), 4MB (1000 each)
 *   TEXT       const char *             anything; borrowed from the argument vector or the file
 *   CHOICE     int (index in choices)   one of `choices`
 *   LIST       struct vt_text_list      may be given again; every value is kept in order, the first
 *                                       one replaces the default
 *
 * The parser never prints: errors say which option, the value, the allowed range, and for an
 * unknown option the nearest known one.
 */
#ifndef VT_BASE_OPTIONS_H
#define VT_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vatio/status.h"

enum vt_option_type {
    VT_OPTION_FLAG,
    VT_OPTION_INT,
    VT_OPTION_REAL,
    VT_OPTION_DURATION,
    VT_OPTION_SIZE,
    VT_OPTION_TEXT,
    VT_OPTION_CHOICE,
    VT_OPTION_LIST,
};

struct vt_text_list {
    const char **items; /* each borrowed like a TEXT value */
    size_t count;
};

struct vt_option {
    const char *name; /* "max-latency"; the key of a job file, with underscores in JSON */
    char letter;      /* 'o' for -o; 0: none */
    enum vt_option_type type;
    size_t offset;              /* in the caller's struct */
    const char *category;       /* heading in --help and the manual */
    const char *argument;       /* "DIR", "T"; NULL for a flag */
    double minimum;             /* INT, REAL, DURATION (ns), SIZE (bytes) */
    double maximum;             /* used when minimum <= maximum and either is not 0 */
    const char *const *choices; /* CHOICE; REAL: words besides numbers; NULL-terminated */
    const char *default_text;   /* parsed like an argument; NULL: zero */
    const char *help;           /* one sentence without a full stop */
    /* LIST: a value holds settings, KEY=VALUE the whole of it or E:KEY=VALUE,KEY=VALUE, as
     * `argument` says; what is set may be a secret (vt_option_shown). */
    bool holds_settings;
};

struct vt_option_table {
    const struct vt_option *options;
    size_t n_options;
    size_t values_size; /* sizeof the caller's struct */
};

/* A parsed command line: values and what is left over. Owned by the caller; release it. */
struct vt_options {
    const struct vt_option_table *table;
    void *values; /* the caller's struct, borrowed */
    bool *given;  /* by index in the table: named by the user */
    const char **positional;
    size_t n_positional;
    char **owned; /* strings read from job files */
    size_t n_owned;
};

/* Zeroes `values` and fills in the defaults (a default that does not parse is VT_ERR_USAGE). */
VT_API enum vt_status vt_options_init(struct vt_options *options,
                                      const struct vt_option_table *table, void *values,
                                      struct vt_error *err) VT_NODISCARD;
VT_API void vt_options_release(struct vt_options *options); /* accepts a zeroed one */

/*
 * Parses --name VALUE, --name=VALUE, -oVALUE, -o VALUE, --flag, --no-flag; "--" ends the options,
 * "-" is positional. argv[0], the program or the verb, is passed over. Errors are VT_ERR_USAGE.
 */
VT_API enum vt_status vt_options_parse(struct vt_options *options, int argc,
                                       const char *const *argv, struct vt_error *err) VT_NODISCARD;
/* Sets one option from text, as a job file line does: key is the name. */
VT_API enum vt_status vt_options_set(struct vt_options *options, const char *name,
                                     const char *value, struct vt_error *err) VT_NODISCARD;
/* Whether the user named it (a default did not). */
VT_API bool vt_options_given(const struct vt_options *options, const char *name);

/*
 * One section of an INI job file into the options: keys are option names. `section` NULL takes
 * the keys before the first section only; those and a [global] section apply to every section,
 * whose own keys override them. Errors say path:line; a section that does not stand in the file is
 * VT_ERR_NOT_FOUND. The file may hold at most 1 MiB, a line some 200 bytes (the limit is inih's).
 */
VT_API enum vt_status vt_options_parse_job(struct vt_options *options, const char *path,
                                           const char *section, struct vt_error *err) VT_NODISCARD;
/* The same from memory; `name` stands in messages. The fuzzing entry. */
VT_API enum vt_status vt_options_parse_job_text(struct vt_options *options, const char *name,
                                                const char *text, size_t size, const char *section,
                                                struct vt_error *err) VT_NODISCARD;

/* The names of a job file's sections in the order of the file, each once, without [global]. */
struct vt_job_sections {
    char **names;
    size_t count;
};
/* Errors as above. On success the caller releases the list. */
VT_API enum vt_status vt_job_sections_read(struct vt_job_sections *sections, const char *path,
                                           struct vt_error *err) VT_NODISCARD;
VT_API void vt_job_sections_release(struct vt_job_sections *sections); /* accepts a zeroed one */

/* The value as text that parses back to it (a LIST: its items with ", " between, for people), in
 * `text` (cut at size - 1). Returns text. */
VT_API char *vt_option_value_text(const struct vt_options *options, size_t index, char *text,
                                  size_t size);

/* Stands in the place of a secret. */
#define VT_HIDDEN "(hidden)"
/* One value of an option that holds settings as it may be shown and kept in results: VT_HIDDEN
 * stands where the key speaks of a header, token, key, password, secret or credential. Other
 * options' values come back as they are. In fresh memory (vt_free); NULL when out of memory. */
VT_API char *vt_option_shown(const struct vt_option *option, const char *text);

/* The options part of --help, wrapped to `columns`. */
VT_API void vt_options_print_help(const struct vt_option_table *table, FILE *out, int columns);
/* The same as roff, for a manual page. */
VT_API void vt_options_print_man(const struct vt_option_table *table, FILE *out);

/* Parsers of single values, for other places that read the same notation. */
VT_API enum vt_status vt_parse_int(const char *text, int64_t *ret,
                                   struct vt_error *err) VT_NODISCARD;
VT_API enum vt_status vt_parse_real(const char *text, double *ret,
                                    struct vt_error *err) VT_NODISCARD;
VT_API enum vt_status vt_parse_duration(const char *text, int64_t *ret_ns,
                                        struct vt_error *err) VT_NODISCARD;
VT_API enum vt_status vt_parse_size(const char *text, int64_t *ret_bytes,
                                    struct vt_error *err) VT_NODISCARD;
VT_API enum vt_status vt_parse_flag(const char *text, bool *ret, struct vt_error *err) VT_NODISCARD;
/* "10s", "4KiB", "0.25": texts that parse back. */
VT_API void vt_format_duration(int64_t ns, char *text, size_t size);
VT_API void vt_format_size(int64_t bytes, char *text, size_t size);
VT_API void vt_format_real(double value, char *text, size_t size);
/* The nearest of n names by edit distance, NULL when none is near. */
VT_API const char *vt_nearest_name(const char *name, const char *const *names, size_t n);

#endif
