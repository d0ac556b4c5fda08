/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "result/result.h"
#include "run/plan_job.h"

static int plan_model(const struct vt_options *options, const char *model)
{
    const struct vt_plan_job *job = options->values;
    struct vt_plan_job_report report;
    struct vt_error err = VT_ERROR_INIT;
    char megabytes[32], time[32];

    if (vt_plan_job_run(job, model, &err, &report) != VT_OK) {
        return vt_cli_fail(&err);
    }
    (void)printf("%-12s %s, batch %lld, %u thread%s\n", "model", model, (long long)report.batch,
                 report.threads, report.threads == 1 ? "" : "s");
    (void)printf("%-12s %u chosen by measuring", "kernels", report.kernels);
    if (report.measured > 0) {
        (void)printf(", %u of them just now in %s", report.measured,
                     vt_duration_text(report.measuring_ns, time, sizeof time));
    }
    (void)printf("\n%-12s %u packed\n", "weights", report.weights);
    (void)printf("%-12s %s (%s MB)\n", "saved", job->output,
                 vt_number_text((double)report.file_bytes / 1e6, megabytes, sizeof megabytes));
    return 0;
}

int vt_verb_plan(int argc, const char *const *argv)
{
    struct vt_plan_job job;

    return vt_cli_on_model(vt_plan_job_options(), &job, argc, argv,
                           "plan: one model is needed, as in 'vatio plan model.onnx -o model.plan'",
                           plan_model);
}
