/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA GPUs through NVML: the energy counter of each (Volta and later; it moves about every 100
 * ms), instant and average power, and the power of the whole module where that is what there is.
 * Nothing is ever set. Under MIG all numbers are those of the device, shared by its instances.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "power/nvml_library.h"

/* A reading that takes so much of a processor is dear; it is read so rarely, over all GPUs. */
#define DEAR_NS    (500 * VT_NS_PER_US)
#define DEAR_SHARE 2000

/* Any of these may be missing in an old library. */
struct functions {
    int (*energy)(struct vt_nvml_device *device, unsigned long long *ret_mj);
    int (*power)(struct vt_nvml_device *device, unsigned *ret_mw);
    int (*fields)(struct vt_nvml_device *device, int n, struct vt_nvml_field *fields);
    int (*mig)(struct vt_nvml_device *device, unsigned *ret_now, unsigned *ret_pending);
    int (*bounds)(struct vt_nvml_device *device, unsigned *ret_least_mw, unsigned *ret_most_mw);
};

enum channel_kind {
    CHANNEL_ENERGY,
    CHANNEL_FIELD,
    CHANNEL_POWER,
};

struct channel {
    enum channel_kind kind;
    struct vt_nvml_device *device;
    unsigned field, scope;
};

struct nvml {
    struct vt_nvml_library library;
    struct functions call;
    uint32_t n;
    struct vt_meter_domain domains[VT_METER_DOMAINS_MAX];
    struct channel channels[VT_METER_DOMAINS_MAX];
};

/* --- reading ------------------------------------------------------------------------------- */

static double field_value(const struct vt_nvml_field *field)
{
    if (field->result != VT_NVML_SUCCESS) {
        return (double)NAN;
    }
    switch (field->type) {
    case VT_NVML_TYPE_DOUBLE:
        return field->value.real;
    case VT_NVML_TYPE_UINT:
        return field->value.u;
    case VT_NVML_TYPE_ULONG:
        return (double)field->value.ul;
    case VT_NVML_TYPE_ULONGLONG:
        return (double)field->value.ull;
    case VT_NVML_TYPE_LONGLONG:
        return (double)field->value.ll;
    case VT_NVML_TYPE_INT:
        return field->value.i;
    default:
        return (double)NAN;
    }
}

static double read_channel(const struct nvml *nvml, const struct channel *channel)
{
    unsigned long long energy = 0;
    unsigned power = 0;
    struct vt_nvml_field field = {.field = channel->field, .scope = channel->scope};

    switch (channel->kind) {
    case CHANNEL_ENERGY:
        return nvml->call.energy(channel->device, &energy) == VT_NVML_SUCCESS ? (double)energy / 1e3
                                                                              : (double)NAN;
    case CHANNEL_POWER:
        return nvml->call.power(channel->device, &power) == VT_NVML_SUCCESS ? (double)power / 1e3
                                                                            : (double)NAN;
    case CHANNEL_FIELD:
        return nvml->call.fields(channel->device, 1, &field) == VT_NVML_SUCCESS
                   ? field_value(&field) / 1e3
                   : (double)NAN;
    }
    return (double)NAN;
}

static enum vt_status nvml_read(void *meter, const bool *wanted,
                                struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    const struct nvml *nvml = meter;
    uint32_t good = 0;

    for (uint32_t i = 0; i < nvml->n; i++) {
        if (wanted != NULL && !wanted[i]) {
            continue;
        }
        const struct vt_meter_stamp before = vt_meter_now();
        vt_meter_stamped(&ret_readings[i], before, read_channel(nvml, &nvml->channels[i]));
        good += !isnan(ret_readings[i].value);
    }
    return good > 0 ? VT_OK : vt_error_set(err, VT_ERR_READ, "NVML gives no reading any more");
}

/* --- opening ------------------------------------------------------------------------------- */

