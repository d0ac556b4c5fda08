/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA GPUs through NVML: the energy counter of each (Volta and later; it moves about every 100
 * ms), instant and average power, and the power of the whole module where that is what there is.
 * Nothing is ever set. Under MIG all numbers are those of the device, shared by its instances.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "power/nvml_abi.h"
#include "power/sysfs.h"

#define LIBRARY  "libnvidia-ml.so.1"
#define GPUS_MAX 32

struct functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret);
    int (*handle)(unsigned index, struct vt_nvml_device **ret);
    /* Any of these may be missing in an old library. */
    const char *(*error_string)(int code);
    int (*name)(struct vt_nvml_device *device, char *text, unsigned size);
    int (*energy)(struct vt_nvml_device *device, unsigned long long *ret_mj);
    int (*power)(struct vt_nvml_device *device, unsigned *ret_mw);
    int (*fields)(struct vt_nvml_device *device, int n, struct vt_nvml_field *fields);
    int (*mig)(struct vt_nvml_device *device, unsigned *ret_now, unsigned *ret_pending);
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
    void *library;
    struct functions call;
    bool ready; /* init succeeded */
    uint32_t n;
    struct vt_meter_domain domains[VT_METER_DOMAINS_MAX];
    struct channel channels[VT_METER_DOMAINS_MAX];
};

/* --- the library --------------------------------------------------------------------------- */

static bool is_tegra(const struct vt_meter_options *options)
{
    char path[VT_SYSFS_PATH_MAX], text[VT_SYSFS_TEXT_MAX];

    if (vt_sysfs_path(path, "%s/devices/soc0/family", vt_sysfs_root(options)) &&
        vt_sysfs_text(path, text) == 0 && strcmp(text, "Tegra") == 0) {
        return true;
    }
    return vt_sysfs_path(path, "%s/firmware/devicetree/base/model", vt_sysfs_root(options)) &&
           vt_sysfs_text(path, text) == 0 && strstr(text, "Jetson") != NULL;
}

static enum vt_status load(struct nvml *nvml, const char *name, struct vt_error *err)
{
    const struct {
        const char *name;
        void *to;
        bool required;
    } wanted[] = {
        {"nvmlInit_v2", &nvml->call.init, true},
        {"nvmlShutdown", &nvml->call.shutdown, true},
        {"nvmlDeviceGetCount_v2", &nvml->call.count, true},
        {"nvmlDeviceGetHandleByIndex_v2", &nvml->call.handle, true},
        {"nvmlErrorString", &nvml->call.error_string, false},
        {"nvmlDeviceGetName", &nvml->call.name, false},
        {"nvmlDeviceGetTotalEnergyConsumption", &nvml->call.energy, false},
        {"nvmlDeviceGetPowerUsage", &nvml->call.power, false},
        {"nvmlDeviceGetFieldValues", &nvml->call.fields, false},
        {"nvmlDeviceGetMigMode", &nvml->call.mig, false},
    };

    nvml->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "%s is not here: install NVIDIA's driver (in a container: start it "
                            "with --gpus all and NVIDIA_DRIVER_CAPABILITIES=utility)",
                            vt_plain(name).text);
    }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *symbol = dlsym(nvml->library, wanted[i].name);
        if (symbol == NULL && wanted[i].required) {
            return vt_error_set(err, VT_ERR_UNAVAILABLE,
                                "%s lacks %s: it is too old or another library; update the driver",
                                vt_plain(name).text, wanted[i].name);
        }
        memcpy(wanted[i].to, &symbol, sizeof symbol);
    }
    return VT_OK;
}

static enum vt_status start(struct nvml *nvml, struct vt_error *err)
{
    const int code = nvml->call.init();

    if (code == VT_NVML_SUCCESS) {
        nvml->ready = true;
        return VT_OK;
    }
    const char *text = nvml->call.error_string != NULL ? nvml->call.error_string(code) : NULL;
    const char *remedy = "nvidia-smi may say more";
    switch (code) {
    case VT_NVML_DRIVER_NOT_LOADED:
        remedy = "load the driver: sudo modprobe nvidia";
        break;
    case VT_NVML_NO_PERMISSION:
        remedy = "give this user access to /dev/nvidiactl and /dev/nvidia0";
        break;
    case VT_NVML_LIBRARY_MISMATCH:
        remedy = "library and loaded driver are of different versions: restart the machine";
        break;
    default:
        break;
    }
    return vt_error_set(err, code == VT_NVML_NO_PERMISSION ? VT_ERR_READ : VT_ERR_UNAVAILABLE,
                        "NVML does not start, error %d (%.100s): %s", code,
                        text != NULL ? vt_plain(text).text : "no text", remedy);
}

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

static enum vt_status nvml_read(void *meter, struct vt_meter_reading *ret_readings,
                                struct vt_error *err)
{
    const struct nvml *nvml = meter;
    uint32_t good = 0;

    for (uint32_t i = 0; i < nvml->n; i++) {
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
    }
}

static void add_gpu(struct nvml *nvml, unsigned gpu, struct vt_nvml_device *handle)
{
    char device[80] = "NVIDIA GPU";
    unsigned mig = 0, pending = 0;
    const uint32_t first = nvml->n;
    struct channel channel = {CHANNEL_ENERGY, handle, 0, VT_NVML_SCOPE_GPU};
    int32_t energy = -1;

    if (nvml->call.name != NULL &&
        nvml->call.name(handle, device, sizeof device) != VT_NVML_SUCCESS) {
        (void)snprintf(device, sizeof device, "NVIDIA GPU");
    }
    device[sizeof device - 1] = '\0';
    (void)vt_tame(device);
    if (nvml->call.energy != NULL) {
        energy = add(nvml, gpu, "energy", device, &channel);
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
    unsigned n = 0;
    struct vt_nvml_device *handle = NULL;
    const int code = nvml->call.count(&n);

    if (code != VT_NVML_SUCCESS || n == 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "NVML sees no GPU%s: nvidia-smi -L should list one (in a container, "
                            "start it with --gpus all)",
                            code != VT_NVML_SUCCESS ? " (it cannot count them)" : "");
    }
    for (unsigned gpu = 0; gpu < n && gpu < GPUS_MAX; gpu++) {
        if (nvml->call.handle(gpu, &handle) == VT_NVML_SUCCESS) {
            add_gpu(nvml, gpu, handle);
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
    if (nvml->ready) {
        (void)nvml->call.shutdown();
    }
    if (nvml->library != NULL) {
        (void)dlclose(nvml->library);
    }
    vt_free(nvml);
}

static enum vt_status nvml_open(const struct vt_meter_ops *self,
                                const struct vt_meter_options *options, struct vt_error *err,
                                void **ret_meter)
{
    const char *name =
        options != NULL && options->nvml_library != NULL ? options->nvml_library : LIBRARY;

    (void)self;
    /* NVML answers there, with zeros. */
    if (is_tegra(options)) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "this is a Jetson, whose GPU NVML does not measure: use the meter "
                            "jetson");
    }
    struct nvml *nvml = vt_calloc(1, sizeof *nvml);
    if (nvml == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a meter");
    }
    enum vt_status status = load(nvml, name, err);
    if (status == VT_OK) {
        status = start(nvml, err);
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
    .period_ns = 50 * VT_NS_PER_MS,
    .open = nvml_open,
    .domains = nvml_domains,
    .read = nvml_read,
    .close = nvml_close,
};
