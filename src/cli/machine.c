/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine.h"

#include <ctype.h>
#include <string.h>

#include "base/topology.h"
#include "cli/cli.h"

char *vt_cli_cpu_name(char *text, size_t size)
{
    static const char *const noise[] = {"(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor"};
    size_t n = 0;

    for (const char *at = vt_topology()->cpu_model; *at != '\0' && *at != '@' && n + 1 < size;) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof noise / sizeof noise[0] && skip == 0; i++) {
            skip = strncmp(at, noise[i], strlen(noise[i])) == 0 ? strlen(noise[i]) : 0;
        }
        if (skip > 0) {
            at += skip;
        } else {
            text[n++] = *at++;
        }
    }
    while (n > 0 && isspace((unsigned char)text[n - 1])) {
        n--;
    }
    text[n] = '\0';
    return text;
}

void vt_cli_print_parts(FILE *out, const char *first, const char *second, int more)
{
    /* Bytes for columns: an overestimate by the few characters that are not ASCII. */
    size_t width = strlen(first) + strlen(second) + (size_t)more;
    bool fits = width + strlen(" · ") <= (size_t)vt_cli_columns(out);

    (void)fprintf(out, "%s%s%s", first, fits ? " · " : "\n", second);
}
