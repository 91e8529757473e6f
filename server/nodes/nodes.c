/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread finds the stream and follows it; whatever goes wrong with the stream, it begins anew
 * from what it has delivered. Threads of the library call on_ack.
 */
#include "server/nodes/nodes.h"

#include <stdlib.h>

#include "config/config.h"

#ifdef NB_HAS_NATS

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/live/state.h"
#include "core/replica/operation.h"
#include "core/replica/replica.h"
#include "server/base/log.h"
#include "server/nodes/stream.h"

enum {
    LOOK_MILLISECONDS = 50,  /* for a message, before what has failed or waited is looked at */
    ACK_MILLISECONDS = 3000, /* before a message is published again */
    REST_NANOSECONDS = 200000000,
    LOOKS_AGAIN = 2, /* after a gap, before it is believed */
};
static const uint64_t ASK_EVERY = UINT64_C(500000000);     /* for the state of the stream */
static const uint64_t SILENCE_MOST = UINT64_C(3000000000); /* while there should be messages */

struct nb_nodes {
    struct nb_engine *engine;
    const struct nb_config *config;
    pthread_t thread;
    atomic_bool stops, is_following;
    atomic_uint_fast64_t last; /* of the stream */
    atomic_uint_fast64_t published, publish_nanoseconds;
    char identity[256];
    pthread_mutex_t lock; /* of what follows */
    char reason[NB_ERROR_TEXT];
    bool is_refused;
    pthread_rwlock_t using; /* held while `stream` and `replica` are used by other threads */
    struct nb_stream stream;
    struct nb_replica *replica;
    uint64_t created; /* of the stream; the thread's */
};

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = REST_NANOSECONDS};
    (void)nanosleep(&pause, NULL); /* it may wake early */
}

static void say(struct nb_nodes *n, bool is_refused, const struct nb_error *why)
{
    pthread_mutex_lock(&n->lock);
    bool is_new = strcmp(n->reason, why->text) != 0;
    (void)snprintf(n->reason, sizeof n->reason, "%s", why->text);
    n->is_refused = is_refused;
    pthread_mutex_unlock(&n->lock);
    if (is_new && why->text[0] != '\0')
        nb_log(is_refused ? NB_LOG_ERROR : NB_LOG_WARNING, "cluster: %s", why->text);
}

/* ---- publishing ------------------------------------------------------------------------------ */

static const char *header(natsMsg *message, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(message, name, &value) == NATS_OK ? value : "";
}

static natsStatus send(struct nb_nodes *n, natsMsg **message, const char *id)
{
    jsPubOptions options;
    natsStatus s = jsPubOptions_Init(&options);
    options.MsgId = id;
    options.ExpectStream = n->config->cluster_stream;
    options.MaxWait = ACK_MILLISECONDS;
    return s != NATS_OK ? s : js_PublishMsgAsync(n->stream.context, message, &options);
}

static int make_message(struct nb_nodes *n, struct nb_string bytes, natsMsg **message)
{
    char now[24];
    (void)snprintf(now, sizeof now, "%llu", (unsigned long long)nb_clock_monotonic());
    natsStatus s = natsMsg_Create(message, n->stream.subject, NULL, bytes.bytes, (int)bytes.length);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*message, "At", now);
    return s == NATS_OK ? 0 : NB_NO_MEMORY;
}

static int publish(void *user, const char *id, struct nb_string bytes, struct nb_error *error)
{
    struct nb_nodes *n = user;
    natsMsg *message = NULL;
    natsStatus s = NATS_CONNECTION_CLOSED;
    int rc = 0;
    pthread_rwlock_rdlock(&n->using);
    if (nb_stream_is_connected(&n->stream)) {
        rc = make_message(n, bytes, &message);
        s = rc == 0 ? send(n, &message, id) : NATS_NO_MEMORY;
    }
    pthread_rwlock_unlock(&n->using);
    natsMsg_Destroy(message); /* NULL if it was sent */
    return s == NATS_OK
               ? 0
               : nb_error_set(error, NB_STOPPING,
                              "the cluster's stream is away (%s): nothing is learned until "
                              "it is back; send the change again later",
                              natsStatus_GetText(s));
}

/* Not acknowledged: it may be in the stream or not. Published again with the same id it is taken
 * once; when its client has given up, somebody else sends it. */
