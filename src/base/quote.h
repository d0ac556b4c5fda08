/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside, made fit for one line of a message: control characters and what is no UTF-8
 * replaced, length bounded, cut between characters. Passing vt_quote(…).text to a function is fine:
 * it lives until the end of the full expression.
 */
#ifndef VT_BASE_QUOTE_H
#define VT_BASE_QUOTE_H

struct vt_quoted {
    char text[80];
};

struct vt_quoted vt_plain(const char *text); /* as it is */
struct vt_quoted vt_quote(const char *text); /* in double quotes */
/* The same replacements in place, for a text of any length. Returns it. */
char *vt_tame(char *text);

#endif
