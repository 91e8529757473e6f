/* SPDX-License-Identifier: Apache-2.0
 *
 * Whatever fails here is tried again some seconds later: nothing waits for it.
 */
#ifdef NB_HAS_NATS

#include "server/nodes/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/live/state.h"
#include "core/replica/operation.h"
#include "core/replica/replica.h"
#include "server/base/log.h"
#include "server/base/version.h"
#include "server/nodes/known.h"
#include "server/nodes/member.h"
#include "server/nodes/nodes_state.h"

enum {
    REST_NANOSECONDS = 100000000,
    ALIVE_SECONDS = 60, /* since which it has said nothing */
    MISSING_SECONDS = 30,
    WAIT_MILLISECONDS = 2000,
    HOST_MOST = 48,
};
static const int64_t SECOND = INT64_C(1000000000);
/* No node is waited for so long (member_seconds). */
static const int64_t FORGOTTEN = INT64_C(31) * 86400 * 1000000000;

struct nb_members {
    struct nb_nodes *nodes;
    pthread_t thread;
    atomic_bool stops;
    char name[NB_MEMBER_NAME_MOST + 1];
    char stream[NB_SUBJECT_MOST], subject[NB_SUBJECT_MOST + NB_MEMBER_NAME_MOST];
    bool is_new;      /* the node had no changes when it started: the cluster may be new */
    bool is_made;     /* the stream */
    uint64_t missing; /* since when it is not; 0: it was there when it was asked for */
    struct nb_member *list;
    size_t count;
    uint64_t cut[NB_STREAMS_MOST], since; /* what nobody needed then; when, by our clock */
};

/* ---- the stream of members ------------------------------------------------------------------- */

/* Servers that have just started may not know the stream yet. */
static bool is_early(struct nb_members *m)
{
    uint64_t now = nb_clock_monotonic();
    m->missing = m->missing == 0 ? now : m->missing;
    return !m->is_new && now - m->missing < MISSING_SECONDS * (uint64_t)SECOND;
}

static natsStatus make(struct nb_members *m, jsCtx *context)
{
    jsStreamInfo *info = NULL;
    jsStreamConfig wanted;
    char subjects[NB_SUBJECT_MOST];
    const char *list[] = {subjects};
    natsStatus s = js_GetStreamInfo(&info, context, m->stream, NULL, NULL);
    jsStreamInfo_Destroy(info);
    if (s != NATS_NOT_FOUND || is_early(m))
        return s;
    info = NULL;
    (void)snprintf(subjects, sizeof subjects, "%s.members.*", m->nodes->config->cluster_stream);
    s = jsStreamConfig_Init(&wanted);
    wanted.Name = m->stream;
    wanted.Subjects = list;
    wanted.SubjectsLen = 1;
    wanted.Storage = js_FileStorage;
    wanted.Replicas = (int64_t)m->nodes->config->cluster_replicas;
    wanted.MaxMsgsPerSubject = 1;
    wanted.MaxMsgs = NB_MEMBERS_MOST;
    wanted.MaxAge = FORGOTTEN;
    if (s == NATS_OK)
        s = js_AddStream(&info, context, &wanted, NULL, NULL);
    jsStreamInfo_Destroy(info);
    return s;
}

static void add_place(struct nb_lane *l, struct nb_member *self)
{
    self->places[l->which].applied =
        atomic_load(&l->nodes->engine->standing.places[l->which].applied);
    pthread_rwlock_rdlock(&l->using);
    if (l->replica != NULL) {
        self->places[l->which].told = nb_replica_told(l->replica);
        self->places[l->which].digested = nb_replica_digested(l->replica);
    }
    pthread_rwlock_unlock(&l->using);
}

static natsStatus announce(struct nb_members *m, jsCtx *context)
{
    struct nb_nodes *n = m->nodes;
    struct nb_member self = {.streams = n->lane_count,
                             .tokenizer = NB_TOKENIZER_VERSION,
                             .apply = NB_APPLY_VERSION,
                             .kinds = NB_OPERATION_KINDS,
                             .version = NB_PROGRAM_VERSION};
    struct nb_buffer written = {0};
    (void)snprintf(self.url, sizeof self.url, "%s", n->config->cluster_url);          /* it fits */
    (void)snprintf(self.follow, sizeof self.follow, "%s", n->config->cluster_follow); /* too */
    for (unsigned i = 0; i < self.streams; i++)
        add_place(&n->lanes[i], &self);
    natsStatus s = nb_member_write(&self, &written) == 0 ? NATS_OK : NATS_NO_MEMORY;
    if (s == NATS_OK)
        s = js_Publish(NULL, context, m->subject, written.bytes, (int)written.length, NULL, NULL);
    nb_buffer_deinit(&written);
    return s;
}

