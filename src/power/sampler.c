/* SPDX-License-Identifier: Apache-2.0 */
#include "power/sampler.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Readings in the first moments lie so close that the period of RAPL, 1 ms, is seen. */
#define START_SPACING_NS (300 * VT_NS_PER_US)
#define START_LENGTH_NS  (20 * VT_NS_PER_MS)
/* After a mark: a tenth of what NVML's counter takes for a step, for two of its steps. */
#define MARK_SPACING_NS (10 * VT_NS_PER_MS)
#define MARK_LENGTH_NS  (200 * VT_NS_PER_MS)
/* No meter is read more often for long. */
#define PERIOD_LEAST_NS (1 * VT_NS_PER_MS)
#define FIRST_ROOM      1024
/* What is dear to read is read in the beginning, twice for each of six of NVML's steps, and after a
 * mark until it has moved, but no longer than this. */
#define DEAR_START_NS   (600 * VT_NS_PER_MS)
#define DEAR_SPACING_NS (50 * VT_NS_PER_MS)
#define DEAR_MARK_NS    (2 * VT_NS_PER_S)
/* Of a counter, the power that is shown is a mean over so long. */
#define SHOWN_NS (500 * VT_NS_PER_MS)

/* The readings of a domain, in columns. */
struct column {
    int64_t *ns, *unix_ns;
    double *values;
    size_t n, room;
    int64_t moved_ns; /* the last move of the value came after this */
    int64_t asked_ns; /* when it was last asked for */
};

struct metered {
    const struct vt_meter_ops *ops;
    void *meter;
    const struct vt_meter_domain *domains;
    uint32_t n, first;
    bool counts; /* has a counter */
    bool failed; /* in its finish, as `why` says */
    struct vt_error why;
    int64_t period_ns, due_ns;
};

struct vt_sampler {
    struct metered meters[VT_SAMPLER_METERS_MAX];
    uint32_t n_meters;
    uint32_t n_domains;
    struct column *columns;
    struct vt_meter_reading *readings; /* of one meter, the thread's */
    bool *wanted;                      /* likewise */
    pthread_t thread;
    bool running;         /* the thread is there */
    pthread_mutex_t lock; /* of the columns and what follows */
    pthread_cond_t wake, news;
    bool stop, marked;
    bool out_of_memory;
    int64_t start_ns, marked_ns, close_until_ns;
    struct vt_sampler_cost cost;
};

/* --- keeping ------------------------------------------------------------------------------- */

static bool grow(struct column *column)
{
    const size_t room = column->room > 0 ? 2 * column->room : FIRST_ROOM;
    const size_t old = column->room * sizeof(int64_t), bytes = room * sizeof(int64_t);
    int64_t *ns = vt_regrow(column->ns, old, bytes);

    column->ns = ns != NULL ? ns : column->ns;
    int64_t *unix_ns = ns != NULL ? vt_regrow(column->unix_ns, old, bytes) : NULL;
    column->unix_ns = unix_ns != NULL ? unix_ns : column->unix_ns;
    double *values = unix_ns != NULL ? vt_regrow(column->values, old, bytes) : NULL;
    column->values = values != NULL ? values : column->values;
    if (values == NULL) {
        return false;
    }
    column->room = room;
    return true;
}

/* A stamped reading that has been seen is none. */
static bool keep(struct column *column, const struct vt_meter_reading *reading)
{
    if (reading->ns == INT64_MIN || (column->n > 0 && reading->ns <= column->ns[column->n - 1])) {
        return true;
    }
    if (column->n == column->room && !grow(column)) {
        return false;
    }
    if (column->n > 0 && column->values[column->n - 1] != reading->value) {
        column->moved_ns = column->ns[column->n - 1];
    }
    column->ns[column->n] = reading->ns;
    column->unix_ns[column->n] = reading->unix_ns;
    column->values[column->n++] = reading->value;
    return true;
}

