/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that speaks PTDaemon's documented protocol and notes what it was told. */
#ifndef VT_TEST_POWER_FAKE_PTD_H
#define VT_TEST_POWER_FAKE_PTD_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum ptd_mood {
    PTD_GOOD,
    PTD_DIRECT_CURRENT, /* answers DC-RL only */
    PTD_STRANGER,       /* is something else */
    PTD_NO_RANGE,       /* refuses to change a range */
    PTD_BREAKS,         /* closes amid the samples */
    PTD_LIES,           /* promises more samples than there can be */
    PTD_OTHER_ZONE,     /* an hour ahead */
    PTD_IN_TIME,        /* its samples are from the start of the measurement until it is asked */
};

struct fake_ptd {
    enum ptd_mood mood;
    int listener;
    pthread_t thread;
    double go; /* when the measurement began, s since 1970 */
    char address[32];
    char told[2048]; /* all commands, a line each; read after ptd_end */
};

static inline double ptd_now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* A sample every tenth of a second, power rises by 20 mW each. */
static inline void ptd_samples_in_time(FILE *to, const struct fake_ptd *ptd)
{
    const int n = (int)((ptd_now() - ptd->go) * 10);

    (void)fprintf(to, "Last %d samples\r\n", n);
    for (int i = 0; i < n; i++) {
        const double at = ptd->go + i * 0.1;
        const time_t whole = (time_t)at;
        struct tm calendar;
        char text[64];
        (void)gmtime_r(&whole, &calendar);
        (void)strftime(text, sizeof text, "%m-%d-%Y %H:%M:%S", &calendar);
        (void)fprintf(to,
                      "Time,%s.%03d,Watts,%.2f,Volts,230.1,Amps,0.2,PF,0.9,Mark,vatio_testing\r\n",
                      text, (int)((at - (double)whole) * 1000), 40 + 0.02 * i);
    }
}

static inline void ptd_samples(FILE *to, const struct fake_ptd *ptd)
{
    if (ptd->mood == PTD_IN_TIME) {
        ptd_samples_in_time(to, ptd);
        return;
    }
    const time_t now = time(NULL) + (ptd->mood == PTD_OTHER_ZONE ? 3600 : 0);

    (void)fprintf(to, "Last 100 samples\r\n");
    for (int i = 0; i < 100; i++) {
        const time_t at = now - 5 + i / 10;
        struct tm calendar;
        char text[64];
        (void)gmtime_r(&at, &calendar);
        (void)strftime(text, sizeof text, "%m-%d-%Y %H:%M:%S", &calendar);
        if (ptd->mood == PTD_BREAKS && i == 50) {
            return;
        }
        (void)fprintf(to,
                      "Time,%s.%d00,Watts,42.5,Volts,230.1,Amps,0.2,PF,0.9,Mark,vatio_testing\r\n",
                      text, i % 10);
    }
}

/* False: hang up. */
static inline bool ptd_answer(FILE *to, struct fake_ptd *ptd, const char *command)
{
    if (strcmp(command, "Hello") == 0) {
        (void)fprintf(to, "%s\r\n",
                      ptd->mood == PTD_STRANGER ? "HTTP/1.1 400 Bad Request"
                                                : "Hello, PTDaemon here!");
    } else if (strcmp(command, "Identify") == 0) {
        (void)fprintf(to, "YokogawaWT330E,1000,1,1,1,1,0,0,1,version=1.11.1,OS=x,mode=power\r\n");
    } else if (strcmp(command, "RR") == 0) {
        (void)fprintf(to, "Ranges,0,5.000,1,300.0\r\n");
    } else if (strncmp(command, "SR,", 3) == 0) {
        (void)fprintf(
            to, ptd->mood == PTD_NO_RANGE ? "Error: no such range\r\n" : "Range %c changed\r\n",
            command[3]);
    } else if (strncmp(command, "Go,1000,0,", 10) == 0) {
        ptd->go = ptd_now();
        (void)fprintf(to, "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 "
                          "rampup samples\r\n");
    } else if (strcmp(command, "Stop") == 0) {
        (void)fprintf(to, "Stopping untimed measurement\r\n");
    } else if (strcmp(command, "RL") == 0 && ptd->mood == PTD_LIES) {
        (void)fprintf(to, "Last 4000000000 samples\r\n");
    } else if (strcmp(command, ptd->mood == PTD_DIRECT_CURRENT ? "DC-RL" : "RL") == 0) {
        ptd_samples(to, ptd);
        return ptd->mood != PTD_BREAKS;
    } else if (strcmp(command, "Uncertainty") == 0) {
        (void)fprintf(to, "Uncertainty,0.0031,0.002,0.004,100,0,100,0\r\n");
    } else {
        (void)fprintf(to, "Unknown command\r\n");
    }
    return true;
}

static inline void ptd_serve_one(struct fake_ptd *ptd, int fd)
{
    FILE *from = fdopen(fd, "r"), *to = fdopen(dup(fd), "w");
    char line[256];

    while (from != NULL && to != NULL && fgets(line, sizeof line, from) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        const size_t length = strlen(ptd->told);
        (void)snprintf(ptd->told + length, sizeof ptd->told - length, "%s\n", line);
        const bool more = ptd_answer(to, ptd, line);
        (void)fflush(to);
        if (!more) {
            break;
        }
    }
    if (from != NULL) {
        (void)fclose(from);
    }
    if (to != NULL) {
        (void)fclose(to);
    }
}

/* One client after the other, until ptd_end. */
static inline void *ptd_serve(void *argument)
{
    struct fake_ptd *ptd = argument;

    for (int fd = accept(ptd->listener, NULL, NULL); fd >= 0;
         fd = accept(ptd->listener, NULL, NULL)) {
        ptd_serve_one(ptd, fd);
    }
    return NULL;
}

static inline void ptd_begin(struct fake_ptd *ptd, enum ptd_mood mood)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;

    memset(ptd, 0, sizeof *ptd);
    ptd->mood = mood;
    ptd->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (ptd->listener < 0 || bind(ptd->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(ptd->listener, 1) != 0 ||
        getsockname(ptd->listener, (struct sockaddr *)&at, &size) != 0 ||
        pthread_create(&ptd->thread, NULL, ptd_serve, ptd) != 0) {
        abort();
    }
    (void)snprintf(ptd->address, sizeof ptd->address, "127.0.0.1:%d", ntohs(at.sin_port));
}

static inline void ptd_end(struct fake_ptd *ptd)
{
    (void)shutdown(ptd->listener, SHUT_RDWR);
    (void)pthread_join(ptd->thread, NULL);
    (void)close(ptd->listener);
}

#endif
