/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which responses of a performance run go into the accuracy log: MLPerf LoadGen's choice, bit for
 * bit. Every sample takes a number from one random stream, in the order in which queries are
 * generated; accuracy_log_rng_seed only shifts that stream (LoadGen leaves its generator at the
 * default seed).
 */
#ifndef VT_LOAD_LOG_SAMPLER_H
#define VT_LOAD_LOG_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "load/load.h"

struct vt_log_sampler {
    bool on; /* some are kept: the stream matters in this run */
    double offset;
    double probability;
    struct vt_mt19937 rng;
};

/* A share, or a number of what is expected, of the settings. Accuracy runs keep all: off. */
void vt_log_sampler_init(struct vt_log_sampler *sampler, const struct vt_load_settings *settings,
                         const struct vt_load_effective *effective,
                         const struct vt_mt19937 *stream);
/* Whether any phase of the test may sample, so that the stream has to be carried on. */
bool vt_log_sampler_wanted(const struct vt_load_settings *settings);
/* A stream at its beginning. */
void vt_log_sampler_seed(struct vt_mt19937 *ret_stream);

/* Whether the next sample is kept. Only where `on`. */
bool vt_log_sampler_next(struct vt_log_sampler *sampler);
/* Passes over n samples. */
void vt_log_sampler_skip(struct vt_mt19937 *stream, uint64_t n);

#endif
