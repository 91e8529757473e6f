/* SPDX-License-Identifier: Apache-2.0 */
#ifdef NB_HAS_NATS

#include "server/nodes/follow.h"

#include "config/config.h"
#include "core/base/clock.h"
#include "core/replica/replica.h"
#include "server/base/log.h"
#include "server/nodes/nodes_state.h"
#include "server/nodes/place.h"
#include "server/nodes/waiting.h"

enum {
    LOOK_MILLISECONDS = 50, /* for a message, before what has failed or waited is looked at */
    LOOKS_AGAIN = 2,        /* after a gap, before it is believed */
};
static const uint64_t ASK_EVERY = UINT64_C(500000000);     /* for the state of the stream */
static const uint64_t SILENCE_MOST = UINT64_C(3000000000); /* while there should be messages */

/* Whether the message may be taken. After a gap the stream is followed anew; if the gap stays, the
 * positions in it are gone for everybody. */
static bool follows(struct nb_lane *l, struct nb_following *f, uint64_t position)
{
    if (position <= nb_replica_delivered(l->replica) + 1)
        return true;
    f->gaps = f->gap == position ? f->gaps + 1 : 1;
    f->gap = position;
    return f->gaps > LOOKS_AGAIN;
}

/* Notes how long a message that is not applied yet has been in the stream, and that the stream has
 * come as far as that. */
static void note_lag(struct nb_lane *l, uint64_t position, int64_t time)
{
    uint64_t last = atomic_load(&l->last);
    if (position > last) /* this thread alone sets it while it follows */
        atomic_store(&l->last, position);
    uint64_t applied = nb_replica_applied(l->replica);
    pthread_mutex_lock(&l->lock);
    if (position > applied && nb_lag_is_over(&l->lag, applied))
        nb_lag_note(&l->lag, position, time, nb_clock_now() * INT64_C(1000000));
    pthread_mutex_unlock(&l->lock);
}

/* 0, which is passed over: no message of the stream. */
static uint64_t position_of(natsMsg *message, uint64_t *number, int64_t *time)
{
    jsMsgMetaData *about = NULL;
    if (natsMsg_GetMetaData(&about, message) != NATS_OK)
        return 0;
    uint64_t position = about->Sequence.Stream;
    *number = about->Sequence.Consumer;
    *time = about->Timestamp;
    jsMsgMetaData_Destroy(about);
    return position;
}

/* Returns 0, NB_CONFLICT (it must not follow), or NB_STOPPING (it is to begin anew). */
static int take(struct nb_lane *l, struct nb_following *f, natsMsg *message, struct nb_error *error)
{
    uint64_t number = 0;
    int64_t time = 0;
    uint64_t position = position_of(message, &number, &time);
    const struct nb_delivery delivery = {
        .position = position,
        .id = nb_stream_header(message, "Nats-Msg-Id"),
        .witness = nb_witness_read(nb_stream_header(message, "Chain")),
        .message = {natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)}};
    /* The library has begun to follow anew by itself, maybe another stream than before. */
    if (number != 0 && number != ++f->number)
        return nb_error_set(error, NB_STOPPING, "the stream was interrupted");
    if (!follows(l, f, position))
        return nb_error_set(error, NB_STOPPING, "a change is missing");
    note_lag(l, position, time);
    int rc = nb_replica_deliver(l->replica, &delivery, error);
    if (rc == NB_CORRUPT) {
        nb_log(NB_LOG_WARNING, "cluster: message %llu is passed over: %s",
               (unsigned long long)position, error->text);
        return 0;
    }
    return rc == 0 || rc == NB_STOPPING ? rc : NB_CONFLICT;
}

/* The same of what the stream has and has not delivered. What fails is asked again. */
static void ask_lag(struct nb_lane *l, uint64_t last)
{
    uint64_t next = nb_replica_delivered(l->replica) + 1;
    int64_t time;
    pthread_mutex_lock(&l->lock);
    bool is_over = nb_lag_is_over(&l->lag, nb_replica_applied(l->replica));
    pthread_mutex_unlock(&l->lock);
    if (is_over && next <= last && nb_stream_time(&l->stream, next, &time, NULL) == 0)
        note_lag(l, next, time);
}

static int ask(struct nb_lane *l, struct nb_following *f, struct nb_error *error)
{
    struct nb_stream_state state;
    uint64_t now = nb_clock_monotonic();
    if (now - f->asked < ASK_EVERY)
        return 0;
    int rc = nb_stream_find(&l->stream, l->nodes->config, NULL, &state, error);
    f->asked = nb_clock_monotonic();
    if (rc == 0)
        rc = nb_place_check(l, &state, error);
    if (rc == 0)
        ask_lag(l, state.last);
    if (rc == 0 && state.last == nb_replica_delivered(l->replica))
        f->heard = f->asked;
    if (rc == 0 && f->asked - f->heard > SILENCE_MOST)
        rc = nb_error_set(error, NB_STOPPING, "the stream has changes and delivers none");
    return rc;
}

/* One look for a message. */
static int look(struct nb_lane *l, struct nb_following *f, struct nb_error *error)
{
    natsMsg *message = NULL;
    natsStatus s = natsSubscription_NextMsg(&message, f->subscription, LOOK_MILLISECONDS);
    int rc = 0;
    if (s == NATS_OK) {
        f->heard = nb_clock_monotonic();
        rc = take(l, f, message, error);
        natsMsg_Destroy(message);
    } else {
        nb_replica_tick(l->replica);
        if (s != NATS_TIMEOUT)
            rc = nb_stream_error(s, "the stream is away", error);
    }
    return rc == 0 ? ask(l, f, error) : rc;
}

int nb_follow(struct nb_lane *l, struct nb_following *f, struct nb_error *error)
{
    f->heard = f->asked = nb_clock_monotonic();
    f->number = 0;
    int rc =
        nb_stream_follow(&l->stream, nb_replica_delivered(l->replica) + 1, &f->subscription, error);
    while (rc == 0 && !atomic_load(&l->nodes->stops)) {
        bool is_connected = nb_stream_is_connected(&l->stream);
        atomic_store(&l->is_following, is_connected);
        nb_nodes_queue_set(l, is_connected ? NB_QUEUE_THERE : NB_QUEUE_AWAY);
        rc = look(l, f, error);
    }
    atomic_store(&l->is_following, false);
    nb_nodes_queue_set(l, NB_QUEUE_AWAY);
    natsSubscription_Unsubscribe(f->subscription);
    natsSubscription_Destroy(f->subscription);
    f->subscription = NULL;
    return rc;
}

#endif
