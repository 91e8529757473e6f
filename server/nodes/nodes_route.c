/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/nodes_route.h"

#include <stdlib.h>

#include "config/config.h"
#include "core/nodes/digest.h"
#include "server/json/emit.h"
#include "server/nodes/member.h"
#include "server/nodes/nodes.h"
#include "server/request/http_answer.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/wait.h"

int nb_route_digest(struct nb_request *request, struct nb_error *error)
{
    struct nb_digest digest;
    struct nb_server *server = request->server;
    uint64_t streams = server->nodes == NULL ? 1 : server->startup->nodes_streams;
    uint64_t at = 0, which = 0;
    int rc = nb_request_query_count(request, "at", 0, UINT64_MAX, &at, error);
    if (rc == 0)
        rc = nb_request_query_count(request, "stream", 0, streams - 1, &which, error);
    if (at > 0) /* the number gives the stream */
        which = at % streams;
    struct nb_stream_worker_state worker = {.follows = true};
    if (rc == 0 && server->nodes != NULL)
        nb_nodes_worker(server->nodes, (unsigned)which, &worker);
    if (!worker.follows)
        rc = nb_error_set(error, NB_NOT_FOUND, "this node does not follow stream %llu",
                          (unsigned long long)which);
    if (rc == 0 && at > 0)
        do
            rc = nb_catch_up_look(request, at, error);
        while (rc == NB_WAIT); /* on a thread for long work */
    if (rc == 0)
        rc = nb_digest(server->engine, (unsigned)which, at, &digest, error);
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

/* Emits the state of each stream if there are several. */
static void emit_workers(struct nb_emitter *e, struct nb_nodes *nodes, unsigned count)
{
    struct nb_stream_worker_state one;
    if (count == 1)
        return;
    nb_emit_key(e, "streams");
    nb_emit_open(e, '[');
    for (unsigned i = 0; i < count; i++) {
        nb_nodes_worker(nodes, i, &one);
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "stream", i);
        nb_emit_flag(e, "follows", one.follows);
        nb_emit_key(e, "connected");
        nb_emit_bool(e, one.connected);
        nb_emit_member_u64(e, "applied", one.applied);
        nb_emit_member_u64(e, "behind", one.behind);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

void nb_emit_nodes_state(struct nb_emitter *e, struct nb_nodes *nodes)
{
    struct nb_nodes_state state;
    nb_nodes_state(nodes, &state);
    nb_emit_key(e, "nodes");
    nb_emit_open(e, '{');
    nb_emit_key(e, "connected");
    nb_emit_bool(e, state.connected);
    nb_emit_member_u64(e, "applied", state.applied);
    nb_emit_member_u64(e, "behind", state.behind);
    emit_workers(e, nodes, state.streams);
    if (state.put_back > 0)
        nb_emit_member_u64(e, "put_back", state.put_back);
    if (state.queues)
        nb_emit_member_u64(e, "queued", state.queue.entries);
    if (!state.connected && state.reason[0] != '\0')
        nb_emit_member_text(e, "reason", state.reason);
    nb_emit_close(e, '}');
}

static void emit_streams(struct nb_emitter *e, uint64_t streams)
{
    nb_emit_key(e, "streams");
    nb_emit_open(e, '[');
    for (unsigned i = 0; i < 64; i++)
        if (streams >> i & 1)
            nb_emit_u64(e, i);
    nb_emit_close(e, ']');
}

static void emit_member(struct nb_emitter *e, const struct nb_member *m, uint64_t last)
{
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "name", m->name);
    nb_emit_flag(e, "self", m->is_self);
    if (m->url[0] != '\0')
        nb_emit_member_text(e, "url", m->url);
    emit_streams(e, m->streams);
    nb_emit_member_u64(e, "applied", m->applied);
    nb_emit_member_u64(e, "behind", last > m->applied ? last - m->applied : 0);
    nb_emit_member_u64(e, "seconds", (uint64_t)(m->silence / 1000000000));
    if (m->same >= 0) {
        nb_emit_key(e, "same");
        nb_emit_bool(e, m->same != 0);
    }
    if (m->version[0] != '\0')
        nb_emit_member_text(e, "version", m->version);
    nb_emit_member_u64(e, "tokenizer", m->tokenizer);
    nb_emit_member_u64(e, "apply", m->apply);
    nb_emit_member_u64(e, "operations", m->kinds);
    nb_emit_close(e, '}');
}

static int emit_members(struct nb_emitter *e, struct nb_nodes *nodes, struct nb_error *error)
{
    struct nb_nodes_state state;
    struct nb_member *members = NULL;
    size_t count;
    int rc = nb_nodes_members(nodes, &members, &count, error);
    nb_nodes_state(nodes, &state);
    for (size_t i = 0; rc == 0 && i < count; i++)
        emit_member(e, &members[i], state.applied + state.behind);
    free(members);
    return rc;
}

int nb_route_nodes(struct nb_request *request, struct nb_error *error)
{
    struct nb_nodes *nodes = request->server->nodes;
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    int rc = 0;
    nb_emit_open(&e, '{');
    if (nodes != NULL)
        nb_emit_nodes_state(&e, nodes);
    nb_emit_key(&e, "members");
    nb_emit_open(&e, '[');
    if (nodes != NULL)
        rc = emit_members(&e, nodes, error);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    int written = nb_emit_end(&e);
    return rc != 0 ? rc : nb_reply_written(request, written, error);
}
