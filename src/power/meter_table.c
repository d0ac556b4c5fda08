/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/quote.h"
#include "power/meter.h"

static const struct vt_meter_ops *const table[] = {
    &vt_meter_nvml,   &vt_meter_rapl,     &vt_meter_jetson, &vt_meter_acpi,
    &vt_meter_amdgpu, &vt_meter_ptdaemon, &vt_meter_replay, &vt_meter_null,
};
#define TABLE_SIZE (sizeof table / sizeof table[0])

const struct vt_meter_ops *const *vt_meter_table(size_t *ret_n)
{
    *ret_n = TABLE_SIZE;
    return table;
}

enum vt_status vt_meter_find(const char *name, struct vt_error *err,
                             const struct vt_meter_ops **ret)
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
    return vt_error_set(err, VT_ERR_USAGE, "no meter %s%s%s%s; `vatio meters` lists them",
                        vt_quote(name).text, near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
}

enum vt_status vt_meter_probe(const struct vt_meter_ops *ops,
                              const struct vt_meter_options *options, struct vt_error *err)
{
    void *meter = NULL;

    if (ops->probe != NULL) {
        return ops->probe(ops, options, err);
    }
    enum vt_status status = ops->open(ops, options, err, &meter);
    if (status == VT_OK) {
        ops->close(meter);
    }
    return status;
}

const char *vt_meter_scope_text(enum vt_meter_scope scope)
{
    static const char *const texts[] = {
        [VT_METER_SCOPE_PART] = "part",     [VT_METER_SCOPE_PACKAGE] = "package",
        [VT_METER_SCOPE_MEMORY] = "memory", [VT_METER_SCOPE_GPU] = "GPU",
        [VT_METER_SCOPE_MODULE] = "module", [VT_METER_SCOPE_PLATFORM] = "platform",
        [VT_METER_SCOPE_WALL] = "wall",     [VT_METER_SCOPE_NONE] = "not this machine",
    };
    return (size_t)scope < sizeof texts / sizeof texts[0] ? texts[scope] : "?";
}

struct vt_meter_stamp vt_meter_now(void)
{
    struct timespec wall;
    struct vt_meter_stamp stamp = {.ns = vt_now_ns()};

    (void)clock_gettime(CLOCK_REALTIME, &wall);
    stamp.unix_ns = (int64_t)wall.tv_sec * VT_NS_PER_S + wall.tv_nsec;
    return stamp;
}

void vt_meter_stamped(struct vt_meter_reading *reading, struct vt_meter_stamp before, double value)
{
    const int64_t half = (vt_now_ns() - before.ns) / 2;

    *reading = (struct vt_meter_reading){value, before.ns + half, before.unix_ns + half};
}
