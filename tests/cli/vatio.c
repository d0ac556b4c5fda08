/* SPDX-License-Identifier: Apache-2.0 */
#include "vatio.h"

#include "vt_test.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX    40
#define TIME_OUT_MS 60000
#define POLL_MS     5

char work_folder[64];

int make_work_folder(void **state)
{
    (void)state;
    (void)snprintf(work_folder, sizeof work_folder, "/tmp/vatio-cli-XXXXXX");
    if (mkdtemp(work_folder) == NULL) {
        return -1;
    }
    return chmod(work_folder, 0777);
}

int remove_work_folder(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", work_folder);
    return system(command);
}

const char *work_path(const char *name)
{
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    (void)snprintf(path[turn], sizeof path[0], "%s/%s", work_folder, name);
    return path[turn];
}

void write_work_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(work_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    size_t n = fread(text, 1, (size_t)size, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
}

struct how {
    const char *out_path;
    bool unprivileged;
    int interrupt_after_ms;
    unsigned file_limit; /* bytes a file may grow to; 0: no limit */
};

static void child(const struct how *how, const char *out_path, const char *err_path, char **argv)
{
    int out = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int err = open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int in = open("/dev/null", O_RDONLY);

    if (out < 0 || err < 0 || in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
        chdir(work_folder) != 0) {
        _exit(99);
    }
    /* Root without these is bound by permissions like anyone, and still reaches a program that lies
     * in its private home. */
    if (how->unprivileged && geteuid() == 0 &&
        (prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0 ||
         prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0) != 0)) {
        _exit(98);
    }
    if (how->file_limit > 0) {
        struct rlimit limit = {how->file_limit, how->file_limit};
        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            _exit(96);
        }
    }
    execv(VATIO_PROGRAM, argv);
    _exit(97);
}

static void nap(int ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* The exit status, or -1 when it had to be killed. */
static int await(pid_t pid, int interrupt_after_ms)
{
    int status = 0;

    for (int waited = 0; waited < TIME_OUT_MS; waited += POLL_MS) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        }
        if (interrupt_after_ms > 0 && waited >= interrupt_after_ms) {
            (void)kill(pid, SIGINT);
            interrupt_after_ms = 0;
        }
        nap(POLL_MS);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return -1;
}

static struct outcome run(const struct how *how, const char *first, va_list args)
{
    char *argv[ARGS_MAX] = {(char *)(uintptr_t) "vatio"};
    int argc = 1;
    char out_path[128], err_path[128];
    struct outcome outcome = {-1, NULL, NULL};

    for (const char *arg = first; arg != NULL; arg = va_arg(args, const char *)) {
        assert_true(argc < ARGS_MAX - 1);
        argv[argc++] = (char *)(uintptr_t)arg;
    }
    argv[argc] = NULL;
    (void)snprintf(out_path, sizeof out_path, "%s/.out", work_folder);
    (void)snprintf(err_path, sizeof err_path, "%s/.err", work_folder);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        child(how, how->out_path != NULL ? how->out_path : out_path, err_path, argv);
    }
    outcome.code = await(pid, how->interrupt_after_ms);
    outcome.out = how->out_path != NULL ? strdup("") : read_all(out_path);
    outcome.err = read_all(err_path);
    return outcome;
}

#define RUN(how)                                                                                   \
    va_list args;                                                                                  \
    va_start(args, first);                                                                         \
    struct outcome outcome = run(&(how), first, args);                                             \
    va_end(args);                                                                                  \
    return outcome

struct outcome vatio(const char *first, ...)
{
    struct how how = {0};
    RUN(how);
}

struct outcome vatio_unprivileged(const char *first, ...)
{
    struct how how = {.unprivileged = true};
    RUN(how);
}

struct outcome vatio_to(const char *path, const char *first, ...)
{
    struct how how = {.out_path = path};
    RUN(how);
}

struct outcome vatio_interrupted(int after_ms, const char *first, ...)
{
    struct how how = {.interrupt_after_ms = after_ms};
    RUN(how);
}

struct outcome vatio_on_full_disk(unsigned bytes, const char *first, ...)
{
    struct how how = {.file_limit = bytes};
    RUN(how);
}

void outcome_free(struct outcome *outcome)
{
    free(outcome->out);
    free(outcome->err);
    outcome->out = outcome->err = NULL;
}

void assert_one_error(struct outcome outcome, int code, const char *text)
{
    char *newline = strchr(outcome.err, '\n');
    bool one_line = newline != NULL && newline[1] == '\0';
    bool named = strncmp(outcome.err, "vatio: ", 7) == 0 && strstr(outcome.err, text) != NULL;

    if (outcome.code != code || !one_line || !named) {
        print_message(
            "exit code %d (wanted %d), standard error:\n%s\n(wanted one line with '%s')\n",
            outcome.code, code, outcome.err, text);
    }
    assert_int_equal(outcome.code, code);
    assert_true(one_line);
    assert_true(named);
    outcome_free(&outcome);
}

json_t *run_json(struct outcome *outcome)
{
    json_error_t error;
    json_t *root = json_loads(outcome->out, 0, &error);

    if (root == NULL) {
        print_message("not JSON: %s (line %d)\n%s\n%s\n", error.text, error.line, outcome->out,
                      outcome->err);
    }
    assert_non_null(root);
    return root;
}

json_t *result_of(json_t *root, const char *scenario, const char *mode)
{
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(root, "results"), i, entry)
    {
        const char *s = json_string_value(json_object_get(entry, "scenario"));
        const char *m = json_string_value(json_object_get(entry, "mode"));
        if (s != NULL && m != NULL && strcasecmp(s, scenario) == 0 && strcmp(m, mode) == 0) {
            return entry;
        }
    }
    return NULL;
}
