/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_graph.h"

#include <ctype.h>
#include <math.h>
#include <unistd.h>

#include "graph/write.h"

/* --- reading -------------------------------------------------------------------------------- */

static void skip_blanks(const char **at)
{
    while (**at == ' ') {
        ++*at;
    }
}

static bool accept(const char **at, const char *token)
{
    skip_blanks(at);
    if (strncmp(*at, token, strlen(token)) != 0) {
        return false;
    }
    *at += strlen(token);
    return true;
}

/* A name; "_" is the empty one. */
static void read_name(const char **at, char ret[64])
{
    size_t n = 0;
    skip_blanks(at);
    while (isalnum((unsigned char)**at) || **at == '_' || **at == '.') {
        assert_true(n < 63);
        ret[n++] = *(*at)++;
    }
    ret[n] = '\0';
    if (n == 0) {
        fail_msg("a name is expected before '%.30s'", *at);
    }
    if (strcmp(ret, "_") == 0) {
        ret[0] = '\0';
    }
}

static uint32_t read_dims(const char **at, int64_t dim[VT_RANK_MAX])
{
    uint32_t rank = 0;
    skip_blanks(at);
    if (accept(at, "-")) {
        return 0;
    }
    do {
        char *end;
        dim[rank++] = strtoll(*at, &end, 10);
        *at = end;
    } while (accept(at, "x"));
    return rank;
}

static uint32_t read_ints(const char **at, int64_t ints[16])
{
    uint32_t n = 0;
    do {
        char *end;
        ints[n++] = strtoll(*at, &end, 10);
        *at = end;
    } while (n < 16 && accept(at, ","));
    return n;
}

