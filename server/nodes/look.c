/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/look.h"

#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "server/nodes/nodes_state.h"

void nb_look_wake(struct nb_lane *l)
{
    const uint64_t one = 1;
    if (write(l->wake, &one, sizeof one) < 0)
        return; /* it is awake already */
}

int nb_look_ask(void *user, uint64_t *last, struct nb_error *error)
{
    struct nb_lane *l = user;
    struct timespec until;
    int rc = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* it cannot fail */
    until.tv_sec += (time_t)l->nodes->config->nodes_patience;
    pthread_mutex_lock(&l->lock);
    uint64_t ticket = ++l->asked;
    nb_look_wake(l);
    while (l->answered < ticket && rc == 0 && atomic_load(&l->is_following))
        rc = pthread_cond_clockwait(&l->changed, &l->lock, CLOCK_MONOTONIC, &until);
    bool is_answered = l->answered >= ticket;
    pthread_mutex_unlock(&l->lock);
    *last = atomic_load(&l->last);
    return is_answered ? 0
                       : nb_error_set(error, NB_STOPPING,
                                      "the database is away, which has the changes of the other "
                                      "nodes: send this one again later");
}

bool nb_look_is_there(void *user, uint64_t *last)
{
    struct nb_lane *l = user;
    *last = atomic_load(&l->last);
    return atomic_load(&l->is_following);
}

uint64_t nb_look_asked(struct nb_lane *l)
{
    pthread_mutex_lock(&l->lock);
    uint64_t asked = l->asked;
    pthread_mutex_unlock(&l->lock);
    return asked;
}

void nb_look_answer(struct nb_lane *l, uint64_t asked)
{
    pthread_mutex_lock(&l->lock);
    l->answered = asked;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}
