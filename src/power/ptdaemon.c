/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A power analyzer at the wall, behind SPEC's PTDaemon, which listens on TCP and answers lines.
 *
 * Opening identifies the analyzer, sets its ranges (those that the options give, else automatic
 * ones) and starts a measurement of a sample a second. The samples come all at once when it is
 * stopped. Closing puts the ranges back as they were.
 *
 * Samples carry the time of the daemon's machine: both clocks must be kept by NTP.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/quote.h"
#include "power/meter.h"
#include "power/ptdaemon.h"

#define LINE_SIZE  1024
#define TIMEOUT_NS (10 * VT_NS_PER_S)
#define PORT       "8888"
/* What MLPerf asks of an analyzer and its ranges. */
#define CLASS 0.01
/* Clocks that are kept by NTP are never so far apart. */
#define CLOCK_MAX_NS (60 * VT_NS_PER_S)

struct ptdaemon {
    int fd;
    char buffer[4 * LINE_SIZE]; /* received and not yet taken */
    size_t filled;
    char line[LINE_SIZE];
    struct vt_meter_domain domains[VT_PTD_DOMAINS];
    struct vt_ptd_ranges before;
    char go[32];
    bool ranged, measuring;
};

/* --- lines --------------------------------------------------------------------------------- */

static enum vt_status wait_for(int fd, short events, int64_t until, struct vt_error *err)
{
    for (;;) {
        struct pollfd item = {fd, events, 0};
        const int64_t left = until - vt_now_ns();
        const int n = poll(&item, 1, left > 0 ? (int)(left / VT_NS_PER_MS) + 1 : 0);
        if (n > 0) {
            return VT_OK;
        }
        if ((n == 0 && left <= 0) || (n < 0 && errno != EINTR)) {
            return vt_error_set(err, VT_ERR_TIMEOUT,
                                "PTDaemon does not answer within %lld s: is it running, and no "
                                "other client connected?",
                                (long long)(TIMEOUT_NS / VT_NS_PER_S));
        }
    }
}

/* The next line, without its end, in ptd->line. */
static enum vt_status receive(struct ptdaemon *ptd, struct vt_error *err)
{
    const int64_t until = vt_now_ns() + TIMEOUT_NS;

    for (;;) {
        const char *end = memchr(ptd->buffer, '\n', ptd->filled);
        if (end != NULL) {
            const size_t taken = (size_t)(end - ptd->buffer) + 1;
            const size_t length = taken - 1 < LINE_SIZE ? taken - 1 : LINE_SIZE - 1;
            memcpy(ptd->line, ptd->buffer, length);
            ptd->line[length] = '\0';
            ptd->line[strcspn(ptd->line, "\r")] = '\0';
            (void)vt_tame(ptd->line);
            ptd->filled -= taken;
            memmove(ptd->buffer, ptd->buffer + taken, ptd->filled);
            return VT_OK;
        }
        if (ptd->filled == sizeof ptd->buffer) {
            return vt_error_set(err, VT_ERR_FORMAT, "PTDaemon sends a line without an end");
        }
        enum vt_status status = wait_for(ptd->fd, POLLIN, until, err);
        if (status != VT_OK) {
            return status;
        }
        const ssize_t n =
            recv(ptd->fd, ptd->buffer + ptd->filled, sizeof ptd->buffer - ptd->filled, 0);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
            return vt_error_set(err, VT_ERR_READ, "the connection to PTDaemon is gone: %s",
                                n == 0 ? "it was closed" : strerror(errno));
        }
        ptd->filled += n > 0 ? (size_t)n : 0;
    }
}

/* Sends a command and takes the first line of the answer. */
static enum vt_status ask(struct ptdaemon *ptd, const char *command, struct vt_error *err)
{
    char text[LINE_SIZE];
    const int length = snprintf(text, sizeof text, "%s\r\n", command);

    for (int sent = 0; sent < length;) {
        const ssize_t n = send(ptd->fd, text + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            enum vt_status status = wait_for(ptd->fd, POLLOUT, vt_now_ns() + TIMEOUT_NS, err);
            if (status != VT_OK) {
                return status;
            }
        } else if (n < 0) {
            return vt_error_set(err, VT_ERR_READ, "the connection to PTDaemon is gone: %s",
                                strerror(errno));
        } else {
            sent += (int)n;
        }
    }
    return receive(ptd, err);
}

