/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep: one model measured at many settings, what each point gave, and what follows from all of
 * them. sweep.json is written from it and read back into it.
 *
 * A *setting* is a combination of one value an axis; a *point* is one repeat of a setting. Settings
 * count in nested order, the last axis fastest; points likewise, repeat by repeat. So a point's
 * place and name follow from its axes alone, whatever order they are measured in.
 *
 * Ownership: everything that pointers lead to belongs to the struct (vt_sweep_release), unless it
 * says borrowed. Numbers that were not measured are NAN.
 */
#ifndef VT_RESULT_SWEEP_H
#define VT_RESULT_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/options.h"
#include "vatio/status.h"

#define VT_SWEEP_SCHEMA_VERSION 1
#define VT_SWEEP_AXES_MAX       8
#define VT_SWEEP_VALUES_MAX     256  /* of one axis */
#define VT_SWEEP_POINTS_MAX     4096 /* with repeats */
#define VT_SWEEP_REPEATS_MAX    100
#define VT_SWEEP_BYTES_MAX      ((size_t)64 << 20) /* of sweep.json */
#define VT_SWEEP_CONFIDENCE     0.95

/* The axes that there are, in the order in which they nest. */
struct vt_sweep_axis_kind {
    const char *name; /* "batch"; the option of that name sets it */
    bool is_number;
};
#define VT_SWEEP_AXIS_KINDS 6
extern const struct vt_sweep_axis_kind vt_sweep_axis_kinds[VT_SWEEP_AXIS_KINDS];

struct vt_sweep_axis {
    const struct vt_sweep_axis_kind *kind; /* static storage */
    char unit[12];                         /* "W" of caps; "": none */
    uint32_t n;
    double *numbers; /* ascending; NULL for words */
    char **words;    /* NULL for numbers */
};

enum vt_sweep_state {
    VT_SWEEP_PENDING,
    VT_SWEEP_DONE,
    VT_SWEEP_FAILED,
    VT_SWEEP_SKIPPED, /* beyond the knee */
};

enum vt_sweep_order {
    VT_SWEEP_RANDOM,
    VT_SWEEP_LATIN,
    VT_SWEEP_FULL,
};

/* What the latency of a point is a latency of. */
enum vt_sweep_latency {
    VT_SWEEP_NO_LATENCY,
    VT_SWEEP_QUERY,   /* from the schedule of a query to its completion */
    VT_SWEEP_REQUEST, /* Offline: a full batch in the engine */
};

struct vt_sweep_measured {
    bool valid;
    char reason[256]; /* why not valid; "" */
    char metric_name[48], metric_unit[24];
    double metric;
    double samples_per_second;
    enum vt_sweep_latency latency_of;
    double mean_ns, p50_ns, p90_ns, p99_ns;
    double joules_per_sample, joules_per_sample_uncertainty;
    double samples_per_second_per_watt;
    double mean_watts;
    char meter[48];          /* whose figures these are; "" without */
    char energy_reason[512]; /* why energy was not measured; "" where it was */
};

struct vt_sweep_point {
    char id[16]; /* "p0007" */
    uint32_t setting;
    uint32_t repeat;   /* from 0 */
    uint32_t position; /* in the order of measuring, from 0 */
    enum vt_sweep_state state;
    char reason[256]; /* why failed, skipped or not valid */
    struct vt_sweep_measured measured;
    double enforced_cap; /* what the hardware said it keeps */
    double start_temperature_c;
};

/* A mean over repeats. low and high are its interval; NAN: one repeat, none is known. */
struct vt_sweep_estimate {
    double value, low, high;
    uint32_t n; /* values; 0: not measured, all others NAN */
};

struct vt_sweep_setting {
    uint32_t value[VT_SWEEP_AXES_MAX]; /* index in each axis */
    uint32_t n_done;
    uint32_t point; /* the first one that was done, which stands for the setting */
    bool valid;     /* all that were done are */
    enum vt_sweep_latency latency_of;
    bool latency_is_p99; /* else the mean: of its scenario some points have no p99 */
    struct vt_sweep_estimate throughput, latency, joules, efficiency, watts;
};

/* Whether something holds on this machine. */
enum vt_sweep_holds {
    VT_SWEEP_UNDECIDED,
    VT_SWEEP_HOLDS,
    VT_SWEEP_HOLDS_NOT,
};

#define VT_SWEEP_FIGURES_MAX 12
struct vt_sweep_figure {
    const char *name; /* static storage; the unit in its end */
    double value;
};

struct vt_sweep_statement {
    const char *name; /* "throughput_over_batch"; static storage */
    enum vt_sweep_holds holds;
    char text[768];
    struct vt_sweep_figure figures[VT_SWEEP_FIGURES_MAX];
    uint32_t n_figures;
};

/* Settings by index. */
struct vt_sweep_front {
    uint32_t *settings;
    uint32_t n;
};

#define VT_SWEEP_STATEMENTS_MAX 64
struct vt_sweep_analysis {
    struct vt_sweep_setting *settings;
    uint32_t n_settings;
    struct vt_sweep_statement *statements;
    uint32_t n_statements;
    struct vt_sweep_front latency;    /* least J/sample against least latency */
    struct vt_sweep_front throughput; /* least J/sample against most samples/s */
    struct vt_sweep_front speed;      /* most samples/s against least latency, without energy */
    bool has_recommended;
    uint32_t recommended; /* setting */
    char recommended_text[512];
};

