/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/recurrent/recurrent.h"

#include <string.h>

#include "base/topology.h"
#include "kernels/convert/convert.h"
#include "kernels/recurrent/pass.h"

const struct vt_recurrent_way *vt_recurrent_way_find(uint32_t features)
{
#if defined(__x86_64__)
    if (features & VT_CPU_AVX512) {
        return &vt_recurrent_way_avx512;
    }
    if (features & VT_CPU_AVX2) {
        return &vt_recurrent_way_avx2;
    }
#else
    (void)features;
#endif
    return &vt_recurrent_way_portable;
}

bool vt_recurrent_knows_half(const struct vt_recurrent_way *way)
{
    return way->product_half != NULL;
}

int64_t vt_recurrent_gates(const struct vt_recurrent *r)
{
    return r->kind == VT_RECURRENT_LSTM ? 4 : (r->kind == VT_RECURRENT_GRU ? 3 : 1);
}

struct vt_recurrent_panels vt_recurrent_early(const struct vt_recurrent *r)
{
    struct vt_recurrent_panels p;
    p.first = 0;
    p.gates = r->kind == VT_RECURRENT_GRU ? 2 : vt_recurrent_gates(r);
    p.units = r->way->width / p.gates;
    p.blocks = (r->hidden + p.units - 1) / p.units;
    return p;
}

struct vt_recurrent_panels vt_recurrent_late(const struct vt_recurrent *r)
{
    struct vt_recurrent_panels p = {.first = 2, .gates = 1, .units = r->way->width};
    p.blocks = (r->hidden + p.units - 1) / p.units;
    return p;
}

static size_t whole_lines(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

static size_t panel_floats(const struct vt_recurrent *r, const struct vt_recurrent_panels *p)
{
    const size_t n = (size_t)(p->blocks * r->hidden * r->way->width);
    return whole_lines(r->half_weights ? (n + 1) / 2 : n);
}

struct vt_recurrent_packing vt_recurrent_packing(const struct vt_recurrent *r)
{
    const struct vt_recurrent_panels early = vt_recurrent_early(r), late = vt_recurrent_late(r);
    struct vt_recurrent_packing p;
    size_t input = 0;
    (void)vt_gemm_packed_b_size(r->gemm, r->inputs, vt_recurrent_gates(r) * r->hidden, &input);
    p.early = whole_lines(input);
    p.late = p.early + panel_floats(r, &early);
    p.end = p.late + (r->kind == VT_RECURRENT_GRU ? panel_floats(r, &late) : 0);
    return p;
}

size_t vt_recurrent_packed_floats(const struct vt_recurrent *r)
{
    return vt_recurrent_packing(r).end;
}

/* Units beyond the last one have weights of 0. */
static void pack_panels(const struct vt_recurrent *layer, const struct vt_recurrent_panels *p,
                        const float *r, float *ret_packed)
{
    const int64_t width = layer->way->width, hidden = layer->hidden;
    uint16_t *halves = (uint16_t *)(void *)ret_packed;
    for (int64_t lane = 0; lane < p->blocks * width; lane++) {
        const int64_t gate = p->first + lane % width / p->units;
        const int64_t unit = lane / width * p->units + lane % p->units;
        const float *from = r + (gate * hidden + unit) * hidden;
        const int64_t to = lane / width * hidden * width + lane % width;
        const bool used = unit < hidden && lane % width < p->gates * p->units;
        for (int64_t k = 0; k < hidden; k++) {
            const float w = used ? from[k] : 0.0f;
            if (layer->half_weights) {
                halves[to + k * width] = vt_float_to_half(w);
            } else {
                ret_packed[to + k * width] = w;
            }
        }
    }
}

void vt_recurrent_pack(const struct vt_recurrent *layer, const float *w, const float *r,
                       float *ret_packed)
{
    const struct vt_recurrent_packing at = vt_recurrent_packing(layer);
    const struct vt_recurrent_panels early = vt_recurrent_early(layer);
    const struct vt_recurrent_panels late = vt_recurrent_late(layer);
    const struct vt_gemm_matrix input = {w, 1, layer->inputs};
    vt_gemm_pack_b(layer->gemm, layer->inputs, vt_recurrent_gates(layer) * layer->hidden, &input,
                   ret_packed);
    pack_panels(layer, &early, r, ret_packed + at.early);
    if (layer->kind == VT_RECURRENT_GRU) {
        pack_panels(layer, &late, r, ret_packed + at.late);
    }
}

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    (void)batch;
    *ret = *(const struct vt_gemm_place *)ctx;
}

/* The input's part of all gates at all times. */
static struct vt_gemm input_product(const struct vt_recurrent *r, const struct vt_gemm_place *place)
{
    const int64_t gates = vt_recurrent_gates(r) * r->hidden;
    return (struct vt_gemm){.kernel = r->gemm,
                            .m = r->time * r->batch,
                            .n = gates,
                            .k = r->inputs,
                            .batches = 1,
                            .ldc = gates,
                            .b_packed = true,
                            .a_row_stride = r->inputs,
                            .a_col_stride = 1,
                            .locate = locate,
                            .ctx = place};
}

enum { FROM_INPUT, BEFORE, BEHIND, CELLS, UPDATE, RESET, BIAS, SUMS, PARTS };

/* Where the parts of the scratch start, in floats; returns how many these are in all, without those
 * of the product. */
