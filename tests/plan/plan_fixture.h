/* SPDX-License-Identifier: Apache-2.0 */
/* A model with a plan or several, for tests. Every function ends the test when it fails. */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "plan/plan.h"

#define FIXTURE_OUTPUTS 8u

struct fixture {
    struct vt_model *model;
    struct vt_weights *weights;
    struct vt_pool *pool;
    struct vt_plan_options options; /* of the plans to be made */
    struct vt_plan *plan;           /* the last one made */
    struct vt_error err;
    struct vt_tensor outputs[FIXTURE_OUTPUTS]; /* of the last run */
    uint32_t n_outputs;
};

static inline void fixture_open(struct fixture *f, const char *folder, const char *name,
                                uint32_t threads)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    memset(f, 0, sizeof(*f));
    if (vt_model_import(path, NULL, &f->err, &f->model) != VT_OK ||
        vt_weights_new(f->model, &f->err, &f->weights) != VT_OK) {
        fail_msg("%s", f->err.text);
    }
    f->n_outputs = vt_model_graph(f->model)->n_outputs;
    assert_true(f->n_outputs <= FIXTURE_OUTPUTS);
    if (threads > 1) {
        struct vt_pool_options options = {.threads = threads, .idle_spin_ns = 20000};
        assert_int_equal(vt_pool_new(&options, &f->err, &f->pool), VT_OK);
    }
}

static inline void fixture_close(struct fixture *f)
{
    vt_plan_free(f->plan);
    vt_weights_free(f->weights);
    vt_pool_free(f->pool);
    vt_model_free(f->model);
    memset(f, 0, sizeof(*f));
}

static inline void fixture_plan(struct fixture *f, const struct vt_tensor *inputs, uint32_t n)
{
    vt_plan_free(f->plan);
    f->plan = NULL;
    if (vt_plan_new(f->model, f->weights, f->pool, inputs, n, &f->options, &f->err, &f->plan) !=
        VT_OK) {
        fail_msg("%s", f->err.text);
    }
}

static inline void fixture_run(struct fixture *f, const struct vt_tensor *inputs, uint32_t n)
{
    if (vt_plan_run(f->plan, inputs, n, &f->err, f->outputs, f->n_outputs) != VT_OK) {
        fail_msg("%s", f->err.text);
    }
}

/* A view of the caller's numbers; extents end at -1. */
static inline struct vt_tensor view(enum vt_dtype dtype, const void *data, ...)
{
    struct vt_tensor tensor = {.dtype = dtype, .data = (void *)(uintptr_t)data};
    va_list args;
    va_start(args, data);
    for (int dim = va_arg(args, int); dim >= 0; dim = va_arg(args, int)) {
        tensor.dim[tensor.rank++] = dim;
    }
    va_end(args);
    assert_true(vt_shape_bytes(dtype, tensor.dim, tensor.rank, &tensor.bytes));
    return tensor;
}

/* Equal outputs: |a-b| <= 1e-4 + 1e-3 |b| for every element. Returns the worst |a-b|. */
static inline double assert_close(const struct vt_tensor *a, const float *expected, size_t n)
{
    double worst = 0.0;
    assert_int_equal(a->dtype, VT_F32);
    assert_int_equal(a->bytes, n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        double got = (double)((const float *)a->data)[i], want = (double)expected[i];
        double difference = fabs(got - want);
        if (!(difference <= 1e-4 + 1e-3 * fabs(want))) {
            fail_msg("element %zu is %.9g, expected %.9g", i, got, want);
        }
        worst = difference > worst ? difference : worst;
    }
    return worst;
}

#endif
