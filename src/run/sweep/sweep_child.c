/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sweep/sweep_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define POLL_NS     (5 * VT_NS_PER_MS)
#define PATIENCE_NS (20 * VT_NS_PER_S)

/* What the child needs between fork and exec. */
struct start {
    int log, nothing;
    int complaint; /* takes the errno when it cannot start; closed by exec */
    pid_t parent;
};

/* Between fork and exec: only what is safe in a copy of a process with threads. */
static void become(const struct vt_sweep_child *child, const struct start *start)
{
    sigset_t none;

    (void)setpgid(0, 0);
    /* Dies with the parent, which may be killed: two runs never write into one folder. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (getppid() == start->parent && dup2(start->nothing, 0) >= 0 && dup2(start->log, 1) >= 0 &&
        dup2(start->log, 2) >= 0) {
        (void)execv(child->program, (char *const *)(uintptr_t)child->argv);
    }
    int code = errno;
    (void)!write(start->complaint, &code, sizeof code);
    for (;;) {
        (void)kill(getpid(), SIGKILL);
    }
}

/* Until the child has ended. */
static int await(const struct vt_sweep_child *child, pid_t pid, const atomic_bool *stop,
                 struct vt_sweep_ending *ending)
{
    int64_t started = vt_now_ns(), killed_from = VT_NEVER;
    int status = 0;

    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) {
            return ended == pid ? status : -1;
        }
        int64_t now = vt_now_ns();
        if (!ending->stopped && atomic_load(stop)) {
            ending->stopped = true;
            killed_from = now + PATIENCE_NS;
            (void)kill(pid, SIGINT);
        }
        if (!ending->timed_out && child->limit_ns > 0 && now - started > child->limit_ns) {
            ending->timed_out = true;
            killed_from = now;
        }
        if (now >= killed_from) {
            (void)kill(pid, SIGKILL);
        }
        vt_sleep_until_ns(now + POLL_NS, 0);
    }
}

/* Why the child could not start; 0: it did. Returns when it has started or is dead. */
static int read_complaint(int complaint)
{
    int code = 0;
    ssize_t n;

    do {
        n = read(complaint, &code, sizeof code);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof code ? code : 0;
}

static void close_all(const int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
}

/* Forks; *ret_code is an errno when that fails. */
static pid_t start_child(const struct vt_sweep_child *child, int log, int *ret_code)
{
    int fds[3] = {-1, -1, -1}; /* of the pipe for reading and for writing, nothing to read */

    pid_t pid = -1;
    if (pipe2(fds, O_CLOEXEC) == 0) {
        fds[2] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        const struct start start = {log, fds[2], fds[1], getpid()};
        pid = fds[2] >= 0 ? fork() : -1;
        if (pid == 0) {
            become(child, &start);
        }
    }
    *ret_code = pid < 0 ? errno : 0;
    if (pid > 0) {
        (void)close(fds[1]);
        fds[1] = -1;
        *ret_code = read_complaint(fds[0]);
    }
    close_all(fds, 3);
    return pid;
}

enum vt_status vt_sweep_child_run(const struct vt_sweep_child *child, const atomic_bool *stop,
                                  struct vt_error *err, struct vt_sweep_ending *ret_ending)
{
    struct vt_sweep_ending ending = {.code = -1};
    int code;

    int log = open(child->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (log < 0) {
        return vt_error_set(err, VT_ERR_WRITE, "%s: cannot be written: %s", child->log,
                            strerror(errno));
    }
    pid_t pid = start_child(child, log, &code);
    (void)close(log);
    int status = pid > 0 ? await(child, pid, stop, &ending) : -1;
    if (code != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "%s: cannot be started: %s", child->program,
                            strerror(code));
    }
    if (status != -1 && WIFEXITED(status)) {
        ending.code = WEXITSTATUS(status);
    } else if (status != -1) {
        ending.signal = WTERMSIG(status);
    }
    *ret_ending = ending;
    return VT_OK;
}
