/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/topology.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "result/result.h"
#include "run/sweep/sweep.h"

/* The program that a point is run with: this one, also when its file has been replaced. */
#define THIS_PROGRAM "/proc/self/exe"

struct printer {
    FILE *out;     /* standard output, or standard error under --json */
    bool shown;    /* standard error is a terminal: it has a live line */
    uint32_t left; /* points that are to be measured */
    int64_t started_ns;
    uint32_t ended;
};

static void wipe(const struct printer *printer)
{
    if (printer->shown) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
}

static void live(const struct printer *printer, const char *text)
{
    char line[256];

    if (printer->shown) {
        int columns = vt_cli_columns(stderr);
        (void)snprintf(line, sizeof line, "%.*s", columns - 1 < 255 ? columns - 1 : 255, text);
        (void)fprintf(stderr, "\r\033[K%s", line);
        (void)fflush(stderr);
    }
}

static void print_axis(FILE *out, const struct vt_sweep_axis *axis)
{
    char value[96];

    (void)fprintf(out, "%-15s", axis->kind->name);
    for (uint32_t v = 0; v < axis->n; v++) {
        (void)fprintf(out, "%s%s", v > 0 ? ", " : "",
                      vt_sweep_value_text(axis, v, value, sizeof value));
    }
    (void)fprintf(out, "%s%s\n", axis->unit[0] != '\0' ? " " : "", axis->unit);
}

static void print_header(void *ctx, const struct vt_sweep *sweep, const char *folder, uint32_t done)
{
    struct printer *printer = ctx;
    char cpu[128], what[512], when[192];

    printer->left = sweep->n_points - done;
    printer->started_ns = vt_now_ns();
    (void)snprintf(what, sizeof what, "vatio %s · sweep of %.128s on %u × %s (%s)", vt_version(),
                   sweep->model_name, vt_topology()->usable_cpus, vt_cli_cpu_name(cpu, sizeof cpu),
                   vt_topology_isa());
    (void)snprintf(when, sizeof when, "%u point%s, %u repeat%s, order %s", sweep->n_points,
                   sweep->n_points == 1 ? "" : "s", sweep->repeats, sweep->repeats == 1 ? "" : "s",
                   vt_sweep_orders[sweep->order]);
    vt_cli_print_parts(printer->out, what, when, 0);
    (void)fputc('\n', printer->out);
    for (uint32_t i = 0; i < sweep->n_axes; i++) {
        print_axis(printer->out, &sweep->axes[i]);
    }
    if (done > 0) {
        (void)fprintf(printer->out, "%-15s%u point%s done before, %u to go\n", "going on", done,
                      done == 1 ? "" : "s", printer->left);
    }
    (void)fprintf(printer->out, "%-15s%s\n\n", "folder", folder);
    (void)fflush(printer->out);
}

static void on_waiting(void *ctx, const char *text)
{
    const struct printer *printer = ctx;

    if (text != NULL) {
        live(printer, text);
    } else {
        wipe(printer);
    }
}

static void on_point_begin(void *ctx, const struct vt_sweep *sweep,
                           const struct vt_sweep_point *point)
{
    const struct printer *printer = ctx;
    char setting[128], line[256], left[48] = "", time[32];

    if (printer->ended > 0 && printer->left > printer->ended) {
        int64_t each = (vt_now_ns() - printer->started_ns) / printer->ended;
        (void)snprintf(
            left, sizeof left, ", about %s left",
            vt_duration_text(each * (printer->left - printer->ended), time, sizeof time));
    }
    vt_sweep_setting_text(sweep, point->setting, sweep->n_axes, setting, sizeof setting);
    (void)snprintf(line, sizeof line, "point %u of %u: %s%s", point->position + 1, sweep->n_points,
                   setting, left);
    live(printer, line);
}

static void on_point_end(void *ctx, const struct vt_sweep *sweep,
                         const struct vt_sweep_point *point)
{
    struct printer *printer = ctx;
    char setting[128], text[320];

    printer->ended++;
    wipe(printer);
    vt_sweep_setting_text(sweep, point->setting, sweep->n_axes, setting, sizeof setting);
    (void)fprintf(printer->out, "%4u/%-4u %s %s  %s\n", point->position + 1, sweep->n_points,
                  point->id, setting, vt_sweep_point_text(point, text, sizeof text));
    (void)fflush(printer->out);
}

static void on_warning(void *ctx, const char *text)
{
    wipe(ctx);
    (void)fflush(stdout);
    (void)fprintf(stderr, "vatio: warning: %s\n", text);
}

static int print_sweep(const struct vt_sweep *sweep, bool as_json, const char *folder)
{
    struct vt_error err = VT_ERROR_INIT;
    char *json;

    if (as_json) {
        if (vt_sweep_json(sweep, &err, &json) != VT_OK) {
            return vt_cli_fail(&err);
        }
        (void)fputs(json, stdout);
        vt_free(json);
    } else {
        (void)fputc('\n', stdout);
        vt_sweep_print_table(sweep, stdout, vt_cli_columns(stdout));
        (void)printf("saved          %s  (sweep.json, a folder a point)\n", folder);
    }
    if (sweep->partial) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "vatio: interrupted; to go on: vatio sweep --resume %s\n", folder);
    }
    return vt_sweep_exit_code(sweep);
}

static int sweep_model(struct vt_options *options, const char *model, bool as_json)
{
    struct printer printer = {.out = as_json ? stderr : stdout, .shown = isatty(2) == 1};
    const struct vt_sweep_events events = {print_header, on_waiting, on_point_begin,
                                           on_point_end, on_warning, &printer};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_sweep *sweep = NULL;
    struct vt_interrupt interrupt;
    const char *folder = NULL;

    struct vt_load_control *control = vt_interrupt_catch(&interrupt);
    enum vt_status status =
        vt_sweep(options, model, THIS_PROGRAM, &control->stop, &events, &err, &sweep, &folder);
    vt_interrupt_restore(&interrupt);
    wipe(&printer);
    if (sweep == NULL) {
        return vt_cli_fail(&err);
    }
    int code = print_sweep(sweep, as_json, folder);
    if (status != VT_OK) {
        /* The figures are on the screen; that they could not be saved decides the exit code. */
        code = vt_cli_fail(&err);
    }
    vt_sweep_free(sweep);
    return code;
}

int vt_verb_sweep(int argc, const char *const *argv)
{
    struct vt_sweep_job job;
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;
    int code;

    enum vt_status status = vt_options_init(&options, vt_sweep_options(), &job, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&options, argc, argv, &err);
    }
    if (status != VT_OK) {
        code = vt_cli_fail(&err);
    } else if (options.n_positional > 1 || (options.n_positional == 0 && job.resume == NULL)) {
        code = vt_cli_usage("sweep: one model is needed, as in 'vatio sweep digits --batch 1..64'");
    } else {
        code = sweep_model(&options, options.n_positional > 0 ? options.positional[0] : NULL,
                           job.job.json);
    }
    vt_options_release(&options);
    return code;
}
