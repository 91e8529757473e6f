/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the route of a method and a path in a table of routes. Pure functions; any thread.
 */
#ifndef NB_SERVER_HTTP_ROUTER_H
#define NB_SERVER_HTTP_ROUTER_H

#include <stddef.h>

#include "core/base/buffer.h"
#include "server/request/request.h"
#include "server/request/route.h"

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

#endif
