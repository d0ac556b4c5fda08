/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, LayerNormalization and RMSNormalization out of their parts. */
#include "pass_graph.h"

/* --- softmax ---------------------------------------------------------------------------------- */

static void softmax_is_recognised(void **state)
{
    (void)state;
    pass_becomes("x : 2x3x5\n"
                 "a = ints -1\n"
                 "m = ReduceMax(x; axes=[-1])\n"
                 "d = Sub(x, m)\n"
                 "e = Exp(d)\n"
                 "s = ReduceSum(e, a)\n"
                 "y = Div(e, s)\n"
                 "-> y",
                 "softmax", "Softmax");
    /* Without the maximum, along another axis, by a reciprocal. */
    pass_becomes("x : 2x3x5\n"
                 "a = ints 1\n"
                 "e = Exp(x)\n"
                 "s = ReduceSum(e, a; keepdims=1)\n"
                 "r = Reciprocal(s)\n"
                 "y = Mul(r, e)\n"
                 "-> y",
                 "softmax", "Softmax");
    /* Something else than the maximum is taken off: that stays. */
    pass_becomes("x : 2x3x5\n"
                 "z : 2x3x1\n"
                 "a = ints -1\n"
                 "d = Sub(x, z)\n"
                 "e = Exp(d)\n"
                 "s = ReduceSum(e, a)\n"
                 "y = Div(e, s)\n"
                 "-> y",
                 "softmax", "Sub Softmax");
    /* The maximum of other axes is another number. */
    pass_becomes("x : 2x3x5\n"
                 "a = ints -1\n"
                 "m = ReduceMax(x; axes=[1,2])\n"
                 "d = Sub(x, m)\n"
                 "e = Exp(d)\n"
                 "s = ReduceSum(e, a)\n"
                 "y = Div(e, s)\n"
                 "-> y",
                 "softmax", "ReduceMax Sub Softmax");
}

static void what_is_no_softmax_stays(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "s = ReduceSum(e, a; keepdims=0)\nt = Transpose(e)\ny = Div(t, s)\n-> y", /* lines up else
                                                                                   */
        "s = ReduceSum(e, a)\ny = Div(s, e)\n-> y",         /* the wrong way */
        "s = ReduceSum(e, a)\ny = Div(e, s)\n-> y, e",      /* someone looks at the exponentials */
        "s = ReduceSum(e, a)\ny = Div(e, s)\n-> y, s",      /* at the sum */
        "s = ReduceSum(e, both)\ny = Div(e, s)\n-> y",      /* over two axes */
        "s = ReduceSum(x, a)\ny = Div(e, s)\n-> y",         /* of something else */
        "s = ReduceMean(e; axes=[1])\ny = Div(e, s)\n-> y", /* another reduction */
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "x : 4x4\n"
                 "a = ints 1\n"
                 "both = ints 0,1\n"
                 "e = Exp(x)\n"
                 "%s",
                 parts[i]);
        pass_leaves(text, "softmax");
    }
}

/* --- normalisation ---------------------------------------------------------------------------- */

#define CENTRED                                                                                    \
    "x : 2x3x8\n"                                                                                  \
    "two = fill - 2\n"                                                                             \
    "half = fill - 0.5\n"                                                                          \
    "one = fill - 1\n"                                                                             \
    "eps = fill - 0.001\n"                                                                         \
    "g = random 8\n"                                                                               \
    "b = random 8\n"                                                                               \
    "m = ReduceMean(x; axes=[-1])\n"                                                               \
    "c = Sub(x, m)\n"

static void layer_norm_is_recognised(void **state)
{
    (void)state;
    static const char *const endings[] = {
        "q = Pow(c, two)\nv = ReduceMean(q; axes=[2])\ns = Add(v, eps)\nr = Sqrt(s)\n"
        "n = Div(c, r)\nt = Mul(n, g)\ny = Add(t, b)\n-> y",
        "q = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(eps, v)\nr = Sqrt(s)\n"
        "i = Reciprocal(r)\nn = Mul(c, i)\nt = Mul(g, n)\ny = Add(b, t)\n-> y",
        "q = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(eps, v)\nr = Pow(s, half)\n"
        "i = Div(one, r)\nn = Mul(i, c)\nt = Mul(g, n)\ny = Add(b, t)\n-> y",
        "q = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(eps, v)\nr = Sqrt(s)\n"
        "y = Div(c, r)\n-> y",
    };
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s%s", CENTRED, endings[i]);
        pass_becomes(text, "layer-norm", "LayerNormalization");
    }
    /* The difference is computed twice, as old exports have it. */
    pass_becomes(CENTRED "c2 = Sub(x, m)\n"
                         "q = Pow(c2, two)\nv = ReduceMean(q; axes=[-1])\ns = Add(v, eps)\n"
                         "r = Sqrt(s)\nn = Div(c, r)\nt = Mul(n, g)\ny = Add(t, b)\n-> y",
                 "common+layer-norm", "LayerNormalization");
    /* Axes as an input, over two of them. */
    pass_becomes_at(18,
                    "x : 2x3x8\n"
                    "a = ints 1,-1\n"
                    "two = fill - 2\n"
                    "eps = fill 1x1 0.001\n"
                    "g = random 3x8\n"
                    "m = ReduceMean(x, a)\n"
                    "c = Sub(x, m)\n"
                    "q = Pow(c, two)\n"
                    "v = ReduceMean(q, a)\n"
                    "s = Add(v, eps)\n"
                    "r = Sqrt(s)\n"
                    "n = Div(c, r)\n"
                    "y = Mul(g, n)\n"
                    "-> y",
                    "layer-norm", "LayerNormalization");
}

