/* SPDX-License-Identifier: Apache-2.0 */
/* Attention out of products and a Softmax, and its heads where they lie. */
#include "pass_graph.h"
#include "vt_torture.h"

#define OPERANDS                                                                                   \
    "q : 2x3x5x4\n"                                                                                \
    "k : 2x3x6x4\n"                                                                                \
    "v : 2x3x6x7\n"                                                                                \
    "mask : 2x1x1x6\n"                                                                             \
    "two = fill - 2\n"                                                                             \
    "half = fill - 0.5\n"

static void each(const char *head, const char *const *endings, size_t n,
                 void (*check)(const char *text))
{
    for (size_t i = 0; i < n; i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s%s", head, endings[i]);
        check(text);
    }
}

static void expect_attention(const char *text)
{
    pass_becomes(text, "attention", "Attention");
}

static void expect_nothing(const char *text)
{
    pass_leaves(text, "attention");
}

static void attention_is_recognised(void **state)
{
    (void)state;
    static const char *const endings[] = {
        "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\np = Softmax(s; axis=-1)\n"
        "y = MatMul(p, v)\n-> y",
        "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\nd = Div(s, two)\nm = Add(d, mask)\n"
        "p = Softmax(m; axis=3)\ny = MatMul(p, v)\n-> y",
        "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\nd = Mul(half, s)\nm = Add(mask, d)\n"
        "p = Softmax(m)\ny = MatMul(p, v)\n-> y",
        "t = Transpose(k; perm=[0,1,3,2])\na = Mul(q, half)\nb = Mul(t, half)\ns = MatMul(a, b)\n"
        "p = Softmax(s)\ny = MatMul(p, v)\n-> y",
    };
    each(OPERANDS, endings, sizeof(endings) / sizeof(endings[0]), expect_attention);
    /* Rank 3, and a mask for all of the batch. */
    pass_becomes("q : 4x5x3\nk : 4x6x3\nv : 4x6x3\nmask : 5x6\n"
                 "t = Transpose(k; perm=[0,2,1])\ns = MatMul(q, t)\nm = Add(s, mask)\n"
                 "p = Softmax(m)\ny = MatMul(p, v)\n-> y",
                 "attention", "Attention");
}

static void keys_that_are_turned_in_other_ways_too(void **state)
{
    (void)state;
    pass_becomes("q : 2x3x5x4\nk : 2x6x3x4\nv : 2x3x6x4\n"
                 "t = Transpose(k; perm=[0,2,3,1])\ns = MatMul(q, t)\np = Softmax(s)\n"
                 "y = MatMul(p, v)\n-> y",
                 "attention", "Transpose Attention");
}

/* More keys than a block of the product has steps, lengths that fill no tile. */
static void long_sequences(void **state)
{
    (void)state;
    pass_becomes("q : 1x2x130x70\nk : 1x2x401x70\nv : 1x2x401x33\nmask : 1x2x130x401\n"
                 "eighth = fill - 0.125\n"
                 "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\nd = Mul(s, eighth)\n"
                 "m = Add(d, mask)\np = Softmax(m)\ny = MatMul(p, v)\n-> y",
                 "attention", "Attention");
    pass_becomes("q : 1x1x3x400\nk : 1x1x5x400\nv : 1x1x5x1\n"
                 "sixteenth = fill - 0.0625\n"
                 "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\nd = Mul(s, sixteenth)\n"
                 "p = Softmax(d)\ny = MatMul(p, v)\n-> y",
                 "attention", "Attention");
}

static void what_is_no_attention_stays(void **state)
{
    (void)state;
    static const char *const endings[] = {
        /* another axis; someone looks inside; a sum that is no mask of the scores */
        "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\np = Softmax(s; axis=2)\n"
        "y = MatMul(p, v)\n-> y",
        "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\np = Softmax(s)\ny = MatMul(p, v)\n"
        "-> y, p",
        "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\np = Softmax(s)\ny = MatMul(p, v)\n"
        "-> y, s",
        "n : 3x5x1\nt = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\nm = Add(s, n)\n"
        "p = Softmax(m)\ny = MatMul(p, v)\n-> y",
        /* the keys have another user, or are no Transpose's */
        "t = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\np = Softmax(s)\ny = MatMul(p, v)\n"
        "-> y, t",
        "t : 2x3x4x6\ns = MatMul(q, t)\np = Softmax(s)\ny = MatMul(p, v)\n-> y",
        /* one set of values for all heads */
        "w : 1x1x6x7\nt = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\np = Softmax(s)\n"
        "y = MatMul(p, w)\n-> y",
        /* a scale for each head */
        "h : 3x1x1\nt = Transpose(k; perm=[0,1,3,2])\ns = MatMul(q, t)\nd = Mul(s, h)\n"
        "p = Softmax(d)\ny = MatMul(p, v)\n-> y",
    };
    each(OPERANDS, endings, sizeof(endings) / sizeof(endings[0]), expect_nothing);
}

