/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/topology.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/machine.h"
#include "run/compare/compare.h"

struct printer {
    struct vt_live live;
    FILE *out; /* standard output, or standard error under --json */
};

static void print_header(void *ctx, const struct vt_comparison *comparison, int64_t expected_ns)
{
    const struct printer *printer = ctx;
    const struct vt_topology *machine = vt_topology();
    char cpu[128], turn[32], all[32], what[512], when[128];

    (void)snprintf(what, sizeof what, "vatio %s · %.128s · %u engines on %u × %s (%s)",
                   vt_version(), comparison->model_name, comparison->n_engines,
                   machine->usable_cpus, vt_cli_cpu_name(cpu, sizeof cpu), vt_topology_isa());
    if (comparison->rounds_wanted == 0) {
        (void)snprintf(when, sizeof when, "outputs alone, nothing is measured but loading");
    } else {
        (void)snprintf(when, sizeof when, "%u round%s, turns of %s, about %s and the time to load",
                       comparison->rounds_wanted, comparison->rounds_wanted == 1 ? "" : "s",
                       vt_duration_text(comparison->turn_ns, turn, sizeof turn),
                       vt_duration_text(expected_ns, all, sizeof all));
    }
    vt_cli_print_parts(printer->out, what, when, 0);
    (void)fputc('\n', printer->out);
    (void)fflush(printer->out);
}

static void on_phase_begin(void *ctx, const struct vt_run_phase *phase)
{
    struct printer *printer = ctx;
    vt_live_phase_begin(&printer->live, phase);
}

static void on_phase_end(void *ctx)
{
    struct printer *printer = ctx;
    vt_live_phase_end(&printer->live);
}

static int print_comparison(const struct vt_comparison *comparison, bool as_json,
                            const char *folder)
{
    struct vt_error err = VT_ERROR_INIT;

    if (!as_json) {
        (void)fputc('\n', stdout);
        vt_comparison_print_table(comparison, stdout, vt_cli_columns(stdout));
        (void)printf("saved          %s  (result.json)\n", folder);
        return vt_comparison_exit_code(comparison);
    }
    char *json;
    if (vt_comparison_json(comparison, &err, &json) != VT_OK) {
        return vt_cli_fail(&err);
    }
    (void)fputs(json, stdout);
    vt_free(json);
    return vt_comparison_exit_code(comparison);
}

static int compare(const struct vt_options *options, const char *model)
{
    const struct vt_compare_job *job = options->values;
    struct printer printer = {.out = job->job.json ? stderr : stdout};
    struct vt_compare_events events = {print_header, on_phase_begin, on_phase_end, &printer};
    struct vt_comparison *comparison = NULL;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_interrupt interrupt;
    const char *folder = NULL;

    struct vt_load_control *control = vt_interrupt_catch(&interrupt);
    vt_live_start(&printer.live, control);
    enum vt_status status =
        vt_compare(options, model, control, &events, &err, &comparison, &folder);
    vt_live_stop(&printer.live);
    vt_interrupt_restore(&interrupt);
    if (comparison == NULL) {
        return vt_cli_fail(&err);
    }
    int code = print_comparison(comparison, job->job.json, folder);
    if (status != VT_OK) {
        /* The figures are on the screen; that they could not be saved decides the exit code. */
        code = vt_cli_fail(&err);
    }
    vt_comparison_free(comparison);
    return code;
}

int vt_verb_compare(int argc, const char *const *argv)
{
    struct vt_compare_job job;

    return vt_cli_on_model(vt_compare_options(), &job, argc, argv,
                           "compare: one model is needed, as in 'vatio compare digits --engine "
                           "native --engine native'",
                           compare);
}
