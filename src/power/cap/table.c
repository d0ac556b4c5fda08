/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/quote.h"
#include "power/cap/cap.h"
#include "power/cap/replay.h"

static const struct vt_cap_ops *const table[] = {
    &vt_cap_nvml,     &vt_cap_nvml_clocks, &vt_cap_rapl,   &vt_cap_cpufreq,
    &vt_cap_nvpmodel, &vt_cap_acpi,        &vt_cap_amdgpu,
};
#define TABLE_SIZE (sizeof table / sizeof table[0])
_Static_assert(TABLE_SIZE <= VT_CAP_KINDS_MAX, "a desk has a place for each kind");

const struct vt_cap_ops *const *vt_cap_table(size_t *ret_n)
{
    *ret_n = TABLE_SIZE;
    return table;
}

enum vt_status vt_cap_find(const char *name, struct vt_error *err, const struct vt_cap_ops **ret)
{
    const char *names[TABLE_SIZE];

    for (size_t i = 0; i < TABLE_SIZE; i++) {
        names[i] = table[i]->name;
        if (strcmp(table[i]->name, name) == 0) {
            *ret = table[i];
            return VT_OK;
        }
    }
    const char *near = vt_nearest_name(name, names, TABLE_SIZE);
    return vt_error_set(err, VT_ERR_USAGE, "no cap %s%s%s%s; `vatio caps` lists them",
                        vt_quote(name).text, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* --- wishes -------------------------------------------------------------------------------- */

static const struct {
    const char *kind_unit, *unit;
    double factor;
} units[] = {
    {"W", "W", 1},     {"W", "mW", 1e-3},   {"W", "kW", 1e3},
    {"kHz", "kHz", 1}, {"kHz", "MHz", 1e3}, {"kHz", "GHz", 1e6},
    {"MHz", "MHz", 1}, {"MHz", "GHz", 1e3}, {"MHz", "kHz", 1e-3},
};

/* A number with a unit of that kind, or a bare one. NAN for any other text. */
static double value_of(const char *text, const char *kind_unit)
{
    char *end = NULL;

    if (!isdigit((unsigned char)text[0]) && text[0] != '.') {
        return (double)NAN;
    }
    const double number = strtod(text, &end);
    if (!isfinite(number) || strpbrk(text, "xX") != NULL) {
        return (double)NAN;
    }
    while (*end == ' ') {
        end++;
    }
    if (*end == '\0') {
        return number;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].kind_unit, kind_unit) == 0 && strcmp(units[i].unit, end) == 0) {
            return number * units[i].factor;
        }
    }
    return (double)NAN;
}

static enum vt_status take_kind(const char *text, size_t length, struct vt_error *err,
                                struct vt_cap_wish *wish)
{
    char name[64];

    if (length >= sizeof name) {
        return vt_error_set(err, VT_ERR_USAGE, "no cap %s: `vatio caps` lists them",
                            vt_quote(text).text);
    }
    memcpy(name, text, length);
    name[length] = '\0';
    char *slash = strchr(name, '/');
    if (slash != NULL) {
        *slash = '\0';
        if (slash[1] == '\0' || strlen(slash + 1) >= sizeof wish->domain) {
            return vt_error_set(err, VT_ERR_USAGE,
                                "%s: a domain belongs behind the slash, as in rapl/package-0=120",
                                vt_quote(text).text);
        }
        (void)snprintf(wish->domain, sizeof wish->domain, "%.47s", slash + 1);
    }
    return vt_cap_find(name, err, &wish->kind);
}

enum vt_status vt_cap_wish_parse(const char *text, struct vt_error *err, struct vt_cap_wish *ret)
{
    struct vt_cap_wish wish = {.kind = NULL};
    const char *equals = strchr(text, '='), *value = equals != NULL ? equals + 1 : text;

    if (equals != NULL) {
        enum vt_status status = take_kind(text, (size_t)(equals - text), err, &wish);
        if (status != VT_OK) {
            return status;
        }
    }
    if (value[0] == '\0' || strlen(value) >= sizeof wish.text) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "%s: a value is needed, as in 300W, rapl=120 or cpufreq=2.4GHz",
                            vt_quote(text).text);
    }
    (void)snprintf(wish.text, sizeof wish.text, "%.47s", value);
    wish.value = value_of(value, wish.kind != NULL ? wish.kind->unit : "W");
    if (isnan(wish.value) && (wish.kind == NULL || wish.kind->named == NULL)) {
        return vt_error_set(err, VT_ERR_USAGE, "%s: not a number of %s%s", vt_quote(text).text,
                            wish.kind != NULL ? wish.kind->unit : "watts",
                            wish.kind != NULL ? ""
                                              : ", and no KIND=VALUE (`vatio caps` lists them)");
    }
    *ret = wish;
    return VT_OK;
}
