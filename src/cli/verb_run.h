/* SPDX-License-Identifier: Apache-2.0 */
/* One run with everything that is printed around it: shared by `vatio run` and `vatio job`. */
#ifndef VT_CLI_VERB_RUN_H
#define VT_CLI_VERB_RUN_H

#include "base/options.h"

/* `options` is filled from vt_job_options(). Returns the exit code. */
int vt_cli_run_job(const struct vt_options *options, const char *model);

#endif