static void publish_again(struct nb_nodes *n, natsMsg *message, const jsPubAckErr *failed)
{
    struct nb_error why;
    char id[64];
    uint64_t waited = nb_clock_monotonic() - strtoull(header(message, "At"), NULL, 10);
    (void)snprintf(id, sizeof id, "%s", header(message, "Nats-Msg-Id"));
    if (waited < n->config->cluster_patience * UINT64_C(1000000000) && failed->ErrCode == 0 &&
        failed->Err == NATS_TIMEOUT && nb_stream_is_connected(&n->stream) &&
        send(n, &message, id) == NATS_OK)
        return;
    (void)nb_error_set(&why, NB_STOPPING,
                       "the cluster's stream has not taken the change (%s); send it again later",
                       failed->ErrText != NULL ? failed->ErrText : natsStatus_GetText(failed->Err));
    if (n->replica != NULL)
        nb_replica_refuse(n->replica, id, &why);
    natsMsg_Destroy(message);
}

/* On a thread of the library. */
static void on_ack(jsCtx *context, natsMsg *message, jsPubAck *ack, jsPubAckErr *failed, void *user)
{
    struct nb_nodes *n = user;
    (void)context;
    (void)ack;
    if (failed != NULL) {
        pthread_rwlock_rdlock(&n->using);
        publish_again(n, message, failed);
        pthread_rwlock_unlock(&n->using);
        return;
    }
    uint64_t at = strtoull(header(message, "At"), NULL, 10);
    atomic_fetch_add(&n->published, 1);
    atomic_fetch_add(&n->publish_nanoseconds, nb_clock_monotonic() - at);
    natsMsg_Destroy(message);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* What all nodes of a stream have in common: it decides what applying does. */
static void write_identity(struct nb_nodes *n)
{
    const struct nb_engine_settings *s = &n->engine->settings;
    char key[NB_CONTENT_ID_LENGTH + 1];
    nb_key_content_id(&n->engine->key, 0xFE, "cluster", 7, key);
    (void)snprintf(n->identity, sizeof n->identity,
                   "bayesd format=%d tokenizer=%d apply=%d key=%.16s labels=%u models=%u "
                   "quarantine=%llu/%llu",
                   NB_OPERATION_FORMAT, NB_TOKENIZER_VERSION, NB_APPLY_VERSION, key, s->labels,
                   s->models, (unsigned long long)s->quarantine_documents,
                   (unsigned long long)s->quarantine_bytes);
}

static int make_replica(struct nb_nodes *n, const struct nb_stream_state *state,
                        struct nb_error *error)
{
    int64_t most = natsConnection_GetMaxPayload(n->stream.connection);
    enum { HEADERS = 512 };
    const struct nb_replica_settings settings = {
        .publish = publish,
        .user = n,
        .message_most = most > HEADERS ? (size_t)most - HEADERS : 0,
        .patience = n->config->cluster_patience * UINT64_C(1000000000)};
    struct nb_replica *replica = NULL;
    int rc = nb_replica_new(n->engine, &settings, nb_string_of(n->config->cluster_stream),
                            state->created, state->last, &replica, error);
    if (rc != 0)
        return rc;
    pthread_rwlock_wrlock(&n->using);
    n->replica = replica;
    pthread_rwlock_unlock(&n->using);
    n->created = state->created;
    return 0;
}

/* A stream that has lost its end may be as long again by now: the change that this node has made
 * last must still be the one at its place. */
static int check_last(struct nb_nodes *n, uint64_t at, struct nb_error *error)
{
    uint64_t hash;
    int rc = nb_stream_hash(&n->stream, n->config, at, &hash, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0 && hash != nb_replica_delivered_hash(n->replica))
        rc = nb_error_set(error, NB_CONFLICT,
                          "the stream '%s' has another change at %llu than this node: its NATS "
                          "servers have lost some, and went on; give this node an empty store, or "
                          "the backup of another node",
                          n->config->cluster_stream, (unsigned long long)at);
    return rc;
}

/* Whether the stream goes on where this node is. */
static int check(struct nb_nodes *n, const struct nb_stream_state *state, struct nb_error *error)
{
    uint64_t at = nb_replica_delivered(n->replica);
    if (state->created != n->created)
        return nb_error_set(error, NB_CONFLICT,
                            "the stream '%s' was made anew since this node has followed it",
                            n->config->cluster_stream);
    if (state->last < at)
        return nb_error_set(error, NB_CONFLICT,
                            "this node has %llu changes of the stream '%s', which has only %llu "
                            "now: its NATS servers have lost some",
                            (unsigned long long)at, n->config->cluster_stream,
                            (unsigned long long)state->last);
    if (state->first > at + 1)
        return nb_error_set(error, NB_CONFLICT,
                            "the stream '%s' begins at %llu now, and this node needs %llu: give it "
                            "the backup of another node",
                            n->config->cluster_stream, (unsigned long long)state->first,
                            (unsigned long long)at + 1);
    atomic_store(&n->last, state->last);
    return at > 0 && at >= state->first ? check_last(n, at, error) : 0;
}

static int join(struct nb_nodes *n, struct nb_error *error)
{
    struct nb_stream_state state;
    struct nb_stream stream;
    int rc = 0;
    if (n->stream.connection == NULL) {
        rc = nb_stream_open(&stream, n->config, on_ack, n, error);
        if (rc != 0)
            return rc;
        pthread_rwlock_wrlock(&n->using);
        n->stream = stream;
        pthread_rwlock_unlock(&n->using);
    }
    rc = nb_stream_find(&n->stream, n->config, n->identity, &state, error);
    if (rc == 0 && n->replica == NULL)
        rc = make_replica(n, &state, error);
    return rc == 0 ? check(n, &state, error) : rc;
}

/* ---- following ------------------------------------------------------------------------------- */

struct following {
    natsSubscription *subscription;
    uint64_t heard, asked; /* times */
    uint64_t number;       /* of the message in what is delivered */
    uint64_t gap;          /* position after one; so often seen: */
    unsigned gaps;
};

/* Whether the message may be taken. After a gap the stream is followed anew; if the gap stays, the
 * positions in it are gone for everybody. */
static bool follows(struct nb_nodes *n, struct following *f, uint64_t position)
{
    if (position <= nb_replica_delivered(n->replica) + 1)
        return true;
    f->gaps = f->gap == position ? f->gaps + 1 : 1;
    f->gap = position;
    return f->gaps > LOOKS_AGAIN;
}

/* 0, which is passed over: no message of the stream. */
static uint64_t position_of(natsMsg *message, uint64_t *number)
{
    jsMsgMetaData *about = NULL;
    if (natsMsg_GetMetaData(&about, message) != NATS_OK)
        return 0;
    uint64_t position = about->Sequence.Stream;
    *number = about->Sequence.Consumer;
    jsMsgMetaData_Destroy(about);
    return position;
}

/* Returns 0, NB_CONFLICT (it must not follow), or NB_STOPPING (it is to begin anew). */
static int take(struct nb_nodes *n, struct following *f, natsMsg *message, struct nb_error *error)
{
    uint64_t number = 0;
    uint64_t position = position_of(message, &number);
    struct nb_string bytes = {natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)};
    /* The library has begun to follow anew by itself, maybe another stream than before. */
    if (number != 0 && number != ++f->number)
        return nb_error_set(error, NB_STOPPING, "the stream was interrupted");
    if (!follows(n, f, position))
        return nb_error_set(error, NB_STOPPING, "a change is missing");
    int rc = nb_replica_deliver(n->replica, position, header(message, "Nats-Msg-Id"), bytes, error);
    if (rc == NB_CORRUPT) {
        nb_log(NB_LOG_WARNING, "cluster: message %llu is passed over: %s",
               (unsigned long long)position, error->text);
        return 0;
    }
    return rc == 0 || rc == NB_STOPPING ? rc : NB_CONFLICT;
}

