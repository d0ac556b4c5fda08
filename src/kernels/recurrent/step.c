/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/recurrent/pass.h"

/* Steps of k whose panel stays in the first-level cache, with the next ones, while all rows of a
 * batch pass. */
#define BLOCK_K 64
/* A step of fewer multiply-adds is done sooner than another thread joins. */
#define ALONE 65536

/* Some units of one sample at the step. */
struct place {
    int64_t b, t; /* t: time, or -1 where the sample has ended */
    int64_t unit, n;
    const float *from_input; /* of the first gate and unit; the next gate is `hidden` behind */
    float *sums;             /* [gates][units] */
};

int64_t vt_recurrent_length(const struct vt_recurrent_pass *p, int64_t b)
{
    const int64_t given = p->data->lengths != NULL ? p->data->lengths[b] : p->r->time;
    return given < 0 ? 0 : (given > p->r->time ? p->r->time : given);
}

static const float *state_before(const struct vt_recurrent_pass *p)
{
    return p->s.h[p->step % 2];
}

static float *state_behind(const struct vt_recurrent_pass *p, const struct place *at)
{
    return p->s.h[1 - p->step % 2] + at->b * p->r->hidden + at->unit;
}

static void activate(const struct vt_recurrent_pass *p, int which, float *x, int64_t n)
{
    const struct vt_recurrent *r = p->r;
    if (r->clip > 0) {
        for (int64_t i = 0; i < n; i++) {
            const float low = x[i] < -r->clip ? -r->clip : x[i];
            x[i] = low > r->clip ? r->clip : low;
        }
    }
    vt_unary_run(&r->activation[p->direction][which], VT_F32, x, x, n, NULL);
}

/* x += a, and x += a · b. */
static void add(float *restrict x, const float *restrict a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] += a[i];
    }
}

static void add_product(float *restrict x, const float *restrict a, const float *restrict b,
                        int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] += a[i] * b[i];
    }
}

static bool is_usual_lstm(const struct vt_recurrent_pass *p)
{
    const struct vt_unary_params *f = p->r->activation[p->direction];
    return p->r->clip <= 0 && !p->r->input_forget && p->data->peephole == NULL &&
           f[0].op == VT_UNARY_SIGMOID && f[1].op == VT_UNARY_TANH && f[2].op == VT_UNARY_TANH;
}

static void lstm(const struct vt_recurrent_pass *p, const struct place *at)
{
    const struct vt_recurrent *r = p->r;
    const int64_t n = at->n, units = r->way->width / 4, hidden = r->hidden;
    float *in = at->sums, *out = in + units, *forget = out + units, *cell = forget + units;
    float *c = p->s.c + at->b * hidden + at->unit, *h = state_behind(p, at);
    const float *peep = p->data->peephole;
    if (is_usual_lstm(p)) {
        const struct vt_recurrent_lstm step = {n, r->way->width, hidden, in, at->from_input, c, h};
        r->way->lstm(&step);
        return;
    }
    for (int64_t gate = 0; gate < 4; gate++) {
        add(in + gate * units, at->from_input + gate * hidden, n);
    }
    if (peep != NULL) {
        peep += (int64_t)p->direction * 3 * hidden + at->unit;
        add_product(in, peep, c, n);
        add_product(forget, peep + 2 * hidden, c, n);
    }
    activate(p, 0, in, n);
    activate(p, 1, cell, n);
    if (!r->input_forget) {
        activate(p, 0, forget, n);
    }
    for (int64_t i = 0; i < n; i++) {
        c[i] = (r->input_forget ? 1.0f - in[i] : forget[i]) * c[i] + in[i] * cell[i];
    }
    if (peep != NULL) {
        add_product(out, peep + hidden, c, n);
    }
    activate(p, 0, out, n);
    memcpy(h, c, (size_t)n * sizeof(float));
    vt_unary_run(&r->activation[p->direction][2], VT_F32, h, h, n, NULL);
    for (int64_t i = 0; i < n; i++) {
        h[i] *= out[i];
    }
}

/* The first two gates of a GRU, and what its last one multiplies. */
static void gru_early(const struct vt_recurrent_pass *p, const struct place *at)
{
    const struct vt_recurrent *r = p->r;
    const int64_t n = at->n, units = r->way->width / 2;
    const int64_t offset = at->b * r->hidden + at->unit;
    float *update = at->sums, *reset = update + units;
    add(update, at->from_input, n);
    add(reset, at->from_input + r->hidden, n);
    activate(p, 0, update, n);
    activate(p, 0, reset, n);
    for (int64_t i = 0; i < n && !r->linear_before_reset; i++) {
        reset[i] *= state_before(p)[offset + i];
    }
    memcpy(p->s.update + offset, update, (size_t)n * sizeof(float));
    memcpy(p->s.reset + offset, reset, (size_t)n * sizeof(float));
}

static void gru_late(const struct vt_recurrent_pass *p, const struct place *at)
{
    const struct vt_recurrent *r = p->r;
    const int64_t n = at->n, offset = at->b * r->hidden + at->unit;
    const float *update = p->s.update + offset, *before = state_before(p) + offset;
    float *fresh = at->sums, *h = state_behind(p, at);
    if (p->state_bias != NULL) {
        add(fresh, p->state_bias + at->unit, n);
    }
    for (int64_t i = 0; i < n && r->linear_before_reset; i++) {
        fresh[i] *= p->s.reset[offset + i];
    }
    add(fresh, at->from_input + 2 * r->hidden, n);
    activate(p, 1, fresh, n);
    for (int64_t i = 0; i < n; i++) {
        h[i] = (1.0f - update[i]) * fresh[i] + update[i] * before[i];
    }
}

