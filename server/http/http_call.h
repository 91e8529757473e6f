/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that came over HTTP, as http.c (its way), http_check.c (what its header fields tell)
 * and http_reply.c share it. They are the only ones that include libmicrohttpd's header. For the
 * thread that works on the request.
 */
#ifndef NB_SERVER_HTTP_HTTP_CALL_H
#define NB_SERVER_HTTP_HTTP_CALL_H

#include <microhttpd.h>

#include "server/http/connection.h"
#include "server/request/request.h"

/* A body that is not needed is read to its end if it is not longer than this. */
enum { NB_HTTP_DROP_BYTES = 1024 * 1024 };

struct nb_http {
    struct nb_server *server;
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *tls; /* the one that speaks TLS, or NULL */
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
};

/* ---- http_check.c -------------------------------------------------------------------------------
 */

/* Reads what the header fields and the request line tell: the route, the query, the body to come.
 * What can be refused without the body is refused: then there is a reply. */
void nb_http_check(struct nb_http_call *call, const char *url, const char *method,
                   const char *version);

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

/* ---- http_reply.c -------------------------------------------------------------------------------
 */

/* Hands the reply to the library. MHD_NO: the connection ends, because there is no memory or the
 * reply is withheld. */
enum MHD_Result nb_http_queue_reply(struct nb_http_call *call);

/* A response that is made while it is sent (reply.next); NULL without memory. */
struct MHD_Response *nb_http_stream(struct nb_http_call *call);

/* In the middle of a body: the library takes no reply here, so the (short) problem is written to
 * the socket, whose send buffer is empty; then the connection is given up. Returns MHD_NO. */
enum MHD_Result nb_http_answer_at_once(struct nb_http_call *call);

#endif
