/* SPDX-License-Identifier: Apache-2.0
 *
 * A change that was delivered is a job of the writer, which groups it with its neighbours; the
 * follower goes on. An errand waits until all before it is done. What fails for a reason that may
 * pass is refused by the writer together with all that follows (nb_standing_stage), comes back, and
 * is tried again in order.
 */
#include "core/replica/replica.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/engine/engine.h"
#include "core/engine/unjoined.h"
#include "core/engine/writer.h"
#include "core/live/relay.h"
#include "core/live/standing.h"
#include "core/live/transaction.h"
#include "core/replica/awaited.h"
#include "core/replica/carry.h"
#include "core/replica/errand.h"

enum {
    CARRIED_MOST = 4096,          /* operations that the writer has */
    CARRIED_BYTES = 64 << 20,     /* and their bytes */
    RETRY_NANOSECONDS = 20000000, /* before what failed is tried again */
};

/* An operation that the writer has. */
struct carried {
    struct carried *next;
    struct nb_replica *replica;
    uint64_t position, after;
    struct nb_buffer message;
    struct nb_batch *batch;
    struct nb_awaited *awaited; /* owned; NULL: no client of this node waits */
};

struct nb_replica {
    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_relay relay;
    atomic_uint_fast64_t delivered;
    uint64_t hash; /* of the message there; the follower's */
    atomic_bool is_stopping;
    pthread_mutex_t lock; /* of what follows; taken last, and not while the engine is called */
    pthread_cond_t changed;
    struct nb_awaiting awaiting;
    size_t carried, carried_bytes;
    struct carried *failed, **failed_end; /* in the order of the stream */
};

/* ---- answers --------------------------------------------------------------------------------- */

/* One change of the batch has its answer. Returns the batch's record if it was the last: then the
 * caller ends it, without the lock. */
static struct nb_sent *count_down(struct nb_sent *sent)
{
    assert(sent->left > 0);
    return --sent->left == 0 ? sent : NULL;
}

static void end_sent(struct nb_sent *sent)
{
    if (sent == NULL)
        return;
    sent->done(sent->batch, sent->user);
    free(sent);
}

/* The client's change becomes the one that was applied, whose receipt tells what it did. What that
 * borrows from the model lives as long as the client's batch. */
static void hand_over(struct carried *c, struct nb_batch *to, size_t index)
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

/* With the lock held. */
static struct nb_sent *fail(struct nb_replica *r, struct nb_awaited *awaited,
                            const struct nb_error *why)
{
    struct nb_sent *ended = NULL;
    if (awaited->sent != NULL) {
        struct nb_receipt *receipt = &awaited->sent->batch->changes[awaited->index].receipt;
        receipt->code = why->code;
        receipt->error = *why;
        ended = count_down(awaited->sent);
    } else {
        assert(awaited->asked != NULL);
        awaited->asked->code = why->code;
        awaited->asked->error = *why;
        awaited->asked->is_done = true;
        pthread_cond_broadcast(&r->changed);
    }
    free(awaited);
    return ended;
}

void nb_replica_refuse(struct nb_replica *r, const char *id, const struct nb_error *why)
{
    struct nb_sent *ended = NULL;
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = nb_awaiting_take(&r->awaiting, id);
    if (awaited != NULL)
        ended = fail(r, awaited, why);
    pthread_mutex_unlock(&r->lock);
    end_sent(ended);
}

/* Tells clients that have waited until `now`. */
static void expire(struct nb_replica *r, uint64_t now, const struct nb_error *why)
{
    for (;;) {
        struct nb_sent *ended = NULL;
        pthread_mutex_lock(&r->lock);
        struct nb_awaited *awaited = nb_awaiting_expired(&r->awaiting, now);
        if (awaited != NULL)
            ended = fail(r, awaited, why);
        pthread_mutex_unlock(&r->lock);
        if (awaited == NULL)
            return;
        end_sent(ended);
    }
}

/* ---- out: what is asked of this node --------------------------------------------------------- */

static int too_large(const struct nb_replica *r, size_t length, struct nb_error *error)
{
    return nb_error_set(error, NB_TOO_LARGE,
                        "the change takes %zu bytes, and the messages of the cluster at most %zu: "
                        "raise max_payload of its NATS servers",
                        length, r->settings.message_most);
}

