/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "run/catalogue.h"

int vt_verb_list(int argc, const char *const *argv)
{
    struct vt_catalogue_entry entries[VT_CATALOGUE_MAX];
    const char *kind = "";

    if (argc > 1) {
        return vt_cli_usage("list: '%s' is not understood, list takes no arguments", argv[1]);
    }
    size_t n = vt_catalogue(entries);
    for (size_t i = 0; i < n; i++) {
        const struct vt_catalogue_entry *entry = &entries[i];
        if (strcmp(kind, entry->kind) != 0) {
            (void)printf("%s%s\n", i > 0 ? "\n" : "", entry->kind);
            kind = entry->kind;
        }
        (void)printf("  %-22s %s\n", entry->name, entry->summary);
        if (!entry->available) {
            (void)printf("  %-22s not available: %s\n", "", entry->why);
        }
    }
    return 0;
}