/* The same where only an answer that begins with `wanted` will do. */
static enum vt_status ask_for(struct ptdaemon *ptd, const char *command, const char *wanted,
                              struct vt_error *err)
{
    enum vt_status status = ask(ptd, command, err);

    if (status == VT_OK && strncmp(ptd->line, wanted, strlen(wanted)) != 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "PTDaemon answers '%.60s' with %s, not '%s'",
                            command, vt_quote(ptd->line).text, wanted);
    }
    return status;
}

/* --- opening ------------------------------------------------------------------------------- */

/* HOST or HOST:PORT or [HOST]:PORT */
static bool split(const char *address, char host[256], char port[16])
{
    const char *colon = strrchr(address, ':');
    const bool bracket = address[0] == '[';
    const char *end = bracket ? strchr(address, ']') : colon;

    if (end == NULL) {
        end = address + strlen(address);
    }
    const char *begin = address + bracket;
    const char *number = end[0] == ']' ? end + 1 : end;
    (void)snprintf(port, 16, "%s", number[0] == ':' ? number + 1 : PORT);
    return end > begin && snprintf(host, 256, "%.*s", (int)(end - begin), begin) < 256 &&
           port[0] != '\0' && port[strspn(port, "0123456789")] == '\0';
}

static int connect_one(const struct addrinfo *at, int64_t until)
{
    struct vt_error ignored = VT_ERROR_INIT;
    const int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int code = 0;
    socklen_t size = sizeof code;

    if (fd < 0) {
        return -1;
    }
    if (connect(fd, at->ai_addr, at->ai_addrlen) != 0 &&
        (errno != EINPROGRESS || wait_for(fd, POLLOUT, until, &ignored) != VT_OK ||
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0 || code != 0)) {
        code = code != 0 ? code : errno;
        (void)close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

static enum vt_status dial(const char *address, struct vt_error *err, int *ret_fd)
{
    char host[256], port[16];
    struct addrinfo *list = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const int64_t until = vt_now_ns() + TIMEOUT_NS;
    int fd = -1;

    if (!split(address, host, port)) {
        return vt_error_set(err, VT_ERR_USAGE, "PTDaemon's address is %s: give HOST:PORT",
                            vt_quote(address).text);
    }
    const int code = getaddrinfo(host, port, &hints, &list);
    if (code != 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE, "PTDaemon's host %s: %s", vt_quote(host).text,
                            gai_strerror(code));
    }
    for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = connect_one(at, until);
    }
    freeaddrinfo(list);
    if (fd < 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "no PTDaemon at %s: %s; start it there with ptd -p %s TYPE DEVICE",
                            vt_plain(address).text, strerror(errno), port);
    }
    *ret_fd = fd;
    return VT_OK;
}

static enum vt_status set_range(struct ptdaemon *ptd, char quantity, double value,
                                struct vt_error *err)
{
    char command[64], wanted[32];

    if (value > 0) {
        (void)snprintf(command, sizeof command, "SR,%c,%.6g", quantity, value);
    } else {
        (void)snprintf(command, sizeof command, "SR,%c,Auto", quantity);
    }
    (void)snprintf(wanted, sizeof wanted, "Range %c changed", quantity);
    return ask_for(ptd, command, wanted, err);
}

static enum vt_status greet(struct ptdaemon *ptd, const struct vt_meter_options *options,
                            struct vt_error *err)
{
    enum vt_status status = ask_for(ptd, "Hello", "Hello, PTDaemon here!", err);

    if (status == VT_OK) {
        status = ask(ptd, "Identify", err);
    }
    if (status == VT_OK) {
        for (int i = 0; i < VT_PTD_DOMAINS; i++) {
            (void)snprintf(ptd->domains[i].device, sizeof ptd->domains[i].device, "%.*s",
                           (int)(strcspn(ptd->line, ",") < 79 ? strcspn(ptd->line, ",") : 79),
                           ptd->line);
        }
        status = ask(ptd, "RR", err);
    }
    if (status == VT_OK && !vt_ptd_ranges_parse(ptd->line, &ptd->before)) {
        status =
            vt_error_set(err, VT_ERR_FORMAT, "PTDaemon's ranges are %s", vt_quote(ptd->line).text);
    }
    if (status == VT_OK) {
        ptd->ranged = true;
        status = set_range(ptd, 'V', options->ptdaemon_volts, err);
    }
    if (status == VT_OK) {
        status = set_range(ptd, 'A', options->ptdaemon_amps, err);
    }
    if (status == VT_OK) {
        status = ask_for(ptd, ptd->go, "Starting untimed measurement", err);
        ptd->measuring = status == VT_OK;
    }
    return status;
}