static int ask(struct nb_nodes *n, struct following *f, struct nb_error *error)
{
    struct nb_stream_state state;
    uint64_t now = nb_clock_monotonic();
    if (now - f->asked < ASK_EVERY)
        return 0;
    int rc = nb_stream_find(&n->stream, n->config, NULL, &state, error);
    f->asked = nb_clock_monotonic();
    if (rc == 0)
        rc = check(n, &state, error);
    if (rc == 0 && state.last == nb_replica_delivered(n->replica))
        f->heard = f->asked;
    if (rc == 0 && f->asked - f->heard > SILENCE_MOST)
        rc = nb_error_set(error, NB_STOPPING, "the stream has changes and delivers none");
    return rc;
}

/* One look for a message. */
static int look(struct nb_nodes *n, struct following *f, struct nb_error *error)
{
    natsMsg *message = NULL;
    natsStatus s = natsSubscription_NextMsg(&message, f->subscription, LOOK_MILLISECONDS);
    int rc = 0;
    if (s == NATS_OK) {
        f->heard = nb_clock_monotonic();
        rc = take(n, f, message, error);
        natsMsg_Destroy(message);
    } else {
        nb_replica_tick(n->replica);
        if (s != NATS_TIMEOUT)
            rc = nb_stream_error(s, "the stream is away", error);
    }
    return rc == 0 ? ask(n, f, error) : rc;
}

