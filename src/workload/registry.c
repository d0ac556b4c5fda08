/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/registry.h"

#include <string.h>

#include "workload/dataset.h"
#include "workload/preprocess.h"
#include "workload/room.h"

static const struct vt_workload_ops *const workloads[] = {
    &vt_workload_digits,
    &vt_workload_image_classification,
    &vt_workload_tensor,
};

const struct vt_workload_ops *const *vt_workload_table(size_t *ret_n)
{
    *ret_n = sizeof workloads / sizeof workloads[0];
    return workloads;
}

const struct vt_workload_ops *vt_workload_find(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        if (strcmp(workloads[i]->name, name) == 0) {
            return workloads[i];
        }
    }
    return NULL;
}

const struct vt_workload_ops *vt_workload_guess(const struct vt_workload_config *config,
                                                const struct vt_signature *signature)
{
    struct vt_recipe nothing = {.entry = {{.value = NULL}}};
    struct vt_image_port port;

    if (config->dataset != NULL && vt_dataset_has_images(config->dataset) &&
        vt_image_port_find(signature, &nothing, NULL, &port) == VT_OK) {
        return &vt_workload_image_classification;
    }
    return &vt_workload_tensor;
}
