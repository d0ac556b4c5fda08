/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caps as results have them: what a run had set, and what `vatio caps` found.
 *
 * Threading: a report belongs to one thread at a time; printing is stateless.
 */
#ifndef VT_RESULT_CAPS_H
#define VT_RESULT_CAPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "vatio/status.h"

struct vt_result;

/* One domain that was capped during a run. NAN: not known. */
struct vt_result_cap {
    const char *kind, *unit; /* static */
    char domain[48], device[80];
    double asked, enforced, previous;
    bool restored;  /* what was there before is back, and was read back */
    char note[256]; /* what to know: "" */
};

/* The caps of a run as result.json has them; NULL when out of memory. */
json_t *vt_json_caps(const struct vt_result *result);
/* The part of the table that they are, a line a setting; nothing without any. */
void vt_result_print_caps(const struct vt_result *result, FILE *out, int columns);

/* What can be capped. NAN: not known. */
struct vt_caps_row {
    char domain[48], device[80], note[160];
    double value, minimum, maximum, standard;
    char why[256]; /* when it cannot be read */
};

struct vt_caps_entry {
    const char *name, *summary, *unit;
    bool available;
    char why[VT_ERROR_TEXT_MAX];    /* when not: the reason and the remedy */
    char locked[VT_ERROR_TEXT_MAX]; /* what this user lacks to set it; "" */
    struct vt_caps_row *rows;
    uint32_t n_rows;
};

/* A record that a process left, or has. */
struct vt_caps_record {
    char file[320];
    int64_t owner;
    const char *state; /* "held", "left", "restored", "reset by a restart", "failed" */
    bool failed;
    char text[VT_ERROR_TEXT_MAX];
};

struct vt_caps_report {
    struct vt_caps_entry *entries;
    uint32_t n_entries;
    struct vt_caps_record *records;
    uint32_t n_records;
    bool replayed; /* records were put back as far as they could be */
};

VT_API void vt_caps_print_table(const struct vt_caps_report *report, FILE *out, int columns);
/* As text in fresh memory (vt_free). */
VT_API enum vt_status vt_caps_json(const struct vt_caps_report *report, struct vt_error *err,
                                   char **ret_json) VT_NODISCARD;

#endif
