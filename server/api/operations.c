/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <stdlib.h>

#include "core/engine/engine.h"
#include "server/api/evaluations.h"
#include "server/base/emit.h"
#include "server/base/metrics.h"
#include "server/base/model_json.h"
#include "server/base/time.h"
#include "server/events/events.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/nodes/nodes.h"

/* The assembler includes the file as it is (.incbin), which gcc and clang both support. Paths are
 * relative to the top of the tree, where make runs. */
__asm__(".section .rodata\n"
        ".global nb_openapi_begin\n"
        ".hidden nb_openapi_begin\n"
        "nb_openapi_begin:\n"
        ".incbin \"server/api/openapi.json\"\n"
        ".global nb_openapi_end\n"
        ".hidden nb_openapi_end\n"
        "nb_openapi_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char nb_openapi_begin[] __attribute__((visibility("hidden")));
extern const char nb_openapi_end[] __attribute__((visibility("hidden")));

struct nb_string nb_openapi(void)
{
    return (struct nb_string){nb_openapi_begin, (size_t)(nb_openapi_end - nb_openapi_begin)};
}

static int reply_text(struct nb_request *request, const char *text, const char *content_type,
                      struct nb_error *error)
{
    if (nb_buffer_puts(&request->reply.body, text) != 0)
        return nb_error_no_memory(error);
    return nb_reply_with(request, 200, content_type);
}

int nb_route_healthz(struct nb_request *request, struct nb_error *error)
{
    return reply_text(request, "{\"status\":\"ok\"}", "application/json", error);
}

int nb_route_access(struct nb_request *request, struct nb_error *error)
{
    const struct nb_grant *grant = &request->grant;
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "role", nb_role_name(grant->role));
    nb_emit_member_text(&e, "models", grant->models);
    nb_emit_member_text(&e, "token", grant->name);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

/* Appends the member "nodes" before the end of the object. */
static int add_nodes(struct nb_request *request)
{
    struct nb_buffer *body = &request->reply.body;
    body->bytes[body->length - 1] = ','; /* in place of the closing bracket */
    struct nb_emitter e = nb_emit_begin(body);
    nb_emit_nodes_state(&e, request->server->nodes);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* Replies that no model can be used yet, because an older version has stored all of them. */
static int refuse_all(struct nb_request *request, const struct nb_engine_statistics *s)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "every model was stored by an older version and is computed anew: %llu of %llu "
                   "entries are done",
                   (unsigned long long)s->upgrade_done, (unsigned long long)s->upgrade_entries);
    nb_reply_problem(request, 503, text);
    return 0;
}

/* Replies that the daemon is ready, and names damaged models: the other models are served all the
 * same. */
static int reply_ready(struct nb_request *request, struct nb_error *error)
{
    enum { NAMES_MOST = 100 };
    char **names = NULL;
    size_t count = 0;
    struct nb_engine_statistics statistics;
    nb_engine_statistics(request->server->engine, &statistics);
    if (statistics.upgrades_left > 0 && statistics.upgrades_left == statistics.models)
        return refuse_all(request, &statistics);
    if (nb_engine_damaged_models(request->server->engine, NAMES_MOST, &names, &count) != 0)
        return nb_error_no_memory(error);
    size_t shown = 0; /* models that the request's token is for come first */
    for (size_t i = 0; i < count; i++) {
        if (nb_request_is_for(request, nb_string_of(names[i]))) {
            char *other = names[shown];
            names[shown++] = names[i];
            names[i] = other;
        }
    }
    struct nb_error memory;
    bool lacks = nb_engine_lacks_memory(request->server->engine, &memory);
    int rc =
        nb_json_ready(&request->reply.body, names, shown, &statistics, lacks ? memory.text : NULL);
    if (rc == 0 && request->server->nodes != NULL)
        rc = add_nodes(request);
    nb_strings_free(names, count);
    return nb_reply_written(request, rc, error);
}

int nb_route_readyz(struct nb_request *request, struct nb_error *error)
{
    struct nb_error reason = {0};
    if (nb_engine_ready(request->server->engine, &reason) != 0) {
        /* The status is 503 whatever the reason's own code is. */
        nb_reply_problem(request, 503, reason.text);
        return 0;
    }
    if (request->server->nodes != NULL) {
        struct nb_nodes_state state;
        nb_nodes_state(request->server->nodes, NB_NODES_ALL, &state);
        if (state.is_refused || !nb_nodes_have_caught_up(request->server->nodes)) {
            nb_reply_problem(request, 503,
                             state.is_refused || (!state.connected && state.reason[0] != '\0')
                                 ? state.reason
                                 : "this node has not got all that the other nodes have yet");
            return 0;
        }
    }
    return reply_ready(request, error);
}

static int write_budgets(const struct nb_server *server, struct nb_buffer *out)
{
    static const struct {
        const char *name, *help;
    } gauges[NB_BUDGETS] = {
        [NB_BUDGET_BODIES] = {"body_memory_bytes", "Memory of bodies that are being received."},
        [NB_BUDGET_REPLIES] = {"reply_memory_bytes",
                               "Memory of long replies that their clients have not read yet."},
        [NB_BUDGET_SPOOLS] = {"spool_bytes", "Bytes of the temporary files of long replies."},
        [NB_BUDGET_CLUSTERS] = {"cluster_memory_bytes",
                                "Memory of requests that look for clusters."},
    };
    int rc = 0;
    for (size_t i = 0; i < NB_BUDGETS && rc == 0; i++)
        rc = nb_metrics_one(out, gauges[i].name, gauges[i].help,
                            (double)atomic_load(&server->budgets[i].used));
    return rc;
}

int nb_route_traffic(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine_traffic traffic;
    nb_engine_traffic(request->server->engine, &traffic);
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_time(&e, "from", traffic.from);
    nb_emit_member_u64(&e, "seconds", traffic.seconds);
    nb_emit_member_open(&e, "verdicts", '[');
    for (uint32_t i = 0; i < traffic.count; i++)
        nb_emit_u64(&e, traffic.slots[i]);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

int nb_route_metrics(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine_statistics statistics;
    nb_engine_statistics(request->server->engine, &statistics);
    if (nb_metrics_write(request->server->metrics, &statistics, &request->reply.body) != 0 ||
        write_budgets(request->server, &request->reply.body) != 0 ||
        nb_evaluations_metrics(request->server->evaluations, &request->reply.body) != 0 ||
        nb_events_metrics(request->server->events, &request->reply.body) != 0)
        return nb_error_no_memory(error);
    if (request->server->nodes != NULL &&
        nb_nodes_metrics(request->server->nodes, &request->reply.body) != 0)
        return nb_error_no_memory(error);
    return nb_reply_with(request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

int nb_route_openapi(struct nb_request *request, struct nb_error *error)
{
    struct nb_string text = nb_openapi();
    if (nb_buffer_append(&request->reply.body, text.bytes, text.length) != 0)
        return nb_error_no_memory(error);
    return nb_reply_json(request, 200);
}
