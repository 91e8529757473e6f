/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages that a replica publishes: changes that clients request from this node, and changes
 * that the writer finds due. They wait for the follower. A client gets its answer when its message
 * is in the stream, on the database's disk, and applied on this node, on its disk.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/buffer.h"
#include "core/base/key.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/model/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"

enum { LOOK_NANOSECONDS = 1000000 };

/* A request of a client that waits for its answers. */
struct sent {
    struct nb_batch *batch; /* the client's changes of documents; NULL: a change of a model */
    void (*done)(struct nb_batch *, void *);
    void *user;
    size_t left;                        /* changes without an answer */
    struct nb_relayed_change_done made; /* of a change of a model; or ... */
    struct nb_error why;                /* ... code not 0: why it failed */
};

/* A message of this node, until it is answered. */
struct nb_awaited {
    char id[NB_MESSAGE_ID_MOST];
    struct nb_buffer message; /* empty once the message is sent */
    uint64_t until;           /* end of the client's patience, nb_clock_monotonic */
    struct sent *sent;        /* NULL: no client waits */
    size_t index;             /* of the change in the batch */
};

/* ---- messages that wait; call with the lock held --------------------------------------------- */

static struct nb_awaited **slot_of(struct nb_replica *r, uint64_t number)
{
    return &r->awaited[number % NB_AWAITED_MOST];
}

static void drop(struct nb_replica *r, struct nb_awaited **slot)
{
    nb_buffer_deinit(&(*slot)->message);
    free(*slot);
    *slot = NULL;
    while (r->first < r->next && *slot_of(r, r->first) == NULL)
        r->first++;
}

/* Returns the slot of the message with this id, or NULL. */
static struct nb_awaited **find(struct nb_replica *r, struct nb_string id)
{
    uint64_t instance, number;
    if (!nb_message_id_read(id, 'n', &instance, &number) || instance != r->instance ||
        number < r->first || number >= r->next)
        return NULL;
    struct nb_awaited **slot = slot_of(r, number);
    return *slot != NULL && nb_string_equals(id, (*slot)->id) ? slot : NULL;
}

/* Notes that one change has its answer. If it was the last one of a batch, returns `sent`: the
 * caller then ends the batch, without the lock. Else returns NULL. */
static struct sent *count_down(struct sent *sent)
{
    assert(sent->left > 0);
    return --sent->left == 0 && sent->batch != NULL ? sent : NULL;
}

static int check(struct nb_replica *r, struct nb_error *error)
{
    int stream = atomic_load(&r->stream);
    if (stream == NB_REPLICA_FORBIDDEN)
        return nb_error_set(error, NB_STOPPING,
                            "this node does not follow the others any more: see /readyz, and ask "
                            "another node");
    if (stream == NB_REPLICA_AWAY)
        return nb_error_set(error, NB_STOPPING,
                            "the database is away: nothing is learned until it is back; send the "
                            "change again later");
    return r->next - r->first < NB_AWAITED_MOST
               ? 0
               : nb_error_set(error, NB_BUSY,
                              "too many changes wait for the database: send it again later");
}

/* ---- answers --------------------------------------------------------------------------------- */

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

/* Replaces the client's change by the applied one, whose receipt has the outcome. Data that it
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

/* Removes a message and answers it, as nb_outgoing_answer says. Returns as count_down. With the
 * lock held. */
static struct sent *answer(struct nb_replica *r, struct nb_awaited **slot, struct nb_batch **batch,
                           const struct nb_relayed_change_done *made, const struct nb_error *why)
{
    struct sent *sent = (*slot)->sent, *ended = NULL;
    struct nb_error other;
    if (sent != NULL) {
        if (why == NULL && (sent->batch != NULL ? batch == NULL : made == NULL)) {
            (void)nb_error_set(&other, NB_CONFLICT,
                               "the database has something else under the id of this change: who "
                               "but nodes may write its tables?");
            why = &other;
        }
        if (sent->batch == NULL && why != NULL)
            sent->why = *why;
        else if (sent->batch == NULL)
            sent->made = *made;
        else if (why != NULL)
            refuse(&sent->batch->changes[(*slot)->index].receipt, why);
        else
            hand_over(batch, sent->batch, (*slot)->index);
        ended = count_down(sent);
        pthread_cond_broadcast(&r->changed);
    }
    drop(r, slot);
    return ended;
}

void nb_outgoing_answer(struct nb_replica *r, struct nb_string id, struct nb_batch **batch,
                        const struct nb_relayed_change_done *made, const struct nb_error *why)
{
    pthread_mutex_lock(&r->lock);
    struct nb_awaited **slot = find(r, id);
    struct sent *ended = slot == NULL ? NULL : answer(r, slot, batch, made, why);
    pthread_mutex_unlock(&r->lock);
    end_batch(ended);
}

