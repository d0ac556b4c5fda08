/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one element that exporters write as several steps:
 *
 *     ½ · x · (1 + erf(x / √2))                              Gelu
 *     ½ · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))       Gelu, approximated by tanh
 *     x · sigmoid(α · x)                                     Swish
 *
 * The factors stand in any order and grouping: products are read as a number times a list of
 * values, whoever multiplied what first.
 */
#include <math.h>

#include "plan/passes/pass.h"

#define FACTORS 6

/* number · value[0] · … · value[n - 1] */
struct product {
    double number;
    uint32_t n;
    uint32_t value[FACTORS];
};

static bool add_factor(struct product *product, uint32_t value)
{
    if (product->n == FACTORS) {
        return false;
    }
    product->value[product->n++] = value;
    return true;
}

static bool read_factor(struct vt_match *match, uint32_t value, uint32_t depth,
                        struct product *ret);

/* The factors of a step: of a product, a quotient by a number, or a power of 2 or 3. */
static bool read_step(struct vt_match *match, const struct vt_step *step, uint32_t depth,
                      struct product *ret)
{
    double number = 0;
    if (vt_step_is(step, "Mul")) {
        return read_factor(match, step->inputs[0], depth, ret) &&
               read_factor(match, step->inputs[1], depth, ret);
    }
    if (!vt_constant_number(match->builder, step->inputs[1], &number)) {
        return false;
    }
    if (vt_step_is(step, "Div")) {
        ret->number /= number;
        return number != 0.0 && read_factor(match, step->inputs[0], depth, ret);
    }
    if (number != 2.0 && number != 3.0) {
        return false;
    }
    const uint32_t base = vt_resolve(match->builder, step->inputs[0]);
    for (int i = 0; i < (int)number; i++) {
        if (!add_factor(ret, base)) {
            return false;
        }
    }
    return true;
}

/* A factor is a number, or a product itself where only this one looks at it, or a value. */
static bool read_factor(struct vt_match *match, uint32_t value, uint32_t depth, struct product *ret)
{
    static const char *const inner[] = {"Mul", "Div", "Pow"};
    double number = 0;
    value = vt_resolve(match->builder, value);
    if (vt_constant_number(match->builder, value, &number)) {
        ret->number *= number;
        return true;
    }
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]) && depth > 0; i++) {
        const uint32_t n = match->n;
        const struct product before = *ret;
        const struct vt_step *step = vt_match_step(match, value, inner[i], 1);
        if (step != NULL && read_step(match, step, depth - 1, ret)) {
            return true;
        }
        match->n = n;
        *ret = before;
    }
    return add_factor(ret, value);
}

static bool read_product(struct vt_match *match, const struct vt_step *step, struct product *ret)
{
    *ret = (struct product){.number = 1.0};
    return read_step(match, step, 4, ret);
}

static bool read_value(struct vt_match *match, uint32_t value, struct product *ret)
{
    *ret = (struct product){.number = 1.0};
    return read_factor(match, value, 4, ret);
}

static bool is_power(const struct product *product, uint32_t value, uint32_t exponent)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < product->n; i++) {
        n += product->value[i] == value ? 1 : 0;
    }
    return n == exponent && product->n == exponent;
}

/* --- the two forms --------------------------------------------------------------------------- */

/* Whether the value is x / √2. */
static bool is_erf_argument(struct vt_match *match, uint32_t value, uint32_t x)
{
    struct product p;
    return read_value(match, value, &p) && is_power(&p, x, 1) && vt_is_near(p.number, sqrt(0.5));
}

/* Whether the value is x + 0.044715 · x³. */
static bool is_cubic(struct vt_match *match, uint32_t value, uint32_t x)
{
    struct product p;
    const struct vt_step *sum = vt_match_step(match, value, "Add", 1);
    for (uint32_t i = 0; sum != NULL && i < 2; i++) {
        if (vt_resolve(match->builder, sum->inputs[i]) == x &&
            read_value(match, sum->inputs[1 - i], &p) && is_power(&p, x, 3)) {
            return vt_is_near(p.number, 0.044715);
        }
    }
    return false;
}

/* Whether the value is 1 + 0.044715 · x². */
static bool is_quadratic(struct vt_match *match, uint32_t value, uint32_t x)
{
    struct product p;
    double one = 0;
    uint32_t other = VT_NO_VALUE;
    const struct vt_step *sum = vt_match_step(match, value, "Add", 1);
    return sum != NULL && vt_match_number(match, sum, &one, &other) && one == 1.0 &&
           read_value(match, other, &p) && is_power(&p, x, 2) && vt_is_near(p.number, 0.044715);
}