/* Numbers within -1 and 1 that differ from one name to the next. */
static void fill(const char *name, float *values, size_t n)
{
    uint32_t state = 2166136261u;
    for (const char *c = name; *c != '\0'; c++) {
        state = (state ^ (uint32_t)*c) * 16777619u;
    }
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

static void read_constant(struct vt_model_writer *writer, const char *name, const char **at)
{
    struct vt_tensor tensor = {.dtype = VT_F32};
    if (accept(at, "ints")) {
        int64_t ints[16];
        skip_blanks(at);
        const uint32_t n = read_ints(at, ints);
        tensor = (struct vt_tensor){
            .dtype = VT_I64, .rank = 1, .dim = {n}, .data = ints, .bytes = n * sizeof(ints[0])};
        vt_write_constant(writer, name, &tensor);
        return;
    }
    const bool random = accept(at, "random");
    assert_true(random || accept(at, "fill"));
    tensor.rank = read_dims(at, tensor.dim);
    assert_true(vt_shape_bytes(VT_F32, tensor.dim, tensor.rank, &tensor.bytes));
    float *values = malloc(tensor.bytes + sizeof(float));
    assert_non_null(values);
    const size_t n = tensor.bytes / sizeof(float);
    if (random) {
        fill(name, values, n);
    } else {
        char *end;
        const float number = strtof(*at, &end);
        *at = end;
        for (size_t i = 0; i < n; i++) {
            values[i] = number;
        }
    }
    tensor.data = values;
    vt_write_constant(writer, name, &tensor);
    free(values);
}

static void read_attr(struct vt_model_writer *writer, const char **at)
{
    char name[64];
    read_name(at, name);
    assert_true(accept(at, "="));
    if (accept(at, "[")) {
        int64_t ints[16];
        const uint32_t n = read_ints(at, ints);
        assert_true(accept(at, "]"));
        vt_write_attr_ints(writer, name, ints, n);
    } else if (isalpha((unsigned char)**at)) {
        char text[64];
        read_name(at, text);
        vt_write_attr_text(writer, name, text);
    } else {
        char *end;
        const double number = strtod(*at, &end);
        const bool whole = memchr(*at, '.', (size_t)(end - *at)) == NULL &&
                           memchr(*at, 'e', (size_t)(end - *at)) == NULL;
        *at = end;
        if (whole) {
            vt_write_attr_int(writer, name, (int64_t)number);
        } else {
            vt_write_attr_float(writer, name, (float)number);
        }
    }
}

static void read_node(struct vt_model_writer *writer, char outputs[4][64], uint32_t n_outputs,
                      const char **at)
{
    char op[64];
    read_name(at, op);
    vt_write_node_begin(writer, op, outputs[0]);
    for (uint32_t i = 0; i < n_outputs; i++) {
        vt_write_node_output(writer, outputs[i]);
    }
    assert_true(accept(at, "("));
    do {
        char input[64];
        read_name(at, input);
        vt_write_node_input(writer, input);
    } while (accept(at, ","));
    if (accept(at, ";")) {
        do {
            read_attr(writer, at);
        } while (accept(at, ","));
    }
    assert_true(accept(at, ")"));
    vt_write_node_end(writer);
}

static void read_statement(struct vt_model_writer *writer, const char **at)
{
    char names[4][64];
    uint32_t n = 0;
    const bool result = accept(at, "->");
    do {
        assert_true(n < 4);
        read_name(at, names[n++]);
    } while (accept(at, ","));
    for (uint32_t i = 0; result && i < n; i++) {
        const struct vt_port port = {.name = names[i], .dtype = VT_F32, .rank = 1, .dim = {-1}};
        vt_write_output(writer, &port);
    }
    if (result) {
        return;
    }
    if (accept(at, ":")) {
        struct vt_port port = {.name = names[0], .dtype = VT_F32};
        port.rank = read_dims(at, port.dim);
        vt_write_input(writer, &port);
        return;
    }
    assert_true(accept(at, "="));
    skip_blanks(at);
    if (strncmp(*at, "random", 6) == 0 || strncmp(*at, "fill", 4) == 0 ||
        strncmp(*at, "ints", 4) == 0) {
        read_constant(writer, names[0], at);
    } else {
        read_node(writer, names, n, at);
    }
}

void pass_open(struct fixture *f, int64_t opset, const char *text)
{
    char path[] = "/tmp/vt_pass_XXXXXX";
    struct vt_error err = VT_ERROR_INIT;
    struct vt_model_writer *writer = NULL;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(vt_model_writer_new("test", "passes", opset, &err, &writer), VT_OK);
    for (const char *at = text; *at != '\0';) {
        read_statement(writer, &at);
        if (!accept(&at, "\n") && *at != '\0') {
            fail_msg("a line should end before '%.30s'", at);
        }
    }
    if (vt_model_writer_save(writer, path, VT_WRITE_INLINE_MAX, &err) != VT_OK) {
        fail_msg("%s", err.text);
    }
    vt_model_writer_free(writer);
    fixture_open(f, "", path, 1);
    unlink(path);
}

/* --- applying --------------------------------------------------------------------------------- */

static void note(void *ctx, const struct vt_pass_report *report)
{
    struct pass_result *result = ctx;
    result->changes = report->changes;
    result->n_steps = report->steps_after;
}

static void make_inputs(const struct fixture *f, struct vt_tensor *inputs)
{
    const struct vt_graph *graph = vt_model_graph(f->model);
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        const struct vt_value *value = &vt_model_values(f->model)[graph->inputs[i]];
        struct vt_tensor *input = &inputs[i];
        input->dtype = VT_F32;
        input->rank = value->rank;
        memcpy(input->dim, value->dim, sizeof(input->dim));
        assert_true(vt_shape_bytes(VT_F32, input->dim, input->rank, &input->bytes));
        input->data = malloc(input->bytes + 1);
        assert_non_null(input->data);
        fill(value->name, input->data, input->bytes / sizeof(float));
    }
}

static struct vt_plan *plan_of(const struct fixture *f, const struct vt_tensor *inputs,
                               const struct vt_plan_options *options)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_plan *plan = NULL;
    const uint32_t n = vt_model_graph(f->model)->n_inputs;
    if (vt_plan_new(f->model, f->weights, NULL, inputs, n, options, &err, &plan) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return plan;
}

static void run(const struct fixture *f, struct vt_plan *plan, const struct vt_tensor *inputs,
                struct vt_tensor *outputs)
{
    struct vt_error err = VT_ERROR_INIT;
    const uint32_t n = vt_model_graph(f->model)->n_inputs;
    if (vt_plan_run(plan, inputs, n, &err, outputs, f->n_outputs) != VT_OK) {
        fail_msg("%s", err.text);
    }
}