/* --- the thread ---------------------------------------------------------------------------- */

/* Whether a domain is read now, where its meter is. The caller holds the lock. */
static bool is_wanted(const struct vt_sampler *sampler, const struct vt_meter_domain *domain,
                      const struct column *column, int64_t now)
{
    const bool near = column->n == 0 || now < sampler->start_ns + DEAR_START_NS ||
                      (sampler->marked_ns > 0 && now < sampler->marked_ns + DEAR_MARK_NS &&
                       column->moved_ns < sampler->marked_ns);
    return domain->sparse_ns == 0 || near || now - column->asked_ns >= domain->sparse_ns;
}

static void read_meter(struct vt_sampler *sampler, struct metered *metered)
{
    struct vt_error ignored = VT_ERROR_INIT; /* lost readings are NAN, a window says so */
    const struct vt_meter_stamp now = vt_meter_now();

    (void)pthread_mutex_lock(&sampler->lock);
    for (uint32_t i = 0; i < metered->n; i++) {
        struct column *column = &sampler->columns[metered->first + i];
        sampler->wanted[i] = is_wanted(sampler, &metered->domains[i], column, now.ns);
        column->asked_ns = sampler->wanted[i] ? now.ns : column->asked_ns;
        sampler->readings[i] = (struct vt_meter_reading){(double)NAN, now.ns, now.unix_ns};
    }
    (void)pthread_mutex_unlock(&sampler->lock);
    (void)metered->ops->read(metered->meter, sampler->wanted, sampler->readings, &ignored);
    (void)pthread_mutex_lock(&sampler->lock);
    for (uint32_t i = 0; i < metered->n; i++) {
        if (sampler->wanted[i] && !sampler->out_of_memory &&
            !keep(&sampler->columns[metered->first + i], &sampler->readings[i])) {
            sampler->out_of_memory = true;
        }
    }
    sampler->cost.rounds++;
    (void)pthread_mutex_unlock(&sampler->lock);
}

/* When to read it again. The caller holds the lock. */
static int64_t next_due(const struct vt_sampler *sampler, const struct metered *metered,
                        int64_t now)
{
    if (metered->counts && now < sampler->start_ns + START_LENGTH_NS) {
        return now + START_SPACING_NS;
    }
    if (metered->counts && now < sampler->close_until_ns && metered->period_ns > MARK_SPACING_NS) {
        return now + MARK_SPACING_NS;
    }
    if (metered->counts && now < sampler->start_ns + DEAR_START_NS &&
        metered->period_ns > DEAR_SPACING_NS) {
        return now + DEAR_SPACING_NS;
    }
    /* In step with its period since the start, so that meters are read together where they can be;
     * what was missed is not made up for. */
    const int64_t steps = (now - sampler->start_ns) / metered->period_ns + 1;
    return sampler->start_ns + steps * metered->period_ns;
}

static void wait_until(struct vt_sampler *sampler, int64_t ns)
{
    const struct timespec at = {ns / VT_NS_PER_S, ns % VT_NS_PER_S};

    while (!sampler->stop && !sampler->marked && vt_now_ns() < ns) {
        if (pthread_cond_timedwait(&sampler->wake, &sampler->lock, &at) == ETIMEDOUT) {
            break;
        }
    }
}

