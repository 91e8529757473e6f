/* SPDX-License-Identifier: Apache-2.0
 *
 * A client gets its answer when its message is in the stream, on the database's disk, and applied
 * and on this node's disk, too.
 */
#include "core/nodes/outgoing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/base/pack.h"
#include "core/engine/engine.h"
#include "core/model/live/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica_state.h"

enum { LOOK_NANOSECONDS = 1000000, EXPIRE_EVERY = 250000000 /* nanoseconds */ };

/* A batch whose changes were published. */
struct sent {
    struct nb_batch *batch; /* the client's */
    void (*done)(struct nb_batch *, void *);
    void *user;
    size_t left; /* changes without an answer */
};

/* A change of a model that was published; its client's thread waits. */
struct asked {
    bool is_done;
    struct nb_relayed_change_done done;
    struct nb_error why; /* code not 0: it failed */
};

/* A message that a client waits for. */
struct nb_awaited {
    struct nb_awaited *next;
    char id[NB_MESSAGE_ID_MOST];
    uint64_t until;      /* nb_clock_monotonic */
    struct sent *sent;   /* of a change, with ... */
    size_t index;        /* ... its place in the batch; */
    struct asked *asked; /* or of a change of a model */
};

/* ---- waiting clients ------------------------------------------------------------------------- */

static struct nb_awaited **bucket_of(struct nb_replica *r, struct nb_string id)
{
    return &r->awaited[XXH3_64bits(id.bytes, id.length) % NB_AWAITED_BUCKETS];
}

/* Adds an awaited message and makes its id; NULL: out of memory. With the lock held. */
static struct nb_awaited *await(struct nb_replica *r, char id[NB_MESSAGE_ID_MOST])
{
    struct nb_awaited *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->until = nb_clock_monotonic() + r->settings.patience;
    (void)snprintf(id, NB_MESSAGE_ID_MOST, "%016" PRIx64 "-%" PRIx64, r->instance, r->published++);
    memcpy(a->id, id, sizeof a->id);
    struct nb_awaited **bucket = bucket_of(r, nb_string_of(id));
    a->next = *bucket;
    *bucket = a;
    return a;
}

/* Returns the link to the awaited message with this id, or to NULL. With the lock held. */
static struct nb_awaited **find(struct nb_replica *r, struct nb_string id)
{
    struct nb_awaited **at = bucket_of(r, id);
    while (*at != NULL && !nb_string_equals(id, (*at)->id))
        at = &(*at)->next;
    return at;
}

/* Notes that one change of the batch has its answer. Returns the batch's record if it was the last
 * change; the caller then ends the record, without the lock. With the lock held. */
static struct sent *count_down(struct sent *sent)
{
    assert(sent->left > 0);
    return --sent->left == 0 ? sent : NULL;
}

static void end_batch(struct sent *sent)
{
    if (sent == NULL)
        return;
    sent->done(sent->batch, sent->user);
    free(sent);
}

static void refuse(struct nb_receipt *receipt, const struct nb_error *why)
{
    receipt->code = why->code;
    receipt->error = *why;
}

/* Replaces the client's change by the applied one, whose receipt has its outcome. The data that it
 * borrows from the model live as long as the client's batch. */
static void hand_over(struct nb_batch **from, struct nb_batch *to, size_t index)
{
    struct nb_submitted applied = (*from)->changes[0];
    (*from)->changes[0] = to->changes[index];
    to->changes[index] = applied;
    if ((*from)->live == to->live)
        return;
    (*from)->carried = to->carried;
    to->carried = *from;
    *from = NULL;
}

/* Removes an awaited message from the list and answers it. Returns as count_down. With the lock
 * held. */
static struct sent *answer(struct nb_replica *r, struct nb_awaited **at,
                           const struct nb_answer *given)
{
    struct nb_awaited *a = *at;
    struct sent *ended = NULL;
    const struct nb_error *why = given->why;
    struct nb_error other;
    if (why == NULL && (a->sent != NULL ? given->batch == NULL : given->done == NULL)) {
        (void)nb_error_set(&other, NB_CONFLICT,
                           "the database has something else under the id of this change: who but "
                           "nodes may write its tables?");
        why = &other;
    }
    *at = a->next;
    if (a->sent != NULL) {
        if (why != NULL)
            refuse(&a->sent->batch->changes[a->index].receipt, why);
        else
            hand_over(given->batch, a->sent->batch, a->index);
        ended = count_down(a->sent);
    } else {
        if (why != NULL)
            a->asked->why = *why;
        else
            a->asked->done = *given->done;
        a->asked->is_done = true;
        pthread_cond_broadcast(&r->changed);
    }
    free(a);
    return ended;
}

