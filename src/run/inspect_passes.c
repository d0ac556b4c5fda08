/* SPDX-License-Identifier: Apache-2.0 */
/* What the native engine's planner makes of a model. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quote.h"
#include "engine/settings.h"
#include "plan/plan.h"
#include "run/inspect.h"

/* More passes than there are. */
#define REPORTS_MOST 64

static void note_report(void *ctx, const struct vt_pass_report *report)
{
    struct vt_inspected_passes *passes = ctx;
    if (passes->n_reports < REPORTS_MOST) {
        passes->reports[passes->n_reports++] = *report;
    }
}

/* The extents that are still open, other than a batch. */
static enum vt_status open_extent(const struct vt_signature *signature, struct vt_error *err)
{
    for (uint32_t i = 0; i < signature->n_inputs; i++) {
        const struct vt_port *port = &signature->inputs[i];
        char shape[96];
        for (uint32_t d = 1; d < port->rank; d++) {
            if (port->dim[d] < 0) {
                return vt_error_set(
                    err, VT_ERR_USAGE,
                    "input %s is %s: --passes needs all extents but the first; "
                    "give them with --shape NAME=DIMS",
                    vt_quote(port->name).text,
                    vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof shape));
            }
        }
    }
    return vt_error_set(err, VT_ERR_LIMIT, "an input is larger than memory can be");
}

/* --- the operators of the steps, most frequent first ------------------------------------------ */

static int compare_counts(const void *a, const void *b)
{
    const struct vt_operator_count *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static void count_step(struct vt_inspected_passes *passes, const char *name)
{
    uint32_t i = 0;
    while (i < passes->n_operators && strcmp(passes->operators[i].name, name) != 0) {
        i++;
    }
    if (i == passes->n_operators) {
        passes->operators[passes->n_operators++] = (struct vt_operator_count){name, 0};
    }
    passes->operators[i].count++;
}

static enum vt_status count_steps(struct vt_inspected_passes *passes, struct vt_error *err)
{
    enum vt_status status = vt_plan_profile_begin(passes->plan, err);
    if (status != VT_OK) {
        return status;
    }
    passes->n_steps = vt_plan_profile_count(passes->plan);
    passes->operators = vt_calloc((size_t)passes->n_steps + 1, sizeof passes->operators[0]);
    for (uint32_t i = 0; i < passes->n_steps && passes->operators != NULL; i++) {
        struct vt_step_profile step;
        vt_plan_profile_read(passes->plan, i, &step);
        count_step(passes, step.node->op);
    }
    vt_plan_profile_end(passes->plan);
    if (passes->operators == NULL) {
        return vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    }
    qsort(passes->operators, passes->n_operators, sizeof passes->operators[0], compare_counts);
    return VT_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static enum vt_status look(const struct vt_model *model, const struct vt_signature *signature,
                           struct vt_tensor *inputs, struct vt_inspected_passes *passes,
                           struct vt_error *err)
{
    const struct vt_plan_options options = {.observe = note_report, .observe_ctx = passes};
    if (!vt_engine_batch_of(signature, 1, inputs)) {
        return open_extent(signature, err);
    }
    enum vt_status status = vt_weights_new(model, err, &passes->weights);
    if (status == VT_OK) {
        status = vt_plan_new(model, passes->weights, NULL, inputs, signature->n_inputs, &options,
                             err, &passes->plan);
    }
    return status == VT_OK ? count_steps(passes, err) : status;
}

enum vt_status vt_inspected_passes_new(const struct vt_model *model,
                                       const struct vt_signature *signature, struct vt_error *err,
                                       struct vt_inspected_passes **ret_passes)
{
    struct vt_inspected_passes *passes = vt_calloc(1, sizeof *passes);
    struct vt_tensor *inputs = vt_calloc((size_t)signature->n_inputs + 1, sizeof inputs[0]);
    enum vt_status status = VT_OK;

    if (passes != NULL) {
        passes->reports = vt_calloc(REPORTS_MOST, sizeof passes->reports[0]);
    }
    if (passes == NULL || inputs == NULL || passes->reports == NULL) {
        status = vt_error_set(err, VT_ERR_MEMORY, "out of memory");
    } else {
        status = look(model, signature, inputs, passes, err);
    }
    vt_free(inputs);
    if (status != VT_OK) {
        vt_inspected_passes_free(passes);
        return status;
    }
    *ret_passes = passes;
    return VT_OK;
}

void vt_inspected_passes_free(struct vt_inspected_passes *passes)
{
    if (passes != NULL) {
        vt_plan_free(passes->plan);
        vt_weights_free(passes->weights);
        vt_free(passes->operators);
        vt_free(passes->reports);
        vt_free(passes);
    }
}
