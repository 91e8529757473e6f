/* SPDX-License-Identifier: Apache-2.0 */
#include "server/console/page.h"

#include "server/base/version.h"
#include "server/request/answer.h"
#include "server/request/request.h"

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
    if (nb_buffer_puts(&request->reply.body, PAGE) != 0)
        return nb_error_no_memory(error);
    return nb_reply_with(request, 200, "text/html; charset=utf-8");
}