/* As they were found; a range that was not known stays. */
static void restore(struct ptdaemon *ptd)
{
    struct vt_error ignored = VT_ERROR_INIT;
    const struct vt_ptd_ranges *was = &ptd->before;

    if (was->volt_auto >= 0 &&
        set_range(ptd, 'V', was->volt_auto == 1 ? 0 : was->volts, &ignored) != VT_OK) {
        return; /* the connection is gone */
    }
    if (was->amp_auto >= 0) {
        (void)!set_range(ptd, 'A', was->amp_auto == 1 ? 0 : was->amps, &ignored);
    }
}

static void ptdaemon_close(void *meter)
{
    struct ptdaemon *ptd = meter;
    struct vt_error ignored = VT_ERROR_INIT;

    if (ptd == NULL) {
        return;
    }
    if (ptd->measuring) {
        (void)!ask(ptd, "Stop", &ignored);
    }
    if (ptd->ranged) {
        restore(ptd);
    }
    (void)close(ptd->fd);
    vt_free(ptd);
}

static void describe(struct ptdaemon *ptd)
{
    static const struct {
        const char *name, *unit;
    } domains[VT_PTD_DOMAINS] = {[VT_PTD_WATTS] = {"wall", ""},
                                 [VT_PTD_VOLTS] = {"wall volts", "V"},
                                 [VT_PTD_AMPS] = {"wall amps", "A"},
                                 [VT_PTD_FACTOR] = {"wall power factor", "1"}};

    for (int i = 0; i < VT_PTD_DOMAINS; i++) {
        struct vt_meter_domain *domain = &ptd->domains[i];
        *domain =
            (struct vt_meter_domain){.kind = i == VT_PTD_WATTS ? VT_METER_POWER : VT_METER_OTHER,
                                     .scope = VT_METER_SCOPE_WALL,
                                     .inside = -1,
                                     .accuracy = i == VT_PTD_WATTS ? CLASS : 0,
                                     .averaging_ns = VT_NS_PER_S,
                                     .stamped = true};
        (void)snprintf(domain->name, sizeof domain->name, "%s", domains[i].name);
        (void)snprintf(domain->unit, sizeof domain->unit, "%s", domains[i].unit);
    }
}

static enum vt_status ptdaemon_open(const struct vt_meter_ops *self,
                                    const struct vt_meter_options *options, struct vt_error *err,
                                    void **ret_meter)
{
    int fd = -1;

    (void)self;
    if (options == NULL || options->ptdaemon == NULL) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "no PTDaemon is named: give its address with --ptdaemon HOST:PORT "
                            "(SPEC's daemon, for members of MLCommons)");
    }
    enum vt_status status = dial(options->ptdaemon, err, &fd);
    if (status != VT_OK) {
        return status;
    }
    struct ptdaemon *ptd = vt_calloc(1, sizeof *ptd);
    if (ptd == NULL) {
        (void)close(fd);
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for a meter");
    }
    const bool automatic = !(options->ptdaemon_volts > 0 && options->ptdaemon_amps > 0);
    ptd->fd = fd;
    describe(ptd);
    (void)snprintf(ptd->go, sizeof ptd->go, "Go,1000,0,vatio_%s",
                   automatic ? "ranging" : "testing");
    (void)snprintf(
        ptd->domains[0].note, sizeof ptd->domains[0].note,
        "%s ranges, 1 %% taken for its class; time is that of the daemon's machine, kept "
        "by NTP",
        automatic ? "automatic" : "fixed");
    status = greet(ptd, options, err);
    if (status != VT_OK) {
        ptdaemon_close(ptd);
        return status;
    }
    *ret_meter = ptd;
    return VT_OK;
}

/* --- samples ------------------------------------------------------------------------------- */

static const struct vt_meter_domain *ptdaemon_domains(const void *meter, uint32_t *ret_n)
{
    *ret_n = VT_PTD_DOMAINS;
    return ((const struct ptdaemon *)meter)->domains;
}

