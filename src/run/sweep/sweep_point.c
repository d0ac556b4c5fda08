/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_point.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "run/job.h"
#include "run/sweep/sweep_child.h"
#include "run/sweep/sweep_command.h"

#define LOG_NAME  "output.txt"
#define LOG_BYTES 8192
#define OPEN_MOST 16 /* folders that a walk keeps open */

/* --- the folder ------------------------------------------------------------------------------ */

static char *folder_of(const struct vt_sweep_place *place, const char *name)
{
    return vt_asprintf("%s/points/%s", place->folder, name);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

/* An empty folder, whatever was there. Links are removed, not followed. */
static enum vt_status make_empty(const char *folder, struct vt_error *err)
{
    if (nftw(folder, remove_entry, OPEN_MOST, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
        return vt_error_set(err, VT_ERR_WRITE, "%s: cannot be emptied: %s", folder,
                            strerror(errno));
    }
    return vt_make_folders(folder, err);
}

static void remove_folder(const char *folder)
{
    (void)nftw(folder, remove_entry, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}

void vt_sweep_points_discard(const struct vt_sweep_place *place)
{
    char *folder = vt_path_join(place->folder, "points");

    if (folder != NULL) {
        remove_folder(folder);
    }
    vt_free(folder);
}

/* --- the arguments --------------------------------------------------------------------------- */

static bool is_runs(const char *name)
{
    static const char *const set_here[] = {"output", "json",    "scenario", "engine", "batch",
                                           "lanes",  "threads", "cap",      NULL};
    const struct vt_option_table *run = vt_job_options();

    for (size_t i = 0; set_here[i] != NULL; i++) {
        if (strcmp(set_here[i], name) == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < run->n_options; i++) {
        if (strcmp(run->options[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum vt_status add_axes(const struct vt_sweep *sweep, const struct vt_sweep_point *point,
                               struct vt_sweep_texts *args, struct vt_error *err)
{
    enum vt_status status = VT_OK;
    char value[512];

    for (uint32_t i = 0; i < sweep->n_axes && status == VT_OK; i++) {
        const struct vt_sweep_axis *axis = &sweep->axes[i];
        if (strcmp(axis->kind->name, "cap") == 0) {
            continue; /* held by the sweep, not set by its runs */
        }
        vt_sweep_value_text(axis, vt_sweep_value(sweep, point->setting, i), value, sizeof value);
        status = vt_sweep_texts_add(args, vt_asprintf("--%s=%s", axis->kind->name, value), err);
    }
    return status;
}

/* `vatio run` with all that the point is. Later arguments win over earlier ones. */
static enum vt_status make_args(const struct vt_sweep *sweep, const struct vt_sweep_point *point,
                                const struct vt_sweep_place *place, const char *folder,
                                struct vt_sweep_texts *args, struct vt_error *err)
{
    const struct vt_options *options = place->options;

    enum vt_status status = vt_sweep_texts_add(args, vt_strdup("vatio"), err);
    if (status == VT_OK) {
        status = vt_sweep_texts_add(args, vt_strdup("run"), err);
    }
    for (size_t i = 0; i < options->table->n_options && status == VT_OK; i++) {
        if (options->given[i] && is_runs(options->table->options[i].name)) {
            status = vt_sweep_texts_add_option(args, options, i, false, err);
        }
    }
    if (status == VT_OK) {
        status = add_axes(sweep, point, args, err);
    }
    if (status == VT_OK) {
        status = vt_sweep_texts_add(args, vt_strdup("--mode=performance"), err);
    }
    if (status == VT_OK) {
        status = vt_sweep_texts_add(args, vt_asprintf("--output=%s", folder), err);
    }
    return status;
}

/* Behind "--" the model is a model, whatever it begins with. */
static enum vt_status add_model(const struct vt_sweep_place *place, struct vt_sweep_texts *args,
                                struct vt_error *err)
{
    enum vt_status status = vt_sweep_texts_add(args, vt_strdup("--"), err);
    return status == VT_OK ? vt_sweep_texts_add(args, vt_strdup(place->model), err) : status;
}

/* --- the run --------------------------------------------------------------------------------- */

/* The last line that `vatio: ` begins and that is no warning: why a run failed. */
static void take_complaint(const char *log, char *text, size_t size)
{
    char tail[LOG_BYTES + 1];
    int fd = open(log, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return;
    }
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > LOG_BYTES ? end - LOG_BYTES : 0;
    ssize_t n = pread(fd, tail, LOG_BYTES, from);
    (void)close(fd);
    tail[n > 0 ? n : 0] = '\0';
    for (char *line = tail, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (strncmp(line, "vatio: ", 7) == 0 && strncmp(line + 7, "warning: ", 9) != 0) {
            (void)snprintf(text, size, "%s", vt_tame(line + 7));
        }
    }
}

static void fail(struct vt_sweep_point *point, const struct vt_sweep_ending *ending,
                 const char *log, const struct vt_error *why, int64_t limit_ns)
{
    char limit[32];

    point->state = VT_SWEEP_FAILED;
    point->reason[0] = '\0';
    if (ending->timed_out) {
        vt_format_duration(limit_ns, limit, sizeof limit);
        (void)snprintf(point->reason, sizeof point->reason, "not done after %s (--point-limit)",
                       limit);
        return;
    }
    if (ending->code < 0) {
        (void)snprintf(point->reason, sizeof point->reason,
                       "its process was ended by signal %d (%s)", ending->signal,
                       strsignal(ending->signal));
        return;
    }
    if (why->status == VT_ERR_ENGINE) {
        (void)snprintf(point->reason, sizeof point->reason, "%.*s", (int)sizeof point->reason - 1,
                       why->text);
        return;
    }
    take_complaint(log, point->reason, sizeof point->reason);
    if (point->reason[0] == '\0') {
        (void)snprintf(point->reason, sizeof point->reason, "exit code %d; %.200s", ending->code,
                       why->text);
    }
}

static const char *scenario_of(const struct vt_sweep *sweep, const struct vt_sweep_point *point)
{
    uint32_t axis = vt_sweep_find_axis(sweep, "scenario");
    return sweep->axes[axis].words[vt_sweep_value(sweep, point->setting, axis)];
}

/* What the run left, when it came to an end of its own. */
static void judge(const struct vt_sweep *sweep, struct vt_sweep_point *point, const char *folder,
                  const struct vt_sweep_ending *ending, const char *log, int64_t limit_ns)
{
    struct vt_error why = VT_ERROR_INIT;
    enum vt_status status = VT_ERR_ENGINE;

    if (ending->code >= 0 && !ending->timed_out) {
        status = vt_sweep_read_run(folder, scenario_of(sweep, point), &why, &point->measured);
    }
    if (status == VT_OK) {
        point->state = VT_SWEEP_DONE;
        memcpy(point->reason, point->measured.reason, sizeof point->reason);
    } else {
        fail(point, ending, log, &why, limit_ns);
    }
}

static enum vt_status run_child(const struct vt_sweep_place *place,
                                const struct vt_sweep_texts *args, const char *log,
                                struct vt_error *err, struct vt_sweep_ending *ending)
{
    const struct vt_sweep_child child = {.program = place->program,
                                         .argv = (const char *const *)args->items,
                                         .log = log,
                                         .limit_ns = place->limit_ns};

    enum vt_status status = vt_sweep_child_run(&child, place->stop, err, ending);
    if (status == VT_OK && ending->stopped) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "interrupted");
    }
    return status;
}

enum vt_status vt_sweep_point_run(const struct vt_sweep *sweep, struct vt_sweep_point *point,
                                  const struct vt_sweep_place *place, struct vt_error *err)
{
    struct vt_sweep_texts args = {.n = 0};
    struct vt_sweep_ending ending = {.code = -1};
    char *folder = folder_of(place, point->id);
    char *log = folder != NULL ? vt_path_join(folder, LOG_NAME) : NULL;

    enum vt_status status =
        log != NULL ? make_empty(folder, err) : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    if (status == VT_OK) {
        status = make_args(sweep, point, place, folder, &args, err);
    }
    if (status == VT_OK) {
        status = add_model(place, &args, err);
    }
    if (status == VT_OK) {
        status = run_child(place, &args, log, err, &ending);
    }
    if (status == VT_OK) {
        judge(sweep, point, folder, &ending, log, place->limit_ns);
        if (ending.code == vt_status_exit_code(VT_ERR_USAGE)) {
            status = vt_error_set(err, VT_ERR_USAGE, "%s", point->reason);
        }
    }
    vt_sweep_texts_release(&args);
    vt_free(log);
    vt_free(folder);
    return status;
}

bool vt_sweep_point_adopt(const struct vt_sweep *sweep, struct vt_sweep_point *point,
                          const struct vt_sweep_place *place)
{
    char *folder = folder_of(place, point->id);
    struct vt_sweep_measured measured;

    bool whole = folder != NULL &&
                 vt_sweep_read_run(folder, scenario_of(sweep, point), NULL, &measured) == VT_OK;
    if (whole) {
        point->measured = measured;
        point->state = VT_SWEEP_DONE;
        memcpy(point->reason, point->measured.reason, sizeof point->reason);
    }
    vt_free(folder);
    return whole;
}

enum vt_status vt_sweep_warm_up(const struct vt_sweep *sweep, const struct vt_sweep_point *point,
                                int64_t duration_ns, const struct vt_sweep_place *place,
                                struct vt_error *err)
{
    struct vt_sweep_texts args = {.n = 0};
    struct vt_sweep_ending ending;
    char text[32];
    char *folder = folder_of(place, "warm-up");
    char *log = folder != NULL ? vt_path_join(folder, LOG_NAME) : NULL;

    enum vt_status status =
        log != NULL ? make_empty(folder, err) : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    if (status == VT_OK) {
        status = make_args(sweep, point, place, folder, &args, err);
    }
    vt_format_duration(duration_ns, text, sizeof text);
    if (status == VT_OK) {
        status = vt_sweep_texts_add(&args, vt_strdup("--scenario=offline"), err);
    }
    if (status == VT_OK) {
        status = vt_sweep_texts_add(&args, vt_asprintf("--duration=%s", text), err);
    }
    if (status == VT_OK) {
        status = vt_sweep_texts_add(&args, vt_strdup("--no-official"), err);
    }
    if (status == VT_OK) {
        status = add_model(place, &args, err);
    }
    if (status == VT_OK) {
        status = run_child(place, &args, log, err, &ending);
    }
    if (folder != NULL) {
        remove_folder(folder);
    }
    vt_sweep_texts_release(&args);
    vt_free(log);
    vt_free(folder);
    return status;
}
