/* SPDX-License-Identifier: Apache-2.0 */
/* What --help, the manual and the completion say alike about an option. Not for other rooms. */
#ifndef VT_BASE_OPTIONS_TEXT_H
#define VT_BASE_OPTIONS_TEXT_H

#include "base/options.h"

/* " (one of a, b; default a)": choices, range, default; empty when there is nothing to say. */
char *vt_option_notes_text(const struct vt_option *option, char *text, size_t size);
/* A flag that is on unless --no-NAME is given. */
bool vt_option_is_default_yes(const struct vt_option *option);

/* Walks the table by category: the first option of the next category at or behind `from` (leaders
 * come in the order of the table), n_options at the end. */
size_t vt_option_category_next(const struct vt_option_table *table, size_t from);
/* The next option at or behind `from` in the category of `leader`, n_options at the end. */
size_t vt_option_member_next(const struct vt_option_table *table, size_t leader, size_t from);

#endif
