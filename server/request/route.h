/* SPDX-License-Identifier: Apache-2.0
 *
 * A route: a method and a path, or a verb of a line protocol, and the function that answers it.
 * Types alone; the tables are in server/routes.c and server/mail/line_routes.c. Read-only; any
 * thread.
 */
#ifndef NB_SERVER_REQUEST_ROUTE_H
#define NB_SERVER_REQUEST_ROUTE_H

#include <stdbool.h>

#include "server/access/role.h"

struct nb_error;
struct nb_ndjson_line;
struct nb_request;
struct nb_route;

/* Answers a request whose body is complete: fills request->reply and returns 0, or returns an error
 * code, which becomes a problem reply, or NB_WAIT (request.h). */
typedef int nb_handler(struct nb_request *request, struct nb_error *error);

/* Takes one line of an NDJSON body while the rest is still arriving. Returns 0, NB_WAIT (the line
 * was taken; no more until the request continues), or an error code: then the whole request
 * fails. */
typedef int nb_line_handler(struct nb_request *request, const struct nb_ndjson_line *line,
                            struct nb_error *error);

/* The body that a route takes. */
enum nb_body_kind {
    NB_BODY_NONE,      /* nothing; a body is read and dropped */
    NB_BODY_SETTINGS,  /* application/json */
    NB_BODY_DOCUMENTS, /* any of the document media types */
    NB_BODY_DOCUMENT,  /* application/json: one document */
    NB_BODY_ROWS,      /* application/json, application/x-ndjson or text/csv, as a whole */
    NB_BODY_DUMP       /* application/x-ndjson, line by line, of unlimited total size */
};

/* The protocol of a route's clients: how requests are read and how failures are written. */
struct nb_protocol {
    /* The source of changes over this protocol, for a request that names none and has no token. */
    const char *door;
    /* For mail software: paths match in any case, the body has any type or is missing, header
     * fields count as query parameters and unknown ones are ignored, the token may be in Password,
     * and trusted clients need none (access.h). */
    bool is_for_mail;
    const char *user_field;      /* for mail software: the header field with the mail's user ... */
    const char *recipient_field; /* ... else the one with a recipient; NULL: there is none */
    /* Without this header field a request to learn only forgets; NULL: it always learns. */
    const char *set_field;
    /* Writes a failure to the empty request->reply.body. Returns its content type (static); the
     * body stays empty when there is no memory. */
    const char *(*problem)(struct nb_request *request, unsigned status, const char *detail);
    /* The HTTP status of an error code; NULL: nb_json_status. */
    unsigned (*status_of)(const struct nb_route *route, int code);
};

struct nb_route {
    const char *method;
    const char *pattern; /* "/v1/models/{model}/train"; a segment in braces takes any text */
    enum nb_role role;   /* that a client needs once there are access tokens */
    enum nb_body_kind body;
    const char *const *query; /* names of the parameters it knows, NULL-terminated */
    nb_handler *handler;
    nb_line_handler *line; /* NULL: the route takes no NDJSON */
    /* Called once before the handler or the first line. It may wait but makes no reply. NULL:
     * nothing to prepare. */
    nb_handler *prepare;
    bool is_of_all; /* its reply concerns all models, so a token for some models is refused */
    /* Lines, and the handler of a large body, run on the pool of streams, so that the serving
     * threads stay free while a hundred such bodies arrive; they never return NB_WAIT. */
    bool is_stream;
    bool is_long; /* handler and lines run on the work pool; they never return NB_WAIT */
    const struct nb_protocol *protocol;
    int verb; /* which task of the handler, by the handler's own enum; 0 if there is only one
               */
};

#endif
