/* SPDX-License-Identifier: Apache-2.0 */
#ifdef NB_HAS_NATS

#include "server/nodes/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/chain/chain.h"

enum {
    SERVERS_MOST = 64,
    ANSWER_MILLISECONDS = 2000, /* of the stream */
    PENDING_MOST = 16384,       /* messages that were published and not acknowledged */
    STALL_MILLISECONDS = 1000,
    RECONNECT_MILLISECONDS = 250,
    PENDING_MESSAGES = 65536, /* that were delivered and not taken */
};
static const int64_t DUPLICATES_LEAST = INT64_C(120000000000); /* nanoseconds */

int nb_stream_error(natsStatus status, const char *what, struct nb_error *error)
{
    /* What is sent while there is no connection would have to be kept (set_options). */
    const char *why = status == NATS_INSUFFICIENT_BUFFER ? "no NATS server is reached"
                                                         : natsStatus_GetText(status);
    const char *more = status == NATS_ERR ? nats_GetLastError(NULL) : NULL; /* what a server said */
    if (more != NULL && more[0] != '\0')
        why = more;
    return nb_error_set(error, NB_STOPPING, "%s: %s", what, why);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static natsStatus set_servers(natsOptions *options, char *list)
{
    const char *servers[SERVERS_MOST];
    int count = 0;
    char *rest = list;
    for (char *one; count < SERVERS_MOST && (one = strtok_r(rest, ", ", &rest)) != NULL;)
        servers[count++] = one;
    return natsOptions_SetServers(options, servers, count);
}

static natsStatus set_tls(natsOptions *options, const struct nb_config *config)
{
    natsStatus s = NATS_OK;
    if (config->cluster_tls_ca[0] != '\0')
        s = natsOptions_LoadCATrustedCertificates(options, config->cluster_tls_ca);
    if (s == NATS_OK && config->cluster_tls_certificate[0] != '\0')
        s = natsOptions_LoadCertificatesChain(options, config->cluster_tls_certificate,
                                              config->cluster_tls_key);
    if (s == NATS_OK && config->cluster_tls_ca[0] != '\0')
        s = natsOptions_SetSecure(options, true);
    return s;
}

static natsStatus set_options(natsOptions *options, const struct nb_config *config)
{
    char *servers = strdup(config->cluster_servers);
    natsStatus s = servers == NULL ? NATS_NO_MEMORY : set_servers(options, servers);
    free(servers);
    if (s == NATS_OK)
        s = natsOptions_SetName(options, "bayesd");
    if (s == NATS_OK)
        s = natsOptions_SetMaxReconnect(options, -1);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectWait(options, RECONNECT_MILLISECONDS);
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(options, ANSWER_MILLISECONDS);
    if (s == NATS_OK)
        s = natsOptions_SetPingInterval(options, ANSWER_MILLISECONDS);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPingsOut(options, 3);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPendingMsgs(options, PENDING_MESSAGES);
    /* What is published while there is no server is refused, not kept. */
    if (s == NATS_OK)
        s = natsOptions_SetReconnectBufSize(options, 0);
    if (s == NATS_OK && config->cluster_credentials[0] != '\0')
        s = natsOptions_SetUserCredentialsFromFiles(options, config->cluster_credentials, NULL);
    return s == NATS_OK ? set_tls(options, config) : s;
}

/* Below one name, which is what the accounts of the NATS servers may use. */
static void name_stream(struct nb_stream *stream, const struct nb_config *config, unsigned which)
{
    unsigned streams = (unsigned)config->cluster_streams;
    nb_standing_name(config->cluster_stream, streams, which, stream->name);
    (void)snprintf(stream->subject, sizeof stream->subject,
                   streams > 1 ? "%s.changes.%u" : "%s.changes", config->cluster_stream, which);
}

int nb_stream_open(struct nb_stream *stream, const struct nb_config *config, unsigned which,
                   jsPubAckHandler on_ack, void *user, struct nb_error *error)
{
    jsOptions options;
    *stream = (struct nb_stream){.options = NULL};
    name_stream(stream, config, which);
    natsStatus s = natsOptions_Create(&stream->options);
    if (s == NATS_OK)
        s = set_options(stream->options, config);
    if (s != NATS_OK) {
        nb_stream_close(stream);
        return nb_error_set(error, NB_INVALID, "[cluster]: %s", natsStatus_GetText(s));
    }
    s = natsConnection_Connect(&stream->connection, stream->options);
    if (s == NATS_OK)
        s = jsOptions_Init(&options);
    options.Wait = ANSWER_MILLISECONDS;
    options.PublishAsync.MaxPending = PENDING_MOST;
    options.PublishAsync.StallWait = STALL_MILLISECONDS;
    options.PublishAsync.AckHandler = on_ack;
    options.PublishAsync.AckHandlerClosure = user;
    if (s == NATS_OK)
        s = natsConnection_JetStream(&stream->context, stream->connection, &options);
    if (s == NATS_OK)
        return 0;
    nb_stream_close(stream);
    return nb_stream_error(s, "no NATS server answers", error);
}

void nb_stream_close(struct nb_stream *stream)
{
    if (stream->connection != NULL)
        natsConnection_Close(stream->connection);
    jsCtx_Destroy(stream->context);
    natsConnection_Destroy(stream->connection);
    natsOptions_Destroy(stream->options);
    *stream = (struct nb_stream){.options = NULL};
}

bool nb_stream_is_connected(const struct nb_stream *stream)
{
    return stream->connection != NULL &&
           natsConnection_Status(stream->connection) == NATS_CONN_STATUS_CONNECTED;
}

const char *nb_stream_header(natsMsg *message, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(message, name, &value) == NATS_OK ? value : "";
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* Longer than any node publishes a message again. */
static int64_t duplicates_of(const struct nb_config *config)
{
    int64_t twice = (int64_t)config->cluster_patience * 2 * INT64_C(1000000000);
    return twice > DUPLICATES_LEAST ? twice : DUPLICATES_LEAST;
}

/* Several nodes may make it at once. */
static natsStatus make(struct nb_stream *stream, const struct nb_config *config,
                       const char *identity)
{
    jsStreamInfo *info = NULL;
    jsStreamConfig wanted;
    const char *subjects[] = {stream->subject};
    natsStatus s = jsStreamConfig_Init(&wanted);
    wanted.Name = stream->name;
    wanted.Description = identity;
    wanted.Subjects = subjects;
    wanted.SubjectsLen = 1;
    wanted.Storage = js_FileStorage;
    wanted.Replicas = (int64_t)config->cluster_replicas;
    wanted.Duplicates = duplicates_of(config);
    wanted.DenyDelete = true;
    if (s == NATS_OK)
        s = js_AddStream(&info, stream->context, &wanted, NULL, NULL);
    jsStreamInfo_Destroy(info);
    return s;
}

/* Of the leader, and of each other server that has all. While there is no leader the list is of
 * all of them. */
static unsigned copies_of(const jsStreamInfo *info)
{
    const char *leader = info->Cluster == NULL ? "itself" : info->Cluster->Leader;
    unsigned count = leader != NULL && leader[0] != '\0';
    for (int i = 0; info->Cluster != NULL && i < info->Cluster->ReplicasLen; i++) {
        const jsPeerInfo *one = info->Cluster->Replicas[i];
        count += one->Current && !one->Offline;
    }
    return count;
}

int nb_stream_find(struct nb_stream *stream, const struct nb_config *config, const char *identity,
                   struct nb_stream_state *state, struct nb_error *error)
{
    jsStreamInfo *info = NULL;
    natsStatus s = js_GetStreamInfo(&info, stream->context, stream->name, NULL, NULL);
    if (s == NATS_NOT_FOUND && identity != NULL) {
        s = make(stream, config, identity);
        if (s == NATS_OK) /* when it was made is what all nodes are told, not only this one */
            s = js_GetStreamInfo(&info, stream->context, stream->name, NULL, NULL);
    }
    if (s != NATS_OK)
        return nb_stream_error(s, "the stream does not answer", error);
    const char *there = info->Config->Description == NULL ? "" : info->Config->Description;
    int rc = 0;
    if (identity != NULL && strcmp(there, identity) != 0)
        rc = nb_error_set(error, NB_CONFLICT,
                          "the stream '%s' is of nodes with other versions, another key or other "
                          "limits: it says \"%s\", and this node \"%s\"",
                          stream->name, there, identity);
    *state = (struct nb_stream_state){.created = (uint64_t)info->Created,
                                      .first = info->State.FirstSeq,
                                      .last = info->State.LastSeq,
                                      .replicas = (unsigned)info->Config->Replicas,
                                      .copies = copies_of(info)};
    jsStreamInfo_Destroy(info);
    return rc;
}

static int get(struct nb_stream *stream, uint64_t position, natsMsg **message,
               struct nb_error *error)
{
    natsStatus s = js_GetMsg(message, stream->context, stream->name, position, NULL, NULL);
    if (s == NATS_NOT_FOUND)
        return NB_NOT_FOUND;
    return s == NATS_OK ? 0 : nb_stream_error(s, "the stream does not answer", error);
}

int nb_stream_time(struct nb_stream *stream, uint64_t position, int64_t *time,
                   struct nb_error *error)
{
    natsMsg *message = NULL;
    int rc = get(stream, position, &message, error);
    if (rc == 0)
        *time = natsMsg_GetTime(message);
    natsMsg_Destroy(message);
    return rc;
}

int nb_stream_hash(struct nb_stream *stream, uint64_t position, uint64_t *hash,
                   struct nb_error *error)
{
    natsMsg *message = NULL;
    int rc = get(stream, position, &message, error);
    if (rc != 0)
        return rc;
    *hash = nb_chain_hash(
        nb_stream_header(message, "Nats-Msg-Id"),
        (struct nb_string){natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)});
    natsMsg_Destroy(message);
    return 0;
}

int nb_stream_follow(struct nb_stream *stream, uint64_t from, natsSubscription **subscription,
                     struct nb_error *error)
{
    jsSubOptions options;
    natsStatus s = jsSubOptions_Init(&options);
    options.Stream = stream->name;
    options.Ordered = true;
    options.Config.DeliverPolicy = js_DeliverByStartSequence;
    options.Config.OptStartSeq = from;
    if (s == NATS_OK)
        s = js_SubscribeSync(subscription, stream->context, stream->subject, NULL, &options, NULL);
    return s == NATS_OK ? 0 : nb_stream_error(s, "the stream cannot be followed", error);
}

#endif
