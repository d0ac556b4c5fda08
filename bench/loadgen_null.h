/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two sides of bench/loadgen have in common, in C and in C++: the command line, the system
 * under test that does nothing, the clock, the memory of the process, and the line of figures that
 * the driver reads. A side adds only what turns an issued sample into a completed one.
 *
 * The system completes inline, from inside issue, or from a thread of its own that spins on a ring
 * with one writer and one reader.
 */
#ifndef VT_BENCH_LOADGEN_NULL_H
#define VT_BENCH_LOADGEN_NULL_H

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NULL_SET 1024u /* samples in the library */
#ifndef NULL_BATCH
#define NULL_BATCH 64u /* completions in one call */
#endif
#define NULL_STREAMS   8u         /* samples in a query of MultiStream */
#define NULL_RING      (1u << 16) /* samples under way at most */
#define NULL_LATENCY   10000000   /* Server's limit, ns */
#define NULL_CACHELINE 64

/* One run, as key=value arguments name it. */
struct null_job {
    char scenario[16]; /* singlestream, multistream, server, offline; control: vatio's side only */
    bool queued;       /* complete=queue */
    uint64_t queries;  /* min_query_count; Offline: samples */
    uint64_t max_queries;
    uint64_t duration_ms;
    uint64_t expected_ns; /* SingleStream, MultiStream */
    double qps;           /* Server */
    bool coalesce;
    uint64_t threads; /* that issue; Server */
    uint64_t spin_us; /* vatio's side only */
    bool stamps;      /* note the time of every issue call, for the lateness */
    char logs[256];   /* folder for what a side writes */
};

/* The system and what it saw. Times are CLOCK_MONOTONIC in ns. */
struct null_system {
    struct null_job job;
    int64_t called_ns, first_ns, last_ns, returned_ns;
    uint64_t rss_before, rss_peak; /* bytes */
    int64_t *stamps;
    uint64_t n_stamps;
    /* The ring, and the thread that empties it. */
    uint64_t *ring;
    pthread_t thread;
    bool returned;     /* the run has: nothing more comes */
    uint64_t expected; /* samples of the whole run */
    void (*complete)(const uint64_t *ids, size_t n);
    char pad0[NULL_CACHELINE];
    uint64_t head; /* written by the issuing thread */
    char pad1[NULL_CACHELINE];
    uint64_t tail; /* written by the completing thread */
    char pad2[NULL_CACHELINE];
};

static inline int64_t null_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void null_die(const char *what)
{
    fprintf(stderr, "loadgen: %s\n", what);
    exit(1);
}

/* The value behind `key=` in the argument, else NULL. */
static inline const char *null_value(const char *argument, const char *key)
{
    size_t n = strlen(key);
    return strncmp(argument, key, n) == 0 && argument[n] == '=' ? argument + n + 1 : NULL;
}

static inline bool null_text(const char *argument, const char *key, char *ret, size_t room)
{
    const char *value = null_value(argument, key);
    if (value == NULL) {
        return false;
    }
    snprintf(ret, room, "%s", value);
    return true;
}

static inline bool null_number(const char *argument, const char *key, uint64_t *ret)
{
    const char *value = null_value(argument, key);
    char *end = NULL;
    if (value == NULL) {
        return false;
    }
    *ret = strtoull(value, &end, 10);
    if (end == value || *end != '\0') {
        fprintf(stderr, "loadgen: %s is not a whole number\n", argument);
        exit(2);
    }
    return true;
}

static inline void null_parse(struct null_job *job, int argc, char **argv)
{
    memset(job, 0, sizeof(*job));
    job->queries = 1000;
    job->expected_ns = 1000000;
    job->threads = 1;
    uint64_t rate = 1000, coalesce = 0, stamps = 0;
    char complete[16] = "inline";
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!null_text(a, "scenario", job->scenario, sizeof(job->scenario)) &&
            !null_text(a, "complete", complete, sizeof(complete)) &&
            !null_text(a, "logs", job->logs, sizeof(job->logs)) &&
            !null_number(a, "queries", &job->queries) &&
            !null_number(a, "max_queries", &job->max_queries) &&
            !null_number(a, "duration_ms", &job->duration_ms) &&
            !null_number(a, "expected_ns", &job->expected_ns) && !null_number(a, "qps", &rate) &&
            !null_number(a, "coalesce", &coalesce) && !null_number(a, "threads", &job->threads) &&
            !null_number(a, "spin_us", &job->spin_us) && !null_number(a, "stamps", &stamps)) {
            fprintf(stderr, "loadgen: unknown argument %s\n", a);
            exit(2);
        }
    }
    job->qps = (double)rate;
    job->coalesce = coalesce != 0;
    job->stamps = stamps != 0;
    job->queued = strcmp(complete, "queue") == 0;
    if (job->queries == 0 || job->threads == 0 || (job->queued && job->threads > 1)) {
        fprintf(stderr, "loadgen: queries and threads are at least 1; a queue has one writer\n");
        exit(2);
    }
}

static inline bool null_is(const struct null_job *job, const char *scenario)
{
    return strcmp(job->scenario, scenario) == 0;
}

