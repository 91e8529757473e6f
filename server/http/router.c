/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/router.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "server/http/address.h"
#include "server/http/http_answer.h"
#include "server/http/query.h"
#include "server/http/server.h"
#include "server/http/wait.h"

enum { SEGMENTS_MOST = 6 };

/* Returns the length of a path or pattern up to the next slash, or to its end. */
static size_t segment_length(const char *at)
{
    return (size_t)(strchrnul(at, '/') - at);
}

/* Splits "/a/b" into decoded "a" and "b"; "/" is one empty segment. Returns how many there are,
 * SEGMENTS_MOST + 1 for more than any route has, and 0 for an invalid path. */
static size_t split_path(char *path, struct nb_string segments[SEGMENTS_MOST], bool *is_bad)
{
    size_t count = 0;
    while (*path == '/') {
        char *start = ++path;
        path += segment_length(path);
        if (count == SEGMENTS_MOST)
            return SEGMENTS_MOST + 1;
        bool is_last = *path == '\0';
        size_t length = (size_t)(path - start);
        if (memchr(start, '%', length) != NULL)
            length = nb_percent_decode(start, length);
        if (length == SIZE_MAX) {
            *is_bad = true;
            return 0;
        }
        segments[count++] = (struct nb_string){start, length};
        if (is_last)
            break;
    }
    return count;
}

static bool matches(const struct nb_route *route, const struct nb_string *segments, size_t count,
                    struct nb_string parameters[NB_PATH_PARAMETERS])
{
    const char *pattern = route->pattern;
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (*pattern++ != '/')
            return false;
        size_t length = segment_length(pattern);
        if (*pattern == '{') {
            if (segments[i].length == 0)
                return false;
            assert(taken < NB_PATH_PARAMETERS);
            parameters[taken++] = segments[i];
        } else if (length != segments[i].length ||
                   (route->protocol->is_for_mail
                        ? strncasecmp(segments[i].bytes, pattern, length) != 0
                        : memcmp(segments[i].bytes, pattern, length) != 0)) {
            return false;
        }
        pattern += length;
    }
    return *pattern == '\0';
}

static void add_allowed(struct nb_match *match, const char *method)
{
    /* The longest list, "GET, HEAD, PUT, DELETE", fits with room to spare. */
    size_t length = strlen(match->allow);
    const char *parts[] = {length > 0 ? ", " : "", method,
                           strcmp(method, "GET") == 0 ? ", HEAD" : ""};
    for (size_t i = 0; i < 3; i++) {
        size_t more = strlen(parts[i]);
        if (length + more >= sizeof match->allow)
            return;
        memcpy(match->allow + length, parts[i], more + 1);
        length += more;
    }
}

/* Returns the path of a target. A server must also accept the absolute form "http://host/path" (RFC
 * 9112, 3.2.2). */
static char *path_of_target(char *target)
{
    if (strncmp(target, "http://", 7) != 0)
        return target;
    char *path = strchr(target + 7, '/');
    return path != NULL ? path : target;
}

enum nb_route_result nb_route_find(const struct nb_route *routes, size_t count, const char *method,
                                   char *path, struct nb_match *match)
{
    *match = (struct nb_match){.index = count};
    struct nb_string segments[SEGMENTS_MOST];
    bool is_bad = false;
    size_t length = split_path(path_of_target(path), segments, &is_bad);
    if (is_bad)
        return NB_ROUTE_BAD_PATH;
    if (length == 0 || length > SEGMENTS_MOST)
        return NB_ROUTE_NO_PATH;
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    for (size_t i = 0; i < count; i++) {
        struct nb_string parameters[NB_PATH_PARAMETERS] = {{NULL, 0}};
        if (!matches(&routes[i], segments, length, parameters))
            continue;
        if (strcmp(routes[i].method, method) != 0) {
            add_allowed(match, routes[i].method);
            continue;
        }
        match->route = &routes[i];
        match->index = i;
        memcpy(match->parameters, parameters, sizeof parameters);
        return NB_ROUTE_FOUND;
    }
    return match->allow[0] != '\0' ? NB_ROUTE_NO_METHOD : NB_ROUTE_NO_PATH;
}

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
