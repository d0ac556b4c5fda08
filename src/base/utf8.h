/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8: text that comes from outside (a file name, a message of another program) is checked
 * before it goes into a file that must be UTF-8.
 */
#ifndef VT_BASE_UTF8_H
#define VT_BASE_UTF8_H

#include <stddef.h>

/*
 * The bytes of the code point at `text`, 1 to 4; 0 where there is none: overlong forms,
 * surrogates, anything above U+10FFFF and what is cut short are none (the Unicode standard, table
 * 3-7). Reads no further than the first byte that does not belong, so a NUL ends it.
 */
size_t vt_utf8_bytes(const char *text);

#endif