/* The field of /proc/self/status, in bytes; 0 where there is none. */
static inline uint64_t null_status(const char *field)
{
    char line[256];
    uint64_t bytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        size_t n = strlen(field);
        if (strncmp(line, field, n) == 0 && line[n] == ':') {
            bytes = strtoull(line + n + 1, NULL, 10) * 1024;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return bytes;
}

/* The completing thread: takes what lies in the ring, until the run has returned. */
static inline void *null_completer(void *arg)
{
    struct null_system *s = (struct null_system *)arg;
    uint64_t tail = 0, ids[NULL_BATCH];
    for (;;) {
        uint64_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
        size_t n = 0;
        while (n < NULL_BATCH && tail != head) {
            ids[n++] = s->ring[tail++ % NULL_RING];
        }
        if (n > 0) {
            __atomic_store_n(&s->tail, tail, __ATOMIC_RELEASE);
            if (tail == s->expected) { /* the run may return before complete() does */
                s->last_ns = null_now();
            }
            s->complete(ids, n);
        } else if (__atomic_load_n(&s->returned, __ATOMIC_ACQUIRE)) {
            return NULL;
        } else if (tail == s->expected) {
            usleep(200); /* all done: leave the processor to the end of the run */
        } else {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }
}

static inline void null_push(struct null_system *s, uint64_t id)
{
    uint64_t head = s->head;
    while (head - __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE) >= NULL_RING) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    s->ring[head % NULL_RING] = id;
    __atomic_store_n(&s->head, head + 1, __ATOMIC_RELEASE);
}

/* At the top of every issue call. */
static inline void null_issued(struct null_system *s)
{
    if (__atomic_load_n(&s->first_ns, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&s->first_ns, null_now(), __ATOMIC_RELAXED);
    }
    if (s->stamps != NULL && s->n_stamps < s->job.queries) {
        s->stamps[s->n_stamps++] = null_now();
    }
}

/* In flush: inline, everything is complete by now. */
static inline void null_flushed(struct null_system *s)
{
    if (!s->job.queued) {
        s->last_ns = null_now();
    }
}

/* Samples of a run that ends by its counts. */
static inline uint64_t null_samples(const struct null_job *job)
{
    bool capped = job->max_queries != 0 && job->max_queries < job->queries;
    uint64_t queries = capped ? job->max_queries : job->queries;
    return null_is(job, "multistream") ? queries * NULL_STREAMS : queries;
}

/* Right before the run. Everything of the system itself is in memory by then. */
static inline void null_begin(struct null_system *s)
{
    if (s->job.stamps) {
        s->stamps = (int64_t *)malloc(s->job.queries * sizeof(*s->stamps));
        if (s->stamps == NULL) {
            null_die("no memory for the time stamps");
        }
        memset(s->stamps, 1, s->job.queries * sizeof(*s->stamps));
    }
    s->expected = null_samples(&s->job);
    if (s->job.queued) {
        s->ring = (uint64_t *)malloc(NULL_RING * sizeof(*s->ring));
        if (s->ring == NULL) {
            null_die("no memory for the ring");
        }
        memset(s->ring, 1, NULL_RING * sizeof(*s->ring));
        if (pthread_create(&s->thread, NULL, null_completer, s) != 0) {
            null_die("no thread to complete from");
        }
    }
    FILE *f = fopen("/proc/self/clear_refs", "w"); /* the peak starts at what there is now */
    if (f != NULL) {
        fputs("5", f);
        fclose(f);
    }
    s->rss_before = null_status("VmRSS");
    s->called_ns = null_now();
}

/* Right after the run. */
static inline void null_end(struct null_system *s)
{
    s->returned_ns = null_now();
    s->rss_peak = null_status("VmHWM");
    if (s->job.queued) {
        __atomic_store_n(&s->returned, true, __ATOMIC_RELEASE);
        pthread_join(s->thread, NULL);
        free(s->ring);
    }
}

static inline int null_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/*
 * Prints how late the issue calls came against the schedule (ns since its start). Nobody but the
 * load knows when its schedule started, so the most punctual query counts as not late at all: a
 * lower bound, the same for everyone. Sorts the stamps.
 */
static inline void null_print_lateness(struct null_system *s, const int64_t *schedule)
{
    uint64_t n = s->n_stamps;
    if (n == 0) {
        return;
    }
    int64_t least = INT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
        s->stamps[i] -= schedule[i];
        least = s->stamps[i] < least ? s->stamps[i] : least;
    }
    qsort(s->stamps, n, sizeof(*s->stamps), null_compare);
    static const double at[] = {0.5, 0.99, 0.999};
    static const char *const name[] = {"late_p50_ns", "late_p99_ns", "late_p99_9_ns"};
    for (int i = 0; i < 3; i++) {
        printf("\"%s\": %" PRId64 ", ", name[i],
               s->stamps[(uint64_t)(at[i] * (double)(n - 1))] - least);
    }
    printf("\"late_max_ns\": %" PRId64 ", ", s->stamps[n - 1] - least);
}

/* The rest of the line. `samples` were completed in `queries`. */
static inline void null_print(const struct null_system *s, uint64_t queries, uint64_t samples)
{
    uint64_t growth = s->rss_peak > s->rss_before ? s->rss_peak - s->rss_before : 0;
    printf("\"queries\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"start_ns\": %" PRId64
           ", \"run_ns\": %" PRId64 ", \"finish_ns\": %" PRId64 ", \"whole_ns\": %" PRId64
           ", \"growth_bytes\": %" PRIu64 "}\n",
           queries, samples, s->first_ns - s->called_ns, s->last_ns - s->first_ns,
           s->returned_ns - s->last_ns, s->returned_ns - s->called_ns, growth);
}

#endif
