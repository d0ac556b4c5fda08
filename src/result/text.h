/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: numbers, columns and wrapped sentences. Widths are counted in terminal
 * columns, one a code point: nothing that vatio prints needs more, and names from outside that do
 * only shift a margin.
 */
#ifndef VT_RESULT_TEXT_H
#define VT_RESULT_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Stands where there is no number: an en dash. */
#define VT_NO_NUMBER "\xe2\x80\x93"

/* Terminal columns of a UTF-8 text. */
int vt_text_width(const char *text);

/*
 * Copies `text` as valid UTF-8 of at most size - 1 bytes, cut at a code point: what is not UTF-8
 * becomes U+FFFD, so that no name from outside can spoil a JSON file. With `printable`, control
 * characters become '?', so that none can drive a terminal. Returns clean.
 */
char *vt_text_clean(const char *text, int printable, char *clean, size_t size);
/* The bytes that vt_text_clean may need for this text, with the NUL. */
size_t vt_text_clean_size(const char *text);

/*
 * Prints `text` in lines of at most `columns`, from the column where the cursor stands (`at`);
 * further lines are indented by `indent`. Breaks at blanks, inside a word only when it is longer
 * than a line. Ends with a newline.
 */
void vt_text_print_wrapped(FILE *out, const char *text, int at, int indent, int columns);

#endif
