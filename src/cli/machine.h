/* SPDX-License-Identifier: Apache-2.0 */
/* How the verbs that measure speak of the machine. */
#ifndef VT_CLI_MACHINE_H
#define VT_CLI_MACHINE_H

#include <stddef.h>
#include <stdio.h>

/* "Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz" to "Intel Xeon Gold 6330". Returns text. */
char *vt_cli_cpu_name(char *text, size_t size);
/* Two parts of a line, on two lines where one is too narrow; `more` columns follow the second. */
void vt_cli_print_parts(FILE *out, const char *first, const char *second, int more);

#endif
