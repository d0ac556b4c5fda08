/* SPDX-License-Identifier: Apache-2.0 */
/* How passes change a program: who uses what, and how a step takes another's place. */
#include <string.h>

#include "kernels/convert/convert.h"
#include "plan/passes/pass.h"

/* --- values ---------------------------------------------------------------------------------- */

enum vt_status vt_value_add(struct vt_builder *builder, const struct vt_shape_info *info,
                            uint32_t *ret_value)
{
    const struct vt_shape_info copy = *info; /* may lie in the table */
    if (builder->n_values == VT_NO_VALUE) {
        return vt_error_set(builder->err, VT_ERR_LIMIT, "the model has too many values");
    }
    if (builder->n_values == builder->value_capacity) {
        const uint32_t larger = builder->n_values + builder->n_values / 2 + 64;
        struct vt_build_value *fresh =
            vt_arena_calloc(&builder->scratch, (size_t)larger + 1, sizeof(*fresh));
        if (fresh == NULL) {
            return vt_out_of_memory(builder->err);
        }
        memcpy(fresh, builder->values, builder->n_values * sizeof(*fresh));
        builder->values = fresh;
        builder->value_capacity = larger;
    }
    struct vt_build_value *value = &builder->values[builder->n_values];
    value->info = copy;
    value->renamed = value->twin = VT_NO_VALUE;
    *ret_value = builder->n_values++;
    return VT_OK;
}

void vt_value_use(struct vt_builder *builder, uint32_t value)
{
    uint32_t used = vt_resolve(builder, value);
    if (used != VT_NO_VALUE) {
        builder->values[used].uses++;
    }
}

static void drop_use(struct vt_builder *builder, uint32_t value)
{
    uint32_t used = vt_resolve(builder, value);
    if (used != VT_NO_VALUE && builder->values[used].uses > 0) {
        builder->values[used].uses--;
    }
}

void vt_value_replace(struct vt_builder *builder, uint32_t value, uint32_t source)
{
    source = vt_resolve(builder, source);
    builder->values[source].uses += builder->values[value].uses;
    builder->values[value].uses = 0;
    builder->values[value].renamed = source;
}

uint32_t vt_value_constant(struct vt_builder *builder, const struct vt_tensor *tensor, bool pure)
{
    struct vt_tensor *kept = vt_arena_calloc(&builder->plan->memory, 1, sizeof(*kept));
    struct vt_shape_info info;
    uint32_t value = VT_NO_VALUE;
    if (kept == NULL) {
        (void)vt_out_of_memory(builder->err);
        return VT_NO_VALUE;
    }
    *kept = *tensor;
    vt_shape_unknown(&info);
    info.dtype = tensor->dtype;
    info.rank = tensor->rank;
    memcpy(info.dim, tensor->dim, sizeof(tensor->dim));
    info.value = kept;
    if (vt_value_add(builder, &info, &value) != VT_OK) {
        return VT_NO_VALUE;
    }
    builder->values[value].pure = pure;
    return value;
}

/* Memory for a constant of the plan's own: what is packed of it is forgotten with the plan. */
static void *own_data(struct vt_builder *builder, size_t bytes)
{
    struct vt_plan *plan = builder->plan;
    struct vt_folded *folded = vt_arena_calloc(&plan->memory, 1, sizeof(*folded));
    void *data = folded != NULL ? vt_alloc(bytes) : NULL;
    if (data == NULL) {
        (void)vt_out_of_memory(builder->err);
        return NULL;
    }
    *folded = (struct vt_folded){plan->folded, data, bytes};
    plan->folded = folded;
    return data;
}

uint32_t vt_value_ones(struct vt_builder *builder, enum vt_dtype dtype, int64_t n)
{
    const double one = 1.0;
    struct vt_tensor ones = {.dtype = dtype, .rank = 1, .dim = {n}};
    if (!vt_tensor_size(&ones)) {
        (void)vt_error_set(builder->err, VT_ERR_LIMIT, "a row of %lld is too long", (long long)n);
        return VT_NO_VALUE;
    }
    ones.data = own_data(builder, ones.bytes);
    for (int64_t i = 0; i < n && ones.data != NULL; i++) {
        vt_convert(VT_F64, &one, dtype, (char *)ones.data + (size_t)i * vt_dtype_bytes(dtype), 1);
    }
    return ones.data != NULL ? vt_value_constant(builder, &ones, false) : VT_NO_VALUE;
}

