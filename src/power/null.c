/* SPDX-License-Identifier: Apache-2.0 */
/* The meter of nothing: what reading it costs is what sampling costs. */
#include "power/meter.h"

static const struct vt_meter_domain domain = {
    .name = "nothing",
    .device = "no device",
    .kind = VT_METER_POWER,
    .scope = VT_METER_SCOPE_NONE,
    .inside = -1,
    .note = "always 0 W: measures what metering itself costs, and no machine",
};
static char open_meter;

static enum vt_status null_open(const struct vt_meter_ops *self,
                                const struct vt_meter_options *options, struct vt_error *err,
                                void **ret_meter)
{
    (void)self;
    (void)options;
    (void)err;
    *ret_meter = &open_meter;
    return VT_OK;
}

static const struct vt_meter_domain *null_domains(const void *meter, uint32_t *ret_n)
{
    (void)meter;
    *ret_n = 1;
    return &domain;
}

static enum vt_status null_read(void *meter, const bool *wanted,
                                struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    (void)wanted;
    (void)meter;
    (void)err;
    vt_meter_stamped(&ret_readings[0], vt_meter_now(), 0.0);
    return VT_OK;
}

static void null_close(void *meter)
{
    (void)meter;
}

const struct vt_meter_ops vt_meter_null = {
    .api_version = VT_METER_API_VERSION,
    .struct_size = sizeof(struct vt_meter_ops),
    .name = "null",
    .summary = "measures nothing: the cost of metering itself",
    .period_ns = 50000000,
    .open = null_open,
    .domains = null_domains,
    .read = null_read,
    .close = null_close,
};
