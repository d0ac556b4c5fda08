/* SPDX-License-Identifier: Apache-2.0 */
#include "power/thermal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "power/telemetry.h"

#define SOURCES_MAX 4

struct source {
    const struct vt_meter_ops *ops;
    void *meter;
};

struct vt_thermal {
    struct source sources[SOURCES_MAX];
    uint32_t n;
    struct vt_meter_reading readings[VT_METER_DOMAINS_MAX];
};

static bool is_temperature(const struct vt_meter_domain *domain)
{
    static const char end[] = " temperature", other[] = "memory temperature";
    size_t length = strlen(domain->name);

    return length > strlen(end) && strcmp(domain->name + length - strlen(end), end) == 0 &&
           strstr(domain->name, other) == NULL;
}

static bool has_temperature(const struct source *source)
{
    uint32_t n;
    const struct vt_meter_domain *domains = source->ops->domains(source->meter, &n);

    for (uint32_t i = 0; i < n; i++) {
        if (is_temperature(&domains[i])) {
            return true;
        }
    }
    return false;
}

enum vt_status vt_thermal_open(const struct vt_meter_options *options, struct vt_error *err,
                               struct vt_thermal **ret_thermal)
{
    struct vt_thermal *thermal = vt_calloc(1, sizeof *thermal);
    size_t n_table;
    const struct vt_meter_ops *const *table = vt_telemetry_table(&n_table);

    if (thermal == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for sensors");
    }
    for (size_t i = 0; i < n_table && thermal->n < SOURCES_MAX; i++) {
        struct source source = {table[i], NULL};
        struct vt_error ignored = VT_ERROR_INIT;
        if (table[i]->open(table[i], options, &ignored, &source.meter) != VT_OK) {
            continue;
        }
        if (has_temperature(&source)) {
            thermal->sources[thermal->n++] = source;
        } else {
            table[i]->close(source.meter);
        }
    }
    if (thermal->n == 0) {
        vt_free(thermal);
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "no temperature of a processor can be read: load the module coretemp "
                            "(Intel) or k10temp (AMD), or NVIDIA's driver; virtual machines have "
                            "none");
    }
    *ret_thermal = thermal;
    return VT_OK;
}

double vt_thermal_read(struct vt_thermal *thermal, char *name, size_t size)
{
    double hottest = (double)NAN;

    if (size > 0) {
        name[0] = '\0';
    }
    for (uint32_t s = 0; s < thermal->n; s++) {
        struct source *source = &thermal->sources[s];
        struct vt_error ignored = VT_ERROR_INIT;
        uint32_t n;
        const struct vt_meter_domain *domains = source->ops->domains(source->meter, &n);
        if (source->ops->read(source->meter, NULL, thermal->readings, &ignored) != VT_OK) {
            continue;
        }
        for (uint32_t i = 0; i < n; i++) {
            double value = thermal->readings[i].value;
            /* Sensors that are not connected read absurd values. */
            if (is_temperature(&domains[i]) && value > -50 && value < 200 && !(value <= hottest)) {
                hottest = value;
                (void)snprintf(name, size, "%s", domains[i].name);
            }
        }
    }
    return hottest;
}

void vt_thermal_close(struct vt_thermal *thermal)
{
    for (uint32_t i = 0; thermal != NULL && i < thermal->n; i++) {
        thermal->sources[i].ops->close(thermal->sources[i].meter);
    }
    vt_free(thermal);
}