static size_t cut(const struct vt_recurrent *r, uint32_t threads, size_t ret_at[PARTS])
{
    const size_t gates = (size_t)(vt_recurrent_gates(r) * r->hidden);
    const size_t states = (size_t)(r->batch * r->hidden);
    const size_t own = r->kind == VT_RECURRENT_GRU ? states : 0;
    const size_t floats[PARTS] = {
        [FROM_INPUT] = (size_t)(r->time * r->batch) * gates,
        [BEFORE] = states,
        [BEHIND] = states,
        [CELLS] = states,
        [UPDATE] = own,
        [RESET] = own,
        [BIAS] = gates,
        [SUMS] = threads * whole_lines((size_t)(r->batch * r->way->width)),
    };
    size_t at = 0;
    for (int i = 0; i < PARTS; i++) {
        ret_at[i] = at;
        at += whole_lines(floats[i]);
    }
    return at;
}

static struct vt_recurrent_scratch scratch_of(const struct vt_recurrent *r, uint32_t threads,
                                              float *workspace)
{
    size_t at[PARTS];
    const size_t end = cut(r, threads, at);
    return (struct vt_recurrent_scratch){
        .from_input = workspace + at[FROM_INPUT],
        .h = {workspace + at[BEFORE], workspace + at[BEHIND]},
        .c = workspace + at[CELLS],
        .update = workspace + at[UPDATE],
        .reset = workspace + at[RESET],
        .bias = workspace + at[BIAS],
        .sums = workspace + at[SUMS],
        .sums_step = whole_lines((size_t)(r->batch * r->way->width)),
        .gemm = workspace + end,
    };
}

size_t vt_recurrent_workspace_bytes(const struct vt_recurrent *r, uint32_t threads)
{
    const struct vt_gemm input = input_product(r, NULL);
    size_t unused[PARTS];
    return cut(r, threads, unused) * sizeof(float) + vt_gemm_workspace_bytes(&input, threads);
}

/* Moves the states of one direction between the scratch and [direction][batch] or its reverse. */
static void copy_states(const struct vt_recurrent_pass *p, const float *from, float *to, bool load)
{
    const struct vt_recurrent *r = p->r;
    const size_t bytes = (size_t)r->hidden * sizeof(float);
    for (int64_t b = 0; b < r->batch; b++) {
        const int64_t outer =
            (r->batch_first ? b * r->directions + p->direction : p->direction * r->batch + b) *
            r->hidden;
        const int64_t inner = b * r->hidden;
        if (load && from == NULL) {
            memset(to + inner, 0, bytes);
        } else {
            memcpy(to + (load ? inner : outer), from + (load ? outer : inner), bytes);
        }
    }
}

/* Both biases in one, except where a GRU multiplies the state's part by the reset gate. */
static const float *join_bias(struct vt_recurrent_pass *p)
{
    const struct vt_recurrent *r = p->r;
    const int64_t gates = vt_recurrent_gates(r) * r->hidden;
    p->state_bias = NULL;
    if (p->data->bias == NULL) {
        return NULL;
    }
    const float *w = p->data->bias + (int64_t)p->direction * 2 * gates, *state = w + gates;
    for (int64_t i = 0; i < gates; i++) {
        p->s.bias[i] = w[i] + state[i];
    }
    if (r->kind == VT_RECURRENT_GRU && r->linear_before_reset) {
        p->state_bias = state + 2 * r->hidden;
        for (int64_t i = 2 * r->hidden; i < gates; i++) {
            p->s.bias[i] = w[i];
        }
    }
    return p->s.bias;
}

static void run_direction(struct vt_recurrent_pass *p)
{
    const struct vt_recurrent *r = p->r;
    const struct vt_recurrent_data *data = p->data;
    const struct vt_gemm_place place = {.a = data->x,
                                        .b = data->packed[p->direction],
                                        .c = p->s.from_input,
                                        .col_bias = join_bias(p)};
    const struct vt_gemm gemm = input_product(r, &place);
    int64_t steps = 0;
    for (int64_t b = 0; b < r->batch; b++) {
        const int64_t length = vt_recurrent_length(p, b);
        steps = length > steps ? length : steps;
    }
    vt_gemm_run(&gemm, p->pool, p->s.gemm);
    copy_states(p, data->h, p->s.h[0], true);
    copy_states(p, data->c, p->s.c, true);
    for (p->step = 0; p->step < steps; p->step++) {
        vt_recurrent_step(p);
    }
    if (data->last_h != NULL) {
        copy_states(p, p->s.h[steps % 2], data->last_h, false);
    }
    if (data->last_c != NULL) {
        copy_states(p, p->s.c, data->last_c, false);
    }
}

void vt_recurrent_run(const struct vt_recurrent *r, const struct vt_recurrent_data *data,
                      struct vt_pool *pool, void *workspace)
{
    if (data->y != NULL && data->lengths != NULL) {
        memset(data->y, 0,
               (size_t)(r->time * r->directions * r->batch * r->hidden) * sizeof(float));
    }
    for (uint32_t d = 0; d < r->directions; d++) {
        struct vt_recurrent_pass p = {.r = r,
                                      .data = data,
                                      .pool = pool,
                                      .s = scratch_of(r, vt_pool_threads(pool), workspace),
                                      .direction = d,
                                      .backwards = d == 1 || r->reverse};
        run_direction(&p);
    }
}
