/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/verb_run.h"
#include "run/job.h"

#define DEFAULT_TESTS "TEST01,TEST04"

int vt_verb_audit(int argc, const char *const *argv)
{
    return vt_cli_run_verb(argc, argv, DEFAULT_TESTS);
}
