/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server, on libmicrohttpd. It takes over connections that were accepted elsewhere; its
 * threads work on the requests. Started and stopped by the main thread.
 */
#ifndef NB_SERVER_HTTP_HTTP_H
#define NB_SERVER_HTTP_HTTP_H

#include "core/base/error.h"
#include "server/http/connection.h"

struct nb_http;
struct nb_server;

/* Starts `threads` threads. `server` is borrowed until nb_http_stop. Returns 0, NB_NO_MEMORY or
 * NB_IO. */
int nb_http_start(struct nb_server *server, unsigned threads, const struct nb_http_owner *owner,
                  struct nb_http **http, struct nb_error *error);

/* Takes over a connection from which no byte was read; any one thread. The connection is borrowed
 * until the server calls the owner's `closed`. When the library has no memory for it, the library
 * closes the file silently, and the connection never becomes is_started. */
void nb_http_take(struct nb_http *http, struct nb_connection *held);

/* Closes all open connections and ends the threads; NULL is allowed inside. No request may be
 * suspended and no connection may be given any more (see serve.c). */
void nb_http_stop(struct nb_http **http);

#endif
