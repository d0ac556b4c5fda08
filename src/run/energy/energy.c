/* SPDX-License-Identifier: Apache-2.0 */
#include "run/energy/energy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "power/telemetry.h"
#include "run/energy/figures.h"
#include "run/energy/meter_choice.h"
#include "run/energy/tracks.h"
#include "run/energy/wall.h"

/* Readings before the idle window, and at most so long for the last steps after the last run. */
#define LEAD_NS   (250 * VT_NS_PER_MS)
#define SETTLE_NS (2 * VT_NS_PER_S)
/* An analyzer tells a sample a second: some before the first run and some after the last. */
#define WALL_NS (3 * VT_NS_PER_S)
/* A stop is seen within this. */
#define LOOK_NS (100 * VT_NS_PER_MS)

struct vt_run_energy {
    struct vt_meter_choice choice;
    struct vt_meter_options places;
    struct vt_sampler *sampler; /* NULL: nothing is read */
    bool ranging;               /* of the sampler: PTDaemon alone, with automatic ranges */
    struct vt_energy_unavailable unavailable[VT_ENERGY_UNAVAILABLE_MAX];
    uint32_t n_unavailable;
    char reason[VT_ERROR_TEXT_MAX]; /* why nothing is read */
    struct vt_power_window idle;    /* empty: not measured */
    _Atomic bool on_cpu;            /* the engine computes on the processors */
};

/* --- opening ------------------------------------------------------------------------------- */