/* Adds the channel if it can be read; the index of its domain, else -1. */
static int32_t add(struct nvml *nvml, unsigned gpu, const char *what, const char *device,
                   const struct channel *channel)
{
    /* What always says 0 measures nothing: the power of a GPU that is on is never 0. */
    const double now = nvml->n < VT_METER_DOMAINS_MAX ? read_channel(nvml, channel) : (double)NAN;

    if (isnan(now) || (channel->kind != CHANNEL_ENERGY && now <= 0)) {
        return -1;
    }
    struct vt_meter_domain *domain = &nvml->domains[nvml->n];
    *domain = (struct vt_meter_domain){
        .kind = channel->kind == CHANNEL_ENERGY ? VT_METER_ENERGY : VT_METER_POWER,
        .scope =
            channel->scope == VT_NVML_SCOPE_MODULE ? VT_METER_SCOPE_MODULE : VT_METER_SCOPE_GPU,
        .inside = -1,
        .resolution = 1e-3};
    (void)snprintf(domain->name, sizeof domain->name, "gpu%u %s", gpu, what);
    (void)snprintf(domain->device, sizeof domain->device, "%s", device);
    nvml->channels[nvml->n] = *channel;
    return (int32_t)nvml->n++;
}

static void note(struct nvml *nvml, int32_t domain, const char *text)
{
    char *to = domain >= 0 ? nvml->domains[domain].note : NULL;

    if (to != NULL) {
        const size_t length = strlen(to);
        (void)snprintf(to + length, sizeof nvml->domains[0].note - length, "%s%s",
                       length > 0 ? "; " : "", text);
    }
}

static int32_t add_field(struct nvml *nvml, unsigned gpu, const char *what, const char *device,
                         struct vt_nvml_device *handle, unsigned field, unsigned scope)
{
    const struct channel channel = {CHANNEL_FIELD, handle, field, scope};

    return nvml->call.fields != NULL ? add(nvml, gpu, what, device, &channel) : -1;
}

static void inside(struct nvml *nvml, int32_t domain, int32_t holder)
{
    if (domain >= 0 && domain != holder) {
        nvml->domains[domain].inside = holder;
        nvml->domains[domain].same =
            holder >= 0 && nvml->domains[domain].scope == nvml->domains[holder].scope;
    }
}

/*
 * Reading the counter makes some drivers ask the GPU and wait busily: 4.4 ms of a processor (H200,
 * driver 580), where a power takes 10 us. What is dear is read sparsely, so that it takes a 2,000th
 * of a processor; its edges are sharp all the same if the GPU says what it takes at most.
 */
static void look_at_cost(const struct nvml *nvml, struct vt_meter_domain *domain,
                         const struct channel *channel)
{
    int64_t least_ns = INT64_MAX;
    unsigned lowest = 0, highest = 0;

    if (nvml->call.bounds == NULL ||
        nvml->call.bounds(channel->device, &lowest, &highest) != VT_NVML_SUCCESS || highest == 0) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        const int64_t before = vt_thread_cpu_ns();
        (void)read_channel(nvml, channel);
        const int64_t took = vt_thread_cpu_ns() - before;
        least_ns = took < least_ns ? took : least_ns;
    }
    if (least_ns >= DEAR_NS) {
        domain->sparse_ns = least_ns * DEAR_SHARE * nvml->library.n_gpus;
        domain->most_w = 2 * (double)highest / 1e3; /* limits are kept on average only */
    }
}

