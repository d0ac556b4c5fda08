/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What meters read during one run: joules by meter and domain with how far off they may be, what
 * follows from them, and what was read beside them. Plain values; a figure that there is not is
 * NAN.
 *
 * Ownership: an energy owns its arrays (vt_result_energy_free); the names of meters, scopes and
 * tiers are static.
 */
#ifndef VT_RESULT_ENERGY_H
#define VT_RESULT_ENERGY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "vatio/status.h"

/* Over the window. */
struct vt_energy_figures {
    bool measured;
    double joules, uncertainty_j; /* gross */
    double mean_w, peak_w;
    double mlperf_w; /* plain mean of the readings strictly inside; NAN for counters */
    double above_idle_j, above_idle_uncertainty_j; /* NAN where idle was not measured */
    char failure[256];                             /* when not measured */
};

struct vt_energy_domain {
    char name[48], device[80], note[200];
    char inside[48]; /* the domain that holds this one's joules; "" */
    bool same;       /* and measures just the same */
    bool counter;    /* of joules; else a reading of watts */
    const char *scope;
    struct vt_energy_figures figures;
    double edges_j, quantum_j, class_j; /* parts of the uncertainty */
    uint64_t readings;                  /* strictly inside the window */
    int64_t update_ns;                  /* 0: not known */
    bool update_at_most;
};

struct vt_energy_meter {
    const char *name;
    struct vt_energy_figures total; /* over the domains that lie in no other */
    struct vt_energy_domain *domains;
    uint32_t n_domains;
    double idle_w, idle_uncertainty_w; /* NAN where idle was not measured */
};

/* Two domains that measure the same. */
struct vt_energy_difference {
    char a[64], b[64]; /* "nvml/gpu0 energy" */
    double percent;    /* of b over a */
    bool within_uncertainty;
};

/* What was read along the window and is no power: a temperature, a clock. */
struct vt_energy_series {
    char name[64];
    char unit[16];
    double start, min, mean, max;
};

/* A reason for which a device was slower than it could be, and how much of the window. */
struct vt_energy_throttle {
    char device[64];
    const char *reason;
    double share_percent;
};

struct vt_result_energy {
    bool measured;
    char reason[VT_ERROR_TEXT_MAX]; /* when not: why, and what to do */
    const char *tier;               /* "informative", "ptdaemon" */
    int64_t window_ns;
    int64_t window_begin_unix_ms;
    uint32_t headline; /* the meter whose total stands for the run */
    struct vt_energy_meter *meters;
    uint32_t n_meters;
    /* Of the headline. */
    double joules_per_sample;
    double samples_per_joule; /* samples a second and watt */
    double mj_per_query;      /* streams */
    double joules_per_token;
    double mlperf_mj_per_query, mlperf_samples_per_joule; /* by its own mean of powers */
    struct vt_energy_difference *differences;
    uint32_t n_differences;
    struct vt_energy_series *series;
    uint32_t n_series;
    struct vt_energy_throttle *throttles;
    uint32_t n_throttles;
    int64_t idle_ns; /* how long idle was measured before; 0: it was not */
    bool has_tracks; /* power.csv lies beside the records */
    /* What metering took, over the whole job. */
    int64_t cpu_ns, wall_ns;
    uint64_t rounds;
};

/* A meter that cannot measure here. */
struct vt_energy_unavailable {
    const char *name;
    char reason[VT_ERROR_TEXT_MAX];
};
#define VT_ENERGY_UNAVAILABLE_MAX 16

void vt_result_energy_free(struct vt_result_energy *energy); /* accepts NULL */

/* Three to four digits with a fitting unit: "3.21 mJ", "1,234 J". */
char *vt_joules_text(double joules, char *text, size_t size);

#endif
