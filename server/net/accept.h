/* SPDX-License-Identifier: Apache-2.0
 *
 * Accepts connections on the one port and finds out what they speak from their first bytes, without
 * taking them: HTTP is given to the HTTP server, the line protocols of mail filters are served here
 * (line.h). One thread of its own with an epoll, so a client that connects and says nothing costs a
 * descriptor and an entry until `timeout`. Started and stopped by the main thread.
 */
#ifndef NB_SERVER_NET_ACCEPT_H
#define NB_SERVER_NET_ACCEPT_H

#include "core/base/error.h"
#include "server/net/listen.h"

struct nb_acceptor;
struct nb_connections;
struct nb_connection_guard;
struct nb_http;
struct nb_linger;
struct nb_server;

/* All borrowed until nb_acceptor_stop. */
struct nb_acceptor_settings {
    struct nb_server *server;
    const int *sockets; /* NB_LISTEN_SOCKETS that listen, not blocking, or -1. Their shutdown() ends
                           the accepting. */
    unsigned threads;   /* that work for the line protocols */
    struct nb_connections *connections;
    struct nb_linger *linger;
    struct nb_connection_guard *guard;
    struct nb_http *http;
};

/* Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_acceptor_start(const struct nb_acceptor_settings *settings, struct nb_acceptor **acceptor,
                      struct nb_error *error);

/* Closes the connections that were not given on and ends the threads; NULL is allowed inside. No
 * request may be suspended. */
void nb_acceptor_stop(struct nb_acceptor **acceptor);

#endif
