/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_job.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number_list.h"
#include "base/quote.h"
#include "power/cap/cap.h"
#include "run/job_part.h"

#define FIELD(name) offsetof(struct vt_sweep_job, name)
#define JOB(name)   offsetof(struct vt_sweep_job, job.name)

static const struct vt_option own_options[] = {
    {"batch", 'b', VT_OPTION_TEXT, FIELD(batches), "Axes", "LIST", 0, 0, NULL, "1..64",
     "samples in one request at most: 1,2,4 or 1..256 (doubling) or 200..700:50 (steps) or "
     "200,300..700 (going on as before)"},
    {"lanes", 'l', VT_OPTION_TEXT, FIELD(lanes), "Axes", "LIST", 0, 0, NULL, NULL,
     "independent streams of execution (default: the engine's best)"},
    {"threads", 't', VT_OPTION_TEXT, FIELD(threads), "Axes", "LIST", 0, 0, NULL, NULL,
     "CPU threads for the whole engine (default: every usable CPU)"},
    {"cap", 0, VT_OPTION_TEXT, FIELD(caps), "Axes", "[KIND=]LIST", 0, 0, NULL, NULL,
     "limits of power or clocks that are held while a point runs and put back in the end: "
     "200,300..700 (watts), rapl=60..120:20, cpufreq=1200000,2400000 (kHz); `vatio caps` says what "
     "works here (default: none is touched)"},
    {"engine", 'e', VT_OPTION_TEXT, FIELD(engines), "Axes", "E[,E]", 0, 0, NULL, "native",
     "engines that `vatio list` names, or paths of engine modules"},
    {"scenario", 's', VT_OPTION_TEXT, FIELD(scenarios), "Axes", "NAME[,NAME]", 0, 0, NULL,
     "offline", "offline, server, singlestream, multistream, or all of them"},

    {"order", 0, VT_OPTION_CHOICE, FIELD(order), "Order", "ORDER", 0, 0, vt_sweep_orders, "random",
     "random: shuffled, each repeat anew; latin: each repeat gives every setting another place; "
     "full: nested, the batch fastest"},
    {"order-seed", 0, VT_OPTION_INT, FIELD(order_seed), "Order", "N", 0, 9e15, NULL, "1",
     "seed of the order"},
    {"repeats", 'r', VT_OPTION_INT, FIELD(repeats), "Order", "N", 1, VT_SWEEP_REPEATS_MAX, NULL,
     "1", "measure every setting so often; from 2 on statements have intervals"},
    {"until-knee", 0, VT_OPTION_FLAG, FIELD(until_knee), "Order", NULL, 0, 0, NULL, NULL,
     "go up in batch and leave out the rest after two sizes in a row that did not raise the "
     "throughput by the tolerance"},
    {"knee-tolerance", 0, VT_OPTION_REAL, FIELD(knee_percent), "Order", "PERCENT", 0.1, 50, NULL,
     "5", "within so much of the highest throughput a batch counts as saturated"},
    {"warm-up", 0, VT_OPTION_DURATION, FIELD(warm_up_ns), "Order", "T", 0, 3.6e12, NULL, "5s",
     "work so long before the first point and throw the figures away; 0: none"},
    {"pause", 0, VT_OPTION_DURATION, FIELD(pause_ns), "Order", "T", 0, 3.6e12, NULL, "0s",
     "rest before every point"},
    {"cool-to", 0, VT_OPTION_TEXT, FIELD(cool_to), "Order", "C", 0, 0, NULL, NULL,
     "wait before every point until the hottest processor is at most so warm: 55C"},
    {"cool-limit", 0, VT_OPTION_DURATION, FIELD(cool_limit_ns), "Order", "T", 0, 8.64e13, NULL,
     "5m", "but not longer than this"},
    {"point-limit", 0, VT_OPTION_DURATION, FIELD(point_limit_ns), "Order", "T", 0, 8.64e14, NULL,
     "0s", "a point that takes longer has failed; 0: any time"},

    {"max-latency", 0, VT_OPTION_DURATION, JOB(max_latency_ns), "Load", "T", 1e3, 3.6e12, NULL,
     NULL,
     "the recommended point answers within this; Server: bound of the p99 latency of every point, "
     "too"},
    {"output", 'o', VT_OPTION_TEXT, JOB(output), "Result", "DIR", 0, 0, NULL, NULL,
     "folder for sweep.json and the points (default: runs/<time>-<model>-sweep); a sweep that lies "
     "there already goes on"},
    {"resume", 0, VT_OPTION_TEXT, FIELD(resume), "Result", "DIR", 0, 0, NULL, NULL,
     "go on with the sweep in DIR, with the model and the options that it was begun with"},
    {"retry-failed", 0, VT_OPTION_FLAG, FIELD(retry_failed), "Result", NULL, 0, 0, NULL, NULL,
     "going on, measure points that failed once more"},
};
#define N_OWN (sizeof own_options / sizeof own_options[0])

