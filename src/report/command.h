/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line that makes a result again, from the echo of its job: what the user had given,
 * without where the result went. It can be pasted into a shell whatever a file says: every word
 * that is not plain stands in quotes, control characters as $'\x07'.
 */
#ifndef VT_REPORT_COMMAND_H
#define VT_REPORT_COMMAND_H

#include "report/reader.h"

/* `verb` is vatio's; `model` what follows it, or NULL. */
const char *vt_command_line(struct vt_document *document, const char *verb, const char *model,
                            const json_t *job);
/* The same of words that are there already, those behind "vatio". */
const char *vt_command_words(struct vt_document *document, const json_t *words);
/* The value of one option for people: "10s", "4KiB", "yes", "a, b"; an en dash for null. */
const char *vt_option_words(struct vt_document *document, const json_t *entry);
/* The name of an option as on the command line, "--max-latency"; NULL for a key that is none. */
const char *vt_option_flag(struct vt_document *document, const char *key);

#endif
