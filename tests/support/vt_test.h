/* SPDX-License-Identifier: Apache-2.0 */
/* What every test program includes: cmocka with what it needs before it. */
#ifndef VT_TEST_H
#define VT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The exit code that CTest reports as skipped. */
#define VT_TEST_SKIPPED 77

/*
 * The folder of real models and data that VATIO_TEST_DATA names. When it is unset, says so and
 * ends the program as skipped: call it first in main().
 */
static inline const char *vt_test_data_or_skip(void)
{
    const char *folder = getenv("VATIO_TEST_DATA");
    if (folder == NULL || folder[0] == '\0') {
        printf("skipped: VATIO_TEST_DATA is not set\n");
        exit(VT_TEST_SKIPPED);
    }
    return folder;
}

#endif