/* What run has and a sweep sets itself, or has in another form. */
static const char *const left_out[] = {
    "batch", "lanes",        "threads", "engine", "scenario",    "mode", "test",
    "cap",   "allow-reboot", "output",  "model",  "max-latency", NULL};

/* These change how a sweep goes about it, not what its points are. */
static const char *const free_options[] = {"output",      "resume",  "retry-failed", "json",
                                           "pause",       "cool-to", "cool-limit",   "warm-up",
                                           "point-limit", NULL};

#define OPTIONS_MOST 128
static struct vt_option options[OPTIONS_MOST];
static struct vt_option_table table = {options, 0, sizeof(struct vt_sweep_job)};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build_table(void)
{
    _Static_assert(offsetof(struct vt_sweep_job, job) == 0, "the job stands first");
    memcpy(options, own_options, sizeof own_options);
    table.n_options = vt_job_all_options(options, N_OWN, OPTIONS_MOST, left_out);
}

const struct vt_option_table *vt_sweep_options(void)
{
    (void)pthread_once(&once, build_table);
    return &table;
}

bool vt_sweep_option_counts(const char *name)
{
    for (size_t i = 0; free_options[i] != NULL; i++) {
        if (strcmp(free_options[i], name) == 0) {
            return false;
        }
    }
    return true;
}

enum vt_status vt_sweep_parse_celsius(const char *text, struct vt_error *err, double *ret_celsius)
{
    char number[32];
    size_t length = strlen(text);
    double value = 0;

    if (length > 0 && text[length - 1] == 'C') {
        length--;
    }
    (void)snprintf(number, sizeof number, "%.*s", (int)(length < 32 ? length : 31), text);
    if (vt_parse_real(number, &value, NULL) != VT_OK || value < 1 || value > 150) {
        return vt_error_set(err, VT_ERR_USAGE, "--cool-to %s: allowed 1C..150C",
                            vt_plain(text).text);
    }
    *ret_celsius = value;
    return VT_OK;
}

/* --- axes ------------------------------------------------------------------------------------ */

static enum vt_status number_axis(const char *text, const struct vt_number_limits *limits,
                                  struct vt_error *err, struct vt_sweep_axis *axis)
{
    struct vt_number_list list;

    enum vt_status status = vt_number_list_parse(text, limits, err, &list);
    if (status != VT_OK) {
        vt_error_prefix(err, "--%s", axis->kind->name);
        return status;
    }
    axis->numbers = list.items;
    axis->n = (uint32_t)list.count;
    return VT_OK;
}

/* "rapl/package-0=60..120": the kind stands before the values. */
static enum vt_status cap_axis(const char *text, struct vt_error *err, struct vt_sweep *sweep,
                               struct vt_sweep_axis *axis)
{
    const struct vt_number_limits limits = {0, 1e9, false, VT_SWEEP_VALUES_MAX};
    const char *equals = strchr(text, '=');
    size_t length = equals != NULL ? (size_t)(equals - text) : 0;
    struct vt_cap_wish wish;
    char first[128], number[40];

