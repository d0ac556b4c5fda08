/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/quote.h"
#include "plan/plan_file_format.h"
#include "power/meter.h"
#include "run/model_source.h"
#include "run/save.h"
#include "run/sweep/analyse.h"
#include "run/sweep/sweep_cap.h"
#include "run/sweep/sweep_command.h"
#include "run/sweep/sweep_cool.h"
#include "run/sweep/sweep_knee.h"
#include "run/sweep/sweep_order.h"
#include "run/sweep/sweep_point.h"

/* The sweep stands first, so that its address is that of the whole. */
struct sweep_run {
    struct vt_sweep sweep;
    struct vt_sweep_job job;
    char *folder;
    char *model;
    int lock;        /* of the folder; -1 */
    uint32_t *order; /* point by position */
    uint32_t done_before;
    struct vt_sweep_cool cool;
    struct vt_sweep_cap cap;
    struct vt_sweep_place place;
    const struct vt_sweep_events *events;
};

/* --- what is swept --------------------------------------------------------------------------- */

/* Files are known by their content; a model by name, or a server's, by what it is called. */
static enum vt_status identify_model(struct sweep_run *run, struct vt_error *err)
{
    struct vt_sweep *sweep = &run->sweep;
    const char *path = run->job.job.weights;
    struct vt_zoo_choice choice;
    struct vt_file_map map;

    (void)snprintf(sweep->model_name, sizeof sweep->model_name, "%s", vt_path_base(run->model));
    if (path == NULL && vt_builtin_model_find(run->model) == NULL &&
        !vt_zoo_choose(run->model, &choice)) {
        struct vt_model_source source;
        enum vt_status status = vt_model_source_find(run->model, err, &source);
        if (status != VT_OK) {
            return status;
        }
        path = source.graph.path != NULL ? run->model : NULL;
        vt_model_source_release(&source);
    }
    if (path == NULL) {
        return VT_OK;
    }
    enum vt_status status = vt_file_map_open(path, err, &map);
    if (status != VT_OK) {
        return status;
    }
    (void)snprintf(sweep->model_hash, sizeof sweep->model_hash, "%016llx",
                   (unsigned long long)vt_plan_file_hash(map.bytes, map.size));
    vt_file_map_release(&map);
    sweep->model_path = vt_strdup(path);
    return sweep->model_path != NULL ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
}

/* The sweep as the options describe it, before anything is done. */
static enum vt_status describe(struct sweep_run *run, const struct vt_options *options,
                               struct vt_error *err)
{
    struct vt_sweep *sweep = &run->sweep;
    const struct vt_sweep_job *job = &run->job;
    enum vt_status status = VT_OK;

    sweep->options = options;
    sweep->order = (enum vt_sweep_order)job->order;
    sweep->seed = (uint64_t)job->order_seed;
    sweep->repeats = (uint32_t)job->repeats;
    sweep->max_latency_ns = job->job.max_latency_ns;
    sweep->knee_tolerance = job->knee_percent / 100;
    if (job->cool_to != NULL) {
        run->cool.wanted = true;
        status = vt_sweep_parse_celsius(job->cool_to, err, &run->cool.celsius);
    }
    if (status == VT_OK) {
        status = identify_model(run, err);
    }
    if (status == VT_OK) {
        status = vt_sweep_make_axes(job, err, sweep);
    }
    if (status == VT_OK) {
        status = vt_sweep_make_points(sweep, err);
    }
    if (status == VT_OK) {
        uint32_t batch = vt_sweep_find_axis(sweep, "batch");
        status = vt_sweep_set_order(sweep, job->until_knee ? batch : sweep->n_axes, err);
    }
    if (status == VT_OK) {
        status = vt_sweep_command(options, run->model, err, sweep);
    }
    if (status != VT_OK) {
        return status;
    }
    run->order = vt_calloc(sweep->n_points, sizeof run->order[0]);
    if (run->order == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < sweep->n_points; i++) {
        run->order[sweep->points[i].position] = i;
    }
    return VT_OK;
}

/* --- the folder ------------------------------------------------------------------------------ */

/* One sweep at a time in a folder. The lock goes with the process, however that ends. */
static enum vt_status lock_folder(struct sweep_run *run, struct vt_error *err)
{
    enum vt_status status = vt_make_folders(run->folder, err);

