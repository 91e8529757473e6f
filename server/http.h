/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server: libmicrohttpd and nothing else of it is seen outside of http.c. It is given
 * connections that others have accepted; requests are worked on by a pool of threads. Started and
 * stopped by the main thread.
 */
#ifndef NB_SERVER_HTTP_H
#define NB_SERVER_HTTP_H

#include <sys/socket.h>

#include "core/base/error.h"
#include "server/server.h"

struct nb_connections;
struct nb_http;
struct nb_linger;

/* Starts `threads` threads. `server`, `connections` and `linger` are borrowed until nb_http_stop.
 * Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_http_start(struct nb_server *server, unsigned threads, struct nb_connections *connections,
                  struct nb_linger *linger, struct nb_http **http, struct nb_error *error);

/* Takes over a connection that is counted in `connections`, with no byte taken from it; any one
 * thread. It is counted out when it is closed. */
void nb_http_take(struct nb_http *http, int file, const struct sockaddr *address, socklen_t length);

/* Closes what is open and ends the threads; NULL is allowed inside. No request may be suspended and
 * no connection be given any more (see serve.c). */
void nb_http_stop(struct nb_http **http);

#endif
