/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/outgoing.h"

#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/base/pack.h"
#include "core/engine/engine.h"
#include "core/model/live/state.h"
#include "core/nodes/answer.h"
#include "core/nodes/carry.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica_state.h"

enum { LOOK_NANOSECONDS = 1000000 };

/* ---- what is asked of this node -------------------------------------------------------------- */

static int publish(struct nb_replica *r, const char *id, const struct nb_buffer *message,
                   bool lasts, struct nb_error *error)
{
    if (atomic_load(&r->is_stopping))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    int rc = nb_operation_check(nb_buffer_string(message), r->settings.message_most, error);
    return rc != 0
               ? rc
               : r->settings.publish(r->settings.user, id, nb_buffer_string(message), lasts, error);
}

int nb_outgoing_publish(struct nb_replica *r, const char *id, const struct nb_buffer *message,
                        struct nb_error *error)
{
    return publish(r, id, message, false, error);
}

int nb_outgoing_publish_queued(struct nb_replica *r, const char *id,
                               const struct nb_buffer *message, struct nb_error *error)
{
    return publish(r, id, message, true, error);
}

static struct nb_awaited *await(struct nb_replica *r, char id[NB_MESSAGE_ID_MOST])
{
    uint64_t until = nb_clock_monotonic() + r->settings.patience;
    struct nb_awaited *awaited = nb_awaiting_add(&r->awaiting, until);
    if (awaited != NULL)
        nb_awaiting_id(&r->awaiting, awaited, id);
    return awaited;
}

/* Publishes one change of a batch; on failure its receipt says why. */
static void submit_one(struct nb_replica *r, struct nb_sent *sent, size_t index, int64_t now)
{
    struct nb_buffer message = {0};
    struct nb_error why = {0};
    struct nb_sent *ended = NULL;
    char id[NB_MESSAGE_ID_MOST];
    int rc = nb_carry_write(sent->batch, index, now, 0, &message, &why);
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = rc == 0 ? await(r, id) : NULL;
    if (rc == 0 && awaited == NULL)
        rc = nb_error_no_memory(&why);
    if (awaited != NULL) {
        awaited->sent = sent;
        awaited->index = index;
    } else {
        struct nb_receipt *receipt = &sent->batch->changes[index].receipt;
        receipt->code = rc;
        receipt->error = why;
        ended = nb_answer_count_down(sent);
    }
    pthread_mutex_unlock(&r->lock);
    if (awaited != NULL && nb_outgoing_publish(r, id, &message, &why) != 0)
        nb_answer_refuse(r, nb_string_of(id), &why);
    nb_buffer_deinit(&message);
    nb_answer_end(ended);
}

/* None of the changes is made, and their receipts say why. */
static void refuse_batch(struct nb_batch *batch, const struct nb_error *why)
{
    for (size_t i = 0; i < batch->size; i++) {
        struct nb_receipt *receipt = &batch->changes[i].receipt;
        receipt->code = why->code;
        receipt->error = *why;
    }
}

static void submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                   void *done_user)
{
    struct nb_replica *r = user;
    struct nb_error why;
    if (nb_queue_takes(r->settings.queue, r->settings.stream)) {
        nb_queue_submit(r->settings.queue, r->settings.stream, batch, r->settings.message_most,
                        done, done_user);
        return;
    }
    struct nb_sent *sent = malloc(sizeof *sent);
    int64_t now = nb_clock_now();
    if (sent == NULL) {
        (void)nb_error_no_memory(&why);
        refuse_batch(batch, &why);
        done(batch, done_user);
        return;
    }
    /* One more than there are: the batch stays here until all of them are published. */
    *sent = (struct nb_sent){batch, done, done_user, batch->size + 1};
    for (size_t i = 0; i < batch->size; i++)
        submit_one(r, sent, i, now);
    pthread_mutex_lock(&r->lock);
    struct nb_sent *ended = nb_answer_count_down(sent);
    pthread_mutex_unlock(&r->lock);
    nb_answer_end(ended);
}

static int write_errand(const struct nb_errand *errand, struct nb_buffer *out)
{
    struct nb_operation o = {.kind = NB_OPERATION_ERRAND + (unsigned)errand->kind,
                             .time = nb_clock_now(),
                             .errand = *errand};
    return nb_operation_write(&o, out);
}

static int ask(void *user, const struct nb_errand *errand, struct nb_errand_done *done,
               struct nb_error *error)
{
    struct nb_replica *r = user;
    struct nb_buffer message = {0};
    struct nb_asked asked = {.is_done = false};
    struct nb_error why = {0};
    char id[NB_MESSAGE_ID_MOST];
    if (nb_queue_takes(r->settings.queue, r->settings.stream)) /* it would overtake them */
        return nb_error_set(error, NB_STOPPING,
                            "the database is away, or changes are queued that were asked "
                            "for before: send this one again later");
    if (write_errand(errand, &message) != 0)
        return nb_error_no_memory(error);
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = await(r, id);
    if (awaited != NULL)
        awaited->asked = &asked;
    pthread_mutex_unlock(&r->lock);
    if (awaited == NULL) {
        nb_buffer_deinit(&message);
        return nb_error_no_memory(error);
    }
    if (nb_outgoing_publish(r, id, &message, &why) != 0)
        nb_answer_refuse(r, nb_string_of(id), &why);
    nb_buffer_deinit(&message);
    pthread_mutex_lock(&r->lock);
    while (!asked.is_done) /* the follower ends it, if nothing else does (nb_replica_tick) */
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (asked.code != 0)
        return nb_error_set(error, asked.code, "%s", asked.error.text);
    *done = asked.done;
    return 0;
}

/* What any node has confirmed is in the stream. */
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

/* ---- what the writer finds due --------------------------------------------------------------- */

/* The id of what all nodes find: made from what it is, and when. */
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
        w.code = nb_outgoing_publish(r, id, message, NULL);
    }
    nb_buffer_deinit(&content);
    return w.code;
}

/* What is not published now is found again. */
static void propose(void *user, const struct nb_batch *batch)
{
    struct nb_replica *r = user;
    int64_t now = nb_clock_now();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < batch->size; i++) {
        const struct nb_submitted *c = &batch->changes[i];
        struct nb_buffer message = {0};
        uint64_t last = c->taken != 0 ? 0 : batch->live->checkpoint.last;
        rc = nb_carry_write(batch, i, now, last, &message, NULL);
        if (rc == 0)
            rc = propose_message(r, nb_buffer_string(&batch->name), 0,
                                 c->taken != 0 ? c->taken : last, &message);
        nb_buffer_deinit(&message);
    }
}

static void propose_errand(void *user, const struct nb_errand *errand)
{
    struct nb_replica *r = user;
    struct nb_buffer message = {0};
    if (write_errand(errand, &message) == 0)
        (void)propose_message(r, errand->model, 1 + (uint64_t)errand->kind, errand->last, &message);
    nb_buffer_deinit(&message);
}

struct nb_relay nb_outgoing_relay(struct nb_replica *replica)
{
    return (struct nb_relay){replica, submit, ask, catch_up, lacks, propose, propose_errand};
}
