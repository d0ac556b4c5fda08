/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_test.h"
#include "kernels/convert/convert.h"
#include "kernels/recurrent/recurrent.h"

/* One layer with everything that goes into it, and the outputs. */
struct problem {
    struct vt_recurrent r;
    int64_t gates;
    float *x, *w, *rw, *bias, *peephole, *h, *c;
    int32_t *lengths;
    float *y, *last_h, *last_c;
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double clipped(const struct vt_recurrent *r, double x)
{
    return r->clip > 0 ? fmin(fmax(x, -(double)r->clip), (double)r->clip) : x;
}

/* Row `gate`, `unit` of the two products, without the biases; `state` is [hidden]. */
static double weigh(const float *w, int64_t n, const float *x, const double *state, int64_t row)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (double)w[row * n + k] * (x != NULL ? (double)x[k] : state[k]);
    return sum;
}

/* One step of one sample in one direction: h and c become those behind it. */
static void reference_step(const struct problem *p, int64_t d, const float *x, double *h, double *c)
{
    const struct vt_recurrent *r = &p->r;
    const int64_t n = r->hidden, g = p->gates;
    const float *w = p->w + d * g * n * r->inputs, *rw = p->rw + d * g * n * n;
    const float *wb = p->bias != NULL ? p->bias + d * 2 * g * n : NULL;
    const float *peep = p->peephole != NULL ? p->peephole + d * 3 * n : NULL;
    double *next = vt_calloc((size_t)n, sizeof(double)), *reset = vt_calloc((size_t)n, 8);
#define IN(gate)    (weigh(w, r->inputs, x, NULL, (gate)*n + i) + (wb ? (double)wb[(gate)*n + i] : 0))
#define BIAS(gate)  (wb ? (double)wb[(g + (gate)) * n + i] : 0)
#define STATE(gate) (weigh(rw, n, NULL, h, (gate)*n + i) + BIAS(gate))
    for (int64_t i = 0; i < n; i++)
        reset[i] = r->kind == VT_RECURRENT_GRU ? sigmoid(clipped(r, IN(1) + STATE(1))) : 0;
    for (int64_t i = 0; i < n; i++) {
        if (r->kind == VT_RECURRENT_RNN) {
            next[i] = tanh(clipped(r, IN(0) + STATE(0)));
        } else if (r->kind == VT_RECURRENT_LSTM) {
            const double before = c[i];
            const double in =
                sigmoid(clipped(r, IN(0) + STATE(0) + (peep ? (double)peep[i] * before : 0)));
            double forget = sigmoid(
                clipped(r, IN(2) + STATE(2) + (peep ? (double)peep[2 * n + i] * before : 0)));
            forget = r->input_forget ? 1 - in : forget;
            c[i] = forget * before + in * tanh(clipped(r, IN(3) + STATE(3)));
            next[i] =
                sigmoid(clipped(r, IN(1) + STATE(1) + (peep ? (double)peep[n + i] * c[i] : 0))) *
                tanh(c[i]);
        } else {
            const double update = sigmoid(clipped(r, IN(0) + STATE(0)));
            double late = 0;
            for (int64_t k = 0; k < n; k++)
                late += (double)rw[(2 * n + i) * n + k] *
                        (r->linear_before_reset ? h[k] : h[k] * reset[k]);
            late = (late + BIAS(2)) * (r->linear_before_reset ? reset[i] : 1);
            next[i] = (1 - update) * tanh(clipped(r, IN(2) + late)) + update * h[i];
        }
    }
    memcpy(h, next, (size_t)n * sizeof(double));
    vt_free(next);
    vt_free(reset);
}

static int64_t state_row(const struct vt_recurrent *r, int64_t d, int64_t b)
{
    return (r->batch_first ? b * r->directions + d : d * r->batch + b) * r->hidden;
}

