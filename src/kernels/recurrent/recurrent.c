/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/recurrent/recurrent.h"

#include <string.h>

static int64_t gates_of(const struct vt_recurrent *r)
{
    return r->kind == VT_RECURRENT_LSTM ? 4 : (r->kind == VT_RECURRENT_GRU ? 3 : 1);
}

/* Gates whose product with the state is taken first; a GRU's last one waits for the reset gate. */
static int64_t early_gates(const struct vt_recurrent *r)
{
    return r->kind == VT_RECURRENT_GRU ? 2 : gates_of(r);
}

static size_t packed_size(const struct vt_recurrent *r, int64_t k, int64_t n)
{
    size_t floats = 0;
    (void)vt_gemm_packed_b_size(r->gemm, k, n, &floats);
    return (floats + 15) / 16 * 16;
}

/* Where the three packed matrices of a direction start. */
struct packing {
    size_t early, late, end;
};

static struct packing packing_of(const struct vt_recurrent *r)
{
    struct packing p;
    p.early = packed_size(r, r->inputs, gates_of(r) * r->hidden);
    p.late = p.early + packed_size(r, r->hidden, early_gates(r) * r->hidden);
    p.end = p.late + (r->kind == VT_RECURRENT_GRU ? packed_size(r, r->hidden, r->hidden) : 0);
    return p;
}

size_t vt_recurrent_packed_floats(const struct vt_recurrent *r)
{
    return packing_of(r).end;
}

void vt_recurrent_pack(const struct vt_recurrent *layer, const float *w, const float *r,
                       float *ret_packed)
{
    const int64_t hidden = layer->hidden, early = early_gates(layer) * hidden;
    const struct packing p = packing_of(layer);
    const struct vt_gemm_matrix input = {w, 1, layer->inputs}, state = {r, 1, hidden};
    const struct vt_gemm_matrix late = {r + early * hidden, 1, hidden};
    vt_gemm_pack_b(layer->gemm, layer->inputs, gates_of(layer) * hidden, &input, ret_packed);
    vt_gemm_pack_b(layer->gemm, hidden, early, &state, ret_packed + p.early);
    if (layer->kind == VT_RECURRENT_GRU) {
        vt_gemm_pack_b(layer->gemm, hidden, hidden, &late, ret_packed + p.late);
    }
}

static void locate(const void *ctx, int64_t batch, struct vt_gemm_place *ret)
{
    (void)batch;
    *ret = *(const struct vt_gemm_place *)ctx;
}

static struct vt_gemm product(const struct vt_recurrent *r, int64_t m, int64_t k, int64_t n,
                              int64_t ldc, const struct vt_gemm_place *place)
{
    return (struct vt_gemm){.kernel = r->gemm,
                            .m = m,
                            .n = n,
                            .k = k,
                            .batches = 1,
                            .ldc = ldc,
                            .b_packed = true,
                            .a_row_stride = k,
                            .a_col_stride = 1,
                            .locate = locate,
                            .ctx = place};
}

/* A run's scratch, cut from the workspace. */
struct scratch {
    float *from_input; /* [time · batch][gates · hidden] */
    float *from_state; /* [batch][gates · hidden] */
    float *h, *c;      /* [batch][hidden] */
    float *reset;      /* [batch][hidden], GRU */
    float *bias;       /* [gates · hidden] */
    void *gemm;
};

static size_t floats_of(int64_t n)
{
    return ((size_t)n + 15) / 16 * 16;
}

static size_t gemm_bytes(const struct vt_recurrent *r, uint32_t threads)
{
    const int64_t gates = gates_of(r) * r->hidden;
    const struct vt_gemm input = product(r, r->time * r->batch, r->inputs, gates, gates, NULL);
    const struct vt_gemm state = product(r, r->batch, r->hidden, gates, gates, NULL);
    const struct vt_gemm late = product(r, r->batch, r->hidden, r->hidden, gates, NULL);
    const size_t sizes[3] = {vt_gemm_workspace_bytes(&input, threads),
                             vt_gemm_workspace_bytes(&state, threads),
                             vt_gemm_workspace_bytes(&late, threads)};
    size_t most = sizes[0];
    for (int i = 1; i < 3; i++) {
        most = sizes[i] > most ? sizes[i] : most;
    }
    return most;
}

