/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a tensor as a number, whatever its type. */
#ifndef VT_WORKLOAD_ELEMENT_H
#define VT_WORKLOAD_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "vatio/tensor.h"

/* Real numbers and booleans: what the two functions below can handle. */
bool vt_element_is_real(enum vt_dtype dtype);
bool vt_element_is_integer(enum vt_dtype dtype);
/* Element `i`; 64-bit integers beyond 2^53 lose their last bits. */
double vt_element_get(enum vt_dtype dtype, const void *data, size_t i);
/* Stores `value`, which is in the range of the type; floating types round to nearest even. */
void vt_element_set(enum vt_dtype dtype, void *data, size_t i, double value);

#endif