uint32_t vt_value_ints(struct vt_builder *builder, const int64_t *ints, uint32_t n)
{
    struct vt_tensor list = {.dtype = VT_I64, .rank = 1, .dim = {n}, .bytes = n * sizeof(*ints)};
    list.data = own_data(builder, list.bytes);
    if (list.data != NULL && n > 0) {
        memcpy(list.data, ints, list.bytes);
    }
    return list.data != NULL ? vt_value_constant(builder, &list, false) : VT_NO_VALUE;
}

/* --- dead steps ------------------------------------------------------------------------------ */

static void drop_program(struct vt_builder *builder, struct vt_program *program)
{
    for (uint32_t i = 0; i < program->n_outputs; i++) {
        drop_use(builder, program->outputs[i]);
    }
    for (struct vt_step *step = program->first; step != NULL; step = step->next) {
        if (!step->dead) {
            vt_step_kill(builder, step);
        }
    }
}

void vt_step_kill(struct vt_builder *builder, struct vt_step *step)
{
    step->dead = true;
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        drop_use(builder, step->inputs[i]);
    }
    struct vt_program *bodies[2];
    const uint32_t n = vt_step_bodies(step, bodies);
    for (uint32_t b = 0; b < n; b++) {
        drop_program(builder, bodies[b]);
    }
}

void vt_program_reverse(struct vt_program *program)
{
    struct vt_step *head = NULL;
    program->end = program->first;
    for (struct vt_step *step = program->first; step != NULL;) {
        struct vt_step *next = step->next;
        step->next = head;
        head = step;
        step = next;
    }
    program->first = head;
}

bool vt_step_is_used(const struct vt_builder *builder, const struct vt_step *step)
{
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE && builder->values[step->outputs[i]].uses > 0) {
            return true;
        }
    }
    return false;
}

/* --- one step in place of two ---------------------------------------------------------------- */

struct vt_step *vt_step_open(const struct vt_builder *builder, const struct vt_program *program,
                             uint32_t value)
{
    value = vt_resolve(builder, value);
    if (value == VT_NO_VALUE) {
        return NULL;
    }
    const struct vt_build_value *made = &builder->values[value];
    struct vt_step *step = made->producer;
    if (step == NULL || step->dead || made->home != program || made->uses != 1 ||
        step->kind != VT_STEP_OP || step->op == NULL || step->outputs[0] != value ||
        (step->op->flags & VT_OP_EPILOGUE) == 0 || made->info.dtype != VT_F32 ||
        step->epilogue.activation != VT_ACT_NONE) {
        return NULL;
    }
    for (uint32_t i = 1; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            return NULL;
        }
    }
    return step;
}

void vt_step_absorb(struct vt_builder *builder, struct vt_step *step, struct vt_step *inner)
{
    const struct vt_step outer = *step;
    for (uint32_t i = 0; i < outer.n_inputs; i++) {
        drop_use(builder, outer.inputs[i]);
    }
    *step = *inner;
    step->next = outer.next;
    step->position = outer.position;
    step->was_used = outer.was_used;
    step->outputs[0] = outer.outputs[0];
    step->n_outputs = 1;
    step->flops += outer.flops;
    step->absorbed += outer.absorbed + 1;
    inner->dead = true; /* its inputs are used by `step` now */
    builder->plan->info.fused_nodes++;
}

/* --- a step with another meaning ------------------------------------------------------------- */

static bool copy_attrs(struct vt_arena *memory, const struct vt_step_form *form,
                       struct vt_node *node)
{
    struct vt_attr *attrs = vt_arena_calloc(memory, (size_t)form->n_attrs + 1, sizeof(*attrs));
    if (attrs == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < form->n_attrs; i++) {
        attrs[i] = form->attrs[i];
        if (attrs[i].type == VT_ATTR_INTS) {
            int64_t *ints = vt_arena_calloc(memory, attrs[i].n + 1, sizeof(*ints));
            if (ints == NULL) {
                return false;
            }
            memcpy(ints, form->attrs[i].ints, attrs[i].n * sizeof(*ints));
            attrs[i].ints = ints;
        }
    }
    node->attrs = attrs;
    node->n_attrs = form->n_attrs;
    return true;
}