size_t vt_recurrent_workspace_bytes(const struct vt_recurrent *r, uint32_t threads)
{
    const int64_t gates = gates_of(r) * r->hidden;
    const size_t floats = floats_of(r->time * r->batch * gates) + floats_of(r->batch * gates) +
                          3 * floats_of(r->batch * r->hidden) + floats_of(gates);
    return floats * sizeof(float) + gemm_bytes(r, threads);
}

static struct scratch scratch_of(const struct vt_recurrent *r, void *workspace)
{
    const int64_t gates = gates_of(r) * r->hidden;
    struct scratch s;
    s.from_input = workspace;
    s.from_state = s.from_input + floats_of(r->time * r->batch * gates);
    s.h = s.from_state + floats_of(r->batch * gates);
    s.c = s.h + floats_of(r->batch * r->hidden);
    s.reset = s.c + floats_of(r->batch * r->hidden);
    s.bias = s.reset + floats_of(r->batch * r->hidden);
    s.gemm = s.bias + floats_of(gates);
    return s;
}

/* One direction of one run. */
struct pass {
    const struct vt_recurrent *r;
    const struct vt_recurrent_data *data;
    struct vt_pool *pool;
    struct scratch s;
    uint32_t direction;
    bool backwards;
    const float *state_bias; /* of the gate that a GRU resets, or NULL */
};

