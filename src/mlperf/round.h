/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MLPerf Inference's mlperf.conf says, by round: seeds, minimum counts and durations, latency
 * limits of every benchmark.
 *
 * Source: mlperf.conf (from v5.0 on loadgen/mlperf.conf) of mlcommons/inference as the round left
 * it: tags v3.0, v3.1, v4.0, v4.1, v5.0.1 and v5.1.1, whose files have the interactive benchmarks
 * that v5.0 and v5.1 still lack and are the same otherwise; for v6.0 commit 80aaa82a, the last
 * before the seeds of v6.1; for v6.1 commit b0662794.
 */
#ifndef VT_MLPERF_ROUND_H
#define VT_MLPERF_ROUND_H

#include <stdbool.h>

#include "core/report.h"

#define VT_ROUND_LATEST "v6.1"

/* The rounds, oldest first: "v3.0" … "v6.1"; NULL beyond the last. */
const char *vt_round_name(unsigned i);
/* Whether the round has a benchmark of that name ("resnet50"). */
bool vt_round_has(const char *round, const char *model);
/* The benchmarks of a round, one after the other; NULL beyond the last. */
const char *vt_round_model(const char *round, unsigned i);
/*
 * The text of a value as the round's file has it for that very model ("*": for all) and scenario
 * ("Server", "*"); NULL where it has none.
 */
const char *vt_round_value(const char *round, const char *model, const char *scenario,
                           const char *key);
/*
 * Sets what the round's mlperf.conf sets for this model and settings->scenario. `model` may be ""
 * or any name: then the values for all models. VT_ERR_USAGE for an unknown round, with the list.
 */
enum vt_status vt_round_apply(struct vt_load_settings *settings, const char *round,
                              const char *model, struct vt_error *err) VT_NODISCARD;

#endif
