/* SPDX-License-Identifier: Apache-2.0 */
#ifdef NB_HAS_NATS

#include "server/nodes/place.h"

#include <stdio.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/live/state.h"
#include "core/replica/operation.h"
#include "core/replica/replica.h"
#include "server/access/models.h"
#include "server/base/log.h"
#include "server/nodes/known.h"
#include "server/nodes/nodes_state.h"
#include "server/nodes/publish.h"

/* A server that leads tells the others what is to be stored before it has stored it: for a moment
 * it may have less than a node was given by another server. Nanoseconds, after which it has lost
 * it. */
static const uint64_t SHORT_MOST = UINT64_C(3000000000);

/* All that decides what applying does. */
void nb_place_identify(struct nb_nodes *n)
{
    const struct nb_engine_settings *s = &n->engine->settings;
    char key[NB_CONTENT_ID_LENGTH + 1];
    nb_key_content_id(&n->engine->key, 0xFE, "cluster", 7, key);
    (void)snprintf(n->identity, sizeof n->identity,
                   "bayesd format=%d tokenizer=%d apply=%d key=%.16s labels=%u models=%u "
                   "quarantine=%llu/%llu streams=%u",
                   NB_OPERATION_FORMAT, NB_TOKENIZER_VERSION, NB_APPLY_VERSION, key, s->labels,
                   s->models, (unsigned long long)s->quarantine_documents,
                   (unsigned long long)s->quarantine_bytes, s->streams);
}

static int hash_at(void *user, uint64_t position, uint64_t *hash, struct nb_error *error)
{
    struct nb_lane *l = user;
    return nb_stream_hash(&l->stream, position, hash, error);
}

static int check_pair(void *user, struct nb_string model, struct nb_string other, bool is_copy,
                      struct nb_error *error)
{
    const struct nb_lane *l = user;
    return nb_nodes_check_pair(l->nodes, model, other, is_copy, error);
}

static void warn(void *user, const struct nb_error *why)
{
    (void)user;
    nb_log(NB_LOG_WARNING, "cluster: %s", why->text);
}

/* A node is a directory of a machine. */
static uint64_t member_of(const struct nb_config *config)
{
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1); /* "" is a name, too */
    return nb_chain_hash(host, nb_string_of(config->data));
}

/* 0 also while it is not known whether the stream has lost its end. */
static int check_length(struct nb_lane *l, uint64_t last, uint64_t at, struct nb_error *error)
{
    uint64_t now = nb_clock_monotonic();
    if (last >= at)
        l->short_since = 0;
    else if (l->short_since == 0)
        l->short_since = now;
    if (l->short_since == 0 || now - l->short_since <= SHORT_MOST)
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "this node has %llu changes of the stream '%s', which has only %llu "
                        "now: its NATS servers have lost some",
                        (unsigned long long)at, l->name, (unsigned long long)last);
}

/* Before the stream is taken for that of this node: until it is as long as it will be. Of another
 * one, made at another time than `created`, the replica says what it is. */
static int await_length(struct nb_lane *l, const struct nb_stream_state *state, uint64_t created,
                        uint64_t at, struct nb_error *error)
{
    int rc = check_length(l, state->last, at, error);
    if (rc != 0)
        return created != state->created ? 0 : rc; /* the replica refuses it */
    if (l->short_since == 0)
        return 0;
    return nb_error_set(error, NB_STOPPING, "the stream '%s' has less than this node", l->name);
}

/* Before there is a replica, which takes the stream as it is. */
static int await_stream(struct nb_lane *l, const struct nb_stream_state *state,
                        struct nb_error *error)
{
    const struct nb_place *p = &l->nodes->engine->standing.places[l->which];
    return await_length(l, state, p->created, atomic_load(&p->applied), error);
}

static int make_replica(struct nb_lane *l, const struct nb_stream_state *state,
                        struct nb_error *error)
{
    int64_t most = natsConnection_GetMaxPayload(l->stream.connection);
    enum { HEADERS = 512, SAME_MILLISECONDS = 30000 };
    const struct nb_replica_settings settings = {
        .publish = nb_publish,
        .hash_at = hash_at,
        .warn = warn,
        .user = l,
        .follow = l->nodes->config->cluster_follow,
        .matches = nb_models_match,
        .check_pair = check_pair,
        .stream = l->which,
        .queue = l->nodes->queue,
        .message_most = most > HEADERS ? (size_t)most - HEADERS : 0,
        .member = member_of(l->nodes->config),
        .patience = l->nodes->config->cluster_patience * UINT64_C(1000000000),
        .same_for = SAME_MILLISECONDS,
        .compare_every = l->nodes->config->cluster_digest_seconds * UINT64_C(1000000000)};
    struct nb_replica *replica = NULL;
    int rc =
        nb_replica_new(l->nodes->engine, &settings, nb_string_of(l->nodes->config->cluster_stream),
                       state->created, state->last, &replica, error);
    if (rc != 0)
        return rc;
    pthread_rwlock_wrlock(&l->using);
    l->replica = replica;
    pthread_rwlock_unlock(&l->using);
    l->created = state->created;
    return 0;
}