static bool among(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Of all that cannot measure, what is most likely there: a sensor that may not be read, else what
 * machines of this kind have. */
static void explain(struct vt_run_energy *energy, const enum vt_status *status)
{
#if defined(__x86_64__)
    static const char *const usual[] = {"rapl", "nvml", NULL};
#else
    static const char *const usual[] = {"jetson", "nvml", NULL};
#endif
    size_t length = (size_t)snprintf(energy->reason, sizeof energy->reason, "no meter works here");
    bool forbidden = false;

    for (uint32_t i = 0; i < energy->n_unavailable; i++) {
        forbidden = forbidden || status[i] == VT_ERR_READ;
    }
    for (uint32_t i = 0; i < energy->n_unavailable && length < sizeof energy->reason; i++) {
        const struct vt_energy_unavailable *meter = &energy->unavailable[i];
        if (forbidden ? status[i] == VT_ERR_READ : among(meter->name, usual)) {
            length += (size_t)snprintf(energy->reason + length, sizeof energy->reason - length,
                                       "; %s: %s", meter->name, meter->reason);
        }
    }
    if (length < sizeof energy->reason) {
        (void)snprintf(energy->reason + length, sizeof energy->reason - length,
                       " (vatio meters tells of all)");
    }
}

static bool has_wall(const struct vt_run_energy *energy)
{
    bool found = false;

    for (size_t i = 0; i < energy->choice.n; i++) {
        found = found || energy->choice.meters[i] == &vt_meter_ptdaemon;
    }
    return found;
}

static void add_telemetry(struct vt_meter_choice *choice, const struct vt_meter_options *places)
{
    size_t n = 0;
    const struct vt_meter_ops *const *table = vt_telemetry_table(&n);

    for (size_t i = 0; i < n && choice->n < VT_SAMPLER_METERS_MAX; i++) {
        struct vt_error ignored = VT_ERROR_INIT;
        if (vt_meter_probe(table[i], places, &ignored) == VT_OK) {
            choice->meters[choice->n++] = table[i];
        }
    }
}

/* Telemetry goes along, also where it is all that there is. */
static enum vt_status open_sampler(struct vt_run_energy *energy, struct vt_error *err)
{
    static const struct vt_meter_ops *const wall[] = {&vt_meter_ptdaemon};
    const struct vt_meter_options *places = &energy->places;
    struct vt_meter_choice all = energy->choice;
    struct vt_error why = VT_ERROR_INIT;

    add_telemetry(&all, places);
    if (all.n == 0) {
        return VT_OK;
    }
    const struct vt_sampler_options wanted = {energy->ranging ? wall : all.meters,
                                              energy->ranging ? 1 : all.n, places, 0, -1};
    enum vt_status status = vt_sampler_new(&wanted, &why, &energy->sampler);
    if (status != VT_OK && energy->choice.automatic && status != VT_ERR_MEMORY) {
        (void)snprintf(energy->reason, sizeof energy->reason, "%s", why.text);
        return VT_OK;
    }
    return status == VT_OK ? VT_OK : vt_error_set(err, status, "%s", why.text);
}

static enum vt_status open_meters(struct vt_run_energy *energy,
                                  const struct vt_run_energy_options *options, struct vt_error *err)
{
    /* Nobody reads these but who gave their option. */
    static const char *const by_option[] = {"replay", "ptdaemon", NULL};
    enum vt_status why[VT_ENERGY_UNAVAILABLE_MAX];

    energy->places = vt_meter_places_options(options->places);
    enum vt_status status =
        vt_meter_choice_parse(options->meters, options->places, err, &energy->choice);
    if (status != VT_OK) {
        return status;
    }
    if (energy->choice.n == 0) {
        (void)snprintf(energy->reason, sizeof energy->reason,
                       "no meter was asked for (--meter %.32s)", options->meters);
        return VT_OK;
    }
    energy->n_unavailable =
        vt_meter_choice_probe(&energy->choice, &energy->places, energy->unavailable, why);
    for (uint32_t i = 0; i < energy->n_unavailable; i++) {
        const struct vt_energy_unavailable *meter = &energy->unavailable[i];
        if (!energy->choice.automatic || among(meter->name, by_option)) {
            return vt_error_set(err, why[i], "--meter %s: %s", meter->name, meter->reason);
        }
    }
    if (energy->choice.n == 0) {
        explain(energy, why);
    }
    energy->ranging = options->ranging && has_wall(energy);
    return open_sampler(energy, err);
}

enum vt_status vt_run_energy_new(const struct vt_run_energy_options *options, struct vt_error *err,
                                 struct vt_run_energy **ret)
{
    struct vt_run_energy *energy = vt_calloc(1, sizeof *energy);

    if (energy == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory for meters");
    }
    enum vt_status status = open_meters(energy, options, err);
    if (status != VT_OK) {
        vt_run_energy_free(energy);
        return status;
    }
    *ret = energy;
    return VT_OK;
}

void vt_run_energy_free(struct vt_run_energy *energy)
{
    if (energy != NULL) {
        vt_sampler_free(energy->sampler);
        vt_free(energy);
    }
}

/* --- while it runs -------------------------------------------------------------------------- */

bool vt_run_energy_works(const struct vt_run_energy *energy)
{
    return energy->sampler != NULL;
}

static void pass_until(int64_t ns, const _Atomic bool *stop)
{
    for (int64_t now = vt_now_ns(); now < ns && (stop == NULL || !atomic_load(stop));
         now = vt_now_ns()) {
        vt_sleep_until_ns(ns - now > LOOK_NS ? now + LOOK_NS : ns, 0);
    }
}

bool vt_run_energy_wants_ranging(const struct vt_run_energy *energy)
{
    return energy->ranging;
}

enum vt_status vt_run_energy_range(struct vt_run_energy *energy, const _Atomic bool *stop,
                                   struct vt_error *err)
{
    /* Samples of the last moments of the load. */
    pass_until(vt_now_ns() + VT_NS_PER_S, stop);
    vt_sampler_stop(energy->sampler);
    (void)vt_wall_ranges(energy->sampler, &energy->places.ptdaemon_volts,
                         &energy->places.ptdaemon_amps);
    vt_sampler_free(energy->sampler);
    energy->sampler = NULL;
    energy->ranging = false;
    enum vt_status status = open_sampler(energy, err);
    if (status == VT_OK && energy->sampler != NULL) {
        pass_until(vt_now_ns() + WALL_NS, stop);
    }
    return status;
}

void vt_run_energy_idle(struct vt_run_energy *energy, int64_t ns, const _Atomic bool *stop)
{
    if (energy->sampler == NULL || energy->choice.n == 0 || ns <= 0) {
        return;
    }
    const int64_t begin = vt_now_ns() + LEAD_NS;
    pass_until(begin, stop);
    vt_sampler_mark(energy->sampler);
    pass_until(begin + ns, stop);
    vt_sampler_mark(energy->sampler);
    if (!atomic_load(stop)) {
        energy->idle = (struct vt_power_window){begin, begin + ns};
        (void)vt_sampler_settle(energy->sampler, begin + ns, begin + ns + LEAD_NS);
    }
}

double vt_run_energy_watts(struct vt_run_energy *energy)
{
    const uint32_t n = energy->sampler != NULL ? vt_sampler_domains(energy->sampler) : 0;
    uint32_t headline = 0;
    double sum = 0;
    int best = 0;

    for (uint32_t i = 0; i < n; i++) {
        const int rank = vt_sampler_domain(energy->sampler, i).first == i
                             ? vt_energy_rank(energy->sampler, i, energy->on_cpu)
                             : 0;
        headline = rank > best ? i : headline;
        best = rank > best ? rank : best;
    }
    for (uint32_t i = headline; i < n && best > 0; i++) {
        const struct vt_sampler_domain at = vt_sampler_domain(energy->sampler, i);
        if (at.first == headline && at.domain->inside < 0) {
            sum += vt_sampler_watts(energy->sampler, i);
        }
    }
    return best > 0 ? sum : (double)NAN;
}

static void mark(struct vt_run_energy *energy)
{
    if (energy->sampler != NULL) {
        vt_sampler_mark(energy->sampler);
    }
}

static enum vt_status metered_load(void *ctx, const uint64_t *indices, size_t n,
                                   struct vt_error *err)
{
    struct vt_metered_qsl *qsl = ctx;

    enum vt_status status = qsl->inner->load(qsl->inner->ctx, indices, n, err);
    mark(qsl->energy);
    return status;
}

static void metered_unload(void *ctx, const uint64_t *indices, size_t n)
{
    struct vt_metered_qsl *qsl = ctx;

    mark(qsl->energy);
    qsl->inner->unload(qsl->inner->ctx, indices, n);
}

static const char *metered_name(void *ctx)
{
    const struct vt_metered_qsl *qsl = ctx;
    return qsl->inner->name(qsl->inner->ctx);
}

void vt_metered_qsl_init(struct vt_metered_qsl *qsl, const struct vt_qsl *inner,
                         struct vt_run_energy *energy)
{
    *qsl = (struct vt_metered_qsl){.seam = *inner, .inner = inner, .energy = energy};
    if (energy != NULL) {
        qsl->seam.name = metered_name;
        qsl->seam.load = metered_load;
        qsl->seam.unload = metered_unload;
        qsl->seam.ctx = qsl;
    }
}

/* --- the end -------------------------------------------------------------------------------- */

static void tell_reason(const struct vt_run_energy *energy, struct vt_result *result)
{
    (void)snprintf(result->energy_text, sizeof result->energy_text, "%s", energy->reason);
    for (uint32_t i = 0; i < energy->n_unavailable; i++) {
        result->unavailable[i] = energy->unavailable[i];
    }
    result->n_unavailable = energy->n_unavailable;
}

static enum vt_status write_tracks(const struct vt_run_energy *energy,
                                   const struct vt_power_window *window, const char *folder,
                                   struct vt_error *err, struct vt_result_entry *entry)
{
    char below[64];
    (void)vt_result_entry_folder(entry, below, sizeof below);
    char *path = vt_asprintf("%s/%s/power.csv", folder, below);
    char *log = vt_asprintf("%s/%s/spl.txt", folder, below);

    enum vt_status status = path != NULL && log != NULL
                                ? vt_tracks_write(energy->sampler, window, path, err)
                                : vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    entry->energy->has_tracks = status == VT_OK;
    if (status == VT_OK) {
        bool ignored;
        status = vt_wall_write_log(energy->sampler, window, log, err, &ignored);
    }
    vt_free(path);
    vt_free(log);
    return status;
}

void vt_run_energy_on_cpu(struct vt_run_energy *energy, bool on_cpu)
{
    energy->on_cpu = on_cpu;
}

enum vt_status vt_run_energy_finish(struct vt_run_energy *energy, const char *folder,
                                    struct vt_error *err, struct vt_result *result)
{
    enum vt_status status = VT_OK;
    int64_t last_ns = 0;

    tell_reason(energy, result);
    if (energy->sampler == NULL) {
        return VT_OK;
    }
    for (uint32_t i = 0; i < result->n_entries; i++) {
        if (result->entries[i].report != NULL) {
            const int64_t end_ns = vt_energy_window(result->entries[i].report).end_ns;
            last_ns = end_ns > last_ns ? end_ns : last_ns;
        }
    }
    (void)vt_sampler_settle(energy->sampler, last_ns, vt_now_ns() + SETTLE_NS);
    if (has_wall(energy)) {
        pass_until(last_ns + WALL_NS, NULL);
    }
    vt_sampler_stop(energy->sampler);
    for (uint32_t i = 0; i < result->n_entries && status == VT_OK; i++) {
        struct vt_result_entry *entry = &result->entries[i];
        if (entry->report == NULL || entry->mode != VT_PERFORMANCE) {
            continue;
        }
        const struct vt_energy_question question = {
            .sampler = energy->sampler,
            .window = vt_energy_window(entry->report),
            .idle = energy->idle.end_ns > energy->idle.begin_ns ? &energy->idle : NULL,
            .on_cpu = energy->on_cpu};
        status = vt_energy_of_run(&question, entry->report, err, &entry->energy);
        if (status == VT_OK && entry->energy->n_meters == 0) {
            (void)snprintf(entry->energy->reason, sizeof entry->energy->reason, "%s",
                           energy->reason);
        }
        if (status == VT_OK) {
            status = write_tracks(energy, &question.window, folder, err, entry);
        }
    }
    return status;
}
