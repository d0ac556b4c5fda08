/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "report/report.h"

static int report(const struct vt_options *options)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_report_made made;

    if (options->n_positional == 0) {
        return vt_cli_usage("report: at least one folder is needed, as in 'vatio report runs/ -o "
                            "report.html'");
    }
    if (vt_report_make(options->values, options->positional, options->n_positional, stdout, &err,
                       &made) != VT_OK) {
        return vt_cli_fail(&err);
    }
    if (made.path != NULL) {
        (void)printf("saved          %s  (%zu result%s", made.path, made.sources,
                     made.sources == 1 ? "" : "s");
        if (made.plots > 0) {
            (void)printf(", %u plot%s", made.plots, made.plots == 1 ? "" : "s");
        }
        (void)printf(", %llu KiB)\n", (unsigned long long)(made.bytes + 1023) / 1024);
    }
    return 0;
}

int vt_verb_report(int argc, const char *const *argv)
{
    struct vt_options options = {0};
    struct vt_report_job job;
    struct vt_error err = VT_ERROR_INIT;
    int code;

    enum vt_status status = vt_options_init(&options, vt_report_options(), &job, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&options, argc, argv, &err);
    }
    code = status == VT_OK ? report(&options) : vt_cli_fail(&err);
    vt_options_release(&options);
    return code;
}