static int publish(struct nb_replica *r, const char *id, const struct nb_buffer *message,
                   struct nb_error *error)
{
    if (atomic_load(&r->is_stopping))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    if (message->length > r->settings.message_most)
        return too_large(r, message->length, error);
    return r->settings.publish(r->settings.user, id, nb_buffer_string(message), error);
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
    int rc = nb_carry_write(sent->batch, index, now, 0, &message);
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = rc == 0 ? await(r, id) : NULL;
    if (awaited != NULL) {
        awaited->sent = sent;
        awaited->index = index;
    } else {
        struct nb_receipt *receipt = &sent->batch->changes[index].receipt;
        receipt->code = nb_error_no_memory(&receipt->error);
        ended = count_down(sent);
    }
    pthread_mutex_unlock(&r->lock);
    if (awaited != NULL && publish(r, id, &message, &why) != 0)
        nb_replica_refuse(r, id, &why);
    nb_buffer_deinit(&message);
    end_sent(ended);
}

static void submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                   void *done_user)
{
    struct nb_replica *r = user;
    struct nb_sent *sent = malloc(sizeof *sent);
    int64_t now = nb_clock_now();
    if (sent == NULL) {
        for (size_t i = 0; i < batch->size; i++)
            batch->changes[i].receipt.code = nb_error_no_memory(&batch->changes[i].receipt.error);
        done(batch, done_user);
        return;
    }
    /* One more than there are: the batch stays here until all of them are published. */
    *sent = (struct nb_sent){batch, done, done_user, batch->size + 1};
    for (size_t i = 0; i < batch->size; i++)
        submit_one(r, sent, i, now);
    pthread_mutex_lock(&r->lock);
    struct nb_sent *ended = count_down(sent);
    pthread_mutex_unlock(&r->lock);
    end_sent(ended);
}

static int write_errand(const struct nb_errand *errand, struct nb_buffer *out)
{
    struct nb_operation o = {.kind = NB_OPERATION_ERRAND + (unsigned)errand->kind,
                             .time = nb_clock_now(),
                             .errand = *errand};
    return nb_operation_write(&o, out);
}

static int ask(void *user, const struct nb_errand *errand, bool *created, struct nb_error *error)
{
    struct nb_replica *r = user;
    struct nb_buffer message = {0};
    struct nb_asked asked = {.is_done = false};
    struct nb_error why = {0};
    char id[NB_MESSAGE_ID_MOST];
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
    if (publish(r, id, &message, &why) != 0)
        nb_replica_refuse(r, id, &why);
    nb_buffer_deinit(&message);
    pthread_mutex_lock(&r->lock);
    while (!asked.is_done) /* the follower ends it, if nothing else does (nb_replica_tick) */
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    *created = asked.created;
    return asked.code == 0 ? 0 : nb_error_set(error, asked.code, "%s", asked.error.text);
}

/* ---- out: what the writer finds due ---------------------------------------------------------- */

