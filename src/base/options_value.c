/* SPDX-License-Identifier: Apache-2.0 */
/* Single values: numbers, durations and sizes from text, and back to text. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/options_internal.h"

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)
#define KIB       INT64_C(1024)
#define KB        INT64_C(1000)

/* Digits behind the point that a duration or a size may have. */
#define FRACTION_DIGITS_MAX 18

struct unit {
    const char *name;
    int64_t scale;
};

static const struct unit duration_units[] = {
    {"ns", 1},
    {"us", NS_PER_US},
    {"\xc2\xb5s", NS_PER_US}, /* µ, the micro sign */
    {"\xce\xbcs", NS_PER_US}, /* µ, the Greek letter */
    {"ms", NS_PER_MS},
    {"s", NS_PER_S},
    {"", NS_PER_S},
    {"m", 60 * NS_PER_S},
    {"min", 60 * NS_PER_S},
    {"h", 3600 * NS_PER_S},
    {"d", 86400 * NS_PER_S},
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"k", KIB},
    {"K", KIB},
    {"KiB", KIB},
    {"M", KIB *KIB},
    {"MiB", KIB *KIB},
    {"G", KIB *KIB *KIB},
    {"GiB", KIB *KIB *KIB},
    {"T", KIB *KIB *KIB *KIB},
    {"TiB", KIB *KIB *KIB *KIB},
    {"kB", KB},
    {"KB", KB},
    {"MB", KB *KB},
    {"GB", KB *KB *KB},
    {"TB", KB *KB *KB *KB},
};

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

/* Numbers are written with a point whatever the language of the host program. */
static locale_t point_locale;

static void make_point_locale(void)
{
    point_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t get_point_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_point_locale);
    return point_locale;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *p)
{
    while (is_digit(*p)) {
        p++;
    }
    return p;
}

enum vt_status vt_parse_int(const char *text, int64_t *ret, struct vt_error *err)
{
    const char *digits = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    const char *end = skip_digits(digits);
    if (end == digits || *end != '\0') {
        return vt_error_set(err, VT_ERR_USAGE, "'%s' is not a whole number", vt_plain(text).text);
    }
    errno = 0;
    const long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE) {
        return vt_error_set(err, VT_ERR_USAGE, "%s is too large: allowed %" PRId64 "..%" PRId64,
                            vt_plain(text).text, INT64_MIN, INT64_MAX);
    }
    *ret = value;
    return VT_OK;
}

/* The end of a decimal number [sign]digits[.digits][e[sign]digits]; NULL when it is none. */
static const char *real_end(const char *text)
{
    const char *p = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    const char *whole = p;
    p = skip_digits(p);
    size_t n_digits = (size_t)(p - whole);
    if (*p == '.') {
        const char *fraction = p + 1;
        p = skip_digits(fraction);
        n_digits += (size_t)(p - fraction);
    }
    if (n_digits == 0) {
        return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        const char *exponent = p[1] == '-' || p[1] == '+' ? p + 2 : p + 1;
        p = skip_digits(exponent);
        if (p == exponent) {
            return NULL;
        }
    }
    return p;
}

enum vt_status vt_parse_real(const char *text, double *ret, struct vt_error *err)
{
    const char *end = real_end(text);
    if (end == NULL || *end != '\0') {
        return vt_error_set(err, VT_ERR_USAGE, "'%s' is not a finite decimal number",
                            vt_plain(text).text);
    }
    const locale_t locale = get_point_locale();
    if (locale == (locale_t)0) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory reading a number");
    }
    const double value = strtod_l(text, NULL, locale);
    if (!isfinite(value)) {
        return vt_error_set(err, VT_ERR_USAGE, "%s is too large: a number ends at 1.79e308",
                            vt_plain(text).text);
    }
    *ret = value;
    return VT_OK;
}

enum vt_status vt_parse_flag(const char *text, bool *ret, struct vt_error *err)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i], text) == 0) {
            *ret = i % 2 == 1;
            return VT_OK;
        }
    }
    return vt_error_set(err, VT_ERR_USAGE, "'%s' is neither yes nor no (true, false, 1, 0)",
                        vt_plain(text).text);
}

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* What vt_parse_duration and vt_parse_size have in common. */
struct notation {
    const char *noun;
    const char *units_text;
    const struct unit *units;
    size_t n_units;
};

