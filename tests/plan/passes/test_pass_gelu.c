/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu, in both of its forms, and Swish out of their parts, in the orders that exporters use. */
#include "pass_graph.h"

#define NUMBERS                                                                                    \
    "x : 3x7\n"                                                                                    \
    "half = fill - 0.5\n"                                                                          \
    "one = fill - 1\n"                                                                             \
    "two = fill - 2\n"                                                                             \
    "three = fill - 3\n"                                                                           \
    "root2 = fill - 1.41421356\n"                                                                  \
    "inv2 = fill - 0.70710678\n"                                                                   \
    "k = fill - 0.79788456\n"                                                                      \
    "c = fill - 0.044715\n"

static void each(const char *const *endings, size_t n, void (*check)(const char *text))
{
    for (size_t i = 0; i < n; i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s%s", NUMBERS, endings[i]);
        check(text);
    }
}

static void expect_gelu(const char *text)
{
    pass_becomes(text, "gelu", "Gelu");
}

static void expect_swish(const char *text)
{
    pass_becomes(text, "gelu", "Swish");
}

static void expect_nothing(const char *text)
{
    pass_leaves(text, "gelu");
}

#define EACH(list, check) each(list, sizeof(list) / sizeof((list)[0]), check)

static void erf_form(void **state)
{
    (void)state;
    static const char *const endings[] = {
        "a = Div(x, root2)\ne = Erf(a)\ns = Add(e, one)\np = Mul(x, s)\ny = Mul(p, half)\n-> y",
        "a = Mul(inv2, x)\ne = Erf(a)\ns = Add(one, e)\nh = Mul(x, half)\ny = Mul(h, s)\n-> y",
        "a = Mul(x, inv2)\ne = Erf(a)\ns = Add(one, e)\nh = Mul(half, s)\ny = Mul(x, h)\n-> y",
        "a = Div(x, root2)\ne = Erf(a)\ns = Add(e, one)\np = Mul(s, x)\ny = Div(p, two)\n-> y",
    };
    EACH(endings, expect_gelu);
}

static void tanh_form(void **state)
{
    (void)state;
    static const char *const endings[] = {
        "q = Pow(x, three)\nr = Mul(q, c)\nu = Add(x, r)\nv = Mul(u, k)\nt = Tanh(v)\n"
        "s = Add(t, one)\nh = Mul(half, x)\ny = Mul(h, s)\n-> y",
        "q = Mul(x, x)\nq3 = Mul(q, x)\nr = Mul(c, q3)\nu = Add(r, x)\nv = Mul(k, u)\n"
        "t = Tanh(v)\ns = Add(one, t)\np = Mul(x, s)\ny = Mul(p, half)\n-> y",
        "q = Mul(x, c)\nq2 = Mul(q, x)\nu = Add(q2, one)\nw = Mul(x, k)\nv = Mul(w, u)\n"
        "t = Tanh(v)\ns = Add(one, t)\nh = Mul(x, half)\ny = Mul(h, s)\n-> y",
    };
    EACH(endings, expect_gelu);
}

static void swish(void **state)
{
    (void)state;
    static const char *const endings[] = {
        "g = Sigmoid(x)\ny = Mul(x, g)\n-> y",
        "g = Sigmoid(x)\ny = Mul(g, x)\n-> y",
        "a = Mul(x, three)\ng = Sigmoid(a)\ny = Mul(g, x)\n-> y",
    };
    EACH(endings, expect_swish);
}

static void other_functions_stay(void **state)
{
    (void)state;
    static const char *const endings[] = {
        /* other numbers */
        "a = Div(x, two)\ne = Erf(a)\ns = Add(e, one)\np = Mul(x, s)\ny = Mul(p, half)\n-> y",
        "a = Div(x, root2)\ne = Erf(a)\ns = Add(e, two)\np = Mul(x, s)\ny = Mul(p, half)\n-> y",
        "a = Div(x, root2)\ne = Erf(a)\ns = Add(e, one)\np = Mul(x, s)\ny = Mul(p, two)\n-> y",
        "q = Pow(x, two)\nr = Mul(q, c)\nu = Add(x, r)\nv = Mul(u, k)\nt = Tanh(v)\n"
        "s = Add(t, one)\nh = Mul(half, x)\ny = Mul(h, s)\n-> y",
        "q = Pow(x, three)\nr = Mul(q, k)\nu = Add(x, r)\nv = Mul(u, k)\nt = Tanh(v)\n"
        "s = Add(t, one)\nh = Mul(half, x)\ny = Mul(h, s)\n-> y",
        /* another value than the one inside */
        "z : 3x7\na = Div(x, root2)\ne = Erf(a)\ns = Add(e, one)\np = Mul(z, s)\n"
        "y = Mul(p, half)\n-> y",
        "z : 3x7\ng = Sigmoid(x)\ny = Mul(z, g)\n-> y",
        /* someone looks inside */
        "a = Div(x, root2)\ne = Erf(a)\ns = Add(e, one)\np = Mul(x, s)\ny = Mul(p, half)\n-> y, e",
        "g = Sigmoid(x)\ny = Mul(x, g)\n-> y, g",
        /* the result has another shape */
        "n = fill 1x1x1 0.5\na = Div(x, root2)\ne = Erf(a)\ns = Add(e, one)\np = Mul(x, s)\n"
        "y = Mul(p, n)\n-> y",
    };
    EACH(endings, expect_nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erf_form),
        cmocka_unit_test(tanh_form),
        cmocka_unit_test(swish),
        cmocka_unit_test(other_functions_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
