/* SPDX-License-Identifier: Apache-2.0 */
/* A recommender's interaction: rows of tables, multiplied in pairs where they lie. */
#include "pass_graph.h"

/* Three samples with a row of their own and two of tables. */
#define TABLES                                                                                     \
    "x : 3x1x5\n"                                                                                  \
    "d : 3x4\n"                                                                                    \
    "t : 7x5\n"                                                                                    \
    "u : 4x5\n"                                                                                    \
    "column = ints 3,1\n"                                                                          \
    "i = ints 6,0,-2\n"                                                                            \
    "j = ints 1,1,3\n"                                                                             \
    "p = Reshape(i, column)\n"                                                                     \
    "q = Reshape(j, column)\n"                                                                     \
    "r = Gather(t, p)\n"                                                                           \
    "s = Gather(u, q; axis=0)\n"                                                                   \
    "flat = ints 0,9\n"                                                                            \
    "below = ints 3,6,7\n"                                                                         \
    "any = ints 8,1,-4,0,5,1\n"
#define FEATURES "f = Concat(x, r, s; axis=1)\n"
#define PRODUCTS                                                                                   \
    "g = Transpose(f; perm=[0,2,1])\n"                                                             \
    "m = MatMul(f, g)\n"                                                                           \
    "n = Reshape(m, flat)\n"

static void pairs_become_an_interaction(void **state)
{
    (void)state;
    pass_becomes(TABLES FEATURES PRODUCTS "v = Gather(n, below; axis=1)\n"
                                          "y = Concat(d, v; axis=1)\n-> y",
                 "interaction", "Interaction");
    pass_becomes(TABLES FEATURES PRODUCTS "y = Gather(n, any; axis=-1)\n-> y", "interaction",
                 "Interaction");
    /* The row of a sample's own is used once more, in front. */
    pass_becomes(TABLES FEATURES PRODUCTS "v = Gather(n, any; axis=1)\nto = ints 3,5\n"
                                          "o = Reshape(x, to)\nz = Relu(o)\n"
                                          "y = Concat(z, v; axis=-1)\n-> y",
                 "interaction", "Reshape Relu Interaction");
    /* The pairs come first: they are not taken in. */
    pass_becomes(TABLES FEATURES PRODUCTS "v = Gather(n, below; axis=1)\n"
                                          "y = Concat(v, d; axis=1)\n-> y",
                 "interaction", "Interaction Concat");
    /* Tables alone; rows with another user, here twice a feature, are read as a tensor. */
    pass_becomes(TABLES "f = Concat(r, s, r; axis=1)\n" PRODUCTS
                        "y = Gather(n, any; axis=1)\nz = Relu(r)\n-> y, z",
                 "interaction", "Gather Interaction Relu");
}

static void two_in_one_graph(void **state)
{
    (void)state;
    pass_becomes(TABLES FEATURES PRODUCTS
                 "v = Gather(n, below; axis=1)\ny = Concat(d, v; axis=1)\n"
                 "a = Gather(t, q)\nb = Concat(a, x, x; axis=1)\n"
                 "c = Transpose(b; perm=[0,2,1])\nh = MatMul(b, c)\nk = Reshape(h, flat)\n"
                 "z = Gather(k, any; axis=1)\n-> y, z",
                 "interaction", "Interaction Interaction");
}

static void what_is_no_interaction_stays(void **state)
{
    static const char *const endings[] = {
        /* Someone else looks at the features, the products, or all of these. */
        FEATURES PRODUCTS "y = Gather(n, below; axis=1)\n-> y, f",
        FEATURES PRODUCTS "y = Gather(n, below; axis=1)\n-> y, m",
        FEATURES PRODUCTS "y = Gather(n, below; axis=1)\n-> y, n",
        /* Samples are chosen; a place that is none; no table. */
        "e = ints 2,0\n" FEATURES PRODUCTS "y = Gather(n, e; axis=0)\n-> y",
        "f = Concat(x, x, x; axis=1)\n" PRODUCTS "y = Gather(n, below; axis=1)\n-> y",
        /* Another product, rows of other samples, features of several rows. */
        FEATURES "h : 3x5x3\nm = MatMul(f, h)\nn = Reshape(m, flat)\n"
                 "y = Gather(n, below; axis=1)\n-> y",
        FEATURES "g = Transpose(f; perm=[0,2,1])\nm = MatMul(f, g)\nall = ints 9,3\n"
                 "n = Reshape(m, all)\nc = ints 2,1\ny = Gather(n, c; axis=1)\n-> y",
        "w : 3x2x5\nf = Concat(w, r; axis=1)\n" PRODUCTS "y = Gather(n, below; axis=1)\n-> y",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s%s", TABLES, endings[i]);
        pass_leaves(text, "interaction");
    }
}

/* As Gather refuses it. */
static void a_place_outside_is_refused(void **state)
{
    static const float numbers[3 * 5] = {0};
    const struct vt_tensor inputs[] = {view(VT_F32, numbers, 3, 1, 5, -1),
                                       view(VT_F32, numbers, 2, 5, -1)};
    struct fixture f;
    (void)state;
    pass_open(&f, PASS_OPSET,
              "x : 3x1x5\nt : 2x5\ncolumn = ints 3,1\ni = ints 1,-2,2\np = Reshape(i, column)\n"
              "r = Gather(t, p)\nf = Concat(x, r; axis=1)\ng = Transpose(f; perm=[0,2,1])\n"
              "m = MatMul(f, g)\nflat = ints 0,4\nn = Reshape(m, flat)\nw = ints 2,0\n"
              "y = Gather(n, w; axis=1)\n-> y");
    fixture_plan(&f, inputs, 2);
    assert_int_equal(vt_plan_run(f.plan, inputs, 2, &f.err, f.outputs, 1), VT_ERR_FORMAT);
    assert_non_null(strstr(f.err.text, "index 2 (at position 2) of feature 1 is out of range"));
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_become_an_interaction),
        cmocka_unit_test(two_in_one_graph),
        cmocka_unit_test(what_is_no_interaction_stays),
        cmocka_unit_test(a_place_outside_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
