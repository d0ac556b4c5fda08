/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine and a workload for tests of the sut: sample i is {i, 1, 2, 3}, the model sums it, the
 * response is the sum as a float. The engine misbehaves on demand.
 */
#ifndef VT_TEST_SUT_DOUBLES_H
#define VT_TEST_SUT_DOUBLES_H

#include "core/workload.h"
#include "vatio/engine.h"

enum fault {
    FAULT_NONE,
    FAULT_ERROR_EVENT,   /* every request ends with an error event */
    FAULT_SILENT,        /* no request is ever answered */
    FAULT_TWICE,         /* every request is answered twice */
    FAULT_WAIT_FAILS,    /* the lane breaks */
    FAULT_SUBMIT_FAILS,  /* nothing is taken */
    FAULT_WRONG_ROWS,    /* the output has a row too many */
    FAULT_WRONG_OUTPUTS, /* no outputs at all */
    FAULT_TOKENS,        /* none: two partial events before each answer; 3, 4, … tokens */
};

struct fake_engine {
    enum fault fault;
    _Atomic uint32_t largest_request; /* seen */
    int64_t compute_ns;               /* of a request, spent asleep */
};

extern const struct vt_engine_ops fake_engine_ops;
extern const struct vt_workload_ops fake_workload_ops;
extern const struct vt_signature fake_signature;

#endif
