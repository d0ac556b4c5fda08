/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stages.h"

#include <stddef.h>

const char *vt_stage_key(enum vt_stage stage)
{
    static const char *const keys[VT_STAGE_COUNT] = {"queue", "batch_wait", "copy", "compute",
                                                     "completion"};
    return (unsigned)stage < VT_STAGE_COUNT ? keys[stage] : NULL;
}
