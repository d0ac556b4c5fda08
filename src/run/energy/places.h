/* SPDX-License-Identifier: Apache-2.0 */
/* Where meters look: options that all verbs with meters share. */
#ifndef VT_RUN_ENERGY_PLACES_H
#define VT_RUN_ENERGY_PLACES_H

#include <stddef.h>

#include "base/options.h"

/* NULL: the machine's own place. Borrowed from the options. */
struct vt_meter_places {
    const char *sysfs, *nvml, *replay, *ptdaemon;
};

/* Of them what caps have too: where the kernel's and NVIDIA's interfaces are. */
#define VT_CAP_PLACE_OPTIONS(at, category)                                                         \
    {"sysfs",                                                                                      \
     0,                                                                                            \
     VT_OPTION_TEXT,                                                                               \
     (at) + offsetof(struct vt_meter_places, sysfs),                                               \
     category,                                                                                     \
     "DIR",                                                                                        \
     0,                                                                                            \
     0,                                                                                            \
     NULL,                                                                                         \
     "/sys",                                                                                       \
     "where the kernel's sensors are looked for"},                                                 \
    {                                                                                              \
        "nvml-library", 0, VT_OPTION_TEXT, (at) + offsetof(struct vt_meter_places, nvml),          \
            category, "FILE", 0, 0, NULL, NULL,                                                    \
            "NVIDIA's management library (default: libnvidia-ml.so.1, as the loader finds it)"     \
    }

/* Their entries of a table of options, for a struct vt_meter_places at offset `at`. */
#define VT_METER_PLACE_OPTIONS(at, category)                                                       \
    {"replay",                                                                                     \
     0,                                                                                            \
     VT_OPTION_TEXT,                                                                               \
     (at) + offsetof(struct vt_meter_places, replay),                                              \
     category,                                                                                     \
     "FILE",                                                                                       \
     0,                                                                                            \
     0,                                                                                            \
     NULL,                                                                                         \
     NULL,                                                                                         \
     "a CSV file of seconds and watts for the meter replay"},                                      \
        {"ptdaemon",                                                                               \
         0,                                                                                        \
         VT_OPTION_TEXT,                                                                           \
         (at) + offsetof(struct vt_meter_places, ptdaemon),                                        \
         category,                                                                                 \
         "HOST:PORT",                                                                              \
         0,                                                                                        \
         0,                                                                                        \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "where SPEC's PTDaemon listens, for the meter ptdaemon"},                                 \
        VT_CAP_PLACE_OPTIONS(at, category)

#endif
