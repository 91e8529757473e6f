/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static void awaited(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

void nb_milter_signals_block(void)
{
    sigset_t signals;
    awaited(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* fails for an invalid set only */
}

static int wait_for(const sigset_t *signals)
{
    int number;
    do
        number = sigwaitinfo(signals, NULL);
    while (number < 0 && errno == EINTR);
    return number;
}

int nb_milter_signals_next(void)
{
    sigset_t signals;
    awaited(&signals);
    return wait_for(&signals);
}

/* For libmilter; see the header. */
int sigwait(const sigset_t *set, int *sig)
{
    sigset_t signals = *set;
    sigdelset(&signals, SIGHUP);
    *sig = wait_for(&signals);
    return *sig > 0 ? 0 : errno;
}