static void rnn(const struct vt_recurrent_pass *p, const struct place *at)
{
    add(at->sums, at->from_input, at->n);
    activate(p, 0, at->sums, at->n);
    memcpy(state_behind(p, at), at->sums, (size_t)at->n * sizeof(float));
}

/* One parallel loop of a step. */
struct phase {
    const struct vt_recurrent_pass *p;
    struct vt_recurrent_panels panels;
    const float *weights, *a;
    void (*finish)(const struct vt_recurrent_pass *p, const struct place *at);
    bool last; /* the state is ready behind it */
};

static void multiply(const struct phase *phase, int64_t block, float *sums)
{
    const struct vt_recurrent *r = phase->p->r;
    const struct vt_recurrent_way *way = r->way;
    const vt_recurrent_product_func product = r->half_weights ? way->product_half : way->product;
    const int64_t depth = r->batch > way->rows ? BLOCK_K : r->hidden;
    const int64_t bytes = (r->half_weights ? 2 : 4) * (int64_t)way->width;
    const char *panel = (const char *)phase->weights + block * r->hidden * bytes;
    for (int64_t k = 0; k < r->hidden; k += depth) {
        for (int64_t b = 0; b < r->batch; b += way->rows) {
            const int64_t rows = r->batch - b < way->rows ? r->batch - b : way->rows;
            const bool last = b + rows == r->batch && b > 0;
            const struct vt_recurrent_tile tile = {
                .k = r->hidden - k < depth ? r->hidden - k : depth,
                .lda = r->hidden,
                .a = phase->a + b * r->hidden + k,
                .panel = panel + k * bytes,
                .sums = sums + b * way->width,
                .accumulate = k > 0,
                .ahead = last && k + depth < r->hidden ? panel + (k + depth) * bytes : NULL};
            product(&tile, (uint32_t)rows);
        }
    }
}

static void finish(const struct phase *phase, struct place *at)
{
    const struct vt_recurrent_pass *p = phase->p;
    const struct vt_recurrent *r = p->r;
    const size_t bytes = (size_t)at->n * sizeof(float);
    if (at->t < 0) {
        if (phase->last) {
            memcpy(state_behind(p, at), state_before(p) + at->b * r->hidden + at->unit, bytes);
        }
        return;
    }
    const int64_t row = r->batch_first ? at->b * r->time + at->t : at->t * r->batch + at->b;
    at->from_input = p->s.from_input + row * vt_recurrent_gates(r) * r->hidden + at->unit;
    phase->finish(p, at);
    if (phase->last && p->data->y != NULL) {
        const int64_t y_row = r->batch_first
                                  ? row * r->directions + p->direction
                                  : (at->t * r->directions + p->direction) * r->batch + at->b;
        memcpy(p->data->y + y_row * r->hidden + at->unit, state_behind(p, at), bytes);
    }
}

static void run_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct phase *phase = ctx;
    const struct vt_recurrent_pass *p = phase->p;
    const int64_t units = phase->panels.units;
    float *sums = p->s.sums + worker * p->s.sums_step;
    for (int64_t item = begin; item < end; item++) {
        /* Forth and back in turn: the panels used last are still in the cache. */
        const int64_t block = p->step % 2 != 0 ? phase->panels.blocks - 1 - item : item;
        const int64_t left = p->r->hidden - block * units;
        multiply(phase, block, sums);
        for (int64_t b = 0; b < p->r->batch; b++) {
            const int64_t length = vt_recurrent_length(p, b);
            struct place at = {.b = b,
                               .t = p->backwards ? length - 1 - p->step : p->step,
                               .unit = block * units,
                               .n = left < units ? left : units,
                               .sums = sums + b * p->r->way->width};
            at.t = p->step < length ? at.t : -1;
            finish(phase, &at);
        }
    }
}

static void run_phase(struct phase *phase)
{
    const struct vt_recurrent *r = phase->p->r;
    const bool alone =
        r->hidden > 0 && r->batch * r->hidden * phase->panels.gates < ALONE / r->hidden;
    vt_pool_run(alone ? NULL : phase->p->pool, phase->panels.blocks, 1, run_blocks, phase);
}

void vt_recurrent_step(const struct vt_recurrent_pass *p)
{
    const struct vt_recurrent_packing packing = vt_recurrent_packing(p->r);
    const float *packed = p->data->packed[p->direction];
    struct phase phase = {.p = p,
                          .panels = vt_recurrent_early(p->r),
                          .weights = packed + packing.early,
                          .a = state_before(p),
                          .finish = p->r->kind == VT_RECURRENT_LSTM ? lstm : rnn,
                          .last = true};
    if (p->r->kind == VT_RECURRENT_GRU) {
        phase.finish = gru_early;
        phase.last = false;
        run_phase(&phase);
        phase.panels = vt_recurrent_late(p->r);
        phase.weights = packed + packing.late;
        phase.a = p->r->linear_before_reset ? state_before(p) : p->s.reset;
        phase.finish = gru_late;
        phase.last = true;
    }
    run_phase(&phase);
}
