/* SPDX-License-Identifier: Apache-2.0 */
#include "run/catalogue.h"

#include <stdio.h>
#include <string.h>

#include "base/topology.h"
#include "engine/registry.h"
#include "power/meter.h"
#include "workload/registry.h"
#include "zoo/zoo.h"

struct catalogue {
    struct vt_catalogue_entry *entries;
    size_t n;
};

static struct vt_catalogue_entry *add(struct catalogue *catalogue, const char *kind,
                                      const char *name, const char *summary)
{
    static struct vt_catalogue_entry beyond;
    struct vt_catalogue_entry *entry =
        catalogue->n < VT_CATALOGUE_MAX ? &catalogue->entries[catalogue->n++] : &beyond;

    memset(entry, 0, sizeof *entry);
    entry->kind = kind;
    entry->name = name;
    entry->available = true;
    (void)snprintf(entry->summary, sizeof entry->summary, "%.*s", (int)sizeof entry->summary - 1,
                   summary);
    return entry;
}

static void add_engines(struct catalogue *catalogue)
{
    size_t n;
    const struct vt_engine_ops *const *engines = vt_engine_table(&n);

    for (size_t i = 0; i < n; i++) {
        struct vt_engine_ref ref;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_catalogue_entry *entry =
            add(catalogue, "engines", engines[i]->name, engines[i]->summary);
        if (vt_engine_find(engines[i]->name, &err, &ref) != VT_OK) {
            entry->available = false;
        } else {
            entry->available = ref.ops.probe(&err) == VT_OK;
            vt_engine_ref_release(&ref);
        }
        if (!entry->available) {
            (void)snprintf(entry->why, sizeof entry->why, "%.*s", (int)sizeof entry->why - 1,
                           err.text);
        }
    }
}

static void add_devices(struct catalogue *catalogue)
{
    const struct vt_topology *machine = vt_topology();
    char text[256];

    (void)snprintf(text, sizeof text, "%s, %u of %u logical CPUs usable, %s", machine->cpu_model,
                   machine->usable_cpus, machine->cpus, vt_topology_isa());
    add(catalogue, "devices", "cpu", text);
    struct vt_catalogue_entry *cuda = add(catalogue, "devices", "cuda", "NVIDIA GPUs");
    cuda->available = false;
    (void)snprintf(cuda->why, sizeof cuda->why, "this version of vatio computes on CPUs only");
}

static void add_meters(struct catalogue *catalogue)
{
    static const struct vt_meter_options here = {0};
    size_t n;
    const struct vt_meter_ops *const *meters = vt_meter_table(&n);

    for (size_t i = 0; i < n; i++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_catalogue_entry *entry =
            add(catalogue, "meters", meters[i]->name, meters[i]->summary);
        entry->available = vt_meter_probe(meters[i], &here, &err) == VT_OK;
        (void)snprintf(entry->why, sizeof entry->why, "%.*s", (int)sizeof entry->why - 1, err.text);
    }
}

size_t vt_catalogue(struct vt_catalogue_entry ret_entries[VT_CATALOGUE_MAX])
{
    struct catalogue catalogue = {ret_entries, 0};
    size_t n;

    const struct vt_builtin_model *models = vt_builtin_models(&n);
    for (size_t i = 0; i < n; i++) {
        add(&catalogue, "models", models[i].name, models[i].summary);
    }
    const struct vt_zoo_network *const *networks = vt_zoo_networks(&n);
    for (size_t i = 0; i < n; i++) {
        add(&catalogue, "models with random weights (vatio zoo)", networks[i]->name,
            networks[i]->summary);
    }
    const struct vt_workload_ops *const *workloads = vt_workload_table(&n);
    for (size_t i = 0; i < n; i++) {
        add(&catalogue, "workloads", workloads[i]->name, workloads[i]->summary);
    }
    add_engines(&catalogue);
    add_devices(&catalogue);
    add_meters(&catalogue);
    return catalogue.n;
}
