/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies the operations that the stream delivers. A change of a document becomes a job of the
 * writer, which groups it with its neighbours, while the follower continues. A change of a model
 * waits until all operations before it are applied. If an operation fails for a temporary reason
 * (such as a full disk), the writer refuses it and all later ones (nb_stream_states_stage); the
 * stream still has them, and delivers them again.
 */
#include <assert.h>
#include <stdlib.h>

#include "core/archive/copy/copy.h"
#include "core/archive/dump/parts.h"
#include "core/base/key.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/jobs/merge/merge.h"
#include "core/jobs/quarantine/quarantine.h"
#include "core/model/model_transaction.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/networks/network/named.h"
#include "core/nodes/digest.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "core/writer/submit.h"
#include "core/writer/writer.h"

enum {
    CARRIED_MOST = 4096,      /* operations that the writer may have at once */
    CARRIED_BYTES = 64 << 20, /* bytes of these operations */
};

/* ---- changes of documents -------------------------------------------------------------------- */

/* A change on its way through the writer. */
struct carried {
    struct nb_replica *replica;
    struct nb_relayed here; /* borrows from `bytes` */
    struct nb_buffer bytes; /* the message, followed by its id */
    struct nb_batch *batch;
};

static void carried_free(struct carried *c)
{
    nb_batch_free(&c->batch);
    nb_buffer_deinit(&c->bytes);
    free(c);
}

/* Counts a change that a node had queued, unless it was made before. */
static void note_refused(struct nb_replica *r, const struct nb_relayed *here, int code)
{
    if (here->outbox != 0 && code != 0 && code != NB_EXISTS)
        atomic_fetch_add(&r->refused, 1);
}

