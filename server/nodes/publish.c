/* SPDX-License-Identifier: Apache-2.0 */
#ifdef NB_HAS_NATS

#include "server/nodes/publish.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/replica/operation.h"
#include "core/replica/replica.h"
#include "server/nodes/nodes_state.h"

enum { ACK_MILLISECONDS = 3000 /* before a message is published again */ };

static natsStatus send(struct nb_lane *l, natsMsg **message, const char *id)
{
    jsPubOptions options;
    natsStatus s = jsPubOptions_Init(&options);
    options.MsgId = id;
    options.ExpectStream = l->name;
    options.MaxWait = ACK_MILLISECONDS;
    return s != NATS_OK ? s : js_PublishMsgAsync(l->stream.context, message, &options);
}

static int make_message(struct nb_lane *l, const struct nb_witness *witness, struct nb_string bytes,
                        natsMsg **message)
{
    char now[24];
    char chain[NB_WITNESS_TEXT];
    nb_witness_write(witness, chain);
    (void)snprintf(now, sizeof now, "%llu", (unsigned long long)nb_clock_monotonic());
    natsStatus s = natsMsg_Create(message, l->stream.subject, NULL, bytes.bytes, (int)bytes.length);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*message, "At", now);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*message, "Chain", chain);
    return s == NATS_OK ? 0 : NB_NO_MEMORY;
}

/* A node that must not follow could not say what has become of a change. */
static int check_follows(struct nb_lane *l, struct nb_error *error)
{
    pthread_mutex_lock(&l->lock);
    bool is_refused = l->is_refused;
    pthread_mutex_unlock(&l->lock);
    return is_refused ? nb_error_set(error, NB_STOPPING,
                                     "this node does not follow the cluster any more: see "
                                     "/readyz, and ask another node")
                      : 0;
}

/* While nodes of an older program are there, kinds of changes that they do not know wait: they
 * would have to stop following. */
static int check_kind(struct nb_lane *l, struct nb_string bytes, struct nb_error *error)
{
    int rc = 0;
    uint32_t kind = (uint32_t)nb_operation_kind_of(bytes);
    pthread_mutex_lock(&l->nodes->lock);
    if (kind >= l->nodes->kinds)
        rc = nb_error_set(error, NB_STOPPING,
                          "the node '%s' of this cluster has an older bayesd, which cannot make "
                          "this change: install the same on all nodes, then send it again",
                          l->nodes->oldest);
    pthread_mutex_unlock(&l->nodes->lock);
    return rc;
}

int nb_publish(void *user, const char *id, const struct nb_witness *witness, struct nb_string bytes,
               struct nb_error *error)
{
    struct nb_lane *l = user;
    natsMsg *message = NULL;
    natsStatus s = NATS_CONNECTION_CLOSED;
    int rc = check_follows(l, error);
    if (rc == 0)
        rc = check_kind(l, bytes, error);
    if (rc != 0)
        return rc;
    pthread_rwlock_rdlock(&l->using);
    if (nb_stream_is_connected(&l->stream)) {
        rc = make_message(l, witness, bytes, &message);
        s = rc == 0 ? send(l, &message, id) : NATS_NO_MEMORY;
    }
    pthread_rwlock_unlock(&l->using);
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
static void publish_again(struct nb_lane *l, natsMsg *message, const jsPubAckErr *failed)
{
    struct nb_error why;
    char id[64];
    uint64_t waited = nb_clock_monotonic() - strtoull(nb_stream_header(message, "At"), NULL, 10);
    (void)snprintf(id, sizeof id, "%s", nb_stream_header(message, "Nats-Msg-Id"));
    if (waited < l->nodes->config->cluster_patience * UINT64_C(1000000000) &&
        failed->ErrCode == 0 && failed->Err == NATS_TIMEOUT && nb_stream_is_connected(&l->stream) &&
        send(l, &message, id) == NATS_OK)
        return;
    (void)nb_error_set(&why, NB_STOPPING,
                       "the cluster's stream has not taken the change (%s); send it again later",
                       failed->ErrText != NULL ? failed->ErrText : natsStatus_GetText(failed->Err));
    if (l->replica != NULL)
        nb_replica_refuse(l->replica, id, &why);
    natsMsg_Destroy(message);
}

void nb_publish_acknowledged(jsCtx *context, natsMsg *message, jsPubAck *ack, jsPubAckErr *failed,
                             void *user)
{
    struct nb_lane *l = user;
    (void)context;
    if (failed != NULL) {
        pthread_rwlock_rdlock(&l->using);
        publish_again(l, message, failed);
        pthread_rwlock_unlock(&l->using);
        return;
    }
    pthread_rwlock_rdlock(&l->using);
    if (l->replica != NULL)
        nb_replica_acknowledge(l->replica, nb_stream_header(message, "Nats-Msg-Id"), ack->Sequence);
    pthread_rwlock_unlock(&l->using);
    uint64_t at = strtoull(nb_stream_header(message, "At"), NULL, 10);
    nb_latency_add(&l->nodes->publishing, nb_clock_monotonic() - at);
    natsMsg_Destroy(message);
}

#endif
