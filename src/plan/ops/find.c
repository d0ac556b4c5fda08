/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/ops/ops.h"

/* Every family; an operator stands in exactly one of them. */
static const struct vt_op_family *const families[] = {
    &vt_ops_conv,   &vt_ops_matmul, &vt_ops_pool,       &vt_ops_elementwise, &vt_ops_softmax,
    &vt_ops_shape,  &vt_ops_move,   &vt_ops_gather,     &vt_ops_resize,      &vt_ops_reduce,
    &vt_ops_norm,   &vt_ops_select, &vt_ops_recurrent,  &vt_ops_attention,   &vt_ops_random,
    &vt_ops_signal, &vt_ops_place,  &vt_ops_linear,     &vt_ops_sample,      &vt_ops_quant_product,
    &vt_ops_quant,  &vt_ops_loss,   &vt_ops_quant_step, &vt_ops_interaction,
};

const struct vt_op *vt_op_find(const char *domain, const char *name)
{
    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
        for (size_t i = 0; i < families[f]->n; i++) {
            const struct vt_op *op = &families[f]->ops[i];
            if (strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0) {
                return op;
            }
        }
    }
    return NULL;
}

/* Whether a Dropout of this model surely drops nothing and gives no mask: then it is a view. */
static bool is_plain_dropout(const struct vt_model *model, const struct vt_node *node)
{
    if (node->n_outputs > 1 && node->outputs[1] != VT_NO_VALUE) {
        return false;
    }
    if (node->n_inputs < 3 || node->inputs[2] == VT_NO_VALUE) {
        return true;
    }
    const struct vt_tensor *training = vt_model_values(model)[node->inputs[2]].constant;
    return training != NULL && training->dtype == VT_BOOL && training->bytes == 1 &&
           *(const uint8_t *)training->data == 0;
}

const struct vt_op *vt_op_for(const struct vt_model *model, const struct vt_node *node)
{
    if (node->domain[0] == '\0' && strcmp(node->op, "Dropout") == 0 &&
        !is_plain_dropout(model, node)) {
        return vt_op_find("", "Dropout with mask");
    }
    return vt_op_find(node->domain, node->op);
}
