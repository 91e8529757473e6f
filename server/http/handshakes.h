/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS handshakes that wait for their clients. From the first byte of such a client on,
 * libmicrohttpd 0.9.75 polls the socket without a pause while a handshake waits: its loop notes
 * that a socket was read empty only when it reads HTTP (MHD_run_tls_handshake_ leaves "read-ready"
 * set, so the time-out of its epoll_wait is 0). So a connection is suspended whenever its handshake
 * finds nothing to read or no room to write. A thread of this module, with an epoll of its own,
 * resumes it when its socket is ready. The guard limits how long a handshake may take
 * (net/connection_guard.h): it shuts the socket down, which also wakes it.
 */
#ifndef NB_SERVER_HTTP_HANDSHAKES_H
#define NB_SERVER_HTTP_HANDSHAKES_H

#include "core/base/error.h"
#include "server/http/connection.h"

struct nb_handshakes;

/* Starts the thread. Main thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_handshakes_start(struct nb_handshakes **handshakes, struct nb_error *error);

/* Resumes all waiting connections and ends the thread; from then on no connection waits. Main
 * thread, while the library still runs; NULL is allowed inside. */
void nb_handshakes_end(struct nb_handshakes *handshakes);

/* Frees the module after the library has stopped. NULL is allowed inside. */
void nb_handshakes_free(struct nb_handshakes **handshakes);

/* Suspends a connection whose handshake cannot continue, until its socket can be read, or written
 * if it `writes`. On the connection's thread. Without memory the connection is not suspended, and
 * the library polls. */
void nb_handshakes_wait(struct nb_handshakes *handshakes, struct nb_connection *held, bool writes);

/* Forgets a connection that ends. On its thread. */
void nb_handshakes_forget(struct nb_handshakes *handshakes, struct nb_connection *held);

#endif
