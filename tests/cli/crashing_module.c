/* SPDX-License-Identifier: Apache-2.0 */
/* A module that takes its process down as soon as it is loaded. */
#include <signal.h>

__attribute__((constructor)) static void crash(void)
{
    (void)raise(SIGSEGV);
}
