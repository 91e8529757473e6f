/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/mend.h"

#include "config/config.h"

#ifdef NB_HAS_NATS

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "server/nodes/stream.h"

static const uint64_t PATIENCE = UINT64_C(120000000000); /* nanoseconds, for one step of a stream */
static const uint64_t REFUSALS = UINT64_C(20000000000);  /* so long a refusal may be for a moment */
static const long REST_NANOSECONDS = 300000000;

/* Whether so many servers have a copy, which is whole, and one of them leads. */
static bool is_spread(const jsStreamInfo *info, int64_t replicas)
{
    const jsClusterInfo *cluster = info->Cluster;
    if (info->Config->Replicas != replicas || cluster == NULL || cluster->Leader == NULL ||
        cluster->ReplicasLen != replicas - 1)
        return false;
    for (int i = 0; i < cluster->ReplicasLen; i++) {
        const jsPeerInfo *one = cluster->Replicas[i];
        if (!one->Current || one->Offline || one->Lag != 0)
            return false;
    }
    return true;
}

/* The same twice in a row: a server that was just given a copy may call it whole. */
static int wait_until(jsCtx *context, const char *name, int64_t replicas, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = REST_NANOSECONDS};
    uint64_t since = nb_clock_monotonic();
    int found = 0;
    while (found < 2) {
        jsStreamInfo *info = NULL;
        natsStatus s = js_GetStreamInfo(&info, context, name, NULL, NULL);
        found = s == NATS_OK && is_spread(info, replicas) ? found + 1 : 0;
        jsStreamInfo_Destroy(info);
        if (nb_clock_monotonic() - since > PATIENCE)
            return nb_error_set(error, NB_STOPPING,
                                "the stream '%s' has not got %d whole copies in %d seconds: see "
                                "that all NATS servers run, then call it again",
                                name, (int)replicas, (int)(PATIENCE / 1000000000));
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return 0;
}

static natsStatus change(jsCtx *context, const char *name, int64_t replicas)
{
    jsStreamInfo *info = NULL;
    jsStreamInfo *changed = NULL;
    natsStatus s = js_GetStreamInfo(&info, context, name, NULL, NULL);
    if (s == NATS_OK) {
        info->Config->Replicas = replicas;
        s = js_UpdateStream(&changed, context, info->Config, NULL, NULL);
    }
    jsStreamInfo_Destroy(changed);
    jsStreamInfo_Destroy(info);
    return s;
}

/* Servers that have just found each other again have no leader for a moment, and refuse. */
static int scale(jsCtx *context, const char *name, int64_t replicas, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = REST_NANOSECONDS};
    uint64_t since = nb_clock_monotonic();
    natsStatus s = change(context, name, replicas);
    while (s != NATS_OK && s != NATS_NOT_FOUND && nb_clock_monotonic() - since < REFUSALS) {
        (void)nanosleep(&pause, NULL); /* it may wake early */
        s = change(context, name, replicas);
    }
    if (s == NATS_NOT_FOUND)
        return nb_error_set(error, NB_NOT_FOUND, "there is no stream '%s' on these NATS servers",
                            name);
    return s == NATS_OK ? wait_until(context, name, replicas, error)
                        : nb_stream_error(s, "the stream cannot be changed", error);
}

static int mend(jsCtx *context, const char *name, const struct nb_config *config,
                struct nb_error *error)
{
    int rc = scale(context, name, 1, error);
    if (rc == 0)
        rc = scale(context, name, (int64_t)config->cluster_replicas, error);
    if (rc == 0)
        (void)printf("%s: %u copies, made from that of the server that leads\n", name,
                     (unsigned)config->cluster_replicas);
    return rc;
}

int nb_nodes_mend(const struct nb_config *config, struct nb_error *error)
{
    struct nb_stream stream;
    char name[NB_SUBJECT_MOST];
    unsigned streams = (unsigned)config->cluster_streams;
    if (config->cluster_servers[0] == '\0')
        return nb_error_set(error, NB_INVALID,
                            "--mend-stream needs the [cluster] of the configuration");
    if (config->cluster_replicas < 2)
        return nb_error_set(error, NB_INVALID,
                            "[cluster] replicas is 1: a single copy cannot differ from others");
    int rc = nb_stream_open(&stream, config, 0, NULL, NULL, error);
    if (rc != 0)
        return rc;
    for (unsigned i = 0; rc == 0 && i < streams; i++) {
        nb_standing_name(config->cluster_stream, streams, i, name);
        rc = mend(stream.context, name, config, error);
    }
    (void)snprintf(name, sizeof name, "%s_members", config->cluster_stream);
    if (rc == 0)
        rc = mend(stream.context, name, config, error);
    nb_stream_close(&stream);
    nats_Close();
    return rc;
}

#else

int nb_nodes_mend(const struct nb_config *config, struct nb_error *error)
{
    (void)config;
    return nb_error_set(error, NB_UNSUPPORTED,
                        "--mend-stream: this bayesd was built without libnats (libnats-dev)");
}

#endif
