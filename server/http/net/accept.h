/* SPDX-License-Identifier: Apache-2.0
 *
 * Accepts connections on the one port and detects their protocol from their first bytes, without
 * consuming them: HTTP goes to the HTTP server, the line protocols of mail filters are served here
 * (line.h). It has one thread, which watches them, so a client that connects and sends nothing
 * costs only a descriptor and an entry until `timeout`. Started and stopped by the main thread.
 */
#ifndef NB_SERVER_HTTP_NET_ACCEPT_H
#define NB_SERVER_HTTP_NET_ACCEPT_H

#include "core/base/error.h"
#include "server/base/listen.h"

struct nb_acceptor;
struct nb_connections;
struct nb_connection_guard;
struct nb_http;
struct nb_linger;
struct nb_server;

/* All borrowed until nb_acceptor_stop. */
struct nb_acceptor_settings {
    struct nb_server *server;
    const int *sockets; /* NB_LISTEN_SOCKETS non-blocking listeners, or -1. Their shutdown() ends
                           the accepting. */
    unsigned threads;   /* threads for the line protocols */
    struct nb_connections *connections;
    struct nb_linger *linger;
    struct nb_connection_guard *guard;
    struct nb_http *http;
};

/* Starts the thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_acceptor_start(const struct nb_acceptor_settings *settings, struct nb_acceptor **acceptor,
                      struct nb_error *error);

/* Closes the connections that were not passed on and ends the threads; *acceptor may be NULL. No
 * request may be suspended. */
void nb_acceptor_stop(struct nb_acceptor **acceptor);

#endif
