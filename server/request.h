/* SPDX-License-Identifier: Apache-2.0
 *
 * One request as the routes see it, without the library or protocol that brought it: HTTP, or one
 * of the line protocols of mail filters. One thread at a time works on a request; it may be another
 * one after it has waited.
 */
#ifndef NB_SERVER_REQUEST_H
#define NB_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/body.h"
#include "server/media.h"
#include "server/ndjson.h"
#include "server/router.h"
#include "server/spool.h"

struct nb_request;
struct nb_server;
struct sockaddr;

/* A handler returns it after nb_request_suspend: the reply is not there yet; `again` is called when
 * the request goes on. */
enum { NB_WAIT = 1 };

enum { NB_QUERY_MOST = 8 };

struct nb_parameter {
    struct nb_string name, value; /* decoded */
};

struct nb_reply {
    unsigned status; /* 0: none yet */
    const char *content_type;
    struct nb_buffer body; /* handed over to the HTTP library, not copied */
    struct nb_spool spool; /* used instead of `body` when has_spool */
    bool has_spool;
    bool is_page;               /* HTML: the header fields that keep a page to itself */
    char allow[NB_ALLOW_BYTES]; /* with 405 */
};

/* What brought a request and takes its reply back: http.c or line.c. */
struct nb_carrier {
    /* Takes the request off its thread, and puts it back (any thread). */
    void (*suspend)(struct nb_request *request);
    void (*resume)(struct nb_request *request);
    /* The value of a header field, the first one of that name; bytes == NULL when there is none.
     * It lives as long as the request. */
    struct nb_string (*field)(const struct nb_request *request, const char *name);
    /* The client's address; NULL when it is not known. */
    const struct sockaddr *(*address)(const struct nb_request *request);
    bool is_line; /* its requests are those of line protocols (line_routes.h) */
};

struct nb_request {
    struct nb_server *server;
    const struct nb_carrier *carrier;
    void *connection; /* the carrier's */
    const struct nb_route *route;
    size_t route_index;
    char *path; /* owned; decoded in place, the parameters lie in it */
    struct nb_string model, id;
    char *query_text; /* owned; the parameters' storage */
    struct nb_parameter query[NB_QUERY_MOST];
    size_t query_count;
    bool only_new; /* If-None-Match: * */

    struct nb_media_type type;
    bool is_lines;         /* the body is given to route->line, line by line */
    struct nb_string body; /* else the whole body, when the handler is called; it must not be used
                              any more after the handler has returned NB_WAIT */

    struct nb_reply reply;
    nb_handler *again;          /* called instead of the handler after NB_WAIT */
    void *state;                /* the route's own, from call to call ... */
    void (*state_free)(void *); /* ... and what frees it when the request ends */

    struct nb_transfer *transfer; /* how far the body has come; for the carrier and transfer.c */
    uint64_t started;             /* nb_clock_monotonic */
};

/* ---- query (query.c) ----------------------------------------------------------------------------
 */

/* The value of a query parameter; bytes == NULL when it was not given. */
struct nb_string nb_request_query(const struct nb_request *request, const char *name);

/* A whole number: `otherwise` when it was not given. NB_INVALID names the parameter and the range
 * 0..most. */
int nb_request_query_count(const struct nb_request *request, const char *name, uint64_t otherwise,
                           uint64_t most, uint64_t *value, struct nb_error *error);

/* A number from 0 to `most`, in digits with an optional fraction and exponent; *value stays what it
 * is when it was not given. NB_INVALID names the parameter and the range. */
int nb_request_query_number(const struct nb_request *request, const char *name, double most,
                            double *value, struct nb_error *error);

/* Adds a parameter; both strings are decoded in place and borrowed. NB_INVALID: the route does not
 * know it (the known ones are named), it was given twice, or its encoding is broken. */
int nb_request_add_query(struct nb_request *request, char *name, size_t name_length, char *value,
                         size_t value_length, struct nb_error *error);

/* ---- replies (respond.c) ------------------------------------------------------------------------
 */

/* Whether there is a reply to send. */
bool nb_reply_is_there(const struct nb_request *request);

/* The reply is what was appended to reply.body, of this type (a static string). Returns 0. */
int nb_reply_with(struct nb_request *request, unsigned status, const char *content_type);

/* The same for application/json. Returns 0. */
int nb_reply_json(struct nb_request *request, unsigned status);

/* Begins a reply that may become long: append to reply.spool.tail and settle it. */
void nb_reply_spool(struct nb_request *request);
/* Ends it. Returns 0 or what nb_spool_finish does. */
int nb_reply_spooled(struct nb_request *request, unsigned status, const char *content_type,
                     struct nb_error *error);

/* Every error goes through here: drops what was written so far and makes a problem reply. */
void nb_reply_problem(struct nb_request *request, unsigned status, const char *detail);
/* The same with the status that belongs to a code. */
void nb_reply_error(struct nb_request *request, const struct nb_error *error);

void nb_reply_deinit(struct nb_reply *reply);

/* The value of a header field (its name in any case), on rspamd's routes also of a query parameter
 * of that name; bytes == NULL when there is none. */
struct nb_string nb_request_field(const struct nb_request *request, const char *name);

/* ---- waiting (request.c) ------------------------------------------------------------------------
 */

/* Takes the request off its thread. To be called by a handler before the work is handed over, whose
 * end may come at once on another thread; the handler then returns NB_WAIT. False: the daemon
 * breaks off what runs, and nothing may be begun. */
bool nb_request_suspend(struct nb_request *request);

/* Whether the client may use the request's route: by its token (Authorization; for rspamd's routes
 * Password too), or for mail filters by its address. Returns 0, NB_UNKNOWN or NB_FORBIDDEN. */
int nb_request_check_access(const struct nb_request *request, struct nb_error *error);

/* A queue that only grows serves nobody: whoever comes late with a change is asked to come again.
 * Returns 0 or NB_STOPPING. */
int nb_request_check_load(const struct nb_request *request, struct nb_error *error);

/* Puts it back; any thread. The request must not be touched afterwards. */
void nb_request_resume(struct nb_request *request);

/* ---- beginning and end (request.c) --------------------------------------------------------------
 */

/* Called by the carrier when the header fields are there. A stop waits for the request from now on.
 */
void nb_request_begin(struct nb_request *request);

struct nb_request_figures {
    const char *method;      /* for the log */
    unsigned status;         /* 0: the client was gone before it had the reply */
    uint64_t received, sent; /* bytes of the bodies */
};

/* Called by the carrier when the reply is out, or the client gone: writes the log, counts, and
 * frees what the request owns (not `request` itself). */
void nb_request_end(struct nb_request *request, const struct nb_request_figures *figures);

#endif
