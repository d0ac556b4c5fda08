/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the options table share: finding an option, giving it a value, texts for
 * people. Not for other rooms.
 */
#ifndef VT_BASE_OPTIONS_INTERNAL_H
#define VT_BASE_OPTIONS_INTERNAL_H

#include "base/options.h"
#include "base/quote.h"

/* Where a value comes from: decides how errors name the option and who owns the text. */
enum vt_option_origin {
    VT_ORIGIN_ARGUMENT, /* "--batch", text borrowed */
    VT_ORIGIN_DEFAULT,  /* "default of --batch", text borrowed */
    VT_ORIGIN_KEY,      /* "batch", text copied */
};

/* The option of that name (length bytes); NULL when there is none. */
const struct vt_option *vt_option_find(const struct vt_option_table *table, const char *name,
                                       size_t length);
const struct vt_option *vt_option_find_letter(const struct vt_option_table *table, char letter);
/* The nearest name in the table, NULL when none is near. */
const char *vt_option_nearest(const struct vt_option_table *table, const char *name);

/* Parses and stores one value. `mark` says that the user gave it. */
enum vt_status vt_option_assign(struct vt_options *options, const struct vt_option *option,
                                const char *text, enum vt_option_origin origin,
                                struct vt_error *err) VT_NODISCARD;
/* Stores a flag. */
void vt_option_assign_flag(struct vt_options *options, const struct vt_option *option, bool value,
                           enum vt_option_origin origin);

/* Whether the table bounds the option's value. */
bool vt_option_is_bounded(const struct vt_option *option);
/* "1..65536", "1ms or more"; empty when the option is not bounded. Returns text. */
char *vt_option_range_text(const struct vt_option *option, char *text, size_t size);

#endif
