/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "cli/verb_run.h"
#include "run/job.h"

/* Parses one section over the defaults and runs it. */
static int run_section(const char *path, const char *section)
{
    struct vt_job job;
    struct vt_options options = {0};
    struct vt_error err = VT_ERROR_INIT;
    int code;

    enum vt_status status = vt_options_init(&options, vt_job_options(), &job, &err);
    if (status == VT_OK) {
        status = vt_options_parse_job(&options, path, section, &err);
    }
    if (status != VT_OK) {
        code = vt_cli_fail(&err);
    } else if (job.model == NULL || job.model[0] == '\0') {
        code = vt_cli_usage("%s: section [%s] names no model (add a line such as model = digits)",
                            path, section);
    } else {
        (void)printf("[%s]\n", section);
        code = vt_cli_run_job(&options, job.model);
    }
    vt_options_release(&options);
    return code;
}

/* The first code that is not 0 is the job's, but an interrupt ends it all. */
static int run_sections(const char *path, const char *const *sections, size_t n)
{
    int first = 0;

    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            (void)printf("\n");
        }
        int code = run_section(path, sections[i]);
        if (first == 0 || code == 130) {
            first = code;
        }
        if (code == 130) {
            break;
        }
    }
    return first;
}

/* Whether every section that the user named stands in the file. */
static int check_names(const char *path, const struct vt_job_sections *sections,
                       const char *const *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < sections->count; k++) {
            known = known || strcmp(sections->names[k], wanted[i]) == 0;
        }
        if (!known) {
            const char *near =
                vt_nearest_name(wanted[i], (const char *const *)sections->names, sections->count);
            return vt_cli_usage("%s: no section [%s]%s%s%s", path, wanted[i],
                                near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                                near != NULL ? "'?" : "");
        }
    }
    return 0;
}

int vt_verb_job(int argc, const char *const *argv)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_job_sections sections;
    int code;

    if (argc < 2 || argv[1][0] == '-') {
        return vt_cli_usage("job: a file is needed, as in 'vatio job nightly.ini [SECTION ...]'");
    }
    if (vt_job_sections_read(&sections, argv[1], &err) != VT_OK) {
        return vt_cli_fail(&err);
    }
    size_t wanted = (size_t)argc - 2;
    if (sections.count == 0) {
        code = vt_cli_usage("%s: no section; a run is a section such as [nightly]", argv[1]);
    } else if (wanted > 0) {
        code = check_names(argv[1], &sections, argv + 2, wanted);
        if (code == 0) {
            code = run_sections(argv[1], argv + 2, wanted);
        }
    } else {
        code = run_sections(argv[1], (const char *const *)sections.names, sections.count);
    }
    vt_job_sections_release(&sections);
    return code;
}
