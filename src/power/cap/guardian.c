/* SPDX-License-Identifier: Apache-2.0 */
#include "power/cap/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "power/cap/replay.h"

/* It answers at once; so long it may take on a machine that is swapping. */
#define ANSWER_MS    10000
#define DISMISSED_NS (2 * VT_NS_PER_S)

/* Where the guardian keeps its two files. */
#define LINE 3
#define LOCK 4

/* --- the guardian's own process ------------------------------------------------------------ */

static bool receive(int fd, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        const ssize_t n = recv(fd, at, size, 0);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0) {
        return;
    }
#endif
    for (int fd = first; fd < 65536; fd++) {
        (void)close(fd);
    }
}

/* Keeps the line and the lock, and nothing else of the process that it comes from. */
static bool settle(int line, int lock)
{
    const int spare_line = fcntl(line, F_DUPFD_CLOEXEC, 16);
    const int spare_lock = fcntl(lock, F_DUPFD_CLOEXEC, 16);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (spare_line < 0 || spare_lock < 0 || nothing < 0) {
        return false;
    }
    for (int fd = 0; fd < LINE; fd++) {
        if (nothing != fd && dup2(nothing, fd) < 0) {
            return false;
        }
    }
    if (dup3(spare_line, LINE, O_CLOEXEC) < 0 || dup3(spare_lock, LOCK, O_CLOEXEC) < 0) {
        return false;
    }
    close_from(LOCK + 1);
    (void)setsid();
    /* Not the program's name, so that who kills all processes of that name leaves this one. */
    (void)prctl(PR_SET_NAME, "caps-guardian");
    return true; /* it stays in its folder: names of the places may begin there */
}

static bool answer(void)
{
    return send(LINE, "k", 1, MSG_NOSIGNAL) == 1;
}

/* Until the line breaks: true when dismissed. *text is what was told last. */
static bool listen_to_holder(char **text)
{
    uint32_t size = 0;

    while (receive(LINE, &size, sizeof size)) {
        if (size == 0) {
            return true;
        }
        char *told = size <= VT_CAP_RECORD_BYTES_MAX ? vt_calloc(size + 1, 1) : NULL;
        if (told == NULL || !receive(LINE, told, size)) {
            vt_free(told);
            break;
        }
        vt_free(*text);
        *text = told;
        if (!answer()) {
            break;
        }
    }
    return false;
}

static int guard(const struct vt_cap_places *places, const char *folder, const char *path)
{
    struct vt_cap_desk desk = {.places = places};
    struct vt_cap_record record = {.n = 0};
    char *text = NULL;

    if (!answer() || listen_to_holder(&text)) {
        return 0;
    }
    int code = 0;
    if (text != NULL) {
        const bool whole = vt_cap_record_parse(text, strlen(text), path, NULL, &record) == VT_OK &&
                           vt_cap_replay(&desk, &record, NULL, NULL) == VT_OK;
        code = whole ? 0 : 1;
    }
    /* What is not put back stays on record. */
    if (code == 0) {
        vt_cap_record_drop(path);
        vt_cap_lock_drop(folder);
    }
    vt_cap_desk_release(&desk);
    return code;
}

/* --- the side of the holder ---------------------------------------------------------------- */

static bool heard(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char byte = 0;
    int n;

    do {
        n = poll(&wait, 1, ANSWER_MS);
    } while (n < 0 && errno == EINTR);
    return n == 1 && recv(fd, &byte, 1, 0) == 1 && byte == 'k';
}

static bool transmit(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

enum vt_status vt_cap_guardian_start(const struct vt_cap_places *places, const char *folder,
                                     const char *path, int lock, struct vt_error *err,
                                     struct vt_cap_guardian *ret)
{
    int line[2];
    sigset_t all, before;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "no socket for the guardian of caps: %s",
                            strerror(errno));
    }
    /* From its first moment on no signal ends it. */
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)close(line[0]);
        /* Ends the process that was just made, not the caller's. */
        _Exit(settle(line[1], lock) ? guard(places, folder, path) : 1);
    }
    const int code = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)close(line[1]);
    if (pid < 0) {
        (void)close(line[0]);
        return vt_error_set(err, VT_ERR_SYSTEM, "the guardian of caps cannot be started: %s",
                            strerror(code));
    }
    struct vt_cap_guardian guardian = {.pid = pid, .fd = line[0]};
    if (!heard(line[0])) {
        vt_cap_guardian_dismiss(&guardian);
        return vt_error_set(err, VT_ERR_SYSTEM, "the guardian of caps does not start");
    }
    *ret = guardian;
    return VT_OK;
}

enum vt_status vt_cap_guardian_tell(struct vt_cap_guardian *guardian, const char *text,
                                    struct vt_error *err)
{
    const uint32_t size = (uint32_t)strlen(text);

    if (guardian->fd >= 0 && transmit(guardian->fd, &size, sizeof size) &&
        transmit(guardian->fd, text, size) && heard(guardian->fd)) {
        return VT_OK;
    }
    return vt_error_set(err, VT_ERR_SYSTEM,
                        "the guardian of caps (process %d) was killed: nothing more is set, what "
                        "is set will be put back",
                        (int)guardian->pid);
}

void vt_cap_guardian_share(const struct vt_cap_guardian *guardian, bool shared)
{
    if (guardian->fd >= 0) {
        (void)fcntl(guardian->fd, F_SETFD, shared ? 0 : FD_CLOEXEC);
    }
}

void vt_cap_guardian_dismiss(struct vt_cap_guardian *guardian)
{
    const uint32_t bye = 0;
    const int64_t deadline = vt_now_ns() + DISMISSED_NS;
    pid_t ended = 0;

    if (guardian->fd < 0) {
        return;
    }
    (void)transmit(guardian->fd, &bye, sizeof bye);
    (void)close(guardian->fd);
    while ((ended = waitpid(guardian->pid, NULL, WNOHANG)) == 0 && vt_now_ns() < deadline) {
        vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
    }
    if (ended == 0) { /* stopped from outside; its work is done */
        (void)kill(guardian->pid, SIGKILL);
        (void)waitpid(guardian->pid, NULL, 0);
    }
    *guardian = (struct vt_cap_guardian){.pid = 0, .fd = -1};
}
