/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS of connections: the session's certificate, and handshakes that wait for their clients.
 *
 * From the first byte of such a client on, libmicrohttpd 0.9.75 polls the socket without a pause
 * while a handshake waits: its loop notes that a socket was read empty only when it reads HTTP
 * (MHD_run_tls_handshake_ leaves "read-ready" set, so the time-out of its epoll_wait is 0). So a
 * connection is suspended whenever its handshake finds nothing to read or no room to write. A
 * thread of this module, with an epoll of its own, resumes it when its socket is ready. The guard
 * limits how long a handshake may take (http/net/connection_guard.h): it shuts the socket down,
 * which also wakes it.
 */
#ifndef NB_SERVER_HTTP_HTTP_TLS_H
#define NB_SERVER_HTTP_HTTP_TLS_H

#include <microhttpd.h>

#include "core/base/error.h"
#include "server/http/http.h"

struct nb_handshakes;

/* Starts the thread. Main thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_handshakes_start(struct nb_handshakes **handshakes, struct nb_error *error);

/* Resumes all waiting connections and ends the thread; from then on no connection waits. Main
 * thread, while the library still runs; `handshakes` may be NULL. */
void nb_handshakes_end(struct nb_handshakes *handshakes);

/* Frees the module after the library has stopped. *handshakes may be NULL. */
void nb_handshakes_free(struct nb_handshakes **handshakes);

/* ---- sessions -------------------------------------------------------------------------------- */

/* Returns the option that starts the library with TLS. */
struct MHD_OptionItem nb_http_tls_option(void);

/* The first function is called when the connection belongs to the library: it prepares the session
 * for the handshake. The second one is called when the session has ended. */
void nb_http_tls_begin(struct nb_connection *held, struct MHD_Connection *connection);
void nb_http_tls_end(struct nb_connection *held);

/* Returns the connection's GnuTLS session; NULL without TLS. */
void *nb_http_session(struct MHD_Connection *connection);

/* Returns the name in the client's certificate, with TLS; NULL if none was shown or none
 * verified. */
const char *nb_http_certificate(struct nb_connection *held, struct MHD_Connection *connection);

#endif
