/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "config/config.h"
#include "core/model/relayed.h"
#include "core/nodes/digest.h"
#include "server/base/emit.h"
#include "server/base/metrics.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/nodes/nodes.h"

int nb_route_digest(struct nb_request *request, struct nb_error *error)
{
    struct nb_digest digest;
    struct nb_server *server = request->server;
    uint64_t streams = server->nodes == NULL ? 1 : server->startup->nodes_streams;
    uint64_t at = 0, which = 0;
    int rc = nb_request_query_count(request, "at", 0, UINT64_MAX, &at, error);
    if (rc == 0)
        rc = nb_request_query_count(request, "stream", 0, streams - 1, &which, error);
    if (at > 0) /* the change's number determines its stream */
        which = at % streams;
    struct nb_nodes_state stream = {.follows = true};
    if (rc == 0 && server->nodes != NULL)
        nb_nodes_state(server->nodes, (int)which, &stream);
    if (!stream.follows)
        rc = nb_error_set(error, NB_NOT_FOUND, "this node does not follow stream %llu",
                          (unsigned long long)which);
    if (rc == 0 && at > 0)
        do
            rc = nb_catch_up_look(request, at, error);
        while (rc == NB_WAIT); /* this runs on a thread for long work, which may wait */
    if (rc == 0)
        rc = nb_digest(server->engine, (unsigned)which, at, UINT64_MAX, &digest, error);
    if (rc != 0)
        return rc;
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_u64(&e, "number", digest.number);
    nb_emit_member_text(&e, "digest", digest.digits);
    if (streams > 1)
        nb_emit_member_u64(&e, "stream", which);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

static void emit_progress(struct nb_emitter *e, const struct nb_nodes_state *state)
{
    nb_emit_member_bool(e, "connected", state->connected);
    nb_emit_member_u64(e, "applied", state->applied);
    nb_emit_member_u64(e, "behind", state->behind);
}

/* Emits the state of each stream if there are several. */
static void emit_streams(struct nb_emitter *e, struct nb_nodes *nodes, unsigned count)
{
    struct nb_nodes_state one;
    if (count == 1)
        return;
    nb_emit_member_open(e, "streams", '[');
    for (unsigned i = 0; i < count; i++) {
        nb_nodes_state(nodes, (int)i, &one);
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "stream", i);
        nb_emit_flag(e, "follows", one.follows);
        emit_progress(e, &one);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

void nb_emit_nodes_state(struct nb_emitter *e, struct nb_nodes *nodes)
{
    struct nb_nodes_state state;
    nb_nodes_state(nodes, NB_NODES_ALL, &state);
    nb_emit_member_open(e, "nodes", '{');
    emit_progress(e, &state);
    emit_streams(e, nodes, state.streams);
    if (state.put_back > 0)
        nb_emit_member_u64(e, "put_back", state.put_back);
    nb_emit_member_u64(e, "queued", state.queued);
    if (!state.connected && state.reason[0] != '\0')
        nb_emit_member_text(e, "reason", state.reason);
    nb_emit_close(e, '}');
}

static void emit_member(struct nb_emitter *e, const struct nb_member *m, uint64_t last)
{
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "name", m->name);
    nb_emit_flag(e, "self", m->is_self);
    if (m->url[0] != '\0')
        nb_emit_member_text(e, "url", m->url);
    nb_emit_member_open(e, "streams", '[');
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++)
        if ((m->streams >> i & 1) != 0)
            nb_emit_u64(e, i);
    nb_emit_close(e, ']');
    nb_emit_member_u64(e, "applied", m->applied);
    nb_emit_member_u64(e, "behind", last > m->applied ? last - m->applied : 0);
    nb_emit_member_u64(e, "seconds", (uint64_t)(m->silence / 1000000000));
    if (m->same >= 0)
        nb_emit_member_bool(e, "same", m->same != 0);
    nb_emit_member_text(e, "version", m->version);
    nb_emit_close(e, '}');
}

int nb_route_nodes(struct nb_request *request, struct nb_error *error)
{
    struct nb_nodes *nodes = request->server->nodes;
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    struct nb_nodes_state state;
    struct nb_member *members = NULL;
    size_t count = 0;
    int rc = nodes == NULL ? 0 : nb_nodes_members(nodes, &members, &count, error);
    if (rc != 0)
        return rc;
    nb_emit_open(&e, '{');
    if (nodes != NULL) {
        nb_emit_nodes_state(&e, nodes);
        nb_nodes_state(nodes, NB_NODES_ALL, &state);
    }
    nb_emit_member_open(&e, "members", '[');
    for (size_t i = 0; i < count; i++)
        emit_member(&e, &members[i], state.applied + state.behind);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    free(members);
    return nb_reply_written(request, nb_emit_end(&e), error);
}

/* ---- GET /metrics ---------------------------------------------------------------------------- */

/* Writes a metric of each member that this node knows: how long it has been silent, or whether it
 * has learned the same. */
static int write_members(struct nb_nodes *nodes, bool is_same, struct nb_buffer *out)
{
    const char *name = is_same ? "member_same" : "member_silent_seconds";
    struct nb_member *members = NULL;
    size_t count;
    int rc = nb_nodes_members(nodes, &members, &count, NULL);
    if (rc == 0)
        rc =
            nb_buffer_printf(out, "# HELP bayesd_nodes_%s %s\n# TYPE bayesd_nodes_%s gauge\n", name,
                             is_same ? "Whether the node has learned the same as this one: their "
                                       "digests were compared."
                                     : "Time since the node's last word.",
                             name);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (!is_same || members[i].same >= 0)
            rc = nb_buffer_printf(out, "bayesd_nodes_%s{member=\"%s\"} %.3f\n", name,
                                  members[i].name,
                                  is_same ? members[i].same : (double)members[i].silence / 1e9);
    free(members);
    return rc;
}

int nb_nodes_metrics(struct nb_nodes *nodes, struct nb_buffer *out)
{
    struct nb_nodes_state state;
    nb_nodes_state(nodes, NB_NODES_ALL, &state);
    const struct {
        const char *name, *help;
        double value;
    } gauges[] = {
        {"nodes_connected", "Whether this node follows the database that the nodes share.",
         state.connected},
        {"nodes_applied", "Place in the stream of the last change on this node's disk.",
         (double)state.applied},
        {"nodes_behind", "Changes that the stream has and this node does not.",
         (double)state.behind},
        {"nodes_lag_seconds", "Time since this node had all that the database has; 0 while it has.",
         (double)state.lag_nanoseconds / 1e9},
        {"nodes_put_back", "Changes that this node has put back since the database had lost them.",
         (double)state.put_back},
        {"nodes_queued", "Changes that wait in the queue for the database.", (double)state.queued},
        {"nodes_queued_bytes", "Their bytes.", (double)state.queued_bytes},
        {"nodes_queue_refused_total",
         "Changes from queues of nodes that were not made when they were published.",
         (double)state.refused},
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof gauges / sizeof *gauges; i++)
        rc = nb_metrics_one(out, gauges[i].name, gauges[i].help, gauges[i].value);
    if (rc == 0)
        rc = write_members(nodes, false, out);
    return rc == 0 ? write_members(nodes, true, out) : rc;
}
