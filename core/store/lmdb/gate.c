/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/lmdb/gate.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

void nb_gate_init(struct nb_gate *gate)
{
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
    gate->inside = 0;
    atomic_init(&gate->closed, false);
}

void nb_gate_deinit(struct nb_gate *gate)
{
    assert(gate->inside == 0);
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

static struct timespec in_seconds(unsigned seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    return until;
}

static bool wait_for_change(struct nb_gate *gate, const struct timespec *until)
{
    return pthread_cond_clockwait(&gate->changed, &gate->lock, CLOCK_MONOTONIC, until) != ETIMEDOUT;
}

bool nb_gate_pass(struct nb_gate *gate, unsigned seconds)
{
    struct timespec until = in_seconds(seconds);
    bool in_time = true;
    pthread_mutex_lock(&gate->lock);
    while (atomic_load(&gate->closed) && in_time)
        in_time = wait_for_change(gate, &until);
    bool passed = !atomic_load(&gate->closed);
    gate->inside += passed;
    pthread_mutex_unlock(&gate->lock);
    return passed;
}

void nb_gate_leave(struct nb_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    assert(gate->inside > 0);
    if (--gate->inside == 0)
        pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

bool nb_gate_close(struct nb_gate *gate, unsigned seconds)
{
    struct timespec until = in_seconds(seconds);
    bool in_time = true;
    pthread_mutex_lock(&gate->lock);
    assert(!atomic_load(&gate->closed));
    atomic_store(&gate->closed, true);
    while (gate->inside > 0 && in_time)
        in_time = wait_for_change(gate, &until);
    bool alone = gate->inside == 0;
    if (!alone) {
        atomic_store(&gate->closed, false);
        pthread_cond_broadcast(&gate->changed);
    }
    pthread_mutex_unlock(&gate->lock);
    return alone;
}

void nb_gate_open(struct nb_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    assert(atomic_load(&gate->closed) && gate->inside == 0);
    atomic_store(&gate->closed, false);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