    if (status != VT_OK) {
        return status;
    }
    run->lock = open(run->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->lock < 0) {
        return vt_error_set(err, VT_ERR_WRITE, "%s: %s", run->folder, strerror(errno));
    }
    if (flock(run->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return vt_error_set(err, VT_ERR_WRITE, "%s: another sweep is running there", run->folder);
    }
    return VT_OK; /* a file system without locks has none to keep */
}

/* What is finished there is taken over; what was under way is not. */
static void take_over(struct sweep_run *run, const struct vt_sweep *recorded)
{
    struct vt_sweep *sweep = &run->sweep;

    (void)snprintf(sweep->started_utc, sizeof sweep->started_utc, "%s", recorded->started_utc);
    for (uint32_t i = 0; i < sweep->n_points; i++) {
        struct vt_sweep_point *point = &sweep->points[i];
        const struct vt_sweep_point *before = &recorded->points[i];
        bool kept = before->state == VT_SWEEP_DONE ||
                    (before->state == VT_SWEEP_FAILED && !run->job.retry_failed);
        point->enforced_cap = before->enforced_cap;
        point->start_temperature_c = before->start_temperature_c;
        if (kept) {
            point->state = before->state;
            point->measured = before->measured;
            memcpy(point->reason, before->reason, sizeof point->reason);
        } else if (before->state == VT_SWEEP_PENDING) {
            kept = vt_sweep_point_adopt(sweep, point, &run->place);
        }
        run->done_before += kept;
    }
}

static enum vt_status write_state(struct sweep_run *run, struct vt_error *err)
{
    enum vt_status status = vt_sweep_analyse(&run->sweep, err);
    return status == VT_OK ? vt_sweep_write_json(&run->sweep, run->folder, err) : status;
}

/* A sweep that lies there goes on if it is this one. */
static enum vt_status open_folder(struct sweep_run *run, struct vt_error *err)
{
    struct vt_error why = VT_ERROR_INIT;
    struct vt_sweep recorded = {0};

    enum vt_status status = lock_folder(run, err);
    if (status != VT_OK) {
        return status;
    }
    status = vt_sweep_read(run->folder, &why, &recorded);
    if (status == VT_ERR_NOT_FOUND) {
        return VT_OK;
    }
    if (status != VT_OK) {
        return vt_error_set(err, status, "%s; take another folder (-o), or move that file away",
                            why.text);
    }
    status = vt_sweep_same(&recorded, &run->sweep, err);
    if (status == VT_OK) {
        take_over(run, &recorded);
    }
    vt_sweep_release(&recorded);
    return status;
}

/* --- measuring ------------------------------------------------------------------------------- */

static bool stopped(const struct sweep_run *run)
{
    return atomic_load(run->place.stop);
}

static struct vt_sweep_point *point_at(struct sweep_run *run, uint32_t position)
{
    return &run->sweep.points[run->order[position]];
}

static uint32_t count(const struct vt_sweep *sweep, enum vt_sweep_state state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < sweep->n_points; i++) {
        n += sweep->points[i].state == state;
    }
    return n;
}

/* The first point that is to be measured, NULL when none is. */
static struct vt_sweep_point *first_pending(struct sweep_run *run)
{
    for (uint32_t i = 0; i < run->sweep.n_points; i++) {
        if (point_at(run, i)->state == VT_SWEEP_PENDING) {
            return point_at(run, i);
        }
    }
    return NULL;
}

static enum vt_status warm_up(struct sweep_run *run, struct vt_error *err)
{
    const struct vt_sweep_point *first = first_pending(run);
    const struct vt_sweep_events *events = run->events;

    if (run->job.warm_up_ns == 0 || first == NULL) {
        return VT_OK;
    }
    if (events->waiting != NULL) {
        events->waiting(events->ctx, "warming up");
    }
    enum vt_status status =
        vt_sweep_warm_up(&run->sweep, first, run->job.warm_up_ns, &run->place, err);
    if (events->waiting != NULL) {
        events->waiting(events->ctx, NULL);
    }
    return status;
}

/* Whether the knee leaves the point out. */
static bool leave_out(struct sweep_run *run, struct vt_sweep_point *point)
{
    uint32_t batch = vt_sweep_find_axis(&run->sweep, "batch");

    if (!run->job.until_knee || batch == run->sweep.n_axes ||
        !vt_sweep_beyond_knee(&run->sweep, point, batch, point->reason, sizeof point->reason)) {
        return false;
    }
    point->state = VT_SWEEP_SKIPPED;
    return true;
}

/* Caps are held from before the first point on; what nobody asked for is not touched. */
static enum vt_status hold_caps(struct sweep_run *run, struct vt_error *err)
{
    const struct vt_sweep_events *events = run->events;
    char note[300] = "";

