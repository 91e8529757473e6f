/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS handshakes that wait for their clients. While a handshake waits, libmicrohttpd 0.9.75 asks
 * the socket again and again without a pause, from the first byte of the client's on: its loop
 * forgets that a socket was read empty only when it reads HTTP (MHD_run_tls_handshake_ leaves
 * "read-ready" set, so the time-out of its epoll_wait is 0). So a connection is suspended whenever
 * its handshake finds nothing to read or no room to write, and resumed when its socket is ready: by
 * a thread of this module, with an epoll of its own. How long a handshake may take is the guard's
 * concern (net/connection_guard.h), which shuts the socket down; that wakes it, too.
 */
#ifndef NB_SERVER_HTTP_HANDSHAKES_H
#define NB_SERVER_HTTP_HANDSHAKES_H

#include "core/base/error.h"
#include "server/http/connection.h"

struct nb_handshakes;

/* Main thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_handshakes_start(struct nb_handshakes **handshakes, struct nb_error *error);

/* Resumes all that wait, and ends the thread; from then on nothing waits. Main thread, while the
 * library still runs; NULL is allowed inside. */
void nb_handshakes_end(struct nb_handshakes *handshakes);

/* After the library has stopped. NULL is allowed inside. */
void nb_handshakes_free(struct nb_handshakes **handshakes);

/* Suspends the connection, whose handshake could not go on, until its socket can be read, or
 * written if it `writes`. On the connection's thread. Without memory for it the connection goes on,
 * and the library asks again. */
void nb_handshakes_wait(struct nb_handshakes *handshakes, struct nb_connection *held, bool writes);

/* The connection ends. On its thread. */
void nb_handshakes_forget(struct nb_handshakes *handshakes, struct nb_connection *held);

#endif
