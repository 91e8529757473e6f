/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/replica.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/base/random.h"
#include "core/engine/engine.h"
#include "core/engine/writer.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/model/live/stream_states.h"
#include "core/nodes/digest.h"
#include "core/nodes/incoming.h"
#include "core/nodes/operation.h"
#include "core/nodes/outgoing.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica_state.h"

/* ---- comparing ------------------------------------------------------------------------------- */

/* Nodes compare the digests of their stores (digest.h) to see whether they have learned the same.
 * All take the digest at one position: that of a message which changes nothing and asks for it. Now
 * and then a node publishes such a message, if no other has; each node that reaches it notes its
 * digest, and the members exchange them. A store that takes too long to read gets no digest, since
 * it applies no changes meanwhile. */
enum { TURNS = 1024 }; /* turns in an eighth of the time between two digests */
/* Most nanoseconds for which a digest may hold up changes. */
static const uint64_t READ_MOST = UINT64_C(2000000000);
/* The model's name in the request, since a message needs one. */
static const char MODEL[] = "digest";

static const struct nb_operation asking = {
    .kind = NB_OPERATION_RELAYED + (unsigned)NB_RELAYED_CHANGE_COMPARE,
    .relayed_change = {.kind = NB_RELAYED_CHANGE_COMPARE, .model = {MODEL, sizeof MODEL - 1}}};

/* Each node has a turn of its own, so that only one asks. */
static void wait_for_turn(struct nb_replica *r, uint64_t now)
{
    uint64_t every = r->settings.compare_every;
    struct nb_random random = nb_random_of(r->settings.seed, r->delivered.position);
    r->compare_at = now + every + every / 8 / TURNS * nb_random_below(&random, TURNS);
}

static void take_digest(struct nb_replica *r, uint64_t position)
{
    struct nb_digest digest;
    struct nb_error why = {0};
    char half[17] = "";
    uint64_t number = nb_relay_number(r->engine, r->settings.stream, position);
    int rc = nb_digest_within(r->engine, r->settings.stream, number, READ_MOST, &digest, &why);
    if (rc != 0) {
        r->settings.warn(r->settings.user, &why);
        return;
    }
    memcpy(half, digest.digits, sizeof half - 1);
    pthread_mutex_lock(&r->lock);
    r->digested = (struct nb_point){position, strtoull(half, NULL, 16)};
    pthread_mutex_unlock(&r->lock);
}

static void compare_note(struct nb_replica *r, const struct nb_operation *o, uint64_t position)
{
    uint64_t every = r->settings.compare_every, now = nb_clock_monotonic();
    if (every == 0 || o->kind != asking.kind || !nb_string_equals(o->relayed_change.model, MODEL))
        return;
    bool is_early = r->compared_last != 0 && now - r->compared_last < every / 2;
    wait_for_turn(r, now);
    if (is_early) /* a publisher must not keep the nodes busy with digests */
        return;
    r->compared_last = now;
    take_digest(r, position);
}

static void compare_tick(struct nb_replica *r, uint64_t now)
{
    struct nb_operation o = asking;
    struct nb_buffer message = {0};
    char id[NB_CONTENT_ID_LENGTH + 1];
    if (r->settings.compare_every == 0 || now < r->compare_at)
        return;
    wait_for_turn(r, now); /* in case the message does not come */
    o.change.relayed.time = nb_clock_now();
    const uint64_t all[] = {htole64(r->delivered.position), htole64(r->settings.seed),
                            htole64(now)};
    nb_key_content_id(&r->engine->key, 0xFC, (const char *)all, sizeof all, id);
    if (nb_operation_write(&o, &message) == 0)
        (void)nb_outgoing_publish(r, id, nb_buffer_string(&message), false,
                                  NULL); /* tried again later if it fails */
    nb_buffer_deinit(&message);
}

/* ---- following ------------------------------------------------------------------------------- */

static void note_delivered(struct nb_replica *r, const struct nb_relayed *here)
{
    pthread_mutex_lock(&r->lock);
    r->delivered = (struct nb_point){here->position, here->checksum};
    pthread_mutex_unlock(&r->lock);
}

int nb_replica_deliver(struct nb_replica *r, const struct nb_delivery *d, struct nb_error *error)
{
    static const struct nb_error other = {.code = NB_CORRUPT};
    struct nb_operation o;
    struct nb_error why = {0};
    struct nb_relayed here = {.stream = r->settings.stream,
                              .position = d->position,
                              .after = r->delivered.position, /* this thread alone sets it */
                              .checksum = d->checksum,
                              .message_id = d->id,
                              .message = d->message};
    if (d->position <= here.after)
        return 0;
    assert(d->position == here.after + 1);
    if (r->stopped_by.code != 0)
        return nb_error_set(error, r->stopped_by.code, "%s", r->stopped_by.text);
    int code = nb_operation_read(&o, d->message, &why), rc = code;
    if (code == NB_VERSION)
        r->stopped_by = why;
    if (code == 0) {
        here.time = o.change.relayed.time;
        nb_queue_read_id(d->id, &here);
        rc = nb_incoming(r, &o, &here, NULL, &why);
    } else if (code == NB_CORRUPT) { /* no node has published it: all nodes skip it */
        rc = nb_incoming(r, NULL, &here, &other, error);
    }
    if (rc == 0 && code == 0)
        compare_note(r, &o, d->position);
    nb_operation_deinit(&o);
    if (rc != 0 || code != 0)
        rc = nb_error_set(error, rc == 0 || rc == NB_VERSION ? code : NB_STOPPING, "%s", why.text);
    if (rc != 0 && rc != NB_CORRUPT)
        return rc;
    note_delivered(r, &here);
    nb_queue_delivered(r->settings.queue, r->settings.stream, d->id);
    return rc;
}

