/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs, through NVML: temperatures, clocks, and what holds the clocks down. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "power/nvml_library.h"
#include "power/telemetry.h"

/* Of the many that a machine may have: five things each. */
#define THINGS_MAX VT_METER_DOMAINS_MAX

/* NVML's numbers. */
enum {
    SENSOR_GPU = 0,
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2,
    FIELD_MEMORY_TEMPERATURE = 82,
};

enum thing { TEMPERATURE, MEMORY_TEMPERATURE, SM_CLOCK, MEMORY_CLOCK, SLOWED_BY, THINGS };

static const struct {
    const char *name, *unit;
} things[THINGS] = {
    [TEMPERATURE] = {"temperature", "\xc2\xb0"
                                    "C"},
    [MEMORY_TEMPERATURE] = {"memory temperature", "\xc2\xb0"
                                                  "C"},
    [SM_CLOCK] = {"SM clock", "MHz"},
    [MEMORY_CLOCK] = {"memory clock", "MHz"},
    [SLOWED_BY] = {"slowed by", "bits"},
};

/* Of nvmlDeviceGetCurrentClocksEventReasons; bit 0, that the GPU idles, is none. */
static const struct vt_meter_flag reasons[] = {
    {0x2, "application clocks"}, {0x4, "power cap"},         {0x8, "hardware slowdown"},
    {0x10, "sync boost"},        {0x20, "software thermal"}, {0x40, "hardware thermal"},
    {0x80, "power brake"},       {0x100, "display clocks"},
};

struct gpus {
    struct vt_nvml_library library;
    /* Any of these may be missing. */
    int (*temperature)(struct vt_nvml_device *device, int sensor, unsigned *ret_celsius);
    int (*clock)(struct vt_nvml_device *device, int type, unsigned *ret_mhz);
    int (*reasons)(struct vt_nvml_device *device, unsigned long long *ret_bits);
    int (*fields)(struct vt_nvml_device *device, int n, struct vt_nvml_field *fields);
    uint32_t n;
    struct vt_meter_domain domains[THINGS_MAX];
    struct {
        struct vt_nvml_device *device;
        enum thing thing;
    } at[THINGS_MAX];
};

static double memory_temperature(const struct gpus *gpus, struct vt_nvml_device *device)
{
    struct vt_nvml_field field = {.field = FIELD_MEMORY_TEMPERATURE};

    const bool told = gpus->fields != NULL && gpus->fields(device, 1, &field) == VT_NVML_SUCCESS &&
                      field.result == VT_NVML_SUCCESS && field.type == VT_NVML_TYPE_UINT;
    return told ? field.value.u : (double)NAN;
}

static double read_thing(const struct gpus *gpus, struct vt_nvml_device *device, enum thing thing)
{
    unsigned value = 0;
    unsigned long long bits = 0;
    int code = VT_NVML_NOT_SUPPORTED;

    switch (thing) {
    case TEMPERATURE:
        code = gpus->temperature != NULL ? gpus->temperature(device, SENSOR_GPU, &value) : code;
        break;
    case SM_CLOCK:
    case MEMORY_CLOCK:
        code = gpus->clock != NULL
                   ? gpus->clock(device, thing == SM_CLOCK ? CLOCK_SM : CLOCK_MEMORY, &value)
                   : code;
        break;
    case SLOWED_BY:
        code = gpus->reasons != NULL ? gpus->reasons(device, &bits) : code;
        return code == VT_NVML_SUCCESS ? (double)bits : (double)NAN;
    case MEMORY_TEMPERATURE:
    case THINGS:
        return memory_temperature(gpus, device);
    }
    return code == VT_NVML_SUCCESS ? value : (double)NAN;
}

