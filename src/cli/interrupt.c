/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/interrupt.h"

#include <string.h>

static struct vt_load_control control;

static void on_signal(int signal_number)
{
    (void)signal_number;
    atomic_store(&control.stop, true);
}

struct vt_load_control *vt_interrupt_catch(struct vt_interrupt *interrupt)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    memset(&control, 0, sizeof control);
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, &interrupt->before[0]);
    (void)sigaction(SIGTERM, &action, &interrupt->before[1]);
    return &control;
}

void vt_interrupt_restore(const struct vt_interrupt *interrupt)
{
    (void)sigaction(SIGINT, &interrupt->before[0], NULL);
    (void)sigaction(SIGTERM, &interrupt->before[1], NULL);
}
