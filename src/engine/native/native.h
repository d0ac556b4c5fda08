/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vatio's own engine: the plan of plan/plan.h on this machine's CPU.
 *
 * A lane has its threads, its plans (one for every shape of input that it has met, the least
 * recently used one going first) and a short queue. Requests are computed by the thread that
 * waits for them; nothing runs between the calls. Opening the engine makes lane 0's first plan, for
 * one sample (or the batch of a plan file): what takes long, packing weights, is over then.
 *
 * Settings (--engine-option KEY=VALUE):
 *   affinity    1: worker threads are bound to cores of their own; 0 (default): they are not
 *   passes      of the planner: all (default), none, names joined by '+' (these alone), or with a
 *               '-' before it (all but these); for finding out which one a result depends on
 *   plan        a file that `vatio plan` made for the model: its answers and its packed weights
 *   plans       plans that a lane keeps at most, 1 to 256 (default 32)
 *   precision   fp32 (default), fp16w (weights kept as float16, arithmetic in fp32) or bf16
 * (factors of products rounded to bfloat16, sums in fp32; refused where the processor cannot)
 *   spin-us     how long an idle worker spins before it sleeps, 0 to 10000 (default 50)
 *   tune        how kernels are chosen where there are several. off: by rule; cached (default): as
 *               was measured on this machine before, else by rule; measure: what is not known yet
 *               is measured while a plan is made, for half a minute at most, and kept. What a plan
 *               file says holds with any of them
 *   tune-cache  the file where that is kept, or off (default: VATIO_TUNING, else one in the user's
 *               cache, plan/tuning.h)
 *   window      128x128x128: larger inputs are computed window by window (plan/windows.h); with it
 *               overlap (default 0.5), blend (constant, gaussian: the default) and window-batch,
 *               windows at once at most (default 0: by rule)
 */
#ifndef VT_ENGINE_NATIVE_NATIVE_H
#define VT_ENGINE_NATIVE_NATIVE_H

#include "engine/models.h"
#include "plan/plan.h"
#include "plan/plan_file.h"
#include "plan/tuning.h"
#include "plan/windows.h"

#define VT_NATIVE_IN_FLIGHT 16u

struct vt_native_engine {
    struct vt_engine_models models;
    struct vt_weights **weights;    /* by graph */
    struct vt_tuning *tuning;       /* NULL: rules decide */
    struct vt_plan_file *plan_file; /* NULL: none */
    void *first_lane;               /* opened with the engine, until somebody opens lane 0 */
    void *shown_lane;               /* lane 0 while it is open */
    uint32_t threads, lanes;
    uint32_t max_batch;
    struct vt_plan_options plan_options;
    struct vt_windows windows; /* of no axes: none */
    uint32_t plans_a_lane;
    size_t plan_bytes_a_lane; /* arenas that a lane keeps at most, besides the one in use */
    int64_t idle_spin_ns;
    bool affinity;
};

/* native.c */
extern const struct vt_engine_ops vt_native_engine;

/* windows.c: what the settings say of windows, of no axes where they say nothing. VT_ERR_USAGE. */
enum vt_status vt_native_windows_settings(const struct vt_engine_config *config,
                                          struct vt_error *err,
                                          struct vt_windows *ret_windows) VT_NODISCARD;
/* The inputs of a plan for so many samples, or windows; false while extents are open. */
bool vt_native_inputs(const struct vt_native_engine *engine, uint32_t graph, int64_t batch,
                      struct vt_tensor *ret_inputs);

/* lane.c: the seam's slots that concern a lane. */
enum vt_status vt_native_lane_open(void *engine, uint32_t index, struct vt_error *err,
                                   void **ret_lane);
void vt_native_lane_close(void *engine, void *lane);
enum vt_status vt_native_submit(void *engine, void *lane, const struct vt_request *requests,
                                uint32_t n, struct vt_error *err);
enum vt_status vt_native_wait(void *engine, void *lane, uint32_t min, uint32_t max,
                              int64_t deadline_ns, struct vt_error *err,
                              struct vt_event *ret_events, uint32_t *ret_n);
void vt_native_cancel(void *engine, void *lane, uint64_t id);

/* Plans for inputs of these shapes, before there is a request. */
enum vt_status vt_native_lane_prepare(void *lane, uint32_t graph, const struct vt_tensor *inputs,
                                      uint32_t n_inputs, struct vt_error *err);

/* The plan of the lane's last request, to be profiled between requests; NULL before the first.
 * Borrowed: other shapes may take its place. */
struct vt_plan *vt_native_lane_plan(void *lane);

/* The model of that plan, as the engine has read it. */
const struct vt_model *vt_native_lane_model(void *lane);

/* Shows the steps of lane 0's plan that computed most samples. False when there is none, or the
 * lane computes at the moment. No lane is opened or closed meanwhile. */
bool vt_native_each_step(void *engine,
                         void (*visit)(void *ctx, const struct vt_model *model,
                                       const struct vt_step_profile *step),
                         void *ctx);

#endif