static void check_sample(const struct problem *p, int64_t d, int64_t b, double tolerance)
{
    const struct vt_recurrent *r = &p->r;
    const int64_t n = r->hidden, length = p->lengths != NULL ? p->lengths[b] : r->time;
    double *h = vt_calloc((size_t)n, sizeof(double)), *c = vt_calloc((size_t)n, sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        h[i] = p->h != NULL ? (double)p->h[state_row(r, d, b) + i] : 0;
        c[i] = p->c != NULL ? (double)p->c[state_row(r, d, b) + i] : 0;
    }
    for (int64_t step = 0; step < r->time; step++) {
        const bool over = step >= length;
        const int64_t t = (d == 1 || r->reverse) && !over ? length - 1 - step : step;
        const int64_t row = r->batch_first ? b * r->time + t : t * r->batch + b;
        const float *y = p->y + n * (r->batch_first ? row * r->directions + d
                                                    : (t * r->directions + d) * r->batch + b);
        if (!over)
            reference_step(p, d, p->x + row * r->inputs, h, c);
        for (int64_t i = 0; i < n; i++) {
            const double want = over ? 0 : h[i];
            if (!(fabs((double)y[i] - want) <= tolerance))
                fail_msg("unit %lld at %lld is %.9g, not %.9g", (long long)i, (long long)t,
                         (double)y[i], want);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        assert_true(fabs((double)p->last_h[state_row(r, d, b) + i] - h[i]) <= tolerance);
        if (r->kind == VT_RECURRENT_LSTM)
            assert_true(fabs((double)p->last_c[state_row(r, d, b) + i] - c[i]) <= tolerance);
    }
    vt_free(h);
    vt_free(c);
}

static void fill(struct problem *p, struct random *r, int turn)
{
    const struct vt_recurrent *l = &p->r;
    const int64_t d = l->directions, n = l->hidden;
    p->gates = l->kind == VT_RECURRENT_LSTM ? 4 : (l->kind == VT_RECURRENT_GRU ? 3 : 1);
    p->x = random_floats(r, l->time * l->batch * l->inputs);
    p->w = random_floats(r, d * p->gates * n * l->inputs);
    p->rw = random_floats(r, d * p->gates * n * n);
    for (int64_t i = 0; i < d * p->gates * n * n; i++) {
        p->rw[i] /= sqrtf((float)n);
        p->rw[i] = l->half_weights ? vt_half_to_float(vt_float_to_half(p->rw[i])) : p->rw[i];
    }
    p->bias = turn % 3 != 0 ? random_floats(r, d * 2 * p->gates * n) : NULL;
    p->peephole =
        l->kind == VT_RECURRENT_LSTM && turn % 4 == 1 ? random_floats(r, d * 3 * n) : NULL;
    p->h = turn % 2 != 0 ? random_floats(r, d * l->batch * n) : NULL;
    p->c = turn % 2 != 0 ? random_floats(r, d * l->batch * n) : NULL;
    p->lengths = NULL;
    if (turn % 5 == 2) {
        p->lengths = vt_alloc((size_t)l->batch * sizeof(int32_t));
        for (int64_t b = 0; b < l->batch; b++)
            p->lengths[b] = (int32_t)random_int(r, 0, l->time);
    }
    p->y = random_floats(r, l->time * d * l->batch * n);
    p->last_h = random_floats(r, d * l->batch * n);
    p->last_c = random_floats(r, d * l->batch * n);
}

static void solve(struct problem *p, struct vt_pool *pool, struct random *r, int turn)
{
    const struct vt_recurrent *l = &p->r;
    struct vt_recurrent_data data = {0};
    float *packed[2] = {NULL};
    fill(p, r, turn);
    for (uint32_t d = 0; d < l->directions; d++) {
        packed[d] = vt_alloc(vt_recurrent_packed_floats(l) * sizeof(float));
        vt_recurrent_pack(l, p->w + d * p->gates * l->hidden * l->inputs,
                          p->rw + d * p->gates * l->hidden * l->hidden, packed[d]);
        data.packed[d] = packed[d];
    }
    void *workspace = vt_alloc(vt_recurrent_workspace_bytes(l, vt_pool_threads(pool)));
    data.x = p->x;
    data.bias = p->bias;
    data.peephole = p->peephole;
    data.lengths = p->lengths;
    data.h = p->h;
    data.c = p->c;
    data.y = p->y;
    data.last_h = p->last_h;
    data.last_c = p->last_c;
    vt_recurrent_run(l, &data, pool, workspace);
    for (int64_t d = 0; d < l->directions; d++) {
        for (int64_t b = 0; b < l->batch; b++)
            check_sample(p, d, b, 3e-5);
    }
    float *all[] = {p->x, p->w,      p->rw,     p->bias,   p->peephole, p->h,     p->c,
                    p->y, p->last_h, p->last_c, packed[0], packed[1],   workspace};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        vt_free(all[i]);
    vt_free(p->lengths);
}

/* All kinds, directions, layouts and options, sizes around the vectors, batches beyond a tile. */
static void test_layers(void **state)
{
    static const enum vt_unary first[3] = {VT_UNARY_SIGMOID, VT_UNARY_SIGMOID, VT_UNARY_TANH};
    struct random r = {7};
    struct vt_pool *pool = test_pool(3);
    uint32_t features[3];
    const int n = usable_features(features);
    (void)state;
    for (int turn = 0; turn < 180; turn++) {
        struct problem p = {0};
        struct vt_recurrent *l = &p.r;
        l->kind = (enum vt_recurrent_kind)(turn / 3 % 3);
        l->gemm = vt_gemm_kernel_find(features[turn % n]);
        l->way = vt_recurrent_way_find(features[turn % n]);
        l->half_weights = turn % 7 == 3 && vt_recurrent_knows_half(l->way);
        l->directions = turn % 4 == 0 ? 2 : 1;
        l->reverse = turn % 8 == 1;
        l->batch_first = turn % 10 > 6;
        l->time = random_int(&r, 1, 6);
        l->batch = random_int(&r, 1, turn % 6 == 0 ? 15 : 3);
        l->inputs = random_int(&r, 1, 9);
        l->hidden = random_int(&r, 1, turn % 2 == 0 ? 70 : 20);
        if (turn % 45 == 44) {
            l->hidden = 140; /* more than one block of k; several threads */
            l->batch = 9;
        }
        l->clip = turn % 9 == 4 ? 0.5f : 0.0f;
        l->input_forget = turn % 11 == 3;
        l->linear_before_reset = turn % 2 == 1;
        for (int d = 0; d < 2; d++) {
            l->activation[d][0].op = first[l->kind];
            l->activation[d][1].op = l->activation[d][2].op = VT_UNARY_TANH;
        }
        solve(&p, turn % 2 ? pool : NULL, &r, turn);
    }
    vt_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
