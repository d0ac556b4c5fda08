/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small residual network is quantised; what comes out runs, says what it is made of, and computes
 * nearly the same. Also the planner's pass: with it and without it the answers are the same but
 * for one step of the last scale.
 */
#include "vt_test.h"

#include <math.h>

#include "base/alloc.h"
#include "plan/plan.h"
#include "quantize/quantize.h"

/* --- a network ------------------------------------------------------------------------------ */

static uint64_t seed;

static float draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(int32_t)(seed >> 32) * 0x1p-31F;
}

static void constant(struct vt_model_writer *w, const char *name, uint32_t rank, const int64_t *dim,
                     float scale, float offset)
{
    float values[4096];
    struct vt_tensor t = {.dtype = VT_F32, .rank = rank, .data = values};
    size_t n = 1;
    for (uint32_t d = 0; d < rank; d++) {
        t.dim[d] = dim[d];
        n *= (size_t)dim[d];
    }
    assert_true(n <= 4096);
    for (size_t i = 0; i < n; i++)
        values[i] = draw() * scale + offset;
    t.bytes = n * sizeof(float);
    vt_write_constant(w, name, &t);
}

static void node(struct vt_model_writer *w, const char *op, const char *inputs, const char *output)
{
    char text[128];
    vt_write_node_begin(w, op, output);
    snprintf(text, sizeof text, "%s", inputs);
    for (char *rest = text, *name; (name = strsep(&rest, " ")) != NULL;)
        vt_write_node_input(w, name);
    vt_write_node_output(w, output);
}

static void conv(struct vt_model_writer *w, const char *inputs, const char *output, int64_t pad)
{
    const int64_t pads[4] = {pad, pad, pad, pad};
    node(w, "Conv", inputs, output);
    vt_write_attr_ints(w, "pads", pads, 4);
    vt_write_node_end(w);
}

/* x → Conv·Norm·Relu = a;  a → Conv = b;  a + b → Relu → MaxPool → Flatten → Gemm = y */
static struct vt_model_writer *network(int64_t opset)
{
    const struct vt_port x = {"x", VT_F32, 4, {-1, 3, 10, 10}, {"n"}};
    const struct vt_port y = {"y", VT_F32, 2, {-1, 7}, {"n"}};
    const int64_t two[2] = {2, 2};
    struct vt_model_writer *w = NULL;
    seed = 11;
    assert_int_equal(vt_model_writer_new("test", "g", opset, NULL, &w), VT_OK);
    vt_write_input(w, &x);
    vt_write_output(w, &y);
    constant(w, "w0", 4, (int64_t[]){8, 3, 3, 3}, 0.4F, 0);
    constant(w, "gamma", 1, (int64_t[]){8}, 0.5F, 1);
    constant(w, "beta", 1, (int64_t[]){8}, 0.5F, 0);
    constant(w, "mean", 1, (int64_t[]){8}, 0.3F, 0);
    constant(w, "variance", 1, (int64_t[]){8}, 0.3F, 1);
    constant(w, "w1", 4, (int64_t[]){8, 8, 3, 3}, 0.2F, 0);
    constant(w, "b1", 1, (int64_t[]){8}, 0.5F, 0);
    constant(w, "w2", 2, (int64_t[]){7, 200}, 0.1F, 0);
    constant(w, "b2", 1, (int64_t[]){7}, 0.5F, 0);
    conv(w, "x w0", "c0", 1);
    node(w, "BatchNormalization", "c0 gamma beta mean variance", "n0");
    vt_write_node_end(w);
    node(w, "Relu", "n0", "a");
    vt_write_node_end(w);
    conv(w, "a w1 b1", "b", 1);
    node(w, "Add", "a b", "s");
    vt_write_node_end(w);
    node(w, "Relu", "s", "r");
    vt_write_node_end(w);
    node(w, "MaxPool", "r", "p");
    vt_write_attr_ints(w, "kernel_shape", two, 2);
    vt_write_attr_ints(w, "strides", two, 2);
    vt_write_node_end(w);
    node(w, "Flatten", "p", "f");
    vt_write_node_end(w);
    node(w, "Gemm", "f w2 b2", "y");
    vt_write_attr_int(w, "transB", 1);
    vt_write_node_end(w);
    return w;
}

struct loaded {
    void *bytes;
    size_t size;
    struct vt_model *model;
    struct vt_weights *weights;
    struct vt_plan *plan;
    uint32_t changes; /* of the pass */
};

static void load(struct loaded *l, struct vt_model_writer *w)
{
    struct vt_error err = VT_ERROR_INIT;
    memset(l, 0, sizeof *l);
    if (vt_model_writer_to_memory(w, &err, &l->bytes, &l->size) != VT_OK ||
        vt_model_import_memory("m", l->bytes, l->size, NULL, &err, &l->model) != VT_OK ||
        vt_weights_new(l->model, &err, &l->weights) != VT_OK)
        fail_msg("%s", err.text);
    vt_model_writer_free(w);
}

