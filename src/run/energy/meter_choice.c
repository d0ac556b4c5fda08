/* SPDX-License-Identifier: Apache-2.0 */
#include "run/energy/meter_choice.h"

#include <stdio.h>
#include <string.h>

struct vt_meter_options vt_meter_places_options(const struct vt_meter_places *places)
{
    return (struct vt_meter_options){.sysfs = places->sysfs,
                                     .nvml_library = places->nvml,
                                     .replay_file = places->replay,
                                     .ptdaemon = places->ptdaemon};
}

static void add(struct vt_meter_choice *choice, const struct vt_meter_ops *meter)
{
    for (size_t i = 0; i < choice->n; i++) {
        if (choice->meters[i] == meter) {
            return;
        }
    }
    if (choice->n < VT_SAMPLER_METERS_MAX) {
        choice->meters[choice->n++] = meter;
    }
}

enum vt_status vt_meter_choice_add(struct vt_meter_choice *choice, const char *name,
                                   struct vt_error *err)
{
    const struct vt_meter_ops *meter = NULL;

    enum vt_status status = vt_meter_find(name, err, &meter);
    if (status == VT_OK) {
        add(choice, meter);
    }
    return status;
}

void vt_meter_choice_add_all(struct vt_meter_choice *choice)
{
    size_t n = 0;
    const struct vt_meter_ops *const *table = vt_meter_table(&n);

    for (size_t i = 0; i < n; i++) {
        add(choice, table[i]);
    }
}

static void add_automatic(struct vt_meter_choice *choice, const struct vt_meter_places *places)
{
    size_t n = 0;
    const struct vt_meter_ops *const *table = vt_meter_table(&n);

    for (size_t i = 0; i < n; i++) {
        const bool wanted = table[i] == &vt_meter_replay     ? places->replay != NULL
                            : table[i] == &vt_meter_ptdaemon ? places->ptdaemon != NULL
                                                             : table[i] != &vt_meter_null;
        if (wanted) {
            add(choice, table[i]);
        }
    }
}

enum vt_status vt_meter_choice_parse(const char *text, const struct vt_meter_places *places,
                                     struct vt_error *err, struct vt_meter_choice *ret)
{
    struct vt_meter_choice choice = {0};

    if (strcmp(text, "auto") == 0) {
        choice.automatic = true;
        add_automatic(&choice, places);
    } else if (strcmp(text, "none") != 0) {
        for (const char *at = text;;) {
            const size_t length = strcspn(at, ",");
            char name[64];
            (void)snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), at);
            enum vt_status status = vt_meter_choice_add(&choice, name, err);
            if (status != VT_OK) {
                vt_error_prefix(err, "--meter");
                return status;
            }
            if (at[length] == '\0') {
                break;
            }
            at += length + 1;
        }
    }
    *ret = choice;
    return VT_OK;
}

uint32_t vt_meter_choice_probe(struct vt_meter_choice *choice,
                               const struct vt_meter_options *options,
                               struct vt_energy_unavailable ret[VT_ENERGY_UNAVAILABLE_MAX],
                               enum vt_status ret_status[VT_ENERGY_UNAVAILABLE_MAX])
{
    size_t kept = 0;
    uint32_t n = 0;

    for (size_t i = 0; i < choice->n; i++) {
        struct vt_error why = VT_ERROR_INIT;
        enum vt_status status = vt_meter_probe(choice->meters[i], options, &why);
        if (status == VT_OK) {
            choice->meters[kept++] = choice->meters[i];
        } else if (n < VT_ENERGY_UNAVAILABLE_MAX) {
            ret[n].name = choice->meters[i]->name;
            (void)snprintf(ret[n].reason, sizeof ret[n].reason, "%s", why.text);
            ret_status[n++] = status;
        }
    }
    choice->n = kept;
    return n;
}