static enum vt_status not_this(const struct notation *notation, const char *text,
                               struct vt_error *err)
{
    return vt_error_set(err, VT_ERR_USAGE, "'%s' is not a %s: a number and one of %s",
                        vt_plain(text).text, notation->noun, notation->units_text);
}

/*
 * number[.digits]unit. The whole part is exact; the part behind the point is rounded to the
 * smallest unit.
 */
static enum vt_status parse_with_unit(const struct notation *notation, const char *text,
                                      int64_t *ret, struct vt_error *err)
{
    if (text[0] == '-') {
        return vt_error_set(err, VT_ERR_USAGE, "%s: a %s cannot be negative", vt_plain(text).text,
                            notation->noun);
    }
    const char *point = skip_digits(text);
    const char *unit_name = point;
    long double fraction = 0;
    if (*point == '.') {
        unit_name = skip_digits(point + 1);
        if (unit_name - point - 1 > FRACTION_DIGITS_MAX) {
            return vt_error_set(err, VT_ERR_USAGE, "%s has more than %d digits behind the point",
                                vt_plain(text).text, FRACTION_DIGITS_MAX);
        }
        for (const char *digit = unit_name - 1; digit > point; digit--) {
            fraction = (fraction + (long double)(*digit - '0')) / 10;
        }
    }
    if (!is_digit(text[0]) || unit_name == point + 1) {
        return not_this(notation, text, err);
    }
    const struct unit *unit = find_unit(notation->units, notation->n_units, unit_name);
    if (unit == NULL) {
        return not_this(notation, text, err);
    }
    errno = 0;
    int64_t value = strtoll(text, NULL, 10);
    const int64_t rest = (int64_t)(fraction * (long double)unit->scale + 0.5L);
    if (errno == ERANGE || __builtin_mul_overflow(value, unit->scale, &value) ||
        __builtin_add_overflow(value, rest, &value)) {
        return vt_error_set(err, VT_ERR_USAGE, "%s is too long a %s for 64 bits",
                            vt_plain(text).text, notation->noun);
    }
    if (value == 0 && fraction > 0) {
        return vt_error_set(err, VT_ERR_USAGE, "%s is less than the smallest %s",
                            vt_plain(text).text, notation->noun);
    }
    *ret = value;
    return VT_OK;
}

enum vt_status vt_parse_duration(const char *text, int64_t *ret_ns, struct vt_error *err)
{
    static const struct notation notation = {"duration", "ns, us, ms, s, m, h, d (500ms, 10s, 2m)",
                                             duration_units, N_ELEMENTS(duration_units)};
    return parse_with_unit(&notation, text, ret_ns, err);
}

enum vt_status vt_parse_size(const char *text, int64_t *ret_bytes, struct vt_error *err)
{
    static const struct notation notation = {"size",
                                             "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB (4096, 4MiB)",
                                             size_units, N_ELEMENTS(size_units)};
    return parse_with_unit(&notation, text, ret_bytes, err);
}

/* In the largest unit of `names` (ascending) that divides the value. */
static void format_with_unit(int64_t value, const struct unit *units, size_t n, char *text,
                             size_t size)
{
    const struct unit *best = &units[0];
    for (size_t i = 1; i < n; i++) {
        if (value != 0 && value % units[i].scale == 0) {
            best = &units[i];
        }
    }
    snprintf(text, size, "%" PRId64 "%s", value / best->scale, best->name);
}

void vt_format_duration(int64_t ns, char *text, size_t size)
{
    static const struct unit units[] = {
        {"ns", 1},       {"us", NS_PER_US},    {"ms", NS_PER_MS},
        {"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S}};
    if (ns == 0) {
        snprintf(text, size, "0s");
        return;
    }
    format_with_unit(ns, units, N_ELEMENTS(units), text, size);
}

void vt_format_size(int64_t bytes, char *text, size_t size)
{
    static const struct unit units[] = {{"", 1},
                                        {"KiB", KIB},
                                        {"MiB", KIB * KIB},
                                        {"GiB", KIB * KIB * KIB},
                                        {"TiB", KIB * KIB * KIB * KIB}};
    format_with_unit(bytes, units, N_ELEMENTS(units), text, size);
}

void vt_format_real(double value, char *text, size_t size)
{
    const locale_t locale = get_point_locale();
    const locale_t before = locale != (locale_t)0 ? uselocale(locale) : (locale_t)0;
    char digits[32];
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    if (before != (locale_t)0) {
        uselocale(before);
    }
    snprintf(text, size, "%s", digits);
}
