/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads meters while something else runs: one thread, which keeps every reading, so that the
 * energy of any window can be asked for afterwards.
 *
 * A run uses it so:
 *
 *     vt_sampler_new(&options, &err, &sampler);      before the load, at least a second before
 *     vt_sampler_mark(sampler);                      when the window begins
 *     …
 *     vt_sampler_mark(sampler);                      when it ends
 *     vt_sampler_settle(sampler, end_ns, limit_ns);  the counters' next steps
 *     vt_sampler_stop(sampler);
 *     for every domain: vt_sampler_energy(sampler, i, &window, &err, &energy);
 *     vt_sampler_free(sampler);
 *
 * Each meter is read at its own period; in the first moments and after a mark more often, so that
 * the steps of counters are seen where they matter.
 *
 * A meter that tells its readings in the end (PTDaemon) has none until stop.
 *
 * Threading: new, stop and free are called by one thread; everything else by any. The meters are
 * read by the sampler's thread only. It sleeps between readings and may be kept on one CPU.
 */
#ifndef VT_POWER_SAMPLER_H
#define VT_POWER_SAMPLER_H

#include "power/energy.h"
#include "power/meter.h"

#define VT_SAMPLER_METERS_MAX 16

struct vt_sampler_options {
    const struct vt_meter_ops *const *meters;
    size_t n_meters;                       /* 1 to VT_SAMPLER_METERS_MAX */
    const struct vt_meter_options *places; /* NULL: the machine's own; read by new only */
    int64_t period_ns;                     /* of all meters; 0: each its own */
    int32_t cpu;                           /* where the thread runs; -1: anywhere */
};

struct vt_sampler;

/* Opens the meters and starts. Errors are those of the meters, with the meter's name before them;
 * VT_ERR_UNAVAILABLE for a CPU that may not be used. */
enum vt_status vt_sampler_new(const struct vt_sampler_options *options, struct vt_error *err,
                              struct vt_sampler **ret) VT_NODISCARD;
/* Reads no more; what was read stays. A second call does nothing. */
void vt_sampler_stop(struct vt_sampler *sampler);
void vt_sampler_free(struct vt_sampler *sampler); /* accepts NULL; stops first */

/* All domains of all meters, in order. */
uint32_t vt_sampler_domains(const struct vt_sampler *sampler);
struct vt_sampler_domain {
    const struct vt_meter_ops *meter;
    const struct vt_meter_domain *domain; /* its `inside` counts from `first` */
    uint32_t first;                       /* the index of its meter's first domain */
};
struct vt_sampler_domain vt_sampler_domain(const struct vt_sampler *sampler, uint32_t index);

/* Asks for a reading now and for close ones for a fifth of a second; does not wait for it. Takes a
 * lock: for the edges of a window, not for a hot path. */
void vt_sampler_mark(struct vt_sampler *sampler);
/* Waits until every counter has moved and every power was read after `ns`, at most until limit_ns
 * (monotonic). False when that passed. */
bool vt_sampler_settle(struct vt_sampler *sampler, int64_t ns, int64_t limit_ns);

/* As vt_energy_compute, over what has been read so far. */
enum vt_status vt_sampler_energy(struct vt_sampler *sampler, uint32_t index,
                                 const struct vt_power_window *window, struct vt_error *err,
                                 struct vt_energy *ret) VT_NODISCARD;
/*
 * The sum over the domains of one meter that lie in no other: joules and uncertainties added, the
 * powers too (the peaks need not coincide: peak_w is at most so high). Fails as the first of them
 * that fails: a part of a machine is no figure. `first` is the index of the meter's first domain.
 */
enum vt_status vt_sampler_total(struct vt_sampler *sampler, uint32_t first,
                                const struct vt_power_window *window, struct vt_error *err,
                                struct vt_energy *ret) VT_NODISCARD;
/* Readings of a domain; unix_ns stands beside each. Only after stop; owned by the sampler. */
struct vt_power_track vt_sampler_track(const struct vt_sampler *sampler, uint32_t index,
                                       const int64_t **ret_unix_ns);
/* The latest reading that is there; NAN before the first. */
struct vt_meter_reading vt_sampler_latest(struct vt_sampler *sampler, uint32_t index);

/* The power of a domain over the last half second that was read, W; of a power its latest
 * reading. NAN while that is not known. */
double vt_sampler_watts(struct vt_sampler *sampler, uint32_t index);

/* What metering itself takes. */
struct vt_sampler_cost {
    int64_t cpu_ns;    /* of the sampler's thread */
    int64_t wall_ns;   /* since it started, until it stopped */
    uint64_t rounds;   /* readings of whole meters */
    int64_t latest_ns; /* how late a round was at most */
};
struct vt_sampler_cost vt_sampler_cost(struct vt_sampler *sampler);

#endif