    if (length >= sizeof sweep->cap_kind) {
        return vt_error_set(err, VT_ERR_USAGE, "--cap %s: no kind is so long", vt_plain(text).text);
    }
    (void)snprintf(sweep->cap_kind, sizeof sweep->cap_kind, "%.*s", (int)length, text);
    enum vt_status status = number_axis(equals != NULL ? equals + 1 : text, &limits, err, axis);
    if (status != VT_OK) {
        return status;
    }
    vt_format_real(axis->numbers[0], number, sizeof number);
    (void)snprintf(first, sizeof first, "%s%s%s", sweep->cap_kind, length > 0 ? "=" : "", number);
    status = vt_cap_wish_parse(first, err, &wish);
    if (status != VT_OK) {
        vt_error_prefix(err, "--cap");
        return status;
    }
    (void)snprintf(axis->unit, sizeof axis->unit, "%s", wish.kind != NULL ? wish.kind->unit : "W");
    return VT_OK;
}

static enum vt_status add_word(struct vt_sweep_axis *axis, const char *text, size_t length,
                               struct vt_error *err)
{
    if (length == 0 || axis->n == VT_SWEEP_VALUES_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "--%s: %s", axis->kind->name,
                            length == 0 ? "a name is missing" : "too many names");
    }
    for (uint32_t i = 0; i < axis->n; i++) {
        if (strlen(axis->words[i]) == length && memcmp(axis->words[i], text, length) == 0) {
            return VT_OK; /* each once */
        }
    }
    char **words =
        vt_regrow(axis->words, axis->n * sizeof words[0], (axis->n + 1) * sizeof words[0]);
    if (words == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    axis->words = words;
    words[axis->n] = vt_strndup(text, length);
    if (words[axis->n] == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    axis->n++;
    return VT_OK;
}

static enum vt_status engine_axis(const char *text, struct vt_error *err,
                                  struct vt_sweep_axis *axis)
{
    enum vt_status status = VT_OK;

    for (const char *at = text; status == VT_OK; at++) {
        size_t length = strcspn(at, ",");
        status = add_word(axis, at, length, err);
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    return status;
}

static enum vt_status scenario_axis(const char *text, struct vt_error *err,
                                    struct vt_sweep_axis *axis)
{
    struct vt_job job = {.scenario = text};
    bool wanted[VT_SCENARIO_COUNT];

    enum vt_status status = vt_job_scenarios(&job, err, wanted);
    for (int i = 0; i < VT_SCENARIO_COUNT && status == VT_OK; i++) {
        if (wanted[i]) {
            const char *key = vt_scenario_key((enum vt_scenario)i);
            status = add_word(axis, key, strlen(key), err);
        }
    }
    return status;
}

static const char *axis_text(const struct vt_sweep_job *job, const char *name)
{
    return strcmp(name, "scenario") == 0  ? job->scenarios
           : strcmp(name, "engine") == 0  ? job->engines
           : strcmp(name, "batch") == 0   ? job->batches
           : strcmp(name, "lanes") == 0   ? job->lanes
           : strcmp(name, "threads") == 0 ? job->threads
           : strcmp(name, "cap") == 0     ? job->caps
                                          : NULL;
}

enum vt_status vt_sweep_make_axes(const struct vt_sweep_job *job, struct vt_error *err,
                                  struct vt_sweep *sweep)
{
    enum vt_status status = VT_OK;

    for (int i = 0; i < VT_SWEEP_AXIS_KINDS && status == VT_OK; i++) {
        const struct vt_sweep_axis_kind *kind = &vt_sweep_axis_kinds[i];
        const char *text = axis_text(job, kind->name);
        if (text == NULL) {
            continue;
        }
        struct vt_sweep_axis *axis = &sweep->axes[sweep->n_axes++];
        axis->kind = kind;
        if (strcmp(kind->name, "scenario") == 0) {
            status = scenario_axis(text, err, axis);
        } else if (strcmp(kind->name, "cap") == 0) {
            status = cap_axis(text, err, sweep, axis);
        } else if (!kind->is_number) {
            status = engine_axis(text, err, axis);
        } else {
            const struct vt_number_limits limits = {
                1, strcmp(kind->name, "batch") == 0 ? 65536 : 1024, true, VT_SWEEP_VALUES_MAX};
            status = number_axis(text, &limits, err, axis);
        }
    }
    return status;
}
