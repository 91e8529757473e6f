/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replica/replica.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/engine/engine.h"
#include "core/engine/unjoined.h"
#include "core/live/standing.h"
#include "core/live/state.h"
#include "core/replica/answer.h"
#include "core/replica/attest.h"
#include "core/replica/carried.h"
#include "core/replica/compare.h"
#include "core/replica/incoming.h"
#include "core/replica/joining.h"
#include "core/replica/operation.h"
#include "core/replica/outgoing.h"
#include "core/replica/part.h"
#include "core/replica/queue.h"
#include "core/replica/replica_state.h"

/* What was found out before. */
static int verdict(const struct nb_replica *r, struct nb_error *error)
{
    if (!atomic_load(&r->is_astray))
        return 0;
    if (error != NULL)
        *error = r->astray;
    return r->astray.code;
}

/* It stays so: without that change nothing behind it can be made. */
static int stop_before(struct nb_replica *r, const struct nb_error *why)
{
    r->astray = *why;
    atomic_store(&r->is_astray, true);
    return why->code;
}

int nb_replica_verify(struct nb_replica *r, struct nb_error *error)
{
    int rc = verdict(r, error);
    if (rc == 0 && !r->is_verified)
        rc = nb_attest_verify(r, error);
    r->is_verified |= rc == 0;
    return rc;
}

static void note_delivered(struct nb_replica *r, const struct nb_relayed *here, bool news)
{
    r->link.hash = here->link.hash;
    r->link.chain = here->link.chain;
    nb_attest_note(r, here->position, news);
    pthread_mutex_lock(&r->lock); /* others read the chain */
    nb_chain_add(&r->chain, here->position, here->link.chain);
    r->tip = nb_chain_last(&r->chain);
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->delivered, here->position);
}

/* What somebody else has published. Returns NB_CORRUPT, or NB_STOPPING. */
static int pass_other(struct nb_replica *r, const struct nb_relayed *here)
{
    const struct nb_error why = {.code = NB_CORRUPT};
    int rc = nb_incoming_pass(r, here, NULL, &why);
    if (rc != 0)
        return NB_STOPPING;
    r->handed = here->position;
    note_delivered(r, here, true);
    return NB_CORRUPT;
}

static int apply(struct nb_replica *r, const struct nb_operation *o, const struct nb_relayed *here,
                 const struct nb_delivery *d)
{
    int rc;
    nb_carried_retry(r);
    nb_carried_wait(r);
    pthread_mutex_lock(&r->lock);
    struct nb_awaited *awaited = nb_awaiting_find(&r->awaiting, d->id);
    if (awaited != NULL)
        nb_awaiting_hold(&r->awaiting, awaited);
    pthread_mutex_unlock(&r->lock);
    rc = o->kind == NB_OPERATION_CHANGE ? nb_incoming_change(r, o, here, d->message, awaited)
                                        : nb_incoming_errand(r, o, here, awaited);
    if (rc == 0)
        r->handed = here->position;
    return rc;
}

int nb_replica_deliver(struct nb_replica *r, const struct nb_delivery *d, struct nb_error *error)
{
    struct nb_operation o;
    struct nb_relayed here = {
        .stream = r->settings.stream, .position = d->position, .after = r->handed};
    bool differs, passes_by;
    if (d->position <= atomic_load(&r->delivered))
        return 0;
    int rc = verdict(r, error);
    if (rc == 0)
        rc = nb_attest_judge(r, &d->witness, d->position, &differs, error);
    if (rc != 0)
        return rc;
    here.link = r->link;
    here.link.hash = nb_chain_hash(d->id, d->message);
    here.link.chain = nb_chain_next(r->link.chain, d->position, here.link.hash);
    rc = d->id[0] != '\0' ? nb_operation_read(&o, d->message, error)
                          : nb_error_set(error, NB_CORRUPT, "it has no id");
    if (rc == NB_CORRUPT)
        return pass_other(r, &here);
    if (rc == 0)
        rc = nb_part_judge(r, &o, &passes_by, error);
    if (rc != 0)
        return rc == NB_VERSION ? stop_before(r, error) : rc;
    here.time = o.time;
    if (!passes_by)
        nb_queue_read_id(d->id, &here);
    rc = passes_by ? nb_part_pass(r, &here) : apply(r, &o, &here, d);
    if (rc != 0)
        return nb_error_set(error, rc, "the daemon is stopping");
    if (!passes_by)
        nb_compare_note(r, &o, d->position);
    note_delivered(r, &here,
                   differs || o.kind != NB_OPERATION_ERRAND + (unsigned)NB_ERRAND_BARRIER);
    if (differs) /* who sent it is to find out, also when the stream does not get quiet */
        nb_attest_answer(r);
    nb_queue_delivered(r->settings.queue, &here);
    nb_queue_go_on(r->settings.queue, r->settings.stream, r->settings.same_for, nb_outgoing_publish,
                   r);
    return 0;
}