static void unload(struct loaded *l)
{
    vt_plan_free(l->plan);
    vt_weights_free(l->weights);
    vt_model_free(l->model);
    vt_free(l->bytes);
}

static void observe(void *ctx, const struct vt_pass_report *report)
{
    struct loaded *l = ctx;
    if (strcmp(report->name, "recognise-qdq") == 0)
        l->changes = report->changes;
}

#define SAMPLES 12
static float input[300], outputs[8192];

static const struct vt_tensor *sample(int i)
{
    static struct vt_tensor x = {.dtype = VT_F32, .rank = 4, .dim = {1, 3, 10, 10}};
    x.data = input;
    x.bytes = sizeof input;
    seed = 1000 + (uint64_t)i;
    for (int k = 0; k < 300; k++)
        input[k] = draw() * 2.0F + (float)i * 0.05F;
    return &x;
}

static void run(struct loaded *l, const struct vt_plan_options *options, int i,
                struct vt_tensor *ret, uint32_t n)
{
    struct vt_error err = VT_ERROR_INIT;
    const struct vt_tensor *x = sample(i);
    vt_plan_free(l->plan);
    l->plan = NULL;
    if (vt_plan_new(l->model, l->weights, NULL, x, 1, options, &err, &l->plan) != VT_OK ||
        vt_plan_run(l->plan, x, 1, &err, ret, n) != VT_OK)
        fail_msg("%s", err.text);
}

/* The ranges of all watched values over the samples. */
static void find_ranges(struct loaded *l, const struct vt_quantizer *q, struct vt_range *ranges)
{
    static struct vt_range_seen seen[16];
    uint32_t n;
    const uint32_t *watched = vt_quantizer_watched(q, &n);
    const struct vt_plan_options options = {.watched = watched, .n_watched = n};
    struct vt_tensor outs[17];
    assert_true(n <= 16);
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < SAMPLES; i++) {
        run(l, &options, i, outs, n + 1);
        for (uint32_t v = 0; v < n; v++)
            vt_range_see(&seen[v], outs[v + 1].data, (int64_t)(outs[v + 1].bytes / 4));
    }
    for (uint32_t v = 0; v < n; v++)
        ranges[v] = vt_range_find(&seen[v], VT_RANGE_MINMAX, 0);
}

static struct vt_model_writer *quantised(struct vt_quantizer *q, const struct vt_range *ranges,
                                         bool first, bool others, bool is_signed)
{
    const bool layers[3] = {first, others, others};
    const struct vt_quantize_choice choice = {layers, ranges, is_signed, "a test"};
    struct vt_model_writer *w = NULL;
    struct vt_error err = VT_ERROR_INIT;
    if (vt_quantizer_write(q, &choice, &err, &w) != VT_OK)
        fail_msg("%s", err.text);
    return w;
}

/* 10·log10 of signal by noise over the samples. */
static double decibel(struct loaded *plain, struct loaded *other)
{
    double signal = 0, noise = 0;
    for (int i = 0; i < SAMPLES; i++) {
        struct vt_tensor a, b;
        run(plain, NULL, i, &a, 1);
        memcpy(outputs, a.data, a.bytes);
        run(other, NULL, i, &b, 1);
        assert_int_equal(a.bytes, b.bytes);
        for (size_t k = 0; k < a.bytes / 4; k++) {
            const double e = (double)((float *)b.data)[k] - (double)outputs[k];
            signal += (double)outputs[k] * (double)outputs[k];
            noise += e * e;
        }
    }
    return 10 * log10(signal / noise);
}

static uint32_t count_ops(const struct vt_model *model, const char *op)
{
    const struct vt_graph *graph = vt_model_graph(model);
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        n += strcmp(graph->nodes[i].op, op) == 0 ? 1 : 0;
    return n;
}

/* --- tests ---------------------------------------------------------------------------------- */

static void test_layers(void **state)
{
    struct loaded plain;
    struct vt_quantizer *q = NULL;
    uint32_t n;
    (void)state;
    load(&plain, network(13));
    assert_int_equal(vt_quantizer_new(plain.model, NULL, &q), VT_OK);
    const struct vt_quantize_layer *layers = vt_quantizer_layers(q, &n);
    assert_int_equal(n, 3);
    assert_string_equal(layers[0].name, "c0");
    assert_true(layers[0].folded_norm && !layers[1].folded_norm);
    assert_int_equal(layers[1].weights, 8 * 8 * 9);
    assert_string_equal(layers[2].op, "Gemm");
    vt_quantizer_free(q);
    unload(&plain);
}

