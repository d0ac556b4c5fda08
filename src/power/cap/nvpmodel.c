/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power modes of Jetson boards, through NVIDIA's program nvpmodel: a mode limits clocks and
 * cores, not watts, and outlives a restart of the board.
 *
 * What nvpmodel returns says little: 255 comes when it took cores offline, although it worked. So
 * the mode is asked for afterwards. Some modes need a restart; nvpmodel asks, and is told no unless
 * the user wants that.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/quote.h"
#include "power/cap/cap.h"
#include "power/cap/nvpmodel_conf.h"

#define PROGRAM     "nvpmodel"
#define CONF        "/etc/nvpmodel.conf"
#define OUTPUT_MAX  8192
#define TIME_OUT_NS (60 * VT_NS_PER_S)
#define PAUSE_NS    (5 * VT_NS_PER_MS)

extern char **environ;

struct nvpmodel {
    const char *program;
    bool allow_reboot;
    struct vt_nvpmodel_conf conf;
    struct vt_cap_domain domain;
};

/* --- the program --------------------------------------------------------------------------- */

struct output {
    char text[OUTPUT_MAX]; /* what it printed, both ways; cut */
    size_t size;
    int code; /* its exit code; -1: a signal ended it */
};

/* Both of its ends go to one socket, into which its answer is written before it begins. */
static enum vt_status start(const char *program, char *const argv[], int there, pid_t *ret_pid,
                            struct vt_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    if (posix_spawn_file_actions_init(&actions) != 0) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %s", program);
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for %s", program);
    }
    /* A guardian has all signals blocked, and Ctrl-C is not meant for this one; nor is the death
     * of who listens to it, in the middle of its work. */
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    int code = posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    code = code != 0 ? code : posix_spawnattr_setsigmask(&attributes, &none);
    code = code != 0 ? code : posix_spawnattr_setsigdefault(&attributes, &all);
    for (int fd = 0; code == 0 && fd < 3; fd++) {
        code = posix_spawn_file_actions_adddup2(&actions, there, fd);
    }
    if (code == 0) {
        code = posix_spawnp(ret_pid, program, &actions, &attributes, argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    if (code == 0) {
        return VT_OK;
    }
    return vt_error_set(
        err, code == ENOENT ? VT_ERR_UNAVAILABLE : VT_ERR_SYSTEM, "%s: %s", vt_plain(program).text,
        code == ENOENT ? "no such program: Jetson boards have it, in /usr/sbin" : strerror(code));
}

/* Reads what comes until the program ends; false when that takes too long. */
static bool listen_to(pid_t pid, int here, struct output *out)
{
    const int64_t deadline = vt_now_ns() + TIME_OUT_NS;
    int status = 0;
    pid_t ended = 0;

    do {
        char bytes[512];
        ended = waitpid(pid, &status, WNOHANG);
        for (ssize_t n; (n = recv(here, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
            const size_t room = sizeof out->text - 1 - out->size;
            const size_t take = (size_t)n < room ? (size_t)n : room;
            memcpy(out->text + out->size, bytes, take);
            out->size += take;
        }
        if (ended == 0) {
            vt_sleep_until_ns(vt_now_ns() + PAUSE_NS, 0);
        }
    } while (ended == 0 && vt_now_ns() < deadline);
    if (ended == 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        return false;
    }
    out->text[out->size] = '\0';
    out->code = ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
}

static enum vt_status run(const struct nvpmodel *model, const char *option, const char *value,
                          struct vt_error *err, struct output *out)
{
    const char *const text[] = {model->program, option, value, NULL};
    char *argv[4];
    int line[2];
    pid_t pid = 0;

    memcpy(argv, text, sizeof argv);
    *out = (struct output){.code = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "no socket for %s: %s", PROGRAM, strerror(errno));
    }
    /* What it reads when it asks whether to restart; then the end of the file. */
    const char *answer = model->allow_reboot ? "YES\n" : "no\n";
    (void)!send(line[0], answer, strlen(answer), MSG_NOSIGNAL);
    (void)shutdown(line[0], SHUT_WR);
    enum vt_status status = start(model->program, argv, line[1], &pid, err);
    (void)close(line[1]);
    if (status == VT_OK && !listen_to(pid, line[0], out)) {
        status = vt_error_set(err, VT_ERR_TIMEOUT, "%s %s %s does not end",
                              vt_plain(model->program).text, option, value != NULL ? value : "");
    }
    (void)close(line[0]);
    return status;
}

/* The last line that is not blank. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    const char *newline = strrchr(text, '\n');
    return newline != NULL ? newline + 1 : text;
}

/* "NV Power Mode: MAXN" and below it the number. */
static enum vt_status query(const struct nvpmodel *model, struct vt_error *err, int64_t *ret_id)
{
    struct output out;
    char *end = NULL;

    enum vt_status status = run(model, "-q", NULL, err, &out);
    if (status != VT_OK) {
        return status;
    }
    const char *line = last_line(out.text);
    const long id = isdigit((unsigned char)line[0]) ? strtol(line, &end, 10) : -1;
    if (id < 0 || *end != '\0' || id > VT_NVPMODEL_ID_MAX) {
        return vt_error_set(err, VT_ERR_READ,
                            "%s -q does not tell the mode, exit code %d, last line %s%s",
                            vt_plain(model->program).text, out.code, vt_quote(line).text,
                            geteuid() != 0 ? "; run as root (sudo)" : "");
    }
    *ret_id = id;
    return VT_OK;
}

static bool speaks_of_reboot(const char *text)
{
    return strcasestr(text, "reboot") != NULL;
}

static enum vt_status change(const struct nvpmodel *model, int64_t id, struct vt_error *err)
{
    struct output out;
    char text[16];
    int64_t now = -1;

    (void)snprintf(text, sizeof text, "%lld", (long long)id);
    enum vt_status status = run(model, "-m", text, err, &out);
    if (status == VT_OK) {
        status = query(model, err, &now);
    }
    if (status != VT_OK || now == id) {
        return status;
    }
    if (speaks_of_reboot(out.text)) {
        return vt_error_set(
            err, VT_ERR_WRITE, "mode %lld needs a restart of the board: %s", (long long)id,
            model->allow_reboot ? "nvpmodel was told to restart it, and it stays in that mode"
                                : "choose another, or allow it with --allow-reboot, which ends "
                                  "everything that runs");
    }
    return vt_error_set(err, VT_ERR_WRITE, "%s -m %lld left mode %lld, exit code %d: %s%s",
                        vt_plain(model->program).text, (long long)id, (long long)now, out.code,
                        vt_quote(last_line(out.text)).text,
                        geteuid() != 0 ? "; run as root (sudo)" : "");
}

/* --- the seam ------------------------------------------------------------------------------ */

static void nvpmodel_close(void *cap)
{
    vt_free(cap);
}

/* "modes 0 MAXN, 1 15W" */
static void describe_modes(struct nvpmodel *model)
{
    char *note = model->domain.note;
    size_t at = 0;

    for (uint32_t i = 0; i < model->conf.n; i++) {
        const int n =
            snprintf(note + at, sizeof model->domain.note - at, "%s%d %s", i == 0 ? "modes " : ", ",
                     (int)model->conf.modes[i].id, model->conf.modes[i].name);
        at += n > 0 && (size_t)n < sizeof model->domain.note - at ? (size_t)n : 0;
    }
}

static enum vt_status nvpmodel_open(const struct vt_cap_ops *self,
                                    const struct vt_cap_places *places, struct vt_error *err,
                                    void **ret_cap)
{
    const char *conf =
        places != NULL && places->nvpmodel_conf != NULL ? places->nvpmodel_conf : CONF;
    char *text = NULL;
    size_t size = 0;
    int64_t ignored;
    struct nvpmodel *model = vt_calloc(1, sizeof *model);

    (void)self;
    if (model == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a cap");
    }
    model->program = places != NULL && places->nvpmodel != NULL ? places->nvpmodel : PROGRAM;
    model->allow_reboot = places != NULL && places->allow_reboot;
    model->domain = (struct vt_cap_domain){.name = "board", .device = "Jetson", .id = "board"};
    enum vt_status status = vt_file_read(conf, VT_NVPMODEL_BYTES_MAX, err, &text, &size);
    if (status == VT_ERR_NOT_FOUND && err != NULL) {
        err->status = VT_OK;
        status = vt_error_set(err, VT_ERR_UNAVAILABLE,
                              "no %s: only Jetson boards have power modes of nvpmodel",
                              vt_plain(conf).text);
    }
    if (status == VT_OK) {
        status = vt_nvpmodel_parse(text, size, conf, err, &model->conf);
    }
    vt_free(text);
    describe_modes(model);
    if (status == VT_OK) {
        status = query(model, err, &ignored);
    }
    if (status != VT_OK) {
        nvpmodel_close(model);
        return status;
    }
    *ret_cap = model;
    return VT_OK;
}

static const struct vt_cap_domain *nvpmodel_domains(const void *cap, uint32_t *ret_n)
{
    const struct nvpmodel *model = cap;

    *ret_n = 1;
    return &model->domain;
}

static enum vt_status nvpmodel_enforced(void *cap, uint32_t domain, struct vt_error *err,
                                        double *ret_value)
{
    int64_t id;
    enum vt_status status = query(cap, err, &id);

    (void)domain;
    if (status == VT_OK) {
        *ret_value = (double)id;
    }
    return status;
}

static enum vt_status nvpmodel_get(void *cap, uint32_t domain, struct vt_error *err,
                                   struct vt_cap_value *ret_value)
{
    const struct nvpmodel *model = cap;
    struct vt_cap_value value = {.minimum = VT_NVPMODEL_ID_MAX, .standard = model->conf.standard};

    for (uint32_t i = 0; i < model->conf.n; i++) {
        value.minimum = fmin(value.minimum, model->conf.modes[i].id);
        value.maximum = fmax(value.maximum, model->conf.modes[i].id);
    }
    enum vt_status status = nvpmodel_enforced(cap, domain, err, &value.value);
    if (status == VT_OK) {
        *ret_value = value;
    }
    return status;
}

static enum vt_status nvpmodel_may_set(void *cap, struct vt_error *err)
{
    (void)cap;
    return geteuid() == 0
               ? VT_OK
               : vt_error_set(err, VT_ERR_WRITE, "may be set by root only: run as root (sudo)");
}

static bool nvpmodel_named(void *cap, const char *text, double *ret_value)
{
    const struct nvpmodel *model = cap;
    const struct vt_nvpmodel_mode *mode = vt_nvpmodel_named(&model->conf, text);

    if (mode != NULL) {
        *ret_value = mode->id;
    }
    return mode != NULL;
}

static enum vt_status nvpmodel_save(void *cap, uint32_t domain, struct vt_error *err,
                                    struct vt_cap_raw *ret_raw)
{
    struct vt_cap_raw raw = {{0, -1}};
    enum vt_status status = query(cap, err, &raw.number[0]);

    (void)domain;
    if (status == VT_OK) {
        *ret_raw = raw;
    }
    return status;
}

static enum vt_status nvpmodel_set(void *cap, uint32_t domain, double value, struct vt_error *err)
{
    const struct nvpmodel *model = cap;

    (void)domain;
    if (vt_nvpmodel_find(&model->conf, value) == NULL) {
        return vt_error_set(err, VT_ERR_USAGE, "there is no mode %.6g", value);
    }
    return change(model, llround(value), err);
}

static enum vt_status nvpmodel_restore(void *cap, uint32_t domain, const struct vt_cap_raw *raw,
                                       struct vt_error *err)
{
    const struct nvpmodel *model = cap;
    int64_t now;

    (void)domain;
    if (raw->number[1] != -1 || raw->number[0] < 0 ||
        vt_nvpmodel_find(&model->conf, (double)raw->number[0]) == NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "%lld was never a mode here",
                            (long long)raw->number[0]);
    }
    enum vt_status status = query(model, err, &now);
    if (status == VT_OK && now != raw->number[0]) {
        status = change(model, raw->number[0], err);
    }
    return status;
}

const struct vt_cap_ops vt_cap_nvpmodel = {
    .api_version = VT_CAP_API_VERSION,
    .struct_size = sizeof(struct vt_cap_ops),
    .name = "nvpmodel",
    .summary = "power mode of Jetson boards: clocks and cores, by number or name",
    .unit = "mode",
    .survives_restart = true,
    .open = nvpmodel_open,
    .domains = nvpmodel_domains,
    .get = nvpmodel_get,
    .may_set = nvpmodel_may_set,
    .named = nvpmodel_named,
    .save = nvpmodel_save,
    .set = nvpmodel_set,
    .enforced = nvpmodel_enforced,
    .restore = nvpmodel_restore,
    .close = nvpmodel_close,
};
