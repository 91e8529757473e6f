/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that came over HTTP, as the files of this folder share it: http_request.c (its way),
 * http_head.c (what its header fields tell) and those beside them. For the thread that works on the
 * request.
 */
#ifndef NB_SERVER_HTTP_HTTP_CALL_H
#define NB_SERVER_HTTP_HTTP_CALL_H

#include <microhttpd.h>

#include "server/http/connection.h"
#include "server/http/handshakes.h"
#include "server/request/request.h"

/* A body that is not needed is read to its end if it is not longer than this. */
enum { NB_HTTP_DROP_BYTES = 1024 * 1024 };

struct nb_http {
    struct nb_server *server;
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *tls;           /* the one that speaks TLS, or NULL */
    struct nb_handshakes *handshakes; /* of that one */
    struct nb_http_owner owner;
};

/* A request with what only these files know of it. */
struct nb_http_call {
    struct nb_request request;
    struct nb_http *http;
    struct nb_connection *held;
    uint64_t received;     /* bytes of the body */
    uint64_t sent;         /* bytes of the reply's body */
    uint64_t length;       /* Content-Length, or UINT64_MAX when it is chunked */
    bool has_body;         /* there is one to come */
    bool expects_continue; /* and the client waits for leave to send it */
    bool is_direct;        /* the body is used where it lies if it comes in one piece, and only
                              received when it does not */
    bool is_queued;        /* the reply was given to the library */
    size_t given;          /* bytes of a stream's piece that the library has taken */
    bool is_broken;        /* the stream ends after this piece, before its end */
    bool is_kept;          /* the client asked for nothing but that the connection goes on */
    bool closes;           /* the connection ends with this reply */
    bool lingers;          /* and the client may still be sending */
    unsigned refused;      /* status of the library's own refusal (library.h); 0: none */
    char method[8];        /* for the log */
    const char *page; /* the Origin of a page of another site that may read the reply; or NULL */
    bool varies;      /* whether there is one makes another reply (cors.h) */
    char methods[NB_ALLOW_BYTES]; /* that it may use, as it has asked; empty: it has not */
};

/* ---- http_request.c -----------------------------------------------------------------------------
 */

/* The access handler of the library, and its callback when a request is over. `user` is the
 * struct nb_http. */
enum MHD_Result nb_http_on_call(void *user, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state);
void nb_http_on_completed(void *user, struct MHD_Connection *connection, void **state,
                          enum MHD_RequestTerminationCode how);

/* ---- http_head.c --------------------------------------------------------------------------------
 */

/* The library's callback that decodes paths and queries. They stay as they came: they are split
 * first and decoded then (router.c, query.c). Returns the length of `text`. */
size_t nb_http_leave_escaped(void *user, struct MHD_Connection *connection, char *text);

/* Reads what the request line and the header fields tell: the route, the query, the body to come.
 * What can be refused without the body is refused: then there is a reply. */
void nb_http_read_head(struct nb_http_call *call, const char *url, const char *method,
                       const char *version);

/* Reads a Content-Type (NULL: there is none). Parameters other than charset are ignored.
 * Returns 0, or NB_UNSUPPORTED naming the types that are known, also for a charset on JSON other
 * than UTF-8 (RFC 8259, 8.1). */
int nb_media_read(const char *content_type, struct nb_media_type *type, struct nb_error *error);

/* Reads a Content-Encoding (NULL: there is none): one of gzip, x-gzip, zstd, identity. Returns 0 or
 * NB_UNSUPPORTED, also for two codings one over the other. */
int nb_coding_read(const char *content_encoding, enum nb_coding *coding, struct nb_error *error);

/* The connection as its owner knows it. */
struct nb_connection *nb_http_connection(struct MHD_Connection *connection);

/* ---- http_tls.c ---------------------------------------------------------------------------------
 */

/* What the library needs to start with TLS. */
struct MHD_OptionItem nb_http_tls_option(void);

/* The connection is the library's: makes its session ready for the handshake; and the session has
 * ended. */
void nb_http_tls_begin(struct nb_connection *held, struct MHD_Connection *connection);
void nb_http_tls_end(struct nb_connection *held);

/* The connection's session with GnuTLS; NULL without TLS. */
void *nb_http_session(struct MHD_Connection *connection);

/* The name in the client's certificate, with TLS; NULL: none was shown, or it is nobody's. */
const char *nb_http_certificate(struct nb_connection *held, struct MHD_Connection *connection);

/* ---- http_stream.c ------------------------------------------------------------------------------
 */

/* A response that is made while it is sent (reply.next); NULL without memory. */
struct MHD_Response *nb_http_stream(struct nb_http_call *call);

#endif