static void check_quantised(int64_t opset, bool is_signed)
{
    struct loaded plain, all, again, none;
    struct vt_range ranges[16];
    struct vt_quantizer *q = NULL;
    load(&plain, network(opset));
    assert_int_equal(vt_quantizer_new(plain.model, NULL, &q), VT_OK);
    find_ranges(&plain, q, ranges);
    load(&all, quantised(q, ranges, true, true, is_signed));
    load(&again, quantised(q, ranges, true, true, is_signed));
    load(&none, quantised(q, ranges, false, false, is_signed));
    assert_int_equal(all.size, again.size);
    assert_memory_equal(all.bytes, again.bytes, all.size);
    assert_int_equal(vt_model_opset(all.model), opset < 13 ? 13 : opset);
    assert_int_equal(count_ops(all.model, "BatchNormalization"), 0);
    /* x, a, b, what the sum becomes, the pooled, the flattened */
    assert_int_equal(count_ops(all.model, "QuantizeLinear"), 6);
    assert_true(decibel(&plain, &all) > 30);
    assert_int_equal(count_ops(none.model, "QuantizeLinear"), 0);
    assert_true(decibel(&plain, &none) > 100); /* the norm was folded */
    vt_quantizer_free(q);
    unload(&plain);
    unload(&all);
    unload(&again);
    unload(&none);
}

static void test_quantised(void **state)
{
    (void)state;
    check_quantised(13, false);
    check_quantised(13, true);
    check_quantised(9, false);
    check_quantised(17, true);
}

static void test_some_layers(void **state)
{
    struct loaded plain, first, others;
    struct vt_range ranges[16];
    struct vt_quantizer *q = NULL;
    (void)state;
    load(&plain, network(13));
    assert_int_equal(vt_quantizer_new(plain.model, NULL, &q), VT_OK);
    find_ranges(&plain, q, ranges);
    load(&first, quantised(q, ranges, true, false, false));
    load(&others, quantised(q, ranges, false, true, false));
    assert_int_equal(count_ops(first.model, "QuantizeLinear"), 1);
    assert_true(decibel(&plain, &first) > 30);
    assert_true(decibel(&plain, &others) > 30);
    vt_quantizer_free(q);
    unload(&plain);
    unload(&first);
    unload(&others);
}

/* The pass carries out six groups: two convolutions, of which one takes the sum in, the pool and
 * the flattening between them, and the last product. */
static void test_pass(void **state)
{
    (void)state;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        struct loaded plain, q8;
        struct vt_range ranges[16];
        struct vt_quantizer *q = NULL;
        struct vt_tensor y;
        load(&plain, network(13));
        assert_int_equal(vt_quantizer_new(plain.model, NULL, &q), VT_OK);
        find_ranges(&plain, q, ranges);
        load(&q8, quantised(q, ranges, true, true, is_signed));
        const struct vt_plan_options with = {.observe = observe, .observe_ctx = &q8};
        const struct vt_plan_options without = {.without = UINT64_C(1)
                                                           << vt_plan_pass_find("recognise-qdq")};
        double noise = 0, signal = 0;
        for (int i = 0; i < SAMPLES; i++) {
            run(&q8, &without, i, &y, 1);
            memcpy(outputs, y.data, y.bytes);
            run(&q8, &with, i, &y, 1);
            for (size_t k = 0; k < y.bytes / 4; k++) {
                const double want = (double)outputs[k], e = (double)((float *)y.data)[k] - want;
                signal += want * want;
                noise += e * e;
            }
        }
        assert_int_equal(q8.changes, 6);
        struct vt_plan_info info;
        vt_plan_info(q8.plan, &info);
        /* Quantise, two convolutions, pool, product; flattening is a view */
        assert_int_equal(info.steps, 5);
        assert_true(noise <= signal * 1e-5);
        vt_quantizer_free(q);
        unload(&plain);
        unload(&q8);
    }
}

static void test_what_cannot_be(void **state)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_writer *w = NULL;
    struct vt_quantizer *q = NULL;
    struct loaded l;
    const struct vt_port x = {"x", VT_F32, 3, {2, 3, 4}, {NULL}};
    const struct vt_port y = {"y", VT_F32, 3, {2, 3, 4}, {NULL}};
    (void)state;
    assert_int_equal(vt_model_writer_new("test", "g", 11, NULL, &w), VT_OK);
    vt_write_input(w, &x);
    vt_write_output(w, &y);
    node(w, "Softmax", "x", "y");
    vt_write_node_end(w);
    load(&l, w);
    assert_int_equal(vt_quantizer_new(l.model, &err, &q), VT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "opset 13"));
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),         cmocka_unit_test(test_quantised),
        cmocka_unit_test(test_some_layers),    cmocka_unit_test(test_pass),
        cmocka_unit_test(test_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