static int follow(struct nb_nodes *n, struct following *f, struct nb_error *error)
{
    f->heard = f->asked = nb_clock_monotonic();
    f->number = 0;
    int rc = nb_stream_follow(&n->stream, n->config, nb_replica_delivered(n->replica) + 1,
                              &f->subscription, error);
    while (rc == 0 && !atomic_load(&n->stops)) {
        atomic_store(&n->is_following, nb_stream_is_connected(&n->stream));
        rc = look(n, f, error);
    }
    atomic_store(&n->is_following, false);
    natsSubscription_Unsubscribe(f->subscription);
    natsSubscription_Destroy(f->subscription);
    f->subscription = NULL;
    return rc;
}

static void *nodes_main(void *argument)
{
    struct nb_nodes *n = argument;
    struct following f = {.gap = 0};
    while (!atomic_load(&n->stops)) {
        struct nb_error why = {0};
        int rc = join(n, &why);
        if (rc == 0) {
            say(n, false, &why);
            rc = follow(n, &f, &why);
        }
        if (rc != 0)
            say(n, rc != NB_STOPPING, &why);
        if (n->replica != NULL)
            nb_replica_tick(n->replica);
        if (!atomic_load(&n->stops))
            rest();
    }
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error)
{
    struct nb_nodes *n = calloc(1, sizeof *n);
    if (n == NULL)
        return nb_error_no_memory(error);
    n->engine = engine;
    n->config = config;
    pthread_mutex_init(&n->lock, NULL);
    pthread_rwlock_init(&n->using, NULL);
    write_identity(n);
    atomic_store(&n->last, atomic_load(&engine->standing.applied));
    (void)snprintf(n->reason, sizeof n->reason, "it has not found the stream yet");
    int rc = pthread_create(&n->thread, NULL, nodes_main, n);
    if (rc != 0) {
        free(n);
        return nb_error_errno(error, rc, "starting the thread that follows the cluster");
    }
    *nodes = n;
    return 0;
}

void nb_nodes_stop(struct nb_nodes **nodes)
{
    struct nb_nodes *n = *nodes;
    *nodes = NULL;
    if (n == NULL)
        return;
    atomic_store(&n->stops, true);
    pthread_rwlock_rdlock(&n->using);
    if (n->replica != NULL)
        nb_replica_stop(n->replica);
    pthread_rwlock_unlock(&n->using);
    (void)pthread_join(n->thread, NULL); /* it fails for an invalid thread only */
    pthread_rwlock_wrlock(&n->using);
    struct nb_replica *replica = n->replica;
    n->replica = NULL;
    pthread_rwlock_unlock(&n->using);
    nb_replica_free(&replica);
    nb_stream_close(&n->stream);
    nats_Close();
    pthread_rwlock_destroy(&n->using);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

void nb_nodes_state(struct nb_nodes *n, struct nb_nodes_state *state)
{
    uint64_t applied = atomic_load(&n->engine->standing.applied);
    uint64_t last = atomic_load(&n->last);
    *state = (struct nb_nodes_state){.connected = atomic_load(&n->is_following),
                                     .stream = n->config->cluster_stream,
                                     .applied = applied,
                                     .behind = last > applied ? last - applied : 0,
                                     .published = atomic_load(&n->published),
                                     .publish_nanoseconds = atomic_load(&n->publish_nanoseconds)};
    pthread_mutex_lock(&n->lock);
    state->is_refused = n->is_refused;
    (void)snprintf(state->reason, sizeof state->reason, "%s", n->reason);
    pthread_mutex_unlock(&n->lock);
}

#else

int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error)
{
    (void)engine;
    (void)config;
    (void)nodes;
    return nb_error_set(error, NB_UNSUPPORTED,
                        "[cluster]: this bayesd was built without libnats (libnats-dev)");
}

void nb_nodes_stop(struct nb_nodes **nodes)
{
    (void)nodes;
}

void nb_nodes_state(struct nb_nodes *nodes, struct nb_nodes_state *state)
{
    (void)nodes;
    *state = (struct nb_nodes_state){.stream = ""};
}

#endif
