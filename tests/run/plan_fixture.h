/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and what is planned for them, without a model. */
#ifndef VT_TESTS_RUN_PLAN_FIXTURE_H
#define VT_TESTS_RUN_PLAN_FIXTURE_H

#include "base/clock.h"
#include "run/scenario.h"
#include "vt_test.h"

static const struct vt_probe probe = {
    .single_p90_ns = 2 * VT_NS_PER_MS, .batch = 8, .samples_per_s = 1000};

/* A job as a command line gives it, and a session as far as settings and rules look at it. */
struct fixture {
    struct vt_options options;
    struct vt_job job;
    struct vt_load_plan plan;
    struct vt_session session;
    char warned[512];
};

static inline void keep_warning(void *ctx, const char *text)
{
    struct fixture *f = ctx;
    (void)snprintf(f->warned, sizeof f->warned, "%s", text);
}

/* `arguments` are separated by single blanks; the texts live in the fixture's static copy. */
static inline enum vt_status try_job(struct fixture *f, const char *model, const char *arguments,
                                     struct vt_error *err)
{
    static char copy[1024];
    const char *argv[32] = {"run"};
    int argc = 1;
    memset(f, 0, sizeof *f);
    (void)snprintf(copy, sizeof copy, "%s", arguments);
    for (char *word = strtok(copy, " "); word != NULL && argc < 32; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    enum vt_status status = vt_options_init(&f->options, vt_job_options(), &f->job, err);
    if (status == VT_OK) {
        status = vt_options_parse(&f->options, argc, argv, err);
    }
    if (status == VT_OK) {
        const struct vt_conf_warnings warnings = {keep_warning, f};
        status = vt_load_plan_init(&f->plan, &f->options, model, &warnings, err);
    }
    f->session =
        (struct vt_session){.job = &f->job, .plan = &f->plan, .source = {.argument = model}};
    f->session.info.total_count = 2000;
    return status;
}

static inline void close_job(struct fixture *f)
{
    vt_load_plan_release(&f->plan);
    vt_options_release(&f->options);
}

static inline void open_job(struct fixture *f, const char *model, const char *arguments)
{
    struct vt_error err = VT_ERROR_INIT;
    if (try_job(f, model, arguments, &err) != VT_OK) {
        fail_msg("%s: %s", arguments, err.text);
    }
}

static inline struct vt_load_settings settings_of(const struct vt_session *session,
                                                  enum vt_scenario scenario, enum vt_mode mode)
{
    struct vt_load_settings settings;
    vt_scenario_settings(session, &probe, scenario, mode, &settings);
    return settings;
}

#endif