static void add(struct gpus *gpus, unsigned gpu, enum thing thing)
{
    struct vt_nvml_device *device = gpus->library.gpus[gpu];

    if (gpus->n == THINGS_MAX || isnan(read_thing(gpus, device, thing))) {
        return;
    }
    struct vt_meter_domain *domain = &gpus->domains[gpus->n];
    *domain =
        (struct vt_meter_domain){.kind = VT_METER_OTHER, .scope = VT_METER_SCOPE_GPU, .inside = -1};
    (void)snprintf(domain->name, sizeof domain->name, "gpu%u %s", gpu, things[thing].name);
    (void)snprintf(domain->unit, sizeof domain->unit, "%s", things[thing].unit);
    vt_nvml_library_gpu_name(&gpus->library, gpu, domain->device, sizeof domain->device);
    if (thing == SLOWED_BY) {
        domain->flags = reasons;
        domain->n_flags = sizeof reasons / sizeof reasons[0];
    }
    gpus->at[gpus->n].device = device;
    gpus->at[gpus->n++].thing = thing;
}

static void gpu_close(void *meter)
{
    struct gpus *gpus = meter;

    if (gpus != NULL) {
        vt_nvml_library_close(&gpus->library);
        vt_free(gpus);
    }
}

static void find_functions(struct gpus *gpus)
{
    const struct vt_nvml_symbol symbols[] = {
        {"nvmlDeviceGetTemperature", &gpus->temperature},
        {"nvmlDeviceGetClockInfo", &gpus->clock},
        {"nvmlDeviceGetCurrentClocksEventReasons", &gpus->reasons},
        {"nvmlDeviceGetFieldValues", &gpus->fields},
    };
    /* Its name before driver 535. */
    const struct vt_nvml_symbol former[] = {
        {"nvmlDeviceGetCurrentClocksThrottleReasons", &gpus->reasons}};

    vt_nvml_library_find(&gpus->library, symbols, sizeof symbols / sizeof symbols[0]);
    if (gpus->reasons == NULL) {
        vt_nvml_library_find(&gpus->library, former, 1);
    }
}

static enum vt_status gpu_open(const struct vt_meter_ops *self,
                               const struct vt_meter_options *options, struct vt_error *err,
                               void **ret_meter)
{
    struct gpus *gpus = vt_calloc(1, sizeof *gpus);

    (void)self;
    if (gpus == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for sensors");
    }
    enum vt_status status = vt_nvml_library_open(&gpus->library, options, err);
    if (status == VT_OK) {
        find_functions(gpus);
        for (unsigned gpu = 0; gpu < gpus->library.n_gpus; gpu++) {
            for (int t = 0; gpus->library.gpus[gpu] != NULL && t < THINGS; t++) {
                add(gpus, gpu, (enum thing)t);
            }
        }
        status = gpus->n > 0 ? VT_OK
                             : vt_error_set(err, VT_ERR_UNAVAILABLE,
                                            "no GPU tells its temperature or clocks");
    }
    if (status != VT_OK) {
        gpu_close(gpus);
        return status;
    }
    *ret_meter = gpus;
    return VT_OK;
}

static const struct vt_meter_domain *gpu_domains(const void *meter, uint32_t *ret_n)
{
    const struct gpus *gpus = meter;

    *ret_n = gpus->n;
    return gpus->domains;
}

static enum vt_status gpu_read(void *meter, const bool *wanted,
                               struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    (void)wanted;
    const struct gpus *gpus = meter;
    uint32_t good = 0;

    for (uint32_t i = 0; i < gpus->n; i++) {
        const struct vt_meter_stamp before = vt_meter_now();
        const double value = read_thing(gpus, gpus->at[i].device, gpus->at[i].thing);
        vt_meter_stamped(&ret_readings[i], before, value);
        good += !isnan(value);
    }
    return good > 0 ? VT_OK : vt_error_set(err, VT_ERR_READ, "NVML gives no reading any more");
}

const struct vt_meter_ops vt_telemetry_gpu = {
    .api_version = VT_METER_API_VERSION,
    .struct_size = sizeof(struct vt_meter_ops),
    .name = "gpu",
    .summary = "temperature, clocks and slow-down reasons of NVIDIA GPUs",
    .period_ns = VT_TELEMETRY_PERIOD_NS,
    .open = gpu_open,
    .domains = gpu_domains,
    .read = gpu_read,
    .close = gpu_close,
};