#define ENCODER                                                                                    \
    "x : 2x6x12\n"                                                                                 \
    "wq = random 12x12\n"                                                                          \
    "wk = random 12x12\n"                                                                          \
    "wv = random 12x12\n"                                                                          \
    "mask : 2x1x1x6\n"                                                                             \
    "two = fill - 2\n"                                                                             \
    "heads = ints 0,6,3,4\n"                                                                       \
    "rows = ints 0,6,12\n"                                                                         \
    "q0 = MatMul(x, wq)\n"                                                                         \
    "k0 = MatMul(x, wk)\n"                                                                         \
    "v0 = MatMul(x, wv)\n"                                                                         \
    "q1 = Reshape(q0, heads)\n"                                                                    \
    "k1 = Reshape(k0, heads)\n"                                                                    \
    "v1 = Reshape(v0, heads)\n"                                                                    \
    "q = Transpose(q1; perm=[0,2,1,3])\n"                                                          \
    "k = Transpose(k1; perm=[0,2,3,1])\n"                                                          \
    "v = Transpose(v1; perm=[0,2,1,3])\n"                                                          \
    "s = MatMul(q, k)\n"                                                                           \
    "d = Div(s, two)\n"                                                                            \
    "m = Add(d, mask)\n"                                                                           \
    "p = Softmax(m)\n"                                                                             \
    "c = MatMul(p, v)\n"

static void heads_are_read_where_they_lie(void **state)
{
    (void)state;
    pass_becomes(ENCODER "t = Transpose(c; perm=[0,2,1,3])\ny = Reshape(t, rows)\n-> y",
                 "attention+heads", "MatMul MatMul MatMul Attention");
    /* The result is not turned back; it has another user. */
    pass_becomes(ENCODER "y = Exp(c)\n-> y", "attention+heads",
                 "MatMul MatMul MatMul Transpose Transpose Transpose Attention Exp");
    pass_becomes(ENCODER "t = Transpose(c; perm=[0,2,1,3])\n-> t, c", "attention+heads",
                 "MatMul MatMul MatMul Transpose Transpose Transpose Attention Transpose");
}

/* Every allocation of planning with all passes fails in turn. */
static void memory_may_end_anywhere(void **state)
{
    (void)state;
    static float x[2 * 6 * 12], mask[2 * 6];
    const struct vt_tensor inputs[] = {view(VT_F32, x, 2, 6, 12, -1),
                                       view(VT_F32, mask, 2, 1, 1, 6, -1)};
    struct fixture f;
    bool done = false;
    pass_open(&f, PASS_OPSET,
              ENCODER "t = Transpose(c; perm=[0,2,1,3])\ny = Reshape(t, rows)\n-> y");
    for (int allowed = 0; !done && allowed < 10000; allowed++) {
        struct vt_torture t;
        struct vt_error err = VT_ERROR_INIT;
        struct vt_weights *weights = NULL;
        struct vt_plan *plan = NULL;
        vt_torture_begin(&t, allowed);
        enum vt_status status = vt_weights_new(f.model, &err, &weights);
        if (status == VT_OK) {
            status = vt_plan_new(f.model, weights, NULL, inputs, 2, NULL, &err, &plan);
        }
        vt_plan_free(plan);
        vt_weights_free(weights);
        assert_int_equal(vt_torture_end(&t), 0);
        done = status == VT_OK;
        assert_true(done || (status == VT_ERR_MEMORY && err.text[0] != '\0'));
    }
    assert_true(done);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_recognised),
        cmocka_unit_test(keys_that_are_turned_in_other_ways_too),
        cmocka_unit_test(long_sequences),
        cmocka_unit_test(what_is_no_attention_stays),
        cmocka_unit_test(heads_are_read_where_they_lie),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