/* The id of what all nodes find: made from what it is. */
static int propose_message(struct nb_replica *r, struct nb_string name, uint64_t what, uint64_t of,
                           const struct nb_buffer *message)
{
    struct nb_buffer content = {0};
    struct nb_packer w = {.out = &content};
    char id[NB_CONTENT_ID_LENGTH + 1];
    nb_pack_string(&w, name);
    nb_pack_varint(&w, what);
    nb_pack_varint(&w, of);
    if (w.code == 0) {
        nb_key_content_id(&r->engine->key, 0xFF, content.bytes, content.length, id);
        w.code = publish(r, id, message, NULL);
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
        rc = nb_carry_write(batch, i, now, last, &message);
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

/* ---- in: changes ----------------------------------------------------------------------------- */

static void carried_free(struct carried *c)
{
    nb_batch_free(&c->batch);
    nb_buffer_deinit(&c->message);
    free(c);
}

/* On the writer's thread. */
static void on_carried(struct nb_batch *batch, void *user)
{
    struct carried *c = user;
    struct nb_replica *r = c->replica;
    struct nb_sent *ended = NULL;
    assert(batch == c->batch && batch->size == 1);
    bool has_failed = nb_error_is_passing(batch->changes[0].receipt.code);
    pthread_mutex_lock(&r->lock);
    r->carried--;
    r->carried_bytes -= c->message.length;
    if (has_failed) {
        *r->failed_end = c;
        r->failed_end = &c->next;
    } else if (c->awaited != NULL) {
        hand_over(c, c->awaited->sent->batch, c->awaited->index);
        ended = count_down(c->awaited->sent);
        free(c->awaited);
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (!has_failed)
        carried_free(c);
    end_sent(ended);
}

/* Hands the change to the writer. On failure it is still the caller's. */
static int carry(struct carried *c, const struct nb_operation *o, struct nb_error *error)
{
    struct nb_replica *r = c->replica;
    bool single = c->awaited != NULL && c->awaited->sent->batch->single;
    const struct nb_relayed here = {.position = c->position};
    nb_batch_free(&c->batch);
    int rc = nb_carry_read(r->engine, o, c->position, c->after, single, &c->batch, error);
    if (rc == 0)
        c->batch->changes[0].relayed.hash = nb_replica_hash(nb_buffer_string(&c->message));
    if (rc != 0)
        return rc;
    c->next = NULL;
    pthread_mutex_lock(&r->lock);
    r->carried++;
    r->carried_bytes += c->message.length;
    pthread_mutex_unlock(&r->lock);
    nb_relay_apply(&here);
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

static void pause_a_little(void)
{
    const struct timespec pause = {.tv_nsec = RETRY_NANOSECONDS};
    (void)nanosleep(&pause, NULL); /* it may wake early */
}

/* All that failed; the writer has nothing then. */
static struct carried *take_failed(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    if (r->failed != NULL)
        wait_for_room(r, 0, 0);
    struct carried *failed = r->failed;
    r->failed = NULL;
    r->failed_end = &r->failed;
    pthread_mutex_unlock(&r->lock);
    return failed;
}

/* Those that could not be handed over. */
static void put_back(struct nb_replica *r, struct carried *failed)
{
    pthread_mutex_lock(&r->lock);
    wait_for_room(r, 0, 0); /* what was handed over before these may fail again, before them */
    *r->failed_end = failed;
    while (*r->failed_end != NULL)
        r->failed_end = &(*r->failed_end)->next;
    pthread_mutex_unlock(&r->lock);
}

static void retry(struct nb_replica *r)
{
    struct carried *c = take_failed(r);
    if (c == NULL)
        return;
    pause_a_little();
    while (c != NULL) {
        struct carried *next = c->next;
        struct nb_operation o;
        int rc = nb_operation_read(&o, nb_buffer_string(&c->message), NULL);
        if (rc == 0)
            rc = carry(c, &o, NULL);
        if (rc != 0) {
            put_back(r, c);
            return;
        }
        c = next;
    }
}

/* ---- in: errands, and what cannot be carried ------------------------------------------------- */

int nb_replica_settle(struct nb_replica *r)
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
        retry(r);
    }
}

static void answer(struct nb_replica *r, struct nb_awaited *awaited, int code, bool created,
                   const struct nb_error *why)
{
    struct nb_sent *ended = NULL;
    if (awaited == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    if (awaited->asked != NULL)
        awaited->asked->created = created;
    struct nb_error result = {.code = 0};
    if (code != 0)
        result = *why;
    ended = fail(r, awaited, &result);
    pthread_mutex_unlock(&r->lock);
    end_sent(ended);
}

static int write_nothing(struct nb_engine *engine, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    (void)engine;
    (void)view;
    (void)argument;
    (void)error;
    return 0;
}

/* So that the position is stored, if nothing has done it. */
static int pass_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, write_nothing, argument, error);
}

/* Runs an errand, or only passes it (NULL), until nothing that may pass is in the way. */
static int run_errand(struct nb_replica *r, const struct nb_operation *o,
                      const struct nb_relayed *here, bool *created, struct nb_error *error)
{
    int rc;
    do {
        rc = o != NULL ? nb_errand_run(r->engine, &o->errand, created, error) : 0;
        int passed = nb_error_is_passing(rc) ? rc : nb_writer_run(r->engine, pass_task, NULL, NULL);
        if (!nb_error_is_passing(passed))
            return rc;
        if (atomic_load(&r->is_stopping))
            return NB_STOPPING;
        pause_a_little();
    } while (nb_replica_applied(r) < here->position);
    return rc;
}

static int deliver_errand(struct nb_replica *r, const struct nb_operation *o,
                          const struct nb_relayed *here, struct nb_awaited *awaited)
{
    struct nb_error why = {0};
    bool created = false;
    int rc = nb_replica_settle(r);
    if (rc == 0) {
        nb_relay_apply(here);
        rc = run_errand(r, o, here, &created, &why);
        nb_relay_apply(NULL);
    }
    if (rc == NB_STOPPING)
        (void)nb_error_set(&why, rc, "the daemon is stopping");
    answer(r, awaited, rc, created, &why);
    return rc == NB_STOPPING ? rc : 0;
}

/* A change that the engine does not take: its client is told, and the stream goes on. */
static int pass_change(struct nb_replica *r, const struct nb_relayed *here,
                       struct nb_awaited *awaited, const struct nb_error *why)
{
    bool created;
    int rc = nb_replica_settle(r);
    if (rc == 0) {
        nb_relay_apply(here);
        rc = run_errand(r, NULL, here, &created, NULL);
        nb_relay_apply(NULL);
    }
    answer(r, awaited, why->code, false, why);
    return rc;
}

static int deliver_change(struct nb_replica *r, const struct nb_operation *o,
                          const struct nb_relayed *here, struct nb_string message,
                          struct nb_awaited *awaited)
{
    struct nb_error why = {0};
    struct carried *c = NULL;
    int rc;
    do {
        free(c);
        c = calloc(1, sizeof *c);
        rc = NB_NO_MEMORY;
        if (c != NULL) {
            *c = (struct carried){
                .replica = r, .position = here->position, .after = here->after, .awaited = awaited};
            rc = nb_buffer_append(&c->message, message.bytes, message.length);
            if (rc == 0)
                rc = carry(c, o, &why);
            if (rc != 0)
                nb_buffer_deinit(&c->message);
        }
        if (nb_error_is_passing(rc))
            pause_a_little();
    } while (nb_error_is_passing(rc) && !atomic_load(&r->is_stopping));
    if (rc == 0)
        return 0;
    free(c);
    if (nb_error_is_passing(rc)) {
        (void)nb_error_set(&why, NB_STOPPING, "the daemon is stopping");
        answer(r, awaited, NB_STOPPING, false, &why);
        return NB_STOPPING;
    }
    return pass_change(r, here, awaited, &why);
}

static void note_delivered(struct nb_replica *r, const struct nb_relayed *here)
{
    r->hash = here->hash;
    atomic_store(&r->delivered, here->position);
}

/* What somebody else has published. Returns NB_CORRUPT, or NB_STOPPING. */
static int pass_other(struct nb_replica *r, const struct nb_relayed *here)
{
    const struct nb_error why = {.code = NB_CORRUPT};
    int rc = pass_change(r, here, NULL, &why);
    if (rc != 0)
        return NB_STOPPING;
    note_delivered(r, here);
    return NB_CORRUPT;
}

int nb_replica_deliver(struct nb_replica *r, uint64_t position, const char *id,
                       struct nb_string message, struct nb_error *error)
{
    struct nb_operation o;
    struct nb_relayed here = {.position = position, .after = atomic_load(&r->delivered)};
    if (position <= here.after)
        return 0;
    here.hash = nb_replica_hash(message);
    int rc = id[0] != '\0' ? nb_operation_read(&o, message, error)
                           : nb_error_set(error, NB_CORRUPT, "it has no id");
    if (rc == NB_CORRUPT)
        return pass_other(r, &here);
    if (rc != 0)
        return rc;
    here.time = o.time;
    retry(r);
    pthread_mutex_lock(&r->lock);
    wait_for_room(r, CARRIED_MOST, CARRIED_BYTES);
    struct nb_awaited *awaited = nb_awaiting_take(&r->awaiting, id);
    pthread_mutex_unlock(&r->lock);
    rc = o.kind == NB_OPERATION_CHANGE ? deliver_change(r, &o, &here, message, awaited)
                                       : deliver_errand(r, &o, &here, awaited);
    if (rc == 0)
        note_delivered(r, &here);
    return rc != 0 ? nb_error_set(error, rc, "the daemon is stopping") : 0;
}

void nb_replica_tick(struct nb_replica *r)
{
    struct nb_error why;
    (void)nb_error_set(&why, NB_STOPPING,
                       "the cluster has not confirmed the change in time; it may still be made: "
                       "send it again later, a change that was made is unchanged then");
    retry(r);
    expire(r, nb_clock_monotonic(), &why);
}

/* ---- making ---------------------------------------------------------------------------------- */

struct joining {
    struct nb_string stream;
    uint64_t created;
};

static int join_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct joining *j = argument;
    if (engine->serials.entry > 1) /* the one that made the store */
        return nb_error_set(error, NB_CONFLICT,
                            "the store has changes that the stream '%.*s' does not have: a node "
                            "joins with an empty store, or with the backup of another node",
                            (int)j->stream.length, j->stream.bytes);
    nb_standing_join(engine, j->stream, j->created, 0);
    return nb_transaction(engine, 0, write_nothing, NULL, error);
}

