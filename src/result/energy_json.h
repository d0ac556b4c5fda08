/* SPDX-License-Identifier: Apache-2.0 */
/* The energy of an entry as result.json has it. */
#ifndef VT_RESULT_ENERGY_JSON_H
#define VT_RESULT_ENERGY_JSON_H

#include <jansson.h>

#include "result/result.h"

/* NULL when out of memory. */
json_t *vt_json_energy(const struct vt_result *result, const struct vt_result_entry *entry);

#endif
