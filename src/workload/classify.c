/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/classify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workload/element.h"

/* The extents beside the batch multiplied, -1 where one is open, -2 where two are above 1. */
static int64_t scores_of(const struct vt_port *port)
{
    int64_t scores = 1;

    for (uint32_t i = port->rank > 1 ? 1 : 0; i < port->rank; i++) {
        if (port->dim[i] == 1) {
            continue;
        }
        if (scores != 1) {
            return -2;
        }
        scores = port->dim[i];
    }
    return scores;
}

enum vt_status vt_class_output_find(const struct vt_signature *signature, struct vt_error *err,
                                    struct vt_class_output *ret)
{
    char list[256] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < signature->n_outputs; i++) {
        const struct vt_port *port = &signature->outputs[i];
        int64_t scores = scores_of(port);
        if (vt_element_is_real(port->dtype) && !vt_element_is_integer(port->dtype) &&
            port->dtype != VT_BOOL && port->rank > 0 && (scores == -1 || scores > 1)) {
            *ret = (struct vt_class_output){.index = i, .classes = scores};
            return VT_OK;
        }
    }
    for (uint32_t i = 0; i < signature->n_outputs; i++) {
        const struct vt_port *port = &signature->outputs[i];
        bool one = port->rank <= 1 || scores_of(port) == 1;
        if (vt_element_is_integer(port->dtype) && one) {
            *ret = (struct vt_class_output){.index = i, .holds_class = true, .classes = -1};
            return VT_OK;
        }
        /* Quantised models end in 8-bit scores. */
        if (vt_element_is_integer(port->dtype) && scores_of(port) > 1) {
            *ret = (struct vt_class_output){.index = i, .classes = scores_of(port)};
            return VT_OK;
        }
    }
    for (uint32_t i = 0; i < signature->n_outputs && used < sizeof list; i++) {
        const struct vt_port *port = &signature->outputs[i];
        char shape[96];
        int n = snprintf(list + used, sizeof list - used, "%s'%s' %s %s", i > 0 ? ", " : "",
                         port->name, vt_dtype_name(port->dtype),
                         vt_shape_text(port->dim, port->rank, port->symbol, shape, sizeof shape));
        used += n > 0 ? (size_t)n : 0;
    }
    return vt_error_set(err, VT_ERR_UNSUPPORTED,
                        "no output gives one score a class (%s): use --workload tensor", list);
}

static int64_t largest(const struct vt_tensor *scores)
{
    size_t n = scores->bytes / vt_dtype_bytes(scores->dtype);
    int64_t best = -1;

    if (scores->dtype == VT_F32) {
        const float *value = scores->data;
        for (size_t i = 0; i < n; i++) {
            if (!isnan(value[i]) && (best < 0 || value[i] > value[best])) {
                best = (int64_t)i;
            }
        }
        return best;
    }
    double best_value = 0;
    for (size_t i = 0; i < n; i++) {
        double value = vt_element_get(scores->dtype, scores->data, i);
        if (!isnan(value) && (best < 0 || value > best_value)) {
            best = (int64_t)i;
            best_value = value;
        }
    }
    return best;
}

enum vt_status vt_class_output_finish(const struct vt_class_output *output,
                                      const struct vt_tensor *outputs, uint32_t n_outputs,
                                      void *ret_response, size_t *ret_bytes, struct vt_error *err)
{
    if (output->index >= n_outputs) {
        return vt_error_set(err, VT_ERR_ENGINE, "the engine gave %u outputs, number %u holds %s",
                            n_outputs, output->index, "the class");
    }
    const struct vt_tensor *tensor = &outputs[output->index];
    if (!vt_element_is_real(tensor->dtype) || tensor->bytes == 0 || tensor->data == NULL) {
        return vt_error_set(err, VT_ERR_ENGINE, "output %u is empty or of type %s: no class in it",
                            output->index, vt_dtype_name(tensor->dtype));
    }
    int64_t class = -1;
    if (output->holds_class) {
        double value = vt_element_get(tensor->dtype, tensor->data, 0);
        class = value >= 0 && value <= INT32_MAX ? (int64_t)value : -1;
    } else {
        class = largest(tensor);
    }
    int32_t response = class > INT32_MAX ? -1 : (int32_t) class;
    memcpy(ret_response, &response, sizeof response);
    *ret_bytes = sizeof response;
    return VT_OK;
}

enum vt_status vt_class_score(const int64_t *labels, uint64_t n_labels, int64_t offset,
                              const struct vt_response *responses, size_t n, struct vt_error *err,
                              struct vt_quality *ret_quality)
{
    uint64_t right = 0, count = 0;

    for (size_t i = 0; i < n; i++) {
        int32_t class = -1;
        if (responses[i].index >= n_labels) {
            return vt_error_set(
                err, VT_ERR_FORMAT, "a response is for sample %llu, the data set has %llu",
                (unsigned long long)responses[i].index, (unsigned long long)n_labels);
        }
        int64_t label = labels[responses[i].index];
        if (label == VT_NO_LABEL) {
            continue;
        }
        if (responses[i].bytes == sizeof class) {
            memcpy(&class, responses[i].data, sizeof class);
        }
        count++;
        right += class >= 0 && label + offset == class;
    }
    if (count == 0) {
        return vt_error_set(err, VT_ERR_USAGE, "no response has a label to compare it with");
    }
    struct vt_quality quality = {.metric = "top-1",
                                 .unit = "%",
                                 .value = 100.0 * (double)right / (double)count,
                                 .pass = true,
                                 .count = count};
    *ret_quality = quality;
    return VT_OK;
}
