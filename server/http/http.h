/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server, on libmicrohttpd. It is given connections that were accepted elsewhere; its
 * threads work on the requests. Started and stopped by the main thread.
 */
#ifndef NB_SERVER_HTTP_HTTP_H
#define NB_SERVER_HTTP_HTTP_H

#include <sys/socket.h>

#include "core/base/error.h"

struct nb_http;
struct nb_server;

/* Whose the connections are; called on any of the server's threads. */
struct nb_http_owner {
    /* A connection from this address was closed. */
    void (*closed)(void *user, const struct sockaddr *address);
    /* The socket, which is given away, of a client that may still be sending to a closed
     * connection (linger.h). */
    void (*linger)(void *user, int file);
    void *user;
};

/* Starts `threads` threads. `server` is borrowed until nb_http_stop. Returns 0, NB_NO_MEMORY or
 * NB_IO. */
int nb_http_start(struct nb_server *server, unsigned threads, const struct nb_http_owner *owner,
                  struct nb_http **http, struct nb_error *error);

/* Takes over a connection, with no byte taken from it; any one thread. The owner is told when it is
 * closed. */
void nb_http_take(struct nb_http *http, int file, const struct sockaddr *address, socklen_t length);

/* Closes what is open and ends the threads; NULL is allowed inside. No request may be suspended and
 * no connection be given any more (see serve.c). */
void nb_http_stop(struct nb_http **http);

#endif
