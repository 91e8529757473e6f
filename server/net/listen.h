/* SPDX-License-Identifier: Apache-2.0
 *
 * The listening sockets. Main thread.
 */
#ifndef NB_SERVER_NET_LISTEN_H
#define NB_SERVER_NET_LISTEN_H

#include <stdbool.h>

#include "core/base/error.h"

enum { NB_ADDRESS_BYTES = 80 };

/* The sockets that the daemon may listen on. */
enum {
    NB_LISTEN_PORT, /* of the option [server] listen */
    NB_LISTEN_FILE, /* of [server] socket */
    NB_LISTEN_TLS,  /* of [tls] listen, or of [server] listen with [tls] only */
    NB_LISTEN_SOCKETS
};

struct nb_listener {
    int socket;                     /* owned by the caller */
    char address[NB_ADDRESS_BYTES]; /* "127.0.0.1:8763" or "[::1]:8763", with the port in use */
};

/* Whether ADDRESS:PORT or [IPv6]:PORT is a loopback address. NB_INVALID if it is not an address. */
int nb_listen_is_loopback(const char *address, bool *is_loopback, struct nb_error *error);

/* Binds and listens; port 0 takes a free one. Returns 0, NB_INVALID (no address) or NB_IO (the
 * address is in use or not available). */
int nb_listen(const char *address, struct nb_listener *listener, struct nb_error *error);

#endif
