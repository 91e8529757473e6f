/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the route of a method and a path in a table of routes. Pure functions; any thread.
 */
#ifndef NB_SERVER_HTTP_ROUTER_H
#define NB_SERVER_HTTP_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "server/http/http_call.h"
#include "server/http/request.h"

enum { NB_PATH_PARAMETERS = 2 };

enum nb_route_result {
    NB_ROUTE_FOUND,
    NB_ROUTE_BAD_PATH, /* invalid percent-encoding or a NUL: 400 */
    NB_ROUTE_NO_PATH,  /* 404 */
    NB_ROUTE_NO_METHOD /* 405 */
};

struct nb_match {
    const struct nb_route *route; /* NULL unless NB_ROUTE_FOUND */
    size_t index;                 /* of the route in the table; `count` if there is none */
    struct nb_string parameters[NB_PATH_PARAMETERS]; /* in the pattern's order; in `path` */
    char allow[NB_ALLOW_BYTES];                      /* with NB_ROUTE_NO_METHOD: "GET, HEAD" */
};

/* Finds the route of a method and a raw path (no query) among `count` routes. Each segment of
 * `path` is percent-decoded in place after the path was split, so that an id may hold "%2F". HEAD
 * is served by GET. */
enum nb_route_result nb_route_find(const struct nb_route *routes, size_t count, const char *method,
                                   char *path, struct nb_match *match);

/* The header fields for a browser that shows a page of another site, if [http] origins names the
 * site (Fetch standard, 3.2, CORS). Such a page sends a token in Authorization; cookies and
 * certificates are never requested (there is no Access-Control-Allow-Credentials). For the thread
 * that works on the request. */

/* Notes whether replies depend on the Origin, and whether the page with this `origin` (NULL: none)
 * may read this reply. */
void nb_cors_begin(struct nb_http_call *call, const char *origin);

/* Answers a preflight, by which a browser asks without a token whether the page may send its
 * request (OPTIONS with Access-Control-Request-Method). Returns whether the request was a
 * preflight; then the reply is ready: 204, 403 for an origin that is not listed, 404 for an unknown
 * path. Without [http] origins no request is a preflight. `url` is the raw path. */
bool nb_cors_answer(struct nb_http_call *call, const char *url);

enum { NB_CORS_FIELDS = 6 };
struct nb_cors_field {
    const char *name, *value; /* `value` lives as long as the request */
};

/* Fills the header fields of the reply. Returns how many there are. */
size_t nb_cors_fields(const struct nb_http_call *call, struct nb_cors_field fields[NB_CORS_FIELDS]);

#endif
