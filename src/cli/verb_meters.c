/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "cli/cli.h"
#include "run/meters.h"

int vt_verb_meters(int argc, const char *const *argv)
{
    struct vt_meters_job job;
    struct vt_meters_report report;
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;

    enum vt_status status = vt_options_init(&options, vt_meters_options(), &job, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&options, argc, argv, &err);
    }
    if (status == VT_OK) {
        status = vt_meters_run(&job, options.positional, options.n_positional, &err, &report);
    }
    vt_options_release(&options);
    if (status != VT_OK) {
        return vt_cli_fail(&err);
    }
    char *json = NULL;
    if (job.json) {
        status = vt_meters_json(&report, &err, &json);
    } else {
        vt_meters_print_table(&report, stdout, vt_cli_columns(stdout));
    }
    if (json != NULL) {
        (void)fputs(json, stdout);
    }
    vt_free(json);
    vt_meters_report_release(&report);
    return status == VT_OK ? 0 : vt_cli_fail(&err);
}
