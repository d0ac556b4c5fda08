/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb_run.h"

#include "base/alloc.h"
#include "base/topology.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/machine.h"
#include "run/run.h"

struct printer {
    struct vt_live live;
    FILE *out;      /* standard output, or standard error under --json */
    bool line_open; /* the header is printed, its end not yet */
    const struct vt_job *job;
};

static void print_header(void *ctx, const struct vt_result *result, uint32_t scenarios)
{
    struct printer *printer = ctx;
    char cpu[128], number[32], duration[32], parameters[64] = "", what[512], when[64];
    const struct vt_topology *machine = vt_topology();
    int64_t each = printer->job->duration_ns;

    if (result->model_parameters > 0) {
        (void)snprintf(parameters, sizeof parameters, " (%s parameters)",
                       vt_count_text(result->model_parameters, number, sizeof number));
    }
    (void)snprintf(what, sizeof what, "vatio %s · %.128s%s · %s on %u × %s (%s)", vt_version(),
                   result->model_name, parameters, result->engine_name, machine->usable_cpus,
                   vt_cli_cpu_name(cpu, sizeof cpu), vt_topology_isa());
    if (result->official && each < 600 * VT_NS_PER_S) {
        each = 600 * VT_NS_PER_S;
    }
    (void)snprintf(when, sizeof when, "%u scenario%s × %s", scenarios, scenarios == 1 ? "" : "s",
                   vt_duration_text(each, duration, sizeof duration));
    vt_cli_print_parts(printer->out, what, when, (int)sizeof ", about 00.0 s in all");
    (void)fflush(printer->out);
    printer->line_open = true;
}

static void print_estimate(void *ctx, const struct vt_result *result, int64_t total_ns)
{
    struct printer *printer = ctx;
    char duration[32];

    (void)fprintf(printer->out, ", about %s in all\n",
                  vt_duration_text(total_ns, duration, sizeof duration));
    printer->line_open = false;
    vt_cli_print_parts(printer->out, result->engine_description, result->workload_description, 0);
    if (result->rate_plan[0] != '\0') {
        (void)fprintf(printer->out, "\n%s", result->rate_plan);
    }
    (void)fputc('\n', printer->out);
    (void)fflush(printer->out);
}

static void close_line(struct printer *printer)
{
    if (printer->line_open) {
        (void)fputc('\n', printer->out);
        (void)fflush(printer->out);
        printer->line_open = false;
    }
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

static void on_meters(void *ctx, struct vt_run_energy *energy)
{
    struct printer *printer = ctx;
    vt_live_meters(&printer->live, energy);
}

static void on_warning(void *ctx, const char *text)
{
    close_line(ctx);
    (void)fflush(stdout);
    (void)fprintf(stderr, "vatio: warning: %s\n", text);
}

static int print_result(const struct printer *printer, const struct vt_result *result,
                        const char *folder, struct vt_error *err)
{
    if (printer->job->json) {
        char *json;
        enum vt_status status = vt_result_json(result, err, &json);
        if (status != VT_OK) {
            return vt_cli_fail(err);
        }
        (void)fputs(json, stdout);
        vt_free(json);
    } else {
        (void)fputc('\n', stdout);
        vt_result_print_table(result, stdout, vt_cli_columns(stdout));
        (void)printf("saved          %s  (result.json, records, MLPerf logs)\n", folder);
    }
    return vt_result_exit_code(result);
}

int vt_cli_run_job(const struct vt_options *options, const char *model)
{
    struct printer printer = {.job = options->values};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_result *result = NULL;
    const char *folder = NULL;
    struct vt_interrupt interrupt;
    struct vt_run_events events = {
        .header = print_header,
        .estimate = print_estimate,
        .phase_begin = on_phase_begin,
        .phase_end = on_phase_end,
        .meters = on_meters,
        .warning = on_warning,
        .ctx = &printer,
    };

    printer.out = printer.job->json ? stderr : stdout;
    struct vt_load_control *control = vt_interrupt_catch(&interrupt);
    vt_live_start(&printer.live, control);
    enum vt_status status = vt_run(options, model, control, &events, &err, &result, &folder);
    vt_live_stop(&printer.live);
    vt_interrupt_restore(&interrupt);
    close_line(&printer);
    if (result == NULL) {
        return vt_cli_fail(&err);
    }
    struct vt_error print_err = VT_ERROR_INIT;
    int code = print_result(&printer, result, folder, &print_err);
    if (status != VT_OK) {
        /* The figures are on the screen; that they could not be saved decides the exit code. */
        code = vt_cli_fail(&err);
    }
    vt_run_result_free(result);
    return code;
}

int vt_cli_run_verb(int argc, const char *const *argv, const char *default_tests)
{
    struct vt_job job;
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;
    int code;

    enum vt_status status = vt_options_init(&options, vt_job_options(), &job, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&options, argc, argv, &err);
    }
    if (status != VT_OK) {
        vt_options_release(&options);
        return vt_cli_fail(&err);
    }
    const char *model = options.n_positional > 0 ? options.positional[0] : job.model;
    if (default_tests == NULL && job.tests != NULL) {
        code = vt_cli_usage("run: --test is an option of 'vatio audit'");
    } else if (options.n_positional > 1) {
        code = vt_cli_usage("%s: '%s' is one argument too many, one MODEL is measured at a time",
                            argv[0], options.positional[1]);
    } else if (model == NULL || model[0] == '\0') {
        code = vt_cli_usage("%s: a model is needed, as in 'vatio %s digits' (vatio list names "
                            "the built-in ones)",
                            argv[0], argv[0]);
    } else {
        if (job.tests == NULL) {
            job.tests = default_tests;
        }
        code = vt_cli_run_job(&options, model);
    }
    vt_options_release(&options);
    return code;
}

int vt_verb_run(int argc, const char *const *argv)
{
    return vt_cli_run_verb(argc, argv, NULL);
}
