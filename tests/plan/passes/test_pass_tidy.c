/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that only take away: dead-code, common, no-ops, reshapes, transposes. */
#include "pass_graph.h"

static void steps_without_users_go(void **state)
{
    (void)state;
    pass_becomes("x : 2x3\n"
                 "a = Exp(x)\n"
                 "b = Neg(a)\n"
                 "c = Exp(b)\n" /* dead, and with it b */
                 "y = Tanh(a)\n"
                 "-> y",
                 "dead-code", "Exp Tanh");
    pass_leaves("x : 2x3\n"
                "a = Exp(x)\n"
                "y = Tanh(a)\n"
                "-> y, a",
                "dead-code");
}

static void the_same_is_computed_once(void **state)
{
    (void)state;
    pass_becomes("x : 2x3\n"
                 "k = fill - 2\n"
                 "k2 = fill - 2\n"
                 "a = Mul(x, k)\n"
                 "b = Mul(x, k2)\n"
                 "c = Exp(a)\n"
                 "d = Exp(b)\n"
                 "y = Sub(c, d)\n"
                 "-> y",
                 "common", "Mul Exp Sub");
    /* Both are outputs: one value under two names. */
    pass_becomes("x : 2x3\n"
                 "a = Softmax(x; axis=1)\n"
                 "b = Softmax(x; axis=1)\n"
                 "-> a, b",
                 "common", "Softmax");
}

static void what_differs_stays(void **state)
{
    (void)state;
    pass_leaves("x : 2x3\n"
                "a = Softmax(x; axis=1)\n"
                "b = Softmax(x; axis=0)\n"
                "-> a, b",
                "common");
    pass_leaves("x : 2x3\n"
                "k = fill - 2\n"
                "l = fill - 3\n"
                "a = Sub(x, k)\n"
                "b = Sub(k, x)\n"
                "c = Sub(x, l)\n"
                "-> a, b, c",
                "common");
    pass_leaves("x : 2x3\n"
                "k = fill 1 2\n"
                "l = fill 1x1x1 2\n" /* the same number, another shape */
                "a = Mul(x, k)\n"
                "b = Mul(x, l)\n"
                "-> a, b",
                "common");
}

static void steps_that_change_nothing_go(void **state)
{
    (void)state;
    pass_becomes("x : 2x3\n"
                 "s = ints 2,3\n"
                 "a = Identity(x)\n"
                 "b = Dropout(a)\n"
                 "c = Reshape(b, s)\n"
                 "d = Cast(c; to=1)\n"
                 "e = Expand(d, s)\n"
                 "f = Concat(e; axis=0)\n"
                 "g = Sum(f)\n"
                 "y = Exp(g)\n"
                 "-> y",
                 "no-ops", "Exp");
    /* Nothing is left: the output is the input's contents. */
    pass_becomes("x : 2x3\n"
                 "y = Identity(x)\n"
                 "-> y",
                 "no-ops", "");
    pass_leaves("x : 2x3\n"
                "s = ints 3,2\n"
                "t = ints 2,2,3\n"
                "a = Reshape(x, s)\n"
                "b = Cast(a; to=11)\n"
                "c = Cast(b; to=1)\n"
                "d = Expand(x, t)\n"
                "e = Concat(x, x; axis=0)\n"
                "-> c, d, e",
                "no-ops");
}