/* Adds the member that the message is of. Sets how many are still to come. */
static natsStatus add(struct nb_members *m, natsMsg *message, uint64_t *pending)
{
    jsMsgMetaData *about = NULL;
    const char *dot = strrchr(natsMsg_GetSubject(message), '.');
    struct nb_string bytes = {natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)};
    natsStatus s = natsMsg_GetMetaData(&about, message);
    if (s != NATS_OK)
        return s;
    struct nb_member *one = &m->list[m->count];
    *pending = about->NumPending;
    one->heard = about->Timestamp;
    jsMsgMetaData_Destroy(about);
    if (dot == NULL || m->count == NB_MEMBERS_MOST || !nb_member_read(one, bytes))
        return NATS_OK;
    nb_member_name(one->name, nb_string_of(dot + 1));
    m->count += strcmp(one->name, dot + 1) == 0; /* else no node has written it */
    return NATS_OK;
}

/* Reads the last word of each. */
static natsStatus read_all(struct nb_members *m, jsCtx *context)
{
    natsSubscription *subscription = NULL;
    jsSubOptions options;
    char subjects[NB_SUBJECT_MOST];
    uint64_t pending = 1;
    natsStatus s = jsSubOptions_Init(&options);
    (void)snprintf(subjects, sizeof subjects, "%s.members.*", m->nodes->config->cluster_stream);
    options.Stream = m->stream;
    options.Ordered = true;
    options.Config.DeliverPolicy = js_DeliverLastPerSubject;
    m->count = 0;
    if (s == NATS_OK)
        s = js_SubscribeSync(&subscription, context, subjects, NULL, &options, NULL);
    while (s == NATS_OK && pending > 0 && !atomic_load(&m->stops)) {
        natsMsg *message = NULL;
        s = natsSubscription_NextMsg(&message, subscription, WAIT_MILLISECONDS);
        if (s == NATS_OK)
            s = add(m, message, &pending);
        natsMsg_Destroy(message);
    }
    natsSubscription_Unsubscribe(subscription);
    natsSubscription_Destroy(subscription);
    return s;
}

/* ---- what follows
 * --------------------------------------------------------------------------------- */

static natsStatus purge(const char *stream, jsCtx *context, uint64_t cut)
{
    jsOptions options;
    natsStatus s = jsOptions_Init(&options);
    options.Stream.Purge.Sequence = cut + 1;
    if (s == NATS_OK)
        s = js_PurgeStream(context, stream, &options, NULL);
    if (s == NATS_OK)
        nb_log(NB_LOG_DEBUG, "cluster: the stream '%s' is cut up to %llu", stream,
               (unsigned long long)cut);
    return s;
}

/* The clock is that of NATS: the newest word is from now. */
static struct nb_member_ages ages_of(const struct nb_members *m)
{
    const struct nb_config *config = m->nodes->config;
    struct nb_member_ages ages = {.known = (int64_t)config->cluster_member_seconds * SECOND,
                                  .alive = ALIVE_SECONDS * SECOND};
    for (size_t i = 0; i < m->count; i++)
        ages.now = m->list[i].heard > ages.now ? m->list[i].heard : ages.now;
    return ages;
}

/* For nb_publish. */
static void note_oldest(struct nb_members *m, const struct nb_member_ages *ages)
{
    const struct nb_member *oldest = nb_members_oldest(m->list, m->count, ages);
    struct nb_nodes *n = m->nodes;
    if (oldest == NULL)
        return;
    pthread_mutex_lock(&n->lock);
    n->kinds = oldest->kinds;
    (void)snprintf(n->oldest, sizeof n->oldest, "%s", oldest->name);
    pthread_mutex_unlock(&n->lock);
}

/* What nobody has needed for keep_seconds goes: for so long the servers know a change that is
 * published again (stream.c), and nodes that come soon have what they need. */
