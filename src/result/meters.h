/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `vatio meters` found: every meter that there is, which of them measure here, and what each
 * domain read over a while.
 *
 * Threading: a report belongs to one thread at a time; printing is stateless.
 */
#ifndef VT_RESULT_METERS_H
#define VT_RESULT_METERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "vatio/status.h"

struct vt_meter_row {
    char domain[48], device[80];
    char inside[48]; /* the domain whose reading holds this one's; "" */
    const char *scope;
    bool counter; /* of joules; else a reading of watts */
    bool measured;
    double watts, uncertainty_w; /* when measured */
    int64_t update_ns;           /* of the readings; 0: they did not change */
    bool update_at_most;         /* every reading differed: it is this or less */
    char why[256];               /* when not measured */
    char note[200];
};

struct vt_meter_entry {
    const char *name, *summary;
    bool available;
    char why[VT_ERROR_TEXT_MAX]; /* when not: the reason and the remedy */
    struct vt_meter_row *rows;
    uint32_t n_rows;
};

struct vt_meters_report {
    struct vt_meter_entry *entries;
    uint32_t n_entries;
    int64_t for_ns;   /* how long was read */
    double cpu_share; /* of one CPU, that reading took */
};

/* The same as a JSON document in fresh memory (vt_free). VT_ERR_MEMORY. */
VT_API enum vt_status vt_meters_json(const struct vt_meters_report *report, struct vt_error *err,
                                     char **ret_json) VT_NODISCARD;
VT_API void vt_meters_print_table(const struct vt_meters_report *report, FILE *out, int columns);

#endif
