/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies the operations that the stream delivers. A change of a document becomes a job of the
 * writer, which groups it with its neighbours, while the follower continues. A change of a model
 * waits until all operations before it are applied. If an operation fails for a reason that may
 * pass (a full disk), the writer refuses it and all later ones (nb_stream_states_stage); the stream
 * still has them, and delivers them again.
 */
#include "core/nodes/incoming.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "core/archive/copy/copy.h"
#include "core/archive/dump/parts.h"
#include "core/engine/engine.h"
#include "core/engine/relayed_changes.h"
#include "core/engine/writer.h"
#include "core/jobs/merge/merge.h"
#include "core/jobs/quarantine/quarantine.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/networks/named/named.h"
#include "core/nodes/operation.h"
#include "core/nodes/outgoing.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica_state.h"

enum {
    CARRIED_MOST = 4096,      /* operations that the writer may have */
    CARRIED_BYTES = 64 << 20, /* and their bytes */
    RETRY_NANOSECONDS =
        200000000, /* pause before failed operations are read from the stream again */
};

/* ---- the writer's operations ----------------------------------------------------------------- */

/* A change on its way through the writer. */
struct carried {
    struct nb_replica *replica;
    struct nb_relayed here; /* borrows from: */
    struct nb_buffer bytes; /* the message, and behind it its id */
    struct nb_batch *batch;
};

static void carried_free(struct carried *c)
{
    nb_batch_free(&c->batch);
    nb_buffer_deinit(&c->bytes);
    free(c);
}

/* On the writer's thread. */
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
        if (receipt->code != 0)
            nb_queue_note(r->settings.queue, c->here.outbox, &receipt->error);
        nb_outgoing_answer(r, c->here.message_id, &(struct nb_answer){.batch = &c->batch});
    }
    pthread_mutex_lock(&r->lock);
    r->carried--;
    r->carried_bytes -= c->here.message.length;
    if (r->failure.code == 0)
        r->failure = failure;
    carried_free(c);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until the writer has at most `count` operations with `bytes` bytes. */
static void wait_for_room(struct nb_replica *r, size_t count, size_t bytes)
{
    pthread_mutex_lock(&r->lock);
    while (r->carried > count || r->carried_bytes > bytes)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

static int carry(struct nb_replica *r, struct nb_operation *o, const struct nb_relayed *here,
                 struct nb_error *error)
{
    struct nb_string message = here->message, id = here->message_id;
    bool single = nb_outgoing_is_single(r, id);
    wait_for_room(r, CARRIED_MOST, CARRIED_BYTES);
    struct carried *c = calloc(1, sizeof *c);
    if (c == NULL)
        return nb_error_no_memory(error);
    *c = (struct carried){.replica = r, .here = *here};
    int rc = nb_buffer_append(&c->bytes, message.bytes, message.length);
    if (rc == 0)
        rc = nb_buffer_append(&c->bytes, id.bytes, id.length);
    c->here.message.bytes = c->bytes.bytes;
    c->here.message_id.bytes = c->bytes.bytes + message.length;
    if (rc == 0)
        rc = nb_operation_take(r->engine, o, &c->here, single, &c->batch, error);
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

/* Sets `delivered` to the last operation that the writer has staged, which is applied, or refused
 * by all nodes. */
static int read_staged(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_replica *r = argument;
    (void)engine;
    (void)error;
    pthread_mutex_lock(&r->lock);
    r->delivered = (struct nb_point){r->place->staged, r->place->checksum};
    pthread_mutex_unlock(&r->lock);
    return 0;
}

int nb_incoming_settle(struct nb_replica *r, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = RETRY_NANOSECONDS};
    wait_for_room(r, 0, 0);
    struct nb_error failure = r->failure; /* the writer has no operation that could set it now */
    if (failure.code == 0)
        return 0;
    if (nb_writer_run(r->engine, read_staged, r, NULL) == 0)
        r->failure.code = 0;
    (void)nanosleep(&pause, NULL); /* it may wake early */
    return nb_error_set(error, NB_STOPPING, "%s", failure.text);
}

/* ---- changes of a model
 * --------------------------------------------------------------------------------- */

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
    done->created = false;
    done->dropped = 0;
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
    case NB_RELAYED_CHANGE_CLEAR:
        return nb_quarantine_clear_some(engine, e->model, &done->dropped, error);
    case NB_RELAYED_CHANGE_PART:
        return nb_import_parts_add(engine, e, error);
    case NB_RELAYED_CHANGE_IMPORT:
        return nb_import_shared(engine, e, done, error);
    case NB_RELAYED_CHANGE_COMPARE:
    case NB_RELAYED_CHANGES:
        break;
    }
    return 0;
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

int nb_incoming_store(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, write_nothing, argument, error);
}

/* Runs a change of a model; NULL: only skips the operation, because of `why`. */
static int run_here(struct nb_replica *r, const struct nb_relayed_change *relayed_change,
                    const struct nb_relayed *here, const struct nb_error *why,
                    struct nb_error *error)
{
    struct nb_relayed_change_done done = {.position = here->position};
    struct nb_error refused = {0};
    int rc = nb_incoming_settle(r, error);
    if (rc != 0)
        return rc;
    nb_relay_apply(here);
    int code = relayed_change != NULL ? run(r->engine, relayed_change, &done, &refused) : why->code;
    rc = relayed_change != NULL && nb_error_is_passing(code)
             ? nb_error_set(error, code, "%s", refused.text)
             : nb_writer_run(r->engine, nb_incoming_store, NULL, error);
    nb_relay_apply(NULL);
    if (nb_error_is_passing(rc) && atomic_load(&r->place->applied) < here->position) {
        r->failure = *error;
        return nb_incoming_settle(r, error);
    }
    struct nb_answer answer = {.done = &done};
    if (code != 0)
        answer = (struct nb_answer){.why = relayed_change != NULL ? &refused : why};
    nb_outgoing_answer(r, here->message_id, &answer);
    return 0;
}

int nb_incoming(struct nb_replica *r, struct nb_operation *o, const struct nb_relayed *here,
                const struct nb_error *why, struct nb_error *error)
{
    struct nb_error refused = {0};
    if (o == NULL || o->kind != NB_OPERATION_CHANGE)
        return run_here(r, o == NULL ? NULL : &o->relayed_change, here, why, error);
    int rc = carry(r, o, here, &refused);
    if (rc == 0)
        return 0;
    if (nb_error_is_passing(rc))
        return nb_error_set(error, NB_STOPPING, "%s", refused.text);
    nb_queue_note(r->settings.queue, here->outbox, &refused);
    return run_here(r, NULL, here, &refused, error);
}
