/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If and Loop at run time. An If's outputs are the chosen branch's own, under another name. A
 * loop's carried values are copied from the body's outputs to its inputs between two turns.
 */
#include <string.h>

#include "plan/internal.h"

/* --- If
 * --------------------------------------------------------------------------------------------- */

static enum vt_status condition_of(const struct vt_tensor *tensor, struct vt_error *err,
                                   bool *ret_condition)
{
    if (tensor->dtype != VT_BOOL || tensor->bytes != 1) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "the condition must be one bool, but is %zu bytes of %s", tensor->bytes,
                            vt_dtype_name(tensor->dtype));
    }
    *ret_condition = *(const uint8_t *)tensor->data != 0;
    return VT_OK;
}

enum vt_status vt_if_run(struct vt_plan *plan, struct vt_step *step, struct vt_error *err)
{
    struct vt_if *branches = step->branches;
    bool condition = false;
    enum vt_status status = condition_of(step->input_tensors[0], err, &condition);
    if (status != VT_OK) {
        return status;
    }
    const char *why_not = branches->why_not[condition ? 0 : 1];
    if (why_not != NULL) {
        return vt_error_set(err, VT_ERR_FORMAT, "its %s branch does not fit the inputs: %s",
                            condition ? "then" : "else", why_not);
    }
    status = vt_program_run(plan, condition ? branches->then_branch : branches->else_branch, err);
    if (status != VT_OK) {
        return status;
    }
    const struct vt_tensor *const *outputs =
        condition ? branches->then_outputs : branches->else_outputs;
    for (uint32_t i = 0; i < step->n_outputs; i++) {
        if (step->outputs[i] != VT_NO_VALUE) {
            step->output_tensors[i] = *outputs[i];
        }
    }
    return VT_OK;
}

/* --- Loop
 * ------------------------------------------------------------------------------------------- */

/* The shape and contents of `from`, in the memory of `buffer`. */
static enum vt_status copy_value(const struct vt_tensor *from, struct vt_buffer *buffer,
                                 struct vt_tensor *to, struct vt_error *err)
{
    enum vt_status status = vt_buffer_reserve(buffer, from->bytes, 0, err);
    if (status != VT_OK) {
        return status;
    }
    if (from->bytes > 0) {
        memcpy(buffer->data, from->data, from->bytes);
    }
    *to = *from;
    to->data = buffer->data;
    return VT_OK;
}

