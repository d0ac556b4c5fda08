/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "run/caps/machine_caps.h"

static int print(const struct vt_caps_report *report, bool json, struct vt_error *err)
{
    char *text = NULL;

    if (!json) {
        vt_caps_print_table(report, stdout, vt_cli_columns(stdout));
        return 0;
    }
    if (vt_caps_json(report, err, &text) != VT_OK) {
        return vt_cli_fail(err);
    }
    (void)fputs(text, stdout);
    vt_free(text);
    return 0;
}

int vt_verb_caps(int argc, const char *const *argv)
{
    struct vt_caps_job job;
    struct vt_caps_report report = {0};
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;

    enum vt_status status = vt_options_init(&options, vt_caps_options(), &job, &err);
    if (status == VT_OK) {
        status = vt_options_parse(&options, argc, argv, &err);
    }
    const char *what = status == VT_OK && options.n_positional > 0 ? options.positional[0] : "";
    if (status == VT_OK &&
        (options.n_positional > 1 || (what[0] != '\0' && strcmp(what, "restore") != 0))) {
        status = vt_error_set(&err, VT_ERR_USAGE,
                              "caps: '%.40s' is not understood, `vatio caps` lists and `vatio caps "
                              "restore` puts back; they are set by `vatio run --cap`",
                              options.positional[options.n_positional - 1]);
    }
    if (status == VT_OK) {
        status = what[0] != '\0' ? vt_caps_restore(&job, &err, &report)
                                 : vt_caps_look(&job, &err, &report);
    }
    vt_options_release(&options);
    if (status != VT_OK) {
        return vt_cli_fail(&err);
    }
    int code = print(&report, job.json, &err);
    if (code == 0 && what[0] != '\0' && vt_caps_report_failed(&report)) {
        code = vt_status_exit_code(VT_ERR_ENGINE);
    }
    vt_caps_report_release(&report);
    return code;
}
