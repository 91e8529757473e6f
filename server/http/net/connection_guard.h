/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches the connections that the HTTP server holds:
 *   - deadlines: a head that takes longer than head_seconds, a body slower than body_rate on
 *     average over each `timeout`, a request that is not over after request_seconds. The client
 *     gets a 408 if its request was not yet taken up, and the connection ends;
 *   - clients that have gone: libmicrohttpd 0.9.75 uses an edge-triggered epoll and misses the end
 *     of a stream that came together with the last bytes it read. The connection would keep its
 *     place until `timeout`. The guard shuts its socket down, which is another edge.
 * The guard has one thread, which looks ten times a second while there are connections. The
 * functions are for any thread.
 */
#ifndef NB_SERVER_HTTP_NET_CONNECTION_GUARD_H
#define NB_SERVER_HTTP_NET_CONNECTION_GUARD_H

#include "core/base/error.h"
#include "server/http/http.h"

struct nb_connections;
struct nb_connection_guard;
struct nb_server;

/* Starts the thread. All is borrowed until nb_guard_stop. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_guard_start(struct nb_server *server, struct nb_connections *connections,
                   struct nb_connection_guard **guard, struct nb_error *error);

/* Watches a connection that is counted in `connections` and is about to go to the HTTP server.
 * Returns NULL without memory; then nothing was changed. */
struct nb_connection *nb_guard_add(struct nb_connection_guard *guard, int file, bool is_tls,
                                   const union nb_connection_address *address, socklen_t length);

/* Called when the server closes the connection: counts it out and frees it. */
void nb_guard_remove(struct nb_connection_guard *guard, struct nb_connection *held);

/* Shuts all connections down and waits up to two seconds until the server has closed them. Stopping
 * libmicrohttpd 0.9.75 while it reads a malformed head would crash it. No request may run. */
void nb_guard_drain(struct nb_connection_guard *guard);

/* Ends the thread and frees the remaining connections, after the server has stopped; *guard may be
 * NULL. */
void nb_guard_stop(struct nb_connection_guard **guard);

#endif