/* Called by the writer when it has applied or refused a change. */
static void on_carried(struct nb_batch *batch, void *user)
{
    struct carried *c = user;
    struct nb_replica *r = c->replica;
    assert(batch == c->batch && batch->size == 1);
    const struct nb_receipt *receipt = &batch->changes[0].receipt;
    struct nb_error failure = {0};
    if (nb_error_is_passing(receipt->code)) {
        failure = receipt->error;
        failure.code = receipt->code;
    } else {
        note_refused(r, &c->here, receipt->code);
        nb_outgoing_answer(r, c->here.one.id, &c->batch, NULL, NULL);
    }
    pthread_mutex_lock(&r->lock);
    r->carried--;
    r->carried_bytes -= c->here.one.message.length;
    if (r->failure.code == 0)
        r->failure = failure;
    carried_free(c);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until the writer has at most `count` operations, of at most `bytes` bytes. */
static void wait_for_room(struct nb_replica *r, size_t count, size_t bytes)
{
    pthread_mutex_lock(&r->lock);
    while (r->carried > count || r->carried_bytes > bytes)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

/* Moves the change from the operation into a new batch for the writer. */
static int take_change(struct carried *c, struct nb_operation *o, struct nb_error *error)
{
    struct nb_replica *r = c->replica;
    struct nb_submitted *change = &o->change;
    struct nb_settings settings;
    struct nb_string source = o->relayed_change.source;
    uint8_t creates = c->here.creates;
    int rc = nb_batch_new(r->engine, o->relayed_change.model,
                          nb_outgoing_is_single(r, c->here.one.id), &c->batch, error);
    if (rc != 0)
        return rc;
    change->relayed = c->here;
    if (nb_buffer_append(&change->source, source.bytes, source.length) != 0)
        return nb_error_no_memory(error);
    nb_settings_init(&settings, creates > 0 ? (enum nb_preset)(creates - 1) : NB_PRESET_TEXT);
    rc = nb_batch_take(c->batch, &settings, change, error);
    *change = (struct nb_submitted){.kind = NB_SUBMITTED_TRAIN}; /* the batch has its contents */
    nb_settings_deinit(&settings);
    return rc;
}

static int carry(struct nb_replica *r, struct nb_operation *o, const struct nb_relayed *here,
                 struct nb_error *error)
{
    struct nb_string message = here->one.message, id = here->one.id;
    wait_for_room(r, CARRIED_MOST, CARRIED_BYTES);
    struct carried *c = calloc(1, sizeof *c);
    if (c == NULL)
        return nb_error_no_memory(error);
    *c = (struct carried){.replica = r, .here = *here};
    int rc = nb_buffer_append(&c->bytes, message.bytes, message.length);
    if (rc == 0)
        rc = nb_buffer_append(&c->bytes, id.bytes, id.length);
    c->here.one.message.bytes = c->bytes.bytes;
    c->here.one.id.bytes = c->bytes.bytes + message.length;
    rc = rc != 0 ? nb_error_no_memory(error) : take_change(c, o, error);
    if (rc != 0) {
        carried_free(c);
        return rc;
    }
    pthread_mutex_lock(&r->lock);
    r->carried++;
    r->carried_bytes += message.length;
    pthread_mutex_unlock(&r->lock);
    nb_relay_apply(&c->here);
    nb_engine_submit(r->engine, c->batch, on_carried, c);
    nb_relay_apply(NULL);
    return 0;
}

/* Sets `delivered` to the last operation that the writer has staged: it is applied, or all nodes
 * refuse it. */
static int read_staged(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_replica *r = argument;
    (void)engine;
    (void)error;
    r->delivered = r->place->staged;
    return 0;
}

int nb_replica_settle(struct nb_replica *r, struct nb_error *error)
{
    wait_for_room(r, 0, 0);
    struct nb_error failure = r->failure; /* the writer has no operation that could set it now */
    if (failure.code == 0)
        return 0;
    if (nb_writer_run(r->engine, read_staged, r, NULL) == 0)
        r->failure.code = 0;
    return nb_error_set(error, NB_STOPPING, "%s", failure.text);
}

/* ---- changes of a model ---------------------------------------------------------------------- */

static int put(struct nb_engine *engine, const struct nb_relayed_change *e, bool *created,
               struct nb_error *error)
{
    struct nb_settings settings;
    int rc = nb_settings_read(&settings, e->settings, error);
    if (rc != 0)
        return rc == NB_CORRUPT ? NB_UNUSABLE : rc;
    if (e->kind == NB_RELAYED_CHANGE_PUT)
        rc = nb_engine_put_model(engine, e->model, &settings, e->only_new, e->source, created,
                                 error);
    else if (e->kind == NB_RELAYED_CHANGE_FIELDS)
        rc = nb_engine_put_fields(engine, e->model, &settings, e->source, error);
    else
        rc = nb_engine_put_fitted(engine, e->model, e->last, &settings, error);
    nb_settings_deinit(&settings);
    return rc;
}

static int change_named(struct nb_engine *engine, const struct nb_relayed_change *e, bool *created,
                        struct nb_error *error)
{
    const struct nb_named_key key = {nb_named_kind(e->from), e->model};
    if (key.kind == NULL)
        return nb_error_set(error, NB_UNUSABLE, "nothing of the kind '%.*s' is kept under a name",
                            (int)e->from.length, e->from.bytes);
    return e->kind == NB_RELAYED_CHANGE_PUT_NAMED
               ? nb_named_put(engine, &key, e->settings, e->only_new, e->source, created, error)
               : nb_named_delete(engine, &key, error);
}

static int run(struct nb_engine *engine, const struct nb_relayed_change *e,
               struct nb_relayed_change_done *done, struct nb_error *error)
{
    switch (e->kind) {
    case NB_RELAYED_CHANGE_PUT:
    case NB_RELAYED_CHANGE_FIELDS:
    case NB_RELAYED_CHANGE_FITTED:
        return put(engine, e, &done->created, error);
    case NB_RELAYED_CHANGE_DELETE:
        return nb_engine_delete_model(engine, e->model, e->source, error);
    case NB_RELAYED_CHANGE_RENAME_LABEL:
        return nb_engine_rename_label(engine, e->model, e->from, e->to, e->source, error);
    case NB_RELAYED_CHANGE_PUT_NAMED:
    case NB_RELAYED_CHANGE_DELETE_NAMED:
        return change_named(engine, e, &done->created, error);
    case NB_RELAYED_CHANGE_DROP:
        return nb_quarantine_drop_listed(engine, e->model, e->settings, &done->dropped, error);
    case NB_RELAYED_CHANGE_PART:
        return nb_import_parts_write(engine, *e, error);
    case NB_RELAYED_CHANGE_IMPORT:
        return nb_import_shared(engine, e, done, error);
    case NB_RELAYED_CHANGE_NONE:
    case NB_RELAYED_CHANGE_COMPARE:
    case NB_RELAYED_CHANGES:
        break;
    }
    return 0;
}

/* Runs a change of a model; if that is NULL, only skips the operation, because of `why`.
 * NB_STOPPING: the stream must deliver the operation again. */
static int run_here(struct nb_replica *r, const struct nb_relayed_change *relayed_change,
                    const struct nb_relayed *here, const struct nb_error *why,
                    struct nb_error *error)
{
    struct nb_relayed_change_done done = {.position = here->one.position};
    struct nb_error refused = {0};
    int rc = nb_replica_settle(r, error);
    if (rc != 0)
        return rc;
    nb_relay_apply(here);
    int code = relayed_change != NULL ? run(r->engine, relayed_change, &done, &refused) : why->code;
    rc = relayed_change != NULL && nb_error_is_passing(code)
             ? nb_error_set(error, code, "%s", refused.text)
             : nb_writer_transact(r->engine, 0, NULL, NULL, error); /* stores the position */
    nb_relay_apply(NULL);
    if (nb_error_is_passing(rc) && atomic_load(&r->place->applied) < here->one.position) {
        r->failure = *error;
        return nb_replica_settle(r, error);
    }
    if (relayed_change != NULL)
        why = code != 0 ? &refused : NULL;
    nb_outgoing_answer(r, here->one.id, NULL, why == NULL ? &done : NULL, why);
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Nodes compare the digests of their stores (digest.h). All take the digest at one position: that
 * of a message that only requests it, which all nodes propose at the same times, with the same id.
 * A store that takes too long to read gets no digest, because it applies no changes meanwhile. */

/* The longest time in nanoseconds for which a digest may hold up changes. */
static const uint64_t READ_MOST = UINT64_C(2000000000);
static void compare_note(struct nb_replica *r, const struct nb_relayed_change *e, uint64_t position)
{
    struct nb_digest digest;
    uint64_t every = (uint64_t)r->settings.compare_every * 1000000, now = nb_clock_monotonic();
    if (every == 0 || e->kind != NB_RELAYED_CHANGE_COMPARE ||
        /* a node that publishes many requests must not keep the others busy with digests */
        (r->compared_last != 0 && now - r->compared_last < every / 2))
        return;
    r->compared_last = now;
    bool has = nb_digest(r->engine, r->settings.stream, 0, READ_MOST, &digest, NULL) == 0;
    pthread_mutex_lock(&r->lock);
    r->digested = has ? (struct nb_point){position, digest.half} : (struct nb_point){0, 0};
    pthread_mutex_unlock(&r->lock);
}

static void compare_tick(struct nb_replica *r)
{
    int64_t every = r->settings.compare_every, period = every == 0 ? 0 : nb_clock_now() / every;
    const struct nb_relayed_change request = {.kind = NB_RELAYED_CHANGE_COMPARE,
                                              .model = {"digest", 6}, /* a message needs a name */
                                              .last = (uint64_t)period};
    if (r->compared != 0 && period != r->compared)
        r->relay.propose(r, NULL, &request);
    r->compared = period;
}

/* ---- following ------------------------------------------------------------------------------- */

/* Applies an operation, or passes it to the writer. Returns 0 or NB_STOPPING. */
static int apply(struct nb_replica *r, struct nb_operation *o, const struct nb_relayed *here,
                 struct nb_error *error)
{
    struct nb_error refused = {0};
    if (o->relayed_change.kind != NB_RELAYED_CHANGE_NONE)
        return run_here(r, &o->relayed_change, here, NULL, error);
    int rc = carry(r, o, here, &refused);
    if (rc == 0)
        return 0;
    if (nb_error_is_passing(rc))
        return nb_error_set(error, NB_STOPPING, "%s", refused.text);
    note_refused(r, here, rc);
    return run_here(r, NULL, here, &refused, error);
}

int nb_replica_deliver(struct nb_replica *r, const struct nb_traced *d, struct nb_error *error)
{
    static const struct nb_error other = {.code = NB_CORRUPT};
    struct nb_operation o;
    if (d->position <= r->delivered.position)
        return 0;
    assert(d->position == r->delivered.position + 1);
    int code = nb_operation_read(&o, d->message, error), rc = code;
    struct nb_relayed here = o.change.relayed;
    here.stream = r->settings.stream;
    here.one = *d;
    (void)nb_message_id_read(d->id, 'q', &here.outbox, &here.entry);
    if (code == 0)
        rc = apply(r, &o, &here, error);
    else if (code == NB_CORRUPT) /* no node has published it: all nodes skip it */
        rc = run_here(r, NULL, &here, &other, error);
    if (rc == 0 && code == 0)
        compare_note(r, &o.relayed_change, d->position);
    nb_operation_deinit(&o);
    if (rc == 0)
        r->delivered = (struct nb_point){d->position, d->checksum};
    else if (rc != NB_VERSION)
        code = NB_STOPPING;
    return code;
}

void nb_replica_tick(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    bool has_failed = r->failure.code != 0;
    pthread_mutex_unlock(&r->lock);
    if (has_failed)
        (void)nb_replica_settle(r, NULL);
    nb_outgoing_expire(
        r, atomic_load(&r->stream) == NB_REPLICA_FORBIDDEN ? UINT64_MAX : nb_clock_monotonic(),
        "the database has not confirmed the change in time; it may still be made: send it again "
        "later, a change that was made is unchanged then");
    compare_tick(r);
}

static int catch_up_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_stream_place *place = ((const struct nb_replica *)argument)->place;
    place->is_due |= !atomic_exchange(&place->caught_up, true);
    return nb_transaction(engine, 0, NULL, NULL, error);
}

void nb_replica_note_end(struct nb_replica *r, uint64_t began)
{
    atomic_store(&r->looked, began);
    if (!atomic_load(&r->place->caught_up) && nb_replica_settle(r, NULL) == 0)
        (void)nb_writer_run(r->engine, catch_up_task, r, NULL); /* a failure is tried again later */
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Joins the stream on the writer's thread, because all streams share the state. */
static int join_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct nb_replica *r = argument;
    struct nb_stream_states *s = &engine->stream_states;
    struct nb_stream_place *p = r->place;
    if (!s->is_known && engine->serials.entry > 1) /* entry 1 only describes the store */
        return nb_error_set(error, NB_CONFLICT,
                            "the store has changes that no other node has: a node joins with an "
                            "empty store, or with the backup of another node");
    if (s->is_known && s->streams != engine->settings.streams)
        return nb_error_set(error, NB_CONFLICT,
                            "the store belongs to %u streams, and [nodes] streams is %u: their "
                            "number stays as it was when they were made",
                            s->streams, engine->settings.streams);
    if (p->made != 0 && p->made != r->made)
        return nb_error_set(error, NB_CONFLICT,
                            "the tables of stream %u were made anew since the store has followed "
                            "them: what the store knows is not in them",
                            r->settings.stream);
    s->is_known = true;
    s->streams = engine->settings.streams;
    p->is_due |= p->made == 0;
    p->made = r->made;
    return p->is_due ? nb_transaction(engine, 0, NULL, NULL, error) : 0;
}

int nb_replica_join(struct nb_replica *r, uint64_t made, struct nb_error *error)
{
    r->made = made;
    return nb_writer_run(r->engine, join_task, r, error);
}

int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   struct nb_replica **replica, struct nb_error *error)
{
    assert(settings->stream < engine->settings.streams && settings->same_for > 0);
    struct nb_replica *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nb_error_no_memory(error);
    r->engine = engine;
    r->settings = *settings;
    r->place = &engine->stream_states.places[settings->stream];
    r->instance = nb_key_random();
    r->relay = nb_outgoing_relay(r);
    /* All delivered messages are written: an earlier replica has waited for that. */
    r->delivered = r->place->staged;
    atomic_store(&r->last, r->delivered.position);
    atomic_store(&r->looked, nb_clock_monotonic());
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    engine->relays[settings->stream] = &r->relay;
    *replica = r;
    return nb_queue_count(r, error);
}

void nb_replica_free(struct nb_replica **replica)
{
    struct nb_replica *r = *replica;
    *replica = NULL;
    if (r == NULL)
        return;
    /* After the next start the stream delivers failed operations again. */
    (void)nb_replica_settle(r, NULL);
    nb_outgoing_expire(r, UINT64_MAX, "the daemon is stopping");
    r->engine->relays[r->settings.stream] = NULL;
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