static void *sample(void *argument)
{
    struct vt_sampler *sampler = argument;

    (void)pthread_setname_np(pthread_self(), "vatio-meters");
    (void)pthread_mutex_lock(&sampler->lock);
    while (!sampler->stop) {
        int64_t due = VT_NEVER;
        for (uint32_t i = 0; i < sampler->n_meters; i++) {
            due = sampler->meters[i].due_ns < due ? sampler->meters[i].due_ns : due;
        }
        wait_until(sampler, due);
        const bool marked = sampler->marked;
        sampler->marked = false;
        (void)pthread_mutex_unlock(&sampler->lock);
        const int64_t now = vt_now_ns();
        for (uint32_t i = 0; i < sampler->n_meters; i++) {
            if (marked || sampler->meters[i].due_ns <= now) {
                read_meter(sampler, &sampler->meters[i]);
            }
        }
        const int64_t done = vt_now_ns(), cpu = vt_thread_cpu_ns();
        (void)pthread_mutex_lock(&sampler->lock);
        if (!marked && now - due > sampler->cost.latest_ns) {
            sampler->cost.latest_ns = now - due;
        }
        for (uint32_t i = 0; i < sampler->n_meters; i++) {
            if (marked || sampler->meters[i].due_ns <= now) {
                sampler->meters[i].due_ns = next_due(sampler, &sampler->meters[i], done);
            }
        }
        sampler->cost.cpu_ns = cpu;
        sampler->cost.wall_ns = done - sampler->start_ns;
        (void)pthread_cond_broadcast(&sampler->news);
    }
    (void)pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

/* --- opening ------------------------------------------------------------------------------- */

static enum vt_status open_meters(struct vt_sampler *sampler,
                                  const struct vt_sampler_options *options, struct vt_error *err)
{
    static const struct vt_meter_options own = {0};
    const struct vt_meter_options *places = options->places != NULL ? options->places : &own;
    uint32_t most = 0;

    for (size_t i = 0; i < options->n_meters; i++) {
        struct metered *metered = &sampler->meters[i];
        metered->ops = options->meters[i];
        enum vt_status status = metered->ops->open(metered->ops, places, err, &metered->meter);
        if (status != VT_OK) {
            vt_error_prefix(err, "meter %s", metered->ops->name);
            return status;
        }
        sampler->n_meters++;
        metered->domains = metered->ops->domains(metered->meter, &metered->n);
        metered->first = sampler->n_domains;
        for (uint32_t d = 0; d < metered->n; d++) {
            metered->counts = metered->counts || metered->domains[d].kind == VT_METER_ENERGY;
        }
        const int64_t period =
            options->period_ns > 0 ? options->period_ns : metered->ops->period_ns;
        metered->period_ns = period > PERIOD_LEAST_NS ? period : PERIOD_LEAST_NS;
        sampler->n_domains += metered->n;
        most = metered->n > most ? metered->n : most;
    }
    sampler->columns = vt_calloc((size_t)sampler->n_domains + 1, sizeof sampler->columns[0]);
    sampler->readings = vt_calloc((size_t)most + 1, sizeof sampler->readings[0]);
    sampler->wanted = vt_calloc((size_t)most + 1, sizeof sampler->wanted[0]);
    for (uint32_t i = 0; sampler->columns != NULL && i < sampler->n_domains; i++) {
        sampler->columns[i].moved_ns = INT64_MIN;
        if (!grow(&sampler->columns[i])) {
            return vt_error_set(err, VT_ERR_MEMORY, "out of memory for readings of meters");
        }
    }
    return sampler->columns != NULL && sampler->readings != NULL && sampler->wanted != NULL
               ? VT_OK
               : vt_error_set(err, VT_ERR_MEMORY, "out of memory for readings of meters");
}

static enum vt_status start_thread(struct vt_sampler *sampler, int32_t cpu, struct vt_error *err)
{
    pthread_attr_t attributes;
    cpu_set_t set;
    int code = 0;

    (void)pthread_attr_init(&attributes);
    if (cpu >= CPU_SETSIZE) {
        code = EINVAL;
    } else if (cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        code = pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
    sampler->start_ns = vt_now_ns();
    if (code == 0) {
        code = pthread_create(&sampler->thread, &attributes, sample, sampler);
    }
    (void)pthread_attr_destroy(&attributes);
    if (code != 0 && cpu >= 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "the meters cannot be read on CPU %d: %s; give one that this process "
                            "may use (taskset -p shows them)",
                            cpu, strerror(code));
    }
    if (code != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "no thread for reading meters: %s", strerror(code));
    }
    sampler->running = true;
    return VT_OK;
}

