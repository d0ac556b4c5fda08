/* SPDX-License-Identifier: Apache-2.0 */
#include "report/reader.h"

#include <math.h>
#include <string.h>

#include "result/result.h"

const char *vt_read_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

double vt_read_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

int vt_read_flag(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : -1;
}

json_t *vt_read_array(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_array(value) ? value : NULL;
}

json_t *vt_read_object(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_object(value) ? value : NULL;
}

const char *vt_say_number(struct vt_document *document, double value, const char *unit)
{
    char text[64];

    if (!isfinite(value)) {
        return NULL;
    }
    return vt_say(document, "%s%s%s", vt_number_text(value, text, sizeof text),
                  unit[0] != '\0' ? " " : "", unit);
}

const char *vt_say_count(struct vt_document *document, double value)
{
    char text[64];

    if (!(value >= 0 && value < 1e18)) {
        return NULL;
    }
    return vt_say(document, "%s", vt_count_text((uint64_t)value, text, sizeof text));
}

const char *vt_say_duration(struct vt_document *document, double ns)
{
    char text[64];

    if (!(fabs(ns) < 9e18)) {
        return NULL;
    }
    if (ns > 0 && ns < 1) {
        return vt_say_number(document, ns, "ns");
    }
    return vt_say(document, "%s", vt_duration_text(llround(ns), text, sizeof text));
}

const char *vt_say_bytes(struct vt_document *document, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;

    if (!(bytes >= 0)) {
        return NULL;
    }
    while (bytes >= 1024 && i < sizeof units / sizeof units[0] - 1) {
        bytes /= 1024;
        i++;
    }
    return vt_say_number(document, bytes, units[i]);
}

const char *vt_say_metric(struct vt_document *document, double value, const char *unit)
{
    if (unit != NULL && strcmp(unit, "ns") == 0) {
        return vt_say_duration(document, value);
    }
    return vt_say_number(document, value, unit != NULL ? unit : "");
}

/* The uncertainty gets two digits, the value as many decimals. */
const char *vt_say_uncertain(struct vt_document *document, double value, double uncertainty,
                             const char *unit)
{
    int decimals = 0;

    if (!isfinite(value)) {
        return NULL;
    }
    if (!(uncertainty > 0) || !isfinite(uncertainty) || fabs(value) >= 1e9 || uncertainty < 1e-9) {
        return vt_say_number(document, value, unit);
    }
    const double digits = 1 - floor(log10(uncertainty));
    if (digits > 0) {
        decimals = (int)(digits < 12 ? digits : 12);
    }
    return vt_say(document, "%.*f \xc2\xb1 %.*f%s%s", decimals, value, decimals, uncertainty,
                  unit[0] != '\0' ? " " : "", unit);
}

const char *vt_say_joules(struct vt_document *document, double joules)
{
    static const char *const units[] = {"J", "mJ", "\xc2\xb5J", "nJ"};
    size_t i = 0;

    while (joules != 0 && fabs(joules) < 0.9995 && i < sizeof units / sizeof units[0] - 1) {
        joules *= 1000;
        i++;
    }
    return vt_say_number(document, joules, units[i]);
}

const char *vt_say_time(struct vt_document *document, const char *utc)
{
    if (utc == NULL || strlen(utc) != 20 || utc[10] != 'T' || utc[19] != 'Z') {
        return utc;
    }
    return vt_say(document, "%.10s %.8s UTC", utc, utc + 11);
}
