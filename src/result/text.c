/* SPDX-License-Identifier: Apache-2.0 */
#include "result/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "result/result.h"

int vt_text_width(const char *text)
{
    const char *at = text;
    int width = 0;

    while (*at != '\0') {
        size_t bytes = vt_utf8_bytes(at);
        at += bytes != 0 ? bytes : 1;
        width++;
    }
    return width;
}

size_t vt_text_clean_size(const char *text)
{
    return 3 * strlen(text) + 1; /* U+FFFD takes three bytes */
}

char *vt_text_clean(const char *text, int printable, char *clean, size_t size)
{
    const char *at = text;
    size_t used = 0;

    while (*at != '\0') {
        size_t bytes = vt_utf8_bytes(at);
        const char *from = at;
        size_t step = bytes;
        unsigned char first = (unsigned char)at[0], second = (unsigned char)at[1];
        bool control = first < 0x20 || first == 0x7f || (first == 0xc2 && second < 0xa0);
        if (bytes == 0) {
            from = "\xef\xbf\xbd";
            bytes = 3;
            step = 1;
        } else if (printable && control) {
            from = "?";
            bytes = 1;
        }
        if (used + bytes >= size) {
            break;
        }
        memcpy(clean + used, from, bytes);
        used += bytes;
        at += step;
    }
    if (size > 0) {
        clean[used] = '\0';
    }
    return clean;
}

/* The bytes of the first `width` code points. */
static size_t bytes_of_width(const char *text, int width)
{
    const char *at = text;

    while (*at != '\0' && width > 0) {
        size_t bytes = vt_utf8_bytes(at);
        at += bytes != 0 ? bytes : 1;
        width--;
    }
    return (size_t)(at - text);
}

void vt_text_print_wrapped(FILE *out, const char *text, int at, int indent, int columns)
{
    char word[1024];
    int column = at;
    bool first = true;  /* of its line */
    bool glued = false; /* to the piece before: one long word */

    for (;;) {
        text += strspn(text, " ");
        if (*text == '\0') {
            break;
        }
        size_t bytes = strcspn(text, " ");
        size_t taken = bytes < 256 ? bytes : bytes_of_width(text, 200);
        char raw[1024];
        taken = taken < sizeof raw ? taken : sizeof raw - 1;
        memcpy(raw, text, taken);
        raw[taken] = '\0';
        text += taken;
        vt_text_clean(raw, 1, word, sizeof word);

        const char *rest = word;
        int width = vt_text_width(rest);
        if (!first && column + !glued + width > columns) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first && !glued) {
            putc(' ', out);
            column++;
        }
        while (width > columns - column && columns > column) {
            size_t part = bytes_of_width(rest, columns - column);
            fprintf(out, "%.*s\n%*s", (int)part, rest, indent, "");
            rest += part;
            column = indent;
            width = vt_text_width(rest);
        }
        fputs(rest, out);
        column += width;
        first = false;
        glued = taken < bytes;
    }
    putc('\n', out);
}

/* "1234567.5" to "1,234,567.5". */
static void put_thousands(const char *plain, char *text, size_t size)
{
    size_t sign = plain[0] == '-';
    size_t whole = strspn(plain + sign, "0123456789");
    size_t used = 0;

    for (size_t i = 0; plain[i] != '\0' && used + 2 < size; i++) {
        if (i > sign && i < sign + whole && (sign + whole - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = plain[i];
    }
    text[used] = '\0';
}

/* Cuts "2.50" to "2.5" and "2.00" to "2"; leaves "200" alone. */
static void drop_trailing_zeros(char *plain)
{
    if (strchr(plain, '.') == NULL) {
        return;
    }
    size_t n = strlen(plain);
    while (plain[n - 1] == '0') {
        n--;
    }
    if (plain[n - 1] == '.') {
        n--;
    }
    plain[n] = '\0';
}

char *vt_number_text(double value, char *text, size_t size)
{
    char plain[64];

    if (size == 0) {
        return text;
    }
    if (!isfinite(value)) {
        vt_text_clean(VT_NO_NUMBER, 0, text, size);
        return text;
    }
    double magnitude = fabs(value);
    if (magnitude == 0) {
        snprintf(text, size, "0");
        return text;
    }
    if (magnitude >= 1e15 || magnitude < 1e-4) {
        snprintf(plain, sizeof plain, "%.*e", magnitude >= 1 ? 3 : 2, value);
        char *exponent = strchr(plain, 'e');
        long power = strtol(exponent + 1, NULL, 10);
        *exponent = '\0';
        drop_trailing_zeros(plain);
        snprintf(text, size, "%se%ld", plain, power);
        return text;
    }
    /* Round first: 999.96 becomes 1000 and with that gets its comma. */
    int digits = magnitude >= 999.5 ? 4 : 3;
    snprintf(plain, sizeof plain, "%.*e", digits - 1, value);
    double rounded = strtod(plain, NULL);
    int power = (int)strtol(strchr(plain, 'e') + 1, NULL, 10);
    int decimals = digits - 1 - power;
    snprintf(plain, sizeof plain, "%.*f", decimals > 0 ? decimals : 0, rounded);
    drop_trailing_zeros(plain);
    put_thousands(plain, text, size);
    return text;
}

char *vt_count_text(uint64_t count, char *text, size_t size)
{
    char plain[32];

    if (size > 0) {
        snprintf(plain, sizeof plain, "%llu", (unsigned long long)count);
        put_thousands(plain, text, size);
    }
    return text;
}

char *vt_duration_text(int64_t ns, char *text, size_t size)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1, "ns"}, {1e3, "\xc2\xb5s"}, {1e6, "ms"}, {1e9, "s"}};
    double magnitude = fabs((double)ns);
    char number[64];
    size_t unit = 0;

    /* 999.6 µs reads better as 1 ms: the step is where three digits are rounded up. */
    while (unit + 1 < sizeof units / sizeof units[0] &&
           magnitude >= units[unit + 1].ns * (unit == 0 ? 1.0 : 0.9995)) {
        unit++;
    }
    vt_number_text((double)ns / units[unit].ns, number, sizeof number);
    snprintf(text, size, "%s %s", number, units[unit].name);
    return text;
}
