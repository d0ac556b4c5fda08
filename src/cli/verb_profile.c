/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/topology.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/live.h"
#include "cli/machine.h"
#include "result/result.h"
#include "run/profile/profile.h"

struct printer {
    struct vt_live live;
    FILE *out; /* standard output, or standard error under --json */
};

static void print_header(void *ctx, const struct vt_profile *profile)
{
    const struct printer *printer = ctx;
    const struct vt_profile_job *job = profile->options->values;
    const struct vt_topology *machine = vt_topology();
    char cpu[128], duration[32], what[512], when[128];

    (void)snprintf(what, sizeof what, "vatio %s · %.128s · native on %u × %s (%s)", vt_version(),
                   profile->model_name, machine->usable_cpus, vt_cli_cpu_name(cpu, sizeof cpu),
                   vt_topology_isa());
    (void)snprintf(when, sizeof when, "a second for the machine, %s for the layers",
                   vt_duration_text(job->duration_ns, duration, sizeof duration));
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

static int print_profile(const struct vt_profile *profile, bool as_json, const char *folder)
{
    struct vt_error err = VT_ERROR_INIT;
    char *json;

    if (!as_json) {
        (void)fputc('\n', stdout);
        vt_profile_print_table(profile, stdout, vt_cli_columns(stdout));
        (void)printf("saved          %s  (result.json)\n", folder);
    } else if (vt_profile_json(profile, &err, &json) == VT_OK) {
        (void)fputs(json, stdout);
        vt_free(json);
    } else {
        return vt_cli_fail(&err);
    }
    return profile->partial ? vt_status_exit_code(VT_ERR_INTERRUPTED) : 0;
}

static int profile_model(const struct vt_options *options, const char *model)
{
    const struct vt_profile_job *job = options->values;
    struct printer printer = {.out = job->job.json ? stderr : stdout};
    struct vt_profile_events events = {print_header, on_phase_begin, on_phase_end, &printer};
    struct vt_profile *profile = NULL;
    struct vt_error err = VT_ERROR_INIT;
    struct vt_interrupt interrupt;
    const char *folder = NULL;

    struct vt_load_control *control = vt_interrupt_catch(&interrupt);
    vt_live_start(&printer.live, control);
    enum vt_status status =
        vt_profile_run(options, model, control, &events, &err, &profile, &folder);
    vt_live_stop(&printer.live);
    vt_interrupt_restore(&interrupt);
    if (profile == NULL) {
        return vt_cli_fail(&err);
    }
    int code = print_profile(profile, job->job.json, folder);
    if (status != VT_OK) {
        /* The figures are on the screen; that they could not be saved decides the exit code. */
        code = vt_cli_fail(&err);
    }
    vt_profile_free(profile);
    return code;
}

int vt_verb_profile(int argc, const char *const *argv)
{
    struct vt_profile_job job;

    return vt_cli_on_model(vt_profile_options(), &job, argc, argv,
                           "profile: one model is needed, as in 'vatio profile model.onnx'",
                           profile_model);
}
