/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam of meters: sources of energy or power readings.
 *
 * A meter has domains: what it can tell apart (a package, a rail, a GPU). A domain is either a
 * counter of joules or a reading of watts. Domains overlap: a package holds its cores, a board its
 * modules. So each says in which other one of the same meter it lies, and only those that lie in
 * none may be added up. Beside them a meter may tell what is neither (VT_METER_OTHER): it is kept
 * along and never part of an energy.
 *
 * The meters that are there stand in one table, in meter_table.c.
 */
#ifndef VT_POWER_METER_H
#define VT_POWER_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_METER_API_VERSION 1
/* Domains of one meter. */
#define VT_METER_DOMAINS_MAX 128

enum vt_meter_kind {
    VT_METER_ENERGY, /* a counter, J since some moment in the past */
    VT_METER_POWER,  /* W */
    VT_METER_OTHER,  /* what is read beside them and is no power: a temperature, a clock */
};

/* A bit of a reading that is a set of reasons. */
struct vt_meter_flag {
    uint64_t bit;
    const char *text; /* "power cap" */
};

enum vt_meter_scope {
    VT_METER_SCOPE_PART,     /* cores, a rail: less than a device */
    VT_METER_SCOPE_PACKAGE,  /* a processor */
    VT_METER_SCOPE_MEMORY,   /* its memory */
    VT_METER_SCOPE_GPU,      /* a GPU with its board */
    VT_METER_SCOPE_MODULE,   /* processor, GPU and memory on one module */
    VT_METER_SCOPE_PLATFORM, /* a machine as far as its own sensors see */
    VT_METER_SCOPE_WALL,     /* everything, before the power supply */
    VT_METER_SCOPE_NONE,     /* nothing of this machine: null, replay */
};

struct vt_meter_domain {
    char name[48];   /* "package-0", "VDD_IN", "gpu0 energy"; once in a meter */
    char device[80]; /* "socket 0", "NVIDIA H200" */
    enum vt_meter_kind kind;
    enum vt_meter_scope scope;
    /* The domain of this meter whose readings hold this one's too, or which measures the same in
     * a better way; -1: none. A sum over a meter takes the domains with -1. */
    int32_t inside;
    bool same;         /* that one measures just the same: the two can be compared */
    double modulus_j;  /* where a counter begins again at 0; 0: never within reach */
    double resolution; /* the smallest difference it tells, J or W; 0: not known */
    double accuracy;   /* its class, relative: 0.01 is 1 %; 0: not known, and not counted */
    /* Reading it costs milliseconds of a processor, so that away from the edges of windows it is
     * read only so often; 0: with its meter. */
    int64_t sparse_ns;
    double most_w;        /* it never takes more; 0: not known */
    int64_t averaging_ns; /* a reading of watts is a mean over so long; 0: not known or none */
    bool stamped;         /* readings carry the moment of measuring, not that of reading */
    char note[200];       /* what a reader must know; "" */
    /* VT_METER_OTHER: "°C", "MHz"; with flags the reading is a set of bits. */
    char unit[12];
    const struct vt_meter_flag *flags; /* static; NULL: a number */
    uint32_t n_flags;
};

struct vt_meter_reading {
    double value; /* J or W; NAN: this domain could not be read now */
    int64_t ns;   /* monotonic, of the middle of the reading or, where stamped, of the measuring */
    int64_t unix_ns;
};

/* Where meters look; NULL: the machine's own place. For tests, containers and replays. */
struct vt_meter_options {
    const char *sysfs;        /* "/sys" */
    const char *nvml_library; /* "libnvidia-ml.so.1", as dlopen finds it */
    const char *replay_file;  /* CSV of seconds and watts */
    const char *ptdaemon;     /* HOST:PORT */
    /* The ranges of the analyzer behind it, as an earlier run showed that they are needed; 0: it
     * finds them itself, again and again, and loses accuracy while it does. */
    double ptdaemon_volts, ptdaemon_amps;
};

struct vt_meter_ops {
    uint32_t api_version; /* VT_METER_API_VERSION */
    uint32_t struct_size; /* sizeof(struct vt_meter_ops) */
    const char *name;     /* required; "rapl" */
    const char *summary;  /* required; one line */
    const void *family;   /* the meter's own: meters of one kind share their functions */
    /* Required. How often it is worth reading. */
    int64_t period_ns;
    /*
     * Optional: without it, open says. VT_OK, or why it cannot measure here and the exact remedy:
     * VT_ERR_UNAVAILABLE (no such sensor or driver), VT_ERR_READ (no permission), VT_ERR_USAGE (an
     * option is missing). Any thread; may block for a second.
     */
    enum vt_status (*probe)(const struct vt_meter_ops *self, const struct vt_meter_options *options,
                            struct vt_error *err);
    /* Required. As probe; the options live until it returns. */
    enum vt_status (*open)(const struct vt_meter_ops *self, const struct vt_meter_options *options,
                           struct vt_error *err, void **ret_meter);
    /* Required. Any thread; never blocks. Owned by the meter, valid until close. */
    const struct vt_meter_domain *(*domains)(const void *meter, uint32_t *ret_n);
    /*
     * Required. One thread at a time; may block as long as the hardware takes (an I2C register 0.5
     * ms), allocates nothing. Writes a reading a domain; a domain that fails is NAN while others go
     * on. `wanted` says which domains are asked for, NULL: all; the readings of others are not
     * looked at. VT_ERR_READ only when none of those could be read.
     */
    enum vt_status (*read)(void *meter, const bool *wanted, struct vt_meter_reading *ret_readings,
                           struct vt_error *err);
    /*
     * Optional, for meters that tell their readings in the end only, whose read then gives nothing
     * (a time before all others). Called once, after the last read, by the thread that stops the
     * sampler; may block for seconds, and may add to its domains' notes. Passes every reading to
     * `keep`, in order of time.
     */
    enum vt_status (*finish)(void *meter,
                             void (*keep)(void *ctx, uint32_t domain,
                                          const struct vt_meter_reading *reading),
                             void *ctx, struct vt_error *err);
    /* Required. No read is under way; accepts NULL. */
    void (*close)(void *meter);
};

/* All meters. Static storage. */
const struct vt_meter_ops *const *vt_meter_table(size_t *ret_n);
/* VT_ERR_USAGE with the nearest name. */
enum vt_status vt_meter_find(const char *name, struct vt_error *err,
                             const struct vt_meter_ops **ret) VT_NODISCARD;
/* Whether it can measure here: the probe, or opening and closing. */
enum vt_status vt_meter_probe(const struct vt_meter_ops *ops,
                              const struct vt_meter_options *options,
                              struct vt_error *err) VT_NODISCARD;
/* "package", "GPU": for people. Static storage. */
const char *vt_meter_scope_text(enum vt_meter_scope scope);

/* --- for meters ---------------------------------------------------------------------------- */

/* Both clocks, read together. */
struct vt_meter_stamp {
    int64_t ns, unix_ns;
};
struct vt_meter_stamp vt_meter_now(void);
/* A reading that began at `before` and ends now. */
void vt_meter_stamped(struct vt_meter_reading *reading, struct vt_meter_stamp before, double value);

extern const struct vt_meter_ops vt_meter_rapl;
extern const struct vt_meter_ops vt_meter_nvml;
extern const struct vt_meter_ops vt_meter_jetson;
extern const struct vt_meter_ops vt_meter_acpi;
extern const struct vt_meter_ops vt_meter_amdgpu;
extern const struct vt_meter_ops vt_meter_ptdaemon;
extern const struct vt_meter_ops vt_meter_replay;
extern const struct vt_meter_ops vt_meter_null;

#endif
