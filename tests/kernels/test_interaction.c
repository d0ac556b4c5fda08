/* SPDX-License-Identifier: Apache-2.0 */
/* Products of looked up rows against sums in double. */
#include "kernel_test.h"

#include "kernels/interaction/interaction.h"

#define SAMPLES_MAX 150

struct features {
    struct vt_interaction_feature feature[VT_INTERACTION_FEATURES_MAX];
    int64_t place[VT_INTERACTION_FEATURES_MAX][SAMPLES_MAX]; /* counted from the start */
    void *places[VT_INTERACTION_FEATURES_MAX];
};

/* Tables of some rows with places of either type, some from the end; or a row a sample. */
static void make_features(struct random *r, const struct vt_interaction *in, struct features *ret)
{
    for (uint32_t i = 0; i < in->n_features; i++) {
        struct vt_interaction_feature *f = &ret->feature[i];
        const bool is_table = random_int(r, 0, 3) > 0;
        f->n_rows = is_table ? random_int(r, 1, 40) : in->samples;
        f->rows = random_floats(r, f->n_rows * in->width);
        f->places_64 = random_int(r, 0, 1) == 0;
        f->places = ret->places[i] =
            is_table ? vt_alloc((size_t)in->samples * sizeof(int64_t)) : NULL;
        for (int64_t s = 0; s < in->samples; s++) {
            const int64_t at = is_table ? random_int(r, 0, f->n_rows - 1) : s;
            const int64_t given = random_int(r, 0, 1) == 0 ? at : at - f->n_rows;
            ret->place[i][s] = at;
            if (is_table && f->places_64) {
                ((int64_t *)ret->places[i])[s] = given;
            } else if (is_table) {
                ((int32_t *)ret->places[i])[s] = (int32_t)given;
            }
        }
    }
}

static void free_features(const struct vt_interaction *in, struct features *features)
{
    for (uint32_t i = 0; i < in->n_features; i++) {
        vt_free((void *)features->feature[i].rows);
        vt_free(features->places[i]);
    }
}

static double product(const struct vt_interaction *in, const struct features *features, int64_t s,
                      uint32_t i, uint32_t j)
{
    const float *a = features->feature[i].rows + features->place[i][s] * in->width;
    const float *b = features->feature[j].rows + features->place[j][s] * in->width;
    double sum = 0;
    for (int64_t k = 0; k < in->width; k++) {
        sum += (double)a[k] * (double)b[k];
    }
    return sum;
}

static void check(struct random *r, uint32_t isa, struct vt_pool *pool)
{
    static struct features features;
    uint32_t wanted[64], left[64], right[64];
    struct vt_interaction in = {.pairs = vt_interaction_pairs_find(isa),
                                .n_features = (uint32_t)random_int(r, 1, 30),
                                .samples = random_int(r, 1, SAMPLES_MAX),
                                .width = random_int(r, 1, 70),
                                .x_width = random_int(r, 0, 5),
                                .wanted = wanted,
                                .n_wanted = random_int(r, 1, 64)};
    for (int64_t p = 0; p < in.n_wanted; p++) {
        left[p] = (uint32_t)random_int(r, 0, in.n_features - 1);
        right[p] = (uint32_t)random_int(r, 0, in.n_features - 1);
        wanted[p] = vt_interaction_at(left[p], right[p]);
    }
    make_features(r, &in, &features);
    const int64_t row = in.x_width + in.n_wanted;
    float *x = random_floats(r, in.samples * in.x_width + 1);
    float *y = random_floats(r, in.samples * row);
    void *workspace = vt_alloc(vt_interaction_workspace_bytes(&in, vt_pool_threads(pool)));
    assert_non_null(workspace);
    assert_int_equal(vt_interaction_run(&in, features.feature, x, y, pool, workspace), -1);
    vt_free(workspace);
    for (int64_t s = 0; s < in.samples; s++) {
        for (int64_t i = 0; i < in.x_width; i++) {
            assert_true(y[s * row + i] == x[s * in.x_width + i]);
        }
        for (int64_t p = 0; p < in.n_wanted; p++) {
            assert_close((double)y[s * row + in.x_width + p],
                         product(&in, &features, s, left[p], right[p]), in.width);
        }
    }
    vt_free(x);
    vt_free(y);
    free_features(&in, &features);
}

static void test_products(void **state)
{
    struct random r = {1};
    struct vt_pool *pool = test_pool(3);
    uint32_t isa[3];
    const int n = usable_features(isa);
    (void)state;
    for (int i = 0; i < 60; i++) {
        check(&r, isa[i % n], i % 2 == 0 ? pool : NULL);
    }
    vt_pool_free(pool);
}

static void test_places_outside(void **state)
{
    static const float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
    static const int32_t places[2][2] = {{0, -2}, {1, 2}}, below[2] = {0, -3};
    const uint32_t wanted[1] = {vt_interaction_at(1, 0)};
    struct vt_interaction_feature features[2] = {{rows[0], 2, places[0], false},
                                                 {rows[0], 2, places[1], false}};
    const struct vt_interaction in = {.pairs = vt_interaction_pairs_find(0),
                                      .n_features = 2,
                                      .samples = 2,
                                      .width = 3,
                                      .wanted = wanted,
                                      .n_wanted = 1};
    _Alignas(64) float workspace[4 * 16];
    float y[2] = {7, 8};
    (void)state;
    assert_true(vt_interaction_workspace_bytes(&in, 1) <= sizeof(workspace));
    assert_int_equal(vt_interaction_run(&in, features, NULL, y, NULL, workspace), 3);
    features[0].places = below;
    assert_int_equal(vt_interaction_run(&in, features, NULL, y, NULL, workspace), 1);
    assert_true(y[0] == 7 && y[1] == 8);
    features[0].places = NULL;
    features[1].places = places[0];
    assert_int_equal(vt_interaction_run(&in, features, NULL, y, NULL, workspace), -1);
    assert_true(y[0] == 14 && y[1] == 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_places_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
