/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that came over HTTP, shared by the files of this folder: http_request.c (its course),
 * http_head.c (its header fields) and the files beside them. For the thread that works on the
 * request.
 */
#ifndef NB_SERVER_HTTP_HTTP_CALL_H
#define NB_SERVER_HTTP_HTTP_CALL_H

#include <microhttpd.h>

#include "server/http/http.h"
#include "server/http/request.h"

struct nb_handshakes;

/* A body that is not needed is still read to its end if it is no longer than this. */
enum { NB_HTTP_DROP_BYTES = 1024 * 1024 };

struct nb_http {
    struct nb_server *server;
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *tls;           /* the library's instance that speaks TLS, or NULL */
    struct nb_handshakes *handshakes; /* of the TLS instance */
    struct nb_http_owner owner;
};

/* A request with the members that only these files use. */
struct nb_http_call {
    struct nb_request request;
    struct nb_http *http;
    struct nb_connection *held;
    uint64_t received;     /* bytes of the body */
    uint64_t sent;         /* bytes of the reply's body */
    uint64_t length;       /* Content-Length, or UINT64_MAX when it is chunked */
    bool has_body;         /* a body is expected */
    bool expects_continue; /* the client waits for a 100 before it sends the body */
    bool is_direct;        /* the body is used in place if it comes in one piece, and only
                              stored if it does not */
    bool is_queued;        /* the reply was given to the library */
    size_t given;          /* bytes of a stream's piece that the library has taken */
    bool is_broken;        /* the stream ends after this piece, before its end */
    bool is_kept;          /* the client asked only that the connection stays open */
    bool closes;           /* the connection ends with this reply */
    bool lingers;          /* it also lingers, because the client may still be sending */
    unsigned refused;      /* status of the library's own refusal (library.h); 0: none */
    char method[8];        /* for the log */
    const char *page; /* the Origin of a page of another site that may read the reply; or NULL */
    bool varies;      /* the reply depends on the Origin (router.h) */
    char methods[NB_ALLOW_BYTES]; /* allowed methods, for a page that asked for them; empty: none
                                     asked */
};

/* ---- http_request.c -------------------------------------------------------------------------- */

/* The access handler of the library, and its callback when a request is over. `user` is the
 * struct nb_http. */
enum MHD_Result nb_http_on_call(void *user, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state);
void nb_http_on_completed(void *user, struct MHD_Connection *connection, void **state,
                          enum MHD_RequestTerminationCode how);

/* ---- http_head.c ----------------------------------------------------------------------------- */

/* The library's callback for decoding paths and queries. It leaves them escaped: they are split
 * first and decoded later (http_head.c, admission.c). Returns the length of `text`. */
size_t nb_http_leave_escaped(void *user, struct MHD_Connection *connection, char *text);

/* Reads the request line and the header fields: the route, the query, the expected body. Refuses a
 * request at once if its body is not needed for that; then there is a reply. */
void nb_http_read_head(struct nb_http_call *call, const char *url, const char *method,
                       const char *version);

/* Reads a Content-Type (NULL: there is none). Parameters other than charset are ignored. Returns 0,
 * or NB_UNSUPPORTED, whose message names the known types, also for JSON in a charset other than
 * UTF-8 (RFC 8259, 8.1). */
int nb_media_read(const char *content_type, struct nb_media_type *type, struct nb_error *error);

/* Reads a Content-Encoding (NULL: there is none): gzip, x-gzip, zstd or identity. Returns 0 or
 * NB_UNSUPPORTED, also for several codings in a row. */
int nb_coding_read(const char *content_encoding, enum nb_coding *coding, struct nb_error *error);

/* Returns the owner's record of the library's connection. */
struct nb_connection *nb_http_connection(struct MHD_Connection *connection);

#endif