/* All messages may wait equally long, so the time of the first one ends first. */
void nb_outgoing_expire(struct nb_replica *r, uint64_t now, const char *why)
{
    struct nb_error stopping;
    (void)nb_error_set(&stopping, NB_STOPPING, "%s", why);
    for (bool is_over = true; is_over;) {
        pthread_mutex_lock(&r->lock);
        struct nb_awaited **slot = slot_of(r, r->first);
        is_over = *slot != NULL && (*slot)->until <= now;
        struct sent *ended = is_over ? answer(r, slot, NULL, NULL, &stopping) : NULL;
        pthread_mutex_unlock(&r->lock);
        end_batch(ended);
    }
}

bool nb_outgoing_is_single(struct nb_replica *r, struct nb_string id)
{
    pthread_mutex_lock(&r->lock);
    struct nb_awaited **slot = find(r, id);
    struct sent *sent = slot == NULL ? NULL : (*slot)->sent;
    bool is_single = sent != NULL && sent->batch != NULL && sent->batch->single;
    pthread_mutex_unlock(&r->lock);
    return is_single;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Returns the number of the first message that is not sent. With the lock held. */
static uint64_t first_unsent(const struct nb_replica *r)
{
    return r->sent > r->first ? r->sent : r->first;
}

size_t nb_replica_take(struct nb_replica *r, nb_replica_visit *visit, void *user)
{
    uint64_t at;
    r->taken = r->taken_bytes = 0;
    pthread_mutex_lock(&r->lock);
    for (at = first_unsent(r);
         at < r->next && r->taken < NB_TAKEN_MOST && r->taken_bytes < NB_TAKEN_BYTES; at++) {
        const struct nb_awaited *a = *slot_of(r, at);
        if (a == NULL)
            continue;
        visit(user, nb_string_of(a->id), nb_buffer_string(&a->message));
        r->taken_bytes += a->message.length;
        r->taken++;
    }
    pthread_mutex_unlock(&r->lock);
    r->taken_end = at;
    r->is_taken_queued = r->taken == 0;
    if (r->is_taken_queued)
        nb_queue_take(r, visit, user);
    return r->taken;
}

/* Messages of the queue are dropped there only when they were delivered to this node, because the
 * database could still lose them. */
void nb_replica_sent(struct nb_replica *r, size_t delivered)
{
    if (r->is_taken_queued) {
        if (delivered >= r->taken)
            nb_queue_drop(r);
        return;
    }
    pthread_mutex_lock(&r->lock);
    for (uint64_t at = first_unsent(r); at < r->taken_end; at++) {
        struct nb_awaited **slot = slot_of(r, at);
        if (*slot != NULL && (*slot)->sent == NULL)
            drop(r, slot);
        else if (*slot != NULL)
            nb_buffer_deinit(&(*slot)->message);
    }
    r->sent = r->taken_end;
    pthread_mutex_unlock(&r->lock);
}

/* Adds an operation to the messages that wait to be published. With `id` NULL it gets a new id of
 * this replica. */
static int publish(struct nb_replica *r, const char *id, const struct nb_operation *o,
                   struct sent *sent, size_t index, struct nb_error *error)
{
    struct nb_awaited *a = calloc(1, sizeof *a);
    if (a == NULL)
        return nb_error_no_memory(error);
    *a = (struct nb_awaited){.sent = sent, .index = index};
    int rc = nb_operation_write(o, &a->message, error);
    pthread_mutex_lock(&r->lock);
    if (rc == 0)
        rc = check(r, error);
    if (rc == 0) {
        if (id != NULL)
            (void)snprintf(a->id, sizeof a->id, "%s", id);
        else
            nb_message_id('n', r->instance, r->next, a->id);
        a->until = nb_clock_monotonic() + r->settings.patience;
        *slot_of(r, r->next++) = a;
    }
    pthread_mutex_unlock(&r->lock);
    if (rc == 0) {
        r->settings.wake(r->settings.user);
        return 0;
    }
    nb_buffer_deinit(&a->message);
    free(a);
    return rc;
}

/* ---- requests to this node ------------------------------------------------------------------- */

/* Whether new changes of documents go to the queue: also after others that still wait there. */
static bool is_queued(struct nb_replica *r)
{
    int stream = atomic_load(&r->stream);
    return stream == NB_REPLICA_THERE ? atomic_load(&r->queued) > 0
                                      : stream == NB_REPLICA_AWAY && r->settings.queue_entries > 0;
}

static void count_one(struct nb_replica *r, struct sent *sent)
{
    pthread_mutex_lock(&r->lock);
    struct sent *ended = count_down(sent);
    pthread_mutex_unlock(&r->lock);
    end_batch(ended);
}

static int submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                  void *done_user, struct nb_error *error)
{
    struct nb_replica *r = user;
    if (is_queued(r))
        return nb_queue_submit(r, batch, done, done_user, error);
    struct sent *sent = malloc(sizeof *sent);
    if (sent == NULL)
        return nb_error_no_memory(error);
    /* Counts one more than the changes, so that the batch does not end before all are published. */
    *sent = (struct sent){.batch = batch, .done = done, .user = done_user, .left = batch->size + 1};
    for (size_t i = 0; i < batch->size; i++) {
        struct nb_operation o;
        struct nb_error why = {0};
        int rc = nb_operation_of_change(batch, i, 0, &o, &why);
        if (rc == 0)
            rc = publish(r, NULL, &o, sent, i, &why);
        if (rc != 0) {
            refuse(&batch->changes[i].receipt, &why);
            count_one(r, sent);
        }
    }
    count_one(r, sent);
    return 0;
}

