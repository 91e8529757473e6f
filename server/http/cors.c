/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/cors.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/access/origins.h"
#include "server/http/router.h"
#include "server/request/http_answer.h"
#include "server/request/server.h"
#include "server/request/wait.h"

/* Header fields that a page may send and read in addition to those that are always allowed. */
static const char SENT[] = "Authorization, Content-Type, Content-Encoding, If-None-Match, "
                           "" NB_FIELD_AFTER;
static const char READ[] = "" NB_FIELD_NUMBER ", Allow, ETag, Location, Retry-After, "
                           "WWW-Authenticate";
static const char SECONDS[] = "600"; /* how long a browser may cache the answer to a preflight */

void nb_cors_begin(struct nb_http_call *call, const char *origin)
{
    const char *origins = call->request.config->http_origins;
    call->varies = origins[0] != '\0';
    if (call->varies && origin != NULL && nb_origins_have(origins, origin))
        call->page = origin;
}

static const char *field_of(const struct nb_http_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->request.connection, MHD_HEADER_KIND, name);
}

/* Finds the methods of the path. Returns whether there are any. */
static bool find_methods(struct nb_http_call *call, const char *url)
{
    const struct nb_server *server = call->request.server;
    struct nb_match match;
    char *path = strdup(url);
    if (path == NULL) {
        nb_reply_problem(&call->request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
        return false;
    }
    bool has = nb_route_find(server->routes, server->route_count, MHD_HTTP_METHOD_OPTIONS, path,
                             &match) == NB_ROUTE_NO_METHOD;
    memcpy(call->methods, match.allow, sizeof call->methods);
    free(path);
    if (!has)
        nb_reply_problem(&call->request, MHD_HTTP_NOT_FOUND,
                         "there is nothing at this path; GET /openapi.json lists what there is");
    return has;
}

bool nb_cors_answer(struct nb_http_call *call, const char *url)
{
    if (!call->varies || strcmp(call->method, MHD_HTTP_METHOD_OPTIONS) != 0 ||
        field_of(call, "Access-Control-Request-Method") == NULL)
        return false;
    if (call->page == NULL) {
        nb_reply_problem(&call->request, MHD_HTTP_FORBIDDEN,
                         "the request is for a page of another site, whose Origin the option "
                         "[http] origins does not name");
        return true;
    }
    if (find_methods(call, url))
        call->request.reply.status = MHD_HTTP_NO_CONTENT;
    return true;
}

size_t nb_cors_fields(const struct nb_http_call *call, struct nb_cors_field fields[NB_CORS_FIELDS])
{
    size_t count = 0;
    if (call->varies)
        fields[count++] = (struct nb_cors_field){MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ORIGIN};
    if (call->page == NULL)
        return count;
    fields[count++] = (struct nb_cors_field){"Access-Control-Allow-Origin", call->page};
    if (call->methods[0] == '\0') {
        fields[count++] = (struct nb_cors_field){"Access-Control-Expose-Headers", READ};
        return count;
    }
    fields[count++] = (struct nb_cors_field){"Access-Control-Allow-Methods", call->methods};
    fields[count++] = (struct nb_cors_field){"Access-Control-Allow-Headers", SENT};
    fields[count++] = (struct nb_cors_field){"Access-Control-Max-Age", SECONDS};
    return count;
}