    if (vt_sweep_find_axis(&run->sweep, "cap") == run->sweep.n_axes || first_pending(run) == NULL) {
        return VT_OK;
    }
    enum vt_status status =
        vt_sweep_cap_open(&run->cap, &run->job.job.places, err, note, sizeof note);
    if (status == VT_OK && note[0] != '\0' && events->warning != NULL) {
        events->warning(events->ctx, note);
    }
    return status;
}

/* A cap that cannot be set here at all ends a sweep that has nothing yet; later it is one point
 * that failed. *ret_set tells whether to go on with the point. */
static enum vt_status set_cap(struct sweep_run *run, struct vt_sweep_point *point,
                              struct vt_error *err, bool *ret_set)
{
    struct vt_error why = VT_ERROR_INIT;

    enum vt_status status =
        vt_sweep_cap_set(&run->cap, &run->sweep, point, &why, &point->enforced_cap);
    *ret_set = status == VT_OK;
    if (status == VT_OK) {
        return VT_OK;
    }
    point->state = VT_SWEEP_FAILED;
    (void)snprintf(point->reason, sizeof point->reason, "cap: %.240s", why.text);
    bool hopeless = status != VT_ERR_ENGINE && count(&run->sweep, VT_SWEEP_DONE) == 0;
    return hopeless ? vt_error_set(err, VT_ERR_USAGE, "--cap: %s", why.text) : VT_OK;
}

static enum vt_status measure_point(struct sweep_run *run, struct vt_sweep_point *point,
                                    struct vt_error *err)
{
    const struct vt_sweep_events *events = run->events;

    vt_sweep_cool_wait(&run->cool, run->place.stop, events, &point->start_temperature_c);
    if (stopped(run)) {
        return vt_error_set(err, VT_ERR_INTERRUPTED, "interrupted");
    }
    if (events->point_begin != NULL) {
        events->point_begin(events->ctx, &run->sweep, point);
    }
    bool set;
    enum vt_status status = set_cap(run, point, err, &set);
    if (!set) {
        return status;
    }
    status = vt_sweep_point_run(&run->sweep, point, &run->place, err);
    if (status == VT_ERR_USAGE && count(&run->sweep, VT_SWEEP_DONE) > 0) {
        err->status = VT_OK; /* wrong for this point alone: it has failed */
        status = VT_OK;
    }
    return status;
}

static enum vt_status measure_all(struct sweep_run *run, struct vt_error *err)
{
    const struct vt_sweep_events *events = run->events;
    enum vt_status status = hold_caps(run, err);

    if (status == VT_OK) {
        status = warm_up(run, err);
    }
    for (uint32_t i = 0; i < run->sweep.n_points && status == VT_OK; i++) {
        struct vt_sweep_point *point = point_at(run, i);
        if (point->state != VT_SWEEP_PENDING) {
            continue;
        }
        if (!leave_out(run, point)) {
            status = measure_point(run, point, err);
        }
        if (status == VT_OK) {
            status = write_state(run, err);
        }
        if (status == VT_OK && events->point_end != NULL) {
            events->point_end(events->ctx, &run->sweep, point);
        }
    }
    return status;
}