static double difference(const struct vt_tensor *a, const struct vt_tensor *b)
{
    double worst = 0;
    assert_true(vt_tensor_same_shape(a, b));
    assert_int_equal(a->dtype, VT_F32);
    for (size_t i = 0; i < a->bytes / sizeof(float); i++) {
        const double x = (double)((const float *)a->data)[i];
        const double y = (double)((const float *)b->data)[i];
        const double d = fabs(x - y) / (1.0 + fabs(y));
        assert_true(isfinite(x) && isfinite(y));
        worst = d > worst ? d : worst;
    }
    return worst;
}

static void list_steps(struct vt_plan *plan, char *text, size_t size)
{
    struct vt_error err = VT_ERROR_INIT;
    size_t used = 0;
    assert_int_equal(vt_plan_profile_begin(plan, &err), VT_OK);
    text[0] = '\0';
    for (uint32_t i = 0; i < vt_plan_profile_count(plan) && used < size; i++) {
        struct vt_step_profile step;
        vt_plan_profile_read(plan, i, &step);
        used += (size_t)snprintf(
            text + used, size - used, "%s%s%s%s%s%s%s", i == 0 ? "" : " ", step.node->op,
            step.bias ? "+Bias" : "", step.affine ? "+Norm" : "", step.residual ? "+Add" : "",
            step.activation != NULL ? "+" : "", step.activation != NULL ? step.activation : "");
    }
    vt_plan_profile_end(plan);
}

void pass_apply(const struct fixture *f, const char *passes, struct pass_result *ret)
{
    struct vt_error err = VT_ERROR_INIT;
    const struct vt_plan_options none = {.without = VT_PLAN_NO_PASSES};
    struct vt_plan_options some = {.observe = note, .observe_ctx = ret};
    struct vt_tensor inputs[FIXTURE_OUTPUTS] = {{0}}, wanted[FIXTURE_OUTPUTS], got[FIXTURE_OUTPUTS];
    const uint32_t n_inputs = vt_model_graph(f->model)->n_inputs;
    assert_true(n_inputs <= FIXTURE_OUTPUTS);
    memset(ret, 0, sizeof(*ret));
    assert_int_equal(vt_plan_passes_read(passes, &err, &some.without), VT_OK);
    make_inputs(f, inputs);
    struct vt_plan *plain = plan_of(f, inputs, &none), *plan = plan_of(f, inputs, &some);
    run(f, plain, inputs, wanted);
    run(f, plan, inputs, got);
    for (uint32_t i = 0; i < f->n_outputs; i++) {
        const double worst = difference(&got[i], &wanted[i]);
        ret->worst = worst > ret->worst ? worst : ret->worst;
    }
    list_steps(plan, ret->steps, sizeof(ret->steps));
    vt_plan_free(plain);
    vt_plan_free(plan);
    for (uint32_t i = 0; i < n_inputs; i++) {
        free(inputs[i].data);
    }
}

/* --- asserting -------------------------------------------------------------------------------- */

#define TOLERANCE 2e-5

void pass_becomes_at(int64_t opset, const char *text, const char *passes, const char *steps)
{
    struct fixture f;
    struct pass_result result;
    pass_open(&f, opset, text);
    pass_apply(&f, passes, &result);
    assert_string_equal(result.steps, steps);
    assert_true(result.worst <= TOLERANCE);
    pass_apply(&f, "all", &result);
    assert_true(result.worst <= TOLERANCE);
    fixture_close(&f);
}

void pass_becomes(const char *text, const char *passes, const char *steps)
{
    pass_becomes_at(PASS_OPSET, text, passes, steps);
}

void pass_leaves(const char *text, const char *pass)
{
    struct fixture f;
    struct pass_result result;
    pass_open(&f, PASS_OPSET, text);
    pass_apply(&f, pass, &result);
    if (result.changes != 0) {
        fail_msg("%s made %u changes: %s", pass, result.changes, result.steps);
    }
    assert_true(result.worst == 0.0);
    pass_apply(&f, "all", &result);
    assert_true(result.worst <= TOLERANCE);
    fixture_close(&f);
}
