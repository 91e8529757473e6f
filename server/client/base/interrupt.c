/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/interrupt.h"

#include <signal.h>

static volatile sig_atomic_t was_interrupted; /* set by the signal handler */

static void note_signal(int number)
{
    (void)number;
    was_interrupted = 1;
}

void nb_interrupt_catch(bool again_kills)
{
    struct sigaction action = {.sa_handler = note_signal,
                               .sa_flags = again_kills ? (int)SA_RESETHAND : 0};
    (void)sigaction(SIGINT, &action, NULL);
    if (!again_kills)
        (void)sigaction(SIGTERM, &action, NULL);
}

int nb_interrupt_check(struct nb_error *error)
{
    return was_interrupted == 0 ? 0 : nb_error_set(error, NB_STOPPING, "interrupted");
}
