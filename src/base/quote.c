/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quote.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/utf8.h"

/* Whether the code point at `text`, of that many bytes, would do something to a terminal. */
static bool is_control(const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    return bytes == 1 ? at[0] < 0x20 || at[0] == 0x7f : bytes == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

char *vt_tame(char *text)
{
    char *to = text;

    for (const char *at = text; *at != '\0';) {
        const size_t bytes = vt_utf8_bytes(at);
        if (bytes == 0 || is_control(at, bytes)) {
            *to++ = '?';
            at += bytes > 0 ? bytes : 1;
            continue;
        }
        for (size_t i = 0; i < bytes; i++) {
            *to++ = *at++;
        }
    }
    *to = '\0';
    return text;
}

static struct vt_quoted shown(const char *text, const char *quote)
{
    struct vt_quoted quoted;
    const size_t mark = strlen(quote);
    const size_t room = sizeof quoted.text - sizeof "..." - 2 * mark;
    size_t length = 0;
    char *to = quoted.text;

    for (size_t i = 0; i < mark; i++) {
        *to++ = quote[i];
    }
    const char *at = text;
    while (*at != '\0') {
        const size_t bytes = vt_utf8_bytes(at);
        const bool tame = bytes > 0 && !is_control(at, bytes);
        if (length + (tame ? bytes : 1) > room) {
            break; /* not in the middle of a character */
        }
        if (!tame) {
            to[length++] = '?';
            at += bytes > 0 ? bytes : 1;
            continue;
        }
        for (size_t i = 0; i < bytes; i++) {
            to[length++] = *at++;
        }
    }
    if (*at != '\0') {
        for (int i = 0; i < 3; i++) {
            to[length++] = '.';
        }
    }
    memcpy(to + length, quote, mark + 1);
    return quoted;
}

struct vt_quoted vt_plain(const char *text)
{
    return shown(text, "");
}

struct vt_quoted vt_quote(const char *text)
{
    return shown(text, "\"");
}