static void activate(const struct pass *p, int which, float *x)
{
    const struct vt_recurrent *r = p->r;
    if (r->clip > 0) {
        for (int64_t i = 0; i < r->hidden; i++) {
            const float low = x[i] < -r->clip ? -r->clip : x[i];
            x[i] = low > r->clip ? r->clip : low;
        }
    }
    vt_unary_run(&r->activation[p->direction][which], VT_F32, x, x, r->hidden, NULL);
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

/* `gate` holds the sums of this sample's gates, and is used up. */
static void step_lstm(const struct pass *p, float *gate, float *h, float *c)
{
    const int64_t n = p->r->hidden;
    float *in = gate, *out = gate + n, *forget = gate + 2 * n, *cell = gate + 3 * n;
    const float *peep =
        p->data->peephole != NULL ? p->data->peephole + (int64_t)p->direction * 3 * n : NULL;
    if (peep != NULL) {
        add_product(in, peep, c, n);
        add_product(forget, peep + 2 * n, c, n);
    }
    activate(p, 0, in);
    activate(p, 1, cell);
    if (p->r->input_forget) {
        for (int64_t i = 0; i < n; i++) {
            forget[i] = 1.0f - in[i];
        }
    } else {
        activate(p, 0, forget);
    }
    for (int64_t i = 0; i < n; i++) {
        c[i] = forget[i] * c[i] + in[i] * cell[i];
    }
    if (peep != NULL) {
        add_product(out, peep + n, c, n);
    }
    activate(p, 0, out);
    memcpy(h, c, (size_t)n * sizeof(float));
    vt_unary_run(&p->r->activation[p->direction][2], VT_F32, h, h, n, NULL);
    for (int64_t i = 0; i < n; i++) {
        h[i] *= out[i];
    }
}

/* The state's part of a GRU's last gate, for the whole batch; the first two gates are ready. */
static void late_gru(const struct pass *p, const float *packed)
{
    const struct vt_recurrent *r = p->r;
    const int64_t n = r->hidden, gates = 3 * n;
    for (int64_t b = 0; b < r->batch; b++) {
        const float *reset = p->s.from_state + b * gates + n;
        for (int64_t i = 0; i < n; i++) {
            p->s.reset[b * n + i] =
                r->linear_before_reset ? p->s.h[b * n + i] : reset[i] * p->s.h[b * n + i];
        }
    }
    const struct vt_gemm_place place = {
        .a = p->s.reset, .b = packed, .c = p->s.from_state + 2 * n, .col_bias = p->state_bias};
    const struct vt_gemm gemm = product(r, r->batch, n, n, gates, &place);
    vt_gemm_run(&gemm, p->pool, p->s.gemm);
}

static void step_gru(const struct pass *p, const float *from_input, float *gate, float *h)
{
    const int64_t n = p->r->hidden;
    float *update = gate, *reset = gate + n, *fresh = gate + 2 * n;
    for (int64_t i = 0; p->r->linear_before_reset && i < n; i++) {
        fresh[i] *= reset[i];
    }
    add(fresh, from_input + 2 * n, n);
    activate(p, 1, fresh);
    for (int64_t i = 0; i < n; i++) {
        h[i] = (1.0f - update[i]) * fresh[i] + update[i] * h[i];
    }
}

/* The row of a sample at a time, in X and in from_input. */
static int64_t row_of(const struct vt_recurrent *r, int64_t t, int64_t b)
{
    return r->batch_first ? b * r->time + t : t * r->batch + b;
}

static float *output_row(const struct pass *p, int64_t t, int64_t b)
{
    const struct vt_recurrent *r = p->r;
    const int64_t row = r->batch_first ? (b * r->time + t) * r->directions + p->direction
                                       : (t * r->directions + p->direction) * r->batch + b;
    return p->data->y + row * r->hidden;
}

static int64_t length_of(const struct pass *p, int64_t b)
{
    const int64_t given = p->data->lengths != NULL ? p->data->lengths[b] : p->r->time;
    return given < 0 ? 0 : (given > p->r->time ? p->r->time : given);
}

static void one_step(const struct pass *p, int64_t step)
{
    const struct vt_recurrent *r = p->r;
    const struct packing packing = packing_of(r);
    const float *packed = p->data->packed[p->direction];
    const int64_t n = r->hidden, gates = gates_of(r) * n, early = early_gates(r) * n;
    const struct vt_gemm_place place = {
        .a = p->s.h, .b = packed + packing.early, .c = p->s.from_state};
    const struct vt_gemm gemm = product(r, r->batch, n, early, gates, &place);

    vt_gemm_run(&gemm, p->pool, p->s.gemm);
    for (int64_t b = 0; b < r->batch; b++) {
        const int64_t length = length_of(p, b), t = p->backwards ? length - 1 - step : step;
        float *gate = p->s.from_state + b * gates;
        if (step >= length) {
            continue;
        }
        add(gate, p->s.from_input + row_of(r, t, b) * gates, early);
        if (r->kind == VT_RECURRENT_GRU) {
            activate(p, 0, gate);
            activate(p, 0, gate + n);
        }
    }
    if (r->kind == VT_RECURRENT_GRU) {
        late_gru(p, packed + packing.late);
    }
    for (int64_t b = 0; b < r->batch; b++) {
        const int64_t length = length_of(p, b), t = p->backwards ? length - 1 - step : step;
        float *gate = p->s.from_state + b * gates, *h = p->s.h + b * n;
        if (step >= length) {
            continue;
        }
        if (r->kind == VT_RECURRENT_LSTM) {
            step_lstm(p, gate, h, p->s.c + b * n);
        } else if (r->kind == VT_RECURRENT_GRU) {
            step_gru(p, p->s.from_input + row_of(r, t, b) * gates, gate, h);
        } else {
            activate(p, 0, gate);
            memcpy(h, gate, (size_t)n * sizeof(float));
        }
        if (p->data->y != NULL) {
            memcpy(output_row(p, t, b), h, (size_t)n * sizeof(float));
        }
    }
}

/* Moves the states of one direction between the scratch and [direction][batch] or its reverse. */
static void copy_states(const struct pass *p, const float *from, float *to, bool load)
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
static const float *join_bias(struct pass *p)
{
    const struct vt_recurrent *r = p->r;
    const int64_t gates = gates_of(r) * r->hidden;
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

void vt_recurrent_run(const struct vt_recurrent *r, const struct vt_recurrent_data *data,
                      struct vt_pool *pool, void *workspace)
{
    const int64_t gates = gates_of(r) * r->hidden;
    if (data->y != NULL) {
        memset(data->y, 0,
               (size_t)(r->time * r->directions * r->batch * r->hidden) * sizeof(float));
    }
    for (uint32_t d = 0; d < r->directions; d++) {
        struct pass p = {.r = r,
                         .data = data,
                         .pool = pool,
                         .s = scratch_of(r, workspace),
                         .direction = d,
                         .backwards = d == 1 || r->reverse};
        const struct vt_gemm_place place = {
            .a = data->x, .b = data->packed[d], .c = p.s.from_input, .col_bias = join_bias(&p)};
        const struct vt_gemm gemm = product(r, r->time * r->batch, r->inputs, gates, gates, &place);
        vt_gemm_run(&gemm, pool, p.s.gemm);
        copy_states(&p, data->h, p.s.h, true);
        copy_states(&p, data->c, p.s.c, true);
        for (int64_t step = 0; step < r->time; step++) {
            one_step(&p, step);
        }
        if (data->last_h != NULL) {
            copy_states(&p, p.s.h, data->last_h, false);
        }
        if (data->last_c != NULL) {
            copy_states(&p, p.s.c, data->last_c, false);
        }
    }
}