/* Nothing is told while it measures. */
static enum vt_status ptdaemon_read(void *meter, const bool *wanted,
                                    struct vt_meter_reading *ret_readings, struct vt_error *err)
{
    (void)wanted;
    (void)meter;
    (void)err;
    for (int i = 0; i < VT_PTD_DOMAINS; i++) {
        ret_readings[i] = (struct vt_meter_reading){(double)NAN, INT64_MIN, INT64_MIN};
    }
    return VT_OK;
}

/* What the daemon says of its own uncertainty; one that says nothing is not at fault. */
static void note_uncertainty(struct ptdaemon *ptd)
{
    struct vt_error ignored = VT_ERROR_INIT;
    char *note = ptd->domains[0].note;
    const size_t length = strlen(note);
    double mean;

    if (ask(ptd, "Uncertainty", &ignored) == VT_OK && vt_ptd_uncertainty_parse(ptd->line, &mean)) {
        (void)snprintf(note + length, sizeof ptd->domains[0].note - length,
                       "; the daemon's own uncertainty: %.4g", mean);
    }
}

/* The last sample was taken just before it was told. Another time zone shows; what little NTP
 * leaves does not. */
static enum vt_status check_clock(int64_t last_ns, int64_t now_ns, struct vt_error *err)
{
    const int64_t apart_ns = last_ns > now_ns ? last_ns - now_ns : now_ns - last_ns;

    if (apart_ns <= CLOCK_MAX_NS) {
        return VT_OK;
    }
    return vt_error_set(
        err, VT_ERR_UNAVAILABLE,
        "PTDaemon's clock is %.0f s %s this machine's: start the daemon with TZ=UTC "
        "and keep both clocks by NTP",
        (double)apart_ns / 1e9, last_ns > now_ns ? "ahead of" : "behind");
}

static enum vt_status ptdaemon_finish(void *meter,
                                      void (*keep)(void *ctx, uint32_t domain,
                                                   const struct vt_meter_reading *),
                                      void *ctx, struct vt_error *err)
{
    struct ptdaemon *ptd = meter;
    struct vt_ptd_sample sample;
    uint32_t n = 0;

    enum vt_status status = ask_for(ptd, "Stop", "Stopping untimed measurement", err);
    ptd->measuring = false;
    if (status == VT_OK) {
        status = ask(ptd, "RL", err);
    }
    /* Meters of direct current have a command of their own. */
    if (status == VT_OK && strstr(ptd->line, "nknown command") != NULL) {
        status = ask(ptd, "DC-RL", err);
    }
    if (status == VT_OK && !vt_ptd_count_parse(ptd->line, &n)) {
        status = vt_error_set(err, VT_ERR_FORMAT, "PTDaemon answers 'RL' with %s",
                              vt_quote(ptd->line).text);
    }
    const struct vt_meter_stamp now = vt_meter_now();
    int64_t last_ns = now.unix_ns;
    for (uint32_t i = 0; i < n && status == VT_OK; i++) {
        status = receive(ptd, err);
        if (status == VT_OK && vt_ptd_sample_parse(ptd->line, &sample)) {
            const double values[VT_PTD_DOMAINS] = {[VT_PTD_WATTS] = sample.watts,
                                                   [VT_PTD_VOLTS] = sample.volts,
                                                   [VT_PTD_AMPS] = sample.amps,
                                                   [VT_PTD_FACTOR] = sample.power_factor};
            last_ns = sample.unix_ns;
            for (uint32_t d = 0; d < VT_PTD_DOMAINS; d++) {
                const struct vt_meter_reading reading = {
                    values[d], now.ns + (sample.unix_ns - now.unix_ns), sample.unix_ns};
                keep(ctx, d, &reading);
            }
        }
    }
    if (status == VT_OK) {
        note_uncertainty(ptd);
    }
    return status == VT_OK ? check_clock(last_ns, now.unix_ns, err) : status;
}

const struct vt_meter_ops vt_meter_ptdaemon = {
    .api_version = VT_METER_API_VERSION,
    .struct_size = sizeof(struct vt_meter_ops),
    .name = "ptdaemon",
    .summary = "a power analyzer at the wall, through SPEC's PTDaemon",
    .period_ns = VT_NS_PER_S,
    .open = ptdaemon_open,
    .domains = ptdaemon_domains,
    .read = ptdaemon_read,
    .finish = ptdaemon_finish,
    .close = ptdaemon_close,
};