static void reshapes_become_one(void **state)
{
    (void)state;
    struct fixture f;
    struct pass_result result;
    pass_open(&f, PASS_OPSET,
              "x : 2x3x4\n"
              "s = ints 6,4\n"
              "t = ints 0\n"
              "a = Reshape(x, s)\n"
              "b = Unsqueeze(a, t)\n"
              "c = Flatten(b; axis=2)\n"
              "e = Exp(c)\n"
              "-> e");
    pass_apply(&f, "reshapes", &result);
    assert_int_equal(result.n_steps, 2); /* one of the three, and Exp */
    assert_true(result.worst == 0.0);
    fixture_close(&f);
    /* Back to where it came from: none is left. */
    pass_open(&f, PASS_OPSET,
              "x : 2x3\n"
              "s = ints 3,2\n"
              "t = ints 2,3\n"
              "a = Reshape(x, s)\n"
              "b = Reshape(a, t)\n"
              "y = Exp(b)\n"
              "-> y");
    pass_apply(&f, "reshapes", &result);
    assert_int_equal(result.n_steps, 1);
    fixture_close(&f);
    /* The one between is an output itself: it stays, but the next does not pass through it. */
    pass_open(&f, PASS_OPSET,
              "x : 2x3\n"
              "s = ints 3,2\n"
              "t = ints 6\n"
              "a = Reshape(x, s)\n"
              "b = Reshape(a, t)\n"
              "-> a, b");
    pass_apply(&f, "reshapes", &result);
    assert_int_equal(result.n_steps, 2);
    assert_true(result.worst == 0.0);
    fixture_close(&f);
    pass_leaves("x : 2x3\n"
                "s = ints 3,2\n"
                "a = Reshape(x, s)\n"
                "b = Exp(a)\n"
                "t = ints 6\n"
                "c = Reshape(b, t)\n"
                "-> c",
                "reshapes");
}

static void transposes_become_one(void **state)
{
    (void)state;
    pass_becomes("x : 2x3x4x5\n"
                 "a = Transpose(x; perm=[0,2,1,3])\n"
                 "b = Transpose(a; perm=[3,0,1,2])\n"
                 "y = Exp(b)\n"
                 "-> y",
                 "transposes", "Transpose Exp");
    /* Back again. */
    pass_becomes("x : 2x3x4\n"
                 "a = Transpose(x; perm=[1,2,0])\n"
                 "b = Transpose(a; perm=[2,0,1])\n"
                 "y = Exp(b)\n"
                 "-> y",
                 "transposes", "Exp");
    /* Without a permutation the axes are turned round. */
    pass_becomes("x : 2x3x4\n"
                 "a = Transpose(x)\n"
                 "b = Transpose(a)\n"
                 "y = Exp(b)\n"
                 "-> y",
                 "transposes", "Exp");
    /* Someone else looks at the first, which stays for him. */
    pass_becomes("x : 2x3x4\n"
                 "a = Transpose(x; perm=[1,2,0])\n"
                 "b = Transpose(a; perm=[2,0,1])\n"
                 "y = Exp(b)\n"
                 "z = Exp(a)\n"
                 "-> y, z",
                 "transposes", "Transpose Exp Exp");
}

static void channels_move_before_they_are_cut(void **state)
{
    (void)state;
    pass_becomes("x : 2x6x3x4\n"
                 "s = ints 2,2,3,3,4\n"
                 "a = Reshape(x, s)\n"
                 "b = Transpose(a; perm=[0,3,4,1,2])\n"
                 "y = Exp(b)\n"
                 "-> y",
                 "transposes", "Transpose Exp");
    /* The pixels are cut, or do not come first. */
    pass_leaves("x : 2x6x3x4\n"
                "s = ints 2,6,3,2,2\n"
                "a = Reshape(x, s)\n"
                "b = Transpose(a; perm=[0,3,4,1,2])\n"
                "y = Exp(b)\n"
                "-> y",
                "transposes");
    pass_leaves("x : 2x6x3x4\n"
                "s = ints 2,2,3,3,4\n"
                "a = Reshape(x, s)\n"
                "b = Transpose(a; perm=[0,4,3,1,2])\n"
                "y = Exp(b)\n"
                "-> y",
                "transposes");
}

static void extents_of_one_move_for_nothing(void **state)
{
    (void)state;
    pass_becomes("x : 2x1x4\n"
                 "n = Neg(x)\n"
                 "a = Transpose(n; perm=[1,0,2])\n"
                 "y = Exp(a)\n"
                 "-> y",
                 "transposes", "Neg Exp");
    pass_leaves("x : 2x1x4\n"
                "a = Transpose(x; perm=[2,1,0])\n"
                "y = Exp(a)\n"
                "-> y",
                "transposes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_without_users_go),
        cmocka_unit_test(the_same_is_computed_once),
        cmocka_unit_test(what_differs_stays),
        cmocka_unit_test(steps_that_change_nothing_go),
        cmocka_unit_test(reshapes_become_one),
        cmocka_unit_test(transposes_become_one),
        cmocka_unit_test(channels_move_before_they_are_cut),
        cmocka_unit_test(extents_of_one_move_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
