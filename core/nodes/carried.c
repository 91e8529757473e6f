/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/carried.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "core/engine/engine.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/nodes/answer.h"
#include "core/nodes/carry.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica_state.h"

enum {
    CARRIED_MOST = 4096,          /* operations that the writer has */
    CARRIED_BYTES = 64 << 20,     /* and their bytes */
    RETRY_NANOSECONDS = 20000000, /* before what failed is tried again */
};

/* An operation that the writer has. */
struct nb_carried {
    struct nb_carried *next;
    struct nb_replica *replica;
    struct nb_relayed here; /* borrows from: */
    struct nb_buffer bytes; /* the message, and behind it its id */
    struct nb_batch *batch;
    struct nb_awaited *awaited; /* borrowed; NULL: no client of this node waits */
};

/* The client's change becomes the one that was applied, whose receipt tells what it did. What that
 * borrows from the model lives as long as the client's batch. */
static void hand_over(struct nb_carried *c, struct nb_batch *to, size_t index)
{
    struct nb_submitted applied = c->batch->changes[0];
    c->batch->changes[0] = to->changes[index];
    to->changes[index] = applied;
    if (c->batch->live == to->live)
        return;
    c->batch->carried = to->carried;
    to->carried = c->batch;
    c->batch = NULL;
}

static void carried_free(struct nb_carried *c)
{
    nb_batch_free(&c->batch);
    nb_buffer_deinit(&c->bytes);
    free(c);
}

/* On the writer's thread. */
static void on_carried(struct nb_batch *batch, void *user)
{
    struct nb_carried *c = user;
    struct nb_replica *r = c->replica;
    struct nb_sent *ended = NULL;
    assert(batch == c->batch && batch->size == 1);
    const struct nb_receipt *receipt = &batch->changes[0].receipt;
    bool has_failed = nb_error_is_passing(receipt->code);
    if (receipt->code != 0 && !has_failed)
        nb_queue_note(r->settings.queue, c->here.outbox, &receipt->error);
    pthread_mutex_lock(&r->lock);
    r->carried--;
    r->carried_bytes -= c->here.message.length;
    if (has_failed) {
        *r->failed_end = c;
        r->failed_end = &c->next;
    } else if (c->awaited != NULL) {
        hand_over(c, c->awaited->sent->batch, c->awaited->index);
        ended = nb_answer_applied(r, c->awaited);
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (!has_failed)
        carried_free(c);
    nb_answer_end(ended);
}

/* Hands the change to the writer. On failure it is still the caller's. */
static int carry(struct nb_carried *c, const struct nb_operation *o, struct nb_error *error)
{
    struct nb_replica *r = c->replica;
    bool single = c->awaited != NULL && c->awaited->sent->batch->single;
    nb_batch_free(&c->batch);
    int rc = nb_carry_read(r->engine, o, &c->here, single, &c->batch, error);
    if (rc != 0)
        return rc;
    c->next = NULL;
    pthread_mutex_lock(&r->lock);
    r->carried++;
    r->carried_bytes += c->here.message.length;
    pthread_mutex_unlock(&r->lock);
    nb_relay_apply(&c->here);
    nb_engine_submit(r->engine, c->batch, on_carried, c);
    nb_relay_apply(NULL);
    return 0;
}

/* Waits, with the lock held, until the writer has no more than so much. */
static void wait_for_room(struct nb_replica *r, size_t count, size_t bytes)
{
    while (r->carried > count || r->carried_bytes > bytes)
        pthread_cond_wait(&r->changed, &r->lock);
}

void nb_carried_pause(void)
{
    const struct timespec pause = {.tv_nsec = RETRY_NANOSECONDS};
    (void)nanosleep(&pause, NULL); /* it may wake early */
}

/* All that failed; the writer has nothing then. */
static struct nb_carried *take_failed(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    if (r->failed != NULL)
        wait_for_room(r, 0, 0);
    struct nb_carried *failed = r->failed;
    r->failed = NULL;
    r->failed_end = &r->failed;
    pthread_mutex_unlock(&r->lock);
    return failed;
}

/* Those that could not be handed over. */
static void put_back(struct nb_replica *r, struct nb_carried *failed)
{
    pthread_mutex_lock(&r->lock);
    wait_for_room(r, 0, 0); /* what was handed over before these may fail again, before them */
    *r->failed_end = failed;
    while (*r->failed_end != NULL)
        r->failed_end = &(*r->failed_end)->next;
    pthread_mutex_unlock(&r->lock);
}

void nb_carried_retry(struct nb_replica *r)
{
    struct nb_carried *c = take_failed(r);
    if (c == NULL)
        return;
    nb_carried_pause();
    while (c != NULL) {
        struct nb_carried *next = c->next;
        struct nb_operation o;
        int rc = nb_operation_read(&o, c->here.message, NULL);
        if (rc == 0)
            rc = carry(c, &o, NULL);
        if (rc != 0) {
            put_back(r, c);
            return;
        }
        c = next;
    }
}

int nb_carried_settle(struct nb_replica *r)
{
    for (;;) {
        pthread_mutex_lock(&r->lock);
        wait_for_room(r, 0, 0);
        bool is_done = r->failed == NULL;
        pthread_mutex_unlock(&r->lock);
        if (is_done)
            return 0;
        if (atomic_load(&r->is_stopping))
            return NB_STOPPING;
        nb_carried_retry(r);
    }
}

/* ---- new ones -------------------------------------------------------------------------------- */

int nb_carried_add(struct nb_replica *r, const struct nb_operation *o,
                   const struct nb_relayed *here, struct nb_awaited *awaited,
                   struct nb_error *error)
{
    struct nb_string message = here->message, id = here->message_id;
    struct nb_carried *c = calloc(1, sizeof *c);
    if (c == NULL)
        return nb_error_no_memory(error);
    *c = (struct nb_carried){.replica = r, .here = *here, .awaited = awaited};
    int rc = nb_buffer_append(&c->bytes, message.bytes, message.length);
    if (rc == 0)
        rc = nb_buffer_append(&c->bytes, id.bytes, id.length);
    c->here.message.bytes = c->bytes.bytes;
    c->here.message_id.bytes = c->bytes.bytes + message.length;
    if (rc == 0)
        rc = carry(c, o, error);
    if (rc != 0)
        carried_free(c);
    return rc;
}

void nb_carried_wait(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    wait_for_room(r, CARRIED_MOST, CARRIED_BYTES);
    pthread_mutex_unlock(&r->lock);
}

void nb_carried_drop(struct nb_replica *r, const struct nb_error *why)
{
    pthread_mutex_lock(&r->lock);
    wait_for_room(r, 0, 0);
    struct nb_carried *failed = r->failed;
    r->failed = NULL;
    pthread_mutex_unlock(&r->lock);
    while (failed != NULL) { /* the next start gets it from the stream */
        struct nb_carried *next = failed->next;
        nb_answer_errand(r, failed->awaited, NULL, why);
        carried_free(failed);
        failed = next;
    }
}
