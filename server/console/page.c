/* SPDX-License-Identifier: Apache-2.0 */
#include "server/console/page.h"

#include <stdlib.h>

#include "core/engine/engine.h"
#include "server/base/version.h"
#include "server/console/html.h"
#include "server/request/admission.h"
#include "server/request/answer.h"
#include "server/request/request.h"
#include "server/request/server.h"

static const char BEGIN[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>bayesd</title>\n"
    "<style>:root{color-scheme:light dark}body{font:1rem/1.5 sans-serif;max-width:40em;margin:3em "
    "auto;padding:0 1em}</style>\n"
    "</head>\n"
    "<body>\n"
    "<h1>bayesd " NB_PROGRAM_VERSION "</h1>\n"
    "<p>This daemon learns to tell texts apart, spam from ham first of all, from labelled\n"
    "documents, and classifies new ones by naive Bayes. It is spoken to over HTTP in JSON.</p>\n"
    "<ul>\n"
    "<li><a href=\"/openapi.json\">/openapi.json</a>: what can be asked, and how</li>\n"
    "<li><a href=\"/v1/models\">/v1/models</a>: the models that there are</li>\n"
    "<li><a href=\"/metrics\">/metrics</a>: numbers for Prometheus</li>\n"
    "</ul>\n";
static const char END[] = "</body>\n</html>\n";

/* Models that have a link here; /v1/models has all. */
enum { MODELS_MOST = 100 };

static int put_link(struct nb_buffer *out, struct nb_string model)
{
    int rc = nb_buffer_puts(out, "<li><a href=\"/models/");
    if (rc == 0)
        rc = nb_html_url(out, model);
    if (rc == 0)
        rc = nb_buffer_puts(out, "\">");
    if (rc == 0)
        rc = nb_html_text(out, model);
    return rc == 0 ? nb_buffer_puts(out, "</a></li>\n") : rc;
}

/* Those of the first ones that the request's token is for. */
static int put_models(struct nb_request *request, struct nb_error *error)
{
    struct nb_buffer *out = &request->reply.body;
    struct nb_model_info *infos = NULL;
    size_t count = 0;
    bool more = false;
    int rc = nb_engine_models(request->server->engine, nb_string_of(""), MODELS_MOST, &infos,
                              &count, &more, error);
    if (rc != 0)
        return rc;
    rc = nb_buffer_puts(out, count > 0 ? "<h2>Models</h2>\n<ul>\n" : "");
    for (size_t i = 0; i < count; i++) {
        struct nb_string name = nb_string_of(infos[i].name);
        if (rc == 0 && nb_request_is_for(request, name))
            rc = put_link(out, name);
        nb_model_info_deinit(&infos[i]);
    }
    free(infos);
    if (rc == 0)
        rc = nb_buffer_puts(out, count > 0 ? "</ul>\n" : "");
    if (rc == 0 && more)
        rc = nb_buffer_puts(out, "<p>There are more: <a href=\"/v1/models\">/v1/models</a></p>\n");
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

int nb_route_page(struct nb_request *request, struct nb_error *error)
{
    request->reply.is_page = true;
    if (nb_buffer_puts(&request->reply.body, BEGIN) != 0)
        return nb_error_no_memory(error);
    int rc = put_models(request, error);
    if (rc != 0)
        return rc;
    if (nb_buffer_puts(&request->reply.body, END) != 0)
        return nb_error_no_memory(error);
    return nb_reply_with(request, 200, "text/html; charset=utf-8");
}
