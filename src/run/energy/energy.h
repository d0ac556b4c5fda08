/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meters of a job: opened once, read from before the first run until after the last, asked for
 * the energy of each run at the end.
 *
 * A run's window is from its first issue to its last completion, as power_begin and power_end of
 * the MLPerf detail log are. All readings are kept, so any run's window may be asked for however
 * many runs came after it, and a search pays for metering only of the run that counts.
 *
 *     vt_run_energy_new      the meters are open and read
 *     vt_run_energy_range    after some load, where a power analyzer has to find its ranges first
 *     vt_run_energy_idle     before anything loads the machine, where that is asked for
 *     vt_metered_qsl_init    a sample library that marks the edges of every run
 *     vt_run_energy_finish   the figures of all entries; reads no more
 *
 * Threading: one thread, except vt_run_energy_watts: any thread between new and finish.
 */
#ifndef VT_RUN_ENERGY_ENERGY_H
#define VT_RUN_ENERGY_ENERGY_H

#include <stdatomic.h>

#include "core/query.h"
#include "result/result.h"
#include "run/energy/places.h"

struct vt_run_energy;

struct vt_run_energy_options {
    const char *meters;                   /* "auto", "none", or names joined by commas */
    const struct vt_meter_places *places; /* their texts live as long as the object */
    bool ranging; /* a power analyzer is to find its ranges under some load first */
};

/*
 * Opens. Where no meter works and none was named, and for "none", it is there and measures nothing;
 * the result says why. VT_ERR_USAGE for an unknown name; a meter that was named, if only by its own
 * option, and cannot measure is an error, the meter's own.
 */
enum vt_status vt_run_energy_new(const struct vt_run_energy_options *options, struct vt_error *err,
                                 struct vt_run_energy **ret) VT_NODISCARD;
void vt_run_energy_free(struct vt_run_energy *energy); /* accepts NULL */

/* Whether anything is read, were it temperatures only. */
bool vt_run_energy_works(const struct vt_run_energy *energy);
/*
 * Whether some load is to be run for an analyzer behind PTDaemon to find its ranges. Other meters
 * are not read meanwhile; vt_run_energy_range ends it, takes the largest voltage and current for
 * ranges, opens all meters and waits until the analyzer has settled. Errors as vt_run_energy_new.
 */
bool vt_run_energy_wants_ranging(const struct vt_run_energy *energy);
enum vt_status vt_run_energy_range(struct vt_run_energy *energy, const _Atomic bool *stop,
                                   struct vt_error *err) VT_NODISCARD;
/* Whether the engine computes on this machine's processors: their meter then goes before that of a
 * GPU. Before the first run; until then it does not. */
void vt_run_energy_on_cpu(struct vt_run_energy *energy, bool on_cpu);
/* Waits while nothing loads the machine; ends early when *stop is set. */
void vt_run_energy_idle(struct vt_run_energy *energy, int64_t ns, const _Atomic bool *stop);
/* What the meter that the figures will be of reads now, W; NAN where it has told nothing yet. */
VT_API double vt_run_energy_watts(struct vt_run_energy *energy);

/* A sample library whose loading and unloading, right before and after a run, mark its edges. */
struct vt_metered_qsl {
    struct vt_qsl seam;
    const struct vt_qsl *inner;
    struct vt_run_energy *energy;
};
/* Both are borrowed; `energy` may be NULL. */
void vt_metered_qsl_init(struct vt_metered_qsl *qsl, const struct vt_qsl *inner,
                         struct vt_run_energy *energy);

/*
 * Ends the reading and gives every performance entry with a run its energy, and writes power.csv,
 * and spl.txt where PTDaemon was read, into the entry's folder below `folder`. VT_ERR_MEMORY,
 * VT_ERR_WRITE; entries that have their energy by then keep it.
 */
enum vt_status vt_run_energy_finish(struct vt_run_energy *energy, const char *folder,
                                    struct vt_error *err, struct vt_result *result) VT_NODISCARD;

#endif
