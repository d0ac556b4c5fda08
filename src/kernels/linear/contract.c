/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/linear/linear.h"

/* type, what a product is kept in while it is made */
#define TYPES(X)                                                                                   \
    X(VT_F32, float, double)                                                                       \
    X(VT_F64, double, double)                                                                      \
    X(VT_I32, int32_t, uint32_t)                                                                   \
    X(VT_I64, int64_t, uint64_t)                                                                   \
    X(VT_U32, uint32_t, uint32_t)                                                                  \
    X(VT_U64, uint64_t, uint64_t)

struct job {
    const struct vt_contract *c;
    const void *const *terms;
    void *out;
    int64_t n_summed; /* combinations of all summed labels but the last */
};

/* Adds to `at` what index `i` of the first `n` labels comes to. */
static void add_steps(const int64_t *dim, const int64_t (*step)[VT_CONTRACT_LABELS], uint32_t n,
                      uint32_t n_terms, int64_t i, int64_t *at)
{
    for (uint32_t d = n; d-- > 0;) {
        const int64_t index = i % dim[d];
        i /= dim[d];
        for (uint32_t t = 0; t < n_terms; t++) {
            at[t] += index * step[t][d];
        }
    }
}

/* One element: the last summed label is the inner loop. */
#define ELEMENT(dtype, type, sum_type)                                                             \
    static type element_##dtype(const struct job *job, const int64_t *start)                       \
    {                                                                                              \
        const struct vt_contract *c = job->c;                                                      \
        const uint32_t last = c->n_summed - 1;                                                     \
        sum_type sum = 0;                                                                          \
        for (int64_t s = 0; s < job->n_summed; s++) {                                              \
            int64_t at[VT_CONTRACT_TERMS];                                                         \
            for (uint32_t t = 0; t < c->n_terms; t++) {                                            \
                at[t] = start[t];                                                                  \
            }                                                                                      \
            add_steps(c->summed, c->summed_step, last, c->n_terms, s, at);                         \
            for (int64_t k = 0; k < c->summed[last]; k++) {                                        \
                sum_type product = 1;                                                              \
                for (uint32_t t = 0; t < c->n_terms; t++) {                                        \
                    product *= (sum_type)((const type *)job->terms[t])[at[t]];                     \
                    at[t] += c->summed_step[t][last];                                              \
                }                                                                                  \
                sum += product;                                                                    \
            }                                                                                      \
        }                                                                                          \
        return (type)sum;                                                                          \
    }
TYPES(ELEMENT)

static void run_elements(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    const struct job *job = ctx;
    const struct vt_contract *c = job->c;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[VT_CONTRACT_TERMS] = {0};
        add_steps(c->kept, c->kept_step, c->n_kept, c->n_terms, i, at);
        switch (c->dtype) {
#define CASE(dtype, type, sum_type)                                                                \
    case dtype:                                                                                    \
        ((type *)job->out)[i] = element_##dtype(job, at);                                          \
        break;
            TYPES(CASE)
#undef CASE
        default:
            return;
        }
    }
}

bool vt_contract_knows(enum vt_dtype dtype)
{
    switch (dtype) {
#define CASE(known, type, sum_type) case known:
        TYPES(CASE)
#undef CASE
        return true;
    default:
        return false;
    }
}

void vt_contract_run(const struct vt_contract *c, const void *const *terms, void *out,
                     struct vt_pool *pool)
{
    struct vt_contract whole = *c;
    struct job job = {&whole, terms, out, 1};
    int64_t n = 1;
    if (whole.n_summed == 0) { /* a sum over one */
        whole.summed[0] = 1;
        whole.n_summed = 1;
        for (uint32_t t = 0; t < whole.n_terms; t++) {
            whole.summed_step[t][0] = 0;
        }
    }
    for (uint32_t d = 0; d < whole.n_kept; d++) {
        n *= whole.kept[d];
    }
    for (uint32_t d = 0; d + 1 < whole.n_summed; d++) {
        job.n_summed *= whole.summed[d];
    }
    if (n > 0) {
        vt_pool_run(pool, n, 64, run_elements, &job);
    }
}
