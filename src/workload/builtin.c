/* SPDX-License-Identifier: Apache-2.0 */
/* The models that are part of the program (digits/README.md says what they are and whose data). */
#include <string.h>

#include "workload/registry.h"
#include "workload/room.h"

static const _Alignas(64) unsigned char digits_onnx[] = {
#include "digits.onnx.inc"
};

static const _Alignas(64) unsigned char digits_test[] = {
#include "digits_test.bin.inc"
};

const struct vt_embedded vt_digits_test = {digits_test, sizeof digits_test};

static const struct vt_builtin_model builtins[] = {
    {.name = "digits",
     .summary = "handwritten digits: CNN of 14,378 parameters, with its own images",
     .workload = "digits",
     .onnx = digits_onnx,
     .onnx_bytes = sizeof digits_onnx},
};

const struct vt_builtin_model *vt_builtin_models(size_t *ret_n)
{
    *ret_n = sizeof builtins / sizeof builtins[0];
    return builtins;
}

const struct vt_builtin_model *vt_builtin_model_find(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (strcmp(builtins[i].name, name) == 0) {
            return &builtins[i];
        }
    }
    return NULL;
}
