/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which meters a verb reads: names of meters, and what of them works here.
 *
 * Threading: one thread; probing may block for some seconds.
 */
#ifndef VT_RUN_ENERGY_METER_CHOICE_H
#define VT_RUN_ENERGY_METER_CHOICE_H

#include <stddef.h>

#include "power/meter.h"
#include "power/sampler.h"
#include "result/energy.h"
#include "run/energy/places.h"

/* Borrows the texts. */
struct vt_meter_options vt_meter_places_options(const struct vt_meter_places *places);

struct vt_meter_choice {
    const struct vt_meter_ops *meters[VT_SAMPLER_METERS_MAX];
    size_t n;
    bool automatic; /* nobody named them */
};

/* A meter once, however often it is named. VT_ERR_USAGE with the nearest name. */
enum vt_status vt_meter_choice_add(struct vt_meter_choice *choice, const char *name,
                                   struct vt_error *err) VT_NODISCARD;
void vt_meter_choice_add_all(struct vt_meter_choice *choice);
/*
 * "auto": all but null, and replay and ptdaemon only where their option is given; "none": none; or
 * names joined by commas.
 */
enum vt_status vt_meter_choice_parse(const char *text, const struct vt_meter_places *places,
                                     struct vt_error *err,
                                     struct vt_meter_choice *ret) VT_NODISCARD;
/* Takes those away that cannot measure here, and says why. Returns their number. */
uint32_t vt_meter_choice_probe(struct vt_meter_choice *choice,
                               const struct vt_meter_options *options,
                               struct vt_energy_unavailable ret[VT_ENERGY_UNAVAILABLE_MAX],
                               enum vt_status ret_status[VT_ENERGY_UNAVAILABLE_MAX]);

#endif