void nb_replica_tick(struct nb_replica *r)
{
    uint64_t now = nb_clock_monotonic();
    struct nb_error why;
    (void)nb_error_set(&why, NB_STOPPING,
                       "the cluster has not confirmed the change in time; it may still be made: "
                       "send it again later, a change that was made is unchanged then");
    nb_carried_retry(r);
    (void)nb_part_store(r); /* what is not stored is passed again by the next start */
    if (atomic_exchange(&r->is_doubted, false) && nb_attest_doubt(r) == NB_STOPPING)
        atomic_store(&r->is_doubted, true);
    nb_answer_expire(r, atomic_load(&r->is_astray) ? UINT64_MAX : now, &why);
    nb_attest_tick(r, now);
    nb_compare_tick(r, now);
    nb_queue_go_on(r->settings.queue, r->settings.stream, r->settings.same_for, nb_outgoing_publish,
                   r);
}

/* ---- answers --------------------------------------------------------------------------------- */

int nb_replica_settle(struct nb_replica *r)
{
    int rc = nb_part_store(r);
    return rc == 0 ? nb_carried_settle(r) : rc;
}

void nb_replica_acknowledge(struct nb_replica *r, const char *id, uint64_t position)
{
    nb_answer_acknowledge(r, id, position);
}

void nb_replica_refuse(struct nb_replica *r, const char *id, const struct nb_error *why)
{
    nb_answer_refuse(r, id, why);
    nb_queue_refused(r->settings.queue, id);
}

/* ---- making ---------------------------------------------------------------------------------- */

int nb_replica_begin(struct nb_replica *r, uint64_t created, uint64_t last, struct nb_error *error)
{
    int rc = nb_replica_settle(r);
    if (rc != 0)
        return nb_error_set(error, rc, "the daemon is stopping");
    rc = nb_joining_begin(r, created, last, error);
    r->is_verified = false;
    return rc == 0 ? nb_replica_verify(r, error) : rc;
}

/* From where on it follows. */
static void take_place(struct nb_replica *r)
{
    r->handed = atomic_load(&r->place->applied);
    atomic_store(&r->delivered, r->handed);
    nb_attest_begin(r);
    nb_compare_begin(r);
    r->tip = nb_chain_last(&r->chain);
}

int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   struct nb_string stream, uint64_t created, uint64_t last,
                   struct nb_replica **replica, struct nb_error *error)
{
    assert(settings->stream < engine->settings.streams && settings->same_for > 0);
    if (stream.length == 0 || stream.length > NB_STREAM_NAME_MOST)
        return nb_error_set(error, NB_UNUSABLE, "[cluster] stream: 1 to %d bytes",
                            NB_STREAM_NAME_MOST);
    struct nb_replica *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nb_error_no_memory(error);
    r->engine = engine;
    r->settings = *settings;
    r->settings.follow = settings->follow != NULL ? settings->follow : "";
    memcpy(r->base, stream.bytes, stream.length);
    nb_standing_name(r->base, engine->settings.streams, settings->stream, r->stream);
    r->place = &engine->standing.places[settings->stream];
    int rc = nb_joining_begin(r, created, last, error);
    if (rc != 0) {
        free(r);
        return rc;
    }
    r->failed_end = &r->failed;
    r->awaiting.instance = nb_key_random();
    r->relay = nb_outgoing_relay(r);
    take_place(r);
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
    nb_carried_drop(r, &why);
    nb_answer_expire(r, UINT64_MAX, &why);
    r->engine->relays[r->settings.stream] = &nb_unjoined;
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
    return atomic_load(&r->place->applied);
}

uint64_t nb_replica_delivered_hash(const struct nb_replica *r)
{
    return r->link.hash;
}

uint64_t nb_replica_delivered(const struct nb_replica *r)
{
    return atomic_load(&r->delivered);
}

struct nb_chained nb_replica_told(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    struct nb_chained tip = r->tip;
    pthread_mutex_unlock(&r->lock);
    return tip;
}

int nb_replica_agrees(struct nb_replica *r, struct nb_chained told)
{
    uint64_t own;
    pthread_mutex_lock(&r->lock);
    bool is_known = nb_chain_at(&r->chain, told.position, &own);
    pthread_mutex_unlock(&r->lock);
    return is_known ? own == told.chain : -1;
}

struct nb_chained nb_replica_digested(struct nb_replica *r)
{
    pthread_mutex_lock(&r->lock);
    struct nb_chained digested = r->digested;
    pthread_mutex_unlock(&r->lock);
    return digested;
}