/* A stream that has lost its end may be as long again by now: the change that this node has made
 * last must still be the one at its place. */
static int check_last(struct nb_lane *l, uint64_t at, struct nb_error *error)
{
    uint64_t hash;
    int rc = nb_stream_hash(&l->stream, at, &hash, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0 && hash != nb_replica_delivered_hash(l->replica))
        rc = nb_error_set(error, NB_CONFLICT,
                          "the stream '%s' has another change at %llu than this node: its NATS "
                          "servers have lost some, and went on; give this node an empty store, or "
                          "the backup of another node",
                          l->name, (unsigned long long)at);
    return rc;
}

void nb_place_warning(struct nb_lane *l, char text[NB_ERROR_TEXT])
{
    unsigned replicas = atomic_load(&l->replicas);
    text[0] = '\0';
    if (replicas != 0 && replicas < l->nodes->config->cluster_replicas)
        (void)snprintf(text, NB_ERROR_TEXT,
                       "the stream '%s' is kept by %u NATS server%s, and [cluster] replicas is %u: "
                       "call bayesd --mend-stream, which may have been interrupted",
                       l->name, replicas, replicas == 1 ? "" : "s",
                       (unsigned)l->nodes->config->cluster_replicas);
}

static void note_copies(struct nb_lane *l, const struct nb_stream_state *state)
{
    char text[NB_ERROR_TEXT];
    atomic_store(&l->copies, state->copies);
    if (atomic_exchange(&l->replicas, state->replicas) == state->replicas)
        return;
    nb_place_warning(l, text);
    if (text[0] != '\0')
        nb_log(NB_LOG_WARNING, "cluster: %s", text);
}

/* The stream says that it was made at another time. */
static int take_time(struct nb_lane *l, const struct nb_stream_state *state, uint64_t at,
                     struct nb_error *error)
{
    int rc = await_length(l, state, l->created, at, error);
    if (rc == 0)
        rc = nb_replica_begin(l->replica, state->created, state->last, error);
    if (rc != 0)
        return rc;
    l->created = state->created;
    if (at > 0)
        nb_log(NB_LOG_INFO,
               "cluster: the stream '%s' says another time at which it was made; it "
               "has what this node has",
               l->name);
    return 0;
}

int nb_place_check(struct nb_lane *l, const struct nb_stream_state *state, struct nb_error *error)
{
    uint64_t at = nb_replica_delivered(l->replica);
    note_copies(l, state);
    uint64_t needs = at == 0 ? 1 : at; /* also the last that it has: whether it is the same there */
    int rc = state->created == l->created ? 0 : take_time(l, state, at, error);
    if (rc == 0)
        rc = check_length(l, state->last, at, error);
    if (rc != 0)
        return rc;
    bool is_emptied = state->first > state->last && at == state->last;
    bool is_outrun = state->first > needs && !is_emptied;
    atomic_store(&l->is_outrun, is_outrun);
    if (is_outrun)
        return nb_error_set(error, NB_CONFLICT,
                            "the stream '%s' begins at %llu now, and this node needs %llu: %s",
                            l->name, (unsigned long long)state->first, (unsigned long long)needs,
                            l->nodes->config->cluster_peers[0] != '\0'
                                ? "it takes the store of another node (peers)"
                                : "name other nodes in [cluster] peers, of which it takes the "
                                  "store, or call bayesd --join with an empty directory");
    atomic_store(&l->last, state->last);
    return at > 0 && at >= state->first ? check_last(l, at, error) : 0;
}

int nb_place_find(struct nb_lane *l, struct nb_error *error)
{
    struct nb_stream_state state;
    struct nb_stream stream;
    int rc = 0;
    if (l->stream.connection == NULL) {
        rc = nb_stream_open(&stream, l->nodes->config, l->which, nb_publish_acknowledged, l, error);
        if (rc != 0)
            return rc;
        pthread_rwlock_wrlock(&l->using);
        l->stream = stream;
        pthread_rwlock_unlock(&l->using);
    }
    /* Servers that have just started may not know the stream yet: who belongs to it does not make
     * another one in its place. */
    if (l->nodes->engine->standing.places[l->which].created != 0)
        rc = nb_stream_find(&l->stream, l->nodes->config, NULL, &state, error);
    if (rc == 0)
        rc = nb_stream_find(&l->stream, l->nodes->config, l->nodes->identity, &state, error);
    if (rc == 0 && l->replica == NULL)
        rc = await_stream(l, &state, error);
    if (rc == 0 && l->replica == NULL)
        rc = make_replica(l, &state, error);
    if (rc == 0)
        rc = nb_place_check(l, &state, error);
    return rc == 0 ? nb_replica_verify(l->replica, error) : rc;
}

#endif
