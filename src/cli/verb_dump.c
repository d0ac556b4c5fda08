/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "cli/cli.h"
#include "result/records.h"

int vt_verb_dump(int argc, const char *const *argv)
{
    struct vt_error err = VT_ERROR_INIT;

    if (argc != 2 || argv[1][0] == '-') {
        return vt_cli_usage("dump: one records file is needed, as in 'vatio dump "
                            "runs/…/server/performance/run_1/records.vtr > records.csv'");
    }
    /* `vatio dump … | head` is no error: end quietly when the reader has seen enough. */
    (void)signal(SIGPIPE, SIG_DFL);
    if (vt_records_dump(argv[1], stdout, &err) != VT_OK) {
        return vt_cli_fail(&err);
    }
    return 0;
}