static natsStatus cut(struct nb_members *m, jsCtx *context, const struct nb_member_ages *ages)
{
    const struct nb_config *config = m->nodes->config;
    uint64_t now = nb_clock_monotonic();
    natsStatus s = NATS_OK;
    if (config->cluster_peers[0] == '\0')
        return NATS_OK;
    bool is_time = now - m->since >= config->cluster_keep_seconds * (uint64_t)SECOND;
    for (unsigned i = 0; i < m->nodes->lane_count; i++) {
        uint64_t here = nb_members_cut(m->list, m->count, m->name, ages, i);
        if (here < m->cut[i]) /* somebody has come who needs it still, or the stream is another */
            m->cut[i] = here;
        if (!is_time)
            continue;
        if (s == NATS_OK && m->cut[i] > 0)
            s = purge(m->nodes->lanes[i].name, context, m->cut[i]);
        m->cut[i] = here;
    }
    if (is_time)
        m->since = now;
    return s;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static natsStatus do_round(struct nb_members *m, jsCtx *context)
{
    natsStatus s = m->is_made ? NATS_OK : make(m, context);
    m->is_made = s == NATS_OK;
    if (m->is_made)
        m->missing = 0;
    if (s == NATS_OK)
        s = announce(m, context);
    if (s == NATS_OK)
        s = read_all(m, context);
    const struct nb_member_ages ages = ages_of(m);
    if (s == NATS_OK) {
        note_oldest(m, &ages);
        if (nb_known_set(m->nodes->known, m->nodes, m->list, m->count, m->name, &ages) != 0)
            s = NATS_NO_MEMORY;
    }
    if (s == NATS_OK)
        s = cut(m, context, &ages);
    if (s != NATS_OK) /* it may have been deleted */
        m->is_made = false;
    return s;
}

static void *members_main(void *argument)
{
    struct nb_members *m = argument;
    const struct timespec pause = {.tv_nsec = REST_NANOSECONDS};
    uint64_t keep = m->nodes->config->cluster_keep_seconds * (uint64_t)SECOND, next = 0;
    m->since = nb_clock_monotonic();
    while (!atomic_load(&m->stops)) {
        (void)nanosleep(&pause, NULL); /* it may wake early */
        struct nb_lane *lane = &m->nodes->lanes[0];
        if (nb_clock_monotonic() < next || !atomic_load(&lane->is_following))
            continue;
        /* It follows: the connection is there until nb_members_stop. */
        pthread_rwlock_rdlock(&lane->using);
        jsCtx *context = lane->stream.context;
        pthread_rwlock_unlock(&lane->using);
        natsStatus s = do_round(m, context);
        if (s != NATS_OK)
            nb_log(NB_LOG_DEBUG, "cluster: members: %s", natsStatus_GetText(s));
        uint64_t round = nb_members_round(m->count);
        next = nb_clock_monotonic() + (keep < round ? keep : round);
    }
    return NULL;
}

/* Of the machine and the port, unless the configuration has a name. */
static void name_self(struct nb_members *m, const struct nb_config *config)
{
    char host[HOST_MOST] = "", text[NB_MEMBER_NAME_MOST + 1];
    const char *port = strrchr(config->listen, ':');
    (void)gethostname(host, sizeof host - 1); /* without it the port is the name */
    (void)snprintf(text, sizeof text, "%s-%.8s", host, port == NULL ? "" : port + 1);
    nb_member_name(m->name,
                   nb_string_of(config->cluster_name[0] == '\0' ? text : config->cluster_name));
}

int nb_members_start(struct nb_nodes *nodes, struct nb_members **members, struct nb_error *error)
{
    struct nb_members *m = calloc(1, sizeof *m);
    if (m != NULL)
        m->list = calloc(NB_MEMBERS_MOST + 1, sizeof *m->list);
    if (m == NULL || m->list == NULL) {
        free(m);
        return nb_error_no_memory(error);
    }
    m->nodes = nodes;
    m->is_new = nb_standing_total(nodes->engine) == 0;
    name_self(m, nodes->config);
    (void)snprintf(m->stream, sizeof m->stream, "%s_members", nodes->config->cluster_stream);
    (void)snprintf(m->subject, sizeof m->subject, "%s.members.%s", nodes->config->cluster_stream,
                   m->name);
    int rc = pthread_create(&m->thread, NULL, members_main, m);
    if (rc == 0) {
        *members = m;
        return 0;
    }
    free(m->list);
    free(m);
    return nb_error_errno(error, rc, "starting the thread that tells other nodes");
}

void nb_members_stop(struct nb_members **members)
{
    struct nb_members *m = *members;
    *members = NULL;
    if (m == NULL)
        return;
    atomic_store(&m->stops, true);
    (void)pthread_join(m->thread, NULL); /* it fails for an invalid thread only */
    free(m->list);
    free(m);
}

#endif