static int check_stream(struct nb_engine *engine, struct nb_string stream, uint64_t created,
                        uint64_t last, struct nb_error *error)
{
    const struct nb_standing *s = &engine->standing;
    struct joining joining = {stream, created};
    if (!s->is_known)
        return nb_writer_run(engine, join_task, &joining, error);
    if (!nb_string_equals(stream, s->stream))
        return nb_error_set(error, NB_CONFLICT,
                            "the store belongs to the stream '%s', and [cluster] stream is '%.*s'",
                            s->stream, (int)stream.length, stream.bytes);
    if (s->created != created)
        return nb_error_set(error, NB_CONFLICT,
                            "the stream '%s' was made anew since the store has followed it: what "
                            "the store knows is not in it",
                            s->stream);
    if (s->written > last)
        return nb_error_set(error, NB_CONFLICT,
                            "the store has applied %llu changes of the stream '%s', which has "
                            "only %llu now: its NATS servers have lost some",
                            (unsigned long long)s->written, s->stream, (unsigned long long)last);
    return 0;
}

int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   struct nb_string stream, uint64_t created, uint64_t last,
                   struct nb_replica **replica, struct nb_error *error)
{
    if (stream.length == 0 || stream.length > NB_STREAM_NAME_MOST)
        return nb_error_set(error, NB_UNUSABLE, "[cluster] stream: 1 to %d bytes",
                            NB_STREAM_NAME_MOST);
    int rc = check_stream(engine, stream, created, last, error);
    if (rc != 0)
        return rc;
    struct nb_replica *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nb_error_no_memory(error);
    r->engine = engine;
    r->settings = *settings;
    r->failed_end = &r->failed;
    r->awaiting.instance = nb_key_random();
    r->relay = (struct nb_relay){r, submit, ask, propose, propose_errand};
    atomic_store(&r->delivered, atomic_load(&engine->standing.applied));
    r->hash = engine->standing.hash;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    engine->relay = &r->relay;
    *replica = r;
    return 0;
}

