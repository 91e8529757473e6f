/* SPDX-License-Identifier: Apache-2.0
 *
 * Which function answers which method and path: one table (router.c), which metrics, openapi.json's
 * test and the handlers share. Read-only; any thread.
 */
#ifndef NB_SERVER_ROUTER_H
#define NB_SERVER_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_request;
struct nb_line;

/* Answers a request whose body is complete: fills request->reply and returns 0, or returns an error
 * code, which becomes a problem reply, or NB_WAIT (request.h). */
typedef int nb_handler(struct nb_request *request, struct nb_error *error);

/* Takes one line of an NDJSON body while the rest is still on its way. Returns 0, NB_WAIT (the line
 * was taken; no more until the request goes on), or an error code: then the whole request fails. */
typedef int nb_line_handler(struct nb_request *request, const struct nb_line *line,
                            struct nb_error *error);

/* Who may use a route once access tokens are configured. */
enum nb_role { NB_ROLE_NONE, NB_ROLE_CLASSIFY, NB_ROLE_TRAIN, NB_ROLE_ADMIN };

/* What a route takes as its body. */
enum nb_body_kind {
    NB_BODY_NONE,      /* nothing; what comes is read and dropped */
    NB_BODY_SETTINGS,  /* application/json */
    NB_BODY_DOCUMENTS, /* any of the document media types */
    NB_BODY_DUMP       /* application/x-ndjson, line by line, without a limit in all */
};

enum { NB_PATH_PARAMETERS = 2, NB_ALLOW_BYTES = 64 };

struct nb_route {
    const char *method;
    const char *pattern; /* "/v1/models/{model}/train"; a segment in braces takes any text */
    enum nb_role role;
    enum nb_body_kind body;
    const char *const *query; /* names of the parameters it knows, NULL-terminated */
    nb_handler *handler;
    nb_line_handler *line; /* NULL: the route takes no NDJSON */
    /* Spoken to as clients of rspamd do: the path in any case, a body of any type or none, query
     * parameters instead of header fields; and errors are told as rspamd tells them. */
    bool is_rspamd;
};

/* All routes; sets *count. */
const struct nb_route *nb_route_table(size_t *count);

enum nb_route_result {
    NB_ROUTE_FOUND,
    NB_ROUTE_BAD_PATH, /* invalid percent-encoding or a NUL: 400 */
    NB_ROUTE_NO_PATH,  /* 404 */
    NB_ROUTE_NO_METHOD /* 405 */
};

struct nb_match {
    const struct nb_route *route; /* NULL unless NB_ROUTE_FOUND */
    size_t index;                 /* of the route in the table; the table's size if there is none */
    struct nb_string parameters[NB_PATH_PARAMETERS]; /* in the pattern's order; in `path` */
    char allow[NB_ALLOW_BYTES];                      /* with NB_ROUTE_NO_METHOD: "GET, HEAD" */
};

/* Finds the route of a method and a raw path (no query). Each segment of `path` is percent-decoded
 * in place after the path was split, so that an id may hold "%2F". HEAD is served by GET. */
enum nb_route_result nb_route_find(const char *method, char *path, struct nb_match *match);

/* Percent-decodes in place; a '+' stays what it is. Returns the new length, or SIZE_MAX when an
 * escape is broken or gives a NUL. */
size_t nb_percent_decode(char *text, size_t length);

#endif