static struct nb_operation operation_of(const struct nb_relayed_change *relayed_change)
{
    return (struct nb_operation){.relayed_change = *relayed_change,
                                 .change.relayed.time = nb_clock_now()};
}

static int ask(void *user, const struct nb_relayed_change *relayed_change,
               struct nb_relayed_change_done *done, struct nb_error *error)
{
    struct nb_replica *r = user;
    struct sent asked = {.left = 1};
    struct nb_operation o = operation_of(relayed_change);
    if (is_queued(r)) /* the request would overtake the queued changes */
        return nb_error_set(error, NB_STOPPING,
                            "the database is away, or changes are queued that were asked "
                            "for before: send this one again later");
    int rc = publish(r, NULL, &o, &asked, 0, error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&r->lock);
    while (asked.left > 0) /* at the latest nb_replica_tick ends the wait */
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (asked.why.code != 0)
        return nb_error_set(error, asked.why.code, "%s", asked.why.text);
    *done = asked.made;
    return 0;
}

/* Waits until the follower has read the stream to its end, and this node has applied all its
 * messages: then it has every change that any node has confirmed. */
static int catch_up(void *user, bool waits, struct nb_error *error)
{
    struct nb_replica *r = user;
    const struct timespec pause = {.tv_nsec = LOOK_NANOSECONDS};
    uint64_t now = nb_clock_monotonic(), until = now + r->settings.patience, last = UINT64_MAX;
    uint64_t since = waits ? now : 0;
    if (waits)
        r->settings.wake(r->settings.user);
    while (atomic_load(&r->stream) == NB_REPLICA_THERE && now < until) {
        if (last == UINT64_MAX && atomic_load(&r->looked) >= since)
            last = atomic_load(&r->last);
        if (atomic_load(&r->place->applied) >= last)
            return 0;
        if (!waits)
            break;
        (void)nanosleep(&pause, NULL); /* may return early */
        now = nb_clock_monotonic();
    }
    return nb_error_set(error, NB_STOPPING,
                        "this node does not have all changes of the others (GET /readyz says why): "
                        "send this one again later");
}

/* ---- changes that all nodes find due --------------------------------------------------------- */

/* Publishes an operation under an id of its model, its kind, of `of`, and of the time in units of
 * `same_for`. If it cannot be published now, the node will find it due again. */
static void propose_one(struct nb_replica *r, const struct nb_operation *o, uint64_t of)
{
    struct nb_string model = o->relayed_change.model;
    const uint64_t what[] = {o->relayed_change.kind, of,
                             (uint64_t)(nb_clock_now() / r->settings.same_for)};
    char id[NB_MESSAGE_ID_MOST];
    nb_message_id('p', XXH3_64bits(model.bytes, model.length), XXH3_64bits(what, sizeof what), id);
    (void)publish(r, id, o, NULL, 0, NULL);
}

static void propose(void *user, const struct nb_batch *batch,
                    const struct nb_relayed_change *relayed_change)
{
    struct nb_operation o;
    if (relayed_change != NULL) {
        o = operation_of(relayed_change);
        propose_one(user, &o, relayed_change->last);
    }
    for (size_t i = 0; batch != NULL && i < batch->size; i++) {
        uint64_t current = batch->changes[i].current;
        uint64_t last = current != 0 ? 0 : batch->live->checkpoint.last;
        if (nb_operation_of_change(batch, i, last, &o, NULL) == 0)
            propose_one(user, &o, current != 0 ? current : last);
    }
}

struct nb_relay nb_outgoing_relay(struct nb_replica *replica)
{
    return (struct nb_relay){replica, submit, ask, catch_up, propose};
}