static enum vt_status start(struct vt_loop *loop, struct vt_error *err, int64_t *ret_trips,
                            bool *ret_go_on)
{
    *ret_trips = INT64_MAX;
    *ret_go_on = true;
    if (loop->trips != NULL) {
        if (loop->trips->dtype != VT_I64 || loop->trips->bytes != sizeof(int64_t)) {
            return vt_error_set(err, VT_ERR_FORMAT,
                                "the trip count must be one int64, but is %zu bytes of %s",
                                loop->trips->bytes, vt_dtype_name(loop->trips->dtype));
        }
        memcpy(ret_trips, loop->trips->data, sizeof(*ret_trips));
    }
    if (loop->condition != NULL) {
        enum vt_status status = condition_of(loop->condition, err, ret_go_on);
        if (status != VT_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < loop->n_carried; i++) {
        struct vt_carried *carried = &loop->carried[i];
        enum vt_status status = copy_value(carried->initial, carried->buffer, carried->inside, err);
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

/* The body's outputs become its inputs. What lies in a carried value's own memory is set aside
 * first, because another carried value may overwrite it. */
static enum vt_status carry(struct vt_loop *loop, struct vt_error *err)
{
    for (uint32_t i = 0; i < loop->n_carried; i++) {
        struct vt_carried *carried = &loop->carried[i];
        if (carried->staging != NULL && carried->next->data != carried->inside->data) {
            struct vt_tensor unused;
            enum vt_status status = copy_value(carried->next, carried->staging, &unused, err);
            if (status != VT_OK) {
                return status;
            }
        }
    }
    for (uint32_t i = 0; i < loop->n_carried; i++) {
        struct vt_carried *carried = &loop->carried[i];
        struct vt_tensor from = *carried->next;
        if (from.data == carried->inside->data) {
            /* The value itself, or a view of it under another shape. */
            *carried->inside = from;
            continue;
        }
        if (carried->staging != NULL) {
            from.data = carried->staging->data;
        }
        enum vt_status status = copy_value(&from, carried->buffer, carried->inside, err);
        if (status != VT_OK) {
            return status;
        }
    }
    return VT_OK;
}

/* Appends this turn's slice. Room is doubled, so that a loop of n turns copies each slice about
 * once at its first run and never again. */
static enum vt_status append(struct vt_scan *scan, int64_t turn, struct vt_error *err)
{
    struct vt_tensor *result = scan->result;
    const struct vt_tensor *slice = scan->slice;
    if (turn == 0) {
        if (slice->rank >= VT_RANK_MAX) {
            return vt_error_set(err, VT_ERR_LIMIT, "a scan output of rank %u is beyond %d",
                                slice->rank + 1, VT_RANK_MAX);
        }
        result->dtype = slice->dtype;
        result->rank = slice->rank + 1;
        memcpy(&result->dim[1], slice->dim, slice->rank * sizeof(slice->dim[0]));
    } else if (result->rank != slice->rank + 1 ||
               memcmp(&result->dim[1], slice->dim, slice->rank * sizeof(slice->dim[0])) != 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "a scan output changed its shape in turn %lld",
                            (long long)turn);
    }
    size_t used = (size_t)turn * slice->bytes;
    size_t bytes = used + slice->bytes;
    if (bytes > scan->buffer->capacity && scan->buffer->grows) {
        bytes *= 2;
    }
    enum vt_status status = vt_buffer_reserve(scan->buffer, bytes, used, err);
    if (status == VT_OK && slice->bytes > 0) {
        memcpy((uint8_t *)scan->buffer->data + used, slice->data, slice->bytes);
    }
    return status;
}

/* What came of `turns` turns. */
static enum vt_status finish(struct vt_loop *loop, int64_t turns, struct vt_error *err)
{
    for (uint32_t i = 0; i < loop->n_carried; i++) {
        if (loop->carried[i].result != NULL) {
            *loop->carried[i].result = *loop->carried[i].inside;
        }
    }
    for (uint32_t i = 0; i < loop->n_scans; i++) {
        struct vt_scan *scan = &loop->scans[i];
        if (scan->result == NULL) {
            continue;
        }
        if (turns == 0) {
            /* Nobody told the extents of a slice: those that are known from planning, else 0. */
            struct vt_tensor slice = *scan->slice;
            scan->result->dtype = slice.dtype;
            scan->result->rank = slice.rank < VT_RANK_MAX ? slice.rank + 1 : VT_RANK_MAX;
            memcpy(&scan->result->dim[1], slice.dim,
                   (scan->result->rank - 1) * sizeof(slice.dim[0]));
            enum vt_status status = vt_buffer_reserve(scan->buffer, 0, 0, err);
            if (status != VT_OK) {
                return status;
            }
        }
        scan->result->dim[0] = turns;
        scan->result->data = scan->buffer->data;
        if (!vt_tensor_size(scan->result)) {
            return vt_error_set(err, VT_ERR_LIMIT, "a scan output of %lld turns is too large",
                                (long long)turns);
        }
    }
    return VT_OK;
}

enum vt_status vt_loop_run(struct vt_plan *plan, struct vt_step *step, struct vt_error *err)
{
    struct vt_loop *loop = step->loop;
    int64_t trips = 0, turn = 0;
    bool go_on = false;
    enum vt_status status = start(loop, err, &trips, &go_on);
    for (; status == VT_OK && go_on && turn < trips; turn++) {
        loop->turn = turn;
        loop->condition_value = true;
        status = vt_program_run(plan, loop->body, err);
        for (uint32_t i = 0; i < loop->n_scans && status == VT_OK; i++) {
            if (loop->scans[i].result != NULL) {
                status = append(&loop->scans[i], turn, err);
            }
        }
        if (status == VT_OK) {
            status = condition_of(loop->go_on, err, &go_on);
        }
        if (status == VT_OK) {
            status = carry(loop, err);
        }
    }
    return status == VT_OK ? finish(loop, turn, err) : status;
}