static bool has_failed(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    bool failed = r->failure.code != 0;
    pthread_mutex_unlock(&r->lock);
    return failed;
}

void nb_replica_tick(struct nb_replica *r)
{
    struct nb_error why;
    uint64_t now = r->stopped_by.code == 0 ? nb_clock_monotonic() : UINT64_MAX;
    (void)nb_error_set(&why, NB_STOPPING,
                       "the database has not confirmed the change in time; it may still be made: "
                       "send it again later, a change that was made is unchanged then");
    if (has_failed(r))
        (void)nb_incoming_settle(r, NULL);
    nb_outgoing_expire(r, now, &why);
    compare_tick(r, now);
    nb_queue_go_on(r->settings.queue, r->settings.stream, nb_outgoing_publish, r);
}

int nb_replica_settle(struct nb_replica *r)
{
    return nb_incoming_settle(r, NULL);
}

void nb_replica_find(struct nb_replica *r, struct nb_string id)
{
    nb_queue_delivered(r->settings.queue, r->settings.stream, id);
}

static int catch_up_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct nb_replica *r = argument;
    nb_stream_states_catch_up(engine, r->settings.stream);
    return nb_incoming_store(engine, NULL, error);
}

void nb_replica_note_end(struct nb_replica *r)
{
    if (atomic_load(&r->place->caught_up) || nb_incoming_settle(r, NULL) != 0)
        return;
    (void)nb_writer_run(r->engine, catch_up_task, r, NULL); /* if it fails, it is tried again */
}

/* ---- making ---------------------------------------------------------------------------------- */

struct joining {
    unsigned stream;
    uint64_t made;
};

/* On the writer's thread, since all streams share its state. */
static int join_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct joining *j = argument;
    const struct nb_stream_states *s = &engine->stream_states;
    const struct nb_stream_place *p = &s->places[j->stream];
    if (!s->is_known && engine->serials.entry > 1) /* entry 1 made the store */
        return nb_error_set(error, NB_CONFLICT,
                            "the store has changes that no other node has: a node joins with an "
                            "empty store, or with the backup of another node");
    if (s->is_known && s->streams != engine->settings.streams)
        return nb_error_set(error, NB_CONFLICT,
                            "the store belongs to %u streams, and [nodes] streams is %u: their "
                            "number stays as it was when they were made",
                            s->streams, engine->settings.streams);
    if (p->made == 0)
        nb_stream_states_join(engine, j->stream, j->made);
    else if (p->made != j->made)
        return nb_error_set(error, NB_CONFLICT,
                            "the tables of stream %u were made anew since the store has followed "
                            "them: what the store knows is not in them",
                            j->stream);
    return p->is_due ? nb_incoming_store(engine, NULL, error) : 0;
}

int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   uint64_t made, struct nb_replica **replica, struct nb_error *error)
{
    struct joining joining = {settings->stream, made};
    assert(settings->stream < engine->settings.streams && settings->same_for > 0);
    int rc = nb_writer_run(engine, join_task, &joining, error);
    struct nb_replica *r = rc == 0 ? calloc(1, sizeof *r) : NULL;
    if (r == NULL)
        return rc != 0 ? rc : nb_error_no_memory(error);
    r->engine = engine;
    r->settings = *settings;
    r->place = &engine->stream_states.places[settings->stream];
    r->instance = nb_key_random();
    r->relay = nb_outgoing_relay(r);
    /* All that the stream delivered is written: an earlier replica has waited for it. */
    r->delivered = (struct nb_point){r->place->written, r->place->checksum};
    wait_for_turn(r, nb_clock_monotonic());
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    engine->relays[settings->stream] = &r->relay;
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
    (void)nb_incoming_settle(
        r, NULL); /* after the next start the stream delivers failed operations again */
    nb_outgoing_expire(r, UINT64_MAX, &why);
    r->engine->relays[r->settings.stream] = NULL;
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

bool nb_replica_is_shared(const struct nb_engine *engine)
{
    return engine->stream_states.is_known;
}

uint64_t nb_replica_applied(const struct nb_replica *r)
{
    return atomic_load(&r->place->applied);
}

struct nb_point nb_replica_delivered(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    struct nb_point delivered = r->delivered;
    pthread_mutex_unlock(&r->lock);
    return delivered;
}

struct nb_point nb_replica_digested(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    struct nb_point digested = r->digested;
    pthread_mutex_unlock(&r->lock);
    return digested;
}
