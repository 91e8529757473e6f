/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/answer.h"

#include <assert.h>
#include <stdlib.h>

#include "core/nodes/replica_state.h"
#include "core/writer/stage/batch.h"

struct nb_sent *nb_answer_count_down(struct nb_sent *sent)
{
    assert(sent->left > 0);
    return --sent->left == 0 ? sent : NULL;
}

void nb_answer_end(struct nb_sent *sent)
{
    if (sent == NULL)
        return;
    sent->done(sent->batch, sent->user);
    free(sent);
}

/* Ends the wait: it was made, or `why` it was not. What it made is with the client already. With
 * the lock held. */
static struct nb_sent *end(struct nb_replica *r, struct nb_awaited *awaited,
                           const struct nb_error *why)
{
    struct nb_sent *ended = NULL;
    nb_awaiting_remove(&r->awaiting, awaited);
    if (awaited->sent != NULL) {
        struct nb_receipt *receipt = &awaited->sent->batch->changes[awaited->index].receipt;
        if (why != NULL) {
            receipt->code = why->code;
            receipt->error = *why;
        }
        ended = nb_answer_count_down(awaited->sent);
    } else {
        assert(awaited->asked != NULL);
        if (why != NULL) {
            awaited->asked->code = why->code;
            awaited->asked->error = *why;
        }
        awaited->asked->is_done = true;
        pthread_cond_broadcast(&r->changed);
    }
    free(awaited);
    return ended;
}

struct nb_sent *nb_answer_applied(struct nb_replica *r, struct nb_awaited *awaited)
{
    return end(r, awaited, NULL);
}

void nb_answer_refuse(struct nb_replica *r, struct nb_string id, const struct nb_error *why)
{
    struct nb_sent *ended = NULL;
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = nb_awaiting_find(&r->awaiting, id);
    if (awaited != NULL && !awaited->is_held)
        ended = end(r, awaited, why);
    pthread_mutex_unlock(&r->lock);
    nb_answer_end(ended);
}

void nb_answer_expire(struct nb_replica *r, uint64_t now, const struct nb_error *why)
{
    for (;;) {
        struct nb_sent *ended = NULL;
        pthread_mutex_lock(&r->lock);
        struct nb_awaited *awaited = nb_awaiting_expired(&r->awaiting, now);
        if (awaited != NULL)
            ended = end(r, awaited, why);
        pthread_mutex_unlock(&r->lock);
        if (awaited == NULL)
            return;
        nb_answer_end(ended);
    }
}

void nb_answer_errand(struct nb_replica *r, struct nb_awaited *awaited,
                      const struct nb_errand_done *done, const struct nb_error *why)
{
    struct nb_sent *ended = NULL;
    if (awaited == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    if (awaited->asked != NULL && done != NULL)
        awaited->asked->done = *done;
    ended = done != NULL ? nb_answer_applied(r, awaited) : end(r, awaited, why);
    pthread_mutex_unlock(&r->lock);
    nb_answer_end(ended);
}
