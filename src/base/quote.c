/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quote.h"

#include <stddef.h>
#include <string.h>

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
    for (; length < room && text[length] != '\0'; length++) {
        const unsigned char c = (unsigned char)text[length];
        to[length] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    if (text[length] != '\0') {
        /* Not in the middle of a character. */
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
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