static void rms_norm_is_recognised(void **state)
{
    (void)state;
    pass_becomes("x : 2x3x8\n"
                 "two = fill - 2\n"
                 "eps = fill - 0.001\n"
                 "g = random 8\n"
                 "q = Pow(x, two)\n"
                 "v = ReduceMean(q; axes=[-1])\n"
                 "s = Add(v, eps)\n"
                 "r = Sqrt(s)\n"
                 "i = Reciprocal(r)\n"
                 "n = Mul(x, i)\n"
                 "y = Mul(g, n)\n"
                 "-> y",
                 "layer-norm", "RMSNormalization");
    /* Someone else looks at the difference: what follows it is one of its own. */
    pass_becomes(CENTRED "q = Pow(c, two)\nv = ReduceMean(q; axes=[-1])\ns = Add(v, eps)\n"
                         "r = Sqrt(s)\nn = Div(c, r)\ny = Mul(n, g)\n-> y, c",
                 "layer-norm", "ReduceMean Sub RMSNormalization");
}

static void a_scale_of_another_shape_stays(void **state)
{
    (void)state;
    static const char *const scales[] = {"h = random 3x1", "h = random 2x3x8", "h = random 1"};
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "%s%s\nq = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(eps, v)\n"
                 "r = Sqrt(s)\nn = Div(c, r)\ny = Mul(n, h)\n-> y",
                 CENTRED, scales[i]);
        pass_becomes(text, "layer-norm", "LayerNormalization Mul");
    }
    /* One scale is taken, a second one is not; a bias is not taken before the scale. */
    pass_becomes(CENTRED "q = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(eps, v)\n"
                         "r = Sqrt(s)\nn = Div(c, r)\nt = Mul(n, g)\ny = Mul(t, b)\n-> y",
                 "layer-norm", "LayerNormalization Mul");
    pass_becomes(CENTRED "q = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(eps, v)\n"
                         "r = Sqrt(s)\nn = Div(c, r)\nt = Add(n, b)\ny = Mul(t, g)\n-> y",
                 "layer-norm", "LayerNormalization Mul");
}

static void what_is_no_normalisation_stays(void **state)
{
    (void)state;
    static const char *const endings[] = {
        "q = Pow(c, half)\nv = ReduceMean(q; axes=[-1])\ns = Add(v, eps)\nr = Sqrt(s)\n"
        "a = Abs(r)\ny = Div(c, a)\n-> y", /* no square, and something between */
        "q = Mul(c, c)\nv = ReduceMean(q; axes=[1])\ns = Add(v, eps)\nr = Sqrt(s)\n"
        "y = Div(c, r)\n-> y", /* not the last axis */
        "q = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(v, eps)\nr = Sqrt(s)\n"
        "y = Div(x, r)\n-> y", /* another numerator */
        "q = Mul(c, c)\nv = ReduceMean(q; axes=[-1])\ns = Add(v, eps)\nr = Sqrt(s)\n"
        "y = Div(c, r)\n-> y, s", /* someone looks inside */
        "q = Mul(c, x)\na = Abs(q)\nv = ReduceMean(a; axes=[-1])\ns = Add(v, eps)\nr = Sqrt(s)\n"
        "y = Div(c, r)\n-> y", /* no square */
    };
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s%s", CENTRED, endings[i]);
        if (i == 0) { /* a root of numbers below 0 is none: those of x² are not */
            char *minus = strstr(text, "c = Sub(x, m)");
            memcpy(minus, "c = Mul(x, x)", strlen("c = Mul(x, x)"));
        }
        pass_leaves(text, "layer-norm");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_recognised),
        cmocka_unit_test(what_is_no_softmax_stays),
        cmocka_unit_test(layer_norm_is_recognised),
        cmocka_unit_test(rms_norm_is_recognised),
        cmocka_unit_test(a_scale_of_another_shape_stays),
        cmocka_unit_test(what_is_no_normalisation_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