void nb_replica_stop(struct nb_replica *r)
{
    atomic_store(&r->is_stopping, true);
}

void nb_replica_free(struct nb_replica **replica)
{
    struct nb_replica *r = *replica;
    struct nb_error why;
    *replica = NULL;
    if (r == NULL)
        return;
    nb_replica_stop(r);
    (void)nb_error_set(&why, NB_STOPPING, "the daemon is stopping");
    pthread_mutex_lock(&r->lock);
    wait_for_room(r, 0, 0);
    struct carried *failed = r->failed;
    r->failed = NULL;
    pthread_mutex_unlock(&r->lock);
    while (failed != NULL) { /* the next start gets it from the stream */
        struct carried *next = failed->next;
        answer(r, failed->awaited, NB_STOPPING, false, &why);
        carried_free(failed);
        failed = next;
    }
    expire(r, UINT64_MAX, &why);
    r->engine->relay = &nb_unjoined;
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

const char *nb_replica_stream(const struct nb_engine *engine)
{
    return engine->standing.is_known ? engine->standing.stream : NULL;
}

uint64_t nb_replica_applied(const struct nb_replica *r)
{
    return atomic_load(&r->engine->standing.applied);
}

uint64_t nb_replica_hash(struct nb_string message)
{
    return XXH3_64bits(message.bytes, message.length);
}

uint64_t nb_replica_delivered_hash(const struct nb_replica *r)
{
    return r->hash;
}

uint64_t nb_replica_delivered(const struct nb_replica *r)
{
    return atomic_load(&r->delivered);
}