void nb_outgoing_answer(struct nb_replica *r, struct nb_string id, const struct nb_answer *given)
{
    struct sent *ended = NULL;
    pthread_mutex_lock(&r->lock);
    struct nb_awaited **at = find(r, id);
    if (*at != NULL)
        ended = answer(r, at, given);
    pthread_mutex_unlock(&r->lock);
    end_batch(ended);
}

void nb_outgoing_expire(struct nb_replica *r, uint64_t now, const struct nb_error *why)
{
    if (now < r->expire_at)
        return;
    r->expire_at = now + EXPIRE_EVERY;
    for (size_t i = 0; i < NB_AWAITED_BUCKETS;) {
        struct sent *ended = NULL;
        pthread_mutex_lock(&r->lock);
        struct nb_awaited **at = &r->awaited[i];
        while (*at != NULL && (*at)->until > now)
            at = &(*at)->next;
        if (*at != NULL)
            ended = answer(r, at, &(struct nb_answer){.why = why});
        else
            i++;
        pthread_mutex_unlock(&r->lock);
        end_batch(ended);
    }
}

bool nb_outgoing_is_single(struct nb_replica *r, struct nb_string id)
{
    pthread_mutex_lock(&r->lock);
    const struct nb_awaited *a = *find(r, id);
    bool is_single = a != NULL && a->sent != NULL && a->sent->batch->single;
    pthread_mutex_unlock(&r->lock);
    return is_single;
}

/* ---- requests to this node ------------------------------------------------------------------- */

int nb_outgoing_publish(struct nb_replica *r, const char *id, struct nb_string message, bool lasts,
                        struct nb_error *error)
{
    if (atomic_load(&r->is_stopping))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    int rc = nb_operation_check(message, r->settings.message_most, error);
    return rc != 0 ? rc : r->settings.publish(r->settings.user, id, message, lasts, error);
}

/* Publishes an awaited message; after a failure answers it at once with the error. */
static void publish_awaited(struct nb_replica *r, const char *id, const struct nb_buffer *message)
{
    struct nb_error why = {0};
    if (nb_outgoing_publish(r, id, nb_buffer_string(message), false, &why) != 0)
        nb_outgoing_answer(r, nb_string_of(id), &(struct nb_answer){.why = &why});
}

/* Publishes one change of a batch; on failure its receipt says why. */
static void submit_one(struct nb_replica *r, struct sent *sent, size_t index, int64_t now)
{
    struct nb_buffer message = {0};
    struct nb_error why = {0};
    struct sent *ended = NULL;
    char id[NB_MESSAGE_ID_MOST];
    int rc = nb_operation_write_change(sent->batch, index, now, 0, &message, &why);
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = rc == 0 ? await(r, id) : NULL;
    if (awaited != NULL) {
        awaited->sent = sent;
        awaited->index = index;
    } else {
        if (rc == 0)
            (void)nb_error_no_memory(&why);
        refuse(&sent->batch->changes[index].receipt, &why);
        ended = count_down(sent);
    }
    pthread_mutex_unlock(&r->lock);
    if (awaited != NULL)
        publish_awaited(r, id, &message);
    nb_buffer_deinit(&message);
    end_batch(ended);
}

static int submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                  void *done_user, struct nb_error *error)
{
    struct nb_replica *r = user;
    if (nb_queue_takes(r->settings.queue, r->settings.stream))
        return nb_queue_submit(r->settings.queue, r->settings.stream, batch,
                               r->settings.message_most, done, done_user, error);
    struct sent *sent = malloc(sizeof *sent);
    int64_t now = nb_clock_now();
    if (sent == NULL)
        return nb_error_no_memory(error);
    /* One more than the changes: the batch stays here until all of them are published. */
    *sent = (struct sent){batch, done, done_user, batch->size + 1};
    for (size_t i = 0; i < batch->size; i++)
        submit_one(r, sent, i, now);
    pthread_mutex_lock(&r->lock);
    struct sent *ended = count_down(sent);
    pthread_mutex_unlock(&r->lock);
    end_batch(ended);
    return 0;
}

static int write_relayed_change(const struct nb_relayed_change *relayed_change,
                                struct nb_buffer *out)
{
    struct nb_operation o = {.kind = NB_OPERATION_RELAYED + (unsigned)relayed_change->kind,
                             .relayed_change = *relayed_change,
                             .change.relayed.time = nb_clock_now()};
    return nb_operation_write(&o, out);
}

