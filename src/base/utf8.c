/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t vt_utf8_bytes(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char first = at[0];
    unsigned char low = 0x80, high = 0xbf; /* what the second byte may be */
    size_t bytes;

    if (first < 0x80) {
        return 1;
    } else if (first >= 0xc2 && first <= 0xdf) {
        bytes = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        bytes = 3;
        low = first == 0xe0 ? 0xa0 : low;
        high = first == 0xed ? 0x9f : high;
    } else if (first >= 0xf0 && first <= 0xf4) {
        bytes = 4;
        low = first == 0xf0 ? 0x90 : low;
        high = first == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < bytes; i++) {
        if (at[i] < 0x80 || at[i] > 0xbf) {
            return 0;
        }
    }
    return bytes;
}