/* Nothing could be measured: what was made here goes, unless something lay there before. */
static void discard(const struct sweep_run *run)
{
    char *file = vt_path_join(run->folder, "sweep.json");

    if (run->done_before == 0 && file != NULL) {
        (void)unlink(file);
        vt_sweep_points_discard(&run->place);
        (void)rmdir(run->folder);
    }
    vt_free(file);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Model and options of --resume come from the sweep that lies there. */
static enum vt_status resume(struct sweep_run *run, struct vt_options *options, const char *model,
                             struct vt_error *err)
{
    const struct vt_sweep_job *job = options->values;
    struct vt_sweep recorded = {0};

    if (job->resume == NULL) {
        run->model = vt_strdup(model);
        return run->model != NULL ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    run->folder = vt_strdup(job->resume);
    if (run->folder == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    if (job->job.output != NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "--resume %s goes on in that folder: leave -o out",
                            vt_plain(job->resume).text);
    }
    enum vt_status status = vt_sweep_read(run->folder, err, &recorded);
    if (status != VT_OK) {
        return status;
    }
    run->model = vt_strdup(model != NULL ? model : recorded.command[1]);
    status = run->model != NULL ? vt_sweep_take_command(&recorded, options, err)
                                : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    vt_sweep_release(&recorded);
    return status;
}

static enum vt_status choose_folder(struct sweep_run *run, struct vt_error *err)
{
    if (run->folder == NULL && run->job.job.output != NULL) {
        run->folder = vt_strdup(run->job.job.output);
    } else if (run->folder == NULL) {
        char *stem = vt_save_default_folder(run->sweep.started_utc, run->sweep.model_name);
        run->folder = stem != NULL ? vt_asprintf("%s-sweep", stem) : NULL;
        vt_free(stem);
    }
    return run->folder != NULL ? VT_OK : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
}

static enum vt_status prepare(struct sweep_run *run, struct vt_options *options, const char *model,
                              struct vt_error *err)
{
    vt_sweep_init(&run->sweep);
    enum vt_status status = resume(run, options, model, err);
    run->job = *(const struct vt_sweep_job *)options->values;
    if (status == VT_OK) {
        status = describe(run, options, err);
    }
    if (status == VT_OK) {
        status = choose_folder(run, err);
    }
    if (status != VT_OK) {
        return status;
    }
    run->place.folder = run->folder;
    run->place.model = run->model;
    run->place.options = options;
    run->place.limit_ns = run->job.point_limit_ns;
    const struct vt_meter_options places = {.sysfs = run->job.job.places.sysfs,
                                            .nvml_library = run->job.job.places.nvml};
    run->cool.pause_ns = run->job.pause_ns;
    run->cool.limit_ns = run->job.cool_limit_ns;
    status = open_folder(run, err);
    if (status != VT_OK) {
        return status;
    }
    if (run->events->header != NULL) {
        run->events->header(run->events->ctx, &run->sweep, run->folder, run->done_before);
    }
    vt_sweep_cool_init(&run->cool, &places, run->events);
    (void)snprintf(run->sweep.cooling, sizeof run->sweep.cooling, "%s", run->cool.text);
    run->sweep.partial = true;
    return write_state(run, err);
}

/* Whatever came: first of all the caps go back, then what there is is written. */
static enum vt_status finish(struct sweep_run *run, enum vt_status status, struct vt_error *err)
{
    const struct vt_sweep_events *events = run->events;
    struct vt_error back = VT_ERROR_INIT;

    if (vt_sweep_cap_release(&run->cap, &run->sweep, &back) != VT_OK && events->warning != NULL) {
        events->warning(events->ctx, back.text);
    }
    run->sweep.partial = status != VT_OK;
    if (status == VT_OK || status == VT_ERR_INTERRUPTED) {
        err->status = VT_OK; /* an interruption is in the sweep */
        status = write_state(run, err);
    }
    return status;
}

enum vt_status vt_sweep(struct vt_options *options, const char *model, const char *program,
                        const atomic_bool *stop, const struct vt_sweep_events *events,
                        struct vt_error *err, struct vt_sweep **ret_sweep, const char **ret_folder)
{
    struct sweep_run *run = vt_calloc(1, sizeof *run);
    struct vt_error failure = VT_ERROR_INIT;

    if (run == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    run->lock = -1;
    run->events = events;
    run->place.program = program;
    run->place.stop = stop;
    enum vt_status status = prepare(run, options, model, &failure);
    if (status != VT_OK) {
        vt_sweep_free(&run->sweep);
        return vt_error_set(err, status, "%s", failure.text);
    }
    status = finish(run, measure_all(run, &failure), &failure);
    if (status != VT_OK && count(&run->sweep, VT_SWEEP_DONE) == 0) {
        discard(run);
        vt_sweep_free(&run->sweep);
        return vt_error_set(err, status, "%s", failure.text);
    }
    *ret_sweep = &run->sweep;
    *ret_folder = run->folder;
    return status == VT_OK ? VT_OK : vt_error_set(err, status, "%s", failure.text);
}

void vt_sweep_free(struct vt_sweep *sweep)
{
    struct sweep_run *run = (struct sweep_run *)(void *)sweep;

    if (run == NULL) {
        return;
    }
    if (run->lock >= 0) {
        (void)close(run->lock);
    }
    vt_sweep_cap_close(&run->cap);
    vt_sweep_cool_release(&run->cool);
    vt_sweep_release(&run->sweep);
    vt_free(run->order);
    vt_free(run->folder);
    vt_free(run->model);
    vt_free(run);
}

int vt_sweep_exit_code(const struct vt_sweep *sweep)
{
    bool valid = true;

    if (sweep->partial) {
        return vt_status_exit_code(VT_ERR_INTERRUPTED);
    }
    if (count(sweep, VT_SWEEP_DONE) == 0) {
        return vt_status_exit_code(VT_ERR_ENGINE);
    }
    for (uint32_t i = 0; i < sweep->n_points; i++) {
        const struct vt_sweep_point *point = &sweep->points[i];
        valid = valid && point->state != VT_SWEEP_FAILED &&
                (point->state != VT_SWEEP_DONE || point->measured.valid);
    }
    return valid ? 0 : 1;
}