static int ask(void *user, const struct nb_relayed_change *relayed_change,
               struct nb_relayed_change_done *done, struct nb_error *error)
{
    struct nb_replica *r = user;
    struct asked asked = {.is_done = false};
    struct nb_buffer message = {0};
    char id[NB_MESSAGE_ID_MOST];
    if (nb_queue_takes(r->settings.queue, r->settings.stream)) /* the request would overtake them */
        return nb_error_set(error, NB_STOPPING,
                            "the database is away, or changes are queued that were asked "
                            "for before: send this one again later");
    if (write_relayed_change(relayed_change, &message) != 0)
        return nb_error_no_memory(error);
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = await(r, id);
    if (awaited != NULL)
        awaited->asked = &asked;
    pthread_mutex_unlock(&r->lock);
    if (awaited != NULL)
        publish_awaited(r, id, &message);
    nb_buffer_deinit(&message);
    if (awaited == NULL)
        return nb_error_no_memory(error);
    pthread_mutex_lock(&r->lock);
    while (!asked.is_done) /* the follower ends the wait at the latest (nb_replica_tick) */
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (asked.why.code != 0)
        return nb_error_set(error, asked.why.code, "%s", asked.why.text);
    *done = asked.done;
    return 0;
}

/* Waits for all that is in the stream now: it has every change that a node has confirmed. */
static int catch_up(void *user, struct nb_error *error)
{
    struct nb_replica *r = user;
    const struct timespec pause = {.tv_nsec = LOOK_NANOSECONDS};
    uint64_t last, until = nb_clock_monotonic() + r->settings.patience;
    int rc = r->settings.look(r->settings.user, &last, error);
    while (rc == 0 && atomic_load(&r->place->applied) < last) {
        if (nb_clock_monotonic() > until || atomic_load(&r->is_stopping))
            return nb_error_set(error, NB_STOPPING,
                                "this node does not have all changes of the others yet: send this "
                                "one again later");
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return rc;
}

static bool lacks(void *user)
{
    struct nb_replica *r = user;
    uint64_t last;
    return !r->settings.is_there(r->settings.user, &last) || atomic_load(&r->place->applied) < last;
}

/* ---- changes that the writer finds due ------------------------------------------------------- */

/* Publishes a change that all nodes find due, with an id made from the change and the time.
 */
static int propose_message(struct nb_replica *r, struct nb_string name, uint64_t what, uint64_t of,
                           const struct nb_buffer *message)
{
    struct nb_buffer content = {0};
    struct nb_packer w = {.out = &content};
    char id[NB_CONTENT_ID_LENGTH + 1];
    nb_pack_string(&w, name);
    nb_pack_varint(&w, what);
    nb_pack_varint(&w, of);
    nb_pack_varint(&w, (uint64_t)(nb_clock_now() / r->settings.same_for));
    if (w.code == 0) {
        nb_key_content_id(&r->engine->key, 0xFF, content.bytes, content.length, id);
        w.code = nb_outgoing_publish(r, id, nb_buffer_string(message), false, NULL);
    }
    nb_buffer_deinit(&content);
    return w.code;
}

/* Proposes a change; if it is not published now, the writer finds it again. */
static void propose(void *user, const struct nb_batch *batch)
{
    struct nb_replica *r = user;
    int64_t now = nb_clock_now();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < batch->size; i++) {
        const struct nb_submitted *c = &batch->changes[i];
        struct nb_buffer message = {0};
        uint64_t last = c->taken != 0 ? 0 : batch->live->checkpoint.last;
        rc = nb_operation_write_change(batch, i, now, last, &message, NULL);
        if (rc == 0)
            rc = propose_message(r, nb_buffer_string(&batch->name), 0,
                                 c->taken != 0 ? c->taken : last, &message);
        nb_buffer_deinit(&message);
    }
}

static void propose_relayed_change(void *user, const struct nb_relayed_change *relayed_change)
{
    struct nb_replica *r = user;
    struct nb_buffer message = {0};
    if (write_relayed_change(relayed_change, &message) == 0)
        (void)propose_message(r, relayed_change->model, 1 + (uint64_t)relayed_change->kind,
                              relayed_change->last, &message);
    nb_buffer_deinit(&message);
}

struct nb_relay nb_outgoing_relay(struct nb_replica *replica)
{
    return (struct nb_relay){
        replica, submit, ask, catch_up, lacks, propose, propose_relayed_change};
}