enum vt_status vt_sampler_new(const struct vt_sampler_options *options, struct vt_error *err,
                              struct vt_sampler **ret)
{
    pthread_condattr_t monotonic;

    if (options->n_meters == 0 || options->n_meters > VT_SAMPLER_METERS_MAX) {
        return vt_error_set(err, VT_ERR_USAGE, "%zu meters to read: give 1 to %d",
                            options->n_meters, VT_SAMPLER_METERS_MAX);
    }
    struct vt_sampler *sampler = vt_calloc(1, sizeof *sampler);
    if (sampler == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for readings of meters");
    }
    (void)pthread_mutex_init(&sampler->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&sampler->wake, &monotonic);
    (void)pthread_cond_init(&sampler->news, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    enum vt_status status = open_meters(sampler, options, err);
    if (status == VT_OK) {
        status = start_thread(sampler, options->cpu, err);
    }
    if (status != VT_OK) {
        vt_sampler_free(sampler);
        return status;
    }
    *ret = sampler;
    return VT_OK;
}

/* What a meter tells in the end goes where its readings would have gone. */
struct finishing {
    struct vt_sampler *sampler;
    const struct metered *metered;
};

static void keep_late(void *ctx, uint32_t domain, const struct vt_meter_reading *reading)
{
    const struct finishing *finishing = ctx;
    struct vt_sampler *sampler = finishing->sampler;

    (void)pthread_mutex_lock(&sampler->lock);
    if (!sampler->out_of_memory &&
        !keep(&sampler->columns[finishing->metered->first + domain], reading)) {
        sampler->out_of_memory = true;
    }
    (void)pthread_mutex_unlock(&sampler->lock);
}

void vt_sampler_stop(struct vt_sampler *sampler)
{
    if (!sampler->running) {
        return;
    }
    (void)pthread_mutex_lock(&sampler->lock);
    sampler->stop = true;
    (void)pthread_cond_broadcast(&sampler->wake);
    (void)pthread_mutex_unlock(&sampler->lock);
    (void)pthread_join(sampler->thread, NULL);
    sampler->running = false;
    for (uint32_t i = 0; i < sampler->n_meters; i++) {
        struct metered *metered = &sampler->meters[i];
        struct finishing finishing = {sampler, metered};
        if (metered->ops->finish != NULL) {
            struct vt_error why = VT_ERROR_INIT;
            const bool failed =
                metered->ops->finish(metered->meter, keep_late, &finishing, &why) != VT_OK;
            (void)pthread_mutex_lock(&sampler->lock);
            metered->failed = failed;
            metered->why = why;
            (void)pthread_mutex_unlock(&sampler->lock);
        }
    }
}

void vt_sampler_free(struct vt_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    vt_sampler_stop(sampler);
    for (uint32_t i = 0; i < sampler->n_meters; i++) {
        sampler->meters[i].ops->close(sampler->meters[i].meter);
    }
    for (uint32_t i = 0; sampler->columns != NULL && i < sampler->n_domains; i++) {
        vt_free(sampler->columns[i].ns);
        vt_free(sampler->columns[i].unix_ns);
        vt_free(sampler->columns[i].values);
    }
    vt_free(sampler->columns);
    vt_free(sampler->readings);
    vt_free(sampler->wanted);
    (void)pthread_cond_destroy(&sampler->wake);
    (void)pthread_cond_destroy(&sampler->news);
    (void)pthread_mutex_destroy(&sampler->lock);
    vt_free(sampler);
}

/* --- asking -------------------------------------------------------------------------------- */

uint32_t vt_sampler_domains(const struct vt_sampler *sampler)
{
    return sampler->n_domains;
}

static const struct metered *meter_of(const struct vt_sampler *sampler, uint32_t index)
{
    uint32_t m = 0;

    while (m + 1 < sampler->n_meters && index >= sampler->meters[m + 1].first) {
        m++;
    }
    return &sampler->meters[m];
}

struct vt_sampler_domain vt_sampler_domain(const struct vt_sampler *sampler, uint32_t index)
{
    const struct metered *metered = meter_of(sampler, index);

