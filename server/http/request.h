/* SPDX-License-Identifier: Apache-2.0
 *
 * One request, over HTTP or over a line protocol of mail software, and the routes that requests
 * take. Only types. One thread at a time works on a request; after a wait it may be another thread.
 * Routes are read-only, for any thread.
 */
#ifndef NB_SERVER_HTTP_REQUEST_H
#define NB_SERVER_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "server/http/access.h"
#include "server/http/budget.h"
#include "server/http/decoder.h"
#include "server/http/tokens.h"

struct nb_config;
struct nb_configuration;
struct nb_error;
struct nb_ndjson_line;
struct nb_request;
struct nb_route;
struct nb_server;

/* Answers a request whose body is complete: fills request->reply and returns 0, or returns an error
 * code, which becomes a problem reply, or NB_WAIT. */
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

/* A method and a path, or a verb of a line protocol, and the function that answers it. The tables
 * are in server/routes.c and server/mail/line_routes.c. */
struct nb_route {
    const char *method;
    const char *pattern; /* "/v1/models/{model}/train"; a segment in braces takes any text */
    enum nb_role role;   /* the role that a client needs once there are access tokens */
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
    int verb; /* selects a task of the handler, by the handler's own enum; 0 if it has only one */
};

/* A handler returns NB_WAIT after nb_request_suspend: the reply is not ready; `again` is called
 * when the request continues. */
enum { NB_WAIT = 1 };

enum { NB_QUERY_MOST = 16, NB_ALLOW_BYTES = 64, NB_TAG_BYTES = 36 };

struct nb_parameter {
    struct nb_string name, value; /* decoded */
};

struct nb_reply {
    unsigned status; /* 0: none yet */
    const char *content_type;
    struct nb_buffer body; /* handed over to the HTTP library, not copied */
    struct nb_hold hold;   /* the share of the budget for `body`, once `body` is finished */
    struct nb_spool spool; /* used instead of `body` when has_spool */
    bool has_spool;
    /* Makes the next piece of a reply that is sent while it is made. Called on the work pool
     * whenever `body` was sent; fills `body` anew and sets `is_last` with the last piece. After a
     * code below 0 `body` is still sent, then the connection ends, so that the client notices, and
     * the carrier logs the reason. NULL: the reply is whole. */
    nb_handler *next;
    bool is_last;
    bool is_given; /* the carrier has passed on all of the reply */
    /* The Content-Security-Policy (static) of a reply that a browser shows; the other header fields
     * that isolate a page come with it. NULL: none. */
    const char *policy;
    char tag[NB_TAG_BYTES];     /* ETag, with its quotes; empty: none */
    char allow[NB_ALLOW_BYTES]; /* the field Allow, with 405 */
    struct nb_buffer location;  /* the field Location, with 421, as text; empty: none */
    unsigned retry_after;       /* the field Retry-After in seconds, with 429; 0 stands for 1 */
    bool is_withheld;           /* the carrier ends the connection instead of sending it */
};

/* The transport that brought a request and takes its reply back: server/http/http_request.c or
 * server/mail/line.c. */
struct nb_carrier {
    /* Suspends the request, so that its thread serves others; resumes it (from any thread). */
    void (*suspend)(struct nb_request *request);
    void (*resume)(struct nb_request *request);
    /* Returns the value of the first header field of that name; bytes == NULL when there is none.
     * It lives as long as the request. */
    struct nb_string (*field)(const struct nb_request *request, const char *name);
    /* Returns the next value of a header field that may occur several times; bytes == NULL when no
     * more follow. *at begins at 0 and is moved on. */
    struct nb_string (*next_field)(const struct nb_request *request, const char *name, size_t *at);
};

struct nb_request {
    struct nb_server *server;
    const struct nb_configuration *configuration; /* held until its end (http_answer.h) ... */
    const struct nb_config *config;               /* ... and its parts */
    const struct nb_access *access;
    const struct nb_carrier *carrier;
    void *connection;             /* private to the carrier */
    const struct nb_route *route; /* NULL: none was found */
    size_t route_index;
    unsigned version;   /* the client's version of a line protocol: major * 100 + minor */
    char *path;         /* owned; decoded in place; the parameters point into it */
    const char *target; /* borrowed from the carrier: the raw path; NULL: there is none */
    struct nb_string model, id;
    char *query_text; /* owned; the parameters point into it */
    struct nb_parameter query[NB_QUERY_MOST];
    size_t query_count;
    struct nb_string after; /* the place in the stream that the reply must include (wait.h), as the
                               client wrote it; bytes == NULL: none */
    bool only_new;          /* If-None-Match: * */
    struct nb_peer peer;    /* who sent it, and ... */
    struct nb_grant grant;  /* ... what the client may do; set by nb_request_check_access */

    struct nb_media_type type;
    bool is_lines;         /* the body is given to route->line, line by line */
    struct nb_string body; /* else the whole body, when the handler is called; it must not be used
                              any more after the handler has returned NB_WAIT */

    struct nb_reply reply;
    nb_handler *again;          /* called instead of the handler after NB_WAIT */
    void *state;                /* the route's own, from call to call ... */
    void (*state_free)(void *); /* ... and the function that frees it */

    struct nb_buffer
        urls;           /* of nodes that follow the model (admission.h), each with a NUL behind */
    bool has_caught_up; /* the changes that it must see are applied (wait.h) */
    bool is_prepared;   /* route->prepare was called */
    const struct nb_error *why; /* the error that is replied; NULL: only its status is known */
    uint64_t
        request_id;   /* its number for the client and the log; 0: not given yet (http_answer.c) */
    const char *code; /* of the problem that is replied; NULL: none, or of another protocol */
    bool has_changed; /* a change by this request is in force (http_answer.h) */
    uint64_t number;  /* the place of its last change in the stream; 0: none */
    struct nb_work *work;         /* its work on a pool, or NULL; private to wait.c */
    struct nb_transfer *transfer; /* the body's progress; for the carrier and body_transfer.c */
    uint64_t started;             /* when it began (nb_clock_monotonic) */
};

#endif
