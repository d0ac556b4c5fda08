/* SPDX-License-Identifier: Apache-2.0 */
/* One run with everything that is printed around it: shared by `vatio run` and `vatio job`. */
#ifndef VT_CLI_VERB_RUN_H
#define VT_CLI_VERB_RUN_H

#include "base/options.h"

/* `options` is filled from vt_job_options(). Returns the exit code. */
int vt_cli_run_job(const struct vt_options *options, const char *model);

/* A verb that measures one model: `run` without tests, `audit` with those that it makes unless
 * others are asked for. argv[0] is the verb. */
int vt_cli_run_verb(int argc, const char *const *argv, const char *default_tests);

#endif
