/* SPDX-License-Identifier: Apache-2.0 */
#include "server/evaluations.h"
#include "server/metrics.h"
#include "server/openapi.h"
#include "server/request.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/version.h"

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

int nb_route_readyz(struct nb_request *request, struct nb_error *error)
{
    struct nb_error reason = {0};
    if (nb_engine_ready(request->server->engine, &reason) != 0) {
        /* Whatever the reason's own code: the daemon is the one that is not ready. */
        nb_reply_problem(request, 503, reason.text);
        return 0;
    }
    return reply_text(request, "{\"status\":\"ready\"}", "application/json", error);
}

int nb_route_metrics(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine_statistics statistics;
    nb_engine_statistics(request->server->engine, &statistics);
    if (nb_metrics_write(request->server->metrics, &statistics, &request->reply.body) != 0 ||
        nb_filter_metrics(request->server, &request->reply.body) != 0 ||
        nb_evaluations_metrics(request->server->evaluations, &request->reply.body) != 0)
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

static const char PAGE[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head><meta charset=\"utf-8\"><title>bayesd</title>\n"
    "<style>body{font:1rem/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}</style>\n"
    "</head>\n"
    "<body>\n"
    "<h1>bayesd " NB_PROGRAM_VERSION "</h1>\n"
    "<p>This daemon learns to tell texts apart, spam from ham first of all, from labelled\n"
    "documents, and classifies new ones by naive Bayes. It is spoken to over HTTP in JSON.</p>\n"
    "<ul>\n"
    "<li><a href=\"/openapi.json\">/openapi.json</a>: what can be asked, and how</li>\n"
    "<li><a href=\"/v1/models\">/v1/models</a>: the models that there are</li>\n"
    "<li><a href=\"/metrics\">/metrics</a>: numbers for Prometheus</li>\n"
    "</ul>\n"
    "</body>\n"
    "</html>\n";

int nb_route_page(struct nb_request *request, struct nb_error *error)
{
    request->reply.is_page = true;
    return reply_text(request, PAGE, "text/html; charset=utf-8", error);
}