static void add_gpu(struct nvml *nvml, unsigned gpu, struct vt_nvml_device *handle)
{
    char device[80];
    unsigned mig = 0, pending = 0;
    const uint32_t first = nvml->n;
    struct channel channel = {CHANNEL_ENERGY, handle, 0, VT_NVML_SCOPE_GPU};
    int32_t energy = -1;

    vt_nvml_library_gpu_name(&nvml->library, gpu, device, sizeof device);
    if (nvml->call.energy != NULL) {
        energy = add(nvml, gpu, "energy", device, &channel);
    }
    if (energy >= 0) {
        look_at_cost(nvml, &nvml->domains[energy], &channel);
    }
    const int32_t instant =
        add_field(nvml, gpu, "instant", device, handle, VT_NVML_POWER_INSTANT, VT_NVML_SCOPE_GPU);
    int32_t average =
        add_field(nvml, gpu, "average", device, handle, VT_NVML_POWER_AVERAGE, VT_NVML_SCOPE_GPU);
    const int32_t module =
        add_field(nvml, gpu, "module", device, handle, VT_NVML_POWER_INSTANT, VT_NVML_SCOPE_MODULE);
    if (instant < 0 && average < 0 && module < 0 && nvml->call.power != NULL) {
        channel.kind = CHANNEL_POWER;
        average = add(nvml, gpu, "power", device, &channel);
        note(nvml, average, "a mean over 1 s or the moment's, by model");
    }
    if (average >= 0) {
        nvml->domains[average].averaging_ns = VT_NS_PER_S;
    }
    if (energy >= 0 && instant < 0 && module >= 0) {
        /* Grace Hopper: the counter is that of the module. */
        nvml->domains[energy].scope = VT_METER_SCOPE_MODULE;
        note(nvml, energy, "processor and GPU together: never add the module's own meter");
        inside(nvml, module, energy);
    } else {
        inside(nvml, energy, module);
    }
    const int32_t best = energy >= 0 ? energy : instant >= 0 ? instant : average;
    inside(nvml, instant, best == instant ? module : best);
    inside(nvml, average, best == average ? module : best);
    if (energy < 0) {
        note(nvml, best, "no energy counter (before Volta): integrated from power");
    }
    if (nvml->call.mig != NULL && nvml->call.mig(handle, &mig, &pending) == VT_NVML_SUCCESS &&
        mig == 1) {
        for (uint32_t i = first; i < nvml->n; i++) {
            note(nvml, (int32_t)i, "MIG: device-level, shared by its instances");
        }
    }
}

static enum vt_status add_gpus(struct nvml *nvml, struct vt_error *err)
{
    const unsigned n = nvml->library.n_gpus;

    for (unsigned gpu = 0; gpu < n; gpu++) {
        if (nvml->library.gpus[gpu] != NULL) {
            add_gpu(nvml, gpu, nvml->library.gpus[gpu]);
        }
    }
    if (nvml->n == 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "%u GPU%s, but none gives its energy or power: the model or the "
                            "rights of this user do not allow it (nvidia-smi -q -d POWER)",
                            n, n == 1 ? "" : "s");
    }
    return VT_OK;
}

static void nvml_close(void *meter)
{
    struct nvml *nvml = meter;

    if (nvml == NULL) {
        return;
    }
    vt_nvml_library_close(&nvml->library);
    vt_free(nvml);
}

static enum vt_status nvml_open(const struct vt_meter_ops *self,
                                const struct vt_meter_options *options, struct vt_error *err,
                                void **ret_meter)
{
    (void)self;
    struct nvml *nvml = vt_calloc(1, sizeof *nvml);
    if (nvml == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a meter");
    }
    enum vt_status status = vt_nvml_library_open(&nvml->library, options, err);
    if (status == VT_OK) {
        const struct vt_nvml_symbol symbols[] = {
            {"nvmlDeviceGetTotalEnergyConsumption", &nvml->call.energy},
            {"nvmlDeviceGetPowerUsage", &nvml->call.power},
            {"nvmlDeviceGetFieldValues", &nvml->call.fields},
            {"nvmlDeviceGetMigMode", &nvml->call.mig},
            {"nvmlDeviceGetPowerManagementLimitConstraints", &nvml->call.bounds},
        };
        vt_nvml_library_find(&nvml->library, symbols, sizeof symbols / sizeof symbols[0]);
    }
    if (status == VT_OK) {
        status = add_gpus(nvml, err);
    }
    if (status != VT_OK) {
        nvml_close(nvml);
        return status;
    }
    *ret_meter = nvml;
    return VT_OK;
}

static const struct vt_meter_domain *nvml_domains(const void *meter, uint32_t *ret_n)
{
    const struct nvml *nvml = meter;

    *ret_n = nvml->n;
    return nvml->domains;
}

const struct vt_meter_ops vt_meter_nvml = {
    .api_version = VT_METER_API_VERSION,
    .struct_size = sizeof(struct vt_meter_ops),
    .name = "nvml",
    .summary = "NVIDIA GPUs: energy counter, instant and average power",
    .period_ns = 100 * VT_NS_PER_MS, /* as often as its powers change */
    .open = nvml_open,
    .domains = nvml_domains,
    .read = nvml_read,
    .close = nvml_close,
};