static struct vt_node *node_of(struct vt_builder *builder, const struct vt_step *step,
                               const struct vt_step_form *form)
{
    struct vt_arena *memory = &builder->plan->memory;
    struct vt_node *node = vt_arena_calloc(memory, 1, sizeof(*node));
    uint32_t *inputs = vt_arena_calloc(memory, (size_t)form->n_inputs + 1, sizeof(*inputs));
    uint32_t *output = vt_arena_calloc(memory, 1, sizeof(*output));
    if (node == NULL || inputs == NULL || output == NULL || !copy_attrs(memory, form, node)) {
        return NULL;
    }
    for (uint32_t i = 0; i < form->n_inputs; i++) {
        inputs[i] = vt_resolve(builder, form->inputs[i]);
    }
    *output = step->outputs[0];
    node->name = step->node->name;
    node->op = form->op;
    node->domain = form->domain != NULL ? form->domain : "";
    node->operator= vt_operator_find(node->domain, form->op);
    node->opset = node->operator!= NULL ? node->operator->max_opset : 1;
    node->inputs = inputs;
    node->n_inputs = form->n_inputs;
    node->outputs = output;
    node->n_outputs = 1;
    return node;
}

/* The step takes this node's place, with the node's inputs. */
static enum vt_status take_node(struct vt_builder *builder, struct vt_step *step,
                                const struct vt_node *node)
{
    uint32_t *inputs = vt_arena_calloc(
        &builder->plan->memory, (size_t)node->n_inputs + VT_STEP_SPARE_INPUTS, sizeof(*inputs));
    if (inputs == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = node->inputs[i];
        vt_value_use(builder, inputs[i]);
    }
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        drop_use(builder, step->inputs[i]);
    }
    step->node = node;
    step->op = vt_op_find(node->domain, node->op);
    step->kind = (step->op->flags & VT_OP_VIEW) != 0 ? VT_STEP_VIEW : VT_STEP_OP;
    step->inputs = inputs;
    step->n_inputs = node->n_inputs;
    step->n_outputs = 1;
    return VT_OK;
}

enum vt_status vt_step_become(struct vt_builder *builder, struct vt_step *step,
                              const struct vt_step_form *form, const struct vt_match *match)
{
    const struct vt_node *node = node_of(builder, step, form);
    enum vt_status status =
        node != NULL ? take_node(builder, step, node) : vt_out_of_memory(builder->err);
    for (uint32_t i = 0; match != NULL && i < match->n && status == VT_OK; i++) {
        if (match->inner[i] != step) {
            step->flops += match->inner[i]->flops;
            step->absorbed += match->inner[i]->absorbed + 1;
            builder->plan->info.fused_nodes++;
        }
    }
    return status;
}

enum vt_status vt_step_reform(struct vt_builder *builder, struct vt_step *step,
                              const uint32_t *inputs, uint32_t n_inputs)
{
    const struct vt_node *own = step->node;
    struct vt_node *node = vt_arena_calloc(&builder->plan->memory, 1, sizeof(*node));
    uint32_t *resolved =
        vt_arena_calloc(&builder->plan->memory, (size_t)n_inputs + 1, sizeof(*resolved));
    if (node == NULL || resolved == NULL) {
        return vt_out_of_memory(builder->err);
    }
    for (uint32_t i = 0; i < n_inputs; i++) {
        resolved[i] = vt_resolve(builder, inputs[i]);
    }
    *node = *own;
    node->inputs = resolved;
    node->n_inputs = n_inputs;
    return take_node(builder, step, node);
}

enum vt_status vt_step_view(struct vt_builder *builder, struct vt_step *step, uint32_t source)
{
    static const struct vt_attr zeros = {.name = "allowzero", .type = VT_ATTR_INT, .i = 1};
    const struct vt_shape_info *out = vt_info_of(builder, step->outputs[0]);
    const uint32_t shape = vt_value_ints(builder, out->dim, out->rank);
    if (shape == VT_NO_VALUE) {
        return VT_ERR_MEMORY;
    }
    return vt_step_become(builder, step,
                          &(struct vt_step_form){.op = "Reshape",
                                                 .inputs = (const uint32_t[]){source, shape},
                                                 .n_inputs = 2,
                                                 .attrs = &zeros,
                                                 .n_attrs = 1},
                          NULL);
}

enum vt_status vt_step_turn(struct vt_builder *builder, struct vt_step *step, const int64_t *perm)
{
    const uint32_t input = vt_resolve(builder, step->inputs[0]);
    const struct vt_shape_info *in = &builder->values[input].info;
    struct vt_shape_info *out = &builder->values[step->outputs[0]].info;
    const struct vt_attr attr = {.name = "perm", .type = VT_ATTR_INTS, .n = in->rank, .ints = perm};
    for (uint32_t d = 0; d < in->rank; d++) {
        out->dim[d] = in->dim[perm[d]];
    }
    return vt_step_become(
        builder, step,
        &(struct vt_step_form){
            .op = "Transpose", .inputs = &input, .n_inputs = 1, .attrs = &attr, .n_attrs = 1},
        NULL);
}