struct vt_sweep {
    char started_utc[32];
    char model_name[256];
    char *model_path;    /* NULL: built in */
    char model_hash[24]; /* of the file; "": built in */
    char machine[192];   /* its processor */
    char version[32];    /* of vatio */
    char **command;      /* "sweep", the model, "--name=value" ...: what measures it again */
    uint32_t n_command;
    const struct vt_options *options; /* borrowed; echoed as the job */
    struct vt_sweep_axis axes[VT_SWEEP_AXES_MAX];
    uint32_t n_axes;   /* one of them is "scenario" */
    char cap_kind[64]; /* what the axis of caps sets: "rapl/package-0"; "": watts of anything */
    char caps[256];    /* what was held, and that it is back; "" */
    enum vt_sweep_order order;
    uint64_t seed;
    uint32_t repeats;
    int64_t max_latency_ns; /* limit of the recommended point; 0: none */
    double knee_tolerance;  /* a fraction */
    bool partial;
    char cooling[256]; /* how points wait for a temperature, or why they do not; "" */
    struct vt_sweep_point *points;
    uint32_t n_points, n_settings;
    struct vt_sweep_analysis analysis;
};

void vt_sweep_init(struct vt_sweep *sweep);
void vt_sweep_release(struct vt_sweep *sweep); /* accepts a zeroed one */
void vt_sweep_analysis_release(struct vt_sweep_analysis *analysis);

/* Makes the points of the axes, all pending. VT_ERR_USAGE: too many; VT_ERR_MEMORY. */
enum vt_status vt_sweep_make_points(struct vt_sweep *sweep, struct vt_error *err) VT_NODISCARD;
/* The index of a setting's value on an axis. */
uint32_t vt_sweep_value(const struct vt_sweep *sweep, uint32_t setting, uint32_t axis);
/* The axis of that name; n_axes when there is none. */
uint32_t vt_sweep_find_axis(const struct vt_sweep *sweep, const char *name);
/* A value as its option reads it: "8", "onnxruntime". Returns text. */
VT_API char *vt_sweep_value_text(const struct vt_sweep_axis *axis, uint32_t value, char *text,
                                 size_t size);
/* "batch 8, lanes 2" of a setting, for people: axes of more than one value, or all when there is
 * none such. `without` is an axis that is left out; n_axes: none. Returns text. */
VT_API char *vt_sweep_setting_text(const struct vt_sweep *sweep, uint32_t setting, uint32_t without,
                                   char *text, size_t size);
/*
 * The settings that differ from this one on `axis` alone, itself among them, by ascending value.
 * Returns their number, that of the axis's values.
 */
uint32_t vt_sweep_line(const struct vt_sweep *sweep, uint32_t setting, uint32_t axis,
                       uint32_t ret_settings[VT_SWEEP_VALUES_MAX]);

/* "p99 of a query", "mean of a request"; NULL without latency. */
const char *vt_sweep_latency_text(const struct vt_sweep_setting *setting);
/* "pending", "done", "failed", "skipped". */
VT_API const char *vt_sweep_state_text(enum vt_sweep_state state);
/* "random", "latin", "full". NULL-terminated, by enum vt_sweep_order. */
VT_API extern const char *const vt_sweep_orders[];

/* sweep.json as text in fresh memory (vt_free); numbers at full precision. */
VT_API enum vt_status vt_sweep_json(const struct vt_sweep *sweep, struct vt_error *err,
                                    char **ret_json) VT_NODISCARD;
/* Writes folder/sweep.json, whole or not at all. VT_ERR_WRITE names what cannot be written. */
enum vt_status vt_sweep_write_json(const struct vt_sweep *sweep, const char *folder,
                                   struct vt_error *err) VT_NODISCARD;

/*
 * What a sweep.json says of points that are there: read into `ret_sweep`, with axes, points and
 * command, without analysis and options; release it. `name` stands in messages. Any bytes are
 * fine: VT_ERR_FORMAT says what is wrong, VT_ERR_LIMIT what is too much. The fuzzing entry.
 */
enum vt_status vt_sweep_parse(const char *name, const char *text, size_t size, struct vt_error *err,
                              struct vt_sweep *ret_sweep) VT_NODISCARD;
/* The same of folder/sweep.json. VT_ERR_NOT_FOUND when there is none. */
enum vt_status vt_sweep_read(const char *folder, struct vt_error *err,
                             struct vt_sweep *ret_sweep) VT_NODISCARD;

/*
 * What a run left in `folder`, of one scenario in performance mode. VT_ERR_NOT_FOUND without a
 * result.json; VT_ERR_FORMAT; VT_ERR_INTERRUPTED when it is partial; VT_ERR_ENGINE with the
 * failure of that run.
 */
enum vt_status vt_sweep_read_run(const char *folder, const char *scenario, struct vt_error *err,
                                 struct vt_sweep_measured *ret_measured) VT_NODISCARD;

/* The table, statements and what is recommended. `columns` is the width; at least 40. */
VT_API void vt_sweep_print_table(const struct vt_sweep *sweep, FILE *out, int columns);
/* A duration that is no whole number, as vt_duration_text; the dash for none. Returns text. */
char *vt_sweep_time_text(double ns, char *text, size_t size);
/* "45,300 samples/s  p99 1.2 ms  0.012 J/sample" of a point that was done, its reason else.
 * Returns text. */
VT_API char *vt_sweep_point_text(const struct vt_sweep_point *point, char *text, size_t size);

#endif