    return (struct vt_sampler_domain){metered->ops, &metered->domains[index - metered->first],
                                      metered->first};
}

void vt_sampler_mark(struct vt_sampler *sampler)
{
    (void)pthread_mutex_lock(&sampler->lock);
    sampler->marked = true;
    sampler->marked_ns = vt_now_ns();
    sampler->close_until_ns = sampler->marked_ns + MARK_LENGTH_NS;
    (void)pthread_cond_signal(&sampler->wake);
    (void)pthread_mutex_unlock(&sampler->lock);
}

static bool settled(const struct vt_sampler *sampler, int64_t ns)
{
    for (uint32_t i = 0; i < sampler->n_domains; i++) {
        const struct column *column = &sampler->columns[i];
        const struct vt_sampler_domain at = vt_sampler_domain(sampler, i);
        const bool counter = at.domain->kind == VT_METER_ENERGY;
        if (at.domain->kind == VT_METER_OTHER) {
            continue; /* no window waits for it */
        }
        if (at.meter->finish != NULL) {
            continue; /* it tells its readings when it is stopped */
        }
        /* A step that came after the moment for certain is what an edge needs. */
        if (column->n == 0 || (counter ? column->moved_ns : column->ns[column->n - 1]) < ns) {
            return false;
        }
    }
    return true;
}

bool vt_sampler_settle(struct vt_sampler *sampler, int64_t ns, int64_t limit_ns)
{
    const struct timespec at = {limit_ns / VT_NS_PER_S, limit_ns % VT_NS_PER_S};

    (void)pthread_mutex_lock(&sampler->lock);
    while (!settled(sampler, ns) && sampler->running && !sampler->out_of_memory) {
        if (pthread_cond_timedwait(&sampler->news, &sampler->lock, &at) == ETIMEDOUT) {
            break;
        }
    }
    const bool done = settled(sampler, ns);
    (void)pthread_mutex_unlock(&sampler->lock);
    return done;
}

static struct vt_power_track track_of(const struct vt_sampler *sampler, uint32_t index)
{
    const struct column *column = &sampler->columns[index];

    return (struct vt_power_track){vt_sampler_domain(sampler, index).domain, column->ns,
                                   column->values, column->n};
}

enum vt_status vt_sampler_energy(struct vt_sampler *sampler, uint32_t index,
                                 const struct vt_power_window *window, struct vt_error *err,
                                 struct vt_energy *ret)
{
    const struct metered *metered = meter_of(sampler, index);

    (void)pthread_mutex_lock(&sampler->lock);
    const struct vt_power_track track = track_of(sampler, index);
    enum vt_status status =
        metered->failed ? vt_error_set(err, metered->why.status, "%s", metered->why.text)
        : sampler->out_of_memory
            ? vt_error_set(err, VT_ERR_MEMORY, "out of memory for readings of meters")
            : vt_energy_compute(&track, window, err, ret, NULL);
    (void)pthread_mutex_unlock(&sampler->lock);
    return status;
}

static void add(struct vt_energy *sum, const struct vt_energy *part)
{
    sum->joules += part->joules;
    sum->uncertainty_j += part->uncertainty_j;
    sum->edges_j += part->edges_j;
    sum->quantum_j += part->quantum_j;
    sum->class_j += part->class_j;
    sum->mean_w += part->mean_w;
    sum->peak_w += part->peak_w;
    sum->mlperf_w += part->mlperf_w;
    sum->readings = part->readings < sum->readings ? part->readings : sum->readings;
}

enum vt_status vt_sampler_total(struct vt_sampler *sampler, uint32_t first,
                                const struct vt_power_window *window, struct vt_error *err,
                                struct vt_energy *ret)
{
    struct vt_energy sum = {0}, part = {0};
    bool any = false;