/* Whether the value is √(2/π) · (x + 0.044715 · x³), perhaps with x taken out of the bracket. */
static bool is_tanh_argument(struct vt_match *match, uint32_t value, uint32_t x)
{
    static const double two_over_pi = 0.63661977236758134308;
    struct product p;
    if (!read_value(match, value, &p) || !vt_is_near(p.number, sqrt(two_over_pi))) {
        return false;
    }
    if (p.n == 1) {
        return is_cubic(match, p.value[0], x);
    }
    return p.n == 2 && ((p.value[0] == x && is_quadratic(match, p.value[1], x)) ||
                        (p.value[1] == x && is_quadratic(match, p.value[0], x)));
}

/* --- what the product is --------------------------------------------------------------------- */

struct function {
    const char *op;
    struct vt_attr attr;
};

/* Whether `gate` is 1 + erf(x/√2) or 1 + tanh(…). */
static bool is_gelu_gate(struct vt_match *match, uint32_t gate, uint32_t x, struct function *ret)
{
    double one = 0;
    uint32_t other = VT_NO_VALUE;
    const struct vt_step *sum = vt_match_step(match, gate, "Add", 1);
    if (sum == NULL || !vt_match_number(match, sum, &one, &other) || one != 1.0) {
        return false;
    }
    const struct vt_step *curve = vt_match_step(match, other, "Erf", 1);
    if (curve != NULL && is_erf_argument(match, curve->inputs[0], x)) {
        *ret = (struct function){
            "Gelu", {.name = "approximate", .type = VT_ATTR_STRING, .n = 4, .s = "none"}};
        return true;
    }
    curve = vt_match_step(match, other, "Tanh", 1);
    *ret = (struct function){"Gelu",
                             {.name = "approximate", .type = VT_ATTR_STRING, .n = 4, .s = "tanh"}};
    return curve != NULL && is_tanh_argument(match, curve->inputs[0], x);
}

static bool is_swish_gate(struct vt_match *match, uint32_t gate, uint32_t x, struct function *ret)
{
    struct product p;
    const struct vt_step *curve = vt_match_step(match, gate, "Sigmoid", 1);
    if (curve == NULL) {
        return false;
    }
    if (vt_resolve(match->builder, curve->inputs[0]) == x) {
        p.number = 1.0;
    } else if (!read_value(match, curve->inputs[0], &p) || !is_power(&p, x, 1)) {
        return false;
    }
    *ret =
        (struct function){"Swish", {.name = "alpha", .type = VT_ATTR_FLOAT, .f = (float)p.number}};
    return true;
}

static bool is_gated(struct vt_match *match, const struct product *p, uint32_t gate, uint32_t x,
                     struct function *ret)
{
    const uint32_t n = match->n;
    if (p->number == 0.5 && is_gelu_gate(match, gate, x, ret)) {
        return true;
    }
    match->n = n;
    if (p->number == 1.0 && is_swish_gate(match, gate, x, ret)) {
        return true;
    }
    match->n = n;
    return false;
}

static enum vt_status recognise(struct vt_builder *builder, const struct vt_program *program,
                                struct vt_step *step, uint32_t *changes)
{
    struct vt_match match = {.builder = builder, .program = program};
    struct product p;
    struct function function;
    uint32_t x = VT_NO_VALUE;
    if (!read_product(&match, step, &p) || p.n != 2) {
        return VT_OK;
    }
    for (uint32_t i = 0; i < 2 && x == VT_NO_VALUE; i++) {
        if (is_gated(&match, &p, p.value[1 - i], p.value[i], &function)) {
            x = p.value[i];
        }
    }
    if (x == VT_NO_VALUE || !vt_is_float(vt_info_of(builder, x)->dtype) ||
        !vt_keeps_shape(builder, step, x)) {
        return VT_OK;
    }
    ++*changes;
    return vt_step_become(
        builder, step,
        &(struct vt_step_form){
            .op = function.op, .inputs = &x, .n_inputs = 1, .attrs = &function.attr, .n_attrs = 1},
        &match);
}

VT_PASS(gelu)
{
    enum vt_status status = VT_OK;
    for (struct vt_step *step = program->first; step != NULL && status == VT_OK;
         step = step->next) {
        if (step->n_inputs == 2 && (vt_step_is(step, "Mul") || vt_step_is(step, "Div"))) {
            status = recognise(builder, program, step, changes);
        }
    }
    return status;
}
