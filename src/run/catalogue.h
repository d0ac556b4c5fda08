/* SPDX-License-Identifier: Apache-2.0 */
/* What this build of vatio has, and what of it works on this machine. */
#ifndef VT_RUN_CATALOGUE_H
#define VT_RUN_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "vatio/status.h"

struct vt_catalogue_entry {
    const char *kind; /* "models", "workloads", "engines", "devices", "meters" */
    const char *name;
    char summary[192];
    bool available;
    char why[256]; /* when not available: the reason and what to do */
};

#define VT_CATALOGUE_MAX 64

/* Writes at most VT_CATALOGUE_MAX entries, those of a kind together; returns how many. */
VT_API size_t vt_catalogue(struct vt_catalogue_entry ret_entries[VT_CATALOGUE_MAX]);

#endif