    for (uint32_t i = first; i < sampler->n_domains; i++) {
        const struct vt_sampler_domain at = vt_sampler_domain(sampler, i);
        if (at.first != first || at.domain->inside >= 0 || at.domain->kind == VT_METER_OTHER) {
            continue;
        }
        enum vt_status status = vt_sampler_energy(sampler, i, window, err, &part);
        if (status != VT_OK) {
            return status;
        }
        if (any) {
            add(&sum, &part);
        } else {
            sum = part;
        }
        any = true;
    }
    if (!any) {
        return vt_error_set(err, VT_ERR_USAGE, "domain %u is not the first of a meter", first);
    }
    *ret = sum;
    return VT_OK;
}

struct vt_power_track vt_sampler_track(const struct vt_sampler *sampler, uint32_t index,
                                       const int64_t **ret_unix_ns)
{
    if (ret_unix_ns != NULL) {
        *ret_unix_ns = sampler->columns[index].unix_ns;
    }
    return track_of(sampler, index);
}

struct vt_meter_reading vt_sampler_latest(struct vt_sampler *sampler, uint32_t index)
{
    struct vt_meter_reading reading = {(double)NAN, 0, 0};

    (void)pthread_mutex_lock(&sampler->lock);
    const struct column *column = &sampler->columns[index];
    if (column->n > 0) {
        reading =
            (struct vt_meter_reading){column->values[column->n - 1], column->ns[column->n - 1],
                                      column->unix_ns[column->n - 1]};
    }
    (void)pthread_mutex_unlock(&sampler->lock);
    return reading;
}

/* The mean from the latest reading back to one that is half a second older. */
static double counted_watts(const struct column *column, double modulus_j)
{
    const size_t last = column->n - 1;
    size_t from = last;

    while (from > 0 && column->ns[last] - column->ns[from] < SHOWN_NS) {
        from--;
    }
    const int64_t span_ns = column->ns[last] - column->ns[from];
    double joules = column->values[last] - column->values[from];
    if (joules < 0) {
        joules += modulus_j;
    }
    return span_ns >= SHOWN_NS ? joules / ((double)span_ns / 1e9) : (double)NAN;
}

/* Where a counter is read sparsely, its meter's power that measures the same knows better. */
static uint32_t that_is_read_often(const struct vt_sampler *sampler, uint32_t index)
{
    const struct vt_sampler_domain at = vt_sampler_domain(sampler, index);
    uint32_t i = at.first;

    if (at.domain->sparse_ns == 0) {
        return index;
    }
    while (i < sampler->n_domains) {
        const struct vt_sampler_domain other = vt_sampler_domain(sampler, i);
        if (other.first != at.first) {
            return index;
        }
        if (other.domain->kind == VT_METER_POWER && other.domain->same &&
            at.first + (uint32_t)other.domain->inside == index) {
            return i;
        }
        i++;
    }
    return index;
}

double vt_sampler_watts(struct vt_sampler *sampler, uint32_t index)
{
    double watts = (double)NAN;

    index = that_is_read_often(sampler, index);
    const struct vt_meter_domain *domain = vt_sampler_domain(sampler, index).domain;

    (void)pthread_mutex_lock(&sampler->lock);
    const struct column *column = &sampler->columns[index];
    if (column->n > 0) {
        watts = domain->kind == VT_METER_ENERGY ? counted_watts(column, domain->modulus_j)
                                                : column->values[column->n - 1];
    }
    (void)pthread_mutex_unlock(&sampler->lock);
    return watts;
}

struct vt_sampler_cost vt_sampler_cost(struct vt_sampler *sampler)
{
    (void)pthread_mutex_lock(&sampler->lock);
    const struct vt_sampler_cost cost = sampler->cost;
    (void)pthread_mutex_unlock(&sampler->lock);
    return cost;
}
